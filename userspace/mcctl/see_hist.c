// SPDX-License-Identifier: MIT
/* Histograms: numbers, times and bars. */
#include <inttypes.h>
#include <string.h>

#include "mc_hist.h"
#include "see.h"

const char *see_transport_name(uint32_t transport)
{
	static const char *const names[MC_TRANSPORTS] = { "local", "rdma", "tcp", "nvme" };

	return transport < MC_TRANSPORTS ? names[transport] : "other";
}

const char *see_ns_text(uint64_t ns, char *to, size_t size)
{
	static const struct {
		uint64_t unit;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (ns < units[i].unit)
			continue;
		/* three digits: 1.23, 12.3, 123 */
		snprintf(to, size, "%.*f %s", ns < 10 * units[i].unit ? 2 : ns < 100 * units[i].unit ? 1 : 0,
			 (double)ns / (double)units[i].unit, units[i].name);
		return to;
	}
	snprintf(to, size, "%" PRIu64 " ns", ns);
	return to;
}

const char *see_bar(uint64_t value, uint64_t max, int width, char *to)
{
	int n = max ? (int)((double)value / (double)max * width + 0.5) : 0;

	if (n > width)
		n = width;
	if (!n && value)
		n = 1;
	memset(to, '#', (size_t)n);
	to[n] = '\0';
	return to;
}

static uint64_t low(int bucket)
{
	return bucket ? 1ULL << bucket : 0;
}

json_t *see_stat_json(const struct mcnl_stat *s)
{
	json_t *hist = json_array();

	for (int i = 0; i < MC_HIST_BUCKETS; i++)
		if (s->hist[i])
			json_array_append_new(hist, json_pack("{sI sI}", "from_ns", (json_int_t)low(i), "count",
							      (json_int_t)s->hist[i]));
	return json_pack("{ss ss sI sI sI sI sI so}", "transport", see_transport_name(s->transport), "op",
			 s->op == MC_OP_WRITE ? "write" : "read", "requests", (json_int_t)s->reqs, "errors",
			 (json_int_t)s->errors, "bytes", (json_int_t)s->bytes, "p50_ns",
			 (json_int_t)mc_hist_percentile(s->hist, MC_HIST_BUCKETS, 500), "p99_ns",
			 (json_int_t)mc_hist_percentile(s->hist, MC_HIST_BUCKETS, 990), "histogram", hist);
}

void see_hist_print(FILE *out, const uint64_t *hist)
{
	int first = 0, last = MC_HIST_BUCKETS - 1;
	char from[24], bar[SEE_BAR + 1];
	uint64_t max = 0;

	while (last >= 0 && !hist[last])
		last--;
	while (first < last && !hist[first])
		first++;
	for (int i = first; i <= last; i++)
		max = hist[i] > max ? hist[i] : max;
	for (int i = first; i <= last; i++)
		fprintf(out, "  from %8s  %10" PRIu64 "  %s\n", see_ns_text(low(i), from, sizeof(from)), hist[i],
			see_bar(hist[i], max, SEE_BAR, bar));
}
