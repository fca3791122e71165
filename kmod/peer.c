// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "event.h"
#include "ibdev.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"
#include "rdma.h"
#include "rseg.h"

#define BACKOFF_MIN_MS	100
#define BACKOFF_MAX_MS	5000

static DEFINE_MUTEX(peers_lock);
static LIST_HEAD(peers);
static u32 npeers;
static atomic_t last_epoch = ATOMIC_INIT(0);
static atomic_t peers_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(peers_wait);	/* a path is gone or a peer was freed */

const char *mc_peer_state_name(enum mc_peer_state state)
{
	static const char *const names[] = {
		[MC_PEER_DOWN] = MC_STATE_DOWN, [MC_PEER_CONNECTING] = MC_STATE_CONNECTING,
		[MC_PEER_HELLO] = MC_STATE_HELLO, [MC_PEER_LIVE] = MC_STATE_LIVE, [MC_PEER_BROKEN] = MC_STATE_BROKEN,
	};

	return names[state];
}

void mc_peer_get(struct mc_peer *peer)
{
	kref_get(&peer->kref);
}

static void peer_free(struct kref *kref)
{
	struct mc_peer *peer = container_of(kref, struct mc_peer, kref);

	mc_counters_exit(&peer->counters);
	kfree(peer);
	if (atomic_dec_and_test(&peers_alive))
		wake_up_all(&peers_wait);
}

void mc_peer_put(struct mc_peer *peer)
{
	kref_put(&peer->kref, peer_free);
}

static void path_message(struct mc_cset *set, struct mc_wire_msg *msg)
{
	if (msg->type == MC_WIRE_REVOKE)
		mc_rseg_revoke(mc_to_path(set), msg);
	else
		mc_cset_break(set, -EPROTO, "unexpected control message of type %u", msg->type);
}

/* While the set is being connected, the work item is at it anyway and will pause before it tries again. */
static void path_broken(struct mc_cset *set)
{
	struct mc_path *path = mc_to_path(set);

	if (READ_ONCE(path->live))
		mod_delayed_work(mc_net_wq, &path->peer->conn_work, 0);
}

static void path_free(struct mc_cset *set)
{
	struct mc_path *path = mc_to_path(set);

	mc_rail_put(path->rail);
	mc_peer_put(path->peer);
	kfree(path);
}

static const struct mc_cset_ops path_ops = {
	.message = path_message,
	.broken = path_broken,
	.free = path_free,
};

static void set_state(struct mc_peer *peer, enum mc_peer_state state)
{
	mutex_lock(&peer->lock);
	peer->state = state;
	mutex_unlock(&peer->lock);
}

/*
 * Take the path down. First nothing is posted on it any more, then it is drained: each posted slice has come back
 * through its completion when mc_cset_destroy() returns, and waits in the retry list or has ended.
 */
static void path_down(struct mc_peer *peer, struct mc_path *path)
{
	bool was_live;

	mutex_lock(&peer->lock);
	was_live = peer->path == path;
	peer->path = NULL;
	peer->trying = path;
	peer->state = was_live ? MC_PEER_BROKEN : MC_PEER_DOWN;
	if (was_live)
		peer->down_since = jiffies;
	peer->last_err = path->set.error;
	strscpy(peer->why, path->set.why, sizeof(peer->why));
	mutex_unlock(&peer->lock);
	mc_cset_destroy(&path->set);
	mutex_lock(&peer->lock);
	peer->trying = NULL;
	mutex_unlock(&peer->lock);
	wake_up_all(&peers_wait);
	if (was_live) {
		pr_info("mooncake: path to node %pUb is down: %s\n", peer->node, peer->why);
		mc_event_peer(false, peer->node, mc_reason_of(peer->last_err), peer->why);
	}
}

