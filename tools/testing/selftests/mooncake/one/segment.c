// SPDX-License-Identifier: MIT
/* Segments that a process exports, seen from its own node: names, rights, growth, and their end. */
#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcnl.h"
#include "mcone.h"

#define MB (1u << 20)
#define RW (MC_RIGHT_READ | MC_RIGHT_WRITE)

FIXTURE(seg)
{
	struct mcdev owner, user;
	uint8_t *mem, *mine;
	uint32_t buf[4], own;
};

FIXTURE_SETUP(seg)
{
	int i;

	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcdev_open(&self->owner, 8, 8));
	ASSERT_EQ(0, mcdev_open(&self->user, 64, 64));
	self->mem = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->mine = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_NE(MAP_FAILED, (void *)self->mine);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, mcdev_reg(self->owner.fd, self->mem + i * MB, MB, &self->buf[i]));
	ASSERT_EQ(0, mcdev_reg(self->user.fd, self->mine, 4 * MB, &self->own));
}

FIXTURE_TEARDOWN(seg)
{
	mcnl_fault_set("local_delay_ms", 0);
	mcdev_close(&self->user);
	mcdev_close(&self->owner);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 5000));
}

static int move(struct mcdev *d, uint8_t op, uint32_t buf, uint32_t seg, uint64_t off, uint64_t len)
{
	struct mc_sqe e = mcdev_sqe(op, buf, 0, seg, off, len, 1);

	return mcdev_do(d, &e, 20 * SEC, NULL);
}

TEST_F(seg, names_follow_the_rules)
{
	struct mc_seg_export e;
	struct mc_seg_open o;
	char longest[65];
	uint32_t id;

	memset(longest, 'n', 64);
	longest[64] = 0;
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "/", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "///", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "a\nb", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], longest, RW, NULL));
	longest[63] = 0;
	EXPECT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], longest, RW, &e));
	EXPECT_EQ(0, mcdev_unexport(self->owner.fd, e.out_seg_uuid));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "//kv/cache", RW, &e));
	EXPECT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "/kv/cache", &id, &o));
	EXPECT_EQ(0, memcmp(o.out_seg_uuid, e.out_seg_uuid, 16));
	EXPECT_EQ(MB, o.out_len);
	EXPECT_EQ(RW, o.out_rights);
	EXPECT_EQ(1, o.out_gen);
	EXPECT_TRUE(o.out_flags & MC_SEG_LOCAL);
	EXPECT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "kv/cache", &id, NULL));
	EXPECT_EQ(-EINVAL, mcdev_seg_open_name(self->user.fd, node_uuid, "", &id, NULL));
	EXPECT_EQ(-EINVAL, mcdev_seg_open_name(self->user.fd, node_uuid, "//", &id, NULL));
	EXPECT_EQ(-ENOENT, mcdev_seg_open_name(self->user.fd, node_uuid, "kv", &id, NULL));
	/* Another file can't have the name; this one extends, with the same rights only. */
	EXPECT_EQ(-EEXIST, mcdev_export(self->user.fd, self->own, "kv/cache", RW, NULL));
	EXPECT_EQ(-EACCES, mcdev_export(self->owner.fd, self->buf[1], "kv/cache", MC_RIGHT_READ, NULL));
	EXPECT_EQ(-EEXIST, mcdev_export(self->owner.fd, self->buf[0], "kv/cache", RW, NULL));
	EXPECT_EQ(-ENOENT, mcdev_unexport(self->user.fd, e.out_seg_uuid));
	EXPECT_EQ(0, mcdev_unexport(self->owner.fd, e.out_seg_uuid));
	EXPECT_EQ(-ENOENT, mcdev_unexport(self->owner.fd, e.out_seg_uuid));
	/* The name is free again, and means another segment. */
	EXPECT_EQ(0, mcdev_export(self->user.fd, self->own, "kv/cache", RW, &e));
	EXPECT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "kv/cache", &id, &o));
	EXPECT_EQ(0, memcmp(o.out_seg_uuid, e.out_seg_uuid, 16));
}

