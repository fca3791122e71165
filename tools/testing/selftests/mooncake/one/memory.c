// SPDX-License-Identifier: MIT
/*
 * Which memory can be registered: what is pinned counts against the user's limit (C-50), every kind of mapping works
 * byte by byte or is refused with its name (C-51), special addresses included (C-78).
 */
#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcmem.h"
#include "mcone.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MB (1ull << 20)
#define LEN (4 * MB)
#define NOBODY 65532
#define NO_NAMESPACE 199	/* no errno: this kernel gives users no namespaces */

/* ---- what the kernel says ---- */

static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	lseek(fd, 0, SEEK_END);
	return fd;
}

/* How many lines of the module came since the last call; the last one goes into @last. */
static int log_lines(int fd, char *last, size_t size)
{
	char text[2048];
	int n = 0;
	ssize_t got;

	*last = 0;
	while ((got = read(fd, text, sizeof(text) - 1)) > 0) {
		text[got] = 0;
		if (!strstr(text, ";mooncake: "))
			continue;
		snprintf(last, size, "%s", strstr(text, ";mooncake: ") + 1);
		n++;
	}
	return n;
}

/*
 * Registering fails with @want and the log says so in one line with @text in it. Lines are limited in their rate: if
 * there is none, again after a while. 0, or what was wrong.
 */
static int refused(int fd, int log, void *p, uint64_t len, int want, const char *text)
{
	char line[512];
	uint32_t id;
	int tries, ret, n;

	for (tries = 0; tries < 2; tries++) {
		log_lines(log, line, sizeof(line));
		ret = mcdev_reg(fd, p, len, &id);
		n = log_lines(log, line, sizeof(line));
		if (ret != want) {
			printf("# registering is %d, not %d; %s\n", ret, want, line);
			return 1;
		}
		if (n == 1 && strstr(line, text))
			return 0;
		if (n)
			break;
		sleep(6);
	}
	printf("# %d lines, '%s' instead of '%s'\n", n, line, text);
	return 1;
}

static long long pinned(void)
{
	return mc_read_number(MC_SYSFS "pinned_bytes");
}

/* ---- C-50 ---- */

FIXTURE(user) { uint8_t *mem; int log; };

FIXTURE_SETUP(user)
{
	struct rlimit r = { 8 * MB, RLIM_INFINITY };

	self->log = log_open();
	ASSERT_GE(self->log, 0);
	self->mem = mmap(NULL, 64 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mem);
	ASSERT_EQ(0, chmod("/dev/mooncake", 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &r));
	ASSERT_EQ(0, setgid(NOBODY));
	ASSERT_EQ(0, setuid(NOBODY));
}

FIXTURE_TEARDOWN(user)
{
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
}

static void limit(uint64_t bytes)
{
	struct rlimit r = { bytes, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &r);
}

/* The user's locked total, as the refusal of one page more than nothing tells it. */
static long long in_use(int log, void *page)
{
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	long long kib = -1;
	char line[512];
	uint32_t id;
	int tries;

	limit(0);
	for (tries = 0; tries < 2 && kib < 0; tries++) {
		if (tries)
			sleep(6);	/* lines are limited in their rate */
		log_lines(log, line, sizeof(line));
		if (mcdev_reg(fd, page, 4096, &id) == -ENOMEM && log_lines(log, line, sizeof(line)) == 1)
			sscanf(line, "mooncake: user 65532: RLIMIT_MEMLOCK 0 KiB, %lld in use, 4 wanted", &kib);
	}
	close(fd);
	return kib;
}

TEST_F(user, C50_the_refusal_names_the_limit)
{
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	uint32_t id;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, refused(fd, self->log, self->mem, 64 * MB, -ENOMEM,
			     "user 65532: RLIMIT_MEMLOCK 8192 KiB, 0 in use, 65536 wanted"));
	EXPECT_EQ(0, pinned());
	ASSERT_EQ(0, mcdev_reg(fd, self->mem, 8 * MB, &id));
	EXPECT_EQ(0, refused(fd, self->log, self->mem + 8 * MB, 1, -ENOMEM,
			     "user 65532: RLIMIT_MEMLOCK 8192 KiB, 8192 in use, 4 wanted"));
	ASSERT_EQ(0, mcdev_unreg(fd, id));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	limit(RLIM_INFINITY);
	EXPECT_EQ(0, mcdev_reg(fd, self->mem, 64 * MB, &id));
	EXPECT_EQ(64 * MB, pinned());
	close(fd);
}

