// SPDX-License-Identifier: MIT
/* Requests of one node: cancelling, batches, limits, waiting for memory and for the end. */
#include "kselftest_harness.h"
#include "mcone.h"

#include <pthread.h>
#include <time.h>

#define MB (1u << 20)
#define LEN (4u * MB)

/* The segment is one that this process exports itself: pools need grants. */
FIXTURE(req)
{
	struct mcdev d, owner;
	uint8_t *mem, *far;
	uint32_t buf, seg, exported;
};

FIXTURE_SETUP(req)
{
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcdev_open(&self->d, 64, 64));
	ASSERT_EQ(0, mcdev_open(&self->owner, 1, 1));
	self->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->far = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_NE(MAP_FAILED, (void *)self->far);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, self->mem, LEN, &self->buf));
	ASSERT_EQ(0, mcdev_reg(self->owner.fd, self->far, LEN, &self->exported));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->exported, "requests", MC_RIGHT_READ | MC_RIGHT_WRITE, NULL));
	ASSERT_EQ(0, mcdev_seg_open_name(self->d.fd, node_uuid, "requests", &self->seg, NULL));
}

FIXTURE_TEARDOWN(req)
{
	mcnl_fault_set("local_delay_ms", 0);
	mcnl_fault_set("slice_alloc", 0);
	mcdev_close(&self->d);
	mcdev_close(&self->owner);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "requests", 0, 10000));
}

static int cancel(int fd, uint32_t flags, uint64_t cookie, uint32_t *count)
{
	struct mc_cancel c = { .size = sizeof(c), .flags = flags, .cookie = cookie };
	int ret = mc_ioctl(fd, MC_IOC_CANCEL, &c);

	*count = c.out_count;
	return ret;
}

static int query(int fd, uint32_t batch, struct mc_batch_info *b)
{
	memset(b, 0, sizeof(*b));
	b->size = sizeof(*b);
	b->batch = batch;
	return mc_ioctl(fd, MC_IOC_BATCH, b);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void push(struct mcdev *d, uint32_t buf, uint32_t seg, uint64_t len, uint64_t cookie, uint32_t batch)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, buf, 0, seg, 0, len, cookie);

	e.batch = batch;
	mcdev_push(d, &e);
}

TEST_F(req, cancel_by_cookie_and_all)
{
	int seen[3] = { 0 }, i;
	long long t0;
	struct mc_cqe c;
	uint32_t n;

	EXPECT_EQ(-ENOENT, cancel(self->d.fd, MC_CANCEL_ALL, 0, &n));
	EXPECT_EQ(-EINVAL, cancel(self->d.fd, MC_CANCEL_ALL, 5, &n));
	EXPECT_EQ(-EINVAL, cancel(self->d.fd, 2, 0, &n));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 100 * mc_time_scale()));
	for (i = 0; i < 12; i++)
		push(&self->d, self->buf, self->seg, LEN, (uint64_t)i % 3, 0);
	t0 = now_ms();
	ASSERT_EQ(0, mcdev_enter(&self->d, 12, 0, 0, NULL));
	EXPECT_EQ(-ENOENT, cancel(self->d.fd, 0, 77, &n));
	EXPECT_EQ(-ENOENT, cancel(self->owner.fd, 0, 1, &n));	/* another file's */
	EXPECT_EQ(0, cancel(self->d.fd, 0, 1, &n));
	EXPECT_EQ(4, n);
	ASSERT_EQ(0, mcdev_enter(&self->d, 0, 4, 20 * SEC, NULL));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, mcdev_pop(&self->d, &c));
		EXPECT_EQ(1, c.cookie);
		EXPECT_EQ(-ECANCELED, c.result);
		EXPECT_LT(c.bytes, LEN);
	}
	EXPECT_EQ(-ENOENT, cancel(self->d.fd, 0, 1, &n));
	EXPECT_EQ(0, cancel(self->d.fd, MC_CANCEL_ALL, 0, &n));
	EXPECT_EQ(8, n);
	ASSERT_EQ(0, mcdev_enter(&self->d, 0, 8, 20 * SEC, NULL));
	while (mcdev_pop(&self->d, &c)) {
		EXPECT_EQ(-ECANCELED, c.result);
		seen[c.cookie % 3]++;
	}
	EXPECT_EQ(4, seen[0]);
	EXPECT_EQ(4, seen[2]);
	/* 64 slices of 100 ms each: nobody waited for them. */
	EXPECT_LT(now_ms() - t0, 3000 * mc_time_scale());
	EXPECT_EQ(0, mc_read_number(MC_SYSFS "requests"));
}

