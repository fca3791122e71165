/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and histograms.
 *
 * What they cost: each is a 64-bit number of this processor, added to by one instruction that needs neither a lock
 * nor a locked bus cycle nor a cache line that another processor writes (this_cpu_add() on x86 is `add reg, %gs:mem`).
 * A slice touches at most two lines of such counters (peer, rail) and one of a histogram, and asks for the time twice
 * (about 25 ns each where the TSC is the clock source): less than 0.1 us against the 2 us and more that posting and
 * completing a slice takes. The atomics that were here before cost as much uncontended and a hundred times that when
 * several pumps and completion handlers run at once. Readers pay instead: they add up all processors, which needs no
 * lock since a 64-bit load is whole on the machines that this module is built for.
 *
 * A sum read while others count is not a snapshot: one number may miss what another already has. At rest it is exact.
 */
#ifndef MC_STATS_H
#define MC_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/mooncake_netlink.h>

#include "mc_hist.h"

struct seq_file;

/* ---- the node ---- */

enum mc_stat {
	MC_STAT_REQS,			/* entries consumed */
	MC_STAT_REQ_ERRORS,		/* completions with an error */
	MC_STAT_SLICES,			/* slices that ended well */
	MC_STAT_SLICE_ERRORS,
	MC_STAT_TIMEOUTS,		/* requests that their deadline stopped */
	MC_STAT_LOCAL_READ_BYTES,
	MC_STAT_LOCAL_WRITE_BYTES,
	MC_STAT_MAX
};

struct mc_stats {
	u64 value[MC_STAT_MAX];
};
DECLARE_PER_CPU(struct mc_stats, mc_stats);

static inline void mc_stat_add(enum mc_stat which, u64 n)
{
	this_cpu_add(mc_stats.value[which], n);
}

u64 mc_stat_read(enum mc_stat which);

/**
 * struct mc_xfer_stat - requests of one transport and operation
 * @reqs: ended well
 * @errors: ended with an error
 * @bytes: payload of those that ended well
 * @hist: their latency from submission to completion; errors are not in it: a deadline says nothing about the path
 */
struct mc_xfer_stat {
	u64 reqs;
	u64 errors;
	u64 bytes;
	u64 hist[MC_HIST_BUCKETS];
};

/**
 * mc_stat_request - a request is about to complete
 * @transport: what moved it
 * @write: WRITE, else READ
 * @bytes: its length
 * @result: 0 or -errno
 * @ns: since it was submitted
 */
void mc_stat_request(enum mc_transport transport, bool write, u64 bytes, int result, u64 ns);
void mc_stat_xfer(enum mc_transport transport, bool write, struct mc_xfer_stat *out);	/* sum of all processors */
void mc_stat_show(struct seq_file *m);		/* debugfs: histograms as text */
const char *mc_transport_name(enum mc_transport transport);

int mc_stats_init(void);
void mc_stats_exit(void);

/* ---- a peer, a rail ---- */

/**
 * enum mc_count - counters of a peer or a rail
 */
enum mc_count {
	MC_COUNT_READ_BYTES,
	MC_COUNT_WRITE_BYTES,
	MC_COUNT_READ_OPS,
	MC_COUNT_WRITE_OPS,
	MC_COUNT_ERRORS,
	MC_COUNT_RETRIES,
	MC_COUNT_INFLIGHT,
	MC_COUNT_RECONNECTS,
	MC_COUNTS
};

struct mc_count_cpu {
	u64 v[MC_COUNTS];
};

struct mc_latency_cpu {
	u64 hist[2][MC_HIST_BUCKETS];	/* READ, WRITE */
};

/**
 * struct mc_counters - counters of one object
 * @cpu: see enum mc_count
 * @latency: slices from posting to completion, NULL: not measured
 */
struct mc_counters {
	struct mc_count_cpu __percpu *cpu;
	struct mc_latency_cpu __percpu *latency;
};

/**
 * mc_counters_init - allocate counters, all 0
 * @c: zeroed
 * @latency: with histograms (0.7 KiB a processor instead of 64 bytes)
 *
 * Return: 0 or -ENOMEM; mc_counters_exit() is fine in either case.
 */
int mc_counters_init(struct mc_counters *c, bool latency);
void mc_counters_exit(struct mc_counters *c);

/* @n may be negative: what one processor has added another may take away, the sum is right. */
static inline void mc_count(struct mc_counters *c, enum mc_count which, s64 n)
{
	this_cpu_add(c->cpu->v[which], n);
}

static inline void mc_count_latency(struct mc_counters *c, bool write, u64 ns)
{
	this_cpu_inc(c->latency->hist[write][mc_hist_bucket(ns)]);
}

u64 mc_count_read(const struct mc_counters *c, enum mc_count which);

/**
 * mc_count_hist - histogram of an object that has one
 * @c: counters
 * @write: of WRITE slices, else READ
 * @hist: MC_HIST_BUCKETS numbers
 */
void mc_count_hist(const struct mc_counters *c, bool write, u64 *hist);

/* Entries up to the last that is not 0: what a histogram's attribute carries. */
u32 mc_hist_used(const u64 *hist);

#endif /* MC_STATS_H */
