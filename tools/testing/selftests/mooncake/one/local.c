// SPDX-License-Identifier: MIT
/* Transfers between buffers and pools of one node: bytes, neighbours, ends. */
#include "kselftest_harness.h"
#include "mcone.h"

#include <poll.h>
#include <sys/eventfd.h>

FIXTURE(node)
{
	struct mcone one;
};

FIXTURE_SETUP(node)
{
	ASSERT_EQ(0, mcone_open(&self->one, "local-test"));
}

FIXTURE_TEARDOWN(node)
{
	mcnl_fault_set("local_delay_ms", 0);
	mcnl_fault_set("default_timeout_ms", 0);
	mcdev_close(&self->one.d);
	EXPECT_EQ(0, mcnl_pool_destroy(self->one.pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
}

TEST_F(node, new_pool_is_zeroed)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_READ, self->one.buf, 0, self->one.seg, 0, ONE_BUF, 1);
	uint64_t i;

	memset(self->one.mem, 0xa5, ONE_BUF);
	ASSERT_EQ(0, mcdev_do(&self->one.d, &e, 20 * SEC, NULL));
	for (i = 0; i < ONE_BUF; i++)
		ASSERT_EQ(0, self->one.mem[i]);
}

/*
 * Random ranges at random alignment against a model of the pool, through a buffer that begins with a page and one that
 * begins inside of one; everything around a READ stays as it was.
 */
TEST_F(node, random_ranges_match_a_model)
{
	uint64_t seed = getenv("MC_SEED") ? strtoull(getenv("MC_SEED"), NULL, 0) : (uint64_t)time(NULL);
	uint8_t *model = calloc(1, ONE_POOL), *copy = malloc(ONE_BUF), *mem[2];
	uint32_t buf[2] = { self->one.buf };
	int rounds = mc_rounds(500, 60), i;

	mem[0] = self->one.mem;
	mem[1] = mmap(NULL, ONE_BUF + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 1029;
	ASSERT_EQ(0, mcdev_reg(self->one.d.fd, mem[1], ONE_BUF, &buf[1]));
	TH_LOG("seed %llu", (unsigned long long)seed);
	for (i = 0; i < rounds; i++) {
		bool write = mc_rand(&seed) & 1;
		uint64_t len = 1 + mc_rand(&seed) % (i % 4 ? 70000 : ONE_BUF);
		uint64_t boff = mc_rand(&seed) % (ONE_BUF - len + 1), soff = mc_rand(&seed) % (ONE_POOL - len + 1);
		int b = mc_rand(&seed) & 1;
		struct mc_sqe e = mcdev_sqe(write ? MC_OP_WRITE : MC_OP_READ, buf[b], boff, self->one.seg, soff, len,
					    (uint64_t)i);
		struct mc_cqe c;

		mc_fill(mem[b], ONE_BUF, mc_rand(&seed));
		memcpy(copy, mem[b], ONE_BUF);
		ASSERT_EQ(0, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
		ASSERT_EQ((uint64_t)i, c.cookie);
		ASSERT_EQ(len, c.bytes);
		ASSERT_EQ(~0ull, c.fail_off);
		ASSERT_TRUE(c.flags & MC_CQE_F_QUIESCED);
		if (write)
			memcpy(model + soff, copy + boff, len);
		else
			memcpy(copy + boff, model + soff, len);
		ASSERT_EQ(0, memcmp(copy, mem[b], ONE_BUF));
	}
}

TEST_F(node, ring_goes_round_and_each_request_completes_once)
{
	uint32_t sent = 0, got = 0, seen[1000] = { 0 };
	struct mc_enter out;
	struct mc_cqe c;

	while (got < 1000) {
		uint32_t n = 0;

		while (n < 64 && sent < 1000) {
			struct mc_sqe e = mcdev_sqe(sent & 1 ? MC_OP_READ : MC_OP_NOP, 0, 0, 0, 0, 0, sent);

			if (sent & 1)
				e = mcdev_sqe(MC_OP_WRITE, self->one.buf, sent * 8, self->one.seg, sent * 16, 100,
					      sent);
			e.batch = sent / 7;
			mcdev_push(&self->one.d, &e);
			sent++;
			n++;
		}
		ASSERT_EQ(0, mcdev_enter(&self->one.d, n, n ? 1 : 0, 20 * SEC, &out));
		ASSERT_EQ(n, out.out_submitted);
		ASSERT_EQ(0, mcdev_enter(&self->one.d, 0, sent - got < 128 ? sent - got : 64, 20 * SEC, &out));
		while (mcdev_pop(&self->one.d, &c)) {
			ASSERT_EQ(0, c.result);
			ASSERT_EQ(c.cookie / 7, c.batch);
			ASSERT_EQ(0, seen[c.cookie]++);
			got++;
		}
	}
	ASSERT_EQ(0, mcdev_pop(&self->one.d, &c));
}

TEST_F(node, full_completion_ring_stops_submission)
{
	struct mc_enter out;
	uint32_t i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 64; i++) {
			struct mc_sqe e = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, i);

			mcdev_push(&self->one.d, &e);
		}
		ASSERT_EQ(0, mcdev_enter(&self->one.d, 64, 0, 0, &out));
		ASSERT_EQ(round < 2 ? 64 : 0, out.out_submitted);
	}
	ASSERT_EQ(128, out.out_ready);
}

