// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The published vectors of slicing (spec of the transfer engine, 1.4b), and properties over random requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "mc_slice.h"

#define BLOCK 65536u
#define FAR (~(u64)0)

struct vector {
	u64 len;
	u64 slices;
	u32 first;
	u32 last;
};

static void published_vectors(void **state)
{
	static const struct vector v[] = {
		{ 1, 1, 1, 1 },
		{ 65536, 1, 65536, 65536 },
		{ 81920, 1, 81920, 81920 },
		{ 81921, 2, 65536, 16385 },
		{ 132072, 2, 65536, 66536 },
		{ 147457, 3, 65536, 16385 },
		{ 197608, 3, 65536, 66536 },
		{ 1048577, 16, 65536, 65537 },
		{ 10u << 20, 160, 65536, 65536 },
		{ 64u << 20, 1024, 65536, 65536 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		u64 left = v[i].len, n = 0;
		u32 first = 0, last = 0;

		while (left) {
			last = mc_slice_len(left, BLOCK, BLOCK / 4, FAR, FAR);
			first = n++ ? first : last;
			left -= last;
		}
		assert_int_equal(n, v[i].slices);
		assert_int_equal(first, v[i].first);
		assert_int_equal(last, v[i].last);
	}
}

static void clipping_vector(void **state)
{
	(void)state;
	assert_int_equal(mc_slice_len(100000, BLOCK, BLOCK / 4, 70000, 40000), 40000);
	assert_int_equal(mc_slice_len(60000, BLOCK, BLOCK / 4, 30000, FAR), 30000);
	assert_int_equal(mc_slice_len(30000, BLOCK, BLOCK / 4, FAR, FAR), 30000);
	assert_int_equal(mc_slice_len(BLOCK + 1, BLOCK, 0, FAR, FAR), BLOCK);
	assert_int_equal(mc_slice_len(BLOCK + 1, BLOCK, 1, FAR, FAR), BLOCK + 1);
	assert_int_equal(mc_slice_len(2 * BLOCK, BLOCK, BLOCK, FAR, FAR), 2 * BLOCK);
}

static void chunk_left(void **state)
{
	(void)state;
	assert_true(mc_chunk_left(12345, 0) == FAR);
	assert_int_equal(mc_chunk_left(0, 4096), 4096);
	assert_int_equal(mc_chunk_left(4095, 4096), 1);
	assert_int_equal(mc_chunk_left(4096, 4096), 4096);
}

static void random_requests_never_cross_chunks(void **state)
{
	unsigned int seed = getenv("MC_SEED") ? (unsigned int)atoi(getenv("MC_SEED")) : (unsigned int)time(NULL);
	int round;

	(void)state;
	print_message("# seed %u\n", seed);
	srandom(seed);
	for (round = 0; round < 2000; round++) {
		u64 loc_chunk = 4096ull << (random() % 10), rem_chunk = 4096ull << (random() % 10);
		u64 loc = (u64)random() % (1u << 24), rem = (u64)random() % (1u << 24);
		u64 left = 1 + (u64)random() % (1u << 22);
		u32 block = 4096u * (1 + (u32)(random() % 32));

		while (left) {
			u32 n = mc_slice_len(left, block, block / 4, mc_chunk_left(loc, loc_chunk),
					     mc_chunk_left(rem, rem_chunk));

			assert_true(n > 0 && n <= left && n <= block + block / 4);
			assert_int_equal(loc / loc_chunk, (loc + n - 1) / loc_chunk);
			assert_int_equal(rem / rem_chunk, (rem + n - 1) / rem_chunk);
			loc += n;
			rem += n;
			left -= n;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(clipping_vector),
		cmocka_unit_test(chunk_left),
		cmocka_unit_test(random_requests_never_cross_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
