// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/algapi.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "cset.h"
#include "ibdev.h"
#include "lease.h"
#include "mem.h"
#include "mrset.h"
#include "rail.h"
#include "seg.h"
#include "trace.h"

#define HELLO_JIFFIES	(5 * HZ)	/* a set that has not proven itself by then is destroyed */
#define STRANGERS_MAX	64		/* sets that have not proven themselves; the oldest makes room for a new one */
#define STRANGERS_ADDR	16		/* of one address; likewise */
#define STRANGERS_DYING	256		/* those that are being destroyed included: no new ones until they are gone */
#define PSETS_MAX	4096
#define INCOMING_MAX	256		/* connection requests that wait for the work item */
#define LEASES_MAX	4096		/* of one set */

/**
 * struct mc_lease - a peer knows the keys of a segment
 * @link: in the set's list
 * @id: unique on this node
 * @seg: the segment's structure, with a reference
 * @desc: the generation it has keys of; the lease ends before that is freed
 * @told: REVOKE was sent
 */
struct mc_lease {
	struct list_head link;
	u32 id;
	struct mc_seg *seg;
	struct mc_seg_desc *desc;
	bool told;
};

/**
 * struct mc_pset - a set that another node opened
 * @set: the set
 * @link: in the list of sets, until it is destroyed
 * @rail: rail it came through, with a reference
 * @hello: how far the proof is
 * @authed: the node is who it says
 * @proof: number of that proof; grows from set to set
 * @addr: where it came from
 * @born: jiffies
 * @leases: by age
 * @nleases: how many
 * @end_work: destroys it
 */
struct mc_pset {
	struct mc_cset set;
	struct list_head link;
	struct mc_rail *rail;
	struct mc_hello_state hello;
	bool authed;
	u64 proof;
	struct sockaddr_storage addr;
	unsigned long born;
	struct list_head leases;
	u32 nleases;
	struct work_struct end_work;
};

/* A connection request, until the work item has dealt with it. */
struct incoming {
	struct work_struct work;
	struct mc_rail *rail;
	struct mc_ibdev *dev;
	struct rdma_cm_id *id;
	struct mc_wire_req req;
	u8 bytes[MC_WIRE_REQ_LEN];
	struct rdma_conn_param param;
};

static DEFINE_MUTEX(psets_lock);
static LIST_HEAD(psets);
static DECLARE_WAIT_QUEUE_HEAD(psets_wait);	/* a set or a lease ended */
static atomic_t psets_changes = ATOMIC_INIT(0);	/* how often that happened */
static struct workqueue_struct *incoming_wq;	/* ordered */
static struct workqueue_struct *end_wq;		/* destroys sets; work in it never waits for other work in it */
static atomic_t incoming_waiting = ATOMIC_INIT(0);
static u32 last_lease;
static u64 last_proof;
static atomic_t psets_alive = ATOMIC_INIT(0);
static void scan(struct work_struct *work);
static DECLARE_DELAYED_WORK(scan_work, scan);

static void changed(void)
{
	atomic_inc(&psets_changes);
	wake_up_all(&psets_wait);
}

static struct mc_pset *to_pset(struct mc_cset *set)
{
	return container_of(set, struct mc_pset, set);
}

static void lease_free(struct mc_pset *ps, struct mc_lease *lease)
{
	lockdep_assert_held(&psets_lock);
	list_del(&lease->link);
	ps->nleases--;
	atomic_dec(&lease->seg->leases);
	mc_seg_put(lease->seg);
	kfree(lease);
}

static struct mc_lease *lease_find(struct mc_pset *ps, u32 id)
{
	struct mc_lease *lease;

	list_for_each_entry(lease, &ps->leases, link)
		if (lease->id == id)
			return lease;
	return NULL;
}

/*
 * A segment that ends sets mem->forgotten before it looks for leases under the same lock: none is
 * overlooked.
 */
