// SPDX-License-Identifier: MIT
/*
 * C-49: every command with its first allocation failing, then its second, and so on until it runs through untouched. A
 * command that failed has changed nothing: the counts are those from before.
 *
 * Two injectors. The module's own (hook my_alloc: each allocation that its code asks for) is exact: an answer that says
 * failure means that nothing was done. The kernel's (/proc/thread-self/fail-nth, on kernels built with fault injection)
 * also fails what netlink and the system call layer allocate and copy: an answer may get lost after the command was
 * done, so what it made is taken away before the counts are compared.
 */
#include <dirent.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "mcone.h"

#define MB		(1ull << 20)
#define NTH_MAX		3000
#define HOOKS		"/sys/kernel/debug/mooncake/fault"
#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const uint8_t peer_uuid[16] = { 0x44, 1 };
static const uint8_t addr[4] = { 10, 77, 0, 1 }, peer_addr[4] = { 10, 77, 0, 9 };

/* What one round works with. */
struct round {
	struct mcdev d;
	uint8_t *mem;
	uint8_t pool[16], uuid[16];
	uint32_t buf, seg, id, gen;
	int efd;
	void *map;
	struct mc_grant g;
};

static struct round r;
static uint8_t other_pool[16];

/* ---- what must not change ---- */

static const char *const numbers[] = {
	MC_SYSFS "buffers", MC_SYSFS "pinned_bytes", MC_SYSFS "requests", MC_SYSFS "pools_quarantined",
	"/sys/module/mooncake/refcnt",
};
static const char *const dirs[] = { MC_SYSFS "pools", MC_SYSFS "rails", MC_SYSFS "peers", MC_SYSFS "segments" };

#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
#define N_DIRS (sizeof(dirs) / sizeof(dirs[0]))

struct counts { long long v[N_NUMBERS + N_DIRS]; };

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void count(struct counts *c)
{
	size_t i;

	for (i = 0; i < N_NUMBERS; i++)
		c->v[i] = mc_read_number(numbers[i]);
	for (i = 0; i < N_DIRS; i++)
		c->v[N_NUMBERS + i] = entries(dirs[i]);
}

/* Much ends in the background: wait for it. */
static bool same_counts(const struct counts *want)
{
	struct counts now;
	size_t i;
	int wait;

	for (wait = 0; wait < 1000 * mcdev_scale(); wait++) {
		count(&now);
		if (!memcmp(&now, want, sizeof(now)))
			return true;
		usleep(10000);
	}
	for (i = 0; i < N_NUMBERS + N_DIRS; i++)
		if (now.v[i] != want->v[i])
			printf("# %s is %lld, was %lld\n", i < N_NUMBERS ? numbers[i] : dirs[i - N_NUMBERS], now.v[i],
			       want->v[i]);
	return false;
}

/* ---- injectors ---- */

struct injector {
	const char *name;
	bool exact;
	void (*arm)(int n);
	bool (*fired)(void);	/* and disarm */
};

static void hook_arm(int n)
{
	if (mcnl_fault_set("my_alloc", (uint64_t)n))
		abort();
}

static bool hook_fired(void)
{
	char line[64], name[32];
	long long left = -1, v;
	FILE *f = fopen(HOOKS, "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%31s %lld", name, &v) == 2 && !strcmp(name, "my_alloc"))
			left = v;
	if (f)
		fclose(f);
	if (left < 0)
		abort();
	hook_arm(0);
	return !left;
}

static int nth_fd = -1;

/* The call that disarms may be the one that is hit: then nothing is armed any more. */
static void nth_write(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n), tries;

	for (tries = 0; tries < 2; tries++)
		if (pwrite(nth_fd, text, (size_t)len, 0) == len)
			return;
	abort();
}

/* A read that fails was hit itself: the command ran through. */
static bool nth_fired(void)
{
	char text[16] = "";
	ssize_t n = pread(nth_fd, text, sizeof(text) - 1, 0);

	nth_write(0);
	return n > 0 && atoi(text) == 0;
}

static const struct injector hook = { "hook", true, hook_arm, hook_fired };
static const struct injector nth = { "fail-nth", false, nth_write, nth_fired };

/* ---- commands ---- */

static int seg_open(int fd, uint32_t *id)
{
	return mcdev_seg_open(fd, node_uuid, r.pool, 0, id, NULL);
}

static int do_open(void)
{
	r.efd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	return r.efd < 0 ? -errno : 0;
}

