// SPDX-License-Identifier: MIT
/* Rules that hold for every ioctl and for every netlink command. */
#include <linux/capability.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcnl.h"

struct call {
	const char *name;
	unsigned long cmd;	/* with the size of the newest structure */
	uint32_t size;		/* of the first version */
};

static const struct call calls[] = {
	{ "INFO", MC_IOC_INFO, offsetof(struct mc_info, max_buf_batch) },
	{ "BUF_REG", MC_IOC_BUF_REG, sizeof(struct mc_buf_reg) },
	{ "BUF_UNREG", MC_IOC_BUF_UNREG, sizeof(struct mc_handle) },
	{ "SEG_OPEN", MC_IOC_SEG_OPEN, sizeof(struct mc_seg_open) },
	{ "SEG_CLOSE", MC_IOC_SEG_CLOSE, sizeof(struct mc_handle) },
	{ "RING_SETUP", MC_IOC_RING_SETUP, sizeof(struct mc_ring_setup) },
	{ "ENTER", MC_IOC_ENTER, sizeof(struct mc_enter) },
	{ "EVENTFD", MC_IOC_EVENTFD, sizeof(struct mc_eventfd) },
	{ "CLIENT", MC_IOC_CLIENT, sizeof(struct mc_client) },
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static int fd;
static uint32_t page[2048];

static int call(const struct call *c, uint32_t size)
{
	page[0] = size;
	return mc_ioctl(fd, c->cmd, page);
}

FIXTURE(abi) { int unused; };
FIXTURE_SETUP(abi)
{
	fd = open("/dev/mooncake", O_RDWR);
	ASSERT_GE(fd, 0);
	memset(page, 0, sizeof(page));
}
FIXTURE_TEARDOWN(abi) { close(fd); }

TEST_F(abi, too_short_is_EINVAL)
{
	size_t i;
	uint32_t s;

	for (i = 0; i < N_CALLS; i++)
		for (s = 0; s < calls[i].size; s += 4) {
			memset(page, 0, sizeof(page));
			if (call(&calls[i], s) != -EINVAL)
				TH_LOG("%s size %u", calls[i].name, s);
			ASSERT_EQ(-EINVAL, call(&calls[i], s));
		}
}

TEST_F(abi, longer_with_zero_tail_is_the_same_call)
{
	size_t i;

	for (i = 0; i < N_CALLS; i++) {
		int want, got;

		memset(page, 0, sizeof(page));
		want = call(&calls[i], calls[i].size);
		memset(page, 0, sizeof(page));
		got = call(&calls[i], calls[i].size + 64);
		if (want != got)
			TH_LOG("%s", calls[i].name);
		EXPECT_EQ(want, got);
		EXPECT_NE(-E2BIG, got);
	}
}

TEST_F(abi, longer_with_nonzero_tail_is_E2BIG)
{
	size_t i;

	for (i = 0; i < N_CALLS; i++) {
		uint32_t newest = _IOC_SIZE(calls[i].cmd);

		memset(page, 0, sizeof(page));
		page[newest / 4 + 3] = 1;
		EXPECT_EQ(-E2BIG, call(&calls[i], newest + 64));
		memset(page, 0, sizeof(page));
		EXPECT_EQ(-E2BIG, call(&calls[i], 8000));
	}
}

TEST_F(abi, unreadable_argument_is_EFAULT)
{
	size_t i;

	for (i = 0; i < N_CALLS; i++) {
		EXPECT_EQ(-EFAULT, mc_ioctl(fd, calls[i].cmd, NULL));
		EXPECT_EQ(-EFAULT, mc_ioctl(fd, calls[i].cmd, (void *)~0xfffull));
	}
}

TEST_F(abi, unknown_commands_are_ENOTTY)
{
	EXPECT_EQ(-ENOTTY, mc_ioctl(fd, _IO(MC_IOC_MAGIC, 0x08), page));
	EXPECT_EQ(-ENOTTY, mc_ioctl(fd, _IO(MC_IOC_MAGIC, 0xff), page));
	EXPECT_EQ(-ENOTTY, mc_ioctl(fd, _IO(0xCB, 0), page));
	EXPECT_EQ(-ENOTTY, mc_ioctl(fd, _IO(MC_IOC_MAGIC, 0), page));
}

TEST_F(abi, reserved_fields_and_flags_are_EINVAL)
{
	struct mc_info info = { .size = sizeof(info), .resv = 1 };
	struct mc_buf_reg reg = { .size = sizeof(reg), .addr = (uintptr_t)page, .len = 1, .flags = 1 };
	struct mc_seg_open open = { .size = sizeof(open), .flags = 1u << 31 };
	struct mc_ring_setup ring = { .size = sizeof(ring), .flags = 2, .sq_entries = 1, .cq_entries = 1 };
	struct mc_enter enter = { .size = sizeof(enter), .flags = 4 };

	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_INFO, &info));
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_BUF_REG, &reg));
	reg.flags = 0;
	reg.resv = 1;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_BUF_REG, &reg));
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_SEG_OPEN, &open));
	open.flags = 0;
	open.timeout_ns = MC_MAX_TIMEOUT_NS + 1;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_SEG_OPEN, &open));
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &ring));
	ring.flags = 0;
	ring.resv[1] = 1;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &ring));
	ring.resv[1] = 0;
	EXPECT_EQ(0, mc_ioctl(fd, MC_IOC_RING_SETUP, &ring));
	EXPECT_EQ(-EEXIST, mc_ioctl(fd, MC_IOC_RING_SETUP, &ring));
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_ENTER, &enter));
}