static int lease_add(struct mc_pset *ps, struct mc_seg_desc *desc, u32 *id)
{
	struct mc_lease *lease = kzalloc(sizeof(*lease), GFP_KERNEL);
	int ret = 0;

	if (!lease)
		return -ENOMEM;
	lease->seg = desc->seg;
	lease->desc = desc;
	mutex_lock(&psets_lock);
	if (READ_ONCE(desc->mem->forgotten))
		ret = -ENOENT;
	else if (ps->nleases >= LEASES_MAX)
		ret = -ENOSPC;
	if (ret) {
		mutex_unlock(&psets_lock);
		kfree(lease);
		return ret;
	}
	mc_seg_get(lease->seg);
	atomic_inc(&lease->seg->leases);
	lease->id = *id = ++last_lease;
	list_add_tail(&lease->link, &ps->leases);
	ps->nleases++;
	mutex_unlock(&psets_lock);
	return 0;
}

static void lease_drop(struct mc_pset *ps, u32 id)
{
	struct mc_lease *lease;

	mutex_lock(&psets_lock);
	lease = lease_find(ps, id);
	if (lease && lease->told)
		trace_mc_revoke_ack(ps->set.node, lease->seg->target.seg_uuid, id);
	if (lease)
		lease_free(ps, lease);
	mutex_unlock(&psets_lock);
	changed();
}

/* The descriptor's io reference keeps the memory alive while it is registered. */
static int open_desc(struct mc_pset *ps, struct mc_seg_desc *desc, struct mc_wire_msg *msg)
{
	u32 id;
	int ret;

	ret = lease_add(ps, desc, &id);
	if (ret)
		return ret;
	/* Without rights nothing is reachable: no keys. */
	if (desc->mem->rights)
		ret = mc_mrset_ensure(desc->mem, &ps->set, 0, mc_mrset_nchunks(desc->mem, ps->set.dev));
	if (ret) {
		lease_drop(ps, id);
		return ret;
	}
	msg->type = MC_WIRE_SEG_INFO;
	msg->status = 0;
	msg->lease = id;
	msg->len = desc->len;
	msg->chunk_shift = ps->set.dev->chunk_shift;
	msg->rights = desc->mem->rights | (desc->seg->target.needs_grant ? 0 : MC_WIRE_NO_GRANT);
	msg->gen = desc->gen;
	return 0;
}

/* A generation that was replaced while it was being opened says ENOENT: its successor is there. */
static int serve_open(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct mc_seg *seg = mc_seg_find(msg->seg);
	struct mc_seg_desc *desc, *last = NULL;
	int ret = -ENOENT;

	if (!seg)
		return -ENOENT;
	while (ret == -ENOENT && (desc = mc_seg_desc_get(seg))) {
		if (desc != last)
			ret = open_desc(ps, desc, msg);
		mc_seg_desc_put(desc);
		if (desc == last)
			break;
		last = desc;
	}
	mc_seg_put(seg);
	return ret;
}

static int serve_lookup(struct mc_wire_msg *msg)
{
	struct mc_seg *seg = mc_seg_find_name(msg->name);

	if (!seg)
		return -ENOENT;
	msg->type = MC_WIRE_SEG_FOUND;
	msg->status = 0;
	memcpy(msg->seg, seg->target.seg_uuid, MC_UUID_LEN);
	mc_seg_put(seg);
	return 0;
}

static int serve_keys(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct mc_seg_desc *desc = NULL;
	struct mc_lease *lease;
	int ret;

	/* The lock is not held while the keys are looked up: that may wait for somebody's registration. */
	mutex_lock(&psets_lock);
	lease = lease_find(ps, msg->lease);
	if (lease && mc_seg_desc_tryget(lease->desc))
		desc = lease->desc;
	mutex_unlock(&psets_lock);
	if (!desc)
		return -ENOENT;
	msg->type = MC_WIRE_SEG_KEYS;
	ret = mc_mrset_rkeys(desc->mem, ps->set.dev, msg->first, msg->count, msg->keys);
	mc_seg_desc_put(desc);
	return ret;
}

static bool same_node(const struct mc_pset *a, const struct mc_pset *b)
{
	return !memcmp(a->set.node, b->set.node, MC_UUID_LEN);
}

static bool same_pair(const struct mc_pset *a, const struct mc_pset *b)
{
	return a->set.instance == b->set.instance && a->rail == b->rail && a->set.peer_rail == b->set.peer_rail;
}

/*
 * Some other set of the same node that the new one replaces, with a reference: an older one of the same pair of rails,
 * or any of another load of that node's module, which is gone. Only sets that proved themselves earlier count: two that
 * replace each other would wait for each other.
 */