/* Each completes once, whichever of completion and cancellation is first. */
TEST_F(req, cancel_races_with_completion)
{
	int rounds = mc_rounds(2000, 200), i, j, ok = 0, cancelled = 0;
	struct mc_cqe c;
	uint32_t n;

	for (i = 0; i < rounds; i++) {
		for (j = 0; j < 8; j++)
			push(&self->d, self->buf, self->seg, 65536u << (i & 3), (uint64_t)j, 7);
		ASSERT_EQ(0, mcdev_enter(&self->d, 8, 0, 0, NULL));
		cancel(self->d.fd, i & 1 ? MC_CANCEL_ALL : 0, i & 1 ? 0 : 3, &n);
		ASSERT_EQ(0, mcdev_enter(&self->d, 0, 8, 20 * SEC, NULL));
		for (j = 0; j < 8; j++) {
			ASSERT_EQ(1, mcdev_pop(&self->d, &c));
			ASSERT_TRUE(c.result == 0 || c.result == -ECANCELED);
			if (!c.result)
				ASSERT_EQ(65536u << (i & 3), c.bytes);
			ok += !c.result;
			cancelled += c.result != 0;
		}
		ASSERT_EQ(0, mcdev_pop(&self->d, &c));
	}
	EXPECT_EQ(rounds * 8, ok + cancelled);
	EXPECT_GT(ok, 0);
}

TEST_F(req, a_batch_keeps_its_first_error)
{
	struct mc_batch_info b;
	struct mc_cqe c;
	struct mc_sqe e;
	uint32_t i;

	EXPECT_EQ(-EINVAL, query(self->d.fd, 0, &b));
	EXPECT_EQ(-ENOENT, query(self->d.fd, 9, &b));
	/* The first two are under way until the last is in: a batch of which nothing is pending would begin anew. */
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 50ull * (uint64_t)mc_time_scale()));
	push(&self->d, self->buf, self->seg, 65536, 100, 9);
	push(&self->d, self->buf, self->seg, 65536, 101, 9);
	push(&self->d, self->buf + 1, self->seg, 65536, 102, 9);	/* ENOENT at once */
	push(&self->d, self->buf, self->seg, LEN + 1, 103, 9);		/* ERANGE */
	push(&self->d, self->buf, self->seg, 0, 104, 9);		/* EINVAL */
	push(&self->d, self->buf, self->seg, 65536, 105, 0);
	ASSERT_EQ(0, mcdev_enter(&self->d, 6, 0, 0, NULL));
	ASSERT_EQ(0, query(self->d.fd, 9, &b));
	EXPECT_EQ(5, b.out_pending + b.out_done);
	EXPECT_GE(b.out_done, 3);
	EXPECT_EQ(-ENOENT, b.out_error);
	EXPECT_EQ(102, b.out_error_cookie);
	ASSERT_EQ(0, mcdev_enter(&self->d, 0, 6, 20 * SEC, NULL));
	ASSERT_EQ(0, query(self->d.fd, 9, &b));
	EXPECT_EQ(0, b.out_pending);
	EXPECT_EQ(5, b.out_done);
	EXPECT_EQ(-ENOENT, b.out_error);
	EXPECT_EQ(-ENOENT, query(self->owner.fd, 9, &b));
	while (mcdev_pop(&self->d, &c))
		;
	/* The number is used again, and then 1024 others push it out. */
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 0));
	e = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, 1);
	e.batch = 9;
	ASSERT_EQ(0, mcdev_do(&self->d, &e, SEC, NULL));
	ASSERT_EQ(0, query(self->d.fd, 9, &b));
	EXPECT_EQ(1, b.out_done);
	EXPECT_EQ(0, b.out_error);
	for (i = 0; i < MC_MAX_BATCHES_KEPT; i++) {
		if (i == MC_MAX_BATCHES_KEPT - 1)
			ASSERT_EQ(0, query(self->d.fd, 9, &b));
		e.batch = 1000 + i;
		ASSERT_EQ(0, mcdev_do(&self->d, &e, SEC, NULL));
	}
	EXPECT_EQ(-ENOENT, query(self->d.fd, 9, &b));
	EXPECT_EQ(0, query(self->d.fd, 1000, &b));
}

TEST_F(req, waits_for_memory_instead_of_failing)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->buf, 0, self->seg, 0, LEN, 1);
	int i;

	mc_fill(self->mem, LEN, 3);
	for (i = 1; i < 60; i += 20) {
		memset(self->far, 0, LEN);
		ASSERT_EQ(0, mcnl_fault_set("slice_alloc", i));
		ASSERT_EQ(0, mcdev_do(&self->d, &e, 20 * SEC, NULL));
		EXPECT_EQ(0, memcmp(self->mem, self->far, LEN));
	}
}

