// SPDX-License-Identifier: GPL-2.0-only
#include <linux/inetdevice.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "event.h"
#include "ibdev.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"
#include "rdma.h"
#include "rseg.h"
#include "trace.h"

#define BACKOFF_MIN_MS		100
#define BACKOFF_MAX_MS		5000
#define EXCLUDE_MIN_MS		10000		/* a pair that never worked, of a peer that another pair reaches */
#define EXCLUDE_MAX_MS		600000
#define GOOD_AFTER		(5 * HZ)	/* a link that lived so long was good even if nothing used it */
#define LOG_EVERY		(10 * HZ)

static atomic_t last_epoch = ATOMIC_INIT(0);

const char *mc_path_state_name(enum mc_path_state state)
{
	static const char *const names[] = {
		[MC_PATH_DOWN] = MC_STATE_DOWN, [MC_PATH_PAUSED] = MC_STATE_PAUSED,
		[MC_PATH_CONNECTING] = MC_STATE_CONNECTING, [MC_PATH_HELLO] = MC_STATE_HELLO,
		[MC_PATH_BROKEN] = MC_STATE_BROKEN, [MC_PATH_LIVE] = MC_STATE_LIVE,
	};

	return names[state];
}

static void path_free(struct kref *kref)
{
	struct mc_path *path = container_of(kref, struct mc_path, kref);

	mc_rail_put(path->rail);
	mc_peer_put(path->peer);
	kfree(path);
}

/* ---- links ---- */

static void link_message(struct mc_cset *set, struct mc_wire_msg *msg)
{
	if (msg->type == MC_WIRE_REVOKE || msg->type == MC_WIRE_SEG_CHANGED)
		mc_rseg_revoke(mc_to_link(set), msg);
	else if (msg->type == MC_WIRE_BYE)
		mc_cset_break(set, -ESHUTDOWN, "the peer's rail said goodbye");
	else
		mc_cset_break(set, -EPROTO, "unexpected control message of type %u", msg->type);
}

/* While the set is being connected, the work item is at it anyway and will pause before it tries again. */
static void link_broken(struct mc_cset *set)
{
	struct mc_link *link = mc_to_link(set);

	if (READ_ONCE(link->live))
		mod_delayed_work(mc_net_wq, &link->path->work, 0);
}

static void link_free(struct mc_cset *set)
{
	struct mc_link *link = mc_to_link(set);

	kref_put(&link->path->kref, path_free);
	kfree(link);
}

static const struct mc_cset_ops link_ops = {
	.message = link_message,
	.broken = link_broken,
	.free = link_free,
};

static struct mc_link *link_make(struct mc_path *path, u32 remote, const struct mc_peer_addr *to)
{
	struct mc_ibdev *dev = mc_rail_dev(path->rail);
	struct mc_link *link;
	int ret;

	if (!dev)
		return ERR_PTR(-ENODEV);
	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link) {
		mc_ibdev_put(dev);
		return ERR_PTR(-ENOMEM);
	}
	INIT_LIST_HEAD(&link->fence_link);
	link->path = path;
	link->remote = remote;
	link->to = *to;
	kref_get(&path->kref);
	ret = mc_cset_init(&link->set, &link_ops, dev);
	mc_ibdev_put(dev);
	if (ret) {
		mc_ctrl_free(&link->set);
		mc_cset_put(&link->set);
		return ERR_PTR(ret);
	}
	memcpy(link->set.node, path->peer->node, MC_UUID_LEN);
	link->set.rail = path->rail->id;
	link->set.tos = READ_ONCE(path->rail->tos);
	link->set.sl = READ_ONCE(path->rail->sl);
	link->set.epoch = atomic_inc_return(&last_epoch);
	return link;
}

/* The only place that changes a state. */
static void enter(struct mc_path *path, enum mc_path_state state, int err)
{
	lockdep_assert_held(&path->peer->lock);
	if (path->state != state)
		trace_mc_path(path->peer->node, path->rail->id, mc_path_state_name(path->state),
			      mc_path_state_name(state), err);
	path->state = state;
}

