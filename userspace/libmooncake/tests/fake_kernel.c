// SPDX-License-Identifier: MIT
#include "fake_kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RULE(cond)                                                                                                   \
	do {                                                                                                         \
		if (!(cond)) {                                                                                       \
			fprintf(stderr, "ABI rule broken: %s (line %d)\n", #cond, __LINE__);                         \
			abort();                                                                                     \
		}                                                                                                    \
	} while (0)
#define HEAD_BYTES	64

static struct mc_sqe *sqes(struct fake_kernel *fk)
{
	return (struct mc_sqe *)((char *)fk->sq + HEAD_BYTES);
}

static void publish(struct fake_kernel *fk, const struct mc_sqe *sqe, int result, uint32_t flags, uint64_t bytes)
{
	struct mc_cqe *cqe = (struct mc_cqe *)((char *)fk->cq + HEAD_BYTES) + (fk->cq_tail & (fk->entries - 1));

	RULE(fk->cq_tail - __atomic_load_n(&fk->sq->cq_head, __ATOMIC_ACQUIRE) < fk->entries);
	memset(cqe, 0, sizeof(*cqe));
	cqe->cookie = sqe->cookie;
	cqe->result = result;
	cqe->flags = flags;
	cqe->bytes = bytes;
	cqe->fail_off = result ? sqe->len / 2 : UINT64_MAX;
	cqe->rail = 1;
	cqe->batch = sqe->batch;
	fk->cq_tail++;
	__atomic_store_n(&fk->cq->tail, fk->cq_tail, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&fk->cond);
}

/* Moves the bytes. Returns the result. */
static int carry_out(struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	struct fk_seg *seg;

	if (sqe->buf_id - 1 >= 64 || !fk->bufs[sqe->buf_id - 1].used)
		return -ENOENT;
	if (sqe->target_id >= 256 || !fk->handles[sqe->target_id])
		return -ENOENT;
	seg = &fk->segs[fk->handles[sqe->target_id] - 1];
	if (seg->withdrawn)
		return -ESTALE;
	if (sqe->buf_off + sqe->len > fk->bufs[sqe->buf_id - 1].len || sqe->target_off + sqe->len > seg->len)
		return -ERANGE;
	if (sqe->opcode == MC_OP_WRITE)
		memcpy(seg->data + sqe->target_off, (char *)fk->bufs[sqe->buf_id - 1].addr + sqe->buf_off, sqe->len);
	else
		memcpy((char *)fk->bufs[sqe->buf_id - 1].addr + sqe->buf_off, seg->data + sqe->target_off, sqe->len);
	return 0;
}

static void finish(struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	int rc = carry_out(fk, sqe);

	fk->in_flight--;
	publish(fk, sqe, rc, rc ? MC_CQE_F_QUIESCED : fk->ok_flags, rc ? 0 : sqe->len);
}

static bool is_silent(const struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	return sqe->target_id < 256 && fk->handles[sqe->target_id] && fk->segs[fk->handles[sqe->target_id] - 1].silent;
}

/* A request is checked when it is submitted; its grant may be gone when it ends. */
static bool granted(const struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	uint32_t rights = sqe->opcode == MC_OP_WRITE ? MC_GRANT_W : MC_GRANT_R;

	if (!fk->need_grants || sqe->target_id >= 256 || !fk->handles[sqe->target_id])
		return true;
	return sqe->grant_id && sqe->grant_id <= FK_GRANTS && fk->grant_used[sqe->grant_id - 1] &&
	       !mc_grant_covers(&fk->grants[sqe->grant_id - 1], rights,
				fk->segs[fk->handles[sqe->target_id] - 1].uuid, sqe->target_off, sqe->len);
}

static const struct mc_grant *grant_of(const struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	return sqe->grant_id && sqe->grant_id <= FK_GRANTS ? &fk->grants[sqe->grant_id - 1] : NULL;
}

/* One after the other, each as long as its bytes need; its grant may end before. */
static void begin_slowly(struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	const struct mc_grant *g = grant_of(fk, sqe);
	struct fk_held *h = &fk->held[fk->n_held++];
	uint64_t now = mc_now_ns();

	RULE(fk->n_held <= FK_HELD);
	fk->free_at = (fk->free_at > now ? fk->free_at : now) + sqe->len * fk->ns_per_kib / 1024;
	h->sqe = *sqe;
	h->gone = false;
	h->until = fk->free_at;
	h->paced = true;
	h->grant_over = g && g->not_after < fk->free_at;
	if (h->grant_over)
		h->until = g->not_after;
}

static void begin(struct fake_kernel *fk, const struct mc_sqe *sqe)
{
	static const struct mc_sqe zero;

	RULE(sqe->opcode == MC_OP_READ || sqe->opcode == MC_OP_WRITE);
	RULE(!sqe->priority && !sqe->flags && !sqe->crc32c && !sqe->spans && !sqe->span_count);
	RULE(!sqe->list_id && !sqe->list_first && !sqe->list_count && !memcmp(sqe->resv, zero.resv, sizeof(zero.resv)));
	RULE(sqe->len && sqe->len <= MC_MAX_REQ_LEN && sqe->timeout_ns <= MC_MAX_TIMEOUT_NS);
	fk->last_timeout_ns = sqe->timeout_ns;
	fk->count++;
	if (++fk->in_flight > fk->max_in_flight)
		fk->max_in_flight = fk->in_flight;
	if (!granted(fk, sqe)) {
		fk->in_flight--;
		publish(fk, sqe, -EACCES, MC_CQE_F_QUIESCED, 0);
	} else if (fk->hold_nth == fk->count || fk->hold_nth == UINT_MAX || is_silent(fk, sqe)) {
		RULE(fk->n_held < FK_HELD);
		fk->held[fk->n_held].sqe = *sqe;
		fk->held[fk->n_held].gone = false;
		fk->held[fk->n_held].paced = false;
		fk->held[fk->n_held++].until = mc_now_ns() + fk->late_ns +
					       (sqe->timeout_ns ? sqe->timeout_ns : 60000000000ull);
	} else if (fk->fail_nth == fk->count) {
		fk->in_flight--;
		publish(fk, sqe, fk->lie_bytes ? 0 : fk->fail_result, fk->fail_flags, fk->lie_bytes ? sqe->len - 1 : 0);
	} else if (fk->ns_per_kib) {
		begin_slowly(fk, sqe);
	} else {
		finish(fk, sqe);
	}
}

/* Ends held transfers whose deadline has passed. Returns when the next one does. */
static uint64_t expire(struct fake_kernel *fk)
{
	uint64_t now = mc_now_ns(), next = UINT64_MAX;
	unsigned int i, kept = 0;

	for (i = 0; i < fk->n_held; i++) {
		struct fk_held *h = &fk->held[i];

		if (fk->never_late || h->gone || h->until > now) {
			if (!fk->never_late && !h->gone && h->until < next)
				next = h->until;
			fk->held[kept++] = *h;
			continue;
		}
		if (h->paced && !h->grant_over) {
			finish(fk, &h->sqe);
			continue;
		}
		publish(fk, &h->sqe, h->paced ? -ETIME : -ETIMEDOUT, fk->late_flags, 0);
		if (fk->late_flags & MC_CQE_F_BUSY) {
			h->gone = true;
			fk->held[kept++] = *h;
		} else {
			fk->in_flight--;
		}
	}
	fk->n_held = kept;
	return next;
}

void fk_release(struct fake_kernel *fk)
{
	unsigned int i;

	pthread_mutex_lock(&fk->lock);
	for (i = 0; i < fk->n_held; i++) {
		if (fk->held[i].gone) {
			fk->in_flight--;
			publish(fk, &fk->held[i].sqe, 0, MC_CQE_F_RELEASED | MC_CQE_F_QUIESCED, 0);
		} else {
			finish(fk, &fk->held[i].sqe);
		}
	}
	fk->n_held = 0;
	pthread_mutex_unlock(&fk->lock);
}

void fk_stray(struct fake_kernel *fk, uint64_t cookie)
{
	struct mc_sqe sqe = { .cookie = cookie };

	pthread_mutex_lock(&fk->lock);
	publish(fk, &sqe, 0, 0, 0);
	pthread_mutex_unlock(&fk->lock);
}

static uint32_t consume(struct fake_kernel *fk, uint32_t want)
{
	uint32_t n = 0, tail = __atomic_load_n(&fk->sq->tail, __ATOMIC_ACQUIRE);

	RULE(tail - fk->sq_head <= fk->entries);
	if (fk->consume_limit && want > fk->consume_limit)
		want = fk->consume_limit;
	while (n < want && fk->sq_head != tail) {
		uint32_t taken = __atomic_load_n(&fk->sq->cq_head, __ATOMIC_ACQUIRE);

		if (fk->in_flight + (fk->cq_tail - taken) >= fk->entries)
			break;
		begin(fk, &sqes(fk)[fk->sq_head & (fk->entries - 1)]);
		fk->sq_head++;
		n++;
	}
	__atomic_store_n(&fk->cq->sq_head, fk->sq_head, __ATOMIC_RELEASE);
	return n;
}

static void sleep_until(struct fake_kernel *fk, uint64_t until)
{
	uint64_t now = mc_now_ns(), ns = until > now ? until - now : 0;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ns / 1000000000ull;
	ts.tv_nsec += ns % 1000000000ull;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&fk->cond, &fk->lock, &ts);
}

