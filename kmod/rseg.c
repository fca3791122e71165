// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "event.h"
#include "ibdev.h"
#include "peer.h"
#include "rdma.h"
#include "req.h"
#include "rseg.h"
#include "trace.h"

#define OPEN_MS		30000	/* the owner may have to register a large pool first */
#define NKEYS_MAX	(1U << 24)

/**
 * struct lease_info - what the owner said about a segment, on its way into struct mc_rseg
 * @lease: its number
 * @len: bytes
 * @chunk_shift: log2 of the bytes of a chunk
 * @nkeys: entries of @keys
 * @keys: remote keys
 */
struct lease_info {
	u32 lease;
	u64 len;
	u8 chunk_shift;
	u32 nkeys;
	u32 *keys;
};

/* A call with what is left of the time; the owner can't draw it out by answering slowly. */
static int call_until(struct mc_cset *set, struct mc_wire_msg *msg, unsigned long deadline)
{
	long left = deadline - jiffies;

	if (fatal_signal_pending(current))
		return -EINTR;
	return left > 0 ? mc_ctrl_call(set, msg, jiffies_to_msecs(left)) : -ETIMEDOUT;
}

static int fetch_keys(struct mc_cset *set, struct mc_wire_msg *msg, struct lease_info *info, unsigned long deadline)
{
	u32 first, n;
	int ret;

	for (first = 0; first < info->nkeys; first += n) {
		n = min_t(u32, info->nkeys - first, MC_WIRE_KEYS_MAX);
		memset(msg, 0, sizeof(*msg));
		msg->type = MC_WIRE_SEG_KEYS_REQ;
		msg->lease = info->lease;
		msg->first = first;
		msg->count = n;
		ret = call_until(set, msg, deadline);
		if (ret)
			return ret;
		if (msg->type != MC_WIRE_SEG_KEYS || msg->first != first || msg->count != n)
			return -EPROTO;
		memcpy(info->keys + first, msg->keys, n * sizeof(u32));
	}
	return 0;
}

static void close_lease(struct mc_cset *set, u32 lease)
{
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);

	/* Without the message the lease stands until the set ends: the owner revokes it when it needs to. */
	if (!msg)
		return;
	msg->type = MC_WIRE_SEG_CLOSE;
	msg->lease = lease;
	mc_ctrl_send(set, msg);
	kfree(msg);
}

/* Nothing the owner says is believed before it fits: length, shift and the number of keys bound what is allocated. */
static int check_info(struct mc_wire_msg *msg, struct lease_info *info)
{
	u64 n;

	if (!msg->len || msg->chunk_shift < PAGE_SHIFT || msg->chunk_shift > 40)
		return -EPROTO;
	n = ((msg->len - 1) >> msg->chunk_shift) + 1;
	if (n > NKEYS_MAX)
		return -E2BIG;
	info->len = msg->len;
	info->chunk_shift = msg->chunk_shift;
	info->nkeys = n;
	info->keys = kvmalloc_array(n, sizeof(u32), GFP_KERNEL);
	return info->keys ? 0 : -ENOMEM;
}

static int open_at_owner(struct mc_cset *set, const u8 *seg, struct lease_info *info, u32 timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret;

	memset(info, 0, sizeof(*info));
	if (!msg)
		return -ENOMEM;
	msg->type = MC_WIRE_SEG_OPEN;
	memcpy(msg->seg, seg, MC_UUID_LEN);
	ret = call_until(set, msg, deadline);
	if (!ret && msg->type != MC_WIRE_SEG_INFO)
		ret = -EPROTO;
	if (ret)
		goto out;
	info->lease = msg->lease;
	ret = check_info(msg, info);
	if (!ret)
		ret = fetch_keys(set, msg, info, deadline);
	if (ret) {
		close_lease(set, info->lease);
		kvfree(info->keys);
		info->keys = NULL;
	}
out:
	kfree(msg);
	return ret;
}

static void adopt(struct mc_rseg *rseg, struct lease_info *info, u32 epoch)
{
	swap(rseg->keys, info->keys);
	rseg->nkeys = info->nkeys;
	rseg->chunk_shift = info->chunk_shift;
	rseg->lease = info->lease;
	rseg->epoch = epoch;
	rseg->ack_due = false;
}

