// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "event.h"
#include "fault.h"
#include "ibdev.h"
#include "peer.h"
#include "rdma.h"
#include "req.h"
#include "rseg.h"
#include "trace.h"

#define OPEN_MS		30000	/* the owner may have to register a large pool first */
#define NKEYS_MAX	(1U << 24)
#define OVERTAKEN_MAX	3	/* each needs an answer over another link that came between question and answer */
#define OUTRUN_MAX	100	/* each needs a segment that grows between two questions, */
#define OUTRUN_MS	20	/* of which the next come so much later */

/**
 * struct lease_info - what the owner said about a segment, on its way into struct mc_rseg
 * @lease: its number
 * @len: bytes
 * @chunk_shift: log2 of the bytes of a chunk
 * @rights: what requests may do
 * @needs_grant: requests need one
 * @gen: generation of its memory
 * @nkeys: entries of @keys; 0 without rights
 * @keys: remote keys
 */
struct lease_info {
	u32 lease;
	u64 len;
	u8 chunk_shift;
	u8 rights;
	bool needs_grant;
	u32 gen;
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
	info->rights = msg->rights & (MC_WIRE_RIGHT_READ | MC_WIRE_RIGHT_WRITE);
	info->needs_grant = !(msg->rights & MC_WIRE_NO_GRANT);
	info->gen = msg->gen;
	if (!info->rights)
		return 0;
	info->nkeys = n;
	info->keys = kvmalloc_array(n, sizeof(u32), GFP_KERNEL);
	return info->keys ? 0 : -ENOMEM;
}

/*
 * -ENOENT is the owner's answer to SEG_OPEN and means that there is no such segment. Keys that are not there any more
 * are another thing: the memory that they were of has been replaced by a larger one since, or the segment is gone,
 * which only the next SEG_OPEN tells: -EAGAIN.
 */
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
		if (ret == -ENOENT)
			ret = -EAGAIN;
		close_lease(set, info->lease);
		kvfree(info->keys);
		info->keys = NULL;
	}
out:
	kfree(msg);
	return ret;
}

static void lease_free(struct mc_rlease *lease)
{
	if (!lease)
		return;
	kvfree(lease->keys);
	kfree(lease);
}

/* What the owner said, ready to be put on a segment's list: the keys become the lease's. */
static struct mc_rlease *lease_make(struct mc_link *link, struct lease_info *info)
{
	struct mc_rlease *lease = kzalloc(sizeof(*lease), GFP_KERNEL);

	if (!lease)
		return NULL;
	lease->epoch = link->set.epoch;
	lease->lease = info->lease;
	lease->chunk_shift = info->chunk_shift;
	lease->gen = info->gen;
	lease->nkeys = info->nkeys;
	lease->len = info->len;
	swap(lease->keys, info->keys);
	return lease;
}

struct mc_rlease *mc_rseg_lease(struct mc_rseg *rseg, u32 epoch)
{
	struct mc_rlease *lease;

	list_for_each_entry(lease, &rseg->leases, link)
		if (lease->epoch == epoch)
			return lease;
	return NULL;
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

static bool is_outdated(struct mc_rseg *rseg)
{
	return rseg->outdated && rseg->target.gen <= rseg->outdated;
}

static struct mc_rseg *make(struct mc_peer *peer, const u8 *seg, struct lease_info *info)
{
	struct mc_rseg *rseg = kzalloc(sizeof(*rseg), GFP_KERNEL);

	if (!rseg)
		return NULL;
	mc_target_init(&rseg->target, &mc_rdma_ops, seg, info->len, false);
	INIT_LIST_HEAD(&rseg->leases);
	rseg->target.rights = info->rights;
	rseg->target.needs_grant = info->needs_grant;
	rseg->target.gen = info->gen;
	rseg->peer = peer;
	mc_peer_get(peer);
	return rseg;
}

/* The other live paths open it too, each in its own work item. */
static void tell_others(struct mc_peer *peer, struct mc_link *link)
{
	struct mc_path *path;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(path, &peer->paths, link)
		if (path->cur && path->cur != link && !path->gone)
			mod_delayed_work(mc_net_wq, &path->work, 0);
}

/*
 * Add a freshly opened segment. If another caller was faster, its segment is returned and the lease closed again; if
 * the link broke or the owner revoked something meanwhile, the keys may be worthless: NULL, try again.
 */
static struct mc_rseg *publish(struct mc_link *link, struct mc_rseg *mine, struct mc_rlease *lease, u32 revokes)
{
	struct mc_peer *peer = link->path->peer;
	struct mc_rseg *rseg = NULL;

