// SPDX-License-Identifier: GPL-2.0-only
/* Connection requests of other nodes. */
#include <crypto/algapi.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "cmid.h"
#include "ibdev.h"
#include "pset.h"
#include "rail.h"

#define INCOMING_MAX	256		/* connection requests that wait for the work item */

/* A connection request, until the work item has dealt with it. */
struct incoming {
	struct work_struct work;
	struct mc_rail *rail;
	struct mc_ibdev *dev;
	struct rdma_cm_id *id;
	struct mc_cmid_end *end;
	int err;	/* it can't be read */
	struct mc_wire_req req;
	u8 bytes[MC_WIRE_REQ_LEN];
	struct rdma_conn_param param;
};

static struct workqueue_struct *incoming_wq;	/* ordered */
static atomic_t incoming_waiting = ATOMIC_INIT(0);

static void reject(struct rdma_cm_id *id, int err)
{
	__le32 data[2] = { cpu_to_le32(MC_REJECT_MAGIC), cpu_to_le32(-err) };

	rdma_lock_handler(id);
	rdma_reject(id, data, sizeof(data), IB_CM_REJ_CONSUMER_DEFINED);
	rdma_unlock_handler(id);
}

/* Takes over @in->id on success and after a failed attempt to accept (returns 0 then). */
static int attach(struct mc_pset *ps, struct incoming *in, int index)
{
	int ret = 0;

	mutex_lock(&ps->set.setup_lock);
	if (ps->set.dead || ps->set.conn[index].id)
		ret = -ESTALE;
	else if (mc_cset_accept(&ps->set, index, in->id, in->end, &in->param))
		mc_cset_break(&ps->set, -EIO, "connection %d could not be accepted", index);
	mutex_unlock(&ps->set.setup_lock);
	return ret;
}

static int accept_ctrl(struct incoming *in)
{
	struct mc_pset *ps = mc_pset_new(in->rail, in->dev, in->id, &in->req);
	int ret;

	if (IS_ERR(ps))
		return PTR_ERR(ps);
	ret = attach(ps, in, 0);
	mc_cset_put(&ps->set);
	return ret;
}

static bool is_asked_for(const struct mc_pset *ps, const void *arg)
{
	const struct mc_wire_req *req = arg;

	return ps->authed && ps->set.instance == req->instance && ps->set.epoch == req->epoch &&
	       !memcmp(ps->set.node, req->node, MC_UUID_LEN);
}

/* A data connection belongs to a set that has proven itself, and its request is signed with that set's session key. */
static int accept_data(struct incoming *in)
{
	struct mc_pset *ps = mc_pset_find(is_asked_for, &in->req);
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

	if (in->err)
		ret = in->err;
	else if (in->dev->gone)
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
		mc_cmid_destroy(in->end, in->id);
	}
	mc_ibdev_put(in->dev);
	mc_rail_put(in->rail);
	kfree(in);
	atomic_dec(&incoming_waiting);
}

/*
 * Events of a request that the work item has not reached yet: whatever it was, accepting will fail and clean up. A
 * request that is rejected stays as deaf as this.
 */
static int early_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/*
 * When the handler returns an error, rdma_cm destroys the request's end there and then, and whoever destroys the
 * listener waits for that. With any error but one it says no to the other node first, and waits until that is sent,
 * perhaps for ever (cmid.h). So what is refused is refused by the work item, and what there is no room for is
 * forgotten. The other node hears nothing: rdma_cm would repeat the request, but not within the 3 s that an attempt
 * has by default (connect_ms), so the attempt times out and the next one asks anew.
 */
#define FORGET	(-ENOMEM)

int mc_pset_incoming(struct mc_rail *rail, struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	/* Who stops the rail waits for this handler before it lets go of the device. */
	struct mc_ibdev *dev = READ_ONCE(rail->dev);
	struct incoming *in;

	if (!dev || atomic_read(&incoming_waiting) >= INCOMING_MAX)
		return FORGET;
	in = kzalloc(sizeof(*in), GFP_KERNEL);
	if (!in)
		return FORGET;
	in->end = mc_cmid_end_new(dev);
	if (IS_ERR(in->end)) {
		kfree(in);
		return FORGET;
	}
	in->err = mc_wire_req_decode(&in->req, param->private_data, param->private_data_len);
	if (!in->err)
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

void mc_pset_accept_flush(void)
{
	flush_workqueue(incoming_wq);
}

int mc_pset_accept_init(void)
{
	incoming_wq = alloc_ordered_workqueue("mooncake_cm", WQ_MEM_RECLAIM);
	return incoming_wq ? 0 : -ENOMEM;
}

void mc_pset_accept_exit(void)
{
	destroy_workqueue(incoming_wq);
}
