// SPDX-License-Identifier: MIT
/* The shared rings: filling entries, handing them to the kernel, taking completions. */
#include "dev_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static void free_slot(struct mc_dev *dev, uint32_t i)
{
	struct mc_slot *s = &dev->slots[i];

	s->batch = NULL;
	s->buf = NULL;
	s->gen++;
	s->next_free = dev->free_slot;
	dev->free_slot = i;
}

/* One transfer of a batch has ended; the last one frees a batch that nobody holds any more. */
static void xfer_ended(struct mc_batch *b, struct mc_xfer *x)
{
	struct mc_buf *buf = x->buf;

	x->buf = NULL;
	b->left--;
	if (b->abandoned) {
		atomic_fetch_sub(&buf->late, 1);
		if (!b->left)
			free(b);
	}
	mc_buf_put_locked(buf);
}

/* Ended without the kernel having seen it: nothing of it can reach anything. */
static void xfer_never_sent(struct mc_batch *b, uint32_t i, int result)
{
	struct mc_xfer *x = &b->xfers[i];

	x->done.result = result;
	x->done.flags = MC_CQE_F_QUIESCED;
	x->done.fail_off = 0;
	x->done.done_ns = mc_now_ns();
	xfer_ended(b, x);
}

/* The kernel has it no more. */
static void landed(struct mc_batch *b, const struct mc_xfer *x, uint64_t now)
{
	b->flying -= x->len;
	if (b->window && now < b->grow_until)
		b->window += x->len;
}

static void complete(struct mc_dev *dev, const struct mc_cqe *cqe, uint64_t now)
{
	uint32_t i = (uint32_t)cqe->cookie;
	struct mc_slot *s = &dev->slots[i & (dev->cq_entries - 1)];
	struct mc_xfer *x;

	if (i >= dev->cq_entries || s->gen != cqe->cookie >> 32 || !s->buf) {
		dev->stray++;
		return;
	}
	if (cqe->flags & MC_CQE_F_RELEASED) {
		atomic_fetch_sub(&s->buf->late, 1);
		mc_buf_put_locked(s->buf);
		free_slot(dev, i);
		return;
	}
	x = &s->batch->xfers[s->index];
	landed(s->batch, x, now);
	if (!s->batch->frozen) {
		x->done.result = cqe->result;
		x->done.flags = cqe->flags;
		x->done.bytes = cqe->bytes;
		x->done.fail_off = cqe->fail_off;
		x->done.rail = cqe->rail;
		x->done.done_ns = now;
	}
	if (cqe->flags & MC_CQE_F_BUSY) {
		s->buf->refs++;
		atomic_fetch_add(&s->buf->late, 1);
		xfer_ended(s->batch, x);
		s->batch = NULL;
		return;
	}
	xfer_ended(s->batch, x);
	free_slot(dev, i);
}

int mc_ring_reap_locked(struct mc_dev *dev)
{
	uint32_t tail = load_acquire(&dev->cq->tail);
	uint64_t now = mc_now_ns();
	int n = 0;

	while (dev->cq_head != tail) {
		complete(dev, &dev->cqes[dev->cq_head & (dev->cq_entries - 1)], now);
		dev->cq_head++;
		n++;
	}
	if (n)
		store_release(&dev->sq->cq_head, dev->cq_head);
	return n;
}

static void fill(struct mc_dev *dev, struct mc_batch *b, uint32_t slot, uint64_t now)
{
	struct mc_sqe *sqe = &dev->sqes[dev->sq_tail & (dev->sq_entries - 1)];
	struct mc_slot *s = &dev->slots[slot];
	struct mc_xfer *x = &b->xfers[b->sent];

	s->batch = b;
	s->buf = x->buf;
	s->index = b->sent;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = x->opcode;
	sqe->buf_id = x->buf->id;
	sqe->buf_off = x->buf_off;
	sqe->target_id = x->seg_id;
	sqe->target_off = x->seg_off;
	sqe->grant_id = x->grant_id;
	sqe->len = x->len;
	sqe->cookie = (uint64_t)s->gen << 32 | slot;
	sqe->timeout_ns = b->deadline_ns ? b->deadline_ns - now : 0;
	b->flying += x->len;
	b->sent++;
	dev->sq_tail++;
	dev->unsubmitted++;
}

static void unqueue(struct mc_dev *dev, struct mc_batch *b)
{
	if (b->queued)
		TAILQ_REMOVE(&dev->unsent, b, link);
	b->queued = false;
}

