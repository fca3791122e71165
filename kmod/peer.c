// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "event.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"
#include "rdma.h"
#include "rseg.h"

#define FAILING		3	/* links in a row that carried nothing: requests don't wait for the next one */
#define FAILING_MS	2000
#define TICK		HZ
#define FENCE_AGAIN	(HZ / 10)

static DEFINE_MUTEX(peers_lock);
static LIST_HEAD(peers);
static u32 npeers;
static atomic_t peers_alive = ATOMIC_INIT(0);
static atomic_t peers_ending = ATOMIC_INIT(0);	/* off the list, their paths may still be there */
static DECLARE_WAIT_QUEUE_HEAD(peers_wait);	/* a link or a path is gone, or a peer was freed */

void mc_peer_changed(void)
{
	wake_up_all(&peers_wait);
}

const char *mc_peer_state(struct mc_peer *peer)
{
	enum mc_path_state best = MC_PATH_DOWN;
	struct mc_path *path;

	list_for_each_entry(path, &peer->paths, link)
		best = max(best, path->state);
	return mc_path_state_name(best);
}

u32 mc_peer_epoch(struct mc_peer *peer)
{
	struct mc_path *path;
	u32 epoch = 0;

	list_for_each_entry(path, &peer->paths, link)
		if (path->cur)
			epoch = max(epoch, path->cur->set.epoch);
	return epoch;
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

/* ---- fences ---- */

/* A link that the owner has to be asked about, and a live one to ask over, both with a reference. */
static struct mc_link *next_fence(struct mc_peer *peer, struct mc_link **via)
{
	struct mc_link *old = NULL;
	struct mc_path *path;

	mutex_lock(&peer->lock);
	*via = NULL;
	list_for_each_entry(path, &peer->paths, link)
		if (!*via)
			*via = mc_path_live(path);
	if (*via)
		old = list_first_entry_or_null(&peer->fences, struct mc_link, fence_link);
	if (old) {
		mc_cset_get(&old->set);
		mc_cset_get(&(*via)->set);
	}
	mutex_unlock(&peer->lock);
	return old;
}

static int ask(struct mc_link *via, u32 epoch)
{
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret;

	if (!msg)
		return -ENOMEM;
	msg->type = MC_WIRE_FENCE;
	msg->epoch = epoch;
	ret = mc_ctrl_call(&via->set, msg, mc_connect_ms);
	if (!ret && (msg->type != MC_WIRE_FENCE_ACK || msg->epoch != epoch))
		ret = -EPROTO;
	kfree(msg);
	return ret;
}

/* A link of @peer->fences is done with: the list's reference goes. Its successor may have been faster. */
static void fence_over(struct mc_peer *peer, struct mc_link *old)
{
	bool listed;

	mutex_lock(&peer->lock);
	listed = !list_empty(&old->fence_link);
	list_del_init(&old->fence_link);
	mutex_unlock(&peer->lock);
	if (listed)
		mc_cset_put(&old->set);
}

/* Returns true when somebody has to be asked again. */
static bool ask_fences(struct mc_peer *peer)
{
	struct mc_link *old, *via;
	bool needed;
	int ret = 0;

	while (!ret && (old = next_fence(peer, &via))) {
		mutex_lock(&peer->lock);
		needed = mc_rdma_unfenced(peer, old->set.epoch);
		mutex_unlock(&peer->lock);
		/* An owner of another load has nothing left of this link. */
		if (needed && via->set.instance == old->set.instance)
			ret = ask(via, old->set.epoch);
		if (!ret) {
			fence_over(peer, old);
			mc_rdma_fenced(peer, old->set.epoch);
		}
		mc_cset_put(&via->set);
		mc_cset_put(&old->set);
	}
	return ret;
}

static void drop_fences(struct mc_peer *peer)
{
	struct mc_link *old;

	for (;;) {
		mutex_lock(&peer->lock);
		old = list_first_entry_or_null(&peer->fences, struct mc_link, fence_link);
		if (old)
			list_del_init(&old->fence_link);
		mutex_unlock(&peer->lock);
		if (!old)
			return;
		mc_cset_put(&old->set);
	}
}

/* ---- the work item ---- */

/*
 * A path for each rail that has none. Whoever stops a rail marks it first and then looks for paths under the lock of
 * the peer: it sees what is added here.
 */
static void sync_paths(struct mc_peer *peer)
{
	struct mc_rail *rail;
	struct mc_path *path;
	bool known;
	u32 n;

	lockdep_assert_held(&peer->lock);
	for (n = 0; !peer->gone && (rail = mc_rail_nth(AF_UNSPEC, n)); n++) {
		known = false;
		list_for_each_entry(path, &peer->paths, link)
			known |= path->rail == rail;
		if (!known && peer->npaths < MC_PATHS_MAX && mc_rail_listens(rail))
			mc_path_add(peer, rail);
		mc_rail_put(rail);
	}
}

static bool any_way(struct mc_peer *peer)
{
	struct mc_path *path;
	u32 i;

	list_for_each_entry(path, &peer->paths, link)
		for (i = 0; i < peer->naddrs; i++)
			if (peer->addrs[i].addr.ss_family == path->rail->addr.ss_family)
				return true;
	return false;
}

static bool failing(struct mc_peer *peer)
{
	struct mc_path *path;
	bool any = false;

	list_for_each_entry(path, &peer->paths, link)
		any |= path->quick >= FAILING;
	return any;
}

void mc_peer_attempt_over(struct mc_peer *peer, int err)
{
	bool late;

	mutex_lock(&peer->lock);
	late = err && !peer->nlive && time_after(jiffies, peer->down_since + msecs_to_jiffies(mc_path_ms));
	WRITE_ONCE(peer->attempts, peer->attempts + 1);
	mutex_unlock(&peer->lock);
	if (late)
		mc_rdma_fail_all(peer, -EHOSTUNREACH);
	wake_up_all(&peer->wait);
}

/* There is nothing to connect with; a link that fails brings its own reason. */
static int cannot(struct mc_peer *peer)
{
	int err = 0;

	lockdep_assert_held(&peer->lock);
	if (mc_auth_mode() == MC_AUTH_UNSET) {
		err = -EACCES;
		strscpy(peer->why, "no cluster key is loaded and auth none was not asked for", sizeof(peer->why));
	} else if (!any_way(peer)) {
		err = -EHOSTUNREACH;
		strscpy(peer->why, "this node has no rail of the family of any of its addresses", sizeof(peer->why));
	}
	if (err)
		peer->last_err = err;
	return err;
}

/* No path is live. */
static void down_tick(struct mc_peer *peer)
{
	bool over;
	int err;

	mutex_lock(&peer->lock);
	sync_paths(peer);
	err = cannot(peer);
	over = failing(peer) && time_after(jiffies, peer->down_since + msecs_to_jiffies(FAILING_MS));
	mutex_unlock(&peer->lock);
	if (err)
		mc_peer_attempt_over(peer, err);
	if (over)
		mc_rdma_fail_all(peer, -EIO);
}

static void peer_work(struct work_struct *work)
{
	struct mc_peer *peer = container_of(to_delayed_work(work), struct mc_peer, work);
	bool down, gone, again;

	mutex_lock(&peer->lock);
	gone = peer->gone;
	down = peer->wanted && !peer->nlive;
	mutex_unlock(&peer->lock);
	if (gone)
		return;
	if (down)
		down_tick(peer);
	again = ask_fences(peer);
	if (down || again)
		queue_delayed_work(mc_net_wq, &peer->work, again ? FENCE_AGAIN : TICK);
}

static void kick(struct mc_peer *peer)
{
	struct mc_path *path;

	lockdep_assert_held(&peer->lock);
	if (peer->gone)
		return;
	sync_paths(peer);
	list_for_each_entry(path, &peer->paths, link)
		if (!path->cur)
			mc_path_kick(path);
	mod_delayed_work(mc_net_wq, &peer->work, 0);
}

void mc_peer_want(struct mc_peer *peer)
{
	mutex_lock(&peer->lock);
	peer->used_at = jiffies;
	if (!peer->wanted) {
		peer->wanted = true;
		peer->down_since = jiffies;
		kick(peer);
	}
	mutex_unlock(&peer->lock);
}

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPROTO || err == -ENOENT || err == -EHOSTUNREACH;
}