static int enter(struct fake_kernel *fk, struct mc_enter *e)
{
	uint64_t until = mc_now_ns() + e->timeout_ns, next;
	int rc = 0;

	RULE(e->size == sizeof(*e) && !e->flags && e->timeout_ns <= MC_MAX_TIMEOUT_NS);
	fk->enters++;
	e->out_submitted = 0;
	if (e->to_submit && fk->enter_err)
		return fk->enter_err;
	e->out_submitted = consume(fk, e->to_submit);
	if (fk->eintr && fk->eintr--)
		rc = -EINTR;
	for (;;) {
		next = expire(fk);
		e->out_ready = fk->cq_tail - __atomic_load_n(&fk->sq->cq_head, __ATOMIC_ACQUIRE);
		if (rc || e->out_ready >= e->min_complete)
			return rc;
		if (mc_now_ns() >= until)
			return -ETIME;
		sleep_until(fk, next < until ? next : until);
	}
}

static int info(struct fake_kernel *fk, struct mc_info *i)
{
	RULE(i->size == sizeof(*i));
	i->abi_major = fk->abi_major;
	i->max_ring_entries = MC_MAX_RING_ENTRIES;
	memcpy(i->node_uuid, fk->node_uuid, MC_UUID_LEN);
	return 0;
}

