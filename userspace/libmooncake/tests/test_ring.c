// SPDX-License-Identifier: MIT
/* The device half against a kernel made of memcpy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_kernel.h"

#define SEC	1000000000ull
#define SEG	(1u << 20)

struct env {
	struct fake_kernel *fk;
	struct mc_dev *dev;
	struct mc_buf *buf;
	struct mc_seg *seg;
	uint8_t mem[65536];
};

static struct env *setup_at(uint32_t entries, uint32_t start)
{
	struct env *e = calloc(1, sizeof(*e));

	e->fk = fk_new(2, SEG);
	e->fk->start_index = start;
	e->dev = fk_open(e->fk, entries);
	assert_int_equal(mc_buf_register(e->dev, e->mem, sizeof(e->mem), &e->buf, NULL), 0);
	assert_int_equal(mc_seg_open(e->dev, e->fk->segs[1].node_uuid, e->fk->segs[1].uuid, 100, &e->seg, NULL), 0);
	return e;
}

static void teardown(struct env *e)
{
	mc_dev_close(e->dev);
	fk_free(e->fk);
	free(e);
}

static uint8_t byte_at(uint64_t i, unsigned int salt)
{
	return (i * 2654435761u + salt * 40503u) >> 11;
}

/* Writes and reads back @n transfers of @len bytes; checks every byte. */
static void round_trip(struct env *e, uint32_t n, uint32_t len, unsigned int salt)
{
	struct mc_batch *b;
	uint32_t i, k;

	for (k = 0; k < n * len; k++)
		e->mem[k] = byte_at(k, salt);
	assert_int_equal(mc_batch_new(e->dev, n, &b, NULL), 0);
	for (i = 0; i < n; i++)
		assert_int_equal(mc_batch_write(b, e->buf, i * len, e->seg, i * len, len), (int)i);
	assert_int_equal(mc_batch_write(b, e->buf, 0, e->seg, 0, 1), -ENOSPC);
	assert_int_equal(mc_batch_submit(b, 10 * SEC, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 10 * SEC, NULL), 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(mc_batch_done(b, i)->result, 0);
		assert_int_equal(mc_batch_done(b, i)->bytes, len);
	}
	mc_batch_free(b);
	memset(e->mem, 0x5a, sizeof(e->mem));
	assert_int_equal(mc_batch_new(e->dev, n, &b, NULL), 0);
	for (i = 0; i < n; i++)
		mc_batch_read(b, e->buf, i * len, e->seg, i * len, len);
	assert_int_equal(mc_batch_submit(b, 0, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 10 * SEC, NULL), 0);
	mc_batch_free(b);
	for (k = 0; k < n * len; k++)
		assert_int_equal(e->mem[k], byte_at(k, salt));
	for (; k < sizeof(e->mem); k++)
		assert_int_equal(e->mem[k], 0x5a);
}

static void indices_wrap(void **state)
{
	uint32_t starts[] = { 0, 0xffffffffu, 0xfffffff9u, 0x7ffffffeu };
	unsigned int i, r;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct env *e = setup_at(4, starts[i]);

		for (r = 0; r < 10; r++)
			round_trip(e, 13, 100, r);
		assert_int_equal(e->fk->cq_tail, (uint32_t)(starts[i] + 260));
		assert_int_equal(e->fk->max_in_flight <= 4, 1);
		teardown(e);
	}
}

static void ring_smaller_than_batch(void **state)
{
	struct env *e = setup_at(1, 0);

	(void)state;
	round_trip(e, 500, 7, 1);
	assert_int_equal(e->fk->max_in_flight, 1);
	teardown(e);
}

static void kernel_takes_few(void **state)
{
	struct env *e = setup_at(8, 0);

	(void)state;
	e->fk->consume_limit = 1;
	round_trip(e, 64, 3, 2);
	teardown(e);
}