TEST_F(abi, ring_sizes_are_checked)
{
	static const uint32_t bad[][2] = { { 0, 1 }, { 3, 4 }, { 4, 2 }, { 4, 6 },
					   { 1u << 16, 1u << 16 }, { 1, 1u << 17 },
					   { 1u << 31, 1u << 31 }, { ~0u, ~0u } };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mc_ring_setup r = { .size = sizeof(r), .sq_entries = bad[i][0], .cq_entries = bad[i][1] };

		EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_RING_SETUP, &r));
	}
}

TEST_F(abi, info_tells_the_limits)
{
	struct mc_info i = { .size = sizeof(i) };

	ASSERT_EQ(0, mc_ioctl(fd, MC_IOC_INFO, &i));
	EXPECT_EQ(MC_ABI_MAJOR, i.abi_major);
	EXPECT_EQ(MC_ABI_MINOR, i.abi_minor);
	EXPECT_TRUE(i.features & MC_FEAT_RDMA);
	EXPECT_TRUE(i.features & MC_FEAT_FAULT);	/* the tests' build */
	EXPECT_NE(0, i.instance);
	EXPECT_EQ(65536, i.slice_bytes);
	EXPECT_EQ(60 * SEC, i.default_timeout_ns);
	EXPECT_EQ(MC_MAX_REQ_LEN, i.max_req_len);
	EXPECT_EQ(MC_MAX_GRANTS, i.max_grants);
	/* Each of them is the file's of the same name. */
#define SAME(limit) EXPECT_EQ(mc_read_number(MC_SYSFS "limits/" #limit), (int64_t)i.limit)
	SAME(max_ring_entries);
	SAME(max_buffers);
	SAME(max_buf_batch);
	SAME(max_segments);
	SAME(max_exports);
	SAME(max_export_bufs);
	SAME(max_grants);
	SAME(max_grant_batch);
	SAME(max_batches_kept);
	SAME(max_buf_len);
	SAME(max_req_len);
	SAME(max_timeout_ns);
	SAME(slice_bytes);
	/* What the first call left in the structure is no reason to refuse the second. */
	EXPECT_EQ(0, mc_ioctl(fd, MC_IOC_INFO, &i));
}

/* Effective capability CAP_SYS_ADMIN on or off; it stays permitted. */
static int sys_admin(int on)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	d[0].effective = (d[0].effective & ~(1u << CAP_SYS_ADMIN)) | (on ? 1u << CAP_SYS_ADMIN : 0);
	return (int)syscall(SYS_capset, &h, d);
}

/* A socket that an unprivileged process opened does not become an administrator's in a privileged one's hands. */
TEST_F(abi, netlink_socket_keeps_its_openers_rights)
{
	struct timeval tv = { .tv_sec = 10 };
	uint8_t uuid[16] = { 1 };
	struct mcnl_msg m;
	struct nlmsghdr *h = (struct nlmsghdr *)m.buf;
	char buf[4096];
	int s;

	ASSERT_EQ(0, mcnl_resolve());
	ASSERT_EQ(0, sys_admin(0));
	s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	ASSERT_EQ(0, sys_admin(1));
	ASSERT_GE(s, 0);
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	mcnl_begin(&m, MC_CMD_POOL_DESTROY);
	mcnl_put(&m, MC_ATTR_SEG_UUID, uuid, sizeof(uuid));
	h->nlmsg_len = (uint32_t)m.len;
	h->nlmsg_type = (uint16_t)mcnl_family;
	ASSERT_EQ(m.len, send(s, m.buf, (size_t)m.len, 0));
	ASSERT_GT(recv(s, buf, sizeof(buf), 0), 0);
	h = (struct nlmsghdr *)buf;
	ASSERT_EQ(NLMSG_ERROR, h->nlmsg_type);
	EXPECT_EQ(-EPERM, ((struct nlmsgerr *)NLMSG_DATA(h))->error);
	EXPECT_EQ(-ENOENT, mcnl_pool_destroy(uuid));	/* on a socket of its own */
	close(s);
}