/* The addresses are tried in turn, each with the local rails of its family in turn. */
static int choose(struct mc_peer *peer, struct mc_peer_addr *addr, struct mc_rail **rail)
{
	u32 i, n, count;

	mutex_lock(&peer->lock);
	n = peer->naddrs;
	for (i = 0; i < n; i++) {
		*addr = peer->addrs[(peer->next_addr + i) % n];
		count = mc_rail_count(addr->addr.ss_family);
		*rail = count ? mc_rail_nth(addr->addr.ss_family, (peer->next_addr + i) / n % count) : NULL;
		if (!*rail)
			continue;
		peer->next_addr += i + 1;
		mutex_unlock(&peer->lock);
		return 0;
	}
	mutex_unlock(&peer->lock);
	return -EHOSTUNREACH;
}

static struct mc_path *path_make(struct mc_peer *peer, struct mc_rail *rail)
{
	struct mc_path *path = kzalloc(sizeof(*path), GFP_KERNEL);

	if (!path) {
		mc_rail_put(rail);
		return NULL;
	}
	path->peer = peer;
	path->rail = rail;
	mc_peer_get(peer);
	if (mc_cset_init(&path->set, &path_ops, rail->dev)) {
		mc_ctrl_free(&path->set);
		mc_cset_put(&path->set);
		return NULL;
	}
	memcpy(path->set.node, peer->node, MC_UUID_LEN);
	path->set.rail = rail->id;
	path->set.epoch = atomic_inc_return(&last_epoch);
	return path;
}

static int path_up(struct mc_peer *peer, struct mc_path *path, struct mc_peer_addr *addr)
{
	struct sockaddr_storage src = path->rail->addr;
	bool same;
	int i, ret;

	/* Only the address: the port of the source is chosen by rdma_cm. */
	((struct sockaddr_in *)&src)->sin_port = 0;
	ret = mc_cset_connect(&path->set, 0, (struct sockaddr *)&src, (struct sockaddr *)&addr->addr, mc_connect_ms);
	if (ret)
		return ret;
	set_state(peer, MC_PEER_HELLO);
	ret = mc_hello_initiate(&path->set, peer->node, mc_connect_ms);
	if (ret) {
		mc_cset_break(&path->set, ret, "%pISpc: hello: error %d", &addr->addr, ret);
		return ret;
	}
	for (i = 1; i < MC_CONNS && !ret; i++)
		ret = mc_cset_connect(&path->set, i, (struct sockaddr *)&src, (struct sockaddr *)&addr->addr,
				      mc_connect_ms);
	if (ret)
		return ret;
	same = !peer->instance || peer->instance == path->set.instance;
	peer->instance = path->set.instance;
	return mc_rseg_reopen(path, same);
}

/* Returns true when the path broke before it was live: nobody was told. */
static bool path_live(struct mc_peer *peer, struct mc_path *path)
{
	mutex_lock(&peer->lock);
	peer->trying = NULL;
	peer->path = path;
	peer->state = MC_PEER_LIVE;
	peer->backoff_ms = BACKOFF_MIN_MS;
	peer->missed = 0;
	peer->last_err = 0;
	peer->why[0] = '\0';
	mutex_unlock(&peer->lock);
	mc_count(&peer->counters, MC_COUNT_RECONNECTS, 1);
	mc_count(&path->rail->counters, MC_COUNT_RECONNECTS, 1);
	mc_rdma_fenced(peer);
	queue_work(mc_net_wq, &peer->pump_work);
	mc_event_peer(true, peer->node, MC_REASON_NONE, NULL);
	smp_store_mb(path->live, true);
	return mc_cset_broken(&path->set);
}

static void attempt_over(struct mc_peer *peer)
{
	WRITE_ONCE(peer->attempts, peer->attempts + 1);
	wake_up_all(&peer->wait);
}

/* There is nothing to connect with; a set that fails brings its own reason. */
static int no_attempt(struct mc_peer *peer, int err, const char *why)
{
	mutex_lock(&peer->lock);
	peer->state = MC_PEER_DOWN;
	strscpy(peer->why, why, sizeof(peer->why));
	mutex_unlock(&peer->lock);
	return err;
}