/* In a child: what registering @bytes of its own memory through a file of its own, or @fd, returns. */
static int in_child(int fd, uint8_t *mem, uint64_t bytes, bool namespace, int hold)
{
	int status, ret, done[2];
	uint32_t id;
	pid_t pid;
	char c;

	if (pipe(done))
		return 1;
	pid = fork();
	if (!pid) {
		if (namespace && unshare(CLONE_NEWUSER))
			_exit(NO_NAMESPACE);
		if (fd < 0)
			fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
		ret = mcdev_reg(fd, mem, bytes, &id);
		close(done[1]);
		if (hold >= 0 && read(hold, &c, 1) < 0)
			_exit(198);
		_exit(-ret);
	}
	close(done[1]);
	if (read(done[0], &c, 1) < 0)	/* until it has tried */
		return 1;
	close(done[0]);
	if (hold >= 0)
		return pid;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

TEST_F(user, C50_no_way_around_the_limit)
{
	int a = open("/dev/mooncake", O_RDWR | O_CLOEXEC), b = open("/dev/mooncake", O_RDWR | O_CLOEXEC), go[2], status;
	uint32_t id[2];
	pid_t child;
	int ret;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, mcdev_reg(a, self->mem, 5 * MB, &id[0]));
	/* A second descriptor, for other and for the same memory. */
	EXPECT_EQ(-ENOMEM, mcdev_reg(b, self->mem + 8 * MB, 4 * MB, &id[1]));
	EXPECT_EQ(-ENOMEM, mcdev_reg(b, self->mem, 4 * MB, &id[1]));
	EXPECT_EQ(0, mcdev_reg(b, self->mem, MB, &id[1]));
	/* A child with a file of its own, in a user namespace of its own, with the parent's file. */
	EXPECT_EQ(-ENOMEM, in_child(-1, self->mem, 3 * MB, false, -1));
	ret = in_child(-1, self->mem, 3 * MB, true, -1);
	EXPECT_TRUE(ret == -ENOMEM || ret == -NO_NAMESPACE);
	EXPECT_EQ(-EACCES, in_child(a, self->mem, MB, false, -1));
	/* What a child holds counts for the parent too, until the child has gone. */
	child = in_child(-1, self->mem, 2 * MB, false, go[0]);
	ASSERT_LT(1, child);
	EXPECT_EQ(8 * MB, pinned());
	EXPECT_EQ(-ENOMEM, mcdev_reg(a, self->mem + 16 * MB, 1, &id[0]));
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 6 * MB, 10000));
	EXPECT_EQ(0, mcdev_reg(a, self->mem + 16 * MB, 2 * MB, &id[0]));
	EXPECT_EQ(-ENOMEM, mcdev_reg(a, self->mem + 32 * MB, 1, &id[0]));
	close(a);
	close(b);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, in_use(self->log, self->mem));
}

/* Of several that ask at the same time for more than half of it, one gets it. */
TEST_F(user, C50_a_race_for_the_limit)
{
	int i, k, go[2], status, ok;
	uint32_t id;
	char c;

	for (k = 0; k < 20; k++) {
		ASSERT_EQ(0, pipe(go));
		for (i = ok = 0; i < 4; i++) {
			int fd;

			if (fork())
				continue;
			close(go[1]);
			fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
			if (read(go[0], &c, 1) < 0)
				_exit(1);
			_exit(mcdev_reg(fd, self->mem, 5 * MB, &id) ? 0 : 2 + (pinned() > (long long)(8 * MB)));
		}
		close(go[0]);
		close(go[1]);
		for (i = 0; i < 4; i++) {
			ASSERT_LT(0, wait(&status));
			ASSERT_TRUE(status == 0 || WEXITSTATUS(status) == 2);
			ok += status != 0;
		}
		ASSERT_LE(1, ok);
		ASSERT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	}
}

