// SPDX-License-Identifier: MIT
/* Leases of readers: many of them, and readers that go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lease.h"
#include "names.h"

#define MANY	50000u

/* Only their addresses count. */
static char objects[MANY];
static struct mc_lease_list held[MANY];
static struct mc_leases l;

static const struct mc_object *object(uint32_t i)
{
	return (const struct mc_object *)&objects[i];
}

static const uint8_t *reader(uint32_t n)
{
	static uint8_t uuid[MC_UUID_LEN];

	memset(uuid, 'R', sizeof(uuid));
	memcpy(uuid, &n, sizeof(n));
	return uuid;
}

static int setup(void **state)
{
	(void)state;
	memset(held, 0, sizeof(held));
	mc_leases_init(&l);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mc_leases_fini(&l);
	assert_null(l.readers);
	assert_int_equal(l.count, 0);
	return 0;
}

static void the_first_to_end_goes_first(void **state)
{
	static const uint64_t until[] = { 50, 20, 40, 10, 30 };
	uint32_t i, n = sizeof(until) / sizeof(until[0]);

	(void)state;
	for (i = 0; i < n; i++)
		assert_true(mc_lease_take(&l, &held[i], object(i), reader(1), until[i]));
	for (i = 0; i < n; i++) {
		assert_int_equal(mc_leases_next(&l), 10 * (i + 1));
		mc_leases_expire(&l, 10 * (i + 1));
		assert_int_equal(l.count, n - 1 - i);
	}
	/* A longer one moves, a shorter one changes nothing. */
	for (i = 0; i < 2; i++)
		assert_true(mc_lease_take(&l, &held[i], object(i), reader(1), 100 + i));
	assert_true(mc_lease_take(&l, &held[0], object(0), reader(1), 200));
	assert_true(mc_lease_take(&l, &held[0], object(0), reader(1), 150));
	assert_int_equal(mc_leases_next(&l), 101);
	assert_int_equal(mc_lease_end(&held[0]), 200);
}

/* A look-up takes no longer because there are many leases. */
static void many_leases(void **state)
{
	struct timespec begin, end;
	double s;
	uint32_t i;

	(void)state;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (i = 0; i < MANY; i++)
		assert_true(mc_lease_take(&l, &held[i], object(i), reader(i % 10), 1000 + i));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	s = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("# %u leases: %.3f s\n", MANY, s);
	assert_int_equal(l.count, MANY);
	assert_true(s < 1.0);
}

/* Whoever says that readers are gone says it of as many as it likes. */
static void gone_readers_are_bounded(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(mc_lease_take(&l, &held[0], object(0), reader(0), 1000));
	for (i = 0; i < MC_GONE_MAX + 10; i++)
		mc_leases_reader_gone(&l, reader(i), 5000 + i);
	/* Saying it again is no other reader. */
	mc_leases_reader_gone(&l, reader(i - 1), 5000 + i);
	assert_int_equal(l.count, 0);
	assert_int_equal(l.gone_count, MC_GONE_MAX);
	assert_int_equal(mc_leases_next(&l), 5010);
	/* Late calls of those that are known protect nothing, also not as nobody's. */
	assert_true(mc_lease_take(&l, &held[0], object(0), reader(10), 6000));
	assert_int_equal(mc_lease_end(&held[0]), 0);
	assert_true(mc_lease_take(&l, &held[0], object(0), reader(9), 6000));
	assert_int_equal(mc_lease_end(&held[0]), 6000);
	mc_leases_expire(&l, 5000 + i);
	assert_int_equal(l.gone_count, 0);
}

#define T(name, fn) { name, fn, setup, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T("leases: the first to end goes first", the_first_to_end_goes_first),
		T("leases: a new one costs the same however many there are", many_leases),
		T("leases: readers that are gone are bounded", gone_readers_are_bounded),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
