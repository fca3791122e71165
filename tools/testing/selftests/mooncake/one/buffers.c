// SPDX-License-Identifier: MIT
/* Registration: what is accepted, what is refused, who pays, and that handles can't be confused. */
#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcmem.h"
#include "mcnl.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/socket.h>

#define MB (1ull << 20)

static const uint8_t node_uuid[16] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 1, 2, 3, 4, 5, 6, 7 };
static const uint8_t cluster[16] = { 9 };

FIXTURE(file) { int fd; uint8_t *mem; };
FIXTURE_SETUP(file)
{
	self->fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	self->mem = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
}
FIXTURE_TEARDOWN(file)
{
	close(self->fd);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 10000));
}

static long long pinned(void)
{
	return mc_read_number(MC_SYSFS "pinned_bytes");
}

TEST_F(file, C48_unregister_tells_the_truth)
{
	int other = open("/dev/mooncake", O_RDWR);
	uint32_t id, foreign;

	ASSERT_EQ(0, mcdev_reg(self->fd, self->mem, MB, &id));
	ASSERT_EQ(0, mcdev_reg(other, self->mem, MB, &foreign));
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, 0));
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, ~0u));
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, id + 1));
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, id ^ (1u << 20)));
	EXPECT_EQ(0, mcdev_unreg(self->fd, id));
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, id));
	/* The other file's handle may have the same number; it must still be there. */
	EXPECT_EQ(0, mcdev_unreg(other, foreign));
	close(other);
}

TEST_F(file, C48_unregister_with_a_transfer_in_flight)
{
	struct mcdev d;
	uint32_t buf, seg, i;
	uint8_t pool[16];
	struct mc_cqe c;

	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcnl_pool_create("inflight", 4 * MB, 0, pool));
	ASSERT_EQ(0, mcdev_open(&d, 8, 8));
	ASSERT_EQ(0, mcdev_reg(d.fd, self->mem, 4 * MB, &buf));
	ASSERT_EQ(0, mcdev_seg_open(d.fd, node_uuid, pool, 0, &seg, NULL));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 10));
	for (i = 0; i < 4; i++) {
		struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, buf, i * MB, seg, i * MB, MB, i);

		mcdev_push(&d, &e);
	}
	ASSERT_EQ(0, mcdev_enter(&d, 4, 0, 0, NULL));
	ASSERT_EQ(0, mcdev_unreg(d.fd, buf));
	EXPECT_EQ(4 * MB, pinned());		/* pages stay until the requests have ended */
	ASSERT_EQ(-ENOENT, mcdev_unreg(d.fd, buf));
	ASSERT_EQ(0, mcdev_enter(&d, 0, 4, 30 * SEC, NULL));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, mcdev_pop(&d, &c));
		EXPECT_TRUE((c.result == 0 && c.bytes == MB) || c.result == -ECANCELED);
	}
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 0));
	mcdev_close(&d);
	ASSERT_EQ(0, mcnl_pool_destroy(pool));
}

TEST_F(file, C48_register_refuses_bad_ranges)
{
	uint8_t *ro = mmap(NULL, MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t id;

	EXPECT_EQ(-EINVAL, mcdev_reg(self->fd, self->mem, 0, &id));
	EXPECT_EQ(-EINVAL, mcdev_reg(self->fd, self->mem, ~0ull, &id));
	EXPECT_EQ(-EINVAL, mcdev_reg(self->fd, (void *)~0xfffull, 8192, &id));
	EXPECT_EQ(-EINVAL, mcdev_reg(self->fd, (void *)~0xfffull, 4096, &id));
	EXPECT_EQ(-EINVAL, mcdev_reg(self->fd, self->mem, MC_MAX_BUF_LEN + 1, &id));
	EXPECT_EQ(-EFAULT, mcdev_reg(self->fd, ro, MB, &id));
	ASSERT_EQ(0, munmap(self->mem + MB, 4096));
	EXPECT_EQ(-EFAULT, mcdev_reg(self->fd, self->mem, 4 * MB, &id));
	EXPECT_EQ(0, pinned());
	EXPECT_EQ(0, mcdev_reg(self->fd, self->mem, MB, &id));
	EXPECT_EQ(MB, pinned());
}

TEST_F(file, C46_overlap_is_EEXIST)
{
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	uint8_t *m = self->mem;
	uint32_t id[3], extra;
	int i, other;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, mcdev_reg(self->fd, m + 100, 2 * MB - 100, &id[0]));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m + MB, 2 * MB, &extra));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m + 100, 2 * MB - 100, &extra));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m, 4 * MB, &extra));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m + 200, 1, &extra));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m + 2 * MB - 1, 1, &extra));
		EXPECT_EQ(-EEXIST, mcdev_reg(self->fd, m, 101, &extra));
		EXPECT_EQ(2 * MB, pinned());
		/* Touching is not overlapping, on a page that is shared either. */
		ASSERT_EQ(0, mcdev_reg(self->fd, m, 100, &id[1]));
		ASSERT_EQ(0, mcdev_reg(self->fd, m + 2 * MB, MB, &id[2]));
		EXPECT_EQ(3 * MB + 4096, pinned());
		EXPECT_EQ(0, mcdev_unreg(self->fd, id[orders[i][0]]));
		EXPECT_EQ(0, mcdev_unreg(self->fd, id[orders[i][1]]));
		EXPECT_EQ(0, mcdev_unreg(self->fd, id[orders[i][2]]));
		EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	}
	/* Another file of the same process has ranges of its own. */
	other = open("/dev/mooncake", O_RDWR);
	ASSERT_EQ(0, mcdev_reg(self->fd, m, MB, &id[0]));
	EXPECT_EQ(0, mcdev_reg(other, m, MB, &id[1]));
	close(other);
}

