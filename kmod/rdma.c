// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "cset.h"
#include "ibdev.h"
#include "mem.h"
#include "mrset.h"
#include "peer.h"
#include "rail.h"
#include "rdma.h"
#include "rseg.h"
#include "trace.h"

/* What is to be done once peer->lock has been dropped. */
struct ending {
	struct list_head slices;	/* end with @err of their own request, or 0 */
	struct list_head reqs;		/* drop the cutter's hold */
};

#define ENDING(name) struct ending name = { LIST_HEAD_INIT(name.slices), LIST_HEAD_INIT(name.reqs) }

static struct mc_peer *req_peer(struct mc_req *req)
{
	return mc_to_rseg(req->target)->peer;
}

static void unqueue(struct mc_req *req, struct ending *end)
{
	req->net_queued = false;
	list_move_tail(&req->net_link, &end->reqs);
}

/* Slices of a stopped request end with the error that stopped it, which is the one the engine has kept. */
static void finish(struct ending *end, int err)
{
	struct mc_slice *slice, *ns;
	struct mc_req *req, *nr;

	list_for_each_entry_safe(req, nr, &end->reqs, net_link) {
		list_del_init(&req->net_link);
		if (err)
			mc_req_stop(req, err);
		mc_req_cut_end(req);
	}
	list_for_each_entry_safe(slice, ns, &end->slices, link) {
		list_del_init(&slice->link);
		mc_slice_done(slice, err ?: READ_ONCE(slice->req->stop_err) ?: -EIO);
	}
}

void mc_rdma_submit(struct mc_req *req)
{
	struct mc_peer *peer = req_peer(req);
	bool gone, idle;

	mc_req_get(req);	/* it may complete as soon as it is on the queue */
	mutex_lock(&peer->lock);
	gone = peer->gone;
	idle = !peer->path;
	if (!gone) {
		req->net_queued = true;
		list_add_tail(&req->net_link, &peer->fifo);
		queue_work(mc_net_wq, &peer->pump_work);	/* under the lock, see mc_peer_want() */
	}
	mutex_unlock(&peer->lock);
	if (gone) {
		mc_req_stop(req, -EHOSTUNREACH);
		mc_req_cut_end(req);
	} else if (READ_ONCE(req->stop_err)) {
		/*
		 * Its deadline or its file's end came first and did not find it here: there may be no path that
		 * would.
		 */
		mc_rdma_abort(req, false);
	} else if (idle) {
		mc_peer_want(peer);
	}
	mc_req_put(req);
}

/*
 * Waiting slices of the request end here. A WRITE among them was sent on a set that broke and whose destruction the
 * owner has not confirmed yet: it may still be executed, so it ends unfenced.
 */
void mc_rdma_abort(struct mc_req *req, bool fence)
{
	struct mc_peer *peer = req_peer(req);
	struct mc_slice *slice, *next;
	bool posted = false;
	ENDING(end);

	mutex_lock(&peer->lock);
	if (req->net_queued)
		unqueue(req, &end);
	list_for_each_entry_safe(slice, next, &peer->retry, link) {
		if (slice->req != req)
			continue;
		slice->unfenced = req->write;
		list_move_tail(&slice->link, &end.slices);
	}
	list_for_each_entry(slice, &peer->posted, link)
		posted |= slice->req == req;
	if (fence && posted && peer->path)
		mc_cset_break(&peer->path->set, -ETIMEDOUT, "a request reached its deadline");
	mutex_unlock(&peer->lock);
	finish(&end, 0);
}

void mc_rdma_fenced(struct mc_peer *peer)
{
	struct mc_slice *slice, *next;
	ENDING(failed);
	ENDING(stopped);

	mutex_lock(&peer->lock);
	list_for_each_entry_safe(slice, next, &peer->retry, link) {
		slice->unfenced = false;
		trace_mc_slice_fence(slice->req, slice);
		if (READ_ONCE(slice->req->stop_err))
			list_move_tail(&slice->link, &stopped.slices);
		else if (slice->tries >= MC_TRIES_MAX)
			list_move_tail(&slice->link, &failed.slices);
	}
	mutex_unlock(&peer->lock);
	finish(&stopped, 0);
	finish(&failed, -EIO);
}