	mutex_lock(&peer->lock);
	if (link->path->cur == link && link->revokes == revokes) {
		rseg = find_live(peer, mine->target.seg_uuid);
		if (!rseg) {
			rseg = mine;
			list_add_tail(&lease->link, &rseg->leases);
			list_add_tail(&rseg->link, &peer->rsegs);
			tell_others(peer, link);
		}
	}
	mutex_unlock(&peer->lock);
	if (rseg == mine)
		return rseg;
	close_lease(&link->set, lease->lease);
	lease_free(lease);
	mc_peer_put(peer);
	kfree(mine);
	return rseg;
}

/* -ENOTCONN: nothing is wrong with the segment, ask again. */
static struct mc_rseg *open_on(struct mc_link *link, const u8 *seg, u32 timeout_ms)
{
	u32 revokes = READ_ONCE(link->revokes);
	struct mc_peer *peer = link->path->peer;
	struct mc_rlease *lease;
	struct lease_info info;
	struct mc_rseg *rseg;
	int ret = open_at_owner(&link->set, seg, &info, timeout_ms);

	if (ret)
		return ERR_PTR(ret == -EAGAIN ? -ENOTCONN : ret);
	rseg = make(peer, seg, &info);
	lease = rseg ? lease_make(link, &info) : NULL;
	kvfree(info.keys);
	if (!lease) {
		close_lease(&link->set, info.lease);
		if (rseg)
			mc_peer_put(peer);
		kfree(rseg);
		return ERR_PTR(-ENOMEM);
	}
	return publish(link, rseg, lease, revokes) ?: ERR_PTR(-ENOTCONN);
}

static struct mc_rseg *open_by(struct mc_peer *peer, const u8 *seg, unsigned long deadline)
{
	struct mc_rseg *rseg;
	struct mc_link *link;
	bool changed;
	long left;

