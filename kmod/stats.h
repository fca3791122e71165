/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU counters of the node. */
#ifndef MC_STATS_H
#define MC_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

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

#endif /* MC_STATS_H */