void mc_rdma_fail_all(struct mc_peer *peer, int err)
{
	struct mc_slice *slice, *ns;
	struct mc_req *req, *nr;
	ENDING(end);

	mutex_lock(&peer->lock);
	list_for_each_entry_safe(req, nr, &peer->fifo, net_link)
		unqueue(req, &end);
	list_for_each_entry_safe(slice, ns, &peer->retry, link) {
		slice->unfenced = slice->req->write;
		list_move_tail(&slice->link, &end.slices);
	}
	mutex_unlock(&peer->lock);
	finish(&end, err);
}

static void count_done(struct mc_counters *c, struct mc_slice *slice, bool ok)
{
	bool write = slice->req->write;

	mc_count(c, MC_COUNT_INFLIGHT, -1);
	if (!ok) {
		mc_count(c, MC_COUNT_ERRORS, 1);
		return;
	}
	mc_count(c, write ? MC_COUNT_WRITE_OPS : MC_COUNT_READ_OPS, 1);
	mc_count(c, write ? MC_COUNT_WRITE_BYTES : MC_COUNT_READ_BYTES, slice->len);
}

static void flip_landed(struct mc_slice *slice)
{
	struct mc_mem *mem = slice->req->mem;
	u64 at = mem->page_off + slice->req->buf_off + slice->off;
	u8 *p;

	if (slice->req->write || !mc_fault_hit(flip_byte))
		return;
	p = kmap_local_page(mem->pages[at >> PAGE_SHIFT]);
	p[offset_in_page(at)] ^= 1;
	kunmap_local(p);
}

/*
 * A failed slice waits for the next path, unless its request was stopped: then it ends now. A READ that has flushed
 * does not touch the buffer any more; a WRITE may still be on its way.
 *
 * Returns true when the slice has ended.
 */
static bool settle(struct mc_peer *peer, struct mc_slice *slice, enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS)
		return true;
	if (status != IB_WC_WR_FLUSH_ERR)
		slice->tries++;
	if (READ_ONCE(slice->req->stop_err)) {
		slice->unfenced = slice->req->write;
		return true;
	}
	list_add_tail(&slice->link, &peer->retry);
	return false;
}

static void slice_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mc_slice *slice = container_of(wc->wr_cqe, struct mc_slice, cqe);
	enum ib_wc_status status = wc->status;
	struct mc_conn *conn = slice->path;
	struct mc_path *path = mc_to_path(conn->set);
	struct mc_peer *peer = path->peer;
	int err = 0;
	bool ended;

	if (mc_fault_value(wc_delay_ms))
		msleep(min_t(u64, mc_fault_value(wc_delay_ms), 10000));
	if (status == IB_WC_SUCCESS && mc_fault_hit(wc_status))
		status = IB_WC_RETRY_EXC_ERR;
	if (status == IB_WC_SUCCESS)
		flip_landed(slice);
	count_done(&peer->counters, slice, status == IB_WC_SUCCESS);
	count_done(&path->rail->counters, slice, status == IB_WC_SUCCESS);
	if (status == IB_WC_SUCCESS)
		mc_count_latency(&path->rail->counters, slice->req->write, ktime_get_ns() - slice->posted_at);
	mutex_lock(&peer->lock);
	list_del_init(&slice->link);
	conn->credits++;
	peer->nposted--;
	mc_to_rseg(slice->req->target)->posted--;
	ended = settle(peer, slice, status);
	mutex_unlock(&peer->lock);
	if (status != IB_WC_SUCCESS && status != IB_WC_WR_FLUSH_ERR)
		mc_cset_break(conn->set, -EIO, "data connection %u: %s", conn->index, ib_wc_status_msg(status));
	/* Before the slice ends: with it the request may end, and whoever waits for that may take the peer away. */
	queue_work(mc_net_wq, &peer->pump_work);
	if (status != IB_WC_SUCCESS && ended)
		err = READ_ONCE(slice->req->stop_err) ?: -EIO;
	if (ended)
		mc_slice_done(slice, err);
}

static struct mc_conn *pick_conn(struct mc_path *path)
{
	struct mc_conn *best = NULL, *conn;
	int i;

	for (i = 1; i <= MC_DATA_QPS; i++) {
		conn = &path->set.conn[i];
		if (conn->credits > 0 && (!best || conn->credits > best->credits))
			best = conn;
	}
	return best;
}

static u64 buf_at(struct mc_slice *slice)
{
	return slice->req->mem->page_off + slice->req->buf_off + slice->off;
}

