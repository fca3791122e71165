// SPDX-License-Identifier: GPL-2.0-only
/* Connecting, accepting and taking down the queue pairs of a set. */
#include <linux/module.h>
#include <linux/slab.h>

#include "cmid.h"
#include "cset.h"
#include "ibdev.h"
#include "net.h"
#include "verb.h"

#define RD_DEPTH_MAX	16
#define REG_WAIT	(10 * HZ)
#define SQ_RESERVE	8	/* registration and drain requests come on top of the slices */

unsigned int mc_ack_timeout = 16;
module_param_named(ack_timeout, mc_ack_timeout, uint, 0444);
MODULE_PARM_DESC(ack_timeout, "8 to 22: a packet is sent again after 4.096 us times two to this power (default 16)");

bool mc_cset_broken(struct mc_cset *set)
{
	return test_bit(0, &set->state);
}

void mc_cset_break(struct mc_cset *set, int err, const char *fmt, ...)
{
	va_list args;

	if (test_and_set_bit(0, &set->state))
		return;
	va_start(args, fmt);
	vscnprintf(set->why, sizeof(set->why), fmt, args);
	va_end(args);
	WRITE_ONCE(set->error, err);
	mc_ctrl_fail_calls(set);
	set->ops->broken(set);
}

/* The reasons this module gives travel as -errno in the reject's private data; the rest of rdma_cm's are numbers. */
static int reject_reason(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const __le32 *data;
	u8 len = 0;

	data = rdma_consumer_reject_data(id, event, &len);
	if (data && len >= 8 && le32_to_cpu(data[0]) == MC_REJECT_MAGIC) {
		int err = le32_to_cpu(data[1]);

		if (err == EACCES || err == EPROTO || err == ENOENT || err == ESTALE || err == EBUSY || err == ENOMEM)
			return -err;
	}
	return -ECONNREFUSED;
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct mc_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		conn->up = true;
		if (conn->index)
			conn->set->read_depth = event->param.conn.responder_resources;
		fallthrough;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		conn->status = 0;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		conn->status = -ENETUNREACH;	/* may pass: not EHOSTUNREACH, with which openers give up at once */
		break;
	case RDMA_CM_EVENT_REJECTED:
		conn->status = reject_reason(id, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		conn->status = event->status < 0 ? event->status : -ETIMEDOUT;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		conn->status = -ENOTCONN;
		mc_cset_break(conn->set, -ENOTCONN, "%s", rdma_event_msg(event->event));
		break;
	}
	complete(&conn->event);
	return 0;
}

static void qp_event(struct ib_event *event, void *context)
{
	struct mc_conn *conn = context;

	if (event->event == IB_EVENT_COMM_EST)
		return;
	mc_cset_break(conn->set, -EIO, "queue pair %u: %s", conn->index, ib_event_msg(event->event));
}

static int conn_make_qp(struct mc_conn *conn)
{
	struct mc_cset *set = conn->set;
	bool ctrl = !conn->index;
	u32 sq = ctrl ? MC_CTRL_BUFS + SQ_RESERVE : MC_SQ_CREDITS + SQ_RESERVE;
	u32 rq = ctrl ? MC_CTRL_BUFS + 1 : 1;
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = sq, .max_recv_wr = rq, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.event_handler = qp_event,
		.qp_context = conn,
	};
	int ret;

	conn->cq = ib_alloc_cq_any(set->dev->ib, conn, sq + rq, IB_POLL_WORKQUEUE);
	if (IS_ERR(conn->cq)) {
		ret = PTR_ERR(conn->cq);
		conn->cq = NULL;
		return ret;
	}
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;
	ret = rdma_create_qp(conn->id, ctrl ? set->dev->ctrl_pd : set->dev->pd, &attr);
	if (ret)
		return ret;
	conn->credits = MC_SQ_CREDITS;
	return ctrl ? mc_ctrl_start(set) : 0;
}

static void fill_param(struct mc_cset *set, struct rdma_conn_param *param)
{
	memset(param, 0, sizeof(*param));
	param->responder_resources = min(set->dev->ib->attrs.max_qp_rd_atom, RD_DEPTH_MAX);
	param->initiator_depth = min(set->dev->ib->attrs.max_qp_init_rd_atom, RD_DEPTH_MAX);
	param->retry_count = MC_RETRIES;
	param->rnr_retry_count = MC_RNR_RETRIES;
}

static int step(struct mc_conn *conn, int started, u32 timeout_ms, const char *what)
{
	int ret = started;

	if (!ret && !wait_for_completion_timeout(&conn->event, msecs_to_jiffies(timeout_ms)))
		ret = -ETIMEDOUT;
	if (!ret)
		ret = conn->status;
	if (ret && !mc_cset_broken(conn->set))
		mc_cset_break(conn->set, ret, "connection %u: %s: error %d (%s)", conn->index, what, ret,
			      mc_net_reason(ret));
	reinit_completion(&conn->event);
	return ret;
}