TEST_F(file, batch_is_all_or_nothing)
{
	static struct mc_buf_item it[MC_MAX_BUF_BATCH + 1] __attribute__((aligned(4096)));
	uint32_t index, id, i;

	for (i = 0; i <= MC_MAX_BUF_BATCH; i++)
		it[i] = (struct mc_buf_item){ (uintptr_t)self->mem + (1023 - i % 1024) * 4096ull, 4096, 0, 0 };
	EXPECT_EQ(-EINVAL, mcdev_reg_batch(self->fd, it, 0, &index));
	EXPECT_EQ(-E2BIG, mcdev_reg_batch(self->fd, it, MC_MAX_BUF_BATCH + 1, &index));
	EXPECT_EQ(-E2BIG, mcdev_reg_batch(self->fd, it, 300000, &index));
	EXPECT_EQ(-E2BIG, mcdev_reg_batch(self->fd, it, ~0u, &index));
	EXPECT_EQ(-EFAULT, mcdev_reg_batch(self->fd, NULL, 4, &index));
	ASSERT_EQ(0, mcdev_reg_batch(self->fd, it, MC_MAX_BUF_BATCH, &index));
	EXPECT_EQ(MC_MAX_BUF_BATCH, index);
	EXPECT_EQ(4 * MB, pinned());
	for (i = 0; i < MC_MAX_BUF_BATCH; i++)
		ASSERT_EQ(0, mcdev_unreg(self->fd, it[i].out_id));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 5000));
	/* The first error by number, before anything is pinned. */
	it[700].len = 0;
	it[800].len = 0;
	EXPECT_EQ(-EINVAL, mcdev_reg_batch(self->fd, it, 1024, &index));
	EXPECT_EQ(700, index);
	it[700].len = it[800].len = 4096;
	/* Against each other: one byte too many. */
	it[5].len++;
	EXPECT_EQ(-EEXIST, mcdev_reg_batch(self->fd, it, 1024, &index));
	EXPECT_EQ(5, index);
	it[5].len--;
	/* Against what is registered, and a hole: what came before is taken back. */
	ASSERT_EQ(0, mcdev_reg(self->fd, (void *)(uintptr_t)it[900].addr, 1, &id));
	EXPECT_EQ(-EEXIST, mcdev_reg_batch(self->fd, it, 1024, &index));
	EXPECT_EQ(900, index);
	EXPECT_EQ(4096, pinned());
	ASSERT_EQ(0, mcdev_unreg(self->fd, id));
	ASSERT_EQ(0, munmap((void *)(uintptr_t)it[1000].addr, 4096));
	EXPECT_EQ(-EFAULT, mcdev_reg_batch(self->fd, it, 1024, &index));
	EXPECT_EQ(1000, index);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	EXPECT_EQ(0, mc_read_number(MC_SYSFS "buffers"));
	/* Failures in the middle of the work. */
	for (i = 1; i < 30; i += 7) {
		ASSERT_EQ(0, mcnl_fault_set("pin", i));
		EXPECT_EQ(-ENOMEM, mcdev_reg_batch(self->fd, it, 1000, &index));
		EXPECT_EQ(i - 1, index);
		EXPECT_EQ(0, pinned());
	}
	ASSERT_EQ(0, mcnl_fault_set("pin", 0));
	/* Handles that can't be told to the caller are not kept. */
	ASSERT_EQ(0, mprotect(it, sizeof(it) & ~4095ul, PROT_READ));
	EXPECT_EQ(-EFAULT, mcdev_reg_batch(self->fd, it, 1000, &index));
	ASSERT_EQ(0, mprotect(it, sizeof(it) & ~4095ul, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	EXPECT_EQ(0, mcdev_reg_batch(self->fd, it, 1000, &index));
}

TEST_F(file, kinds_of_memory)
{
	int memfd = (int)syscall(SYS_memfd_create, "m", 0);
	int file = open("/tmp/mc-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int disk = open("/mnt/share/mc-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint8_t *p;
	uint32_t id;

	ASSERT_EQ(0, ftruncate(memfd, MB));
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	EXPECT_EQ(0, mcdev_reg(self->fd, p, MB, &id));
	ASSERT_EQ(0, ftruncate(file, MB));	/* /tmp is tmpfs: shmem as well */
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	EXPECT_EQ(0, mcdev_reg(self->fd, p, MB, &id));
	ASSERT_EQ(0, ftruncate(disk, MB));
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, disk, 0);
	EXPECT_EQ(-EOPNOTSUPP, mcdev_reg(self->fd, p, MB, &id));
	unlink("/mnt/share/mc-file");
	unlink("/tmp/mc-file");
	/* Any start and length. */
	EXPECT_EQ(0, mcdev_reg(self->fd, self->mem + 4095, 2, &id));
	EXPECT_EQ(0, mcdev_reg(self->fd, self->mem + 1, 1, &id));
}

TEST_F(file, hugetlb_memory)
{
	uint8_t *p;
	uint32_t id;

	NEEDS("hugetlb");
	ASSERT_TRUE(mcmem_huge_pages(1));
	p = mmap(NULL, 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)p);
	EXPECT_EQ(0, mcdev_reg(self->fd, p, 2 * MB, &id));
	EXPECT_EQ(0, mcdev_unreg(self->fd, id));
	munmap(p, 2 * MB);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	mcmem_huge_pages(0);
	EXPECT_EQ(0, mc_wait_number("/proc/sys/vm/nr_hugepages", 0, 5000));
}

