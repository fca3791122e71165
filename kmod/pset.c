// SPDX-License-Identifier: GPL-2.0-only
/* Sets that other nodes opened: who they are, what they ask, and how they end. */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ibdev.h"
#include "pset.h"
#include "rail.h"
#include "seg.h"
#include "trace.h"

#define HELLO_JIFFIES	(5 * HZ)	/* a set that has not proven itself by then is destroyed */
#define STRANGERS_MAX	64		/* sets that have not proven themselves; the oldest makes room for a new one */
#define STRANGERS_ADDR	16		/* of one address; likewise */
#define STRANGERS_DYING	256		/* those that are being destroyed included: no new ones until they are gone */
#define PSETS_MAX	4096

DEFINE_MUTEX(mc_psets_lock);
LIST_HEAD(mc_psets);
DECLARE_WAIT_QUEUE_HEAD(mc_psets_wait);
atomic_t mc_psets_changes = ATOMIC_INIT(0);

static struct workqueue_struct *end_wq;	/* destroys sets; work in it never waits for other work in it */
static u64 last_proof;
static atomic_t psets_alive = ATOMIC_INIT(0);
static void scan(struct work_struct *work);
static DECLARE_DELAYED_WORK(scan_work, scan);

void mc_psets_changed(void)
{
	atomic_inc(&mc_psets_changes);
	wake_up_all(&mc_psets_wait);
}

static struct mc_pset *to_pset(struct mc_cset *set)
{
	return container_of(set, struct mc_pset, set);
}

struct mc_pset *mc_pset_find(bool (*is)(const struct mc_pset *ps, const void *arg), const void *arg)
{
	struct mc_pset *ps, *found = NULL;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link) {
		if (!is(ps, arg))
			continue;
		mc_cset_get(&ps->set);
		found = ps;
		break;
	}
	mutex_unlock(&mc_psets_lock);
	return found;
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
 * Some other set of the same node that the new one replaces: an older one of the same pair of rails, or any of another
 * load of that node's module, which is gone. Only sets that proved themselves earlier count: two that replace each
 * other would wait for each other.
 */
