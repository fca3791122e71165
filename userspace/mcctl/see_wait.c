// SPDX-License-Identifier: MIT
/* Waiting that a signal ends cleanly. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "see.h"

static volatile sig_atomic_t stopping;
static sigset_t waiting;

static void stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* Signals are taken only while waiting, so that none is lost between the test and the wait. */
const volatile sig_atomic_t *see_signals(void)
{
	struct sigaction sa = { .sa_handler = stop };
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &waiting);
	sigdelset(&waiting, SIGINT);
	sigdelset(&waiting, SIGTERM);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	return &stopping;
}

uint64_t see_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool see_wait(int fd, uint64_t until_ms)
{
	while (!stopping) {
		uint64_t now = see_now_ms(), left = until_ms > now ? until_ms - now : 0;
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		struct timespec ts = { .tv_sec = (time_t)(left / 1000), .tv_nsec = (long)(left % 1000) * 1000000 };
		int n;

		if (until_ms == UINT64_MAX)
			ts.tv_sec = 3600;
		n = ppoll(&pfd, 1, &ts, &waiting);
		if (n > 0)
			return true;
		if (n == 0 && see_now_ms() >= until_ms)
			return false;
	}
	return false;
}
