// SPDX-License-Identifier: GPL-2.0-only OR MIT
#ifdef __KERNEL__
#include <linux/math64.h>
#else
#define div64_u64(a, b) ((a) / (b))
#endif
#include "mc_score.h"

#define BYTES_MAX	(1ULL << 40)	/* keeps products below 2^64 */

void mc_score_start(struct mc_score *s, u64 speed)
{
	s->bw = speed ? speed : 1;
}

u64 mc_score_cost(const struct mc_score_way *way, u64 best_bw, u32 len)
{
	u64 bytes = way->score->inflight + len, bw = way->score->bw;

	if (bytes > BYTES_MAX)
		bytes = BYTES_MAX;
	if (bw < best_bw / MC_SCORE_FLOOR)
		bw = best_bw / MC_SCORE_FLOOR;
	return div64_u64(bytes * 1000000, bw ? bw : 1) * (way->weight ? way->weight : 1);
}

static int overlooked(struct mc_score_way *ways, u32 n, u64 picks)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!ways[i].score->inflight && picks - ways[i].score->last > MC_SCORE_PROBE)
			return (int)i;
	return -1;
}

static int cheapest(struct mc_score_way *ways, u32 n, u32 len)
{
	u64 best_bw = 0, least = 0, cost;
	int best = -1;
	u32 i;

	for (i = 0; i < n; i++)
		if (ways[i].score->bw > best_bw)
			best_bw = ways[i].score->bw;
	for (i = 0; i < n; i++) {
		cost = mc_score_cost(&ways[i], best_bw, len);
		if (best < 0 || cost < least || (cost == least && ways[i].score->last < ways[best].score->last)) {
			best = (int)i;
			least = cost;
		}
	}
	return best;
}

int mc_score_pick(struct mc_score_way *ways, u32 n, u32 len, u64 *picks)
{
	int best;

	++*picks;
	best = overlooked(ways, n, *picks);
	if (best < 0)
		best = cheapest(ways, n, len);
	if (best >= 0)
		ways[best].score->last = *picks;
	return best;
}

u64 mc_score_post(struct mc_score *s, u32 len)
{
	s->inflight += len;
	return s->inflight;
}

void mc_score_done(struct mc_score *s, u32 len, u64 ahead, u64 ns)
{
	u64 now;

	s->inflight -= len < s->inflight ? len : s->inflight;
	if (!ns)
		return;
	if (ahead > BYTES_MAX)
		ahead = BYTES_MAX;
	now = div64_u64(ahead * 1000000, ns);
	s->bw = (s->bw * 7 + now) / 8;
	if (!s->bw)
		s->bw = 1;
}