static int ring_setup(struct fake_kernel *fk, struct mc_ring_setup *s)
{
	RULE(s->size == sizeof(*s) && !s->flags && s->sq_entries && !(s->sq_entries & (s->sq_entries - 1)));
	RULE(!fk->sq && s->cq_entries >= s->sq_entries);
	fk->entries = s->sq_entries;
	fk->area = HEAD_BYTES + (size_t)fk->entries * sizeof(struct mc_sqe);
	fk->sq = calloc(1, fk->area);
	fk->cq = calloc(1, fk->area);
	fk->sq->tail = fk->sq->cq_head = fk->cq->tail = fk->cq->sq_head = fk->start_index;
	fk->sq_head = fk->cq_tail = fk->start_index;
	s->out_sq_bytes = fk->small_area ? 100 : fk->area;
	s->out_cq_bytes = fk->area;
	s->out_sqe_off = HEAD_BYTES;
	s->out_cqe_off = HEAD_BYTES;
	return 0;
}

static int buf_reg(struct fake_kernel *fk, struct mc_buf_reg *r)
{
	uint32_t i;

	RULE(r->size == sizeof(*r) && !r->flags && !r->resv);
	if (!r->len)
		return -EINVAL;
	for (i = 0; i < 64; i++) {
		if (fk->bufs[i].used)
			continue;
		fk->bufs[i].used = true;
		fk->bufs[i].addr = r->addr;
		fk->bufs[i].len = r->len;
		r->out_id = i + 1;
		return 0;
	}
	return -ENOSPC;
}

static int buf_unreg(struct fake_kernel *fk, struct mc_handle *h)
{
	if (h->id - 1 >= 64 || !fk->bufs[h->id - 1].used)
		return -ENOENT;
	fk->bufs[h->id - 1].used = false;
	return 0;
}

