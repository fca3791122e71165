// SPDX-License-Identifier: GPL-2.0-only
/* Requests from entry to completion: see engine.h for the life of one. */
#include <linux/ktime.h>
#include <linux/mempool.h>
#include <linux/slab.h>

#include "buf.h"
#include "ctx.h"
#include "engine.h"
#include "fault.h"
#include "grant.h"
#include "mc_slice.h"
#include "mem.h"
#include "req.h"
#include "ring.h"
#include "stats.h"
#include "trace.h"

#define DEFAULT_TIMEOUT_NS	(60ULL * NSEC_PER_SEC)
#define GRACE_NS		NSEC_PER_SEC	/* for what is on the wire after the default deadline */
#define SLICE_RESERVE		256	/* slices that can always be cut: a path with work never starves for memory */

static struct kmem_cache *req_cache;
static struct kmem_cache *slice_cache;
static mempool_t *slice_pool;
static atomic_t req_live = ATOMIC_INIT(0);

int mc_req_init(void)
{
	req_cache = KMEM_CACHE(mc_req, SLAB_ACCOUNT);
	if (!req_cache)
		return -ENOMEM;
	slice_cache = KMEM_CACHE(mc_slice, 0);
	if (!slice_cache)
		goto err_req;
	slice_pool = mempool_create_slab_pool(SLICE_RESERVE, slice_cache);
	if (!slice_pool)
		goto err_slice;
	return 0;

err_slice:
	kmem_cache_destroy(slice_cache);
err_req:
	kmem_cache_destroy(req_cache);
	return -ENOMEM;
}

void mc_req_exit(void)
{
	mempool_destroy(slice_pool);
	kmem_cache_destroy(slice_cache);
	kmem_cache_destroy(req_cache);
}

/* ---- targets ---- */

static void target_release_work(struct work_struct *work)
{
	struct mc_target *target = container_of(work, struct mc_target, release_work);

	target->ops->release(target);
}

void mc_target_init(struct mc_target *target, const struct mc_transport_ops *ops, const u8 *seg_uuid, u64 len,
		    bool local)
{
	kref_init(&target->kref);
	target->ops = ops;
	memcpy(target->seg_uuid, seg_uuid, MC_UUID_LEN);
	target->len = len;
	target->local = local;
	target->rights = MC_RIGHT_READ | MC_RIGHT_WRITE;
	target->gen = 1;
	target->needs_grant = true;
	INIT_WORK(&target->release_work, target_release_work);
}

void mc_target_get(struct mc_target *target)
{
	kref_get(&target->kref);
}

static void target_last_put(struct kref *kref)
{
	queue_work(mc_wq, &container_of(kref, struct mc_target, kref)->release_work);
}

void mc_target_put(struct mc_target *target)
{
	kref_put(&target->kref, target_last_put);
}

/* ---- completion ---- */

void mc_req_get(struct mc_req *req)
{
	refcount_inc(&req->ref);
}

void mc_req_put(struct mc_req *req)
{
	if (refcount_dec_and_test(&req->ref))
		kmem_cache_free(req_cache, req);
}

/* @batch: where it is counted, 0: nowhere */
static void complete_entry(struct mc_ctx *ctx, const struct mc_sqe *sqe, u32 batch, int result)
{
	struct mc_cqe cqe = {
		.cookie = sqe->cookie,
		.batch = sqe->batch,
		.result = result,
		.flags = MC_CQE_F_QUIESCED,
		.fail_off = result ? 0 : ~0ULL,
	};

	if (result)
		mc_stat_add(MC_STAT_REQ_ERRORS, 1);
	mc_batch_end(&ctx->batches, batch, sqe->cookie, result);
	mc_ring_complete(ctx->ring, &cqe);
}