static void signals_interrupt(void **state)
{
	struct env *e = setup_at(8, 0);

	(void)state;
	e->fk->eintr = 7;
	round_trip(e, 64, 3, 3);
	assert_int_equal(e->fk->eintr, 0);
	teardown(e);
}

static void kernel_refuses(void **state)
{
	struct env *e = setup_at(4, 0xfffffffeu);
	struct mc_batch *b;
	struct mc_error err;
	int i;

	(void)state;
	e->fk->enter_err = -ENOMEM;
	assert_int_equal(mc_batch_new(e->dev, 9, &b, NULL), 0);
	for (i = 0; i < 9; i++)
		mc_batch_write(b, e->buf, i, e->seg, i, 1);
	assert_int_equal(mc_batch_submit(b, SEC, &err), -ENOMEM);
	assert_non_null(strstr(err.text, "fake"));
	for (i = 0; i < 9; i++) {
		assert_int_equal(mc_batch_done(b, i)->result, -ENOMEM);
		assert_int_equal(mc_batch_done(b, i)->flags, MC_CQE_F_QUIESCED);
	}
	mc_batch_free(b);
	assert_int_equal(e->fk->count, 0);
	e->fk->enter_err = 0;
	round_trip(e, 20, 11, 4);
	teardown(e);
}

static void wait_ends_first(void **state)
{
	struct env *e = setup_at(4, 0);
	struct mc_batch *b;
	uint64_t t0 = mc_now_ns();

	(void)state;
	e->fk->hold_nth = UINT_MAX;
	e->fk->never_late = true;
	mc_batch_new(e->dev, 6, &b, NULL);
	while (mc_batch_read(b, e->buf, 0, e->seg, 0, 16) >= 0)
		;
	assert_int_equal(mc_batch_submit(b, SEC, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 0, NULL), -ETIME);
	assert_int_equal(mc_batch_wait(b, SEC / 20, NULL), -ETIME);
	assert_true(mc_now_ns() - t0 >= SEC / 20);
	assert_int_equal(mc_batch_left(b), 6);
	mc_batch_cancel(b);
	assert_int_equal(mc_batch_left(b), 4);
	assert_int_equal(mc_batch_done(b, 5)->result, -ECANCELED);
	assert_int_equal(mc_batch_done(b, 0)->result, -EINPROGRESS);
	assert_false(mc_buf_busy(e->buf));
	mc_batch_free(b);
	/* Abandoned transfers keep the buffer busy until the kernel has ended them. */
	assert_true(mc_buf_busy(e->buf));
	mc_batch_new(e->dev, 1, &b, NULL);
	assert_int_equal(mc_batch_read(b, e->buf, 0, e->seg, 0, 16), -EBUSY);
	mc_batch_free(b);
	fk_release(e->fk);
	assert_int_equal(mc_dev_reap(e->dev), 4);
	assert_false(mc_buf_busy(e->buf));
	assert_int_equal(mc_buf_unregister(e->buf, NULL), 0);
	teardown(e);
}

static void busy_until_released(void **state)
{
	struct env *e = setup_at(4, 0);
	struct mc_batch *b;
	struct mc_error err;

	(void)state;
	e->fk->hold_nth = 2;
	e->fk->late_flags = MC_CQE_F_BUSY;
	mc_batch_new(e->dev, 3, &b, NULL);
	while (mc_batch_read(b, e->buf, 0, e->seg, 0, 16) >= 0)
		;
	assert_int_equal(mc_batch_submit(b, SEC / 50, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 5 * SEC, NULL), 0);
	assert_int_equal(mc_batch_done(b, 1)->result, -ETIMEDOUT);
	assert_true(mc_batch_done(b, 1)->flags & MC_CQE_F_BUSY);
	mc_batch_free(b);
	assert_true(mc_buf_busy(e->buf));
	fk_release(e->fk);
	assert_int_equal(mc_dev_reap(e->dev), 1);
	assert_false(mc_buf_busy(e->buf));
	fk_arm(e->fk);
	round_trip(e, 13, 100, 5);

	e->fk->hold_nth = UINT_MAX;
	e->fk->late_flags = MC_CQE_F_BUSY;
	mc_batch_new(e->dev, 1, &b, NULL);
	mc_batch_read(b, e->buf, 0, e->seg, 0, 16);
	assert_int_equal(mc_batch_submit(b, SEC / 50, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 5 * SEC, NULL), 0);
	mc_batch_free(b);
	assert_int_equal(mc_buf_unregister(e->buf, &err), -EBUSY);
	assert_non_null(strstr(err.text, "don't reuse"));
	teardown(e);
}