static struct mc_pset *older(struct mc_pset *ps)
{
	struct mc_pset *other, *found = NULL;

	mutex_lock(&psets_lock);
	list_for_each_entry(other, &psets, link) {
		if (!other->authed || other->proof >= ps->proof || !same_node(other, ps))
			continue;
		if (other->set.instance == ps->set.instance &&
		    (!same_pair(other, ps) || other->set.epoch >= ps->set.epoch))
			continue;
		mc_cset_get(&other->set);
		found = other;
		break;
	}
	mutex_unlock(&psets_lock);
	return found;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr, &((struct sockaddr_in6 *)b)->sin6_addr);
	return ((struct sockaddr_in *)a)->sin_addr.s_addr == ((struct sockaddr_in *)b)->sin_addr.s_addr;
}

/*
 * Is it another node with the same UUID rather than the node itself after a restart? The set of a module that is gone
 * has broken or is silent, or comes from the same address; one that pings from elsewhere is alive.
 */
static bool is_double(struct mc_pset *other, struct mc_pset *ps)
{
	return other->set.instance != ps->set.instance && !mc_cset_broken(&other->set) &&
	       !same_host(&other->addr, &ps->addr) &&
	       time_before(jiffies, READ_ONCE(other->set.last_rx) + msecs_to_jiffies(2 * mc_ping_ms));
}

/* 0: it counts as proven; -ESTALE: a later set of that node was faster; -EEXIST: there are two nodes with its UUID. */
static int admit(struct mc_pset *ps)
{
	struct mc_pset *other;
	int ret = 0;

	mutex_lock(&psets_lock);
	list_for_each_entry(other, &psets, link) {
		if (other == ps || !other->authed || !same_node(other, ps))
			continue;
		if (same_pair(other, ps) && other->set.epoch >= ps->set.epoch)
			ret = -ESTALE;
		if (!is_double(other, ps))
			continue;
		ret = -EEXIST;
		pr_warn_ratelimited("mooncake: two nodes have the UUID %pUb: one at %pISc, refused one at %pISc\n",
				    ps->set.node, &other->addr, &ps->addr);
		break;
	}
	if (!ret) {
		ps->authed = true;
		ps->proof = ++last_proof;
	}
	mutex_unlock(&psets_lock);
	return ret;
}

static void wait_gone(struct mc_pset *ps)
{
	wait_event(psets_wait, list_empty_careful(&ps->link));
	mc_cset_put(&ps->set);
}

/*
 * For a message handler, which runs in the set @ps. Two sets that a peer asks to fence one another break one another,
 * and a broken set waits for nobody: so its own end waits for nobody's.
 */
static int destroy_for(struct mc_pset *ps, struct mc_pset *other)
{
	mc_cset_break(&other->set, -ESTALE, "fenced by epoch %u", ps->set.epoch);
	wait_event(psets_wait, list_empty_careful(&other->link) || mc_cset_broken(&ps->set));
	mc_cset_put(&other->set);
	return mc_cset_broken(&ps->set) ? -ESTALE : 0;
}

/*
 * The fence: before this node says yes to a new set, every older one of that pair of rails is destroyed, so that
 * nothing sent on it can be executed any more.
 */
static int fence_older(struct mc_pset *ps)
{
	struct mc_pset *other;
	int ret = admit(ps);

	while (!ret && (other = older(ps)))
		ret = destroy_for(ps, other);
	return ret;
}

static struct mc_pset *of_epoch(struct mc_pset *ps, u32 epoch)
{
	struct mc_pset *other, *found = NULL;

	mutex_lock(&psets_lock);
	list_for_each_entry(other, &psets, link) {
		if (!other->authed || !same_node(other, ps) || other->set.instance != ps->set.instance ||
		    other->set.epoch != epoch)
			continue;
		mc_cset_get(&other->set);
		found = other;
		break;
	}
	mutex_unlock(&psets_lock);
	return found;
}

/*
 * The same for a set that has no successor yet: the initiator asks over another pair of rails. One that is not there
 * has been destroyed, and can't come back: only a proven set has data connections, and it proves itself once.
 */
