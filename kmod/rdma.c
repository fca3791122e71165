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
#include "topo.h"
#include "trace.h"
#include "verb.h"

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
	idle = !peer->nlive || !peer->wanted;
	peer->used_at = jiffies;
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

static struct mc_link *slice_link(struct mc_slice *slice)
{
	struct mc_conn *conn = slice->path;

	return mc_to_link(conn->set);
}

/*
 * Waiting slices of the request end here. A WRITE among them was sent on a link that broke and whose destruction the
 * owner may not have confirmed yet: then it may still be executed, and it ends unfenced.
 */
void mc_rdma_abort(struct mc_req *req, bool fence)
{
	struct mc_peer *peer = req_peer(req);
	struct mc_slice *slice, *next;
	ENDING(end);

	mutex_lock(&peer->lock);
	if (req->net_queued)
		unqueue(req, &end);
	list_for_each_entry_safe(slice, next, &peer->retry, link) {
		if (slice->req != req)
			continue;
		slice->unfenced = slice->fence;
		list_move_tail(&slice->link, &end.slices);
	}
	list_for_each_entry(slice, &peer->posted, link)
		if (fence && slice->req == req)
			mc_cset_break(&slice_link(slice)->set, -ETIMEDOUT, "a request reached its deadline");
	mutex_unlock(&peer->lock);
	finish(&end, 0);
}

bool mc_rdma_unfenced(struct mc_peer *peer, u32 epoch)
{
	struct mc_slice *slice;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(slice, &peer->retry, link)
		if (slice->fence == epoch)
			return true;
	return false;
}

void mc_rdma_fenced(struct mc_peer *peer, u32 epoch)
{
	struct mc_slice *slice;

	mutex_lock(&peer->lock);
	list_for_each_entry(slice, &peer->retry, link) {
		if (slice->fence != epoch)
			continue;
		slice->fence = 0;
		trace_mc_slice_fence(slice->req, slice);
	}
	mutex_unlock(&peer->lock);
	queue_work(mc_net_wq, &peer->pump_work);
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
		slice->unfenced = slice->fence;
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
	u64 at = slice->req->buf_off + slice->off;
	u8 *p;

	if (slice->req->write || !mc_fault_hit(flip_byte))
		return;
	p = kmap_local_page(mc_mem_page(mem, at));
	p[offset_in_page(mem->page_off + at)] ^= 1;
	kunmap_local(p);
}

/*
 * A failed slice waits for another link, unless its request was stopped: then it ends now. A READ that has flushed
 * does not touch the buffer any more; a WRITE may still be on its way and waits until its link is fenced.
 *
 * Returns true when the slice has ended.
 */
static bool settle(struct mc_link *link, struct mc_slice *slice, enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS) {
		link->carried = true;
		return true;
	}
	if (status != IB_WC_WR_FLUSH_ERR)
		slice->tries++;
	if (READ_ONCE(slice->req->stop_err)) {
		slice->unfenced = slice->req->write;
		return true;
	}
	slice->fence = slice->req->write ? link->set.epoch : 0;
	list_add_tail(&slice->link, &link->path->peer->retry);
	return false;
}

/* It is not posted any more, whatever became of it. */
static void unpost(struct mc_link *link, struct mc_conn *conn, struct mc_slice *slice, u64 ns)
{
	struct mc_peer *peer = link->path->peer;
	struct mc_rlease *lease = mc_rseg_lease(mc_to_rseg(slice->req->target), link->set.epoch);

	lockdep_assert_held(&peer->lock);
	conn->credits++;
	peer->nposted--;
	peer->window -= slice->len;
	if (lease)
		lease->posted--;
	mc_score_done(&link->path->score, slice->len, slice->ahead, ns);
}

/*
 * Soft-RoCE takes a response that is out of sequence (one that was overtaken by the repetition it caused) for the end
 * of the READ it answers, whose status is still that of success, warns (rxe_completer()), and puts the queue pair into
 * the error state. What the READ brought is anything. No kernel that is supported has a fix; the queue pair's state
 * tells.
 *
 * Not always: rxe posts the completion first (do_complete()) and sets the state a few instructions later
 * (rxe_qp_error()). A completion that is seen in between, since this work item was polling the queue on another
 * processor just then or rxe's task was preempted there, passes for a good one. The verbs have nothing that waits for
 * rxe's task without ending the queue pair, so that much remains, on soft-RoCE.
 */
static bool false_success(struct mc_conn *conn, struct mc_slice *slice)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (slice->req->write || !conn->set->dev->doubtful)
		return false;
	return ib_query_qp(conn->id->qp, &attr, IB_QP_STATE, &init) || attr.qp_state != IB_QPS_RTS;
}