/* Refused at once: nobody is killed to make room for it. */
TEST_F(abi, pool_of_all_memory_is_ENOMEM)
{
	struct sysinfo si;
	uint8_t uuid[16];

	ASSERT_EQ(0, sysinfo(&si));
	EXPECT_EQ(-ENOMEM, mcnl_pool_create("all", si.totalram * si.mem_unit & ~4095ull, 0, uuid));
	EXPECT_TRUE(strstr(mcnl_error, "available") != NULL);
}

TEST_F(abi, netlink_needs_CAP_SYS_ADMIN)
{
	uint8_t uuid[16] = { 1 }, key[32] = { 1 };

	ASSERT_EQ(0, mcnl_resolve());
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	EXPECT_EQ(-EPERM, mcnl_node_set(uuid, uuid, MC_AUTH_NONE));
	EXPECT_EQ(-EPERM, mcnl_key_set(1, key));
	EXPECT_EQ(-EPERM, mcnl_pool_create("x", 4096, 0, uuid));
	EXPECT_EQ(-EPERM, mcnl_pool_destroy(uuid));
	EXPECT_EQ(-EPERM, mcnl_fault_set("pin", 1));
	EXPECT_TRUE(strstr(mcnl_error, "CAP_SYS_ADMIN") != NULL);
	EXPECT_EQ(-1, open("/dev/mooncake", O_RDWR));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(abi, pools_are_checked_and_named_errors)
{
	uint8_t uuid[16], other[16];

	EXPECT_EQ(-EINVAL, mcnl_pool_create("", 4096, 0, uuid));
	EXPECT_EQ(-EINVAL, mcnl_pool_create("p", 0, 0, uuid));
	EXPECT_EQ(-EINVAL, mcnl_pool_create("p", 5000, 0, uuid));
	EXPECT_TRUE(strstr(mcnl_error, "5000") != NULL);
	EXPECT_EQ(-EINVAL, mcnl_pool_create("p", 4096, 8192, uuid));
	EXPECT_TRUE(strstr(mcnl_error, "8192") != NULL);
	EXPECT_EQ(-EINVAL, mcnl_pool_create("p", 4096, 2 << 20, uuid));
	EXPECT_EQ(-ENOMEM, mcnl_pool_create("p", 1ull << 50, 0, uuid));
	EXPECT_EQ(-ENOMEM, mcnl_pool_create("p", ~4095ull, 0, uuid));
	ASSERT_EQ(0, mcnl_pool_create("p", 2 << 20, 2 << 20, uuid));
	EXPECT_EQ(-EEXIST, mcnl_pool_create("p", 4096, 0, other));
	EXPECT_TRUE(strstr(mcnl_error, "'p'") != NULL);
	EXPECT_EQ(0, mcnl_pool_destroy(uuid));
	EXPECT_EQ(-ENOENT, mcnl_pool_destroy(uuid));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
}

TEST_F(abi, allocation_failures_leave_nothing)
{
	uint8_t uuid[16];
	int n;

	for (n = 1; n < 20; n++) {
		ASSERT_EQ(0, mcnl_fault_set("alloc", n));
		if (mcnl_pool_create("sweep", 1 << 20, 0, uuid) == 0)
			break;
	}
	ASSERT_EQ(0, mcnl_fault_set("alloc", 0));
	EXPECT_GT(n, 2);
	ASSERT_EQ(0, mcnl_pool_destroy(uuid));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
}

TEST_F(abi, module_with_a_pool_stays)
{
	uint8_t uuid[16];

	close(fd);
	ASSERT_EQ(0, mcnl_pool_create("keeps", 1 << 20, 0, uuid));
	EXPECT_NE(0, system("rmmod mooncake 2>/dev/null"));
	ASSERT_EQ(0, mcnl_pool_destroy(uuid));
}

TEST_HARNESS_MAIN
