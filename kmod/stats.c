// SPDX-License-Identifier: GPL-2.0-only
/* Counters and histograms: see stats.h. */
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "stats.h"

struct mc_xfer_cpu {
	struct mc_xfer_stat v[MC_TRANSPORTS][2];	/* READ, WRITE */
};

DEFINE_PER_CPU(struct mc_stats, mc_stats);

/* Not a static per-CPU variable: those of all modules together have 8 KiB. */
static struct mc_xfer_cpu __percpu *xfer;

const char *mc_transport_name(enum mc_transport transport)
{
	static const char *const names[] = { "local", "rdma", "tcp", "nvme" };

	return transport < MC_TRANSPORTS ? names[transport] : "unknown";
}

u64 mc_stat_read(enum mc_stat which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(mc_stats, cpu).value[which]);
	return sum;
}

void mc_stat_request(enum mc_transport transport, bool write, u64 bytes, int result, u64 ns)
{
	if (result) {
		this_cpu_inc(xfer->v[transport][write].errors);
		return;
	}
	this_cpu_inc(xfer->v[transport][write].reqs);
	this_cpu_add(xfer->v[transport][write].bytes, bytes);
	this_cpu_inc(xfer->v[transport][write].hist[mc_hist_bucket(ns)]);
}

void mc_stat_xfer(enum mc_transport transport, bool write, struct mc_xfer_stat *out)
{
	int cpu, i;

	memset(out, 0, sizeof(*out));
	for_each_possible_cpu(cpu) {
		const struct mc_xfer_stat *s = &per_cpu_ptr(xfer, cpu)->v[transport][write];

		out->reqs += READ_ONCE(s->reqs);
		out->errors += READ_ONCE(s->errors);
		out->bytes += READ_ONCE(s->bytes);
		for (i = 0; i < MC_HIST_BUCKETS; i++)
			out->hist[i] += READ_ONCE(s->hist[i]);
	}
}

void mc_stat_show(struct seq_file *m)
{
	struct mc_xfer_stat s;
	int t, write, i;

	for (t = 0; t < MC_TRANSPORTS; t++) {
		for (write = 0; write < 2; write++) {
			mc_stat_xfer(t, write, &s);
			if (!s.reqs && !s.errors)
				continue;
			seq_printf(m, "%s %s requests %llu errors %llu bytes %llu p50 %llu ns p99 %llu ns\n",
				   mc_transport_name(t), write ? "write" : "read", s.reqs, s.errors, s.bytes,
				   mc_hist_percentile(s.hist, MC_HIST_BUCKETS, 500),
				   mc_hist_percentile(s.hist, MC_HIST_BUCKETS, 990));
			for (i = 0; i < MC_HIST_BUCKETS; i++)
				if (s.hist[i])
					seq_printf(m, "  >= %llu ns: %llu\n", i ? 1ULL << i : 0ULL, s.hist[i]);
		}
	}
}

int mc_stats_init(void)
{
	xfer = alloc_percpu(struct mc_xfer_cpu);
	return xfer ? 0 : -ENOMEM;
}

void mc_stats_exit(void)
{
	free_percpu(xfer);
}

int mc_counters_init(struct mc_counters *c, bool latency)
{
	c->cpu = alloc_percpu(struct mc_count_cpu);
	if (!c->cpu)
		return -ENOMEM;
	if (latency)
		c->latency = alloc_percpu(struct mc_latency_cpu);
	return latency && !c->latency ? -ENOMEM : 0;
}

void mc_counters_exit(struct mc_counters *c)
{
	free_percpu(c->cpu);
	free_percpu(c->latency);
}

u64 mc_count_read(const struct mc_counters *c, enum mc_count which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(c->cpu, cpu)->v[which]);
	/* Read between an addition here and its subtraction there a count of what is under way may come out below 0. */
	return which == MC_COUNT_INFLIGHT && (s64)sum < 0 ? 0 : sum;
}

void mc_count_hist(const struct mc_counters *c, bool write, u64 *hist)
{
	int cpu, i;

	memset(hist, 0, MC_HIST_BUCKETS * sizeof(*hist));
	for_each_possible_cpu(cpu)
		for (i = 0; i < MC_HIST_BUCKETS; i++)
			hist[i] += READ_ONCE(per_cpu_ptr(c->latency, cpu)->hist[write][i]);
}

u32 mc_hist_used(const u64 *hist)
{
	u32 n = MC_HIST_BUCKETS;

	while (n && !hist[n - 1])
		n--;
	return n;
}
