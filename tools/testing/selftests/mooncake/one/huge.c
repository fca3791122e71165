// SPDX-License-Identifier: MIT
/*
 * Buffers and pools whose pages are large, small, or both: every byte, and that pages which follow one another are kept
 * as one extent.
 *
 * tags: hugetlb
 */
#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcmem.h"
#include "mcone.h"

#define MB (1ull << 20)
#define LEN (8 * MB)

FIXTURE(node)
{
	struct mcdev d;
	uint8_t pool[16];
	uint32_t seg, own;
	uint8_t *mine, *want;
};

/* @least and @most: extents of LEN bytes; whether transparent huge pages can be had is the machine's secret. */
FIXTURE_VARIANT(node) { const char *kind; uint32_t page_size; long least, most; };
FIXTURE_VARIANT_ADD(node, hugetlb) { "hugetlb", 2097152, 1, 4 };
FIXTURE_VARIANT_ADD(node, thp) { "thp", 4096, 1, 2048 };
FIXTURE_VARIANT_ADD(node, scattered) { "scattered", 2097152, 64, 2048 };
FIXTURE_VARIANT_ADD(node, mixed) { "mixed", 4096, 16, 1200 };

FIXTURE_SETUP(node)
{
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcgrant_clock_own());
	ASSERT_EQ(0, mcnl_pool_create("huge", LEN, variant->page_size, self->pool));
	ASSERT_EQ(0, mcdev_open(&self->d, 8, 8));
	ASSERT_EQ(0, mcdev_seg_open(self->d.fd, node_uuid, self->pool, 0, &self->seg, NULL));
	self->mine = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->want = malloc(LEN);
	ASSERT_NE(MAP_FAILED, (void *)self->mine);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, self->mine, LEN, &self->own));
}

FIXTURE_TEARDOWN(node)
{
	mcdev_close(&self->d);
	EXPECT_EQ(0, mcnl_pool_destroy(self->pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 10000));
	mcmem_huge_pages(0);
	EXPECT_EQ(0, mc_wait_number("/proc/sys/vm/nr_hugepages", 0, 5000));
}

static int move(struct mcdev *d, uint8_t op, uint32_t buf, uint64_t buf_off, uint32_t seg, uint64_t off, uint64_t len)
{
	struct mc_sqe e = mcdev_sqe(op, buf, buf_off, seg, off, len, 1);

	return mcdev_do(d, &e, 20 * SEC, NULL);
}

/* Extents of the only buffer of that length, as debugfs shows them; -1 without it. */
static long extents(uint64_t len)
{
	FILE *f = fopen("/sys/kernel/debug/mooncake/buffers", "r");
	char line[256], want[64];
	long n = -1;

	snprintf(want, sizeof(want), " len %llu ", (unsigned long long)len);
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, want) && strstr(line, "extents "))
			n = strtol(strstr(line, "extents ") + 8, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/*
 * There and back, from a start that is not a page's; the bytes around it don't change. 0, or the number of the step
 * that went wrong.
 */
static int there_and_back(struct __fixture_node *self, uint8_t *p, uint64_t from, uint64_t n)
{
	struct mcdev *d = &self->d;
	uint8_t *at = p + from;
	uint32_t id;

	memset(p, 0xa5, LEN);
	mc_fill(at, n, from);
	memcpy(self->want, at, n);
	memset(self->mine, 0, LEN);
	if (mcdev_reg(d->fd, at, n, &id))
		return 1;
	if (move(d, MC_OP_WRITE, id, 0, self->seg, 0, n))
		return 2;
	memset(at, 0x5a, n);
	if (move(d, MC_OP_READ, self->own, 0, self->seg, 0, n) || memcmp(self->mine, self->want, n))
		return 3;
	if (move(d, MC_OP_READ, id, 0, self->seg, 0, n) || memcmp(at, self->want, n))
		return 4;
	/* A part of it, from the middle of the one to the middle of the other. */
	if (move(d, MC_OP_READ, id, n / 3, self->seg, n / 5, n / 2) || memcmp(at + n / 3, self->want + n / 5, n / 2))
		return 5;
	if ((from && at[-1] != 0xa5) || (from + n < LEN && at[n] != 0xa5))
		return 6;
	return mcdev_unreg(d->fd, id) ? 7 : 0;
}

TEST_F_TIMEOUT(node, every_byte_at_any_start, 60)
{
	static const uint64_t starts[] = { 0, 1, 4095, 2097151, 2097153 + 4096 };
	unsigned int i;
	uint8_t *p;

	ASSERT_TRUE(mcmem_huge_pages(4));
	p = mcmem_alloc(LEN, variant->kind);
	ASSERT_NE(NULL, (void *)p);
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		ASSERT_EQ(0, there_and_back(self, p, starts[i], LEN - starts[i]));
		ASSERT_EQ(0, there_and_back(self, p, starts[i], 2 * MB + 3));
	}
	munmap(p, LEN);
}

/* Exported: the pages of several buffers one after the other, as others would address them. */
TEST_F(node, exported_in_another_order)
{
	static const int order[4] = { 2, 0, 3, 1 };
	uint32_t id[4], seg;
	uint8_t *p;
	int i;

	ASSERT_TRUE(mcmem_huge_pages(4));
	p = mcmem_alloc(LEN, variant->kind);
	ASSERT_NE(NULL, (void *)p);
	mc_fill(self->mine, LEN, 5);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, mcdev_reg(self->d.fd, p + order[i] * 2 * MB, 2 * MB, &id[i]));
		ASSERT_EQ(0, mcdev_export(self->d.fd, id[i], "view", MC_RIGHT_READ | MC_RIGHT_WRITE, NULL));
	}
	ASSERT_EQ(0, mcdev_seg_open_name(self->d.fd, node_uuid, "view", &seg, NULL));
	ASSERT_EQ(0, move(&self->d, MC_OP_WRITE, self->own, 0, seg, 0, LEN));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, memcmp(p + order[i] * 2 * MB, self->mine + i * 2 * MB, 2 * MB));
	memcpy(self->want, self->mine, LEN);
	memset(self->mine, 0, LEN);
	EXPECT_EQ(0, move(&self->d, MC_OP_READ, self->own, 0, seg, MB + 17, 4 * MB));
	EXPECT_EQ(0, memcmp(self->mine, self->want + MB + 17, 4 * MB));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, mcdev_unreg(self->d.fd, id[i]));
	munmap(p, LEN);
}

/* 2048 pages, and how many runs at most and at least they are. */
TEST_F(node, pages_that_follow_one_another_are_one_extent)
{
	uint32_t id;
	uint8_t *p;
	long n;

	ASSERT_TRUE(mcmem_huge_pages(4));
	p = mcmem_alloc(LEN, variant->kind);
	ASSERT_NE(NULL, (void *)p);
	memset(p, 1, LEN);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, p, LEN - 1, &id));
	n = extents(LEN - 1);
	printf("# %s: %ld extents\n", variant->kind, n);
	EXPECT_LE(variant->least, n);
	EXPECT_GE(variant->most, n);
	EXPECT_EQ(0, mcdev_unreg(self->d.fd, id));
	munmap(p, LEN);
}

TEST_HARNESS_MAIN