static int seg_open(struct fake_kernel *fk, struct mc_seg_open *o)
{
	unsigned int i, h;

	RULE(o->size == sizeof(*o) && !o->flags && o->timeout_ns);
	fk->opens++;
	for (i = 0; i < fk->n_segs; i++)
		if (!memcmp(fk->segs[i].node_uuid, o->node_uuid, MC_UUID_LEN) &&
		    !memcmp(fk->segs[i].uuid, o->seg_uuid, MC_UUID_LEN))
			break;
	if (i == fk->n_segs)
		return -EHOSTUNREACH;
	fk->segs[i].opens++;
	if (fk->segs[i].open_err)
		return fk->segs[i].open_err;
	if (fk->segs[i].withdrawn)
		return -ENOENT;
	for (h = 1; h < fk->handle_limit && fk->handles[h]; h++)
		;
	if (h == fk->handle_limit)
		return -ENOSPC;
	fk->handles[h] = i + 1;
	o->out_id = h;
	o->out_len = fk->segs[i].len;
	o->out_flags = fk->segs[i].local ? MC_SEG_LOCAL : 0;
	return 0;
}

static int seg_close(struct fake_kernel *fk, struct mc_handle *h)
{
	RULE(h->id < 256 && fk->handles[h->id]);
	fk->handles[h->id] = 0;
	fk->closes++;
	return 0;
}

static int grant_add(struct fake_kernel *fk, struct mc_grant_add *a)
{
	struct mc_grant_item *items = (void *)(uintptr_t)a->items;
	uint32_t i, h;

	RULE(a->size == sizeof(*a) && !a->flags && a->count && a->count <= MC_MAX_GRANT_BATCH);
	fk->grant_calls++;
	for (i = 0; i < a->count; i++) {
		RULE(!items[i].out_id && !items[i].out_error);
		items[i].out_error = fk->grant_errs && fk->grant_errs-- ? fk->grant_err : 0;
		for (h = 0; h < FK_GRANTS && fk->grant_used[h]; h++)
			;
		RULE(h < FK_GRANTS);
		if (!items[i].out_error)
			items[i].out_error = mc_grant_decode(items[i].grant, &fk->grants[h]);
		if (items[i].out_error)
			continue;
		fk->grant_used[h] = true;
		if (++fk->grants_now > fk->grants_most)
			fk->grants_most = fk->grants_now;
		items[i].out_id = h + 1;
	}
	return 0;
}

static int grant_del(struct fake_kernel *fk, struct mc_grant_del *d)
{
	const uint32_t *ids = (const void *)(uintptr_t)d->ids;
	uint32_t i;

	RULE(d->size == sizeof(*d) && !d->flags && d->count && d->count <= MC_MAX_GRANT_BATCH);
	for (i = 0; i < d->count; i++) {
		RULE(ids[i] && ids[i] <= FK_GRANTS && fk->grant_used[ids[i] - 1]);
		fk->grant_used[ids[i] - 1] = false;
		fk->grants_now--;
	}
	return 0;
}

unsigned int fk_grants(struct fake_kernel *fk)
{
	unsigned int i, n = 0;

	for (i = 0; i < FK_GRANTS; i++)
		n += fk->grant_used[i];
	return n;
}

static int name_client(struct fake_kernel *fk, const struct mc_client *c)
{
	RULE(c->size == sizeof(*c) && !c->flags);
	if (fk->client_err)
		return fk->client_err;
	memcpy(fk->client, c->uuid, MC_UUID_LEN);
	return 0;
}

static int fk_ioctl(void *ctx, unsigned long cmd, void *arg)
{
	struct fake_kernel *fk = ctx;
	int rc = -ENOTTY;

	pthread_mutex_lock(&fk->lock);
	RULE(!fk->closed);
	if (cmd == MC_IOC_INFO)
		rc = fk->abi_major == 0 ? -ENOTTY : info(fk, arg);
	else if (cmd == MC_IOC_RING_SETUP)
		rc = ring_setup(fk, arg);
	else if (cmd == MC_IOC_BUF_REG)
		rc = buf_reg(fk, arg);
	else if (cmd == MC_IOC_BUF_UNREG)
		rc = buf_unreg(fk, arg);
	else if (cmd == MC_IOC_SEG_OPEN)
		rc = seg_open(fk, arg);
	else if (cmd == MC_IOC_SEG_CLOSE)
		rc = seg_close(fk, arg);
	else if (cmd == MC_IOC_ENTER)
		rc = enter(fk, arg);
	else if (cmd == MC_IOC_GRANT_ADD)
		rc = grant_add(fk, arg);
	else if (cmd == MC_IOC_GRANT_DEL)
		rc = grant_del(fk, arg);
	else if (cmd == MC_IOC_CLIENT)
		rc = name_client(fk, arg);
	pthread_mutex_unlock(&fk->lock);
	return rc;
}

