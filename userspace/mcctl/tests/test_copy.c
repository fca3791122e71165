// SPDX-License-Identifier: MIT
/* Copies out of mappings that end: by time, or under the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl.h"

#define LEN	(3u << 20)

/* A file of @there bytes, mapped as if it had LEN: what is behind its end is SIGBUS. */
static uint8_t *source(size_t there)
{
	int fd = memfd_create("source", MFD_CLOEXEC);
	uint8_t *p;
	size_t i;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, there), 0);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	for (i = 0; i < there; i++)
		p[i] = i * 7 + (i >> 12);
	return p;
}

static int copy(size_t there, size_t len, uint64_t until_ns)
{
	uint8_t *from = source(there), *to = calloc(1, LEN);
	int rc = ctl_copy_until(to, from, len, until_ns);

	if (!rc)
		assert_memory_equal(to, from, len);
	munmap(from, LEN);
	free(to);
	return rc;
}

static void test_whole(void **state)
{
	uint64_t later = mc_now_ns() + 3600000000000ull;

	(void)state;
	assert_int_equal(copy(LEN, LEN, later), 0);
	assert_int_equal(copy(LEN, LEN - 4097, later), 0);
	assert_int_equal(copy(LEN, 1, later), 0);
}

static void test_too_late(void **state)
{
	uint8_t *from = source(LEN), *to = calloc(1, LEN);

	(void)state;
	assert_int_equal(ctl_copy_until(to, from, LEN, mc_now_ns()), -ETIME);
	/* The clock is looked at as it goes, not only when all of it has been read. */
	assert_int_equal(to[LEN - 1], 0);
	assert_int_not_equal(from[LEN - 1], 0);
	munmap(from, LEN);
	free(to);
}

static void test_gone(void **state)
{
	uint64_t later = mc_now_ns() + 3600000000000ull;
	struct sigaction before, now;
	int i;

	(void)state;
	sigaction(SIGBUS, NULL, &before);
	/* Again and again: the signal is not left blocked. */
	for (i = 0; i < 3; i++) {
		assert_int_equal(copy(LEN - 4096, LEN, later), -EFAULT);
		assert_int_equal(copy(0, LEN, mc_now_ns()), -ETIME);
	}
	assert_int_equal(copy(LEN, LEN, later), 0);
	sigaction(SIGBUS, NULL, &now);
	assert_true(now.sa_handler == before.sa_handler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