static void set_state(struct mc_path *path, enum mc_path_state state)
{
	mutex_lock(&path->peer->lock);
	enter(path, state, 0);
	mutex_unlock(&path->peer->lock);
}

static void note(struct mc_path *path, int err, const char *why)
{
	struct mc_peer *peer = path->peer;

	lockdep_assert_held(&peer->lock);
	path->last_err = err;
	strscpy(path->why, why, sizeof(path->why));
	if (peer->nlive)
		return;
	peer->last_err = err;
	strscpy(peer->why, why, sizeof(peer->why));
}

static u32 jittered(u32 ms)
{
	return ms + get_random_u32() % (ms / 4 + 1);
}

/* A pair failed, or what it had opened was no good. All paths of a peer that is not there try every 5 s together. */
static void pair_failed(struct mc_path *path, u32 remote, int err)
{
	struct mc_pair *pair = &path->pairs[remote];
	bool exclude = !pair->proven && path->peer->nlive;
	u32 ms = exclude ? EXCLUDE_MIN_MS : BACKOFF_MIN_MS;
	u32 most = exclude ? EXCLUDE_MAX_MS : BACKOFF_MAX_MS * path->peer->npaths, i;

	lockdep_assert_held(&path->peer->lock);
	for (i = 0; i < pair->fails && ms < most; i++)
		ms *= 2;
	pair->fails++;
	pair->err = err;
	pair->retry_at = jiffies + msecs_to_jiffies(jittered(min(ms, most)));
}

/* The end of a link that was live: was it any good? One that carried something is opened again at once. */
static void judge(struct mc_path *path, struct mc_link *link)
{
	struct mc_pair *pair = &path->pairs[link->remote];

	if (link->carried || time_after(jiffies, link->since + GOOD_AFTER)) {
		pair->fails = 0;
		path->quick = 0;
		return;
	}
	path->quick++;
	pair_failed(path, link->remote, link->set.error);
}

/* Everything that was posted on the link has come back. */
static void link_gone(struct mc_path *path, struct mc_link *link, bool was_live)
{
	struct mc_peer *peer = path->peer;

	lockdep_assert_held(&peer->lock);
	path->trying = NULL;
	path->score.inflight = 0;
	mc_rseg_drop_link(link);
	if (!was_live || !mc_rdma_unfenced(peer, link->set.epoch))
		return;
	mc_cset_get(&link->set);
	list_add_tail(&link->fence_link, &peer->fences);
}

static bool may_log(struct mc_peer *peer)
{
	if (time_before(jiffies, peer->logged_at + LOG_EVERY))
		return false;
	peer->logged_at = jiffies;
	return true;
}

static void tell_path(enum mc_rail_event what, struct mc_link *link, enum mc_reason reason)
{
	struct mc_path *path = link->path;
	struct mc_event_ends ends = {
		.rail = path->rail->id, .dev = link->set.dev->name, .node = path->peer->node,
		.remote = link->to.rail, .addr = &link->to.addr,
	};

	mc_event_path(what, &ends, reason, what == MC_RAIL_EVENT_UP ? NULL : link->set.why);
}

/* Once in a while for a peer, and for all of them no more than the kernel's log bears. */
static void log_down(struct mc_link *link)
{
	struct mc_path *path = link->path;

	pr_info_ratelimited("mooncake: path over rail %u (%s) to rail %u (%pISpc) of node %pUb is down: %s\n",
			    path->rail->id, link->set.dev->name, link->to.rail, &link->to.addr, path->peer->node,
			    link->set.why);
}

static void tell_down(struct mc_path *path, struct mc_link *link, bool last)
{
	enum mc_reason reason = mc_reason_of(link->set.error);
	struct mc_peer *peer = path->peer;

	tell_path(READ_ONCE(path->gone) ? MC_RAIL_EVENT_DOWN : MC_RAIL_EVENT_PAUSED, link, reason);
	if (last)
		mc_event_peer(false, peer->node, reason, link->set.why);
}