/* Counts far beyond what there is room for do what the ring can do, or are refused. */
TEST_F(req, C60_limits_hold_at_the_door)
{
	struct mc_ring_setup s = { .size = sizeof(s), .sq_entries = MC_MAX_RING_ENTRIES * 2,
				   .cq_entries = MC_MAX_RING_ENTRIES * 2 };
	static const uint32_t counts[] = { 1, 1024, MC_MAX_RING_ENTRIES, MC_MAX_RING_ENTRIES + 1, 300000, ~0u };
	struct mcdev d;
	struct mc_enter out;
	uint32_t buf, seg, i, j, got, done, want;
	long long t0 = now_ms();
	struct mc_cqe c;
	int fd = open("/dev/mooncake", O_RDWR);

	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &s));
	s.sq_entries = 300000;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &s));
	s.sq_entries = s.cq_entries = 1u << 31;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &s));
	EXPECT_LT(now_ms() - t0, 1000 * mc_time_scale());
	close(fd);
	ASSERT_EQ(0, mcdev_open(&d, MC_MAX_RING_ENTRIES, MC_MAX_RING_ENTRIES));
	ASSERT_EQ(0, mcdev_reg(d.fd, self->mem, 65536, &buf));
	ASSERT_EQ(0, mcdev_seg_open_name(d.fd, node_uuid, "requests", &seg, NULL));
	EXPECT_EQ(-EINVAL, mcdev_enter(&d, 0, ~0u, SEC, &out));
	EXPECT_EQ(-EINVAL, mcdev_enter(&d, 0, MC_MAX_RING_ENTRIES + 1, SEC, &out));
	for (i = 0; i < 6; i++) {
		want = counts[i] < MC_MAX_RING_ENTRIES ? counts[i] : MC_MAX_RING_ENTRIES;
		mc_fill(self->mem, 65536, i);
		memset(self->far, 0, 65536);
		for (j = 0; j < want; j++) {
			/* Every eighth piece has no bytes: EINVAL for it alone. */
			struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, buf, j % 512 * 128, seg, j % 512 * 128,
						    j % 8 == 7 && j >= 512 ? 0 : 128, j);

			mcdev_push(&d, &e);
		}
		ASSERT_EQ(0, mcdev_enter(&d, counts[i], 0, 0, &out));
		ASSERT_EQ(want, out.out_submitted);
		for (done = 0; done < want; done += got) {
			ASSERT_EQ(0, mcdev_enter(&d, 0, 1, 60 * SEC, NULL));
			for (got = 0; mcdev_pop(&d, &c); got++)
				ASSERT_EQ(c.cookie % 8 == 7 && c.cookie >= 512 ? -EINVAL : 0, c.result);
		}
		ASSERT_EQ(want, done);
		EXPECT_EQ(0, memcmp(self->mem, self->far, want < 512 ? want * 128 : 65536));
	}
	mcdev_close(&d);
}

/* A tail that claims more than the ring holds. */
TEST_F(req, C60_a_lying_tail_starts_no_more_than_the_ring_holds)
{
	struct mc_enter out;
	struct mc_cqe c;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		struct mc_sqe e = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, i);

		mcdev_push(&self->d, &e);
	}
	__atomic_store_n(&self->d.sq->tail, 300000, __ATOMIC_RELEASE);
	ASSERT_EQ(0, mcdev_enter(&self->d, ~0u, 0, 0, &out));
	EXPECT_EQ(64, out.out_submitted);
	for (i = 0; i < 64; i++)
		ASSERT_EQ(1, mcdev_pop(&self->d, &c));
	ASSERT_EQ(0, mcdev_pop(&self->d, &c));
}

/* A process that waits in the kernel for what takes a minute is gone at once when it is killed. */
TEST_F(req, C79_waits_are_killable)
{
	int status, how;
	long long t0;
	pid_t pid;

	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 300));
	for (how = 0; how < 2; how++) {
		pid = fork();
		if (!pid) {
			struct mcdev d;
			uint32_t buf, seg;

			if (mcdev_open(&d, 8, 8) || mcdev_reg(d.fd, self->mem, LEN, &buf) ||
			    mcdev_seg_open_name(d.fd, node_uuid, "requests", &seg, NULL))
				_exit(1);
			push(&d, buf, seg, LEN, 1, 0);
			mcdev_enter(&d, 1, how ? 8 : 1, 3600 * SEC, NULL);
			_exit(2);
		}
		usleep(500000);
		ASSERT_EQ(0, waitpid(pid, &status, WNOHANG));
		t0 = now_ms();
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_LT(now_ms() - t0, 1000 * mc_time_scale());
	}
}

static long long timed(struct mcdev *d, struct mc_sqe *e, struct mc_cqe *c, int *result)
{
	long long t0 = now_ms();

	*result = mcdev_do(d, e, 20 * SEC, c);
	return now_ms() - t0;
}

TEST_F(req, the_callers_deadline_is_kept)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->buf, 0, self->seg, 0, LEN, 1);
	struct mc_cqe c = { 0 };
	long long ms;
	int result;

	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 100 * mc_time_scale()));
	e.timeout_ns = SEC / 2;
	ms = timed(&self->d, &e, &c, &result);
	EXPECT_EQ(-ETIMEDOUT, result);
	EXPECT_GE(ms, 450);
	EXPECT_LT(ms, 2500 * mc_time_scale());
	EXPECT_LT(c.bytes, LEN);
}

TEST_HARNESS_MAIN