/* A slice that was cut for another device may cross chunks of this one. */
static bool fits(struct mc_slice *slice, u8 loc_shift, u8 rem_shift)
{
	u64 loc = buf_at(slice), rem = slice->req->tgt_off + slice->off, last = slice->len - 1;

	return loc >> loc_shift == (loc + last) >> loc_shift && rem >> rem_shift == (rem + last) >> rem_shift;
}

static int post(struct mc_path *path, struct mc_conn *conn, struct mc_slice *slice)
{
	struct mc_req *req = slice->req;
	struct mc_rseg *rseg = mc_to_rseg(req->target);
	u8 shift = path->set.dev->chunk_shift;
	struct ib_sge sge = { .addr = buf_at(slice), .length = slice->len };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &slice->cqe, .sg_list = &sge, .num_sge = 1, .send_flags = IB_SEND_SIGNALED,
			.opcode = req->write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		},
		.remote_addr = req->tgt_off + slice->off,
	};
	int ret = -ENOTCONN;

	if (!fits(slice, shift, rseg->chunk_shift) || wr.remote_addr >> rseg->chunk_shift >= rseg->nkeys)
		return -ERANGE;
	if (!mc_mrset_lkey(req->mem, path->set.dev, sge.addr >> shift, &sge.lkey))
		return -EAGAIN;
	wr.rkey = rseg->keys[wr.remote_addr >> rseg->chunk_shift];
	slice->cqe.done = slice_wc;
	slice->path = conn;
	mutex_lock(&path->set.post_lock);
	if (!path->set.dead && !mc_cset_broken(&path->set))
		ret = ib_post_send(conn->id->qp, &wr.wr, NULL);
	mutex_unlock(&path->set.post_lock);
	return ret;
}

static void count_posted(struct mc_path *path, struct mc_slice *slice)
{
	mc_count(&path->peer->counters, MC_COUNT_INFLIGHT, 1);
	mc_count(&path->rail->counters, MC_COUNT_INFLIGHT, 1);
	if (!slice->tries)
		return;
	mc_count(&path->peer->counters, MC_COUNT_RETRIES, 1);
	mc_count(&path->rail->counters, MC_COUNT_RETRIES, 1);
}

/* What a step of the pump found; everything but PUMP_IDLE means: go on. */
enum pump { PUMP_IDLE, PUMP_MORE, PUMP_REGISTER, PUMP_LATER };

/**
 * struct pump_step - results of one step under peer->lock
 * @end: what has ended
 * @err: what it ends with, 0: what stopped the request
 * @req: PUMP_REGISTER: its next chunk is not registered; with a reference
 * @chunk: PUMP_REGISTER: which
 */
struct pump_step {
	struct ending end;
	int err;
	struct mc_req *req;
	u64 chunk;
};

static enum pump need_chunk(struct pump_step *st, struct mc_req *req, u64 at, u8 shift)
{
	mc_req_get(req);
	st->req = req;
	st->chunk = at >> shift;
	return PUMP_REGISTER;
}

static enum pump send(struct mc_path *path, struct mc_conn *conn, struct mc_slice *slice, struct pump_step *st)
{
	struct mc_peer *peer = path->peer;
	struct mc_req *req = slice->req;
	int ret;

	/* Everything is in place before the completion can come. */
	list_add_tail(&slice->link, &peer->posted);
	peer->nposted++;
	mc_to_rseg(req->target)->posted++;
	conn->credits--;
	count_posted(path, slice);
	if (!req->rail)
		req->rail = path->rail->id;
	trace_mc_slice_post(req, slice);
	slice->posted_at = ktime_get_ns();
	ret = post(path, conn, slice);
	if (!ret)
		return PUMP_MORE;
	conn->credits++;
	mc_to_rseg(req->target)->posted--;
	peer->nposted--;
	mc_count(&peer->counters, MC_COUNT_INFLIGHT, -1);
	mc_count(&path->rail->counters, MC_COUNT_INFLIGHT, -1);
	if (ret == -ERANGE) {
		st->err = -EIO;
		list_move_tail(&slice->link, &st->end.slices);
		return PUMP_MORE;
	}
	list_move(&slice->link, &peer->retry);
	if (ret == -EAGAIN)
		return need_chunk(st, req, buf_at(slice), path->set.dev->chunk_shift);
	mc_cset_break(&path->set, ret, "a slice could not be posted: error %d", ret);
	return PUMP_IDLE;
}