static int try_connect(struct mc_peer *peer)
{
	struct mc_peer_addr addr;
	struct mc_rail *rail;
	struct mc_path *path;
	int ret;

	if (mc_auth_mode() == MC_AUTH_UNSET)
		return no_attempt(peer, -EACCES, "no cluster key is loaded and auth none was not asked for");
	ret = choose(peer, &addr, &rail);
	if (ret)
		return no_attempt(peer, ret, "this node has no rail of the family of any of its addresses");
	path = path_make(peer, rail);
	if (!path)
		return no_attempt(peer, -ENOMEM, "no memory for a connection set");
	mutex_lock(&peer->lock);
	peer->trying = path;
	peer->state = MC_PEER_CONNECTING;
	mutex_unlock(&peer->lock);
	/* Whoever removes the rail takes it off its list first and then looks for paths like this one. */
	if (list_empty_careful(&rail->link))
		mc_cset_break(&path->set, -ENODEV, "rail %u was removed", rail->id);
	ret = mc_cset_broken(&path->set) ? -ENODEV : path_up(peer, path, &addr);
	if (ret || path_live(peer, path))
		path_down(peer, path);
	return ret;
}

static void connect_failed(struct mc_peer *peer, int err)
{
	unsigned long limit = peer->down_since + msecs_to_jiffies(mc_path_ms);

	peer->last_err = err;
	if (time_after(jiffies, limit))
		mc_rdma_fail_all(peer, -EHOSTUNREACH);
	queue_delayed_work(mc_net_wq, &peer->conn_work, msecs_to_jiffies(peer->backoff_ms));
	peer->backoff_ms = min_t(u32, peer->backoff_ms * 2, BACKOFF_MAX_MS);
}

/* Waits for the answer, but a set that breaks ends the wait at once. */
static void ping(struct mc_peer *peer, struct mc_path *path)
{
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret = -ENOMEM;

	if (msg) {
		msg->type = MC_WIRE_PING;
		ret = mc_ctrl_call(&path->set, msg, mc_ping_ms);
		kfree(msg);
	}
	peer->missed = ret == -ETIMEDOUT ? peer->missed + 1 : 0;
	if (peer->missed >= mc_ping_miss)
		mc_cset_break(&path->set, -ETIMEDOUT, "no answer to %u pings", peer->missed);
	queue_delayed_work(mc_net_wq, &peer->conn_work, msecs_to_jiffies(peer->missed ? 0 : mc_ping_ms));
}

static void conn_work(struct work_struct *work)
{
	struct mc_peer *peer = container_of(to_delayed_work(work), struct mc_peer, conn_work);
	struct mc_path *path;
	bool gone, wanted;
	int ret;

	mutex_lock(&peer->lock);
	path = peer->path;
	gone = peer->gone;
	wanted = peer->wanted;
	mutex_unlock(&peer->lock);
	if (path && (gone || mc_cset_broken(&path->set))) {
		mc_cset_break(&path->set, -ESHUTDOWN, "peer was removed");
		path_down(peer, path);
		path = NULL;
	}
	if (gone) {
		mc_rdma_fail_all(peer, -EHOSTUNREACH);
	} else if (path) {
		ping(peer, path);
	} else if (wanted) {
		ret = try_connect(peer);
		if (ret)
			connect_failed(peer, ret);
		else
			queue_delayed_work(mc_net_wq, &peer->conn_work, msecs_to_jiffies(mc_ping_ms));
		attempt_over(peer);
	}
}

void mc_peer_want(struct mc_peer *peer)
{
	mutex_lock(&peer->lock);
	if (!peer->wanted)
		peer->down_since = jiffies;
	peer->wanted = true;
	/* Under the lock: peer_end() sets @gone, then cancels the work; what comes later must not queue it again. */
	if (!peer->path && !peer->trying && !peer->gone)
		mod_delayed_work(mc_net_wq, &peer->conn_work, 0);
	mutex_unlock(&peer->lock);
}