/* All slices have ended and none will follow: nothing of the request is known to any device. */
static void req_publish(struct mc_req *req)
{
	struct mc_ctx *ctx = req->ctx;
	struct mc_cqe cqe = {
		.cookie = req->cookie,
		.batch = req->batch,
		.flags = req->unquiesced ? 0 : MC_CQE_F_QUIESCED,
		.rail = req->rail,
	};
	bool ended = mc_grant_ended(req);

	spin_lock(&req->lock);
	req->published = true;
	if (req->patient && req->stop_err == -ETIMEDOUT && req->bytes == req->len)
		req->stop_err = 0;	/* it was all on the wire, and has come in time */
	spin_unlock(&req->lock);
	if (!req->stop_err && ended)
		req->stop_err = -ETIME;
	/* Under a grant that has ended somebody else's bytes may have come: none of them counts, whatever ended it. */
	if (ended || req->stop_err == -ETIME)
		req->fail_off = req->bytes = 0;
	cqe.result = req->stop_err;
	cqe.bytes = req->bytes;
	cqe.fail_off = req->stop_err ? min(req->fail_off, req->cut_off) : ~0ULL;
	trace_mc_complete(req, req->stop_err);
	if (req->stop_err)
		mc_stat_add(MC_STAT_REQ_ERRORS, 1);
	mc_stat_request(req->target->ops->id, req->write, req->len, req->stop_err,
			ktime_get_ns() - req->submitted_at);
	spin_lock(&ctx->lock);
	list_del_init(&req->ctx_link);
	spin_unlock(&ctx->lock);
	/* References first: who sees the completion may count on the buffer being idle. */
	mc_buf_put(req->buf);
	if (cancel_delayed_work(&req->deadline)) {
		/* The work's references: it won't run, or not once more (come_again()). */
		mc_target_put(req->target);
		mc_req_put(req);
	}
	mc_target_put(req->target);
	mc_batch_end(&ctx->batches, req->batch, req->cookie, cqe.result);
	mc_ring_complete(ctx->ring, &cqe);
	mc_ctx_put(ctx);
	atomic_dec(&req_live);
	mc_req_put(req);
}

static void req_pending_put(struct mc_req *req)
{
	if (refcount_dec_and_test(&req->pending))
		req_publish(req);
}

/* ---- slices ---- */

bool mc_req_all_cut(struct mc_req *req)
{
	bool all;

	spin_lock(&req->lock);
	all = req->stop_err || req->cut_off == req->len;
	spin_unlock(&req->lock);
	return all;
}

static void slice_fill(struct mc_req *req, struct mc_slice *s, u64 loc_chunk, u64 rem_chunk, u32 block, u32 tail)
{
	u64 loc = req->mem->page_off + req->buf_off + req->cut_off;

	s->req = req;
	s->off = req->cut_off;
	s->len = mc_slice_len(req->len - req->cut_off, block, tail, mc_chunk_left(loc, loc_chunk),
			      mc_chunk_left(req->tgt_off + req->cut_off, rem_chunk));
	req->cut_off += s->len;
	refcount_inc(&req->pending);
}

struct mc_slice *mc_req_cut(struct mc_req *req, u64 loc_chunk, u64 rem_chunk, u32 block, u32 tail)
{
	struct mc_slice *s;

	if (mc_req_all_cut(req))
		return NULL;
	s = mc_fault_hit(slice_alloc) ? NULL : mempool_alloc(slice_pool, GFP_NOWAIT | __GFP_NOWARN);
	if (!s)
		return ERR_PTR(-ENOMEM);
	memset(s, 0, sizeof(*s));
	INIT_LIST_HEAD(&s->link);
	spin_lock(&req->lock);
	if (req->stop_err || req->cut_off == req->len) {
		spin_unlock(&req->lock);
		mempool_free(s, slice_pool);
		return NULL;
	}
	slice_fill(req, s, loc_chunk, rem_chunk, block, tail);
	spin_unlock(&req->lock);
	trace_mc_slice_cut(req, s);
	return s;
}

void mc_req_cut_end(struct mc_req *req)
{
	req_pending_put(req);
}

void mc_slice_done(struct mc_slice *s, int err)
{
	struct mc_req *req = s->req;

	trace_mc_slice_done(req, s, err);
	mc_stat_add(err ? MC_STAT_SLICE_ERRORS : MC_STAT_SLICES, 1);
	spin_lock(&req->lock);
	if (err) {
		if (!req->stop_err)
			req->stop_err = err;
		req->fail_off = min(req->fail_off, s->off);
	} else {
		req->bytes += s->len;
	}
	if (s->unfenced)
		req->unquiesced = true;
	spin_unlock(&req->lock);
	mempool_free(s, slice_pool);
	req_pending_put(req);
}

void mc_req_stop(struct mc_req *req, int err)
{
	bool first;

	spin_lock(&req->lock);
	first = !req->stop_err;
	if (first)
		req->stop_err = err;
	spin_unlock(&req->lock);
	if (first)
		trace_mc_stop(req, err);
}

/* ---- deadlines and close ---- */

/*
 * Once more after the grace, or when the grant ends, unless it has completed. The work's references go to its second
 * run then. Whichever comes first under the lock decides who drops them: if the work is queued again, req_publish()
 * finds it there and cancels it, or it runs again and drops them itself; if the completion is first, the work is not
 * queued, its cancelling finds nothing, and this run drops them.
 */
