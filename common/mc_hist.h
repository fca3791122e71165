/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Log2 histograms of latencies: pure arithmetic for the module, for programs and for tests.
 *
 * Bucket i counts values from 2^i ns up to below 2^(i+1) ns. The first one has 0 too, the last one everything that is
 * longer. The number of buckets is MC_HIST_BUCKETS of the netlink header.
 */
#ifndef MC_HIST_H
#define MC_HIST_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

#include <linux/mooncake_netlink.h>

/**
 * mc_hist_bucket - bucket of a value
 * @ns: value
 *
 * Return: 0 to MC_HIST_BUCKETS - 1.
 */
u32 mc_hist_bucket(u64 ns);

/**
 * mc_hist_total - how many values a histogram has
 * @n: buckets
 * @count: how many buckets, at most MC_HIST_BUCKETS; those behind are 0
 */
u64 mc_hist_total(const u64 *n, u32 count);

/**
 * mc_hist_percentile - a value that so many of a thousand don't exceed
 * @n: buckets
 * @count: how many buckets, at most MC_HIST_BUCKETS; those behind are 0
 * @permille: 1 to 1000
 *
 * Values are taken as spread evenly over their bucket, so the answer is off by less than the factor 2 that a bucket
 * spans.
 *
 * Return: ns; 0 for an empty histogram.
 */
u64 mc_hist_percentile(const u64 *n, u32 count, u32 permille);

#endif /* MC_HIST_H */