static enum pump retry_one(struct mc_path *path, struct mc_conn *conn, struct pump_step *st)
{
	struct mc_slice *slice = list_first_entry(&path->peer->retry, struct mc_slice, link);
	struct mc_rseg *rseg = mc_to_rseg(slice->req->target);

	list_del_init(&slice->link);
	if (rseg->stale || READ_ONCE(slice->req->stop_err)) {
		st->err = rseg->stale ? -ESTALE : 0;
		list_add_tail(&slice->link, &st->end.slices);
		return PUMP_MORE;
	}
	trace_mc_slice_retry(slice->req, slice);
	return send(path, conn, slice, st);
}

/* Requests take turns slice by slice: a huge one does not keep the others waiting. */
static enum pump cut_one(struct mc_path *path, struct mc_conn *conn, struct pump_step *st)
{
	struct mc_peer *peer = path->peer;
	struct mc_req *req = list_first_entry(&peer->fifo, struct mc_req, net_link);
	struct mc_rseg *rseg = mc_to_rseg(req->target);
	u8 shift = path->set.dev->chunk_shift;
	struct mc_slice *slice;
	u64 at;
	u32 lkey;

	if (rseg->stale || mc_req_all_cut(req)) {
		st->err = mc_req_all_cut(req) ? 0 : -ESTALE;
		unqueue(req, &st->end);
		return PUMP_MORE;
	}
	at = req->mem->page_off + req->buf_off + req->cut_off;
	if (!mc_mrset_lkey(req->mem, path->set.dev, at >> shift, &lkey))
		return need_chunk(st, req, at, shift);
	slice = mc_req_cut(req, 1ULL << shift, 1ULL << rseg->chunk_shift);
	if (IS_ERR(slice))
		return PUMP_LATER;
	if (!slice)
		return PUMP_MORE;	/* stopped just now: the next step takes it off */
	list_move_tail(&req->net_link, &peer->fifo);
	return send(path, conn, slice, st);
}

static enum pump pump_one(struct mc_peer *peer, struct pump_step *st)
{
	struct mc_path *path = peer->path;
	struct mc_conn *conn;

	if (!path || mc_cset_broken(&path->set))
		return PUMP_IDLE;
	conn = pick_conn(path);
	if (!conn)
		return PUMP_IDLE;	/* a completion gives a credit back and comes here again */
	if (!list_empty(&peer->retry))
		return retry_one(path, conn, st);
	if (!list_empty(&peer->fifo))
		return cut_one(path, conn, st);
	return PUMP_IDLE;
}

static void register_chunk(struct mc_path *path, struct pump_step *st)
{
	int ret = mc_mrset_ensure(st->req->mem, &path->set, st->chunk, 1);

	/* A broken path is no fault of the request: it waits for the next one. */
	if (ret && ret != -ENOTCONN && !mc_cset_broken(&path->set))
		mc_req_stop(st->req, ret);
	mc_req_put(st->req);
}

static struct mc_path *live_path(struct mc_peer *peer)
{
	struct mc_path *path;

	mutex_lock(&peer->lock);
	path = peer->path;
	if (path)
		mc_cset_get(&path->set);
	mutex_unlock(&peer->lock);
	return path;
}

static enum pump step(struct mc_peer *peer, struct mc_path *path)
{
	struct pump_step st = { .end = { LIST_HEAD_INIT(st.end.slices), LIST_HEAD_INIT(st.end.reqs) } };
	enum pump what;

	if (mc_fault_value(post_delay_ms))
		msleep(mc_fault_value(post_delay_ms));
	mutex_lock(&peer->lock);
	what = peer->path == path ? pump_one(peer, &st) : PUMP_IDLE;
	mutex_unlock(&peer->lock);
	finish(&st.end, st.err);
	if (what == PUMP_REGISTER)
		register_chunk(path, &st);
	return what;
}

/* Only this work item cuts and posts; submitters and completions queue it. */
void mc_rdma_pump(struct work_struct *work)
{
	struct mc_peer *peer = container_of(work, struct mc_peer, pump_work);
	struct mc_path *path = live_path(peer);
	enum pump what;

	if (!path)
		return;
	do {
		what = step(peer, path);
		if (what == PUMP_LATER)
			msleep(20);	/* no memory for a slice */
		cond_resched();
	} while (what != PUMP_IDLE);
	mc_rseg_acks(path);
	mc_cset_put(&path->set);
}
