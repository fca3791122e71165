// SPDX-License-Identifier: MIT
/* Batches of transfers, and waiting for them. */
#include "dev_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW_START	(1ull << 20)

int mc_batch_new(struct mc_dev *dev, uint32_t max, struct mc_batch **out, struct mc_error *err)
{
	struct mc_batch *b;

	if (!max || max > MC_BATCH_MAX)
		return mc_error_set(err, -EINVAL, EINVAL, "device %s: batch of %u transfers, not 1 to %u", dev->path,
				    max, MC_BATCH_MAX);
	b = calloc(1, sizeof(*b) + (size_t)max * sizeof(b->xfers[0]));
	if (!b)
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory for a batch of %u transfers",
				    dev->path, max);
	b->dev = dev;
	b->max = max;
	*out = b;
	return 0;
}

static int add(struct mc_batch *b, uint8_t opcode, struct mc_buf *buf, uint64_t buf_off, const struct mc_seg *seg,
	       uint64_t seg_off, uint64_t len)
{
	struct mc_xfer *x;

	if (b->n == b->max || b->submitted)
		return -ENOSPC;
	if (mc_buf_busy(buf))
		return -EBUSY;
	pthread_mutex_lock(&b->dev->lock);
	buf->refs++;
	pthread_mutex_unlock(&b->dev->lock);
	x = &b->xfers[b->n];
	x->done.result = -EINPROGRESS;
	x->done.fail_off = UINT64_MAX;
	x->buf = buf;
	x->buf_off = buf_off;
	x->seg_id = seg->id;
	x->grant_id = b->grant;
	x->seg_off = seg_off;
	x->len = len;
	x->opcode = opcode;
	b->left++;
	return b->n++;
}

void mc_batch_grant(struct mc_batch *b, uint32_t id)
{
	b->grant = id;
}

void mc_batch_pace(struct mc_batch *b, uint64_t ns)
{
	b->window = WINDOW_START;
	b->grow_until = mc_now_ns() + ns;
}

bool mc_batch_regrant(struct mc_batch *b, uint32_t first, uint32_t count, uint32_t id)
{
	uint32_t i;
	bool sent;

	pthread_mutex_lock(&b->dev->lock);
	sent = first < b->sent;
	for (i = first > b->sent ? first : b->sent; i < first + count; i++)
		b->xfers[i].grant_id = id;
	pthread_mutex_unlock(&b->dev->lock);
	return sent;
}

bool mc_batch_unsent(const struct mc_batch *b, uint32_t first, uint32_t count)
{
	bool unsent;

	pthread_mutex_lock(&b->dev->lock);
	unsent = first + count > b->sent;
	pthread_mutex_unlock(&b->dev->lock);
	return unsent;
}

int mc_batch_read(struct mc_batch *b, struct mc_buf *buf, uint64_t buf_off, struct mc_seg *seg, uint64_t seg_off,
		  uint64_t len)
{
	return add(b, MC_OP_READ, buf, buf_off, seg, seg_off, len);
}

int mc_batch_write(struct mc_batch *b, struct mc_buf *buf, uint64_t buf_off, struct mc_seg *seg, uint64_t seg_off,
		   uint64_t len)
{
	return add(b, MC_OP_WRITE, buf, buf_off, seg, seg_off, len);
}

int mc_batch_submit(struct mc_batch *b, uint64_t timeout_ns, struct mc_error *err)
{
	struct mc_dev *dev = b->dev;
	int rc;

	if (b->submitted || !b->n || timeout_ns > MC_MAX_TIMEOUT_NS)
		return mc_error_set(err, -EINVAL, EINVAL, "device %s: %s", dev->path,
				    b->submitted ? "batch submitted twice" : !b->n ? "empty batch submitted" :
				    "deadline of a batch above one hour");
	pthread_mutex_lock(&dev->lock);
	b->submitted = true;
	b->deadline_ns = timeout_ns ? mc_now_ns() + timeout_ns : 0;
	b->queued = true;
	TAILQ_INSERT_TAIL(&dev->unsent, b, link);
	rc = mc_ring_push_locked(dev);
	pthread_mutex_unlock(&dev->lock);
	/* Part of it may be under way all the same: then mc_batch_wait() and the results tell. */
	if (rc && !b->left)
		return mc_error_set(err, rc, -rc, "device %s: submitting %u transfers: %s", dev->path, b->n,
				    strerror(-rc));
	return 0;
}

