// SPDX-License-Identifier: MIT
/* Grants: what is loaded, what is refused, and what a request may do under one. */
#include "kselftest_harness.h"
#include "mcone.h"

FIXTURE(node)
{
	struct mcone one;
	struct mc_grant g;	/* a good one: 1 MiB from 1 MiB on, for reading and writing */
	uint8_t key[MC_GRANT_KEY];
};

FIXTURE_SETUP(node)
{
	mcdev_grants(false);
	ASSERT_EQ(0, mcone_open(&self->one, "grant-test"));
	ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot()));
	ASSERT_EQ(0, mcgrant_make(&self->g, self->one.pool, 1 << 20, MC_GRANT_R | MC_GRANT_W));
	self->g.epoch = MCGRANT_EPOCH;
	self->g.not_after = mcgrant_boot() + MCGRANT_HOUR;
	self->g.off = 1 << 20;
}

FIXTURE_TEARDOWN(node)
{
	mcnl_fault_set("local_delay_ms", 0);
	mcnl_fault_set("default_timeout_ms", 0);
	mcdev_close(&self->one.d);
	EXPECT_EQ(0, mcnl_pool_destroy(self->one.pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "grants", 0, 5000));
}

/* A request in the middle of the good grant. */
static struct mc_sqe request(uint8_t op, uint32_t buf, uint32_t seg, uint32_t grant)
{
	struct mc_sqe e = mcdev_sqe(op, buf, 0, seg, 1 << 20, 4096, 1);

	e.grant_id = grant;
	return e;
}

TEST_F(node, requests_stay_inside_their_grant)
{
	struct mc_sqe good, e;
	struct mc_cqe c;
	uint32_t id;

	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	EXPECT_EQ(1, mc_read_number(MC_SYSFS "grants"));
	good = request(MC_OP_WRITE, self->one.buf, self->one.seg, id);
#define TRY(err, change) do { e = good; change; EXPECT_EQ(err, mcdev_do(&self->one.d, &e, 5 * SEC, &c)); } while (0)
	TRY(0, (void)0);
	TRY(0, e.opcode = MC_OP_READ);
	TRY(0, e.len = 1 << 20);
	TRY(0, e.target_off = (2 << 20) - 1; e.len = 1);
	TRY(-EACCES, e.grant_id = 0);
	EXPECT_EQ(0, c.bytes);
	TRY(-EACCES, e.len = (1 << 20) + 1);
	TRY(-EACCES, e.target_off = (1 << 20) - 1);
	TRY(-EACCES, e.target_off = (2 << 20) - 1; e.len = 2);
	TRY(-EACCES, e.target_off = 2 << 20; e.len = 1);
	TRY(-EACCES, e.target_off = 0);
	TRY(-ENOENT, e.grant_id = id + 1);
	TRY(-ENOENT, e.grant_id = id ^ 1u << 31);
	TRY(-EINVAL, e = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, 1); e.grant_id = id);
	ASSERT_EQ(0, mcgrant_del(self->one.d.fd, id));
	ASSERT_EQ(-ENOENT, mcgrant_del(self->one.d.fd, id));
	TRY(-ENOENT, (void)0);
	EXPECT_EQ(0, mc_read_number(MC_SYSFS "grants"));
#undef TRY
}

