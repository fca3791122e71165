// SPDX-License-Identifier: MIT
/*
 * Processes with a large part of the machine's memory registered, however they end (C-71, C-72): three quarters with
 * full counts, one quarter else. The watchdogs are set to five seconds and to panic; a 1 ms timer on each processor
 * tells who kept it to himself.
 */
#include "kselftest_harness.h"
#include "mcdev.h"
#include "mcone.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#define MB (1ull << 20)
#define GB (1ull << 30)
#define POOL (4 * MB)

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static uint64_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = strtoull(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

/* Pages that are free, but on a processor's list: as many as the low watermark, 50 MiB and more with few processors. */
static uint64_t on_lists(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	unsigned long long n, sum = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %llu", &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum * 4096;
}

/* Free, or a copy of what is in files. MemAvailable takes a part of these away that changes with their share. */
static uint64_t not_in_use(void)
{
	return meminfo("MemFree:") + on_lists() + meminfo("Buffers:") + meminfo("Cached:") + meminfo("SReclaimable:");
}

static uint64_t giant(void)
{
	uint64_t want = meminfo("MemTotal:") / 4 * (mc_long() ? 3 : 1), can = meminfo("MemAvailable:") - 64 * MB;

	return (want < can ? want : can) & ~(16 * 4096 - 1);
}

/* ---- watchdogs and timers ---- */

static const char *const knobs[4] = { "watchdog_thresh", "softlockup_panic", "hung_task_timeout_secs",
				      "hung_task_panic" };

static long long knob(int i, long long value)
{
	char path[64];
	long long old;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", knobs[i]);
	old = mc_read_number(path);
	f = value < 0 ? NULL : fopen(path, "w");
	if (f) {
		fprintf(f, "%lld\n", value);
		fclose(f);
	}
	return old;
}

struct ticker { pthread_t thread; int cpu; int64_t worst; };

static volatile bool ticking;

static void *tick(void *arg)
{
	struct sched_param prio = { .sched_priority = 10 };
	/* A machine a hundred times slower would do nothing else. */
	long every = 1000000 * (1 + mc_time_scale() / 10);
	struct ticker *t = arg;
	struct timespec next;
	cpu_set_t set;
	int64_t late;

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &prio);
	while (ticking) {
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_nsec += every;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		late = now_us() - (next.tv_sec * 1000000ll + next.tv_nsec / 1000);
		t->worst = late > t->worst ? late : t->worst;
	}
	return NULL;
}

FIXTURE(node)
{
	long long old[4];
	struct ticker *t;
	int cpus;
	uint8_t pool[16];
	uint64_t size, free;
};

FIXTURE_SETUP(node)
{
	static const long long values[4] = { 5, 1, 30, 1 };
	int i;

	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE));
	ASSERT_EQ(0, mcgrant_clock_own());
	ASSERT_EQ(0, mcnl_pool_create("giant", POOL, 0, self->pool));
	for (i = 0; i < 4; i++)
		self->old[i] = knob(i, values[i]);
	self->size = giant();
	self->free = not_in_use();
	printf("# %llu MiB of %llu\n", (unsigned long long)(self->size / MB),
	       (unsigned long long)(meminfo("MemTotal:") / MB));
	ASSERT_LT(64 * MB, self->size);
	self->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	self->t = calloc((size_t)self->cpus, sizeof(*self->t));
	ticking = true;
	for (i = 0; i < self->cpus; i++) {
		self->t[i].cpu = i;
		ASSERT_EQ(0, pthread_create(&self->t[i].thread, NULL, tick, &self->t[i]));
	}
}

FIXTURE_TEARDOWN(node)
{
	int i;

	ticking = false;
	for (i = 0; i < self->cpus; i++) {
		pthread_join(self->t[i].thread, NULL);
		printf("# cpu %d: a timer was %lld us late at most\n", i, (long long)self->t[i].worst);
		EXPECT_GT(200000ll * mc_time_scale(), self->t[i].worst);
	}
	mcnl_fault_set("local_delay_ms", 0);
	for (i = 0; i < 4; i++)
		if (self->old[i] >= 0)
			knob(i, self->old[i]);
	EXPECT_EQ(0, mcnl_pool_destroy(self->pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 10000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 10000));
}

/* ---- clients ---- */