TEST_F(node, bad_entries_complete_with_their_error)
{
	struct mc_sqe good = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, 100, 1), e;

#define BAD(err, change) do { e = good; change; EXPECT_EQ(err, mcdev_do(&self->one.d, &e, SEC, NULL)); } while (0)
	BAD(0, (void)0);
	BAD(-EINVAL, e.opcode = 3);
	BAD(-EINVAL, e.priority = 1);
	BAD(-EINVAL, e.flags = 1);
	BAD(-EINVAL, e.len = 0);
	BAD(-EINVAL, e.len = MC_MAX_REQ_LEN + 1);
	BAD(-EINVAL, e.timeout_ns = MC_MAX_TIMEOUT_NS + 1);
	BAD(-ENOENT, e.grant_id = 1u << 31 | 1);
	BAD(-EINVAL, e.crc32c = 1);
	BAD(-EINVAL, e.spans = 1);
	BAD(-EINVAL, e.span_count = 1);
	BAD(-EINVAL, e.list_id = 1);
	BAD(-EINVAL, e.list_first = 1);
	BAD(-EINVAL, e.list_count = 1);
	BAD(-EINVAL, e.resv[0] = 1);
	BAD(-EINVAL, e.resv[4] = 1ull << 63);
	BAD(-ENOENT, e.buf_id = 0);
	BAD(-ENOENT, e.buf_id ^= 1u << 31);
	BAD(-ENOENT, e.buf_id += 1);
	BAD(-ENOENT, e.target_id = 0);
	BAD(-ENOENT, e.target_id ^= 1u << 20);
	BAD(-ERANGE, e.buf_off = ONE_BUF);
	BAD(-ERANGE, e.buf_off = ONE_BUF - 99);
	BAD(-ERANGE, e.buf_off = ~0ull);
	BAD(-ERANGE, e.buf_off = ~0ull - 50);
	BAD(-ERANGE, e.target_off = ONE_POOL);
	BAD(-ERANGE, e.target_off = ONE_POOL - 99);
	BAD(-ERANGE, e.target_off = ~0ull - 50);
	BAD(0, e.buf_off = ONE_BUF - 100; e.target_off = ONE_POOL - 100);
	BAD(-EINVAL, e.opcode = MC_OP_NOP);
#undef BAD
}