TEST_F(node, rights_are_kept)
{
	uint32_t r, w;
	struct mc_sqe e;

	self->g.rights = MC_GRANT_R;
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &r));
	self->g.rights = MC_GRANT_W | MC_GRANT_WHOLE_PAGES;
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &w));
	e = request(MC_OP_READ, self->one.buf, self->one.seg, r);
	EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	e.opcode = MC_OP_WRITE;
	EXPECT_EQ(-EACCES, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	e.grant_id = w;
	EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	e.opcode = MC_OP_READ;
	EXPECT_EQ(-EACCES, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
}

/* A grant for one pool is none for another, and no byte of either changes. */
TEST_F(node, another_segment_is_refused)
{
	struct mc_sqe e;
	uint8_t other[16];
	uint32_t id, seg;

	ASSERT_EQ(0, mcnl_pool_create("grant-other", ONE_POOL, 0, other));
	ASSERT_EQ(0, mcdev_seg_open(self->one.d.fd, node_uuid, other, 0, &seg, NULL));
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	memset(self->one.mem, 0x5a, 4096);
	e = request(MC_OP_WRITE, self->one.buf, seg, id);
	EXPECT_EQ(-EACCES, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	memcpy(self->g.seg, other, 16);
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	e = request(MC_OP_READ, self->one.buf, seg, id);
	EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	EXPECT_EQ(0, self->one.mem[0]);
	EXPECT_EQ(0, self->one.mem[4095]);
	EXPECT_EQ(0, mcnl_pool_destroy(other));
}

TEST_F(node, a_changed_bit_is_refused)
{
	uint8_t bytes[MC_GRANT_LEN];
	uint32_t id, i;

	mcgrant_cluster_key(self->key, 0);
	mcgrant_sign(&self->g, self->key, bytes);
	ASSERT_EQ(0, mcgrant_load(self->one.d.fd, bytes, &id));
	for (i = 0; i < 8 * MC_GRANT_LEN; i++) {
		int ret;

		bytes[i / 8] ^= 1u << i % 8;
		ret = mcgrant_load(self->one.d.fd, bytes, &id);
		if (ret != -EACCES && ret != -EINVAL)
			TH_LOG("bit %u: %d", i, ret);
		ASSERT_TRUE(ret == -EACCES || ret == -EINVAL);
		ASSERT_EQ(0, id);
		/* Only the tag gives these away. */
		if (i >= 8 * 24 && i < 8 * 56)
			ASSERT_TRUE(ret == -EACCES || (i >= 8 * 24 && i < 8 * 32));
		bytes[i / 8] ^= 1u << i % 8;
	}
	self->key[0] = 1;
	mcgrant_sign(&self->g, self->key, bytes);
	ASSERT_EQ(-EACCES, mcgrant_load(self->one.d.fd, bytes, &id));
}

TEST_F(node, malformed_grants_are_einval)
{
	struct mc_grant g;
	uint32_t id;

#define BAD(change) do { g = self->g; change; EXPECT_EQ(-EINVAL, mcgrant_add(self->one.d.fd, &g, &id)); } while (0)
	BAD(g.len = 0);
	BAD(g.off = ~0ull; g.len = 2);
	BAD(g.rights = 0);
	BAD(g.rights = MC_GRANT_WHOLE_PAGES);
	BAD(g.rights = 8 | MC_GRANT_R);
#undef BAD
}

TEST_F(node, a_bad_one_does_not_spoil_the_others)
{
	static struct mc_grant_item items[MC_MAX_GRANT_BATCH + 1];
	struct mc_grant_add a = { .size = sizeof(a), .count = 100, .items = (uintptr_t)items };
	struct mc_grant_del del = { .size = sizeof(del), .count = 100 };
	uint32_t ids[100], i;
	struct mc_sqe e;

	mcgrant_cluster_key(self->key, 0);
	for (i = 0; i < MC_MAX_GRANT_BATCH; i++) {
		mcgrant_sign(&self->g, self->key, items[i].grant);
		if (i % 3 == 1)
			items[i].grant[80] ^= 1;
		items[i].out_id = 0x12345678;
	}
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_ADD, &a));
	EXPECT_EQ(67, a.out_added);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(i % 3 == 1 ? -EACCES : 0, items[i].out_error);
		ASSERT_EQ(i % 3 == 1, !items[i].out_id);
		ids[i] = items[i].out_id;
	}
	EXPECT_EQ(0x12345678, items[100].out_id);
	e = request(MC_OP_READ, self->one.buf, self->one.seg, ids[99]);
	EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 5 * SEC, NULL));
	del.ids = (uintptr_t)ids;
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_DEL, &del));
	EXPECT_EQ(67, del.out_deleted);
	a.count = MC_MAX_GRANT_BATCH;
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_ADD, &a));
#define BAD(err, change) do { struct mc_grant_add b = a; change; \
		EXPECT_EQ(err, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_ADD, &b)); } while (0)
	BAD(-EINVAL, b.count = MC_MAX_GRANT_BATCH + 1);
	BAD(-EINVAL, b.count = 0);
	BAD(-EINVAL, b.flags = 1);
	BAD(-EFAULT, b.items = 0);
	BAD(-EFAULT, b.items = ~0ull - 100);
#undef BAD
	del.count = MC_MAX_GRANT_BATCH + 1;
	EXPECT_EQ(-EINVAL, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_DEL, &del));
	del.count = 1;
	del.ids = 0;
	EXPECT_EQ(-EFAULT, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_DEL, &del));
}