static int serve_fence(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct mc_pset *other;
	int ret = msg->epoch == ps->set.epoch ? -EINVAL : 0;

	while (!ret && (other = of_epoch(ps, msg->epoch)))
		ret = destroy_for(ps, other);
	msg->type = MC_WIRE_FENCE_ACK;
	msg->status = 0;
	return ret;
}

static void serve_hello(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	int ret = mc_hello_serve(&ps->set, &ps->hello, msg);

	if (!ret && ps->hello.step == 2) {
		ret = fence_older(ps);
		msg->type = MC_WIRE_HELLO_ACK;
		msg->epoch = ps->set.epoch;
	}
	msg->status = 0;
	if (ret) {
		/* The answer still goes out; the initiator hangs up, or the scan does. */
		ps->hello.step = -1;
		msg->type = MC_WIRE_ERROR;
		msg->status = ret;
		pr_warn_ratelimited("mooncake: node %pUb was refused: error %d\n", ps->set.node, ret);
	}
	mc_ctrl_send(&ps->set, msg);
}

static void pset_message(struct mc_cset *set, struct mc_wire_msg *msg)
{
	struct mc_pset *ps = to_pset(set);
	int ret;

	if (!ps->authed) {
		serve_hello(ps, msg);
		return;
	}
	switch (msg->type) {
	case MC_WIRE_SEG_OPEN:
		ret = serve_open(ps, msg);
		break;
	case MC_WIRE_SEG_LOOKUP:
		ret = serve_lookup(msg);
		break;
	case MC_WIRE_SEG_KEYS_REQ:
		ret = serve_keys(ps, msg);
		break;
	case MC_WIRE_FENCE:
		ret = serve_fence(ps, msg);
		break;
	case MC_WIRE_BYE:
		mc_cset_break(set, -ESHUTDOWN, "the node said goodbye");
		return;
	case MC_WIRE_SEG_CLOSE:
	case MC_WIRE_REVOKE_ACK:
		lease_drop(ps, msg->lease);
		return;
	default:
		ret = -EPROTO;
	}
	if (ret) {
		msg->type = MC_WIRE_ERROR;
		msg->status = ret;
	}
	mc_ctrl_send(set, msg);
}

static void pset_broken(struct mc_cset *set)
{
	queue_work(end_wq, &to_pset(set)->end_work);
	wake_up_all(&psets_wait);	/* it may be waiting for an older one to end */
}

static void pset_free(struct mc_cset *set)
{
	struct mc_pset *ps = to_pset(set);

	mc_rail_put(ps->rail);
	kfree(ps);
	if (atomic_dec_and_test(&psets_alive))
		changed();
}

static const struct mc_cset_ops pset_ops = {
	.message = pset_message,
	.broken = pset_broken,
	.free = pset_free,
};

/* Leases go after the queue pairs: from then on nobody who knew the keys can use them. */
static void pset_end(struct work_struct *work)
{
	struct mc_pset *ps = container_of(work, struct mc_pset, end_work);
	struct mc_lease *lease, *next;

	mc_cset_get(&ps->set);
	mc_cset_destroy(&ps->set);
	mutex_lock(&psets_lock);
	list_for_each_entry_safe(lease, next, &ps->leases, link)
		lease_free(ps, lease);
	list_del_init(&ps->link);
	mutex_unlock(&psets_lock);
	changed();
	mc_cset_put(&ps->set);
}

static void reject(struct rdma_cm_id *id, int err)
{
	__le32 data[2] = { cpu_to_le32(MC_REJECT_MAGIC), cpu_to_le32(-err) };

	rdma_lock_handler(id);
	rdma_reject(id, data, sizeof(data), IB_CM_REJ_CONSUMER_DEFINED);
	rdma_unlock_handler(id);
}

/*
 * Whoever opens connections and says nothing must not keep others out: a new stranger takes the place of the oldest
 * one of its address, or of all. The list is in order of age.
 */