static void slice_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mc_slice *slice = container_of(wc->wr_cqe, struct mc_slice, cqe);
	enum ib_wc_status status = wc->status;
	struct mc_conn *conn = slice->path;
	struct mc_link *link = mc_to_link(conn->set);
	struct mc_path *path = link->path;
	struct mc_peer *peer = path->peer;
	int err = 0;
	bool ended;

	if (mc_fault_value(wc_delay_ms))
		msleep(min_t(u64, mc_fault_value(wc_delay_ms), 10000));
	if (status == IB_WC_SUCCESS && false_success(conn, slice))
		status = IB_WC_FATAL_ERR;
	if (status == IB_WC_SUCCESS && (mc_fault_hit(wc_status) || mc_fault_value(wc_fail)))
		status = IB_WC_RETRY_EXC_ERR;
	if (status == IB_WC_SUCCESS)
		flip_landed(slice);
	count_done(&peer->counters, slice, status == IB_WC_SUCCESS);
	count_done(&path->rail->counters, slice, status == IB_WC_SUCCESS);
	if (status == IB_WC_SUCCESS)
		mc_count_latency(&path->rail->counters, slice->req->write, ktime_get_ns() - slice->posted_at);
	mutex_lock(&peer->lock);
	list_del_init(&slice->link);
	unpost(link, conn, slice, status == IB_WC_SUCCESS ? max(ktime_get_ns() - slice->posted_at, 1ULL) : 0);
	ended = settle(link, slice, status);
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

static struct mc_conn *pick_conn(struct mc_link *link)
{
	struct mc_conn *best = NULL, *conn;
	int i;

	for (i = 1; i <= MC_DATA_QPS; i++) {
		conn = &link->set.conn[i];
		if (conn->credits > 0 && (!best || conn->credits > best->credits))
			best = conn;
	}
	return best;
}

static u64 buf_at(struct mc_slice *slice)
{
	return slice->req->mem->page_off + slice->req->buf_off + slice->off;
}

/* A slice that was cut when other devices were there may cross chunks of this one. */
static bool fits(struct mc_slice *slice, u8 loc_shift, u8 rem_shift)
{
	u64 loc = buf_at(slice), rem = slice->req->tgt_off + slice->off, last = slice->len - 1;

	return loc >> loc_shift == (loc + last) >> loc_shift && rem >> rem_shift == (rem + last) >> rem_shift;
}

/**
 * struct way - where a slice can go
 * @link: live link
 * @conn: its connection with the most room
 * @lease: keys of the segment
 */
struct way {
	struct mc_link *link;
	struct mc_conn *conn;
	struct mc_rlease *lease;
};

/**
 * struct ways - all of them, and what they have in common
 * @n: entries of @way
 * @way: with room for a slice
 * @score: the same for the scheduler
 * @loc_shift: smallest chunk of any live link's device
 * @rem_shift: the same on the segment's side
 */
struct ways {
	u32 n;
	struct way way[MC_PATHS_MAX];
	struct mc_score_way score[MC_PATHS_MAX];
	u8 loc_shift;
	u8 rem_shift;
};

static void add_way(struct ways *ways, struct mc_link *link, struct mc_rlease *lease, struct mc_req *req)
{
	struct mc_conn *conn = pick_conn(link);

	if (!conn || ways->n == MC_PATHS_MAX)
		return;
	ways->way[ways->n] = (struct way) { .link = link, .conn = conn, .lease = lease };
	ways->score[ways->n].score = &link->path->score;
	ways->score[ways->n++].weight = mc_topo_rail_weight(link->path->rail, mc_topo_node(req->mem));
}

/* The links that can take a slice of the request now; @slice: one that is cut already, or NULL. */
static void find_ways(struct mc_peer *peer, struct mc_req *req, struct mc_slice *slice, struct ways *ways)
{
	struct mc_rseg *rseg = mc_to_rseg(req->target);
	struct mc_rlease *lease;
	struct mc_path *path;
	struct mc_link *link;

	ways->n = 0;
	ways->loc_shift = ways->rem_shift = 63;
	list_for_each_entry(path, &peer->paths, link) {
		link = mc_path_live(path);
		lease = link ? mc_rseg_lease(rseg, link->set.epoch) : NULL;
		if (!lease || lease->refused || lease->ack_due || lease->len < rseg->target.len)
			continue;
		ways->loc_shift = min(ways->loc_shift, link->set.dev->chunk_shift);
		ways->rem_shift = min(ways->rem_shift, lease->chunk_shift);
		if (!slice || fits(slice, link->set.dev->chunk_shift, lease->chunk_shift))
			add_way(ways, link, lease, req);
	}
}

static struct way *pick_way(struct mc_peer *peer, struct ways *ways, u32 len)
{
	int i = mc_score_pick(ways->score, ways->n, len, &peer->picks);

