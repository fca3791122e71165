// SPDX-License-Identifier: MIT
/* The offset allocator against a map of every page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "alloc.h"

#define PAGES	(1u << 16)
#define LIVE	4096u
#define ROUNDS	200000u

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 16) % below;
}

static void seed(void)
{
	const char *env = getenv("MC_SEED");

	rng = (env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL)) | 1;
	printf("# MC_SEED=%llu\n", (unsigned long long)rng);
}

/* Takes room for @pages, checks the promise of find(), and marks the pages; MC_ALLOC_NONE when there is no hole. */
static uint32_t take(struct mc_alloc *a, uint8_t *map, uint32_t pages)
{
	struct mc_extent e, got;
	uint32_t h, i;

	if (!mc_alloc_find(a, pages, &e))
		return MC_ALLOC_NONE;
	assert_true(e.pages >= pages && e.pages <= mc_bin_round(pages));
	h = mc_alloc_claim(a, &e);
	assert_int_not_equal(h, MC_ALLOC_NONE);
	got = mc_alloc_extent(a, h);
	assert_int_equal(got.page, e.page);
	assert_int_equal(got.pages, e.pages);
	assert_true((uint64_t)e.page + e.pages <= PAGES);
	for (i = 0; i < e.pages; i++) {
		assert_int_equal(map[e.page + i], 0);
		map[e.page + i] = 1;
	}
	return h;
}

static void give(struct mc_alloc *a, uint8_t *map, uint32_t h)
{
	struct mc_extent e = mc_alloc_extent(a, h);

	memset(map + e.page, 0, e.pages);
	mc_alloc_release(a, h);
}

static void check_map(const struct mc_alloc *a, const uint8_t *map)
{
	uint32_t used = 0, holes = 0, i;

	for (i = 0; i < PAGES; i++) {
		used += map[i];
		holes += !map[i] && (i == 0 || map[i - 1]);
	}
	assert_int_equal(mc_alloc_used(a), used);
	assert_int_equal(mc_alloc_holes(a), holes);
}

static void random_against_map(void **state)
{
	static uint8_t map[PAGES];
	static uint32_t live[LIVE];
	struct mc_alloc *a = mc_alloc_new(PAGES);
	uint32_t n = 0, i, h;

	(void)state;
	seed();
	assert_non_null(a);
	for (i = 0; i < ROUNDS; i++) {
		if (n == LIVE || (n && rnd(100) < 48)) {
			uint32_t k = rnd(n);

			give(a, map, live[k]);
			live[k] = live[--n];
		} else {
			h = take(a, map, 1 + (rnd(8) ? rnd(40) : rnd(3000)));
			if (h != MC_ALLOC_NONE)
				live[n++] = h;
		}
		if (i % 5000 == 0)
			check_map(a, map);
	}
	while (n)
		give(a, map, live[--n]);
	check_map(a, map);
	assert_int_equal(mc_alloc_used(a), 0);
	assert_int_equal(mc_alloc_holes(a), 1);
	assert_int_equal(mc_alloc_largest(a), PAGES);
	mc_alloc_free(a);
}

/* A hole that one object left is exactly large enough for the next of its size, whatever the size. */
static void same_size_reuses_hole(void **state)
{
	static uint8_t map[PAGES];
	uint32_t size;

	(void)state;
	for (size = 1; size < 5000; size = size * 5 / 4 + 1) {
		struct mc_alloc *a = mc_alloc_new(PAGES);
		uint32_t first = take(a, map, size), guard, again;
		struct mc_extent e = mc_alloc_extent(a, first);

		guard = take(a, map, 7);
		give(a, map, first);
		again = take(a, map, size);
		assert_int_equal(mc_alloc_extent(a, again).page, e.page);
		assert_int_equal(mc_alloc_extent(a, again).pages, e.pages);
		give(a, map, again);
		give(a, map, guard);
		assert_int_equal(mc_alloc_holes(a), 1);
		mc_alloc_free(a);
	}
}

static uint32_t fill(struct mc_alloc *a, uint8_t *map, uint32_t pages, uint32_t *handles)
{
	uint32_t n = 0;

	while ((handles[n] = take(a, map, pages)) != MC_ALLOC_NONE)
		n++;
	return n;
}

/* C-11's sizes on a quarter of its segment: 64 KiB, 4 MiB, 1,000,003 bytes. */
static void freed_space_serves_any_size(void **state)
{
	static const struct { uint32_t pages, bytes, percent; } sizes[] = {
		{ 16, 65536, 95 }, { 1024, 4u << 20, 95 }, { 245, 1000003, 90 }, { 1, 4096, 100 },
	};
	static uint8_t map[PAGES];
	static uint32_t handles[PAGES + 1];
	struct mc_alloc *a = mc_alloc_new(PAGES);
	uint32_t i, k, n;

	(void)state;
	for (i = 0; i < 4; i++) {
		n = fill(a, map, sizes[i].pages, handles);
		assert_true((uint64_t)n * sizes[i].bytes * 100 >= (uint64_t)PAGES * 4096 * sizes[i].percent);
		/* Odd ones first, so that merging works on both sides. */
		for (k = 1; k < n; k += 2)
			give(a, map, handles[k]);
		for (k = 0; k < n; k += 2)
			give(a, map, handles[k]);
		assert_int_equal(mc_alloc_used(a), 0);
		assert_int_equal(mc_alloc_holes(a), 1);
	}
	mc_alloc_free(a);
}