static bool is_older(const struct mc_pset *other, const void *arg)
{
	const struct mc_pset *ps = arg;

	if (!other->authed || other->proof >= ps->proof || !same_node(other, ps))
		return false;
	return other->set.instance != ps->set.instance || (same_pair(other, ps) && other->set.epoch < ps->set.epoch);
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

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(other, &mc_psets, link) {
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
	mutex_unlock(&mc_psets_lock);
	return ret;
}

void mc_pset_wait_gone(struct mc_pset *ps)
{
	wait_event(mc_psets_wait, list_empty_careful(&ps->link));
	mc_cset_put(&ps->set);
}

/*
 * For a message handler, which runs in the set @ps. Two sets that a peer asks to fence one another break one another,
 * and a broken set waits for nobody: so its own end waits for nobody's.
 */
static int destroy_for(struct mc_pset *ps, struct mc_pset *other)
{
	mc_cset_break(&other->set, -ESTALE, "fenced by epoch %u", ps->set.epoch);
	wait_event(mc_psets_wait, list_empty_careful(&other->link) || mc_cset_broken(&ps->set));
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

	while (!ret && (other = mc_pset_find(is_older, ps)))
		ret = destroy_for(ps, other);
	return ret;
}

/* What a node asks to fence: a set of its own, by its epoch. */
struct fenced {
	const struct mc_pset *by;
	u32 epoch;
};

static bool is_fenced(const struct mc_pset *other, const void *arg)
{
	const struct fenced *f = arg;

	return other->authed && same_node(other, f->by) && other->set.instance == f->by->set.instance &&
	       other->set.epoch == f->epoch;
}

/*
 * The same for a set that has no successor yet: the initiator asks over another pair of rails. One that is not there
 * has been destroyed, and can't come back: only a proven set has data connections, and it proves itself once.
 */
static int serve_fence(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct fenced fenced = { .by = ps, .epoch = msg->epoch };
	struct mc_pset *other;
	int ret = msg->epoch == ps->set.epoch ? -EINVAL : 0;

	while (!ret && (other = mc_pset_find(is_fenced, &fenced)))
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
		ret = mc_lease_serve_open(ps, msg);
		break;
	case MC_WIRE_SEG_LOOKUP:
		ret = mc_lease_serve_lookup(msg);
		break;
	case MC_WIRE_SEG_KEYS_REQ:
		ret = mc_lease_serve_keys(ps, msg);
		break;
	case MC_WIRE_FENCE:
		ret = serve_fence(ps, msg);
		break;
	case MC_WIRE_BYE:
		mc_cset_break(set, -ESHUTDOWN, "the node said goodbye");
		return;
	case MC_WIRE_SEG_CLOSE:
	case MC_WIRE_REVOKE_ACK:
		mc_lease_drop(ps, msg->lease);
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
	wake_up_all(&mc_psets_wait);	/* it may be waiting for an older one to end */
}

static void pset_free(struct mc_cset *set)
{
	struct mc_pset *ps = to_pset(set);

	mc_rail_put(ps->rail);
	kfree(ps);
	if (atomic_dec_and_test(&psets_alive))
		mc_psets_changed();
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

	mc_cset_get(&ps->set);
	mc_cset_destroy(&ps->set);
	mutex_lock(&mc_psets_lock);
	mc_lease_drop_all(ps);
	list_del_init(&ps->link);
	mutex_unlock(&mc_psets_lock);
	mc_psets_changed();
	mc_cset_put(&ps->set);
}

/*
 * Whoever opens connections and says nothing must not keep others out: a new stranger takes the place of the oldest
 * one of its address, or of all. The list is in order of age.
 */
static int make_room(struct mc_pset *ps)
{
	struct mc_pset *other, *oldest = NULL, *oldest_here = NULL;
	u32 all = 0, strangers = 0, dying = 0, here = 0;

	lockdep_assert_held(&mc_psets_lock);
	list_for_each_entry(other, &mc_psets, link) {
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

	mutex_lock(&mc_psets_lock);
	ret = make_room(ps);
	if (!ret)
		list_add_tail(&ps->link, &mc_psets);
	mutex_unlock(&mc_psets_lock);
	return ret;
}

struct mc_pset *mc_pset_new(struct mc_rail *rail, struct mc_ibdev *dev, const struct rdma_cm_id *id,
			    const struct mc_wire_req *req)
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
	ps->addr = id->route.addr.dst_addr;
	ps->rail = rail;
	kref_get(&rail->kref);
	ret = mc_cset_init(&ps->set, &pset_ops, dev);
	memcpy(ps->set.node, req->node, MC_UUID_LEN);
	ps->set.instance = req->instance;
	ps->set.epoch = req->epoch;
	ps->set.rail = rail->id;
	ps->set.peer_rail = req->rail;
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

/* Strangers that did not prove themselves in time, and initiators that fell silent. */
static void scan(struct work_struct *work)
{
	unsigned long silence = msecs_to_jiffies(mc_ping_ms * (mc_ping_miss + 5));
	struct mc_pset *ps;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link) {
		if (!ps->authed && time_after(jiffies, ps->born + HELLO_JIFFIES))
			mc_cset_break(&ps->set, -EACCES, "no proof of who it is");
		else if (ps->authed && time_after(jiffies, READ_ONCE(ps->set.last_rx) + silence))
			mc_cset_break(&ps->set, -ETIMEDOUT, "silent");
	}
	mutex_unlock(&mc_psets_lock);
	queue_delayed_work(mc_net_wq, &scan_work, HZ);
}

static bool is_of_rail(const struct mc_pset *ps, const void *rail)
{
	return ps->rail->id == *(const u32 *)rail;
}

void mc_pset_drop_rail(u32 rail)
{
	struct mc_wire_msg bye = { .type = MC_WIRE_BYE };
	struct mc_pset *ps;

	mc_pset_accept_flush();	/* the listener is gone: nothing follows */
	while ((ps = mc_pset_find(is_of_rail, &rail))) {
		if (ps->authed && !mc_cset_broken(&ps->set)) {
			mc_ctrl_send(&ps->set, &bye);
			mc_ctrl_flush(&ps->set);
		}
		mc_cset_break(&ps->set, -ENODEV, "rail %u was removed", rail);
		mc_pset_wait_gone(ps);
	}
}

void mc_pset_show(struct seq_file *m)
{
	struct mc_pset *ps;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link)
		seq_printf(m, "served node %pUb epoch %u rail %u from rail %u %s leases %u\n", ps->set.node,
			   ps->set.epoch, ps->rail->id, ps->set.peer_rail, ps->authed ? "proven" : "stranger",
			   ps->nleases);
	mutex_unlock(&mc_psets_lock);
}

int mc_pset_init(void)
{
	int ret = mc_pset_accept_init();

	if (ret)
		return ret;
	end_wq = alloc_workqueue("mooncake_end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!end_wq) {
		mc_pset_accept_exit();
		return -ENOMEM;
	}
	queue_delayed_work(mc_net_wq, &scan_work, HZ);
	return 0;
}

void mc_pset_exit(void)
{
	cancel_delayed_work_sync(&scan_work);
	mc_pset_accept_exit();
	wait_event(mc_psets_wait, !atomic_read(&psets_alive));
	destroy_workqueue(end_wq);
}