TEST_F(file, memlock_limit_is_kept)
{
	struct rlimit r = { MB, MB };
	uint32_t a, b;
	int fd;

	ASSERT_EQ(0, chmod("/dev/mooncake", 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &r));
	ASSERT_EQ(0, setgid(65533));
	ASSERT_EQ(0, setuid(65533));
	fd = open("/dev/mooncake", O_RDWR);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-ENOMEM, mcdev_reg(fd, self->mem, MB + 1, &a));
	EXPECT_EQ(0, pinned());
	EXPECT_EQ(0, mcdev_reg(fd, self->mem, MB, &a));
	EXPECT_EQ(-ENOMEM, mcdev_reg(fd, self->mem + 2 * MB, 1, &b));
	EXPECT_EQ(0, mcdev_unreg(fd, a));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
	EXPECT_EQ(0, mcdev_reg(fd, self->mem + 2 * MB, 1, &b));
	close(fd);
}

TEST_F(file, failures_in_the_middle_pin_nothing)
{
	uint32_t id;
	int n;

	for (n = 1; n <= 2; n++) {
		ASSERT_EQ(0, mcnl_fault_set("pin", n));
		EXPECT_EQ(-ENOMEM, mcdev_reg(self->fd, self->mem, 4 * MB, &id));
		EXPECT_EQ(0, pinned());
	}
	ASSERT_EQ(0, mcnl_fault_set("pin", 0));
	for (n = 1; n < 10; n++) {
		ASSERT_EQ(0, mcnl_fault_set("alloc", n));
		if (!mcdev_reg(self->fd, self->mem, 4 * MB, &id))
			break;
		EXPECT_EQ(0, pinned());
	}
	EXPECT_EQ(3, n);	/* the buffer, its pages' owner; the third succeeds */
	ASSERT_EQ(0, mcnl_fault_set("alloc", 0));
}

TEST_F_TIMEOUT(file, C61_stale_handles_are_never_another_buffer, 120)
{
	int rounds = mc_rounds(1000000, 20000), i;
	uint32_t id, old[64] = { 0 };

	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, mcdev_reg(self->fd, self->mem + (i & 7) * 4096, 100, &id));
		ASSERT_NE(0, id);
		ASSERT_NE(id, old[i & 63]);
		if (i >= 64)
			ASSERT_EQ(-ENOENT, mcdev_unreg(self->fd, old[i & 63]));
		ASSERT_EQ(0, mcdev_unreg(self->fd, id));
		old[i & 63] = id;
	}
}