static int make_room(struct mc_pset *ps)
{
	struct mc_pset *other, *oldest = NULL, *oldest_here = NULL;
	u32 all = 0, strangers = 0, dying = 0, here = 0;

	lockdep_assert_held(&psets_lock);
	list_for_each_entry(other, &psets, link) {
		all++;
		if (other->authed)
			continue;
		if (mc_cset_broken(&other->set)) {
			dying++;
			continue;
		}
		strangers++;
		oldest = oldest ?: other;
		if (!mc_same_addr(&other->addr, &ps->addr))
			continue;
		here++;
		oldest_here = oldest_here ?: other;
	}
	if (all >= PSETS_MAX || strangers + dying >= STRANGERS_DYING)
		return -EBUSY;
	if (here >= STRANGERS_ADDR)
		oldest = oldest_here;
	else if (strangers < STRANGERS_MAX)
		return 0;
	mc_cset_break(&oldest->set, -EBUSY, "too many connections without proof of who it is");
	return 0;
}

static int add_pset(struct mc_pset *ps)
{
	int ret;

	mutex_lock(&psets_lock);
	ret = make_room(ps);
	if (!ret)
		list_add_tail(&ps->link, &psets);
	mutex_unlock(&psets_lock);
	return ret;
}

/* A new set on the list, with a reference for the caller. */
static struct mc_pset *make_pset(struct incoming *in)
{
	struct mc_pset *ps = kzalloc(sizeof(*ps), GFP_KERNEL);
	int ret;

	if (!ps)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&psets_alive);
	INIT_LIST_HEAD(&ps->link);
	INIT_LIST_HEAD(&ps->leases);
	INIT_WORK(&ps->end_work, pset_end);
	ps->born = jiffies;
	ps->addr = in->id->route.addr.dst_addr;
	ps->rail = in->rail;
	kref_get(&in->rail->kref);
	ret = mc_cset_init(&ps->set, &pset_ops, in->dev);
	memcpy(ps->set.node, in->req.node, MC_UUID_LEN);
	ps->set.instance = in->req.instance;
	ps->set.epoch = in->req.epoch;
	ps->set.rail = in->rail->id;
	ps->set.peer_rail = in->req.rail;
	mc_cset_get(&ps->set);		/* the caller's: once on the list it may be destroyed at any time */
	if (!ret)
		ret = add_pset(ps);
	if (ret) {
		mc_ctrl_free(&ps->set);
		mc_cset_put(&ps->set);
		mc_cset_put(&ps->set);
		return ERR_PTR(ret);
	}
	return ps;
}

/* Takes over @in->id on success and after a failed attempt to accept (returns 0 then). */
static int attach(struct mc_pset *ps, struct incoming *in, int index)
{
	int ret = 0;

	mutex_lock(&ps->set.setup_lock);
	if (ps->set.dead || ps->set.conn[index].id)
		ret = -ESTALE;
	else if (mc_cset_accept(&ps->set, index, in->id, &in->param))
		mc_cset_break(&ps->set, -EIO, "connection %d could not be accepted", index);
	mutex_unlock(&ps->set.setup_lock);
	return ret;
}

static int accept_ctrl(struct incoming *in)
{
	struct mc_pset *ps = make_pset(in);
	int ret;

	if (IS_ERR(ps))
		return PTR_ERR(ps);
	ret = attach(ps, in, 0);
	mc_cset_put(&ps->set);
	return ret;
}

static struct mc_pset *find_authed(const struct mc_wire_req *req)
{
	struct mc_pset *ps, *found = NULL;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link) {
		if (!ps->authed || ps->set.instance != req->instance || ps->set.epoch != req->epoch ||
		    memcmp(ps->set.node, req->node, MC_UUID_LEN))
			continue;
		mc_cset_get(&ps->set);
		found = ps;
		break;
	}
	mutex_unlock(&psets_lock);
	return found;
}

/* A data connection belongs to a set that has proven itself, and its request is signed with that set's session key. */
static int accept_data(struct incoming *in)
{
	struct mc_pset *ps = find_authed(&in->req);
	u8 tag[MC_WIRE_REQ_TAG];
	int ret = -EACCES;

	if (!ps)
		return -EACCES;
	mc_auth_sign_req(ps->set.session, in->bytes, tag);
	if (!crypto_memneq(tag, in->req.tag, sizeof(tag)) && ps->rail->id == in->rail->id)
		ret = attach(ps, in, in->req.index);
	mc_cset_put(&ps->set);
	return ret;
}