/*
 * Take a link down. First nothing is posted on it any more, then it is drained: each posted slice has come back
 * through its completion when mc_cset_destroy() returns, and waits in the retry list or has ended.
 */
static void link_down(struct mc_path *path, struct mc_link *link)
{
	struct mc_peer *peer = path->peer;
	bool was_live, last = false, log;

	mutex_lock(&peer->lock);
	was_live = path->cur == link;
	path->cur = NULL;
	path->trying = link;
	enter(path, was_live ? MC_PATH_BROKEN : MC_PATH_DOWN, link->set.error);
	if (was_live) {
		last = !--peer->nlive;
		judge(path, link);
	}
	if (last)
		peer->down_since = jiffies;
	note(path, link->set.error, link->set.why);
	log = was_live && may_log(peer);
	mutex_unlock(&peer->lock);
	mc_cset_get(&link->set);
	mc_cset_destroy(&link->set);
	mutex_lock(&peer->lock);
	link_gone(path, link, was_live);
	mutex_unlock(&peer->lock);
	mc_peer_changed();
	if (log)
		log_down(link);
	if (was_live)
		tell_down(path, link, last);
	mc_cset_put(&link->set);
	if (!was_live)
		return;
	mod_delayed_work(mc_net_wq, &peer->work, 0);
	queue_work(mc_net_wq, &peer->pump_work);
}

/* The owner is another load of the module: what the old one had is gone, its queue pairs included. */
static void check_instance(struct mc_peer *peer, struct mc_link *link)
{
	struct mc_path *path;

	mutex_lock(&peer->lock);
	if (peer->instance && peer->instance != link->set.instance) {
		mc_rseg_all_stale(peer);
		list_for_each_entry(path, &peer->paths, link)
			if (path->cur && path->cur->set.instance != link->set.instance)
				mc_cset_break(&path->cur->set, -ESTALE, "the peer has loaded its module anew");
	}
	peer->instance = link->set.instance;
	mutex_unlock(&peer->lock);
}

static int link_up(struct mc_path *path, struct mc_link *link, struct mc_peer_addr *addr)
{
	struct sockaddr_storage src = path->rail->addr;
	int i, ret;

	/* Only the address: the port of the source is chosen by rdma_cm. */
	((struct sockaddr_in *)&src)->sin_port = 0;
	ret = mc_cset_connect(&link->set, 0, (struct sockaddr *)&src, (struct sockaddr *)&addr->addr, mc_connect_ms);
	if (ret)
		return ret;
	set_state(path, MC_PATH_HELLO);
	ret = mc_hello_initiate(&link->set, path->peer->node, mc_connect_ms);
	if (ret) {
		mc_cset_break(&link->set, ret, "%pISpc: hello: error %d (%s)", &addr->addr, ret, mc_net_reason(ret));
		return ret;
	}
	for (i = 1; i < MC_CONNS && !ret; i++)
		ret = mc_cset_connect(&link->set, i, (struct sockaddr *)&src, (struct sockaddr *)&addr->addr,
				      mc_connect_ms);
	if (ret)
		return ret;
	check_instance(path->peer, link);
	return mc_rseg_reopen(link);
}