TEST_F(node, C59_deadline_holds)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, ONE_BUF, 7);
	struct timespec a, b;
	struct mc_cqe c;
	double s;

	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 50));
	e.timeout_ns = SEC / 5;
	clock_gettime(CLOCK_MONOTONIC, &a);
	ASSERT_EQ(-ETIMEDOUT, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
	clock_gettime(CLOCK_MONOTONIC, &b);
	s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	EXPECT_TRUE(s >= 0.19);
	EXPECT_TRUE(s <= 0.2 + 0.5 * mc_time_scale());
	EXPECT_TRUE(c.bytes < ONE_BUF);
	EXPECT_TRUE(c.flags & MC_CQE_F_QUIESCED);
	EXPECT_EQ(0, mcnl_fault_set("local_delay_ms", 0));
	e.timeout_ns = 0;
	EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
}

/* The default deadline is 200 ms here, and one slice takes @delay: is it still awaited? */
static int one_slice(struct mcone *one, uint64_t delay, uint64_t timeout_ns, struct mc_cqe *c)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, one->buf, 0, one->seg, 0, 4096, 7);

	e.timeout_ns = timeout_ns;
	if (mcnl_fault_set("default_timeout_ms", 200) || mcnl_fault_set("local_delay_ms", delay))
		return -ENOTRECOVERABLE;
	return mcdev_do(&one->d, &e, 20 * SEC, c);
}

TEST_F(node, C59_what_is_on_its_way_at_the_default_deadline_has_a_second)
{
	long long timeouts = mc_read_number(MC_SYSFS "counters/timeouts");
	struct mc_cqe c;

	ASSERT_EQ(0, one_slice(&self->one, 700, 0, &c));
	EXPECT_EQ(4096, c.bytes);
	EXPECT_EQ(~0ull, c.fail_off);
	EXPECT_EQ(timeouts + 1, mc_read_number(MC_SYSFS "counters/timeouts"));
}

TEST_F(node, C59_behind_the_second_it_is_too_late)
{
	struct mc_cqe c;

	EXPECT_EQ(-ETIMEDOUT, one_slice(&self->one, 2500, 0, &c));
}

TEST_F(node, C59_who_names_a_deadline_gets_no_second)
{
	struct mc_cqe c;

	EXPECT_EQ(-ETIMEDOUT, one_slice(&self->one, 700, SEC / 5, &c));
}

/* Nothing is begun in that second. */
TEST_F(node, C59_the_rest_of_a_request_ends_at_the_default_deadline)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, ONE_BUF, 7);
	struct mc_cqe c;

	ASSERT_EQ(0, mcnl_fault_set("default_timeout_ms", 200));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 100));
	ASSERT_EQ(-ETIMEDOUT, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
	EXPECT_TRUE(c.bytes < ONE_BUF);
}

TEST_F(node, a_failed_slice_fails_the_request_and_names_its_offset)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, 65536 * 16, 7);
	struct mc_cqe c;
	unsigned int n;

	for (n = 1; n <= 16; n++) {
		ASSERT_EQ(0, mcnl_fault_set("local_err", n));
		ASSERT_EQ(-EIO, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
		EXPECT_EQ((n - 1) * 65536, c.fail_off);
		EXPECT_TRUE(c.bytes <= (n - 1) * 65536);
	}
	ASSERT_EQ(0, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
}

TEST_F(node, destroyed_pool_is_stale_and_its_requests_end)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, ONE_BUF, 1);
	uint8_t other[16];
	uint32_t seg;
	struct mc_cqe c;
	int i;

	ASSERT_EQ(0, mcnl_pool_create("other", ONE_POOL, 0, other));
	ASSERT_EQ(0, mcdev_seg_open(self->one.d.fd, node_uuid, other, 0, &seg, NULL));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 5));
	e.target_id = seg;
	for (i = 0; i < 4; i++)
		mcdev_push(&self->one.d, &e);
	ASSERT_EQ(0, mcdev_enter(&self->one.d, 4, 0, 0, NULL));
	ASSERT_EQ(0, mcnl_pool_destroy(other));
	ASSERT_EQ(-ENOENT, mcnl_pool_destroy(other));
	ASSERT_EQ(0, mcdev_enter(&self->one.d, 0, 4, 30 * SEC, NULL));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, mcdev_pop(&self->one.d, &c));
		EXPECT_TRUE(c.result == 0 || c.result == -ESTALE);
	}
	ASSERT_EQ(-ESTALE, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	ASSERT_EQ(-ENOENT, mcdev_seg_open(self->one.d.fd, node_uuid, other, 0, &seg, NULL));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
}