/* A process with @len bytes registered; with @pool it moves bytes all the time. @ready gets a byte after that. */
static pid_t client(uint64_t len, const uint8_t *pool, int ready)
{
	struct mcdev d;
	uint32_t buf, seg = 0;
	uint64_t at, n = 0;
	uint8_t *p;
	pid_t pid = fork();

	if (pid)
		return pid;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, len, MADV_NOHUGEPAGE);
	if (mcdev_open(&d, 8, 8) || mcdev_reg(d.fd, p, len, &buf) ||
	    (pool && mcdev_seg_open(d.fd, node_uuid, pool, 0, &seg, NULL)))
		_exit(1);
	for (;; n++) {
		struct mc_cqe c;
		struct mc_sqe e;

		at = n * POOL % (len - POOL);
		if (pool) {
			e = mcdev_sqe(n & 1 ? MC_OP_READ : MC_OP_WRITE, buf, at, seg, 0, POOL, n);
			e.timeout_ns = 600 * SEC;
			mcdev_push(&d, &e);
			if (mcdev_enter(&d, 1, n > 3, 600 * SEC, NULL))
				_exit(2);
			if (n > 3 && (!mcdev_pop(&d, &c) || c.result))
				_exit(3);
		}
		if (!n && write(ready, "r", 1) != 1)
			_exit(4);
		if (!pool)
			pause();
	}
}

/* What the case allows for so many bytes, at least one second, in ms. */
static int64_t allowed(uint64_t len)
{
	return (1000 + (int64_t)(len * 1000 / (4 * GB))) * mc_time_scale();
}

/* ms until nothing is pinned, -1 when it takes longer than allowed. */
static int64_t unpinned(uint64_t len)
{
	int64_t t0 = now_us();

	while (mc_read_number(MC_SYSFS "pinned_bytes")) {
		if ((now_us() - t0) / 1000 > allowed(len))
			return -1;
		usleep(1000);
	}
	return (now_us() - t0) / 1000;
}

/* ms until the child has left the process table; how it ended goes into @status. */
static int64_t leaves(pid_t pid, int *status)
{
	int64_t t0 = now_us();

	return waitpid(pid, status, 0) == pid ? (now_us() - t0) / 1000 : -1;
}

#define GONE(pid, len, sig) do { \
	int64_t __ms, __free; \
	int __status; \
	\
	__ms = leaves(pid, &__status); \
	EXPECT_EQ(sig, WTERMSIG(__status)); \
	EXPECT_GE(allowed(len), __ms); \
	__free = unpinned(len); \
	EXPECT_LE(0, __free); \
	printf("# left after %lld ms, all unpinned %lld ms later\n", (long long)__ms, (long long)__free); \
} while (0)

/* Other programs use some, and the kernel keeps some. */
static bool all_back(uint64_t wanted)
{
	int64_t end = now_us() + 10000000ll * mc_time_scale();

	while (not_in_use() + 16 * MB < wanted) {
		if (now_us() > end) {
			printf("# %llu MiB of %llu\n", (unsigned long long)(not_in_use() / MB),
			       (unsigned long long)(wanted / MB));
			return false;
		}
		usleep(50000);
	}
	return true;
}

#define ALL_BACK() EXPECT_TRUE(all_back(self->free))

TEST_F_TIMEOUT(node, C71_killed_under_traffic, 600)
{
	int rounds = mc_long() ? 20 : 2, i, ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < rounds; i++) {
		pid = client(self->size, self->pool, ready[1]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		EXPECT_EQ((long long)self->size, mc_read_number(MC_SYSFS "pinned_bytes"));
		usleep(50000);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		GONE(pid, self->size, SIGKILL);
	}
	ALL_BACK();
}

TEST_F_TIMEOUT(node, C71_killed_while_registering, 300)
{
	int rounds = mc_long() ? 20 : 3, i, ready[2];
	uint64_t seed = 5;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < rounds; i++) {
		pid = client(self->size, NULL, ready[1]);
		usleep((useconds_t)(mc_rand(&seed) % 100000) * (useconds_t)mc_time_scale() / 2);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		GONE(pid, self->size, SIGKILL);
	}
	ALL_BACK();
}

static int put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -errno : 0;
}

/* In a control group of its own that has a little more room than the client registers: nobody else is chosen. */
TEST_F_TIMEOUT(node, C71_killed_for_want_of_memory, 120)
{
	char text[64];
	int ready[2];
	pid_t pid;
	char c;

	mkdir("/tmp/mc-cgroup", 0755);
	ASSERT_EQ(0, mount("none", "/tmp/mc-cgroup", "cgroup2", 0, NULL));
	put_text("/tmp/mc-cgroup/cgroup.subtree_control", "+memory");
	mkdir("/tmp/mc-cgroup/giant", 0755);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(self->size + 16 * MB));
	ASSERT_EQ(0, put_text("/tmp/mc-cgroup/giant/memory.max", text));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		uint8_t *p;

		put_text("/tmp/mc-cgroup/giant/cgroup.procs", "0");
		put_text("/proc/self/oom_score_adj", "1000");
		/* The client's child is the one that registers; its parent takes the rest of the memory and waits. */
		pid = client(self->size, NULL, ready[1]);
		if (read(ready[0], &c, 1) != 1)
			_exit(1);
		p = mmap(NULL, 64 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		put_text("/proc/self/oom_score_adj", "-1000");
		memset(p, 1, 64 * MB);
		GONE(pid, self->size, SIGKILL);
		_exit(_metadata->failed);
	}
	ASSERT_EQ(pid, waitpid(pid, &ready[0], 0));
	EXPECT_EQ(0, ready[0]);
	EXPECT_LE(0, unpinned(self->size));
	ALL_BACK();
	EXPECT_EQ(0, rmdir("/tmp/mc-cgroup/giant"));
	umount2("/tmp/mc-cgroup", MNT_DETACH);
}