/* A refusal is an answer; that nobody answers may change until the deadline. */
static int path_or_error(struct mc_peer *peer, u32 attempts, struct mc_path **path)
{
	int ret = 0;

	mutex_lock(&peer->lock);
	*path = peer->path;
	if (peer->gone)
		ret = -EHOSTUNREACH;
	else if (*path)
		mc_cset_get(&(*path)->set);
	else if (READ_ONCE(peer->attempts) != attempts &&
		 (peer->last_err == -EACCES || peer->last_err == -EPROTO || peer->last_err == -EHOSTUNREACH))
		ret = peer->last_err;
	mutex_unlock(&peer->lock);
	return ret;
}

struct mc_path *mc_peer_path(struct mc_peer *peer, unsigned long deadline)
{
	u32 first = READ_ONCE(peer->attempts), seen;
	struct mc_path *path;
	long left;
	int ret;

	mc_peer_want(peer);
	for (;;) {
		seen = READ_ONCE(peer->attempts);
		ret = path_or_error(peer, first, &path);
		if (ret)
			return ERR_PTR(ret);
		if (path)
			return path;
		left = deadline - jiffies;
		if (left <= 0)
			return ERR_PTR(-ETIMEDOUT);
		left = wait_event_killable_timeout(peer->wait,
						   READ_ONCE(peer->attempts) != seen || READ_ONCE(peer->gone),
						   left);
		if (left < 0)
			return ERR_PTR(-EINTR);
	}
}

static struct mc_peer *find_locked(const u8 *node)
{
	struct mc_peer *peer;

	lockdep_assert_held(&peers_lock);
	list_for_each_entry(peer, &peers, link)
		if (!memcmp(peer->node, node, MC_UUID_LEN))
			return peer;
	return NULL;
}

static struct mc_peer *peer_make(const u8 *node)
{
	struct mc_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);

	if (!peer)
		return NULL;
	atomic_inc(&peers_alive);
	kref_init(&peer->kref);
	memcpy(peer->node, node, MC_UUID_LEN);
	mutex_init(&peer->lock);
	peer->backoff_ms = BACKOFF_MIN_MS;
	peer->down_since = jiffies;
	INIT_DELAYED_WORK(&peer->conn_work, conn_work);
	INIT_WORK(&peer->pump_work, mc_rdma_pump);
	init_waitqueue_head(&peer->wait);
	INIT_LIST_HEAD(&peer->fifo);
	INIT_LIST_HEAD(&peer->posted);
	INIT_LIST_HEAD(&peer->retry);
	INIT_LIST_HEAD(&peer->rsegs);
	if (mc_counters_init(&peer->counters, false))
		goto err_put;
	/* The same node can't be added while it is being removed: netlink commands follow one another. */
	peer->dir = mc_net_dir_peer(node);
	if (!IS_ERR(peer->dir))
		return peer;
err_put:
	mc_peer_put(peer);
	return NULL;
}

int mc_peer_set(const u8 *node, const struct mc_peer_addr *addrs, u32 n)
{
	struct mc_peer *peer;
	int ret = 0;

	if (!memcmp(node, mc_node.uuid, MC_UUID_LEN))
		return -EINVAL;
	mutex_lock(&peers_lock);
	peer = find_locked(node);
	if (!peer) {
		peer = npeers < MC_PEERS_MAX ? peer_make(node) : NULL;
		if (!peer) {
			ret = npeers < MC_PEERS_MAX ? -ENOMEM : -ENOSPC;
			goto out;
		}
		list_add_tail(&peer->link, &peers);
		npeers++;
	}
	mutex_lock(&peer->lock);
	memcpy(peer->addrs, addrs, n * sizeof(*addrs));
	peer->naddrs = n;
	peer->next_addr = 0;
	mutex_unlock(&peer->lock);
	if (peer->wanted)
		mc_peer_want(peer);
out:
	mutex_unlock(&peers_lock);
	return ret;
}

