// SPDX-License-Identifier: MIT
/* From two samples of counters to what happens per second. */
#include <stdlib.h>
#include <string.h>

#include "mc_hist.h"
#include "see.h"

void see_sample_free(struct see_sample *s)
{
	free(s->stats);
	free(s->rails);
	free(s->hists);
	free(s->peers);
	memset(s, 0, sizeof(*s));
}

uint64_t see_delta(uint64_t before, uint64_t now)
{
	return now < before ? now : now - before;
}

/* delta * 10^9 / ns without overflow: whole times first, then the rest in parts that fit. */
uint64_t see_rate(uint64_t delta, uint64_t ns)
{
	if (!ns)
		return 0;
	return (uint64_t)((__uint128_t)delta * 1000000000 / ns +
			  ((__uint128_t)delta * 1000000000 % ns * 2 >= ns ? 1 : 0));
}

void see_hist_delta(const uint64_t *before, const uint64_t *now, uint64_t *out)
{
	bool anew = false;

	for (int i = 0; i < MC_HIST_BUCKETS; i++)
		anew |= now[i] < before[i];
	for (int i = 0; i < MC_HIST_BUCKETS; i++)
		out[i] = anew ? now[i] : now[i] - before[i];
}

static void add_rate(json_t *o, const char *key, uint64_t before, uint64_t now, uint64_t ns)
{
	json_object_set_new(o, key, json_integer((json_int_t)see_rate(see_delta(before, now), ns)));
}

static void add_percentiles(json_t *o, const char *p50, const char *p99, const uint64_t *before, const uint64_t *now)
{
	uint64_t hist[MC_HIST_BUCKETS];

	see_hist_delta(before, now, hist);
	json_object_set_new(o, p50, json_integer((json_int_t)mc_hist_percentile(hist, MC_HIST_BUCKETS, 500)));
	json_object_set_new(o, p99, json_integer((json_int_t)mc_hist_percentile(hist, MC_HIST_BUCKETS, 990)));
}

static void add_counters(json_t *o, const struct mcnl_counters *a, const struct mcnl_counters *b, uint64_t ns)
{
	add_rate(o, "read_bytes_s", a->read_bytes, b->read_bytes, ns);
	add_rate(o, "write_bytes_s", a->write_bytes, b->write_bytes, ns);
	add_rate(o, "slices_s", a->read_ops + a->write_ops, b->read_ops + b->write_ops, ns);
	json_object_set_new(o, "inflight", json_integer((json_int_t)b->inflight));
	add_rate(o, "errors_s", a->errors, b->errors, ns);
	add_rate(o, "retries_s", a->retries, b->retries, ns);
}

static json_t *stat_rates(const struct see_sample *before, const struct mcnl_stat *b, uint64_t ns)
{
	static const struct mcnl_stat none;
	const struct mcnl_stat *a = &none;
	json_t *o;

	for (size_t i = 0; i < before->n_stats; i++)
		if (before->stats[i].transport == b->transport && before->stats[i].op == b->op)
			a = &before->stats[i];
	o = json_pack("{ss ss}", "transport", see_transport_name(b->transport), "op",
		      b->op == MC_OP_WRITE ? "write" : "read");
	add_rate(o, "requests_s", a->reqs, b->reqs, ns);
	add_rate(o, "bytes_s", a->bytes, b->bytes, ns);
	add_rate(o, "errors_s", a->errors, b->errors, ns);
	add_percentiles(o, "p50_ns", "p99_ns", a->hist, b->hist);
	return o;
}

const struct mcnl_rail_hist *see_hist_of(const struct see_sample *s, uint32_t rail)
{
	static const struct mcnl_rail_hist none;

	for (size_t i = 0; i < s->n_hists; i++)
		if (s->hists[i].id == rail)
			return &s->hists[i];
	return &none;
}

static json_t *rail_rates(const struct see_sample *before, const struct see_sample *now, const struct mcnl_rail *b,
			  uint64_t ns)
{
	const struct mcnl_rail_hist *h0 = see_hist_of(before, b->id), *h1 = see_hist_of(now, b->id);
	static const struct mcnl_rail none;
	const struct mcnl_rail *a = &none;
	json_t *o;

	for (size_t i = 0; i < before->n_rails; i++)
		if (before->rails[i].id == b->id)
			a = &before->rails[i];
	o = json_pack("{sI ss ss}", "rail", (json_int_t)b->id, "device", b->dev, "state", b->state);
	add_counters(o, &a->c, &b->c, ns);
	add_percentiles(o, "read_p50_ns", "read_p99_ns", h0->read, h1->read);
	add_percentiles(o, "write_p50_ns", "write_p99_ns", h0->write, h1->write);
	return o;
}

static json_t *peer_rates(const struct see_sample *before, const struct mcnl_peer *b, uint64_t ns)
{
	static const struct mcnl_peer none;
	const struct mcnl_peer *a = &none;
	json_t *o;

	for (size_t i = 0; i < before->n_peers; i++)
		if (!memcmp(before->peers[i].node_uuid, b->node_uuid, MC_UUID_LEN))
			a = &before->peers[i];
	o = json_pack("{so ss}", "node_uuid", ctl_uuid(b->node_uuid), "state", b->state);
	add_counters(o, &a->c, &b->c, ns);
	return o;
}

json_t *see_rates(const struct see_sample *before, const struct see_sample *now)
{
	static const struct see_sample nothing;
	uint64_t ns = now->time_ns - before->time_ns;
	json_t *stats = json_array(), *rails = json_array(), *peers = json_array();

	/* Another load of the module has counted from 0 since: what it counts may be more than before all the same. */
	if (before->instance != now->instance)
		before = &nothing;
	for (size_t i = 0; i < now->n_stats; i++)
		json_array_append_new(stats, stat_rates(before, &now->stats[i], ns));
	for (size_t i = 0; i < now->n_rails; i++)
		json_array_append_new(rails, rail_rates(before, now, &now->rails[i], ns));
	for (size_t i = 0; i < now->n_peers; i++)
		json_array_append_new(peers, peer_rates(before, &now->peers[i], ns));
	return json_pack("{sf so so so}", "seconds", (double)ns / 1e9, "transports", stats, "rails", rails, "peers",
			 peers);
}
