// SPDX-License-Identifier: MIT
/* Events: what is said when buffers and segments go, how soon, and that a listener notices what it missed. */
#include "kselftest_harness.h"
#include "mcone.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define MB (1ull << 20)

static uint64_t now_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

FIXTURE(listener) { int fd; char buf[8192]; };
FIXTURE_SETUP(listener)
{
	self->fd = mcnl_events_open(0);
	ASSERT_GE(self->fd, 0);
}
FIXTURE_TEARDOWN(listener)
{
	close(self->fd);
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "buffers", 0, 10000));
}

static uint64_t number(const void *msg, int attr)
{
	uint64_t v = 0;

	return mcnl_get(msg, attr, &v, 8) > 0 ? v : ~0ull;
}

/* A process that registers a buffer, says its handle, and waits to be killed. */
static pid_t start_owner(uint64_t len, uint32_t *id)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
		void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mcdev_reg(fd, mem, len, id) || write(fds[1], id, sizeof(*id)) != sizeof(*id))
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	if (read(fds[0], id, sizeof(*id)) != sizeof(*id))
		pid = -1;
	close(fds[0]);
	return pid;
}

TEST_F_TIMEOUT(listener, a_killed_process_is_told_within_100_ms, 60)
{
	int rounds = getenv("MC_LONG") && *getenv("MC_LONG") ? 200 : 20, limit = 100 * mc_time_scale(), i;
	uint64_t worst = 0, sum = 0;

	for (i = 0; i < rounds; i++) {
		uint64_t len = (uint64_t)(i % 8 + 1) * MB, t0, us;
		uint32_t id;
		pid_t pid = start_owner(len, &id);

		ASSERT_GT(pid, 0);
		t0 = now_us(CLOCK_MONOTONIC);
		kill(pid, SIGKILL);
		ASSERT_EQ(MC_CMD_EVENT_BUF_GONE, mcnl_event_next(self->fd, 10 * limit, self->buf, sizeof(self->buf)));
		us = now_us(CLOCK_MONOTONIC) - t0;
		worst = us > worst ? us : worst;
		sum += us;
		EXPECT_EQ((uint64_t)pid, number(self->buf, MC_ATTR_PID));
		EXPECT_EQ(id, number(self->buf, MC_ATTR_BUF_ID));
		EXPECT_EQ(getuid(), number(self->buf, MC_ATTR_UID));
		EXPECT_EQ(len, number(self->buf, MC_ATTR_LEN));
		EXPECT_EQ((uint64_t)MC_REASON_EXIT, number(self->buf, MC_ATTR_REASON));
		waitpid(pid, NULL, 0);
	}
	printf("# %d rounds: %llu us on average, %llu us at worst, limit %d ms\n", rounds,
	       (unsigned long long)(sum / (uint64_t)rounds), (unsigned long long)worst, limit);
	EXPECT_LE(worst, (uint64_t)limit * 1000);
}

/* The name goes with the file, not with a descriptor or the process that gave it. */
TEST_F(listener, C31_the_end_of_a_named_client_is_told_once)
{
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC), other;
	struct mc_client c = { .size = sizeof(c), .uuid = { 1, 2, 3 } }, zero = { .size = sizeof(zero) };

	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_CLIENT, &zero));
	zero.flags = 1;
	zero.uuid[0] = 1;
	EXPECT_EQ(-EINVAL, mc_ioctl(fd, MC_IOC_CLIENT, &zero));
	EXPECT_EQ(0, mc_ioctl(fd, MC_IOC_CLIENT, &c));
	EXPECT_EQ(0, mc_ioctl(fd, MC_IOC_CLIENT, &c));
	zero.flags = 0;
	EXPECT_EQ(-EEXIST, mc_ioctl(fd, MC_IOC_CLIENT, &zero));
	other = dup(fd);
	close(fd);
	EXPECT_EQ(-ETIME, mcnl_event_next(self->fd, 100, self->buf, sizeof(self->buf)));
	close(other);
	ASSERT_EQ(MC_CMD_EVENT_CLIENT_GONE, mcnl_event_next(self->fd, 10000, self->buf, sizeof(self->buf)));
	EXPECT_EQ((uint64_t)getpid(), number(self->buf, MC_ATTR_PID));
	EXPECT_EQ((uint64_t)MC_REASON_EXIT, number(self->buf, MC_ATTR_REASON));
	/* A file that named none ends without a word. */
	close(open("/dev/mooncake", O_RDWR | O_CLOEXEC));
	EXPECT_EQ(-ETIME, mcnl_event_next(self->fd, 100, self->buf, sizeof(self->buf)));
}