/* Ends what a batch has not handed out. The batch may be gone afterwards. */
static void end_unsent(struct mc_dev *dev, struct mc_batch *b, int result)
{
	uint32_t i = b->sent;

	unqueue(dev, b);
	b->sent = b->n;
	while (i < b->n)
		xfer_never_sent(b, i++, result);
}

static bool may_send(const struct mc_batch *b)
{
	return !b->window || !b->flying || b->flying + b->xfers[b->sent].len <= b->window;
}

/* The oldest batch that may send something. One that waits for its window has something with the kernel. */
static struct mc_batch *sender(struct mc_dev *dev)
{
	struct mc_batch *b;

	TAILQ_FOREACH(b, &dev->unsent, link)
		if (may_send(b))
			return b;
	return NULL;
}

/* Moves transfers from the unsent batches into free entries. Returns how many entries were filled. */
static uint32_t fill_ring(struct mc_dev *dev)
{
	uint32_t slot, n = 0;
	struct mc_batch *b;

	while ((b = sender(dev)) && dev->free_slot != UINT32_MAX && dev->unsubmitted < dev->sq_entries) {
		uint64_t now = mc_now_ns();

		if (b->deadline_ns && b->deadline_ns <= now) {
			end_unsent(dev, b, -ETIMEDOUT);
			continue;
		}
		slot = dev->free_slot;
		dev->free_slot = dev->slots[slot].next_free;
		fill(dev, b, slot, now);
		n++;
		if (b->sent == b->n)
			unqueue(dev, b);
	}
	return n;
}

/* The kernel refuses entries: takes them back out of the ring and ends them and everything behind them. */
static void take_back(struct mc_dev *dev, int rc)
{
	struct mc_batch *b;

	while (dev->unsubmitted) {
		struct mc_sqe *sqe = &dev->sqes[(dev->sq_tail - 1) & (dev->sq_entries - 1)];
		uint32_t slot = (uint32_t)sqe->cookie, i = dev->slots[slot].index;

		b = dev->slots[slot].batch;
		b->flying -= b->xfers[i].len;
		free_slot(dev, slot);
		dev->sq_tail--;
		dev->unsubmitted--;
		if (b->queued)
			end_unsent(dev, b, rc);
		xfer_never_sent(b, i, rc);
	}
	store_release(&dev->sq->tail, dev->sq_tail);
	while ((b = TAILQ_FIRST(&dev->unsent)))
		end_unsent(dev, b, rc);
}

/* Hands filled entries to the kernel. Returns 0 or -errno. */
static int submit_filled(struct mc_dev *dev)
{
	struct mc_enter e = { .size = sizeof(e), .to_submit = dev->unsubmitted };
	int rc;

	store_release(&dev->sq->tail, dev->sq_tail);
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_ENTER, &e);
	if (e.out_submitted > dev->unsubmitted)
		return -EPROTO;
	dev->unsubmitted -= e.out_submitted;
	return rc == -EINTR || rc == -ETIME ? 0 : rc;
}

int mc_ring_push_locked(struct mc_dev *dev)
{
	uint32_t before;
	int rc = 0;

	for (;;) {
		fill_ring(dev);
		if (!dev->unsubmitted)
			return 0;
		before = dev->unsubmitted;
		rc = submit_filled(dev);
		if (rc) {
			take_back(dev, rc);
			return rc;
		}
		/* Nothing consumed: the kernel has no room before completions are taken. */
		if (dev->unsubmitted == before)
			return 0;
	}
}

void mc_batch_cancel(struct mc_batch *b)
{
	struct mc_dev *dev = b->dev;

	pthread_mutex_lock(&dev->lock);
	if (b->queued)
		end_unsent(dev, b, -ECANCELED);
	pthread_mutex_unlock(&dev->lock);
}

void mc_batch_freeze(struct mc_batch *b)
{
	struct mc_dev *dev = b->dev;

	pthread_mutex_lock(&dev->lock);
	if (b->queued)
		end_unsent(dev, b, -ECANCELED);
	b->frozen = true;
	pthread_mutex_unlock(&dev->lock);
}

void mc_ring_forget(struct mc_dev *dev)
{
	uint32_t i;

	for (i = 0; dev->slots && i < dev->cq_entries; i++) {
		struct mc_slot *s = &dev->slots[i];

		if (s->batch && s->batch->abandoned)
			xfer_ended(s->batch, &s->batch->xfers[s->index]);
	}
}