/* When only a hole between two bin sizes is left, it still serves a request that fits it. */
static void last_hole_fits_exactly(void **state)
{
	struct mc_alloc *a = mc_alloc_new(1000);
	struct mc_extent e;

	(void)state;
	assert_int_equal(mc_bin_round(1000), 1024);
	assert_true(mc_alloc_find(a, 1000, &e));
	assert_int_equal(e.pages, 1000);
	assert_int_not_equal(mc_alloc_claim(a, &e), MC_ALLOC_NONE);
	assert_false(mc_alloc_find(a, 1, &e));
	assert_int_equal(mc_alloc_largest(a), 0);
	mc_alloc_free(a);
}

static void rounding_wastes_an_eighth_at_most(void **state)
{
	uint64_t pages;

	(void)state;
	for (pages = 1; pages <= UINT32_MAX; pages += 1 + pages / 97) {
		uint64_t r = mc_bin_round(pages);

		assert_true(r >= pages);
		assert_true((r - pages) * 8 <= pages);
		assert_int_equal(mc_bin_round(r), r);
	}
}

/* Replay: the same ranges can be claimed in any order, and none twice. */
static void claims_exact_ranges(void **state)
{
	static uint8_t map[PAGES];
	static uint32_t handles[512];
	struct mc_alloc *a = mc_alloc_new(PAGES), *b = mc_alloc_new(PAGES);
	uint32_t i, k;

	(void)state;
	seed();
	for (i = 0; i < 512; i++)
		handles[i] = take(a, map, 1 + rnd(100));
	for (i = 0; i < 512; i++) {
		k = (i * 37) % 512;
		assert_int_not_equal(mc_alloc_claim(b, &(struct mc_extent){ mc_alloc_extent(a, handles[k]).page,
						    mc_alloc_extent(a, handles[k]).pages }), MC_ALLOC_NONE);
	}
	assert_int_equal(mc_alloc_used(a), mc_alloc_used(b));
	assert_int_equal(mc_alloc_holes(a), mc_alloc_holes(b));
	for (i = 0; i < 512; i++) {
		struct mc_extent e = mc_alloc_extent(a, handles[i]);

		assert_int_equal(mc_alloc_claim(b, &e), MC_ALLOC_NONE);
		e.pages = 1;
		assert_int_equal(mc_alloc_claim(b, &e), MC_ALLOC_NONE);
	}
	assert_int_equal(mc_alloc_claim(b, &(struct mc_extent){ PAGES - 1, 2 }), MC_ALLOC_NONE);
	assert_int_equal(mc_alloc_claim(b, &(struct mc_extent){ PAGES - 1, 0 }), MC_ALLOC_NONE);
	mc_alloc_free(a);
	mc_alloc_free(b);
}

/* The largest segment: bins at the top of the range. */
static void largest_segment(void **state)
{
	struct mc_alloc *a = mc_alloc_new(UINT32_MAX);
	struct mc_extent e;
	uint32_t h, small;

	(void)state;
	assert_true(mc_alloc_find(a, 1, &e));
	small = mc_alloc_claim(a, &e);
	assert_true(mc_alloc_find(a, UINT32_MAX - 1, &e));
	assert_int_equal(e.pages, UINT32_MAX - 1);
	h = mc_alloc_claim(a, &e);
	assert_int_not_equal(h, MC_ALLOC_NONE);
	assert_int_equal(mc_alloc_used(a), UINT32_MAX);
	mc_alloc_release(a, small);
	mc_alloc_release(a, h);
	assert_int_equal(mc_alloc_largest(a), UINT32_MAX);
	mc_alloc_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "alloc: random ranges never overlap and merge back to one", random_against_map, NULL, NULL, NULL },
		{ "alloc: the same size reuses a hole exactly", same_size_reuses_hole, NULL, NULL, NULL },
		{ "alloc: freed space serves any size", freed_space_serves_any_size, NULL, NULL, NULL },
		{ "alloc: the last hole is used to its end", last_hole_fits_exactly, NULL, NULL, NULL },
		{ "alloc: rounding wastes an eighth at most", rounding_wastes_an_eighth_at_most, NULL, NULL, NULL },
		{ "alloc: exact ranges can be claimed once, in any order", claims_exact_ranges, NULL, NULL, NULL },
		{ "alloc: the largest segment there may be", largest_segment, NULL, NULL, NULL },
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