TEST_F(file, C61_stale_segment_handle)
{
	uint8_t pool[16];
	uint32_t a, b;

	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcnl_pool_create("handles", MB, 0, pool));
	ASSERT_EQ(0, mcdev_seg_open(self->fd, node_uuid, pool, 0, &a, NULL));
	ASSERT_EQ(0, mcdev_seg_close(self->fd, a));
	EXPECT_EQ(-ENOENT, mcdev_seg_close(self->fd, a));
	ASSERT_EQ(0, mcdev_seg_open(self->fd, node_uuid, pool, 0, &b, NULL));
	EXPECT_NE(a, b);
	EXPECT_EQ(-ENOENT, mcdev_unreg(self->fd, b));	/* another kind of handle */
	ASSERT_EQ(0, mcnl_pool_destroy(pool));
}

TEST_F(file, unknown_nodes_are_EHOSTUNREACH)
{
	uint8_t other[16] = { 0xee }, seg[16] = { 1 };
	uint32_t id;

	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	EXPECT_EQ(-EHOSTUNREACH, mcdev_seg_open(self->fd, other, seg, SEC, &id, NULL));
	EXPECT_EQ(-ENOENT, mcdev_seg_open(self->fd, node_uuid, seg, SEC, &id, NULL));
}

/* The child leaves, in three ways; what the parent registered goes on working. */
TEST_F(file, C74_child_end_does_not_disturb_the_parent)
{
	uint32_t id;
	int how, status;

	ASSERT_EQ(0, mcdev_reg(self->fd, self->mem, MB, &id));
	for (how = 0; how < 3; how++) {
		pid_t pid = fork();

		if (!pid) {
			if (how == 0)
				close(self->fd);
			if (how == 1)
				raise(SIGKILL);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(MB, pinned());
	}
	EXPECT_EQ(0, mcdev_unreg(self->fd, id));
}

TEST_F(file, C74_parent_goes_first)
{
	int go[2], fd = self->fd;
	uint32_t id;
	pid_t holder;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, mcdev_reg(fd, self->mem, MB, &id));
	holder = fork();
	if (!holder) {
		char c;

		close(go[1]);
		if (read(go[0], &c, 1) != 0)	/* until the parent closes */
			_exit(1);
		/* The child has another address space: it may unregister, it may not register. */
		if (mcdev_reg(fd, self->mem, 4096, &(uint32_t){ 0 }) != -EACCES)
			_exit(2);
		_exit(mcdev_unreg(fd, id) ? 3 : 0);
	}
	close(fd);
	EXPECT_EQ(MB, pinned());
	close(go[1]);
	ASSERT_EQ(holder, waitpid(holder, &go[0], 0));
	EXPECT_EQ(0, WEXITSTATUS(go[0]));
	self->fd = -1;
}

TEST_F(file, C74_stranger_never_reaches_the_owners_addresses)
{
	int sv[2], status;
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid) {
		struct mc_enter e = { .size = sizeof(e), .to_submit = 1 };
		uint32_t id;
		int fd;

		close(self->fd);
		if (recvmsg(sv[1], &m, 0) != 1)
			_exit(1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		if (mcdev_reg(fd, self->mem, 4096, &id) != -EACCES)
			_exit(2);
		if (mc_ioctl(fd, MC_IOC_ENTER, &e) != -EINVAL)
			_exit(3);
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
			_exit(4);
		_exit(0);
	}
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &self->fd, sizeof(int));
	ASSERT_EQ(1, sendmsg(sv[0], &m, 0));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(file, too_many_buffers_is_ENOSPC)
{
	static uint32_t ids[MC_MAX_BUFFERS];
	uint32_t extra;
	int i;

	for (i = 0; i < MC_MAX_BUFFERS; i++)
		ASSERT_EQ(0, mcdev_reg(self->fd, self->mem + i, 1, &ids[i]));
	EXPECT_EQ(-ENOSPC, mcdev_reg(self->fd, self->mem + MB, 1, &extra));
	EXPECT_EQ(0, mcdev_unreg(self->fd, ids[7]));
	EXPECT_EQ(0, mcdev_reg(self->fd, self->mem + MB, 1, &extra));
}

TEST_HARNESS_MAIN