TEST_F(seg, only_whole_pages_and_known_rights)
{
	uint32_t odd[3], id;

	ASSERT_EQ(0, mcdev_reg(self->user.fd, self->mem + 1, 4095, &odd[0]));
	ASSERT_EQ(0, mcdev_reg(self->user.fd, self->mem + 4096, 4095, &odd[1]));
	ASSERT_EQ(0, mcdev_reg(self->user.fd, self->mem + 8192, 4096, &odd[2]));
	EXPECT_EQ(-EINVAL, mcdev_export(self->user.fd, odd[0], "odd", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->user.fd, odd[1], "odd", RW, NULL));
	EXPECT_EQ(0, mcdev_export(self->user.fd, odd[2], "odd", RW, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "w", MC_RIGHT_WRITE, NULL));
	EXPECT_EQ(-EINVAL, mcdev_export(self->owner.fd, self->buf[0], "w", 4, NULL));
	EXPECT_EQ(-ENOENT, mcdev_export(self->owner.fd, self->own + 77, "w", RW, NULL));
	EXPECT_EQ(-ENOENT, mcdev_seg_open_name(self->user.fd, node_uuid, "w", &id, NULL));
}

TEST_F(seg, rights_are_kept)
{
	static const uint32_t rights[3] = { 0, MC_RIGHT_READ, RW };
	static const char *names[3] = { "none", "read", "all" };
	struct mc_seg_open o;
	uint32_t seg;
	int i;

	memset(self->mem, 0x11, 4 * MB);
	for (i = 0; i < 3; i++) {
		memset(self->mine, 0x22, 4 * MB);
		ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[i], names[i], rights[i], NULL));
		ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, names[i], &seg, &o));
		EXPECT_EQ(rights[i], o.out_rights);
		EXPECT_EQ(i == 2 ? 0 : -EACCES, move(&self->user, MC_OP_WRITE, self->own, seg, 0, MB));
		EXPECT_EQ(i == 2 ? 0x22 : 0x11, self->mem[i * MB]);
		EXPECT_EQ(i ? 0 : -EACCES, move(&self->user, MC_OP_READ, self->own, seg, 0, MB));
	}
}

/* Buffers that are not in the order of their addresses; one request over all their borders. */
TEST_F(seg, a_segment_grows_and_keeps_its_uuid)
{
	static const int order[4] = { 2, 0, 3, 1 };
	uint8_t *want = malloc(4 * MB);
	uint32_t seg = 0, again;
	struct mc_seg_export e, first;
	struct mc_seg_open o;
	int i;

	mc_fill(self->mine, 4 * MB, 5);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[order[i]], "grows", RW, &e));
		EXPECT_EQ((uint64_t)i * MB, e.out_off);
		EXPECT_EQ((i + 1ull) * MB, e.out_len);
		EXPECT_EQ(i + 1u, e.out_gen);
		if (!i)
			first = e;
		EXPECT_EQ(0, memcmp(first.out_seg_uuid, e.out_seg_uuid, 16));
		if (!i)
			ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "grows", &seg, NULL));
		/* The handle that was opened first reaches the new end. */
		EXPECT_EQ(0, move(&self->user, MC_OP_WRITE, self->own, seg, 0, (i + 1ull) * MB));
		EXPECT_EQ(-ERANGE, move(&self->user, MC_OP_WRITE, self->own, seg, 1, (i + 1ull) * MB));
	}
	ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "grows", &again, &o));
	EXPECT_EQ(4, o.out_gen);
	EXPECT_EQ(4 * MB, o.out_len);
	memcpy(want, self->mine, 4 * MB);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, memcmp(self->mem + order[i] * MB, want + i * MB, MB));
	memset(self->mine, 0, 4 * MB);
	EXPECT_EQ(0, move(&self->user, MC_OP_READ, self->own, seg, 0, 4 * MB));
	EXPECT_EQ(0, memcmp(self->mine, want, 4 * MB));
	EXPECT_EQ(8 * MB, mc_read_number(MC_SYSFS "pinned_bytes"));
	free(want);
}

TEST_F(seg, ends_with_its_buffer_and_with_its_file)
{
	uint32_t a, b, id;

	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "one", RW, NULL));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[1], "one", RW, NULL));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[2], "two", RW, NULL));
	ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "one", &a, NULL));
	ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "two", &b, NULL));
	EXPECT_EQ(0, mcdev_unreg(self->owner.fd, self->buf[1]));
	EXPECT_EQ(-ESTALE, move(&self->user, MC_OP_WRITE, self->own, a, 0, 1));
	EXPECT_EQ(-ENOENT, mcdev_seg_open_name(self->user.fd, node_uuid, "one", &id, NULL));
	EXPECT_EQ(-ENOENT, mcdev_export(self->owner.fd, self->buf[1], "one", RW, NULL));
	EXPECT_EQ(0, move(&self->user, MC_OP_WRITE, self->own, b, 0, 1));
	/* The other buffer of the ended segment is a buffer as before. */
	EXPECT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "three", RW, NULL));
	mcdev_close(&self->owner);
	ASSERT_EQ(0, mcdev_open(&self->owner, 8, 8));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 4 * MB, 5000));
	EXPECT_EQ(-ESTALE, move(&self->user, MC_OP_READ, self->own, b, 0, 1));
	EXPECT_EQ(-ENOENT, mcdev_seg_open_name(self->user.fd, node_uuid, "three", &id, NULL));
}