static struct mc_rseg *find_live(struct mc_peer *peer, const u8 *seg)
{
	struct mc_rseg *rseg;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link)
		if (!rseg->stale && !memcmp(rseg->target.seg_uuid, seg, MC_UUID_LEN) &&
		    kref_get_unless_zero(&rseg->target.kref))
			return rseg;
	return NULL;
}

static struct mc_rseg *make(struct mc_peer *peer, const u8 *seg, struct lease_info *info)
{
	struct mc_rseg *rseg = kzalloc(sizeof(*rseg), GFP_KERNEL);

	if (!rseg)
		return NULL;
	mc_target_init(&rseg->target, &mc_rdma_ops, seg, info->len, false);
	rseg->peer = peer;
	mc_peer_get(peer);
	return rseg;
}

/*
 * Add a freshly opened segment. If another caller was faster, its segment is returned and the lease closed again; if
 * the path broke or the owner revoked something meanwhile, the keys may be worthless: NULL, try again.
 */
static struct mc_rseg *publish(struct mc_path *path, struct mc_rseg *mine, struct lease_info *info, u32 revokes)
{
	struct mc_peer *peer = path->peer;
	struct mc_rseg *rseg = NULL;

	mutex_lock(&peer->lock);
	if (peer->path == path && path->revokes == revokes) {
		rseg = find_live(peer, mine->target.seg_uuid);
		if (!rseg) {
			rseg = mine;
			adopt(rseg, info, path->set.epoch);
			list_add_tail(&rseg->link, &peer->rsegs);
		}
	}
	mutex_unlock(&peer->lock);
	if (rseg == mine)
		return rseg;
	close_lease(&path->set, info->lease);
	mc_peer_put(peer);
	kfree(mine);
	return rseg;
}

static struct mc_rseg *open_on(struct mc_path *path, const u8 *seg, u32 timeout_ms)
{
	u32 revokes = READ_ONCE(path->revokes);
	struct lease_info info;
	struct mc_rseg *rseg;
	int ret = open_at_owner(&path->set, seg, &info, timeout_ms);

	if (ret)
		return ERR_PTR(ret);
	rseg = make(path->peer, seg, &info);
	if (!rseg) {
		close_lease(&path->set, info.lease);
		kvfree(info.keys);
		return ERR_PTR(-ENOMEM);
	}
	rseg = publish(path, rseg, &info, revokes);
	kvfree(info.keys);
	return rseg ?: ERR_PTR(-ENOTCONN);
}

static struct mc_rseg *open_by(struct mc_peer *peer, const u8 *seg, unsigned long deadline)
{
	struct mc_rseg *rseg;
	struct mc_path *path;
	long left;

	for (;;) {
		mutex_lock(&peer->lock);
		rseg = find_live(peer, seg);
		mutex_unlock(&peer->lock);
		if (rseg)
			return rseg;
		path = mc_peer_path(peer, deadline);
		if (IS_ERR(path))
			return ERR_CAST(path);
		left = deadline - jiffies;
		rseg = left > 0 ? open_on(path, seg, jiffies_to_msecs(left)) : ERR_PTR(-ETIMEDOUT);
		mc_cset_put(&path->set);
		if (rseg != ERR_PTR(-ENOTCONN))
			return rseg;
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		/* The path broke; its successor is on the way. */
		schedule_timeout_killable(HZ / 50);
	}
}

struct mc_target *mc_net_seg_open(const u8 *node, const u8 *seg, u64 timeout_ns)
{
	struct mc_peer *peer = mc_peer_find(node);
	struct mc_rseg *rseg;

	if (!peer)
		return ERR_PTR(-EHOSTUNREACH);
	rseg = open_by(peer, seg, jiffies + nsecs_to_jiffies64(timeout_ns) + 1);
	mc_peer_put(peer);
	return IS_ERR(rseg) ? ERR_CAST(rseg) : &rseg->target;
}

/* The last handle and the last request are gone, so nothing is queued or posted. */
static void rseg_release(struct mc_target *target)
{
	struct mc_rseg *rseg = mc_to_rseg(target);
	struct mc_peer *peer = rseg->peer;
	struct mc_path *path;

	mutex_lock(&peer->lock);
	list_del(&rseg->link);
	path = peer->path;
	if (path && path->set.epoch == rseg->epoch && !rseg->stale)
		mc_cset_get(&path->set);
	else
		path = NULL;
	mutex_unlock(&peer->lock);
	if (path) {
		close_lease(&path->set, rseg->lease);
		mc_cset_put(&path->set);
	}
	kvfree(rseg->keys);
	mc_peer_put(peer);
	kfree(rseg);
}

