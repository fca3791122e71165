// SPDX-License-Identifier: MIT
/* Copying out of a mapping that may end under the reader. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "ctl.h"

#define PIECE	(1u << 20)

static _Thread_local sigjmp_buf *volatile copying;

/* One that no copy waits for kills, as it would without this: the access is repeated. */
static void on_bus_error(int sig)
{
	if (copying)
		siglongjmp(*copying, 1);
	signal(sig, SIG_DFL);
}

static int copy_pieces(char *to, const char *from, size_t len, uint64_t until_ns)
{
	size_t done, part;

	for (done = 0; done < len; done += part) {
		part = len - done < PIECE ? len - done : PIECE;
		memcpy(to + done, from + done, part);
		if (mc_now_ns() >= until_ns)
			return -ETIME;
	}
	return 0;
}

int ctl_copy_until(void *to, const void *from, size_t len, uint64_t until_ns)
{
	struct sigaction act = { .sa_handler = on_bus_error }, old;
	sigjmp_buf back;
	int rc;

	if (sigaction(SIGBUS, &act, &old))
		return -errno;
	if (!sigsetjmp(back, 1)) {
		copying = &back;
		rc = copy_pieces(to, from, len, until_ns);
	} else {
		rc = mc_now_ns() >= until_ns ? -ETIME : -EFAULT;
	}
	copying = NULL;
	sigaction(SIGBUS, &old, NULL);
	return rc;
}
