// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mc_mr.h"

#define ALL 0xfffffffffffff000ull
#define MB (1ull << 20)

static void as_large_as_the_runs_allow(void **state)
{
	(void)state;
	/* Huge pages: addresses and lengths are multiples of 2 MiB. */
	assert_int_equal(mc_mr_page_shift(ALL, 2 * MB, 12, 28), 21);
	assert_int_equal(mc_mr_page_shift(ALL, 2 * MB | 4 * MB | 64 * MB, 12, 28), 21);
	assert_int_equal(mc_mr_page_shift(ALL, 1ull << 30, 12, 28), 28);
	/* One small page between them. */
	assert_int_equal(mc_mr_page_shift(ALL, 2 * MB | 4096, 12, 28), 12);
	assert_int_equal(mc_mr_page_shift(ALL, 2 * MB | 65536, 12, 28), 16);
	/* What does not begin at a page is described with the smallest: the caller knows. */
	assert_int_equal(mc_mr_page_shift(ALL, 2 * MB | 1, 12, 28), 12);
	/* A single run at address 0: nothing is in the way. */
	assert_int_equal(mc_mr_page_shift(ALL, 0, 12, 28), 28);
	assert_int_equal(mc_mr_page_shift(ALL, 0, 12, 200), 63);
}

static void only_what_the_device_knows(void **state)
{
	(void)state;
	assert_int_equal(mc_mr_page_shift(4096, 2 * MB, 12, 28), 12);
	assert_int_equal(mc_mr_page_shift(4096 | 65536, 2 * MB, 12, 28), 16);
	assert_int_equal(mc_mr_page_shift(4096 | 2 * MB, 2 * MB, 12, 28), 21);
	assert_int_equal(mc_mr_page_shift(4096 | 2 * MB, MB, 12, 28), 12);
	assert_int_equal(mc_mr_page_shift(4096 | 2 * MB, 2 * MB, 12, 20), 12);
	assert_int_equal(mc_mr_page_shift(0, 2 * MB, 12, 28), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_large_as_the_runs_allow),
		cmocka_unit_test(only_what_the_device_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