/* Older links of the same pair, or of another load of the peer's module, can't be executing anything any more. */
static struct mc_link *take_fenced(struct mc_peer *peer, struct mc_link *link)
{
	struct mc_link *old, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry(old, &peer->fences, fence_link) {
		if (old->set.instance == link->set.instance &&
		    (old->set.rail != link->set.rail || old->set.peer_rail != link->set.peer_rail))
			continue;
		list_del_init(&old->fence_link);
		found = old;
		break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

/* Returns true when the link broke before it was live: nobody was told. */
static bool link_live(struct mc_path *path, struct mc_link *link)
{
	struct mc_peer *peer = path->peer;
	struct mc_link *old;
	bool first;

	mutex_lock(&peer->lock);
	path->trying = NULL;
	path->cur = link;
	enter(path, MC_PATH_LIVE, 0);
	path->missed = 0;
	path->last_err = 0;
	path->why[0] = '\0';
	path->pairs[link->remote].proven = true;
	path->pairs[link->remote].err = 0;
	mc_score_start(&path->score, mc_rail_speed(path->rail));
	link->since = jiffies;
	first = !peer->nlive++;
	peer->last_err = 0;
	peer->why[0] = '\0';
	mutex_unlock(&peer->lock);
	mc_count(&peer->counters, MC_COUNT_RECONNECTS, 1);
	mc_count(&path->rail->counters, MC_COUNT_RECONNECTS, 1);
	while ((old = take_fenced(peer, link))) {
		mc_rdma_fenced(peer, old->set.epoch);
		mc_cset_put(&old->set);
	}
	queue_work(mc_net_wq, &peer->pump_work);
	mod_delayed_work(mc_net_wq, &peer->work, 0);
	tell_path(MC_RAIL_EVENT_UP, link, MC_REASON_NONE);
	if (first)
		mc_event_peer(true, peer->node, MC_REASON_NONE, NULL);
	smp_store_mb(link->live, true);
	return mc_cset_broken(&link->set);
}

/* ---- partners ---- */

/* Smaller is better: another subnet counts more than another number. */
static u32 rank(struct mc_path *path, const struct mc_peer_addr *addr)
{
	return 2 * !mc_rail_onlink(path->rail, &addr->addr) + (path->rail->id != addr->rail);
}

static u32 users(struct mc_path *mine, u32 remote)
{
	struct mc_path *path;
	u32 n = 0;

	list_for_each_entry(path, &mine->peer->paths, link)
		n += path != mine && (path->cur || path->trying) && path->remote == remote;
	return n;
}

bool mc_path_unreachable(const struct mc_path *path, u32 remote)
{
	const struct mc_pair *pair = &path->pairs[remote];

	return pair->fails && !pair->proven && path->peer->nlive;
}

/* The partner to try now, or -1: then not before *@wait jiffies have passed, or not at all (0). */
static int choose(struct mc_path *path, struct mc_peer_addr *addr, unsigned long *wait)
{
	struct mc_peer *peer = path->peer;
	u32 i, cost, least = U32_MAX;
	int best = -1;

	lockdep_assert_held(&peer->lock);
	*wait = 0;
	for (i = 0; i < peer->naddrs; i++) {
		struct mc_pair *pair = &path->pairs[i];

		if (peer->addrs[i].addr.ss_family != path->rail->addr.ss_family)
			continue;
		if (pair->fails && time_before(jiffies, pair->retry_at)) {
			if (!*wait || pair->retry_at - jiffies < *wait)
				*wait = pair->retry_at - jiffies;
			continue;
		}
		cost = min_t(u32, pair->proven ? pair->fails / 4 : pair->fails, 255) << 16 | !pair->proven << 15 |
		       rank(path, &peer->addrs[i]) << 8 | users(path, i);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	if (best >= 0) {
		*addr = peer->addrs[best];
		path->remote = best;
	}
	return best;
}

/* ---- the work item ---- */

static int try_pair(struct mc_path *path, u32 remote, struct mc_peer_addr *addr)
{
	struct mc_peer *peer = path->peer;
	struct mc_link *link = link_make(path, remote, addr);
	int ret;

	mutex_lock(&peer->lock);
	if (IS_ERR(link)) {
		ret = PTR_ERR(link);
		note(path, ret, ret == -ENODEV ? "the rail has no device" : "no memory for a connection set");
		mutex_unlock(&peer->lock);
		return ret;
	}
	path->trying = link;
	enter(path, MC_PATH_CONNECTING, 0);
	if (path->gone)
		mc_cset_break(&link->set, -ENODEV, "rail %u was taken away", path->rail->id);
	mutex_unlock(&peer->lock);
	ret = mc_cset_broken(&link->set) ? -ENODEV : link_up(path, link, addr);
	if (!ret && !link_live(path, link))
		return 0;
	link_down(path, link);
	return ret ?: -ENOTCONN;
}

static void requeue(struct mc_path *path, unsigned long delay)
{
	queue_delayed_work(mc_net_wq, &path->work, delay);
}

static void attempt(struct mc_path *path)
{
	struct mc_peer *peer = path->peer;
	struct mc_peer_addr addr;
	unsigned long wait;
	int remote, ret;

	if (mc_auth_mode() == MC_AUTH_UNSET) {
		requeue(path, HZ);
		return;
	}
	if (!mc_rail_ready(path->rail)) {
		mutex_lock(&peer->lock);
		enter(path, MC_PATH_PAUSED, -ENETDOWN);
		note(path, -ENETDOWN, "the port of this node's rail is down");
		mutex_unlock(&peer->lock);
		mc_peer_attempt_over(peer, -ENETDOWN);
		requeue(path, HZ);	/* an event is faster */
		return;
	}
	mutex_lock(&peer->lock);
	remote = choose(path, &addr, &wait);
	if (remote < 0)
		enter(path, wait ? MC_PATH_PAUSED : MC_PATH_DOWN, 0);
	mutex_unlock(&peer->lock);
	if (remote < 0) {
		if (wait)
			requeue(path, wait);
		return;
	}
	ret = try_pair(path, remote, &addr);
	mutex_lock(&peer->lock);
	path->attempts++;
	if (ret) {
		path->quick = 0;
		enter(path, MC_PATH_PAUSED, ret);
		/* The addresses may have been replaced meanwhile. */
		if (remote < peer->naddrs && mc_same_addr(&peer->addrs[remote].addr, &addr.addr))
			pair_failed(path, remote, ret);
	}
	mutex_unlock(&peer->lock);
	mc_peer_attempt_over(peer, ret);
	requeue(path, ret ? 0 : msecs_to_jiffies(mc_ping_ms));
}

/* Waits for the answer, but a set that breaks ends the wait at once. */
static void ping(struct mc_path *path, struct mc_link *link)
{
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret = -ENOMEM;

	if (msg) {
		msg->type = MC_WIRE_PING;
		ret = mc_ctrl_call(&link->set, msg, mc_ping_ms);
		kfree(msg);
	}
	path->missed = ret == -ETIMEDOUT ? path->missed + 1 : 0;
	if (path->missed >= mc_ping_miss)
		mc_cset_break(&link->set, -ETIMEDOUT, "no answer to %u pings", path->missed);
}

/* Nothing was asked of the peer for so long that its links are given back; the next request opens them again. */
static void reclaim(struct mc_peer *peer)
{
	unsigned long idle = msecs_to_jiffies(mc_idle_ms);
	struct mc_path *path;

	mutex_lock(&peer->lock);
	if (mc_idle_ms && list_empty(&peer->fifo) && list_empty(&peer->retry) && !peer->nposted &&
	    time_after(jiffies, peer->used_at + idle)) {
		peer->wanted = false;
		list_for_each_entry(path, &peer->paths, link)
			if (path->cur)
				mc_cset_break(&path->cur->set, -ESHUTDOWN, "idle for %u ms", mc_idle_ms);
	}
	mutex_unlock(&peer->lock);
}

static void tend(struct mc_path *path, struct mc_link *link)
{
	mc_rseg_reopen(link);	/* segments that were opened over another path since */
	ping(path, link);
	reclaim(path->peer);
	requeue(path, path->missed || mc_cset_broken(&link->set) ? 0 : msecs_to_jiffies(mc_ping_ms));
}

static void path_work(struct work_struct *work)
{
	struct mc_path *path = container_of(to_delayed_work(work), struct mc_path, work);
	struct mc_peer *peer = path->peer;
	struct mc_link *link;
	bool gone, wanted;

	mutex_lock(&peer->lock);
	link = path->cur;
	gone = path->gone;
	wanted = peer->wanted;
	mutex_unlock(&peer->lock);
	if (link && (gone || mc_cset_broken(&link->set))) {
		mc_cset_break(&link->set, -ESHUTDOWN, "the path was ended");
		link_down(path, link);
		link = NULL;
	}
	if (gone)
		return;
	if (link)
		tend(path, link);
	else if (wanted)
		attempt(path);
}

int mc_path_add(struct mc_peer *peer, struct mc_rail *rail)
{
	struct mc_path *path = kzalloc(sizeof(*path), GFP_KERNEL);

	lockdep_assert_held(&peer->lock);
	if (!path)
		return -ENOMEM;
	kref_init(&path->kref);
	path->peer = peer;
	mc_peer_get(peer);
	path->rail = rail;
	kref_get(&rail->kref);
	path->score.last = peer->picks;
	INIT_DELAYED_WORK(&path->work, path_work);
	list_add_tail(&path->link, &peer->paths);
	peer->npaths++;
	requeue(path, 0);
	return 0;
}

static void say_goodbye(struct mc_path *path)
{
	struct mc_wire_msg bye = { .type = MC_WIRE_BYE };
	struct mc_link *link;

	mutex_lock(&path->peer->lock);
	link = mc_path_live(path);
	if (link)
		mc_cset_get(&link->set);
	mutex_unlock(&path->peer->lock);
	if (!link)
		return;
	mc_ctrl_send(&link->set, &bye);
	mc_ctrl_flush(&link->set);
	mc_cset_put(&link->set);
}

void mc_path_end(struct mc_path *path)
{
	struct mc_peer *peer = path->peer;

	say_goodbye(path);
	mutex_lock(&peer->lock);
	if (path->trying)
		mc_cset_break(&path->trying->set, -ENODEV, "rail %u was taken away", path->rail->id);
	if (path->cur)
		mc_cset_break(&path->cur->set, -ENODEV, "rail %u was taken away", path->rail->id);
	mutex_unlock(&peer->lock);
	mod_delayed_work(mc_net_wq, &path->work, 0);
	flush_delayed_work(&path->work);
	/* It has seen that the path is gone: there is no link that could wake it any more. */
	cancel_delayed_work_sync(&path->work);
	mutex_lock(&peer->lock);
	list_del_init(&path->link);
	peer->npaths--;
	mutex_unlock(&peer->lock);
	mc_peer_changed();
	kref_put(&path->kref, path_free);
}

void mc_path_kick(struct mc_path *path)
{
	u32 i;

	lockdep_assert_held(&path->peer->lock);
	if (path->gone)
		return;
	for (i = 0; i < MC_PEER_ADDRS; i++)
		if (!mc_path_unreachable(path, i))
			path->pairs[i].retry_at = jiffies;
	mod_delayed_work(mc_net_wq, &path->work, 0);
}

void mc_path_show(struct seq_file *m, struct mc_path *path)
{
	struct mc_peer *peer = path->peer;
	u32 i;

	seq_printf(m, "  path rail %u %s epoch %u to rail %u bw %llu bytes/ms inflight %llu attempts %u missed %u %s\n",
		   path->rail->id, mc_path_state_name(path->state), path->cur ? path->cur->set.epoch : 0,
		   path->remote < peer->naddrs ? peer->addrs[path->remote].rail : 0, path->score.bw,
		   path->score.inflight, path->attempts, path->missed, path->why);
	if (path->cur)
		seq_printf(m, "    mtu %u read depth %u tos %u retries %u rnr retries %u ack timeout %u\n",
			   path->cur->set.mtu, path->cur->set.read_depth, path->cur->set.tos_used, MC_RETRIES,
			   MC_RNR_RETRIES, mc_ack_timeout);
	for (i = 0; i < peer->naddrs; i++)
		if (path->pairs[i].fails)
			seq_printf(m, "    pair to rail %u: %u failures, error %d%s\n", peer->addrs[i].rail,
				   path->pairs[i].fails, path->pairs[i].err,
				   mc_path_unreachable(path, i) ? ", unreachable" : "");
}
