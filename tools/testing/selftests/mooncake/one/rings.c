// SPDX-License-Identifier: MIT
/* Rings: every mmap argument, and users who lie about indices. */
#include "kselftest_harness.h"
#include "mcdev.h"

FIXTURE(rings) { struct mcdev d; };
FIXTURE_SETUP(rings) { ASSERT_EQ(0, mcdev_open(&self->d, 512, 1024)); }
FIXTURE_TEARDOWN(rings) { mcdev_close(&self->d); }

static int try_map(int fd, uint64_t off, uint64_t len, int prot, int flags)
{
	void *p = mmap(NULL, len, prot, flags, fd, (off_t)off);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, len);
	return 0;
}

#define RW (PROT_READ | PROT_WRITE)

TEST_F(rings, C75_mmap_lengths_and_offsets)
{
	uint64_t sq = self->d.sq_bytes, cq = self->d.cq_bytes;
	int fd = self->d.fd;

	ASSERT_EQ(65536 + 4096, sq);
	/* Inside: exactly that range. mmap() itself rounds a length up to pages. */
	EXPECT_EQ(0, try_map(fd, 0, 1, RW, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, 0, 4096, RW, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, 0, sq, RW, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, 4096, 4096, RW, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, sq - 4096, 4096, RW, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, MC_OFF_CQ, cq, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, MC_OFF_CQ + cq - 4096, 4096, PROT_READ, MAP_SHARED));
	/* Outside, unaligned, wrapping. */
	EXPECT_EQ(-EINVAL, try_map(fd, 0, sq + 1, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, 1, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, sq, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, sq - 4096, 8192, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, MC_OFF_CQ - 4096, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, MC_OFF_CQ - 4096, 8192, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, MC_OFF_CQ + cq, 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, MC_OFF_CQ, cq + 4096, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, 1ull << 30, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-ENOENT, try_map(fd, MC_OFF_GRANT(1), 4096, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, try_map(fd, 0, 1ull << 63, RW, MAP_SHARED));
	EXPECT_NE(0, try_map(fd, ~0xfffull, 8192, RW, MAP_SHARED));
}

TEST_F(rings, C75_mmap_protection)
{
	int fd = self->d.fd;
	void *p;

	EXPECT_EQ(-EACCES, try_map(fd, 0, 4096, RW | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(fd, MC_OFF_CQ, 4096, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(fd, MC_OFF_CQ, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(fd, 0, 4096, RW, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, try_map(fd, MC_OFF_CQ, 4096, PROT_READ, MAP_PRIVATE));
	/* Later through mprotect() as well. */
	EXPECT_EQ(-1, mprotect(self->d.sq, 4096, RW | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->d.cq, 4096, RW));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->d.cq, 4096, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	/* MAP_FIXED over itself, partial munmap. */
	p = mmap(self->d.sq, self->d.sq_bytes, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	EXPECT_EQ((void *)self->d.sq, p);
	EXPECT_EQ(0, munmap((char *)self->d.sq + 4096, 4096));
	EXPECT_EQ(0, self->d.sq->tail);
}

TEST_F(rings, mapping_outlives_the_descriptor)
{
	close(self->d.fd);
	self->d.sq->tail = 5;
	EXPECT_EQ(5, self->d.sq->tail);
	EXPECT_EQ(0, self->d.cq->tail);
	self->d.fd = -1;
}

TEST_F(rings, lying_indices_harm_nobody)
{
	struct mc_sqe nop = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, 42);
	uint64_t seed = (uint64_t)time(NULL);
	struct mc_enter out;
	uint32_t i;

	TH_LOG("seed %llu", (unsigned long long)seed);
	for (i = 0; i < 512; i++)
		self->d.sqes[i] = nop;
	for (i = 0; i < 3000; i++) {
		self->d.sq->tail = (uint32_t)mc_rand(&seed);
		self->d.sq->cq_head = (uint32_t)mc_rand(&seed);
		ASSERT_EQ(0, mcdev_enter(&self->d, (uint32_t)mc_rand(&seed), 0, 0, &out));
		ASSERT_LE(out.out_submitted, 512);
		ASSERT_LE(out.out_ready, 1024);
	}
	/* Put right, it works again. */
	self->d.sq->tail = self->d.cq->sq_head;
	self->d.sq->cq_head = self->d.cq->tail;
	nop.cookie = 4711;
	mcdev_push(&self->d, &nop);
	ASSERT_EQ(0, mcdev_enter(&self->d, 1, 1, SEC, &out));
	ASSERT_EQ(1, out.out_submitted);
	ASSERT_EQ(4711, self->d.cqes[(self->d.cq->tail - 1) & 1023].cookie);
}

TEST_F(rings, indices_wrap_over_2_to_the_32)
{
	struct mc_sqe nop = mcdev_sqe(MC_OP_NOP, 0, 0, 0, 0, 0, 0);
	struct mc_cqe c;
	uint32_t n = 0;
	int i;

	/* The kernel's indices begin at 0: only the user's side can be brought near the end, and only honestly, by
	 * using the ring. What is cheap is to see that a difference is taken modulo 2^32: a tail "behind" the head is
	 * a huge distance, clamped to the ring.
	 */
	for (i = 0; i < 5000; i++) {
		nop.cookie = n++;
		mcdev_push(&self->d, &nop);
		ASSERT_EQ(0, mcdev_enter(&self->d, 1, 1, SEC, NULL));
		ASSERT_EQ(1, mcdev_pop(&self->d, &c));
		ASSERT_EQ(n - 1, c.cookie);
	}
}

TEST_F(rings, C79_waiter_can_be_killed)
{
	int status, i;
	pid_t pid = fork();

	if (!pid) {
		mcdev_enter(&self->d, 0, 1, 3000 * SEC, NULL);
		_exit(0);
	}
	usleep(200000);
	kill(pid, SIGKILL);
	for (i = 0; i < 100 * mc_time_scale(); i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		usleep(10000);
	}
	ASSERT_LT(i, 100 * mc_time_scale());
	EXPECT_TRUE(WIFSIGNALED(status));
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(rings, signal_ends_a_wait_with_EINTR)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &sa, NULL);
	alarm(1);
	EXPECT_EQ(-EINTR, mcdev_enter(&self->d, 0, 1, 100 * SEC, NULL));
}

TEST_HARNESS_MAIN
