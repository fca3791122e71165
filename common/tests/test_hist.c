// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mc_hist.h"

static void buckets(void **state)
{
	u32 i;

	(void)state;
	assert_int_equal(mc_hist_bucket(0), 0);
	assert_int_equal(mc_hist_bucket(1), 0);
	for (i = 1; i < MC_HIST_BUCKETS - 1; i++) {
		assert_int_equal(mc_hist_bucket(1ULL << i), i);
		assert_int_equal(mc_hist_bucket((2ULL << i) - 1), i);
	}
	assert_int_equal(mc_hist_bucket(1ULL << (MC_HIST_BUCKETS - 1)), MC_HIST_BUCKETS - 1);
	assert_int_equal(mc_hist_bucket(3600ULL * 1000000000), MC_HIST_BUCKETS - 1);
	assert_int_equal(mc_hist_bucket(~0ULL), MC_HIST_BUCKETS - 1);
}

static void empty(void **state)
{
	u64 n[MC_HIST_BUCKETS] = { 0 };

	(void)state;
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 500), 0);
	assert_int_equal(mc_hist_percentile(n, 0, 1000), 0);
	assert_int_equal(mc_hist_total(n, MC_HIST_BUCKETS), 0);
}

static void one_value(void **state)
{
	u64 n[MC_HIST_BUCKETS] = { [14] = 1 };

	(void)state;
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 1), 2 << 14);
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 1000), 2 << 14);
	assert_int_equal(mc_hist_percentile(n, 15, 990), 2 << 14);
}

static void spread(void **state)
{
	/* 900 values of about 1 us, 90 of about 16 us, 10 of about 1 ms */
	u64 n[MC_HIST_BUCKETS] = { [10] = 900, [14] = 90, [20] = 10 };

	(void)state;
	assert_int_equal(mc_hist_total(n, MC_HIST_BUCKETS), 1000);
	assert_in_range(mc_hist_percentile(n, MC_HIST_BUCKETS, 500), 1024, 2047);
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 900), 2048);
	assert_in_range(mc_hist_percentile(n, MC_HIST_BUCKETS, 901), 1 << 14, 2 << 14);
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 990), 2 << 14);
	assert_in_range(mc_hist_percentile(n, MC_HIST_BUCKETS, 991), 1 << 20, 2 << 20);
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 1000), 2 << 20);
}

/* Percentiles never fall as their rank grows, whatever is in the buckets. */
static void monotonic(void **state)
{
	u64 n[MC_HIST_BUCKETS], seed = 7, last;
	u32 round, i, p;

	(void)state;
	for (round = 0; round < 200; round++) {
		for (i = 0; i < MC_HIST_BUCKETS; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			n[i] = seed >> 60 ? 0 : seed >> (24 + round % 24);
		}
		n[round % MC_HIST_BUCKETS]++;
		for (p = 1, last = 0; p <= 1000; p++) {
			u64 v = mc_hist_percentile(n, MC_HIST_BUCKETS, p);

			assert_true(v >= last);
			last = v;
		}
	}
}

static void huge_counts(void **state)
{
	u64 n[MC_HIST_BUCKETS] = { [3] = 1ULL << 50, [41] = 1ULL << 50 };

	(void)state;
	assert_in_range(mc_hist_percentile(n, MC_HIST_BUCKETS, 250), 11, 12);
	assert_int_equal(mc_hist_percentile(n, MC_HIST_BUCKETS, 1000), 1ULL << 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets), cmocka_unit_test(empty), cmocka_unit_test(one_value),
		cmocka_unit_test(spread), cmocka_unit_test(monotonic), cmocka_unit_test(huge_counts),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