static int do_info(void)
{
	struct mc_info i = { .size = sizeof(i) };

	return mc_ioctl(r.d.fd, MC_IOC_INFO, &i);
}

/* On a file of their own: after an EFAULT for the answer what was made goes with the file. */
static int do_buf_reg(void) { return mcdev_reg(r.efd, r.mem + MB, 3 * 4096, &r.id); }
static int do_seg_open(void) { return seg_open(r.efd, &r.id); }
static int do_buf_unreg(void) { return mcdev_unreg(r.d.fd, r.buf); }
static int do_seg_close(void) { return mcdev_seg_close(r.d.fd, r.seg); }

static int do_ring_setup(void)
{
	struct mc_ring_setup s = { .size = sizeof(s), .sq_entries = 64, .cq_entries = 64 };

	return mc_ioctl(r.efd, MC_IOC_RING_SETUP, &s);
}

static int do_mmap(void)
{
	r.map = mmap(NULL, r.d.sq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r.d.fd, MC_OFF_SQ);
	return r.map == MAP_FAILED ? -errno : 0;
}

/* The requests carry the failure: the call itself succeeds unless its argument can't be copied. */
static int do_enter(void)
{
	struct mc_sqe read = mcdev_sqe(MC_OP_READ, r.buf, 0, r.seg, 0, 8192, 2);
	struct mc_sqe write = mcdev_sqe(MC_OP_WRITE, r.buf, 0, r.seg, 0, 8192, 1);
	struct mc_cqe cqe;
	int ret, bad = 0, seen = 0;

	mcdev_push(&r.d, &write);
	mcdev_push(&r.d, &read);
	ret = mcdev_enter(&r.d, 2, 2, 20 * SEC, NULL);
	while (mcdev_pop(&r.d, &cqe)) {
		bad = cqe.result ? cqe.result : bad;
		seen++;
	}
	return ret ? ret : seen != 2 ? -ENODATA : bad;
}

static int grant_add(int fd)
{
	return mcgrant_add(fd, &r.g, &r.id);
}

static int do_grant_add(void) { return grant_add(r.efd); }
static int do_grant_del(void) { return mcgrant_del(r.d.fd, r.id); }

static int do_map(void)
{
	r.map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, r.d.fd, (off_t)MC_OFF_GRANT(r.id));
	return r.map == MAP_FAILED ? -errno : 0;
}

static int do_buf_reg_batch(void)
{
	struct mc_buf_item items[3] = { 0 };
	uint32_t i, at;

	for (i = 0; i < 3; i++) {
		items[i].addr = (uintptr_t)r.mem + MB + i * 16384ull;
		items[i].len = 8192;
	}
	return mcdev_reg_batch(r.efd, items, 3, &at);
}

static int do_export(void) { return mcdev_export(r.efd, r.buf, "nth", MC_RIGHT_READ, NULL); }
static int do_unexport(void) { return mcdev_unexport(r.efd, r.uuid); }

/* Of the request that need_request() has begun; it may be over by now. */
static int do_cancel(void)
{
	struct mc_cancel c = { .size = sizeof(c), .flags = MC_CANCEL_ALL };
	int ret = mc_ioctl(r.d.fd, MC_IOC_CANCEL, &c);

	return ret == -ENOENT ? 0 : ret;
}

static int do_batch(void)
{
	struct mc_batch_info b = { .size = sizeof(b), .batch = 7 };

	return mc_ioctl(r.d.fd, MC_IOC_BATCH, &b);
}

static int do_eventfd(void)
{
	struct mc_eventfd e = { .size = sizeof(e), .fd = r.efd };

	return mc_ioctl(r.d.fd, MC_IOC_EVENTFD, &e);
}

static int simple(int cmd)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, cmd);
	return mcnl_call(&m);
}

static int do_info_get(void) { return simple(MC_CMD_INFO_GET); }
static int do_node_set(void) { return mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE); }
static int do_key_set(void) { return mcnl_key_set(r.gen, (const uint8_t *)"0123456789abcdef0123456789abcdef"); }

static int do_clock_set(void)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_CLOCK_SET);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_EPOCH, 1);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_OFFSET, 2);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_ERROR, 3);
	return mcnl_call(&m);
}