/* The bytes of the segment themselves. */
static void *map_extent(struct fake_kernel *fk, uint64_t off, size_t len, bool writable)
{
	uint64_t id = off >> MC_OFF_GRANT_SHIFT;
	const struct mc_grant *g = &fk->grants[id - 1];
	unsigned int i;

	RULE(!writable && off == MC_OFF_GRANT(id) && id <= FK_GRANTS && fk->grant_used[id - 1]);
	RULE(g->rights & MC_GRANT_R && len == g->len);
	for (i = 0; i < fk->n_segs && memcmp(fk->segs[i].uuid, g->seg, MC_UUID_LEN); i++)
		;
	RULE(i < fk->n_segs && fk->segs[i].local);
	if (fk->map_err) {
		errno = fk->map_err;
		return NULL;
	}
	fk->maps++;
	return fk->segs[i].data + g->off;
}

static void *fk_map(void *ctx, uint64_t off, size_t len, bool writable)
{
	struct fake_kernel *fk = ctx;

	if (off >= MC_OFF_GRANT(1))
		return map_extent(fk, off, len, writable);
	RULE(len == fk->area && writable == (off == MC_OFF_SQ));
	return off == MC_OFF_SQ ? (void *)fk->sq : (void *)fk->cq;
}

static void fk_unmap(void *ctx, void *addr, size_t len)
{
	struct fake_kernel *fk = ctx;

	(void)len;
	fk->maps -= addr != fk->sq && addr != fk->cq;
}

static void fk_close(void *ctx)
{
	struct fake_kernel *fk = ctx;

	fk->closed = true;
}

const struct mc_dev_ops fk_ops = {
	.ioctl = fk_ioctl,
	.map = fk_map,
	.unmap = fk_unmap,
	.close = fk_close,
};

void fk_arm(struct fake_kernel *fk)
{
	pthread_mutex_lock(&fk->lock);
	fk->count = 0;
	fk->fail_nth = 0;
	fk->fail_result = -EIO;
	fk->fail_flags = MC_CQE_F_QUIESCED;
	fk->hold_nth = 0;
	fk->late_flags = MC_CQE_F_QUIESCED;
	fk->never_late = false;
	fk->ns_per_kib = 0;
	fk->free_at = 0;
	fk->lie_bytes = false;
	fk->ok_flags = MC_CQE_F_QUIESCED;
	fk->consume_limit = 0;
	fk->enter_err = 0;
	fk->eintr = 0;
	fk->opens = 0;
	fk->max_in_flight = fk->in_flight;
	pthread_mutex_unlock(&fk->lock);
}

struct fake_kernel *fk_new(unsigned int n_segs, uint64_t len)
{
	struct fake_kernel *fk = calloc(1, sizeof(*fk));
	pthread_condattr_t attr;
	unsigned int i;

	pthread_mutex_init(&fk->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fk->cond, &attr);
	pthread_condattr_destroy(&attr);
	fk->n_segs = n_segs;
	fk->handle_limit = 256;
	fk->abi_major = MC_ABI_MAJOR;
	memset(fk->node_uuid, 1, MC_UUID_LEN);
	for (i = 0; i < n_segs; i++) {
		memset(fk->segs[i].node_uuid, i + 1, MC_UUID_LEN);
		memset(fk->segs[i].uuid, 0xa0 + i, MC_UUID_LEN);
		fk->segs[i].data = calloc(1, len);
		fk->segs[i].len = len;
		fk->segs[i].local = !i;
	}
	fk_arm(fk);
	return fk;
}

void fk_free(struct fake_kernel *fk)
{
	unsigned int i;

	for (i = 0; i < fk->n_segs; i++)
		free(fk->segs[i].data);
	free(fk->sq);
	free(fk->cq);
	pthread_cond_destroy(&fk->cond);
	pthread_mutex_destroy(&fk->lock);
	free(fk);
}

struct mc_dev *fk_open(struct fake_kernel *fk, uint32_t entries)
{
	struct mc_error err;
	struct mc_dev *dev;

	if (mc_dev_open_ops(&fk_ops, fk, -1, "fake", entries, &dev, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return dev;
}