static void incoming_work(struct work_struct *work)
{
	struct incoming *in = container_of(work, struct incoming, work);
	int ret;

	if (in->dev->gone)
		ret = -ENODEV;
	else if (mc_fault_value(connect_refuse))
		ret = -(int)min_t(u64, mc_fault_value(connect_refuse), MAX_ERRNO);
	else if (mc_auth_mode() == MC_AUTH_UNSET)
		ret = -EACCES;
	else if (in->req.index >= MC_CONNS)
		ret = -EPROTO;
	else if (in->req.index)
		ret = accept_data(in);
	else
		ret = accept_ctrl(in);
	if (ret) {
		reject(in->id, ret);
		rdma_destroy_id(in->id);
	}
	mc_ibdev_put(in->dev);
	mc_rail_put(in->rail);
	kfree(in);
	atomic_dec(&incoming_waiting);
}

/* Events of a request that the work item has not reached yet: whatever it was, accepting will fail and clean up. */
static int early_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* In the handler: its return value makes rdma_cm destroy the request's end. */
static int refuse(struct rdma_cm_id *id, int err)
{
	__le32 data[2] = { cpu_to_le32(MC_REJECT_MAGIC), cpu_to_le32(-err) };

	rdma_reject(id, data, sizeof(data), IB_CM_REJ_CONSUMER_DEFINED);
	return err;
}

int mc_pset_incoming(struct mc_rail *rail, struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	/* Who stops the rail waits for this handler before it lets go of the device. */
	struct mc_ibdev *dev = READ_ONCE(rail->dev);
	struct incoming *in;
	int ret;

	if (!dev || atomic_read(&incoming_waiting) >= INCOMING_MAX)
		return refuse(id, dev ? -EBUSY : -ENODEV);
	in = kzalloc(sizeof(*in), GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	ret = mc_wire_req_decode(&in->req, param->private_data, param->private_data_len);
	if (ret) {
		kfree(in);
		return refuse(id, ret);
	}
	memcpy(in->bytes, param->private_data, MC_WIRE_REQ_LEN);
	in->param = *param;
	in->id = id;
	in->rail = rail;
	kref_get(&rail->kref);
	in->dev = dev;
	kref_get(&dev->kref);
	id->context = NULL;
	id->event_handler = early_event;
	INIT_WORK(&in->work, incoming_work);
	atomic_inc(&incoming_waiting);
	queue_work(incoming_wq, &in->work);
	return 0;
}

/* Strangers that did not prove themselves in time, and initiators that fell silent. */
static void scan(struct work_struct *work)
{
	unsigned long silence = msecs_to_jiffies(mc_ping_ms * (mc_ping_miss + 5));
	struct mc_pset *ps;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link) {
		if (!ps->authed && time_after(jiffies, ps->born + HELLO_JIFFIES))
			mc_cset_break(&ps->set, -EACCES, "no proof of who it is");
		else if (ps->authed && time_after(jiffies, READ_ONCE(ps->set.last_rx) + silence))
			mc_cset_break(&ps->set, -ETIMEDOUT, "silent");
	}
	mutex_unlock(&psets_lock);
	queue_delayed_work(mc_net_wq, &scan_work, HZ);
}

static struct mc_pset *of_rail(u32 rail)
{
	struct mc_pset *ps, *found = NULL;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link) {
		if (ps->rail->id != rail)
			continue;
		mc_cset_get(&ps->set);
		found = ps;
		break;
	}
	mutex_unlock(&psets_lock);
	return found;
}

void mc_pset_drop_rail(u32 rail)
{
	struct mc_wire_msg bye = { .type = MC_WIRE_BYE };
	struct mc_pset *ps;

	flush_workqueue(incoming_wq);	/* the listener is gone: nothing follows */
	while ((ps = of_rail(rail))) {
		if (ps->authed && !mc_cset_broken(&ps->set)) {
			mc_ctrl_send(&ps->set, &bye);
			mc_ctrl_flush(&ps->set);
		}
		mc_cset_break(&ps->set, -ENODEV, "rail %u was removed", rail);
		wait_gone(ps);
	}
}