static int do_pool_create(void) { return mcnl_pool_create("nth", 4 * 4096, 0, other_pool); }
static int do_pool_destroy(void) { return mcnl_pool_destroy(other_pool); }
static int do_fault_set(void) { return mcnl_fault_set("flip_byte", 0); }
static int do_pool_get(void) { return mcnl_dump(MC_CMD_POOL_GET, NULL, NULL); }
static int do_buf_get(void) { return mcnl_dump(MC_CMD_BUF_GET, NULL, NULL); }
static int do_client_get(void) { return mcnl_dump(MC_CMD_CLIENT_GET, NULL, NULL); }
static int do_rail_get(void) { return mcnl_dump(MC_CMD_RAIL_GET, NULL, NULL); }
static int do_seg_get(void) { return mcnl_dump(MC_CMD_SEG_GET, NULL, NULL); }
static int do_stat_get(void) { return mcnl_dump(MC_CMD_STAT_GET, NULL, NULL); }
static int do_peer_get(void) { return mcnl_dump(MC_CMD_PEER_GET, NULL, NULL); }

static uint32_t rail_id;

static int do_rail_add(void)
{
	static struct mcnl_msg m;
	int ret;

	mcnl_begin(&m, MC_CMD_RAIL_ADD);
	mcnl_put_str(&m, MC_ATTR_DEV_NAME, "rxe0");
	mcnl_put(&m, MC_ATTR_ADDR, addr, sizeof(addr));
	ret = mcnl_call(&m);
	if (!ret && mcnl_attr(&m, MC_ATTR_RAIL_ID, &rail_id, 4) != 4)
		ret = -EPROTO;
	return ret;
}

static int do_rail_del(void)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_RAIL_DEL);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, rail_id);
	return mcnl_call(&m);
}

static int do_rail_set(void)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_RAIL_SET);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, rail_id);
	mcnl_put_u32(&m, MC_ATTR_SLICE_BYTES, 65536);
	return mcnl_call(&m);
}

static int do_peer_set(void)
{
	static struct mcnl_msg m;
	int all, one;

	mcnl_begin(&m, MC_CMD_PEER_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, peer_uuid, 16);
	all = mcnl_nest(&m, MC_ATTR_RAILS);
	one = mcnl_nest(&m, MC_ATTR_RAIL);
	mcnl_put(&m, MC_ATTR_ADDR, peer_addr, sizeof(peer_addr));
	mcnl_nest_end(&m, one);
	mcnl_nest_end(&m, all);
	return mcnl_call(&m);
}

static int do_peer_del(void)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_PEER_DEL);
	mcnl_put(&m, MC_ATTR_NODE_UUID, peer_uuid, 16);
	return mcnl_call(&m);
}

/* ---- what a command needs before, and what takes away what it made ---- */

static void need_file(void) { r.efd = open("/dev/mooncake", O_RDWR | O_CLOEXEC); }
static void need_eventfd(void) { r.efd = eventfd(0, EFD_CLOEXEC); }
static void drop_fd(void) { close(r.efd); r.efd = -1; }
static void need_buf(void) { mcdev_reg(r.d.fd, r.mem + 2 * MB, 8192, &r.buf); }
static void need_grant(void)
{
	if (mcgrant_clock_own() || mcgrant_make(&r.g, r.pool, 8192, MC_GRANT_R | MC_GRANT_W))
		abort();
}

/* The newest generation that the node has: an older one than two that other programs left here would be ESTALE. */
static void need_gen(void)
{
	static struct mcnl_msg m;

	r.gen = 0;
	mcnl_begin(&m, MC_CMD_INFO_GET);
	if (mcnl_call(&m) || mcnl_attr(&m, MC_ATTR_KEY_GEN, &r.gen, 4) != 4)
		abort();
	if (!r.gen)
		r.gen = 7;
}

static void need_seg(void) { need_grant(); seg_open(r.d.fd, &r.seg); }
static void need_file_and_grant(void) { need_file(); need_grant(); }
static void need_loaded(void) { need_grant(); grant_add(r.d.fd); }
static void drop_map_and_grant(void) { munmap(r.map, 8192); do_grant_del(); }
static void need_both(void) { need_buf(); need_seg(); }

/* The call may have failed before it took the entries, or with completions not taken. */
static void drop_both(void)
{
	struct mc_cqe cqe;

	mcdev_enter(&r.d, 2, 0, 0, NULL);
	mc_wait_number(MC_SYSFS "requests", 0, 10000);
	while (mcdev_pop(&r.d, &cqe))
		;
	mcdev_unreg(r.d.fd, r.buf);
	mcdev_seg_close(r.d.fd, r.seg);
}

/* A file of its own with a buffer, exported or not: closing it takes everything away. */
static void need_file_and_buf(void)
{
	need_file();
	mcdev_reg(r.efd, r.mem + MB, 8192, &r.buf);
}