TEST_F(listener, unregistering_is_told_in_order_with_time_and_number)
{
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t seq = 0, before = now_us(CLOCK_BOOTTIME);
	uint32_t ids[10], i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, mcdev_reg(fd, mem + i * 65536, 4096 * (i + 1), &ids[i]));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, mcdev_unreg(fd, ids[i]));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(MC_CMD_EVENT_BUF_GONE, mcnl_event_next(self->fd, 10000, self->buf, sizeof(self->buf)));
		EXPECT_EQ(ids[i], number(self->buf, MC_ATTR_BUF_ID));
		EXPECT_EQ(4096u * (i + 1), number(self->buf, MC_ATTR_LEN));
		EXPECT_EQ((uint64_t)MC_REASON_ASKED, number(self->buf, MC_ATTR_REASON));
		EXPECT_EQ((uint64_t)getpid(), number(self->buf, MC_ATTR_PID));
		if (i)
			EXPECT_EQ(seq + 1, number(self->buf, MC_ATTR_SEQ));
		seq = number(self->buf, MC_ATTR_SEQ);
		EXPECT_GE(number(self->buf, MC_ATTR_TIME) / 1000, before);
		EXPECT_LE(number(self->buf, MC_ATTR_TIME) / 1000, now_us(CLOCK_BOOTTIME));
	}
	/* A handle that is not there makes no event. */
	EXPECT_EQ(-ENOENT, mcdev_unreg(fd, ids[0]));
	EXPECT_EQ(-ETIME, mcnl_event_next(self->fd, 100, self->buf, sizeof(self->buf)));
	close(fd);
}

TEST_F(listener, a_destroyed_pool_is_told_with_name_and_owner)
{
	uint8_t pool[16], got[16];
	char name[MC_NAME_LEN] = "";

	mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE);
	ASSERT_EQ(0, mcnl_pool_create("told", MB, 0, pool));
	ASSERT_EQ(0, mcnl_pool_destroy(pool));
	ASSERT_EQ(MC_CMD_EVENT_SEG_GONE, mcnl_event_next(self->fd, 10000, self->buf, sizeof(self->buf)));
	ASSERT_EQ(16, mcnl_get((void *)self->buf, MC_ATTR_SEG_UUID, got, 16));
	EXPECT_EQ(0, memcmp(got, pool, 16));
	ASSERT_EQ(16, mcnl_get((void *)self->buf, MC_ATTR_NODE_UUID, got, 16));
	EXPECT_EQ(0, memcmp(got, node_uuid, 16));
	EXPECT_GT(mcnl_get((void *)self->buf, MC_ATTR_NAME, name, sizeof(name) - 1), 0);
	EXPECT_EQ(0, strcmp(name, "told"));
	EXPECT_EQ((uint64_t)MC_REASON_ASKED, number(self->buf, MC_ATTR_REASON));
	EXPECT_EQ(~0ull, number(self->buf, MC_ATTR_PID));
}

/* A listener that sleeps holds nobody up; it learns that it missed something, and how much. */
TEST(what_a_full_socket_missed_is_a_gap)
{
	int slow = mcnl_events_open(4096), fast = mcnl_events_open(1 << 20), fd, rc, got = 0, overflow = 0;
	char buf[8192];
	uint64_t first = 0, last, missing, seq;
	uint32_t id, i;
	void *mem;

	ASSERT_GE(slow, 0);
	ASSERT_GE(fast, 0);
	fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, mcdev_reg(fd, mem, 4096, &id));
		ASSERT_EQ(0, mcdev_unreg(fd, id));
		ASSERT_EQ(MC_CMD_EVENT_BUF_GONE, mcnl_event_next(fast, 10000, buf, sizeof(buf)));
		seq = number(buf, MC_ATTR_SEQ);
		if (!i)
			first = seq;
		ASSERT_EQ(first + i, seq);
	}
	while ((rc = mcnl_event_next(slow, 1, buf, sizeof(buf))) > 0 || rc == -ENOBUFS) {
		overflow += rc == -ENOBUFS;
		got += rc > 0;
	}
	EXPECT_GE(overflow, 1);
	EXPECT_GT(got, 0);
	EXPECT_LT(got, 100);
	/* There is room again: the next event shows what is missing. */
	last = first + (uint64_t)got - 1;
	ASSERT_EQ(0, mcdev_reg(fd, mem, 4096, &id));
	ASSERT_EQ(0, mcdev_unreg(fd, id));
	ASSERT_EQ(MC_CMD_EVENT_BUF_GONE, mcnl_event_next(slow, 10000, buf, sizeof(buf)));
	missing = number(buf, MC_ATTR_SEQ) - last - 1;
	EXPECT_EQ(100u - (unsigned int)got, missing);
	close(fd);
	close(slow);
	close(fast);
}

TEST_HARNESS_MAIN