static bool come_again(struct mc_req *req)
{
	u64 grace = mc_grant_cap(req, GRACE_NS);
	bool again;

	spin_lock(&req->lock);
	again = !req->published;
	if (again)
		queue_delayed_work(mc_wq, &req->deadline, nsecs_to_jiffies(grace) + 1);
	spin_unlock(&req->lock);
	return again;
}

/* The grace is over: what comes from now on comes too late. */
static void lose_patience(struct mc_req *req)
{
	spin_lock(&req->lock);
	req->patient = false;
	spin_unlock(&req->lock);
}

/*
 * It may complete while this runs; the work's references keep the structure, and req->target until abort() returns. A
 * work item never runs twice at a time: @late is this function's own, and only its second run changes @patient.
 */
static void deadline_work(struct work_struct *work)
{
	struct mc_req *req = container_of(work, struct mc_req, deadline.work);
	bool gently = req->patient && !req->late;

	if (!req->late) {
		mc_stat_add(MC_STAT_TIMEOUTS, 1);
		mc_req_stop(req, req->grant_first ? -ETIME : -ETIMEDOUT);
	} else {
		lose_patience(req);
	}
	req->late = true;
	req->target->ops->abort(req, !gently);
	if (gently && come_again(req))
		return;
	mc_target_put(req->target);
	mc_req_put(req);
}

/*
 * One after the other, each moved back to the file's list before the lock is dropped. A request that completes
 * meanwhile unlinks itself from whichever list it is on. Returns how many there were.
 */
static u32 stop_some(struct mc_ctx *ctx, const u64 *cookie, int err, bool fence)
{
	struct mc_req *req;
	LIST_HEAD(todo);
	u32 n = 0;

	spin_lock(&ctx->lock);
	list_splice_init(&ctx->reqs, &todo);
	while (!list_empty(&todo)) {
		req = list_first_entry(&todo, struct mc_req, ctx_link);
		list_move_tail(&req->ctx_link, &ctx->reqs);
		if (cookie && req->cookie != *cookie) {
			cond_resched_lock(&ctx->lock);
			continue;
		}
		mc_req_get(req);
		mc_target_get(req->target);
		spin_unlock(&ctx->lock);
		n++;
		mc_req_stop(req, err);
		req->target->ops->abort(req, fence);
		mc_target_put(req->target);
		mc_req_put(req);
		cond_resched();
		spin_lock(&ctx->lock);
	}
	spin_unlock(&ctx->lock);
	return n;
}

/* New ones don't appear: the file is closed. */
void mc_req_stop_all(struct mc_ctx *ctx, int err, bool fence)
{
	stop_some(ctx, NULL, err, fence);
}

int mc_req_cancel(struct mc_ctx *ctx, struct mc_cancel *arg)
{
	bool all = arg->flags & MC_CANCEL_ALL;

	if (arg->flags & ~MC_CANCEL_ALL || arg->resv || (all && arg->cookie))
		return -EINVAL;
	if (mutex_lock_killable(&ctx->cancel_lock))
		return -EINTR;
	arg->out_count = stop_some(ctx, all ? NULL : &arg->cookie, -ECANCELED, false);
	mutex_unlock(&ctx->cancel_lock);
	return arg->out_count ? 0 : -ENOENT;
}

/* ---- submission ---- */

static bool unused_are_zero(const struct mc_sqe *sqe)
{
	return !sqe->priority && !sqe->flags && !sqe->crc32c && !sqe->spans && !sqe->span_count &&
	       !sqe->list_id && !sqe->list_first && !sqe->list_count && !memchr_inv(sqe->resv, 0, sizeof(sqe->resv));
}

static int check_entry(const struct mc_sqe *sqe)
{
	if (!unused_are_zero(sqe) || sqe->timeout_ns > MC_MAX_TIMEOUT_NS)
		return -EINVAL;
	if (sqe->opcode == MC_OP_NOP)
		return sqe->len || sqe->buf_id || sqe->buf_off || sqe->target_id || sqe->target_off || sqe->grant_id ?
		       -EINVAL : 0;
	if (sqe->opcode != MC_OP_READ && sqe->opcode != MC_OP_WRITE)
		return -EINVAL;
	return sqe->len && sqe->len <= MC_MAX_REQ_LEN ? 0 : -EINVAL;
}

static int check_range(u64 off, u64 len, u64 size)
{
	return off > size || len > size - off ? -ERANGE : 0;
}