TEST_F(node, poll_and_eventfd_wake)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, self->one.buf, 0, self->one.seg, 0, 65536, 1);
	struct mc_eventfd ev = { .size = sizeof(ev), .fd = eventfd(0, EFD_NONBLOCK) };
	struct pollfd p = { self->one.d.fd, POLLIN, 0 }, pe = { ev.fd, POLLIN, 0 };
	struct mc_cqe c;
	uint64_t n = 0;

	ASSERT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_EVENTFD, &ev));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 20));
	mcdev_push(&self->one.d, &e);
	ASSERT_EQ(0, mcdev_enter(&self->one.d, 1, 0, 0, NULL));
	ASSERT_EQ(1, poll(&pe, 1, 10000));
	ASSERT_EQ(1, poll(&p, 1, 10000));
	ASSERT_EQ(8, read(ev.fd, &n, 8));
	ASSERT_EQ(1, n);
	ASSERT_EQ(1, mcdev_pop(&self->one.d, &c));
	ASSERT_EQ(0, poll(&p, 1, 0));
	ev.fd = -1;
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_EVENTFD, &ev));
	ev.fd = -2;
	ASSERT_EQ(-EINVAL, mc_ioctl(self->one.d.fd, MC_IOC_EVENTFD, &ev));
	ev.fd = 0;
	ASSERT_EQ(-EINVAL, mc_ioctl(self->one.d.fd, MC_IOC_EVENTFD, &ev));
}

TEST_F(node, wait_times_out_and_says_what_it_did)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, 1);
	struct mc_enter out;

	mcdev_push(&self->one.d, &e);
	ASSERT_EQ(-ETIME, mcdev_enter(&self->one.d, 1, 2, SEC / 20, &out));
	ASSERT_EQ(1, out.out_submitted);
	ASSERT_EQ(1, out.out_ready);
	ASSERT_EQ(-EINVAL, mcdev_enter(&self->one.d, 0, 129, SEC, &out));
	ASSERT_EQ(-EINVAL, mcdev_enter(&self->one.d, 0, 1, MC_MAX_TIMEOUT_NS + 1, &out));
}

/* A killed process with transfers in flight: the caller is gone at once, its pages come back by themselves. */
TEST_F_TIMEOUT(node, C47_killed_process_leaves_nothing_behind, 120)
{
	int rounds = mc_rounds(500, 20), i;

	mcdev_unreg(self->one.d.fd, self->one.buf);
	ASSERT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 2));
	for (i = 0; i < rounds; i++) {
		int ready[2], status;
		char byte;
		pid_t pid;

		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid) {
			uint32_t buf, seg, k;
			struct mcdev d;
			uint8_t *mem = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (mcdev_open(&d, 64, 64) || mcdev_reg(d.fd, mem, 16 << 20, &buf) ||
			    mcdev_seg_open(d.fd, node_uuid, self->one.pool, 0, &seg, NULL))
				_exit(1);
			for (k = 0; k < 4; k++) {
				struct mc_sqe e = mcdev_sqe(MC_OP_READ, buf, (uint64_t)k << 22, seg, 0, 4 << 20, k);

				mcdev_push(&d, &e);
			}
			if (mcdev_enter(&d, 4, 0, 0, NULL) || write(ready[1], "r", 1) != 1)
				_exit(1);
			mcdev_enter(&d, 0, 4, 60 * SEC, NULL);
			_exit(2);
		}
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		usleep((useconds_t)(i * 700 % 9000));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
		close(ready[0]);
	}
	ASSERT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	ASSERT_EQ(0, mc_wait_number(MC_SYSFS "requests", 0, 10000));
	ASSERT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 10000));
}

TEST_HARNESS_MAIN
