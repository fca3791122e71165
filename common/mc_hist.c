// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "mc_hist.h"

u32 mc_hist_bucket(u64 ns)
{
	u32 i = ns > 1 ? 63 - (u32)__builtin_clzll(ns) : 0;

	return i < MC_HIST_BUCKETS ? i : MC_HIST_BUCKETS - 1;
}

u64 mc_hist_total(const u64 *n, u32 count)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < count; i++)
		sum += n[i];
	return sum;
}

/* @part of @whole of the width of bucket @i; @part <= @whole. Small widths are multiplied first, large ones divided. */
static u64 share(u32 i, u64 part, u64 whole)
{
	u64 width = 1ULL << i;

	if (i < 10)
		return width * part / whole;
	return (width >> 10) * ((part << 10) / whole);
}

u64 mc_hist_percentile(const u64 *n, u32 count, u32 permille)
{
	u64 total = mc_hist_total(n, count), rank, below = 0;
	u32 i;

	/* The rank of the value asked for, from 1, rounded up: total * permille would overflow. */
	rank = total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
	for (i = 0; i < count; i++) {
		if (n[i] && below + n[i] >= rank)
			return (i ? 1ULL << i : 0) + share(i, rank - below, n[i]);
		below += n[i];
	}
	return 0;
}