	return i < 0 ? NULL : &ways->way[i];
}

static int post(struct way *way, struct mc_slice *slice)
{
	struct mc_cset *set = &way->link->set;
	struct mc_req *req = slice->req;
	struct ib_sge sge = { .addr = buf_at(slice), .length = slice->len };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &slice->cqe, .sg_list = &sge, .num_sge = 1, .send_flags = IB_SEND_SIGNALED,
			.opcode = req->write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		},
		.remote_addr = req->tgt_off + slice->off,
	};
	u64 chunk = wr.remote_addr >> way->lease->chunk_shift;
	int ret = -ENOTCONN;

	if (chunk >= way->lease->nkeys)
		return -ERANGE;
	if (!mc_mrset_lkey(req->mem, set->dev, sge.addr >> set->dev->chunk_shift, &sge.lkey))
		return -EAGAIN;
	wr.rkey = way->lease->keys[chunk];
	mutex_lock(&set->post_lock);
	if (!set->dead && !mc_cset_broken(set))
		ret = mc_post_rdma(way->conn->id->qp, &wr, way->lease->chunk_shift);
	mutex_unlock(&set->post_lock);
	return ret;
}

static void count_posted(struct mc_path *path, struct mc_slice *slice)
{
	mc_count(&path->peer->counters, MC_COUNT_INFLIGHT, 1);
	mc_count(&path->rail->counters, MC_COUNT_INFLIGHT, 1);
	if (!slice->tries && !slice->again)
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
 * @link: PUMP_REGISTER: with the device of this link; with a reference
 * @chunk: PUMP_REGISTER: which
 */
struct pump_step {
	struct ending end;
	int err;
	struct mc_req *req;
	struct mc_link *link;
	u64 chunk;
};

static enum pump need_chunk(struct pump_step *st, struct mc_req *req, struct mc_link *link, u64 at)
{
	mc_req_get(req);
	mc_cset_get(&link->set);
	st->req = req;
	st->link = link;
	st->chunk = at >> link->set.dev->chunk_shift;
	return PUMP_REGISTER;
}

/* Everything is in place before the completion can come. */
static void book(struct mc_peer *peer, struct way *way, struct mc_slice *slice)
{
	list_add_tail(&slice->link, &peer->posted);
	peer->nposted++;
	peer->window += slice->len;
	way->lease->posted++;
	way->conn->credits--;
	count_posted(way->link->path, slice);
	slice->cqe.done = slice_wc;
	slice->path = way->conn;
	slice->posted_at = ktime_get_ns();
	slice->ahead = mc_score_post(&way->link->path->score, slice->len);
	slice->again = true;
	if (!slice->req->rail)
		slice->req->rail = way->link->path->rail->id;
}

static enum pump send(struct mc_peer *peer, struct way *way, struct mc_slice *slice, struct pump_step *st)
{
	struct mc_req *req = slice->req;
	int ret;

	book(peer, way, slice);
	trace_mc_slice_post(req, slice);
	ret = post(way, slice);
	if (!ret)
		return PUMP_MORE;
	unpost(way->link, way->conn, slice, 0);
	mc_count(&peer->counters, MC_COUNT_INFLIGHT, -1);
	mc_count(&way->link->path->rail->counters, MC_COUNT_INFLIGHT, -1);
	if (ret == -ERANGE) {
		st->err = -EIO;
		list_move_tail(&slice->link, &st->end.slices);
		return PUMP_MORE;
	}
	list_move(&slice->link, &peer->retry);
	if (ret == -EAGAIN)
		return need_chunk(st, req, way->link, buf_at(slice));
	mc_cset_break(&way->link->set, ret, "a slice could not be posted: error %d", ret);
	return PUMP_MORE;
}

/* The slice's own end, if it has come: what stopped its request, a segment that is gone, too many failures. */
static bool is_over(struct mc_slice *slice, struct pump_step *st)
{
	if (mc_to_rseg(slice->req->target)->stale)
		st->err = -ESTALE;
	else if (READ_ONCE(slice->req->stop_err))
		st->err = 0;
	else if (slice->tries >= MC_TRIES_MAX)
		st->err = -EIO;
	else
		return false;
	slice->unfenced = slice->fence;
	list_move_tail(&slice->link, &st->end.slices);
	return true;
}

/* Slices whose old link is not fenced yet stay where they are. */
static enum pump retry_one(struct mc_peer *peer, struct pump_step *st, struct ways *ways)
{
	struct mc_slice *slice, *next;
	struct way *way;

	list_for_each_entry_safe(slice, next, &peer->retry, link) {
		if (slice->fence)
			continue;
		if (is_over(slice, st))
			return PUMP_MORE;
		find_ways(peer, slice->req, slice, ways);
		way = pick_way(peer, ways, slice->len);
		if (!way)
			continue;
		list_del_init(&slice->link);
		trace_mc_slice_retry(slice->req, slice);
		return send(peer, way, slice, st);
	}
	return PUMP_IDLE;
}

static enum pump cut_req(struct mc_peer *peer, struct mc_req *req, struct pump_step *st, struct ways *ways)
{
	u64 at = req->mem->page_off + req->buf_off + req->cut_off;
	struct mc_slice *slice;
	struct way *way;
	u32 lkey;

	find_ways(peer, req, NULL, ways);
	way = pick_way(peer, ways, min_t(u64, req->len - req->cut_off, mc_slice_bytes));
	if (!way)
		return PUMP_IDLE;
	if (!mc_mrset_lkey(req->mem, way->link->set.dev, at >> way->link->set.dev->chunk_shift, &lkey))
		return need_chunk(st, req, way->link, at);
	slice = mc_req_cut(req, 1ULL << ways->loc_shift, 1ULL << ways->rem_shift,
			   READ_ONCE(way->link->path->rail->slice_bytes), READ_ONCE(way->link->path->rail->tail_bytes));
	if (IS_ERR(slice))
		return PUMP_LATER;
	if (!slice)
		return PUMP_MORE;	/* stopped just now: the next step takes it off */
	list_move_tail(&req->net_link, &peer->fifo);
	return send(peer, way, slice, st);
}

/* Requests take turns slice by slice: a huge one does not keep the others waiting. */
static enum pump cut_one(struct mc_peer *peer, struct pump_step *st, struct ways *ways)
{
	struct mc_req *req, *next;
	enum pump what;

	list_for_each_entry_safe(req, next, &peer->fifo, net_link) {
		if (mc_to_rseg(req->target)->stale || mc_req_all_cut(req)) {
			st->err = mc_req_all_cut(req) ? 0 : -ESTALE;
			unqueue(req, &st->end);
			return PUMP_MORE;
		}
		what = cut_req(peer, req, st, ways);
		if (what != PUMP_IDLE)
			return what;
	}
	return PUMP_IDLE;
}

/* Without room nothing happens: a completion makes some and comes here again. */
static enum pump pump_one(struct mc_peer *peer, struct pump_step *st, struct ways *ways)
{
	enum pump what = PUMP_IDLE;

	if (!peer->nlive || peer->window >= mc_window)
		return PUMP_IDLE;
	what = retry_one(peer, st, ways);
	return what == PUMP_IDLE ? cut_one(peer, st, ways) : what;
}

static void register_chunk(struct pump_step *st)
{
	int ret = mc_mrset_ensure(st->req->mem, &st->link->set, st->chunk, 1);

	/* A broken link is no fault of the request: it waits for the next one. */
	if (ret && ret != -ENOTCONN && !mc_cset_broken(&st->link->set))
		mc_req_stop(st->req, ret);
	mc_cset_put(&st->link->set);
	mc_req_put(st->req);
}

static enum pump step(struct mc_peer *peer, struct ways *ways)
{
	struct pump_step st = { .end = { LIST_HEAD_INIT(st.end.slices), LIST_HEAD_INIT(st.end.reqs) } };
	enum pump what;

	if (mc_fault_value(post_delay_ms))
		msleep(mc_fault_value(post_delay_ms));
	mutex_lock(&peer->lock);
	what = pump_one(peer, &st, ways);
	mutex_unlock(&peer->lock);
	finish(&st.end, st.err);
	if (what == PUMP_REGISTER)
		register_chunk(&st);
	return what;
}

static void send_acks(struct mc_peer *peer)
{
	struct mc_link *links[MC_PATHS_MAX];
	struct mc_path *path;
	u32 i, n = 0;

	mutex_lock(&peer->lock);
	list_for_each_entry(path, &peer->paths, link) {
		if (!mc_path_live(path) || n == MC_PATHS_MAX)
			continue;
		links[n++] = path->cur;
		mc_cset_get(&path->cur->set);
	}
	mutex_unlock(&peer->lock);
	for (i = 0; i < n; i++) {
		mc_rseg_acks(links[i]);
		mc_cset_put(&links[i]->set);
	}
}

/* Only this work item cuts and posts; submitters and completions queue it. */
void mc_rdma_pump(struct work_struct *work)
{
	struct mc_peer *peer = container_of(work, struct mc_peer, pump_work);
	struct ways ways;
	enum pump what;

	do {
		what = step(peer, &ways);
		if (what == PUMP_LATER)
			msleep(20);	/* no memory for a slice */
		cond_resched();
	} while (what != PUMP_IDLE);
	send_acks(peer);
}