static void later_waves_keep_the_deadline(void **state)
{
	struct env *e = setup_at(1, 0);
	struct mc_batch *b;
	int i;

	(void)state;
	e->fk->hold_nth = 1;
	mc_batch_new(e->dev, 5, &b, NULL);
	while (mc_batch_write(b, e->buf, 0, e->seg, 0, 16) >= 0)
		;
	assert_int_equal(mc_batch_submit(b, SEC / 20, NULL), 0);
	assert_int_equal(mc_batch_wait(b, 5 * SEC, NULL), 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(mc_batch_done(b, i)->result, -ETIMEDOUT);
	assert_int_equal(e->fk->count, 1);
	mc_batch_free(b);
	teardown(e);
}

static void stray_completions(void **state)
{
	struct env *e = setup_at(4, 0);

	(void)state;
	fk_stray(e->fk, 0);
	fk_stray(e->fk, UINT64_MAX);
	fk_stray(e->fk, 77ull << 32 | 1);
	assert_int_equal(mc_dev_reap(e->dev), 3);
	round_trip(e, 13, 100, 6);
	fk_stray(e->fk, 2);
	round_trip(e, 13, 100, 7);
	assert_int_equal(e->dev->stray, 4);
	teardown(e);
}

static void open_refused(void **state)
{
	struct fake_kernel *fk;
	struct mc_error err;
	struct mc_dev *dev;

	(void)state;
	fk = fk_new(1, 4096);
	fk->abi_major = MC_ABI_MAJOR + 1;
	assert_int_equal(mc_dev_open_ops(&fk_ops, fk, -1, "fake", 0, &dev, &err), -EPROTO);
	assert_non_null(strstr(err.text, "ABI is 2.0"));
	assert_true(fk->closed);
	fk->closed = false;
	fk->abi_major = 0;
	assert_int_equal(mc_dev_open_ops(&fk_ops, fk, -1, "/dev/null", 0, &dev, &err), -ENOTTY);
	assert_non_null(strstr(err.text, "/dev/null is not mooncake's"));
	fk->closed = false;
	fk->abi_major = MC_ABI_MAJOR;
	assert_int_equal(mc_dev_open_ops(&fk_ops, fk, -1, "fake", MC_MAX_RING_ENTRIES + 1, &dev, &err), -EINVAL);
	fk->closed = false;
	fk->small_area = true;
	assert_int_equal(mc_dev_open_ops(&fk_ops, fk, -1, "fake", 0, &dev, &err), -EPROTO);
	fk_free(fk);
	assert_int_equal(mc_dev_open("/dev/no-such-node", 0, &dev, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/dev/no-such-node"));
	assert_non_null(strstr(err.text, "module"));
	assert_int_equal(mc_dev_open("/dev/null", 0, &dev, &err), -ENOTTY);
}

static void bad_batches(void **state)
{
	struct env *e = setup_at(4, 0);
	struct mc_batch *b;

	(void)state;
	assert_int_equal(mc_batch_new(e->dev, 0, &b, NULL), -EINVAL);
	assert_int_equal(mc_batch_new(e->dev, (1u << 20) + 1, &b, NULL), -EINVAL);
	assert_int_equal(mc_batch_new(e->dev, 2, &b, NULL), 0);
	assert_int_equal(mc_batch_submit(b, 0, NULL), -EINVAL);
	assert_int_equal(mc_batch_wait(b, 0, NULL), 0);
	mc_batch_read(b, e->buf, 0, e->seg, 0, 1);
	assert_int_equal(mc_batch_submit(b, MC_MAX_TIMEOUT_NS + 1, NULL), -EINVAL);
	assert_int_equal(mc_batch_wait(b, 0, NULL), -EINVAL);
	assert_int_equal(mc_batch_submit(b, 0, NULL), 0);
	assert_int_equal(mc_batch_submit(b, 0, NULL), -EINVAL);
	assert_int_equal(mc_batch_wait(b, SEC, NULL), 0);
	mc_batch_free(b);
	/* A batch that is dropped before it was submitted lets its buffer go. */
	mc_batch_new(e->dev, 2, &b, NULL);
	mc_batch_read(b, e->buf, 0, e->seg, 0, 1);
	mc_batch_free(b);
	assert_int_equal(e->buf->refs, 1);
	mc_batch_free(NULL);
	teardown(e);
}

#define THREADS	8
#define ROUNDS	100

struct worker {
	struct env *e;
	unsigned int id;
	unsigned int bad;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	uint8_t mem[300];
	struct mc_buf *buf;
	struct mc_batch *b;
	unsigned int r, i;

	if (mc_buf_register(w->e->dev, mem, sizeof(mem), &buf, NULL))
		return NULL;
	for (r = 0; r < ROUNDS && !w->bad; r++) {
		memset(mem, w->id * 16 + r, sizeof(mem));
		mc_batch_new(w->e->dev, 6, &b, NULL);
		for (i = 0; i < 6; i++)
			mc_batch_write(b, buf, i * 50, w->e->seg, w->id * 1000 + i * 50, 50);
		w->bad += mc_batch_submit(b, 10 * SEC, NULL) || mc_batch_wait(b, 10 * SEC, NULL);
		for (i = 0; i < 6; i++)
			w->bad += mc_batch_done(b, i)->result != 0;
		mc_batch_free(b);
		for (i = 0; i < 300; i++)
			w->bad += w->e->fk->segs[1].data[w->id * 1000 + i] != (uint8_t)(w->id * 16 + r);
	}
	mc_buf_unregister(buf, NULL);
	return NULL;
}

static atomic_bool releasing;

static void *release_now_and_then(void *arg)
{
	struct env *e = arg;
	struct timespec t = { .tv_nsec = 1000000 };

	while (atomic_load(&releasing)) {
		fk_release(e->fk);
		nanosleep(&t, NULL);
	}
	return NULL;
}

/* Every transfer is held for about a millisecond, on a ring with room for 8: leaders change all the time. */
static void many_threads(void **state)
{
	struct env *e = setup_at(8, 0xffffff00u);
	struct worker w[THREADS];
	pthread_t t[THREADS], releaser;
	unsigned int i;

	(void)state;
	e->fk->hold_nth = UINT_MAX;
	e->fk->never_late = true;
	atomic_store(&releasing, true);
	pthread_create(&releaser, NULL, release_now_and_then, e);
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .e = e, .id = i };
		pthread_create(&t[i], NULL, work, &w[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(w[i].bad, 0);
	}
	atomic_store(&releasing, false);
	pthread_join(releaser, NULL);
	assert_int_equal(e->fk->count, THREADS * ROUNDS * 6);
	teardown(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(ring_smaller_than_batch),
		cmocka_unit_test(kernel_takes_few),
		cmocka_unit_test(signals_interrupt),
		cmocka_unit_test(kernel_refuses),
		cmocka_unit_test(wait_ends_first),
		cmocka_unit_test(busy_until_released),
		cmocka_unit_test(later_waves_keep_the_deadline),
		cmocka_unit_test(stray_completions),
		cmocka_unit_test(open_refused),
		cmocka_unit_test(bad_batches),
		cmocka_unit_test(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
