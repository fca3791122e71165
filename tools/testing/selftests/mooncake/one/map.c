// SPDX-License-Identifier: MIT
/* mmap of pool extents: arguments, and that every mapping ends when its grant or its pool does. */
#include "kselftest_harness.h"
#include "mcone.h"

#include <setjmp.h>
#include <signal.h>

#define LEN 65536u
#define AT (1u << 20)		/* of the extent in the pool */

static sigjmp_buf jump;

static void on_bus(int sig)
{
	siglongjmp(jump, sig);
}

/* The byte at an address, or -signal. */
static __attribute__((noinline)) int touch(const void *at)
{
	struct sigaction sa = { .sa_handler = on_bus }, bus, segv;
	int ret, sig;

	sigaction(SIGBUS, &sa, &bus);
	sigaction(SIGSEGV, &sa, &segv);
	sig = sigsetjmp(jump, 1);
	ret = sig ? -sig : *(const volatile uint8_t *)at;
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	return ret;
}

/* Until touching it is SIGBUS; every byte seen before must be the old one. */
static int bus_within(const uint8_t *at, int old, int ms)
{
	int seen;

	for (; ms > 0; ms--) {
		seen = touch(at);
		if (seen == -SIGBUS)
			return 0;
		if (seen != old)
			return seen;
		usleep(1000);
	}
	return -1;
}

FIXTURE(node)
{
	struct mcdev d;
	uint8_t pool[16];
	bool pool_gone;
	uint32_t seg, buf, id;
	uint8_t *mem;
	struct mc_grant g;
};

static int fill_pool(struct mcdev *d, uint32_t buf, uint32_t seg, uint8_t *mem, int value)
{
	struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, buf, 0, seg, 0, 2 * AT, 1);

	memset(mem, value, 2 * AT);
	return mcdev_do(d, &e, 20 * SEC, NULL);
}

FIXTURE_SETUP(node)
{
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcgrant_clock_own());
	ASSERT_EQ(0, mcnl_pool_create("map-test", 2 * AT, 0, self->pool));
	ASSERT_EQ(0, mcdev_open(&self->d, 64, 128));
	self->mem = mmap(NULL, 2 * AT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, self->mem, 2 * AT, &self->buf));
	ASSERT_EQ(0, mcdev_seg_open(self->d.fd, node_uuid, self->pool, 0, &self->seg, NULL));
	ASSERT_EQ(0, fill_pool(&self->d, self->buf, self->seg, self->mem, 0x11));
	ASSERT_EQ(0, mcgrant_make(&self->g, self->pool, LEN, MC_GRANT_R));
	self->g.off = AT;
	ASSERT_EQ(0, mcgrant_add(self->d.fd, &self->g, &self->id));
}

FIXTURE_TEARDOWN(node)
{
	mcdev_close(&self->d);
	EXPECT_EQ(self->pool_gone ? -ENOENT : 0, mcnl_pool_destroy(self->pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "mappings", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "grants", 0, 5000));
}

static int try_map(int fd, uint64_t off, uint64_t len, int prot, int flags, uint8_t **out)
{
	void *p = mmap(NULL, len, prot, flags, fd, (off_t)off);

	if (out)
		*out = p;
	if (p == MAP_FAILED)
		return -errno;
	if (!out)
		munmap(p, len);
	return 0;
}

#define TRY(off, len, prot, flags) try_map(self->d.fd, MC_OFF_GRANT(self->id) + (off), len, prot, flags, NULL)