static int req_resolve(struct mc_ctx *ctx, struct mc_req *req, const struct mc_sqe *sqe)
{
	int ret;

	req->buf = mc_buf_get(ctx, sqe->buf_id);
	if (!req->buf)
		return -ENOENT;
	req->mem = req->buf->mem;
	req->target = mc_seg_handle_get(ctx, sqe->target_id);
	ret = req->target ? 0 : -ENOENT;
	if (!ret && !(req->target->rights & (sqe->opcode == MC_OP_WRITE ? MC_RIGHT_WRITE : MC_RIGHT_READ)))
		ret = -EACCES;
	if (!ret)
		ret = check_range(sqe->buf_off, sqe->len, req->mem->len);
	if (!ret)
		ret = check_range(sqe->target_off, sqe->len, READ_ONCE(req->target->len));
	if (!ret)
		ret = mc_grant_start(ctx, req, sqe);
	if (ret) {
		if (req->target)
			mc_target_put(req->target);
		mc_buf_put(req->buf);
	}
	return ret;
}

static void req_fill(struct mc_ctx *ctx, struct mc_req *req, const struct mc_sqe *sqe)
{
	refcount_set(&req->ref, 2);
	refcount_set(&req->pending, 1);
	spin_lock_init(&req->lock);
	mc_ctx_get(ctx);
	req->ctx = ctx;
	INIT_LIST_HEAD(&req->ctx_link);
	INIT_LIST_HEAD(&req->net_link);
	req->write = sqe->opcode == MC_OP_WRITE;
	req->buf_off = sqe->buf_off;
	req->tgt_off = sqe->target_off;
	req->len = sqe->len;
	req->cookie = sqe->cookie;
	req->batch = sqe->batch;
	req->fail_off = ~0ULL;
	INIT_DELAYED_WORK(&req->deadline, deadline_work);
}

/* Put it among the file's requests, unless the file is being closed: its close work would miss it. */
static bool req_enlist(struct mc_ctx *ctx, struct mc_req *req)
{
	bool ok;

	spin_lock(&ctx->lock);
	ok = !ctx->dying;
	if (ok)
		list_add_tail(&req->ctx_link, &ctx->reqs);
	spin_unlock(&ctx->lock);
	return ok;
}

static u64 default_timeout(void)
{
	u64 ms = mc_fault_value(default_timeout_ms);

	return ms ? min_t(u64, ms, 60000) * NSEC_PER_MSEC : DEFAULT_TIMEOUT_NS;
}

static void req_start(struct mc_ctx *ctx, struct mc_req *req, const struct mc_sqe *sqe)
{
	u64 timeout = mc_grant_cap(req, sqe->timeout_ns ?: default_timeout());
	struct mc_target *target = req->target;

	req->submitted_at = ktime_get_ns();
	req->deadline_at = req->submitted_at + timeout;
	/* Who named no deadline gets the grace; the end of a grant has none. */
	req->patient = !sqe->timeout_ns && !req->grant_first;
	atomic_inc(&req_live);
	trace_mc_submit(req, 0);
	/* For deadline_work() and for the call below: the request's own reference goes when it completes. */
	mc_target_get(target);
	mc_target_get(target);
	queue_delayed_work(mc_wq, &req->deadline, nsecs_to_jiffies(timeout) + 1);
	if (!req_enlist(ctx, req))
		mc_req_stop(req, -ECANCELED);
	target->ops->submit(req);
	mc_target_put(target);
}

void mc_req_submit(struct mc_ctx *ctx, const struct mc_sqe *sqe)
{
	int ret = mc_batch_begin(&ctx->batches, sqe->batch);
	struct mc_req *req;

	mc_stat_add(MC_STAT_REQS, 1);
	if (ret) {
		complete_entry(ctx, sqe, 0, ret);
		return;
	}
	ret = check_entry(sqe);
	if (ret || sqe->opcode == MC_OP_NOP) {
		complete_entry(ctx, sqe, sqe->batch, ret);
		return;
	}
	req = mc_fault_hit(alloc) ? NULL : kmem_cache_zalloc(req_cache, GFP_KERNEL);
	if (!req) {
		complete_entry(ctx, sqe, sqe->batch, -ENOMEM);
		return;
	}
	ret = req_resolve(ctx, req, sqe);
	if (ret) {
		kmem_cache_free(req_cache, req);
		complete_entry(ctx, sqe, sqe->batch, ret);
		return;
	}
	req_fill(ctx, req, sqe);
	req_start(ctx, req, sqe);
}

u32 mc_req_count(void)
{
	return atomic_read(&req_live);
}