static void need_exported(void)
{
	struct mc_seg_export out;

	need_file_and_buf();
	if (!mcdev_export(r.efd, r.buf, "nth", MC_RIGHT_READ, &out))
		memcpy(r.uuid, out.out_seg_uuid, 16);
}

/* A request of batch 7, under way for a while. */
static void need_request(void)
{
	struct mc_sqe write;

	need_both();
	write = mcdev_sqe(MC_OP_WRITE, r.buf, 0, r.seg, 0, 8192, 1);
	write.batch = 7;
	mcdev_push(&r.d, &write);
	mcdev_enter(&r.d, 1, 0, 0, NULL);
}

static void drop_map(void) { munmap(r.map, r.d.sq_bytes); }

static void find_pool(const struct nlmsghdr *h, void *arg)
{
	char name[64] = "";

	(void)arg;
	if (mcnl_get(h, MC_ATTR_NAME, name, sizeof(name)) == 4 && !strcmp(name, "nth"))
		mcnl_get(h, MC_ATTR_SEG_UUID, other_pool, 16);
}

static void find_rail(const struct nlmsghdr *h, void *arg)
{
	(void)arg;
	mcnl_get(h, MC_ATTR_RAIL_ID, &rail_id, 4);
}

static void drop_pool(void)
{
	mcnl_dump(MC_CMD_POOL_GET, find_pool, NULL);
	do_pool_destroy();
}

static void drop_rail(void)
{
	mcnl_dump(MC_CMD_RAIL_GET, find_rail, NULL);
	do_rail_del();
}

static void need_pool(void) { do_pool_create(); }
static void need_rail(void) { do_rail_add(); }
static void need_peer(void) { do_peer_set(); }
static void drop_peer(void) { do_peer_del(); }

/**
 * struct command - one command
 * @name: for people
 * @fn: runs it
 * @need: before each round
 * @drop: takes away what it made or left; after a success, and with an inexact injector always
 */
struct command {
	const char *name;
	int (*fn)(void);
	void (*need)(void);
	void (*drop)(void);
};

static const struct command ioctls[] = {
	{ "open", do_open, NULL, drop_fd },
	{ "INFO", do_info, NULL, NULL },
	{ "BUF_REG", do_buf_reg, need_file, drop_fd },
	{ "BUF_UNREG", do_buf_unreg, need_buf, NULL },
	{ "SEG_OPEN", do_seg_open, need_file_and_grant, drop_fd },
	{ "SEG_CLOSE", do_seg_close, need_seg, NULL },
	{ "RING_SETUP", do_ring_setup, need_file, drop_fd },
	{ "ENTER", do_enter, need_both, drop_both },
	{ "EVENTFD", do_eventfd, need_eventfd, drop_fd },
	{ "BUF_REG_BATCH", do_buf_reg_batch, need_file, drop_fd },
	{ "SEG_EXPORT", do_export, need_file_and_buf, drop_fd },
	{ "SEG_UNEXPORT", do_unexport, need_exported, drop_fd },
	{ "CANCEL", do_cancel, need_request, drop_both },
	{ "BATCH", do_batch, need_request, drop_both },
	{ "mmap", do_mmap, NULL, drop_map },
	{ "GRANT_ADD", do_grant_add, need_file_and_grant, drop_fd },
	{ "GRANT_DEL", do_grant_del, need_loaded, NULL },
	{ "mmap of an extent", do_map, need_loaded, drop_map_and_grant },
};

static const struct command netlink[] = {
	{ "INFO_GET", do_info_get, NULL, NULL },
	{ "NODE_SET", do_node_set, NULL, NULL },
	{ "KEY_SET", do_key_set, need_gen, NULL },
	{ "CLOCK_SET", do_clock_set, NULL, NULL },
	{ "RAIL_ADD", do_rail_add, NULL, drop_rail },
	{ "RAIL_DEL", do_rail_del, need_rail, NULL },
	{ "RAIL_GET", do_rail_get, NULL, NULL },
	{ "RAIL_SET", do_rail_set, need_rail, drop_rail },
	{ "PEER_SET", do_peer_set, NULL, drop_peer },
	{ "PEER_DEL", do_peer_del, need_peer, NULL },
	{ "PEER_GET", do_peer_get, need_peer, drop_peer },
	{ "POOL_CREATE", do_pool_create, NULL, drop_pool },
	{ "POOL_DESTROY", do_pool_destroy, need_pool, NULL },
	{ "POOL_GET", do_pool_get, NULL, NULL },
	{ "BUF_GET", do_buf_get, NULL, NULL },
	{ "CLIENT_GET", do_client_get, NULL, NULL },
	{ "FAULT_SET", do_fault_set, NULL, NULL },
	{ "STAT_GET", do_stat_get, NULL, NULL },
	{ "SEG_GET", do_seg_get, need_exported, drop_fd },
};