/* The route's MTU is that of this node's port alone; the other's may be smaller, which HELLO has told. */
static void tune_route(struct mc_conn *conn)
{
	struct sa_path_rec *rec = conn->id->route.path_rec;
	struct mc_cset *set = conn->set;

	if (!rec)
		return;
	if (conn->index && set->mtu && ib_mtu_enum_to_int(rec->mtu) > set->mtu)
		rec->mtu = ib_mtu_int_to_enum(set->mtu);
	if (set->sl >= 0)
		rec->sl = set->sl;
	set->tos_used = rec->traffic_class;
	if (set->tos >= 0 && set->tos_used != set->tos)
		pr_warn_ratelimited("mooncake: rail %u: type of service %d was asked for, %u is in force\n", set->rail,
				    set->tos, set->tos_used);
}

static int conn_connect(struct mc_conn *conn, struct sockaddr *src, struct sockaddr *dst, u32 timeout_ms)
{
	struct mc_cset *set = conn->set;
	struct rdma_conn_param param;
	u8 bytes[MC_WIRE_REQ_LEN];
	struct mc_wire_req req = {
		.major = mc_net_wire_major(), .minor = MC_WIRE_MINOR, .index = conn->index,
		.instance = mc_node.instance, .rail = set->rail, .epoch = set->epoch,
	};
	int ret;

	ret = step(conn, rdma_resolve_addr(conn->id, src, dst, timeout_ms), timeout_ms + 1000, "address");
	if (ret)
		return ret;
	if (conn->id->device != set->dev->ib) {
		mc_cset_break(set, -ENETUNREACH, "address leads through another device than the rail's");
		return -ENETUNREACH;
	}
	rdma_set_ack_timeout(conn->id, mc_ack_timeout);
	if (set->tos >= 0)
		rdma_set_service_type(conn->id, set->tos);
	ret = step(conn, rdma_resolve_route(conn->id, timeout_ms), timeout_ms + 1000, "route");
	if (ret)
		return ret;
	tune_route(conn);
	ret = conn_make_qp(conn);
	if (ret)
		return ret;
	memcpy(req.node, mc_node.uuid, MC_UUID_LEN);
	mc_wire_req_encode(&req, bytes);
	if (conn->index)
		mc_auth_sign_req(set->session, bytes, bytes + MC_WIRE_REQ_SIGNED);
	fill_param(set, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	return step(conn, rdma_connect(conn->id, &param), timeout_ms, "connect");
}

int mc_cset_connect(struct mc_cset *set, int index, struct sockaddr *src, struct sockaddr *dst, u32 timeout_ms)
{
	struct mc_conn *conn = &set->conn[index];
	struct mc_cmid_end *end;
	struct rdma_cm_id *id;
	int ret;

	mutex_lock(&set->setup_lock);
	if (set->dead) {
		ret = -ENOTCONN;
		goto out;
	}
	end = mc_cmid_end_new(set->dev);
	ret = PTR_ERR_OR_ZERO(end);
	if (ret == -EBUSY)
		mc_cset_break(set, ret, "this node can't send: rdma_cm is stuck with ids of %s", set->dev->name);
	if (ret)
		goto broken;
	id = rdma_create_id(&init_net, conn_event, conn, RDMA_PS_TCP, IB_QPT_RC);
	ret = PTR_ERR_OR_ZERO(id);
	if (ret) {
		kfree(end);
		goto broken;
	}
	conn->end = end;
	conn->id = id;
	ret = conn_connect(conn, src, dst, timeout_ms);
broken:
	if (ret)
		mc_cset_break(set, ret, "connection %u: error %d", index, ret);
out:
	mutex_unlock(&set->setup_lock);
	return ret;
}

int mc_cset_accept(struct mc_cset *set, int index, struct rdma_cm_id *id, struct mc_cmid_end *end,
		   struct rdma_conn_param *event)
{
	struct mc_conn *conn = &set->conn[index];
	struct rdma_conn_param param;
	int ret;

	lockdep_assert_held(&set->setup_lock);
	rdma_lock_handler(id);
	id->context = conn;
	id->event_handler = conn_event;
	conn->end = end;
	conn->id = id;
	rdma_unlock_handler(id);
	ret = conn_make_qp(conn);
	if (ret)
		return ret;
	/* The event tells both as this side is concerned: READs to answer, READs to ask for. */
	fill_param(set, &param);
	param.responder_resources = min(param.responder_resources, event->responder_resources);
	param.initiator_depth = min(param.initiator_depth, event->initiator_depth);
	/* The answer to the first message may be sent before rdma_accept() has returned. */
	conn->up = true;
	rdma_lock_handler(id);
	ret = rdma_accept(id, &param);
	rdma_unlock_handler(id);
	if (ret)
		conn->up = false;
	return ret;
}

int mc_cset_init(struct mc_cset *set, const struct mc_cset_ops *ops, struct mc_ibdev *dev)
{
	int i;

	kref_init(&set->kref);
	set->ops = ops;
	set->dev = dev;
	kref_get(&dev->kref);
	set->tos = -1;
	set->sl = -1;
	mutex_init(&set->setup_lock);
	mutex_init(&set->post_lock);
	for (i = 0; i < MC_CONNS; i++) {
		set->conn[i].set = set;
		set->conn[i].index = i;
		init_completion(&set->conn[i].event);
	}
	return mc_ctrl_init(set);
}

void mc_cset_get(struct mc_cset *set)
{
	kref_get(&set->kref);
}

static void cset_free(struct kref *kref)
{
	struct mc_cset *set = container_of(kref, struct mc_cset, kref);

	mc_ibdev_put(set->dev);
	memzero_explicit(set->session, sizeof(set->session));
	set->ops->free(set);
}

void mc_cset_put(struct mc_cset *set)
{
	kref_put(&set->kref, cset_free);
}

/*
 * Disconnecting puts the queue pair into the error state, where everything posted flushes without any packet, and
 * leaves a message to the other node with rdma_cm, which is not waited for; draining waits for the end of that flush.
 * Data connections post no receives, so only their send queue is drained. A queue pair is destroyed by the device
 * alone.
 */
static void conn_down(struct mc_conn *conn)
{
	if (!conn->id)
		return;
	if (conn->id->qp) {
		if (conn->up) {
			rdma_disconnect(conn->id);
			if (conn->index)
				ib_drain_sq(conn->id->qp);
			else
				ib_drain_qp(conn->id->qp);
		}
		rdma_destroy_qp(conn->id);
	}
	if (conn->cq)
		ib_free_cq(conn->cq);
	conn->cq = NULL;
}

/* Nobody waits for that: see cmid.h. */
static void conn_forget(struct mc_conn *conn)
{
	if (!conn->id)
		return;
	mc_cmid_destroy(conn->end, conn->id);
	conn->end = NULL;
	conn->id = NULL;
}

void mc_cset_destroy(struct mc_cset *set)
{
	int i;

	mc_cset_break(set, -ESHUTDOWN, "closed");
	mutex_lock(&set->setup_lock);
	mutex_lock(&set->post_lock);
	set->dead = true;
	mutex_unlock(&set->post_lock);
	/* From here on no handler of rdma_cm knows the set. */
	for (i = 0; i < MC_CONNS; i++)
		if (set->conn[i].id)
			mc_cmid_deafen(set->conn[i].id);
	/* Data first: a message handler may wait for a registration that only ends when its queue pair is flushed. */
	for (i = MC_CONNS - 1; i >= 0; i--)
		conn_down(&set->conn[i]);
	mutex_unlock(&set->setup_lock);
	mc_ctrl_stop(set);
	/*
	 * A message handler may still have looked at the control connection's id (own_mtu()): only now none runs. The
	 * lock is not needed, since nobody connects or accepts on a dead set, nor posts.
	 */
	for (i = 0; i < MC_CONNS; i++)
		conn_forget(&set->conn[i]);
	mc_ctrl_free(set);
	mc_cset_put(set);
}

struct reg_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct reg_wait *wait = container_of(wc->wr_cqe, struct reg_wait, cqe);

	wait->status = wc->status;
	complete(&wait->done);
}

/*
 * Registrations have a connection of their own: soft-RoCE repeats one when a packet before it in the same queue is
 * sent again, finds the key in use and leaves the queue pair stuck. It is posted while the queue pair is up and not
 * yet dead, so that draining ends the wait at the latest; a device that does not answer gets its queue pair drained.
 */
int mc_cset_reg(struct mc_cset *set, struct ib_reg_wr *wr)
{
	struct mc_conn *conn = &set->conn[MC_CONN_REG];
	struct reg_wait wait = { .cqe.done = reg_done };
	int ret = -ENOTCONN;

	init_completion(&wait.done);
	wr->wr.wr_cqe = &wait.cqe;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	mutex_lock(&set->post_lock);
	if (!set->dead && conn->up && !mc_cset_broken(set))
		ret = mc_post_reg(conn->id->qp, wr);
	mutex_unlock(&set->post_lock);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&wait.done, REG_WAIT)) {
		mc_cset_break(set, -EIO, "a registration did not end in %d s", REG_WAIT / HZ);
		wait_for_completion(&wait.done);
	}
	if (wait.status == IB_WC_SUCCESS)
		return 0;
	mc_cset_break(set, -EIO, "registration: %s", ib_wc_status_msg(wait.status));
	return -ENOTCONN;
}