TEST_F(node, an_open_file_has_a_limit)
{
	static struct mc_grant_item items[MC_MAX_GRANT_BATCH];
	struct mc_grant_add a = { .size = sizeof(a), .count = MC_MAX_GRANT_BATCH, .items = (uintptr_t)items };
	uint32_t i, n = MC_MAX_GRANTS / MC_MAX_GRANT_BATCH;

	mcgrant_cluster_key(self->key, 0);
	for (i = 0; i < MC_MAX_GRANT_BATCH; i++)
		mcgrant_sign(&self->g, self->key, items[i].grant);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_ADD, &a));
		ASSERT_EQ(MC_MAX_GRANT_BATCH, a.out_added);
		ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot()));
	}
	ASSERT_EQ(0, mc_ioctl(self->one.d.fd, MC_IOC_GRANT_ADD, &a));
	EXPECT_EQ(0, a.out_added);
	EXPECT_EQ(-ENOSPC, items[0].out_error);
	EXPECT_EQ(0, mcgrant_del(self->one.d.fd, items[0].out_id ? items[0].out_id : 0) == 0);
	EXPECT_EQ(MC_MAX_GRANTS, mc_read_number(MC_SYSFS "grants"));
}

TEST_F(node, a_clock_that_is_not_good_refuses)
{
	uint64_t now = mcgrant_boot();
	struct mc_sqe e;
	uint32_t id, x;

	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	e = request(MC_OP_READ, self->one.buf, self->one.seg, id);
#define CLOCK(err, ...) do { \
		ASSERT_EQ(0, mcgrant_clock_set(__VA_ARGS__)); \
		EXPECT_EQ(err, mcgrant_add(self->one.d.fd, &self->g, &x)); \
		EXPECT_EQ(err, mcdev_do(&self->one.d, &e, 5 * SEC, NULL)); \
	} while (0)
	CLOCK(0, MCGRANT_EPOCH, 0, MC_CLOCK_SKEW_NS, now);
	CLOCK(-ETIME, MCGRANT_EPOCH, 0, MC_CLOCK_SKEW_NS + 1, now);
	CLOCK(-ETIME, MCGRANT_EPOCH, 0, 0, now - MC_CLOCK_AGE_NS);
	CLOCK(-ETIME, MCGRANT_EPOCH + 1, 0, 0, now);
	CLOCK(-ETIME, MCGRANT_EPOCH, (int64_t)MCGRANT_HOUR + 1000000000, 0, now);
	CLOCK(0, MCGRANT_EPOCH, (int64_t)MCGRANT_HOUR - 60000000000, 0, now);
#undef CLOCK
	EXPECT_EQ(-EINVAL, mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot() + MCGRANT_HOUR));
}

/* The grant ends while bytes move: ETIME, none of them counts, and it does not wait for the deadline. */
TEST_F(node, C4_a_grant_that_ends_in_the_transfer)
{
	struct timespec a, b;
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t id;
	double s;
	int op;

	for (op = MC_OP_READ; op <= MC_OP_WRITE; op++) {
		self->g.not_after = mcgrant_boot() + SEC / 2;
		ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot()));
		ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
		ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 100));
		e = request((uint8_t)op, self->one.buf, self->one.seg, id);
		e.len = 1 << 20;	/* 16 slices: 1.6 s */
		clock_gettime(CLOCK_MONOTONIC, &a);
		ASSERT_EQ(-ETIME, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
		clock_gettime(CLOCK_MONOTONIC, &b);
		s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
		EXPECT_TRUE(s <= 0.6 + 0.5 * mc_time_scale());
		EXPECT_EQ(0, c.bytes);
		EXPECT_EQ(0, c.fail_off);
		EXPECT_TRUE(c.flags & MC_CQE_F_QUIESCED);
		/* It has ended for good. */
		EXPECT_EQ(-ETIME, mcdev_do(&self->one.d, &e, 5 * SEC, &c));
		EXPECT_EQ(-ETIME, mcgrant_add(self->one.d.fd, &self->g, &id));
	}
}