/* ---- the loop ---- */

static bool is_documented(const struct injector *in, int err)
{
	if (err == -ENOMEM)
		return true;
	/* Netlink's and the system call layer's own ways of saying it. */
	return !in->exact && (err == -EFAULT || err == -ENOBUFS || err == -EMFILE || err == -ENFILE || err == -EAGAIN ||
			      err == -EIO || err == -EMSGSIZE || err == -EINTR);
}

/* Returns how many failures were injected, or -1 after saying what is wrong. */
static int sweep(const struct injector *in, const struct command *c)
{
	struct counts start, before;
	int n, ret, failures = 0;

	count(&start);
	for (n = 1; n <= NTH_MAX; n++) {
		bool fired;

		if (c->need)
			c->need();
		count(&before);
		in->arm(n);
		ret = c->fn();
		fired = in->fired();
		failures += fired;
		if (!fired && ret) {
			printf("# %s %s: error %d without a failure injected\n", in->name, c->name, ret);
			return -1;
		}
		if (ret && !is_documented(in, ret)) {
			printf("# %s %s: allocation %d: error %d is not documented\n", in->name, c->name, n, ret);
			return -1;
		}
		if (ret && in->exact && !same_counts(&before)) {
			printf("# %s %s: allocation %d: error %d changed something\n", in->name, c->name, n, ret);
			return -1;
		}
		/* What needs something before is undone by success, or by hand. */
		if (c->drop && (!ret || !in->exact || c->need))
			c->drop();
		if (c->need && !c->drop && ret)
			c->fn();
		if (!same_counts(&start)) {
			printf("# %s %s: allocation %d: not all came back\n", in->name, c->name, n);
			return -1;
		}
		if (!fired)
			break;
	}
	printf("# %s %s: %d failures\n", in->name, c->name, failures);
	return n <= NTH_MAX ? failures : -1;
}

static int sweep_all(const struct injector *in, const struct command *c, size_t n)
{
	int failures = 0, one;
	size_t i;

	for (i = 0; i < n; i++) {
		one = sweep(in, &c[i]);
		if (one < 0)
			return -1;
		failures += one;
	}
	return failures;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		printf("# %s can't be set\n", path);
	if (fd >= 0)
		close(fd);
}

FIXTURE(failnth) { int unused; };
FIXTURE_SETUP(failnth)
{
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcdev_open(&r.d, 8, 8));
	r.mem = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)r.mem);
	memset(r.mem, 1, 4 * MB);
	ASSERT_EQ(0, mcnl_pool_create("base", MB, 0, r.pool));
	r.efd = -1;
}
FIXTURE_TEARDOWN(failnth)
{
	mcdev_close(&r.d);
	EXPECT_EQ(0, mcnl_pool_destroy(r.pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 10000));
}

TEST_F_TIMEOUT(failnth, C49_each_ioctl_undoes_itself, 240)
{
	EXPECT_GE(sweep_all(&hook, ioctls, sizeof(ioctls) / sizeof(ioctls[0])), 12);
}

TEST_F_TIMEOUT(failnth, C49_each_netlink_command_undoes_itself, 240)
{
	EXPECT_GE(sweep_all(&hook, netlink, sizeof(netlink) / sizeof(netlink[0])), 15);
}

static bool nth_ready(void)
{
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	return nth_fd >= 0;
}

TEST_F_TIMEOUT(failnth, kernel_fail_nth_of_each_ioctl, 1200)
{
	if (!nth_ready() && !mc_debug_kernel())
		SKIP(return, "Debian's kernel has no fault injection");
	ASSERT_LE(0, nth_fd);
	EXPECT_GE(sweep_all(&nth, ioctls, sizeof(ioctls) / sizeof(ioctls[0])), 40);
}

TEST_F_TIMEOUT(failnth, kernel_fail_nth_of_each_netlink_command, 1200)
{
	if (!nth_ready() && !mc_debug_kernel())
		SKIP(return, "Debian's kernel has no fault injection");
	ASSERT_LE(0, nth_fd);
	EXPECT_GE(sweep_all(&nth, netlink, sizeof(netlink) / sizeof(netlink[0])), 40);
}

TEST_HARNESS_MAIN