static struct mc_pset *with_lease(struct mc_mem *mem, bool untold, struct mc_wire_msg *msg)
{
	struct mc_lease *lease;
	struct mc_pset *ps;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link) {
		list_for_each_entry(lease, &ps->leases, link) {
			if (lease->desc->mem != mem || (untold && lease->told))
				continue;
			mc_cset_get(&ps->set);
			lease->told = true;
			memcpy(msg->seg, lease->seg->target.seg_uuid, MC_UUID_LEN);
			msg->lease = lease->id;
			/* Replaced by a larger one, or gone? */
			msg->type = mc_seg_dead(lease->seg) ? MC_WIRE_REVOKE : MC_WIRE_SEG_CHANGED;
			mutex_unlock(&psets_lock);
			return ps;
		}
	}
	mutex_unlock(&psets_lock);
	return NULL;
}

static bool any_lease(struct mc_mem *mem)
{
	struct mc_lease *lease;
	struct mc_pset *ps;
	bool any = false;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link)
		list_for_each_entry(lease, &ps->leases, link)
			any |= lease->desc->mem == mem;
	mutex_unlock(&psets_lock);
	return any;
}

/* A peer that takes its messages slowly must not keep this up: whoever is not told in time is cut off later. */
void mc_lease_tell(struct mc_mem *mem)
{
	unsigned long end = jiffies + msecs_to_jiffies(mc_revoke_ms);
	struct mc_wire_msg msg = { };
	struct mc_pset *ps;

	while (time_before_eq(jiffies, end) && (ps = with_lease(mem, true, &msg))) {
		trace_mc_revoke_tell(ps->set.node, msg.seg, msg.lease);
		mc_ctrl_send(&ps->set, &msg);
		mc_cset_put(&ps->set);
	}
}

/* Nothing is allocated here; each wait ends by time or by a flush that needs no network (cset.h). */
void mc_lease_end(struct mc_mem *mem)
{
	long left = msecs_to_jiffies(mc_revoke_ms);
	struct mc_wire_msg msg = { };
	struct mc_pset *ps;
	u32 cut = 0;
	int seen;

	mc_lease_tell(mem);
	while (seen = atomic_read(&psets_changes), left > 0 && any_lease(mem))
		left = wait_event_timeout(psets_wait, atomic_read(&psets_changes) != seen, left);
	while ((ps = with_lease(mem, false, &msg))) {
		trace_mc_revoke_cut(ps->set.node, msg.seg, msg.lease);
		cut++;
		mc_cset_break(&ps->set, -ETIMEDOUT, "did not acknowledge a revocation in %u ms", mc_revoke_ms);
		wait_gone(ps);
	}
	trace_mc_revoke_done(mem->len, cut);
}

void mc_pset_show(struct seq_file *m)
{
	struct mc_pset *ps;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link)
		seq_printf(m, "served node %pUb epoch %u rail %u from rail %u %s leases %u\n", ps->set.node,
			   ps->set.epoch, ps->rail->id, ps->set.peer_rail, ps->authed ? "proven" : "stranger",
			   ps->nleases);
	mutex_unlock(&psets_lock);
}

void mc_lease_show(struct seq_file *m, u32 max)
{
	struct mc_lease *lease;
	struct mc_pset *ps;

	mutex_lock(&psets_lock);
	list_for_each_entry(ps, &psets, link) {
		list_for_each_entry(lease, &ps->leases, link) {
			if (!max--) {
				seq_puts(m, "...\n");
				goto out;
			}
			seq_printf(m, "lease %u node %pUb rail %u segment %pUb %s\n", lease->id, ps->set.node,
				   ps->rail->id,
				   lease->seg->target.seg_uuid, lease->told ? "revoked" : "held");
		}
	}
out:
	mutex_unlock(&psets_lock);
}

int mc_pset_init(void)
{
	incoming_wq = alloc_ordered_workqueue("mooncake_cm", WQ_MEM_RECLAIM);
	if (!incoming_wq)
		return -ENOMEM;
	end_wq = alloc_workqueue("mooncake_end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!end_wq) {
		destroy_workqueue(incoming_wq);
		return -ENOMEM;
	}
	queue_delayed_work(mc_net_wq, &scan_work, HZ);
	return 0;
}

void mc_pset_exit(void)
{
	cancel_delayed_work_sync(&scan_work);
	destroy_workqueue(incoming_wq);
	wait_event(psets_wait, !atomic_read(&psets_alive));
	destroy_workqueue(end_wq);
}