/* Sleeps until the leader has looked, or @left_ns have passed. */
static void follow(struct mc_dev *dev, uint64_t left_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += left_ns / 1000000000ull;
	until.tv_nsec += left_ns % 1000000000ull;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&dev->cond, &dev->lock, &until);
}

/* Waits in the kernel for the next completion. Returns 0 or -errno. */
static int lead(struct mc_dev *dev, uint64_t left_ns)
{
	struct mc_enter e = { .size = sizeof(e), .min_complete = 1, .timeout_ns = left_ns };
	int rc;

	if (e.timeout_ns > MC_MAX_TIMEOUT_NS)
		e.timeout_ns = MC_MAX_TIMEOUT_NS;
	dev->leader = true;
	pthread_mutex_unlock(&dev->lock);
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_ENTER, &e);
	pthread_mutex_lock(&dev->lock);
	dev->leader = false;
	mc_ring_reap_locked(dev);
	/* What the kernel refuses to take has ended with that error, which its batch will tell. */
	(void)mc_ring_push_locked(dev);
	pthread_cond_broadcast(&dev->cond);
	return rc == -EINTR || rc == -ETIME ? 0 : rc;
}

static int wait_locked(struct mc_batch *b, uint64_t until)
{
	struct mc_dev *dev = b->dev;
	uint64_t now;
	int rc = 0;

	for (;;) {
		if (!dev->leader && mc_ring_reap_locked(dev)) {
			(void)mc_ring_push_locked(dev);
			pthread_cond_broadcast(&dev->cond);
		}
		if (!b->left || rc)
			return rc;
		now = mc_now_ns();
		if (now >= until)
			return -ETIME;
		if (dev->leader)
			follow(dev, until - now);
		else
			rc = lead(dev, until - now);
	}
}

int mc_batch_wait(struct mc_batch *b, uint64_t timeout_ns, struct mc_error *err)
{
	struct mc_dev *dev = b->dev;
	uint64_t now = mc_now_ns();
	uint32_t left;
	int rc;

	pthread_mutex_lock(&dev->lock);
	rc = b->submitted ? wait_locked(b, timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns) : -EINVAL;
	left = b->left;
	pthread_mutex_unlock(&dev->lock);
	if (!rc || !left)
		return 0;
	if (rc != -ETIME)
		mc_batch_cancel(b);
	return mc_error_set(err, rc, -rc, "device %s: waiting for %u of %u transfers: %s", dev->path, left, b->n,
			    strerror(-rc));
}

const struct mc_done *mc_batch_done(const struct mc_batch *b, uint32_t i)
{
	return &b->xfers[i].done;
}

uint32_t mc_batch_left(const struct mc_batch *b)
{
	uint32_t left;

	pthread_mutex_lock(&b->dev->lock);
	left = b->left;
	pthread_mutex_unlock(&b->dev->lock);
	return left;
}

/* Transfers that were added but never submitted hold nothing but their buffers. */
static void drop_unsubmitted(struct mc_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		mc_buf_put_locked(b->xfers[i].buf);
	free(b);
}

static void abandon(struct mc_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		if (b->xfers[i].buf)
			atomic_fetch_add(&b->xfers[i].buf->late, 1);
	b->abandoned = true;
}

void mc_batch_free(struct mc_batch *b)
{
	struct mc_dev *dev;

	if (!b)
		return;
	dev = b->dev;
	mc_batch_cancel(b);
	pthread_mutex_lock(&dev->lock);
	if (!b->submitted)
		drop_unsubmitted(b);
	else if (b->left)
		abandon(b);
	else
		free(b);
	pthread_mutex_unlock(&dev->lock);
}

int mc_dev_reap(struct mc_dev *dev)
{
	int n = 0;

	pthread_mutex_lock(&dev->lock);
	/* A thread that waits in the kernel takes them itself. */
	if (!dev->leader) {
		n = mc_ring_reap_locked(dev);
		(void)mc_ring_push_locked(dev);
		pthread_cond_broadcast(&dev->cond);
	}
	pthread_mutex_unlock(&dev->lock);
	return n;
}