	for (;;) {
		mutex_lock(&peer->lock);
		rseg = find_live(peer, seg);
		changed = rseg && is_outdated(rseg);
		mutex_unlock(&peer->lock);
		if (rseg && !changed)
			return rseg;
		if (rseg) {
			/* What is known of it is not true any more; a path's work item asks the owner, if one can. */
			mc_target_put(&rseg->target);
			link = mc_peer_link(peer, deadline);
			if (IS_ERR(link))
				return ERR_CAST(link);
			mc_cset_put(&link->set);
			if (time_after(jiffies, deadline))
				return ERR_PTR(-ETIMEDOUT);
			if (schedule_timeout_killable(HZ / 100))
				return ERR_PTR(-EINTR);
			continue;
		}
		link = mc_peer_link(peer, deadline);
		if (IS_ERR(link))
			return ERR_CAST(link);
		left = deadline - jiffies;
		rseg = left > 0 ? open_on(link, seg, jiffies_to_msecs(left)) : ERR_PTR(-ETIMEDOUT);
		mc_cset_put(&link->set);
		if (rseg != ERR_PTR(-ENOTCONN))
			return rseg;
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		/* The link broke, or the segment grew; another link or its successor, or another answer, will do. */
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

static int lookup_on(struct mc_cset *set, const char *name, u32 timeout_ms, u8 *seg)
{
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret;

	if (!msg)
		return -ENOMEM;
	msg->type = MC_WIRE_SEG_LOOKUP;
	strscpy(msg->name, name, sizeof(msg->name));
	ret = call_until(set, msg, jiffies + msecs_to_jiffies(timeout_ms));
	if (!ret && msg->type != MC_WIRE_SEG_FOUND)
		ret = -EPROTO;
	if (!ret)
		memcpy(seg, msg->seg, MC_UUID_LEN);
	kfree(msg);
	return ret;
}

static int lookup_by(struct mc_peer *peer, const char *name, unsigned long deadline, u8 *seg)
{
	struct mc_link *link;
	long left;
	int ret;

	for (;;) {
		link = mc_peer_link(peer, deadline);
		if (IS_ERR(link))
			return PTR_ERR(link);
		left = deadline - jiffies;
		ret = left > 0 ? lookup_on(&link->set, name, jiffies_to_msecs(left), seg) : -ETIMEDOUT;
		mc_cset_put(&link->set);
		if (ret != -ENOTCONN)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_killable(HZ / 50);
	}
}

int mc_net_seg_lookup(const u8 *node, const char *name, u64 timeout_ns, u8 *seg)
{
	struct mc_peer *peer = mc_peer_find(node);
	int ret;

	if (!peer)
		return -EHOSTUNREACH;
	ret = lookup_by(peer, name, jiffies + nsecs_to_jiffies64(timeout_ns) + 1, seg);
	mc_peer_put(peer);
	return ret;
}

/* With a reference, or NULL. */
static struct mc_link *link_of_epoch(struct mc_peer *peer, u32 epoch)
{
	struct mc_path *path;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(path, &peer->paths, link) {
		if (!path->cur || path->cur->set.epoch != epoch)
			continue;
		mc_cset_get(&path->cur->set);
		return path->cur;
	}
	return NULL;
}

/* The last handle and the last request are gone, so nothing is queued or posted. Off the list, nobody else sees it. */
static void rseg_release(struct mc_target *target)
{
	struct mc_rseg *rseg = mc_to_rseg(target);
	struct mc_rlease *lease, *next;
	struct mc_peer *peer = rseg->peer;
	struct mc_link *link;

	mutex_lock(&peer->lock);
	list_del(&rseg->link);
	mutex_unlock(&peer->lock);
	list_for_each_entry_safe(lease, next, &rseg->leases, link) {
		mutex_lock(&peer->lock);
		/* The acknowledgement of a revocation is a close as well. */
		link = lease->refused ? NULL : link_of_epoch(peer, lease->epoch);
		mutex_unlock(&peer->lock);
		if (link) {
			close_lease(&link->set, lease->lease);
			mc_cset_put(&link->set);
		}
		list_del(&lease->link);
		lease_free(lease);
	}
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

/* The next segment that is not open on this link yet, with a reference. */
static struct mc_rseg *next_unopened(struct mc_link *link)
{
	struct mc_peer *peer = link->path->peer;
	struct mc_rseg *rseg, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link) {
		if (rseg->stale || mc_rseg_lease(rseg, link->set.epoch) || !kref_get_unless_zero(&rseg->target.kref))
			continue;
		found = rseg;
		break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

static bool open_elsewhere(struct mc_rseg *rseg)
{
	struct mc_rlease *lease;

	list_for_each_entry(lease, &rseg->leases, link)
		if (!lease->refused)
			return true;
	return false;
}

/*
 * That the owner does not know it, or that it is another one, is the end of a segment, and so is any refusal when it is
 * open on no other link. Returns what is to be closed and freed.
 */
static struct mc_rlease *settle(struct mc_link *link, struct mc_rseg *rseg, struct mc_rlease *lease, int err,
				const struct lease_info *info, u32 revokes)
{
	struct mc_target *target = &rseg->target;

	lockdep_assert_held(&link->path->peer->lock);
	/* An answer that another link's has overtaken: it is asked for again. */
	if (!err && info->gen < target->gen) {
		link->overtaken++;
		return lease;
	}
	link->overtaken = 0;
	if (!err && (info->len < target->len || info->rights != target->rights))
		err = -ESTALE;
	if (!err) {
		WRITE_ONCE(target->len, info->len);
		WRITE_ONCE(target->gen, info->gen);
	}
	if (err == -ENOENT || err == -ESTALE || (err && !open_elsewhere(rseg)))
		rseg->stale = true;
	/* A revocation that found no segment may have been of this lease: it is asked for again. */
	if (rseg->stale || (!err && link->revokes != revokes))
		return lease;
	lease->refused = err;
	list_add_tail(&lease->link, &rseg->leases);
	return NULL;
}

static int reopen_one(struct mc_link *link, struct mc_rseg *rseg)
{
	u32 revokes = READ_ONCE(link->revokes);
	struct lease_info info = { };
	struct mc_rlease *lease;
	int ret = open_at_owner(&link->set, rseg->target.seg_uuid, &info, OPEN_MS);

	lease = lease_make(link, &info);
	kvfree(info.keys);
	if (!lease || mc_cset_broken(&link->set) || ret == -ETIMEDOUT || ret == -ENOMEM) {
		/* Too busy is no reason to call a segment gone: break the link and try once more. */
		lease_free(lease);
		return !lease ? -ENOMEM : ret ?: -ENOTCONN;
	}
	if (ret == -EAGAIN) {
		lease_free(lease);
		msleep(OUTRUN_MS);
		return ++link->outrun < OUTRUN_MAX ? 0 : -EPROTO;
	}
	link->outrun = 0;
	mutex_lock(&link->path->peer->lock);
	lease = settle(link, rseg, lease, ret, &info, revokes);
	mutex_unlock(&link->path->peer->lock);
	/* What the owner gave and nobody uses. One that it has revoked meanwhile is not there any more: no harm. */
	if (lease && !ret)
		close_lease(&link->set, lease->lease);
	lease_free(lease);
	queue_work(mc_net_wq, &link->path->peer->pump_work);
	return link->overtaken < OVERTAKEN_MAX ? 0 : -EPROTO;
}

int mc_rseg_reopen(struct mc_link *link)
{
	struct mc_rseg *rseg;
	int ret = 0;

	while (!ret && !mc_cset_broken(&link->set) && (rseg = next_unopened(link))) {
		ret = reopen_one(link, rseg);
		mc_target_put(&rseg->target);
	}
	if (ret)
		mc_cset_break(&link->set, ret, "segments could not be opened again: error %d", ret);
	return ret ?: mc_cset_broken(&link->set) ? -ENOTCONN : 0;
}

void mc_rseg_drop_link(struct mc_link *link)
{
	struct mc_rlease *lease;
	struct mc_rseg *rseg;

	list_for_each_entry(rseg, &link->path->peer->rsegs, link) {
		lease = mc_rseg_lease(rseg, link->set.epoch);
		if (!lease)
			continue;
		list_del(&lease->link);
		lease_free(lease);
	}
}

void mc_rseg_all_stale(struct mc_peer *peer)
{
	struct mc_rseg *rseg;

	list_for_each_entry(rseg, &peer->rsegs, link)
		rseg->stale = true;
	queue_work(mc_net_wq, &peer->pump_work);
}

static void delay_changed(struct mc_link *link)
{
	u64 ms = mc_fault_value(changed_delay_ms), rail = mc_fault_value(changed_rail);

	if (ms && (!rail || rail == link->set.rail))
		msleep(min_t(u64, ms, 60000));
}

/* From here on nothing new is posted; the acknowledgement follows the last slice that was posted on this link. */
void mc_rseg_revoke(struct mc_link *link, struct mc_wire_msg *msg)
{
	struct mc_peer *peer = link->path->peer;
	struct mc_rlease *lease;
	struct mc_rseg *rseg;
	u8 seg[MC_UUID_LEN];
	bool changed = msg->type == MC_WIRE_SEG_CHANGED;
	bool found = false, first = false;	/* other links have leases of their own, each is revoked */

	if (changed)
		delay_changed(link);
	mutex_lock(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link) {
		lease = mc_rseg_lease(rseg, link->set.epoch);
		if (!lease || lease->refused || lease->lease != msg->lease)
			continue;
		memcpy(seg, rseg->target.seg_uuid, MC_UUID_LEN);
		first = !rseg->stale;
		trace_mc_revoked(peer->node, seg, lease->lease);
		rseg->stale |= !changed;
		if (changed)
			rseg->outdated = max(rseg->outdated, lease->gen);
		lease->changed = changed;
		lease->ack_due = true;
		found = true;
	}
	if (!found)
		link->revokes++;
	mutex_unlock(&peer->lock);
	if (found) {
		if (first && !changed)
			mc_event_seg_gone(peer->node, seg, NULL, 0, MC_REASON_OWNER);
		queue_work(mc_net_wq, &peer->pump_work);
		return;
	}
	/*
	 * Closed already, or being opened: its keys were never used, and @revokes makes whoever has just fetched them
	 * drop them.
	 */
	msg->type = MC_WIRE_REVOKE_ACK;
	mc_ctrl_send(&link->set, msg);
}

static bool next_ack(struct mc_link *link, u32 *id)
{
	struct mc_peer *peer = link->path->peer;
	struct mc_rlease *lease;
	struct mc_rseg *rseg;
	bool found = false;

	mutex_lock(&peer->lock);
	list_for_each_entry(rseg, &peer->rsegs, link) {
		lease = mc_rseg_lease(rseg, link->set.epoch);
		if (!lease || !lease->ack_due || lease->posted)
			continue;
		lease->ack_due = false;
		*id = lease->lease;
		found = true;
		if (lease->changed) {
			/* Not open on this link from now on: its work item opens it again. */
			list_del(&lease->link);
			lease_free(lease);
			if (!link->path->gone)
				mod_delayed_work(mc_net_wq, &link->path->work, 0);
		}
		break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

void mc_rseg_acks(struct mc_link *link)
{
	struct mc_wire_msg msg = { .type = MC_WIRE_REVOKE_ACK };

	while (next_ack(link, &msg.lease))
		mc_ctrl_send(&link->set, &msg);
}