const struct mc_transport_ops mc_rdma_ops = {
	.name = "rdma",
	.id = MC_TRANSPORT_RDMA,
	.submit = mc_rdma_submit,
	.abort = mc_rdma_abort,
	.release = rseg_release,
};

/* The next segment that does not belong to this path yet, with a reference. */
static struct mc_rseg *next_old(struct mc_path *path)
{
	struct mc_peer *peer = path->peer;
	struct mc_rseg *rseg, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link) {
		if (rseg->stale || rseg->epoch == path->set.epoch || !kref_get_unless_zero(&rseg->target.kref))
			continue;
		found = rseg;
		break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

static int reopen_one(struct mc_path *path, struct mc_rseg *rseg, bool same)
{
	u32 revokes = READ_ONCE(path->revokes);
	struct lease_info info = { };
	int ret = same ? open_at_owner(&path->set, rseg->target.seg_uuid, &info, OPEN_MS) : -ESTALE;

	if (mc_cset_broken(&path->set)) {
		kvfree(info.keys);
		return -ENOTCONN;
	}
	mutex_lock(&path->peer->lock);
	if (ret || info.len != rseg->target.len)
		rseg->stale = true;
	else if (path->revokes == revokes)	/* else it is asked for again */
		adopt(rseg, &info, path->set.epoch);
	mutex_unlock(&path->peer->lock);
	kvfree(info.keys);
	/* Too busy is no reason to call a segment gone: break the path and try once more. */
	return ret == -ETIMEDOUT || ret == -ENOMEM ? ret : 0;
}

int mc_rseg_reopen(struct mc_path *path, bool same)
{
	struct mc_rseg *rseg;
	int ret = 0;

	while (!ret && (rseg = next_old(path))) {
		ret = reopen_one(path, rseg, same);
		mc_target_put(&rseg->target);
	}
	if (ret)
		mc_cset_break(&path->set, ret, "segments could not be opened again: error %d", ret);
	return ret;
}

/* From here on nothing new is posted; the acknowledgement follows the last posted slice. */
void mc_rseg_revoke(struct mc_path *path, struct mc_wire_msg *msg)
{
	struct mc_peer *peer = path->peer;
	struct mc_rseg *rseg;
	u8 seg[MC_UUID_LEN];
	bool found = false;

	mutex_lock(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link) {
		if (rseg->lease != msg->lease || rseg->epoch != path->set.epoch)
			continue;
		memcpy(seg, rseg->target.seg_uuid, MC_UUID_LEN);
		trace_mc_revoked(peer->node, seg, rseg->lease);
		rseg->stale = true;
		rseg->ack_due = true;
		found = true;
	}
	if (!found)
		path->revokes++;
	mutex_unlock(&peer->lock);
	if (found) {
		mc_event_seg_gone(peer->node, seg, NULL, 0, MC_REASON_OWNER);
		queue_work(mc_net_wq, &peer->pump_work);
		return;
	}
	/*
	 * Closed already, or being opened: its keys were never used, and @revokes makes whoever has just fetched them
	 * drop them.
	 */
	msg->type = MC_WIRE_REVOKE_ACK;
	mc_ctrl_send(&path->set, msg);
}

static bool next_ack(struct mc_path *path, u32 *lease)
{
	struct mc_rseg *rseg;
	bool found = false;

	mutex_lock(&path->peer->lock);
	list_for_each_entry(rseg, &path->peer->rsegs, link) {
		if (!rseg->ack_due || rseg->posted || rseg->epoch != path->set.epoch)
			continue;
		rseg->ack_due = false;
		*lease = rseg->lease;
		found = true;
		break;
	}
	mutex_unlock(&path->peer->lock);
	return found;
}

void mc_rseg_acks(struct mc_path *path)
{
	struct mc_wire_msg msg = { .type = MC_WIRE_REVOKE_ACK };

	while (next_ack(path, &msg.lease))
		mc_ctrl_send(&path->set, &msg);
}