TEST_F_TIMEOUT(node, C72_interrupted, 120)
{
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = client(self->size, NULL, ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, kill(pid, SIGINT));
	GONE(pid, self->size, SIGINT);
	ALL_BACK();
}

TEST_F_TIMEOUT(node, C72_sixteen_clients_at_once, 120)
{
	uint64_t each = self->size / 16;
	int i, ready[2];
	pid_t pid[16];
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 16; i++)
		pid[i] = client(each, NULL, ready[1]);
	close(ready[1]);	/* one that fails is not waited for */
	for (i = 0; i < 16; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ((long long)self->size, mc_read_number(MC_SYSFS "pinned_bytes"));
	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, kill(pid[i], SIGINT));
	for (i = 0; i < 16; i++) {
		int status;

		EXPECT_GE(allowed(self->size), leaves(pid[i], &status));
		EXPECT_EQ(SIGINT, WTERMSIG(status));
	}
	EXPECT_LE(0, unpinned(self->size));
	ALL_BACK();
}

TEST_F_TIMEOUT(node, C72_unregistered_by_ioctl, 120)
{
	uint8_t *p = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	int64_t t0, ms;
	uint32_t id;

	madvise(p, self->size, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, mcdev_reg(fd, p, self->size, &id));
	t0 = now_us();
	ASSERT_EQ(0, mcdev_unreg(fd, id));
	ms = (now_us() - t0) / 1000;
	EXPECT_GT(100 * mc_time_scale(), ms);		/* at once: the pages go in the background */
	EXPECT_LE(0, unpinned(self->size));
	printf("# unregistered in %lld ms\n", (long long)ms);
	/* The memory is still the process' own. */
	p[self->size - 1] = 1;
	ASSERT_EQ(0, munmap(p, self->size));
	ALL_BACK();
	close(fd);
}

struct seen { uint32_t pid; char state[32]; uint64_t pinned; };

static void see(const struct nlmsghdr *h, void *arg)
{
	struct seen *s = arg;
	uint32_t pid = 0;

	if (mcnl_get(h, MC_ATTR_PID, &pid, 4) != 4 || pid != s->pid)
		return;
	memset(s->state, 0, sizeof(s->state));
	mcnl_get(h, MC_ATTR_STATE, s->state, sizeof(s->state) - 1);
	mcnl_get(h, MC_ATTR_PINNED, &s->pinned, 8);
}

static bool mcctl_says(pid_t pid, const char *state)
{
	FILE *p = popen("mcctl --json client list | tr -d ' \\n' | tr '}' '\\n'", "r");
	char line[512], want[64];
	bool found = false;

	snprintf(want, sizeof(want), "\"pid\":%d,", pid);
	while (p && fgets(line, sizeof(line), p))
		if (strstr(line, want) && strstr(line, state))
			found = true;
	if (p)
		pclose(p);
	return found;
}

/* A request that is under way keeps the memory: the process has gone, its file is closing. */
TEST_F_TIMEOUT(node, C72_closing_is_shown, 120)
{
	struct seen s = { 0 };
	int ready[2], status;
	int64_t ms;
	char c;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", (uint64_t)(1500 * mc_time_scale())));
	s.pid = (uint32_t)client(64 * MB, self->pool, ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, mcnl_dump(MC_CMD_CLIENT_GET, see, &s));
	EXPECT_STREQ("live", s.state);
	EXPECT_EQ(64 * MB, s.pinned);
	EXPECT_TRUE(mcctl_says((pid_t)s.pid, "\"live\""));
	ASSERT_EQ(0, kill((pid_t)s.pid, SIGKILL));
	ms = leaves((pid_t)s.pid, &status);
	EXPECT_GE(allowed(64 * MB), ms);
	ASSERT_EQ(0, mcnl_dump(MC_CMD_CLIENT_GET, see, &s));
	EXPECT_STREQ("closing", s.state);
	EXPECT_EQ(64 * MB, s.pinned);
	EXPECT_TRUE(mcctl_says((pid_t)s.pid, "\"closing\""));
	ASSERT_EQ(0, mcnl_fault_set("local_delay_ms", 0));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pinned_bytes", 0, 20000));
	/* The last reference goes a little later. */
	do {
		s.state[0] = 0;
		usleep(1000);
		ASSERT_EQ(0, mcnl_dump(MC_CMD_CLIENT_GET, see, &s));
	} while (s.state[0]);
}

TEST_HARNESS_MAIN