/* A refusal is an answer; that nobody answers may change until the deadline. */
static int link_or_error(struct mc_peer *peer, u32 attempts, struct mc_link **link)
{
	struct mc_path *path;
	int ret = 0;

	*link = NULL;
	mutex_lock(&peer->lock);
	list_for_each_entry(path, &peer->paths, link)
		if (!*link)
			*link = mc_path_live(path);
	if (peer->gone)
		ret = -EHOSTUNREACH;
	else if (*link)
		mc_cset_get(&(*link)->set);
	else if (READ_ONCE(peer->attempts) != attempts && is_refusal(peer->last_err))
		ret = peer->last_err;
	mutex_unlock(&peer->lock);
	return ret;
}

struct mc_link *mc_peer_link(struct mc_peer *peer, unsigned long deadline)
{
	u32 first = READ_ONCE(peer->attempts), seen;
	struct mc_link *link;
	long left;
	int ret;

	mc_peer_want(peer);
	for (;;) {
		seen = READ_ONCE(peer->attempts);
		ret = link_or_error(peer, first, &link);
		if (ret)
			return ERR_PTR(ret);
		if (link)
			return link;
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
	peer->down_since = jiffies;
	peer->logged_at = jiffies - HZ * 3600;
	INIT_DELAYED_WORK(&peer->work, peer_work);
	INIT_WORK(&peer->pump_work, mc_rdma_pump);
	init_waitqueue_head(&peer->wait);
	INIT_LIST_HEAD(&peer->paths);
	INIT_LIST_HEAD(&peer->fences);
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

/* What a path knows about an address moves with it to its new place; a new address is a new start. */
static void move_pairs(struct mc_path *path, const struct mc_peer_addr *addrs, u32 n, u32 nold)
{
	struct mc_peer *peer = path->peer;
	struct mc_pair old[MC_PEER_ADDRS];
	u32 i, k, remote = path->remote;

	memcpy(old, path->pairs, sizeof(old));
	memset(path->pairs, 0, sizeof(path->pairs));
	for (i = 0; i < n; i++) {
		for (k = 0; k < nold; k++) {
			if (!mc_same_addr(&addrs[i].addr, &peer->addrs[k].addr))
				continue;
			path->pairs[i] = old[k];
			if (remote == k)
				path->remote = i;
		}
	}
	if (path->cur)
		path->cur->remote = path->remote;
	if (path->trying)
		path->trying->remote = path->remote;
}

static void set_addrs(struct mc_peer *peer, const struct mc_peer_addr *addrs, u32 n)
{
	struct mc_path *path;

	mutex_lock(&peer->lock);
	list_for_each_entry(path, &peer->paths, link)
		move_pairs(path, addrs, n, peer->naddrs);
	memcpy(peer->addrs, addrs, n * sizeof(*addrs));
	peer->naddrs = n;
	if (peer->wanted)
		kick(peer);
	mutex_unlock(&peer->lock);
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
	set_addrs(peer, addrs, n);
out:
	mutex_unlock(&peers_lock);
	return ret;
}

/* The first path that is not being ended yet, marked as such; the list's reference is for mc_path_end(). */
static struct mc_path *take_path(struct mc_peer *peer)
{
	struct mc_path *path;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(path, &peer->paths, link) {
		if (path->gone)
			continue;
		path->gone = true;
		return path;
	}
	return NULL;
}

static bool no_paths(struct mc_peer *peer)
{
	bool none;

	mutex_lock(&peer->lock);
	none = list_empty(&peer->paths);
	mutex_unlock(&peer->lock);
	return none;
}

/* Bounded: see mc_path_end(). A rail that is being removed may be ending one of the paths. */
static void peer_end(struct mc_peer *peer)
{
	struct mc_path *path;

	mc_net_dir_del(peer->dir);
	mutex_lock(&peer->lock);
	peer->gone = true;
	mutex_unlock(&peer->lock);
	wake_up_all(&peer->wait);
	for (;;) {
		mutex_lock(&peer->lock);
		path = take_path(peer);
		mutex_unlock(&peer->lock);
		if (!path)
			break;
		mc_path_end(path);
	}
	wait_event(peers_wait, no_paths(peer));
	cancel_delayed_work_sync(&peer->work);
	cancel_work_sync(&peer->pump_work);
	mc_rdma_fail_all(peer, -EHOSTUNREACH);
	drop_fences(peer);
	atomic_dec(&peers_ending);
	mc_peer_changed();
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
		atomic_inc(&peers_ending);
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
	list_for_each_entry(peer, &peers, link) {
		mutex_lock(&peer->lock);
		if (peer->wanted)
			kick(peer);
		mutex_unlock(&peer->lock);
	}
	mutex_unlock(&peers_lock);
}

/* Some path over the rail, marked gone; *@busy: somebody else is ending one. */
static struct mc_path *take_of_rail(struct mc_rail *rail, bool *busy)
{
	struct mc_path *path, *found = NULL;
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link) {
		mutex_lock(&peer->lock);
		list_for_each_entry(path, &peer->paths, link) {
			if (path->rail != rail)
				continue;
			*busy |= path->gone;
			if (!path->gone && !found)
				found = path;
		}
		if (found)
			found->gone = true;
		mutex_unlock(&peer->lock);
		if (found)
			break;
	}
	mutex_unlock(&peers_lock);
	return found;
}

/*
 * The rail is off the list: nobody makes a path for it any more. A peer that was taken off the list of peers ends its
 * paths itself.
 */
void mc_peer_drop_rail(struct mc_rail *rail)
{
	struct mc_path *path;
	bool busy;

	for (;;) {
		busy = false;
		path = take_of_rail(rail, &busy);
		if (path)
			mc_path_end(path);
		else if (busy)
			wait_event_timeout(peers_wait, false, HZ / 50);
		else
			break;
	}
	wait_event(peers_wait, !atomic_read(&peers_ending));
}

void mc_peer_break_rail(struct mc_rail *rail, const char *why)
{
	struct mc_path *path;
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link) {
		mutex_lock(&peer->lock);
		list_for_each_entry(path, &peer->paths, link) {
			if (path->rail == rail && path->cur)
				mc_cset_break(&path->cur->set, -ENETRESET, "%s", why);
			if (path->rail == rail && path->trying)
				mc_cset_break(&path->trying->set, -ENETRESET, "%s", why);
		}
		mutex_unlock(&peer->lock);
	}
	mutex_unlock(&peers_lock);
}

void mc_peer_show(struct seq_file *m)
{
	struct mc_path *path;
	struct mc_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, link) {
		mutex_lock(&peer->lock);
		seq_printf(m, "peer %pUb %s epoch %u posted %u attempts %u fences %u %s\n", peer->node,
			   mc_peer_state(peer), mc_peer_epoch(peer), peer->nposted, peer->attempts,
			   !list_empty(&peer->fences), peer->why);
		list_for_each_entry(path, &peer->paths, link)
			mc_path_show(m, path);
		mutex_unlock(&peer->lock);
	}
	mutex_unlock(&peers_lock);
}