TEST_F_TIMEOUT(user, C50_exit_gives_it_all_back, 200)
{
	int rounds = mc_long() ? 100 : 20, i, status;
	uint64_t len = mc_long() ? 64 * MB : 4 * MB;

	for (i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
			uint32_t id;

			limit(RLIM_INFINITY);
			if (mcdev_reg(fd, self->mem, len, &id))
				_exit(1);
			pid = fork();
			if (pid)
				waitpid(pid, &status, 0);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, in_use(self->log, self->mem));
}

/* ---- C-51, C-78 ---- */

FIXTURE(kind)
{
	struct mcdev d;
	uint8_t pool[16];
	uint32_t seg, own;
	uint8_t *mine;
	int log;
};

FIXTURE_SETUP(kind)
{
	self->log = log_open();
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcgrant_clock_own());
	ASSERT_EQ(0, mcnl_pool_create("kinds", LEN, 0, self->pool));
	ASSERT_EQ(0, mcdev_open(&self->d, 8, 8));
	ASSERT_EQ(0, mcdev_seg_open(self->d.fd, node_uuid, self->pool, 0, &self->seg, NULL));
	self->mine = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mine);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, self->mine, LEN, &self->own));
}

FIXTURE_TEARDOWN(kind)
{
	mcdev_close(&self->d);
	EXPECT_EQ(0, mcnl_pool_destroy(self->pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 10000));
}

static int move(struct mcdev *d, uint8_t op, uint32_t buf, uint32_t seg, uint64_t len)
{
	struct mc_sqe e = mcdev_sqe(op, buf, 0, seg, 0, len, 1);

	return mcdev_do(d, &e, 20 * SEC, NULL);
}

#define MOVE(op, buf, len) move(&self->d, op, buf, self->seg, len)

/* As source and as destination: every byte. Memory that can be written, up to LEN. */
#define EXACT(p, len) do { \
	uint32_t __id; \
	\
	ASSERT_EQ(0, mcdev_reg(self->d.fd, p, len, &__id)); \
	mc_fill(p, len, 7); \
	memset(self->mine, 0, LEN); \
	EXPECT_EQ(0, MOVE(MC_OP_WRITE, __id, len)); \
	EXPECT_EQ(0, MOVE(MC_OP_READ, self->own, len)); \
	EXPECT_EQ(0, memcmp(self->mine, p, len)); \
	mc_fill(self->mine, len, 8); \
	EXPECT_EQ(0, MOVE(MC_OP_WRITE, self->own, len)); \
	EXPECT_EQ(0, MOVE(MC_OP_READ, __id, len)); \
	EXPECT_EQ(0, memcmp(self->mine, p, len)); \
	EXPECT_EQ(0, mcdev_unreg(self->d.fd, __id)); \
} while (0)

#define REFUSED(p, len, err, text) EXPECT_EQ(0, refused(self->d.fd, self->log, p, len, err, text))

TEST_F(kind, C51_what_is_not_backed_by_a_disk_works)
{
	int memfd = (int)syscall(SYS_memfd_create, "m", 0), zero = open("/dev/zero", O_RDWR);
	uint8_t *p;

	ASSERT_EQ(0, ftruncate(memfd, MB));
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	EXACT(p, MB);
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd, 0);
	EXACT(p, MB);
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	EXACT(p, MB);
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
	EXACT(p, MB);
	EXACT(p + 4095, MB / 2 + 2);
	/* Beyond the end of the memory file there is nothing to pin. */
	p = mmap(NULL, 2 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	REFUSED(p, 2 * MB, -EFAULT, "a page of it can't be had");
	EXPECT_EQ(LEN, pinned());
}

