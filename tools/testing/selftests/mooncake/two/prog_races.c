// SPDX-License-Identifier: MIT
/*
 * C-76: processes that open, register, map, transfer, close, exit and are killed at any moment, while others take away
 * segments, devices and peers.
 *
 *	prog_races SECONDS SEED NODE FILE	FILE holds the UUID of the segment of the day
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "mcdev.h"
#include "mcnl.h"

#define WORKERS	6
#define LEN	(256 << 10)

static uint8_t node[16];
static const char *file;
static uint64_t *done;	/* shared: rounds, transfers that ended well */

static bool segment(uint8_t *seg)
{
	char text[64] = "";
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && mc_uuid_parse(text, seg);
}

/* One life of a file; it may end anywhere. */
static void once(uint64_t *r)
{
	uint8_t seg[16], *mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t buf, s, i, n = (uint32_t)(mc_rand(r) % 8);
	struct mc_cqe cqe;
	struct mcdev d;

	if (!segment(seg) || mcdev_open(&d, 16, 16))
		exit(1);
	if (!mcdev_reg(d.fd, mem, LEN, &buf) && !mcdev_seg_open(d.fd, node, seg, SEC, &s, NULL)) {
		for (i = 0; i < n; i++) {
			struct mc_sqe e = mcdev_sqe((uint8_t)(1 + mc_rand(r) % 2), buf, 0, s, 0, LEN, i);

			e.timeout_ns = 1 + mc_rand(r) % (2 * SEC);
			mcdev_push(&d, &e);
		}
		mcdev_enter(&d, n, (uint32_t)(mc_rand(r) % (n + 1)), mc_rand(r) % (SEC / 2), NULL);
		while (mcdev_pop(&d, &cqe))
			done[1] += !cqe.result;
		if (mc_rand(r) % 2)
			mcdev_unreg(d.fd, buf);
		if (mc_rand(r) % 2)
			mcdev_seg_close(d.fd, s);
	}
	done[0]++;
	if (mc_rand(r) % 4 == 0)
		munmap(mem, LEN);
	if (mc_rand(r) % 4 == 0)
		_exit(0);
	mcdev_close(&d);
	munmap(mem, LEN);
}

static pid_t worker(uint64_t seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		once(&seed);
}

int main(int argc, char **argv)
{
	uint64_t r = argc == 5 ? strtoull(argv[2], NULL, 0) : 0;
	time_t end = time(NULL) + (argc == 5 ? atoi(argv[1]) : 0);
	pid_t pid[WORKERS];
	int i, kills = 0;

	if (argc != 5 || !mc_uuid_parse(argv[3], node))
		return 2;
	file = argv[4];
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < WORKERS; i++)
		pid[i] = worker(mc_rand(&r));
	while (time(NULL) < end) {
		usleep((useconds_t)(20000 + mc_rand(&r) % 100000));
		i = (int)(mc_rand(&r) % WORKERS);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		pid[i] = worker(mc_rand(&r));
		kills++;
	}
	for (i = 0; i < WORKERS; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	printf("# %llu files, %llu good transfers, %d kills\n", (unsigned long long)done[0],
	       (unsigned long long)done[1], kills);
	if (mc_wait_number(MC_SYSFS "buffers", 0, 60000) || mc_wait_number(MC_SYSFS "requests", 0, 60000) ||
	    mc_wait_number(MC_SYSFS "pinned_bytes", 0, 60000)) {
		printf("# buffers %lld, requests %lld, pinned %lld are left\n", mc_read_number(MC_SYSFS "buffers"),
		       mc_read_number(MC_SYSFS "requests"), mc_read_number(MC_SYSFS "pinned_bytes"));
		return 1;
	}
	return done[0] ? 0 : 1;
}