/* Pages stay pinned while somebody else's request is in them, whatever the owner does. */
TEST_F(seg, unexport_under_a_request)
{
	struct mc_sqe e;
	struct mc_cqe c;
	uint32_t seg;

	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "busy", RW, NULL));
	ASSERT_EQ(0, mcdev_seg_open_name(self->user.fd, node_uuid, "busy", &seg, NULL));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 30 * mc_time_scale()));
	e = mcdev_sqe(MC_OP_WRITE, self->own, 0, seg, 0, MB, 1);
	mcdev_push(&self->user, &e);
	ASSERT_EQ(0, mcdev_enter(&self->user, 1, 0, 0, NULL));
	usleep(50000);
	EXPECT_EQ(0, mcdev_unreg(self->owner.fd, self->buf[0]));
	EXPECT_EQ(8 * MB, mc_read_number(MC_SYSFS "pinned_bytes"));
	ASSERT_EQ(0, mcdev_enter(&self->user, 0, 1, 20 * SEC, NULL));
	ASSERT_EQ(1, mcdev_pop(&self->user, &c));
	EXPECT_EQ(0, c.result);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 7 * MB, 5000));
}

static void count_segs(const struct nlmsghdr *h, void *arg)
{
	uint32_t pid = 0;

	if (mcnl_get(h, MC_ATTR_PID, &pid, 4) == 4 && pid == (uint32_t)getpid())
		++*(int *)arg;
}

TEST_F(seg, shown_by_netlink)
{
	uint8_t pool[16];
	int mine = 0;

	ASSERT_EQ(0, mcnl_pool_create("not-mine", MB, 0, pool));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "a", RW, NULL));
	ASSERT_EQ(0, mcdev_export(self->owner.fd, self->buf[0], "b", 0, NULL));
	EXPECT_EQ(-EEXIST, mcdev_export(self->owner.fd, self->buf[0], "not-mine", RW, NULL));
	ASSERT_EQ(0, mcnl_dump(MC_CMD_SEG_GET, count_segs, &mine));
	EXPECT_EQ(2, mine);
	ASSERT_EQ(0, mcnl_pool_destroy(pool));
}

/* Exporting, extending, unregistering and closing from several processes at once. */
TEST_F_TIMEOUT(seg, C76_teardown_races, 120)
{
	int rounds = mc_rounds(2000, 60), n, i, status;

	for (n = 0; n < 4; n++) {
		if (fork())
			continue;
		for (i = 0; i < rounds; i++) {
			uint64_t seed = (uint64_t)(n * 1000 + i);
			uint32_t b[2], own, seg;
			struct mc_seg_export e;
			struct mcdev d;
			uint8_t *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			struct mc_sqe q;

			if (mcdev_open(&d, 8, 8) || mcdev_reg(d.fd, p, 65536, &b[0]) ||
			    mcdev_reg(d.fd, p + 65536, 65536, &b[1]) || mcdev_reg(d.fd, p + 131072, 65536, &own))
				_exit(1);
			if (mcdev_export(d.fd, b[0], n & 1 ? "odd" : "even", RW, &e) == 0)
				mcdev_export(d.fd, b[1], n & 1 ? "odd" : "even", RW, &e);
			if (mcdev_seg_open_name(d.fd, node_uuid, n & 2 ? "odd" : "even", &seg, NULL) == 0) {
				q = mcdev_sqe(mc_rand(&seed) & 1 ? MC_OP_READ : MC_OP_WRITE, own, 0, seg, 0, 65536, 1);
				mcdev_push(&d, &q);
				mcdev_enter(&d, 1, 0, 0, NULL);
			}
			switch (mc_rand(&seed) % 4) {
			case 0:
				mcdev_unreg(d.fd, b[0]);
				break;
			case 1:
				mcdev_unexport(d.fd, e.out_seg_uuid);
				break;
			case 2:
				mcdev_unreg(d.fd, own);
				break;
			}
			munmap(p, MB);
			mcdev_close(&d);
		}
		_exit(0);
	}
	for (n = 0; n < 4; n++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
}

TEST_HARNESS_MAIN