TEST_F(kind, C51_files_are_refused)
{
	int disk = open("/mnt/share/mc-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint8_t *p;

	ASSERT_EQ(0, ftruncate(disk, MB));
	p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, disk, 0);
	ASSERT_NE(MAP_FAILED, (void *)p);
	REFUSED(p, MB, -EOPNOTSUPP, "a mapping of a file");
	/* A good beginning doesn't help; nothing of it stays pinned. */
	ASSERT_NE(MAP_FAILED, mmap(p, MB / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	REFUSED(p, MB, -EOPNOTSUPP, "a mapping of a file");
	EXPECT_EQ(LEN, pinned());
	EXACT(p, MB / 2);
	unlink("/mnt/share/mc-file");
}

TEST_F(kind, device_memory_is_refused)
{
	int mem = open("/dev/mem", O_RDWR | O_SYNC);
	uint8_t *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0xa0000);

	NEEDS("mmio");
	ASSERT_NE(MAP_FAILED, (void *)p);
	REFUSED(p, 65536, -EOPNOTSUPP, "a mapping of a device");
	REFUSED(p + 1, 1, -EOPNOTSUPP, "a mapping of a device");
	EXPECT_EQ(LEN, pinned());
}

TEST_F(kind, C51_hugetlb_works)
{
	uint8_t *p;

	NEEDS("hugetlb");
	ASSERT_TRUE(mcmem_huge_pages(2));
	p = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)p);
	EXACT(p, 4 * MB);
	EXACT(p + MB + 1, 2 * MB - 1);
	munmap(p, 4 * MB);
	/* Reserved pages go back to the pool with the last pin. */
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", LEN, 5000));
	mcmem_huge_pages(0);
	EXPECT_EQ(0, mc_wait_number("/proc/sys/vm/nr_hugepages", 0, 5000));
}

TEST_F(kind, C51_mappings_of_this_device_are_refused)
{
	struct mc_grant g;
	uint32_t grant;
	uint8_t *p;

	REFUSED(self->d.sq, 4096, -EOPNOTSUPP, "a mapping of this device");
	REFUSED((void *)self->d.cq, 4096, -EOPNOTSUPP, "a mapping of this device");
	ASSERT_EQ(0, mcgrant_make(&g, self->pool, 65536, MC_GRANT_R));
	ASSERT_EQ(0, mcgrant_add(self->d.fd, &g, &grant));
	p = mmap(NULL, 65536, PROT_READ, MAP_SHARED, self->d.fd, (off_t)MC_OFF_GRANT(grant));
	ASSERT_NE(MAP_FAILED, (void *)p);
	REFUSED(p, 65536, -EOPNOTSUPP, "a mapping of this device");
	/* What it shows can be put all the same: from memory of the process, like anything that can be read. */
	mc_fill(self->mine, 65536, 9);
	ASSERT_EQ(0, MOVE(MC_OP_WRITE, self->own, 65536));
	memset(self->mine, 0, 65536);
	memcpy(self->mine, p, 65536);
	ASSERT_EQ(0, MOVE(MC_OP_WRITE, self->own, 65536));
	EXPECT_EQ(0, memcmp(self->mine, p, 65536));
	EXPECT_EQ(LEN, pinned());
	munmap(p, 65536);
}

/* Start of a mapping by its name in /proc/self/maps, or NULL. */
static void *find_map(const char *name, size_t *len)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start = 0, from, to;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &from, &to) == 2) {
			start = from;
			*len = to - from;
		}
	if (f)
		fclose(f);
	return (void *)start;
}

TEST_F(kind, C78_vdso)
{
	size_t len = 0, vvar_len = 0;
	uint8_t *vdso = find_map("[vdso]", &len), *vvar = find_map("[vvar]", &vvar_len);
	uint32_t id;

	ASSERT_NE(NULL, (void *)vdso);
	REFUSED(vdso, 4096, -EFAULT, "the mapping is not writable");
	if (vvar)
		REFUSED(vvar, 4096, -EOPNOTSUPP, "a mapping of a device");
	/*
	 * Made writable, its page becomes the process' own when it is pinned. Nothing is written to it: it is code. A
	 * special mapping can't be split, so all of it.
	 */
	ASSERT_EQ(0, mprotect(vdso, len, PROT_READ | PROT_WRITE | PROT_EXEC));
	ASSERT_EQ(0, mcdev_reg(self->d.fd, vdso + 1, 4000, &id));
	EXPECT_EQ(0, MOVE(MC_OP_WRITE, id, 4000));
	EXPECT_EQ(0, MOVE(MC_OP_READ, self->own, 4000));
	EXPECT_EQ(0, memcmp(self->mine, vdso + 1, 4000));
}