/* Bounded: the work item's own steps are, and a set that is being connected is broken, which ends the step it is in. */
static void peer_end(struct mc_peer *peer)
{
	mc_net_dir_del(peer->dir);
	mutex_lock(&peer->lock);
	peer->gone = true;
	if (peer->trying)
		mc_cset_break(&peer->trying->set, -ESHUTDOWN, "peer was removed");
	mutex_unlock(&peer->lock);
	wake_up_all(&peer->wait);
	mod_delayed_work(mc_net_wq, &peer->conn_work, 0);
	flush_delayed_work(&peer->conn_work);
	cancel_delayed_work_sync(&peer->conn_work);
	cancel_work_sync(&peer->pump_work);
	mc_rdma_fail_all(peer, -EHOSTUNREACH);
	mc_peer_put(peer);
}

static struct mc_peer *take(const u8 *node)
{
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	peer = node ? find_locked(node) : list_first_entry_or_null(&peers, struct mc_peer, link);
	if (peer) {
		list_del_init(&peer->link);
		npeers--;
	}
	mutex_unlock(&peers_lock);
	return peer;
}

int mc_peer_del(const u8 *node)
{
	struct mc_peer *peer = take(node);

	if (!peer)
		return -ENOENT;
	peer_end(peer);
	return 0;
}

void mc_peer_del_all(void)
{
	struct mc_peer *peer;

	while ((peer = take(NULL)))
		peer_end(peer);
	wait_event(peers_wait, !atomic_read(&peers_alive));
}

struct mc_peer *mc_peer_find(const u8 *node)
{
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	peer = find_locked(node);
	if (peer)
		mc_peer_get(peer);
	mutex_unlock(&peers_lock);
	return peer;
}

struct mc_peer *mc_peer_nth(u32 n)
{
	struct mc_peer *peer, *found = NULL;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link) {
		if (n--)
			continue;
		mc_peer_get(peer);
		found = peer;
		break;
	}
	mutex_unlock(&peers_lock);
	return found;
}

bool mc_peer_any(void)
{
	return !list_empty(&peers);
}

void mc_peer_kick_all(void)
{
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link)
		if (peer->wanted)
			mc_peer_want(peer);
	mutex_unlock(&peers_lock);
}

static bool uses_rail(struct mc_peer *peer, struct mc_rail *rail)
{
	struct mc_path *path;
	bool uses = false;

	mutex_lock(&peer->lock);
	path = peer->path ?: peer->trying;
	if (path && path->rail == rail) {
		mc_cset_break(&path->set, -ENODEV, "rail %u was removed", rail->id);
		uses = true;
	}
	mutex_unlock(&peer->lock);
	return uses;
}

static bool any_uses(struct mc_rail *rail)
{
	struct mc_peer *peer;
	bool uses = false;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link)
		uses |= uses_rail(peer, rail);
	mutex_unlock(&peers_lock);
	return uses;
}

/* The rail is off the list: no attempt that starts now picks it, and one that has picked it shows up as trying. */
void mc_peer_drop_rail(struct mc_rail *rail)
{
	while (any_uses(rail))
		wait_event_timeout(peers_wait, false, HZ / 50);
}

void mc_peer_show(struct seq_file *m)
{
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link) {
		mutex_lock(&peer->lock);
		seq_printf(m, "peer %pUb %s epoch %u posted %u attempts %u missed %u %s\n", peer->node,
			   mc_peer_state_name(peer->state), peer->path ? peer->path->set.epoch : 0, peer->nposted,
			   peer->attempts, peer->missed, peer->why);
		mutex_unlock(&peer->lock);
	}
	mutex_unlock(&peers_lock);
}