/* The last slice is under way when it ends: there is nothing to stop any more, and still nothing counts. */
TEST_F(node, C4_a_grant_that_ends_in_the_last_slice)
{
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t id;

	self->g.not_after = mcgrant_boot() + SEC / 3;
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 1000));
	e = request(MC_OP_READ, self->one.buf, self->one.seg, id);
	ASSERT_EQ(-ETIME, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
	EXPECT_EQ(0, c.bytes);
}

/* It ends in the second after the default deadline: that is over then, and nothing counts. */
TEST_F(node, C4_a_grant_that_ends_in_the_grace)
{
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t id;

	self->g.not_after = mcgrant_boot() + SEC / 2;
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	ASSERT_EQ(0, mcnl_fault_set("default_timeout_ms", 150));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 900));
	e = request(MC_OP_READ, self->one.buf, self->one.seg, id);
	ASSERT_EQ(-ETIMEDOUT, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
	EXPECT_EQ(0, c.bytes);
	EXPECT_EQ(0, c.fail_off);
}

/* Another master's time comes while bytes move. */
TEST_F(node, C4_another_masters_clock_ends_a_grant)
{
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t id;

	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 300));
	e = request(MC_OP_READ, self->one.buf, self->one.seg, id);
	mcdev_push(&self->one.d, &e);
	ASSERT_EQ(0, mcdev_enter(&self->one.d, 1, 0, 0, NULL));
	ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH + 1, 0, 0, mcgrant_boot()));
	ASSERT_EQ(0, mcdev_enter(&self->one.d, 0, 1, 20 * SEC, NULL));
	ASSERT_EQ(1, mcdev_pop(&self->one.d, &c));
	EXPECT_EQ(-ETIME, c.result);
	EXPECT_EQ(0, c.bytes);
}

/* The wall clock is set an hour forth and back in the middle: nothing happens. */
TEST_F(node, the_wall_clock_decides_nothing)
{
	struct timespec real, was;
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t id;
	int i;

	self->g.not_after = mcgrant_boot() + 60 * SEC;
	ASSERT_EQ(0, mcgrant_add(self->one.d.fd, &self->g, &id));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 20));
	e = request(MC_OP_WRITE, self->one.buf, self->one.seg, id);
	e.len = 1 << 20;
	for (i = 0; i < 2; i++) {
		mcdev_push(&self->one.d, &e);
		ASSERT_EQ(0, mcdev_enter(&self->one.d, 1, 0, 0, NULL));
		clock_gettime(CLOCK_REALTIME, &was);
		real = was;
		real.tv_sec += i ? -3600 : 3600;
		ASSERT_EQ(0, clock_settime(CLOCK_REALTIME, &real));
		ASSERT_EQ(0, mcdev_enter(&self->one.d, 0, 1, 20 * SEC, NULL));
		ASSERT_EQ(1, mcdev_pop(&self->one.d, &c));
		EXPECT_EQ(0, c.result);
		EXPECT_EQ(0, mcdev_do(&self->one.d, &e, 20 * SEC, &c));
	}
}

/* A process that is killed in the middle of reads under its grants leaves none behind. */
TEST_F_TIMEOUT(node, C31_the_grants_of_a_killed_process_end, 120)
{
	int rounds = mc_rounds(50, 20), i;

	for (i = 0; i < rounds; i++) {
		int ready[2], status;
		char byte;
		pid_t pid;

		ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot()));
		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid) {
			uint32_t buf, seg, id = 0, k;
			struct mcdev d;

			if (mcdev_open(&d, 64, 64) || mcdev_reg(d.fd, self->one.mem, ONE_BUF, &buf) ||
			    mcdev_seg_open(d.fd, node_uuid, self->one.pool, 0, &seg, NULL))
				_exit(1);
			for (k = 0; k < 64; k++)
				if (mcgrant_add(d.fd, &self->g, &id))
					_exit(2);
			if (write(ready[1], "r", 1) != 1)
				_exit(3);
			for (;;) {
				struct mc_sqe e = request(MC_OP_READ, buf, seg, id);

				e.len = 1 << 20;
				mcdev_do(&d, &e, 20 * SEC, NULL);
			}
		}
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		usleep((useconds_t)(i * 700 % 9000));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
		close(ready[0]);
		ASSERT_EQ(0, mc_wait_number(MC_SYSFS "grants", 0, 1000));
		ASSERT_EQ(0, mc_wait_number(MC_SYSFS "requests", 0, 1000));
	}
}

TEST_HARNESS_MAIN