TEST_F(kind, C78_holes_and_kernel_addresses)
{
	static const uint64_t kernel[] = { 0xffff888000000000, 0xffffffff81000000, 0xffffc90000000000,
					   0x8000000000000000, 0x0000800000000000, 0x00007ffffffff000, 0 };
	unsigned int i;
	uint32_t id;

	ASSERT_EQ(0, munmap(self->mine + MB, MB));
	ASSERT_EQ(0, mcdev_unreg(self->d.fd, self->own));
	REFUSED(self->mine, LEN, -EFAULT, "nothing is mapped there");
	REFUSED(self->mine + MB, 1, -EFAULT, "nothing is mapped there");
	for (i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		EXPECT_EQ(-EFAULT, mcdev_reg(self->d.fd, (void *)(uintptr_t)kernel[i], 4096, &id));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 5000));
}

/* A buffer's pages are the buffer's, whatever becomes of the mapping. */
TEST_F(kind, C78_unmapped_after_registration)
{
	uint8_t *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *want = malloc(MB);
	uint32_t id;

	mc_fill(p, MB, 3);
	memcpy(want, p, MB);
	ASSERT_EQ(0, mcdev_reg(self->d.fd, p, MB, &id));
	ASSERT_EQ(0, munmap(p, MB));
	EXPECT_EQ(0, MOVE(MC_OP_WRITE, id, MB));
	EXPECT_EQ(0, MOVE(MC_OP_READ, self->own, MB));
	EXPECT_EQ(0, memcmp(want, self->mine, MB));
	EXPECT_EQ(0, MOVE(MC_OP_READ, id, MB));
	free(want);
}

struct racer { uint8_t *page; volatile bool stop; };

static void *unmapper(void *arg)
{
	struct racer *r = arg;

	while (!r->stop) {
		munmap(r->page, 4096);
		sched_yield();
		mmap(r->page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		sched_yield();
	}
	return NULL;
}

TEST_F_TIMEOUT(kind, C78_unmapped_by_another_thread, 120)
{
	int rounds = mc_long() ? 5000 : 200, i, ret, seen[2] = { 0, 0 };
	uint8_t *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct racer r = { p + MB / 2, false };
	pthread_t t;
	uint32_t id;

	ASSERT_EQ(0, pthread_create(&t, NULL, unmapper, &r));
	for (i = 0; i < rounds; i++) {
		ret = mcdev_reg(self->d.fd, p, MB, &id);
		seen[!ret]++;
		if (ret) {
			ASSERT_EQ(-EFAULT, ret);
			continue;
		}
		p[i] = (uint8_t)i;
		ASSERT_EQ(0, MOVE(MC_OP_WRITE, id, MB));
		ASSERT_EQ(0, MOVE(MC_OP_READ, self->own, MB));
		ASSERT_EQ((uint8_t)i, self->mine[i]);
		ASSERT_EQ(0, mcdev_unreg(self->d.fd, id));
	}
	r.stop = true;
	pthread_join(t, NULL);
	printf("# %d refused, %d registered\n", seen[0], seen[1]);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", LEN, 10000));
}

TEST_F(kind, C78_userfaultfd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_copy copy = { .len = MB };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	uint8_t *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_API, &api));
	reg.range.start = (uintptr_t)p;
	reg.range.len = MB;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_REGISTER, &reg));
	/* Nobody answers: at once, not after a page that never comes. */
	REFUSED(p, MB, -EFAULT, "its userfaultfd has to provide a page");
	EXPECT_EQ(LEN, pinned());
	copy.src = (uintptr_t)self->mine;
	copy.dst = (uintptr_t)p;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_COPY, &copy));
	EXACT(p, MB);
}

TEST_HARNESS_MAIN