TEST_F(node, C75_arguments_are_checked)
{
	uint8_t *p, *q;
	uint32_t w;
	int i;

	/* Inside: exactly that range. */
	EXPECT_EQ(0, TRY(0, 1, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, TRY(0, 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, TRY(0, LEN, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, TRY(4096, LEN - 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, TRY(LEN - 4096, 4096, PROT_READ, MAP_SHARED));
	/* Outside, not on a page, wrapping. */
	EXPECT_EQ(-EINVAL, TRY(0, LEN + 1, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, TRY(4096, LEN, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, TRY(LEN - 4096, 8192, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, TRY(LEN, 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, TRY(1, 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, TRY((1u << MC_OFF_GRANT_SHIFT) - 4096, 8192, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOMEM, TRY(0, 1ull << 63, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, try_map(self->d.fd, ~4095ull, 8192, PROT_READ, MAP_SHARED, NULL));
	EXPECT_EQ(-ENOENT, try_map(self->d.fd, MC_OFF_GRANT(self->id + 4), 4096, PROT_READ, MAP_SHARED, NULL));
	EXPECT_EQ(-ENOENT, try_map(self->d.fd, MC_OFF_GRANT(0xffffffff), 4096, PROT_READ, MAP_SHARED, NULL));
	/* Protection. */
	EXPECT_EQ(-EINVAL, TRY(0, LEN, PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(-EACCES, TRY(0, LEN, PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EACCES, TRY(0, LEN, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EACCES, TRY(0, LEN, PROT_READ | PROT_EXEC, MAP_SHARED));
	ASSERT_EQ(0, try_map(self->d.fd, MC_OFF_GRANT(self->id), LEN, PROT_READ, MAP_SHARED, &p));
	EXPECT_EQ(-1, mprotect(p, LEN, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, LEN, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	for (i = 0; i < (int)LEN; i += 100)
		ASSERT_EQ(0x11, touch(p + i));
	/* Growing is refused, over itself and in pieces is not. */
	EXPECT_EQ(MAP_FAILED, mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE));
	q = mmap(p, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, self->d.fd, (off_t)(MC_OFF_GRANT(self->id) + 4096));
	ASSERT_EQ(p, q);
	EXPECT_EQ(0x11, touch(p));
	ASSERT_EQ(0, munmap(p + 8192, 8192));
	EXPECT_EQ(-SIGSEGV, touch(p + 8192));
	EXPECT_EQ(0x11, touch(p + 4096));
	EXPECT_EQ(0x11, touch(p + 16384));
	ASSERT_EQ(0, munmap(p, LEN));
	/* The right to write is none to read. */
	self->g.rights = MC_GRANT_W;
	ASSERT_EQ(0, mcgrant_add(self->d.fd, &self->g, &w));
	EXPECT_EQ(-EACCES, try_map(self->d.fd, MC_OFF_GRANT(w), 4096, PROT_READ, MAP_SHARED, NULL));
	/* Nothing holds a page of it. */
	ASSERT_EQ(0, try_map(self->d.fd, MC_OFF_GRANT(self->id), LEN, PROT_READ, MAP_SHARED, &p));
	EXPECT_NE(0, mcdev_reg(self->d.fd, p, LEN, &w));
	ASSERT_EQ(0, munmap(p, LEN));
}

TEST_F(node, C75_extents_are_whole_pages)
{
	uint32_t id;
	uint8_t *p;
	int i;

#define ONE(change) do { \
		ASSERT_EQ(0, mcgrant_make(&self->g, self->pool, LEN, MC_GRANT_R)); \
		self->g.off = AT; \
		change; \
		ASSERT_EQ(0, mcgrant_add(self->d.fd, &self->g, &id)); \
	} while (0)
	ONE(self->g.off += 512);
	EXPECT_EQ(-EINVAL, try_map(self->d.fd, MC_OFF_GRANT(id), 4096, PROT_READ, MAP_SHARED, NULL));
	ONE(self->g.len = 5000);
	EXPECT_EQ(-EINVAL, try_map(self->d.fd, MC_OFF_GRANT(id), 4096, PROT_READ, MAP_SHARED, NULL));
	/* The master says that the page is the object's: what was there before is not shown. */
	ONE(self->g.len = 5000; self->g.rights = MC_GRANT_R | MC_GRANT_WHOLE_PAGES);
	EXPECT_EQ(-EINVAL, try_map(self->d.fd, MC_OFF_GRANT(id), 8193, PROT_READ, MAP_SHARED, NULL));
	ASSERT_EQ(0, try_map(self->d.fd, MC_OFF_GRANT(id), 8192, PROT_READ, MAP_SHARED, &p));
	for (i = 0; i < 8192; i++)
		ASSERT_EQ(i < 5000 ? 0x11 : 0, touch(p + i));
	ASSERT_EQ(0, munmap(p, 8192));
	/* Not a byte of a segment that is shorter, or not here. */
	ONE(self->g.off = 2 * AT - 4096; self->g.len = 8192);
	EXPECT_EQ(-EINVAL, try_map(self->d.fd, MC_OFF_GRANT(id), 4096, PROT_READ, MAP_SHARED, NULL));
	ONE(self->g.len = ~0ull - AT);
	EXPECT_EQ(-EINVAL, try_map(self->d.fd, MC_OFF_GRANT(id), 4096, PROT_READ, MAP_SHARED, NULL));
	ONE(self->g.seg[0] ^= 1);
	EXPECT_EQ(-ENOENT, try_map(self->d.fd, MC_OFF_GRANT(id), 4096, PROT_READ, MAP_SHARED, NULL));
#undef ONE
}

/* Everything that can show the pages: the mapping, a second one, one that was moved, and one that fork has copied. */
struct views {
	uint8_t *p, *second, *moved;
	pid_t child;
	int told[2];
};

static int make_views(int fd, uint32_t id, struct views *v)
{
	uint8_t *m;

	if (try_map(fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, &v->p) ||
	    try_map(fd, MC_OFF_GRANT(id) + 4096, 8192, PROT_READ, MAP_SHARED, &v->second) ||
	    try_map(fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, &m))
		return -errno;
	if (touch(v->p) != 0x11 || touch(v->p + LEN - 1) != 0x11 || touch(v->second) != 0x11 || touch(m) != 0x11)
		return -EIO;
	v->moved = mremap(m, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, v->p + (64 << 20));
	if (v->moved == MAP_FAILED || touch(v->moved) != 0x11 || pipe(v->told))
		return -errno;
	v->child = fork();
	if (!v->child) {
		int ret = touch(v->p) == 0x11 ? 0 : 9;

		if (write(v->told[1], "r", 1) != 1)
			ret = 8;
		if (!ret)
			/* While the pool still ends: one after the other. */
			ret = bus_within(v->p, 0x11, 20000 * mc_time_scale()) ||
			      bus_within(v->second, 0x11, 20000 * mc_time_scale()) ||
			      bus_within(v->moved, 0x11, 20000 * mc_time_scale());
		_exit(ret);
	}
	return read(v->told[0], &m, 1) == 1 ? 0 : -EIO;
}

/* 0, or what went wrong first. Within 1 ms is at once: all of them have ended already. */
static int views_end(struct views *v, int ms)
{
	int ret = bus_within(v->p, 0x11, ms), status;

	if (!ret && bus_within(v->p + LEN - 1, 0x11, ms))
		ret = 1;
	if (!ret && bus_within(v->second, 0x11, ms))
		ret = 2;
	if (!ret && bus_within(v->moved + 4096, 0x11, ms))
		ret = 3;
	waitpid(v->child, &status, 0);
	if (!ret && status)
		ret = 100 + WEXITSTATUS(status);
	munmap(v->p, LEN);
	munmap(v->second, 8192);
	munmap(v->moved, LEN);
	close(v->told[0]);
	close(v->told[1]);
	return ret;
}

/* The pool is destroyed and its pages go to another, which is filled with something else. */
TEST_F_TIMEOUT(node, C73_the_pool_ends_every_mapping, 60)
{
	int rounds = mc_long() ? 50 : 5, i;
	uint8_t other[16], pool[16];
	uint32_t seg, id;
	struct views v;

	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, mcgrant_clock_own());
		ASSERT_EQ(0, mcnl_pool_create("map-short", 2 * AT, 0, pool));
		ASSERT_EQ(0, mcdev_seg_open(self->d.fd, node_uuid, pool, 0, &seg, NULL));
		ASSERT_EQ(0, fill_pool(&self->d, self->buf, seg, self->mem, 0x11));
		ASSERT_EQ(0, mcgrant_make(&self->g, pool, LEN, MC_GRANT_R));
		ASSERT_EQ(0, mcgrant_add(self->d.fd, &self->g, &id));
		ASSERT_EQ(0, make_views(self->d.fd, id, &v));
		ASSERT_EQ(0, mcnl_pool_destroy(pool));
		ASSERT_EQ(0, mcnl_pool_create("map-other", 2 * AT, 0, other));
		ASSERT_EQ(0, mcdev_seg_open(self->d.fd, node_uuid, other, 0, &seg, NULL));
		ASSERT_EQ(0, fill_pool(&self->d, self->buf, seg, self->mem, 0x33));
		ASSERT_EQ(0, views_end(&v, 2000 * mc_time_scale()));
		EXPECT_NE(0, try_map(self->d.fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, NULL));
		ASSERT_EQ(0, mcnl_pool_destroy(other));
		ASSERT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
		EXPECT_EQ(0, mc_wait_number(MC_SYSFS "mappings", 0, 5000));
	}
}

TEST_F(node, C73_a_grant_that_is_given_back_ends_every_mapping)
{
	struct views v;

	ASSERT_EQ(0, make_views(self->d.fd, self->id, &v));
	ASSERT_EQ(0, mcgrant_del(self->d.fd, self->id));
	EXPECT_EQ(0, views_end(&v, 1));
	EXPECT_EQ(-ENOENT, TRY(0, LEN, PROT_READ, MAP_SHARED));
}

TEST_F(node, C73_the_time_of_a_grant_ends_every_mapping)
{
	uint64_t now = mcgrant_boot();
	struct views v;
	uint32_t id;

	self->g.not_after = now + SEC;
	ASSERT_EQ(0, mcgrant_add(self->d.fd, &self->g, &id));
	ASSERT_EQ(0, make_views(self->d.fd, id, &v));
	EXPECT_EQ(0, views_end(&v, 5000));
	EXPECT_TRUE(mcgrant_boot() - now >= SEC);
	EXPECT_TRUE(mcgrant_boot() - now <= SEC + SEC / 2 * (uint64_t)mc_time_scale());
	EXPECT_EQ(-ETIME, try_map(self->d.fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, NULL));
}

TEST_F(node, C73_another_master_ends_every_mapping)
{
	struct views v;

	ASSERT_EQ(0, make_views(self->d.fd, self->id, &v));
	ASSERT_EQ(0, mcgrant_clock_set(MCGRANT_EPOCH + 1, 0, 0, mcgrant_boot()));
	EXPECT_EQ(0, views_end(&v, 1));
	EXPECT_EQ(-ETIME, TRY(0, LEN, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, mcgrant_clock_own());
}

/* Descriptor and mapping are two things: what is mapped stays when the descriptor is closed. */
TEST_F(node, a_mapping_holds_its_file)
{
	uint32_t id;
	uint8_t *p;
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(0, mcgrant_add(fd, &self->g, &id));
	ASSERT_EQ(0, try_map(fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, &p));
	close(fd);
	EXPECT_EQ(0x11, touch(p + 4096));
	EXPECT_EQ(2, mc_read_number(MC_SYSFS "grants") - 1);	/* the fixture's two and this one */
	munmap(p, LEN);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "grants", 2, 5000));
}

/* Mapping, touching, giving back and destroying at the same time. */
TEST_F_TIMEOUT(node, C76_mappings_race_with_their_end, 60)
{
	time_t end = time(NULL) + (mc_long() ? 60 : 3);
	pid_t pids[3];
	int i, status;

	for (i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		while (time(NULL) < end) {
			struct mcdev d = { .fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC) };
			uint32_t id;
			uint8_t *p;
			pid_t child;

			if (mcgrant_clock_own() || mcgrant_add(d.fd, &self->g, &id))
				_exit(1);
			if (!try_map(d.fd, MC_OFF_GRANT(id), LEN, PROT_READ, MAP_SHARED, &p)) {
				child = fork();
				if (!child) {
					while (touch(p) == 0x11)
						;
					_exit(touch(p) == -SIGBUS ? 0 : 2);
				}
				touch(p + 8192);
				mcgrant_del(d.fd, id);
				if (touch(p) != -SIGBUS)
					_exit(3);
				waitpid(child, &status, 0);
				if (status)
					_exit(4);
				munmap(p, LEN);
			}
			close(d.fd);
		}
		_exit(0);
	}
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

TEST_HARNESS_MAIN
