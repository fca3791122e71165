/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which way a slice goes: the one on which it should arrive first. Pure arithmetic on integers for the module and for
 * tests.
 *
 * A way's cost is (bytes in flight + the slice's) / measured bandwidth, times the weight of its tier. The bandwidth
 * is measured from post to completion: what was in flight when a slice was posted, itself included, over the time it
 * took. Each measurement moves the value an eighth of the way (EWMA).
 */
#ifndef MC_SCORE_H
#define MC_SCORE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

#define MC_SCORE_PROBE	256	/* a way that was passed over so often is tried once, to measure it */
#define MC_SCORE_FLOOR	64	/* no way counts as slower than the fastest over this */

/**
 * struct mc_score - what is known about one way
 * @bw: bandwidth, bytes in a millisecond, at least 1
 * @inflight: bytes posted and not completed
 * @last: number of the pick that chose it last
 */
struct mc_score {
	u64 bw;
	u64 inflight;
	u64 last;
};

/**
 * struct mc_score_way - a candidate of one pick
 * @score: what is known about it
 * @weight: of its tier: 1, 5, 10; 0 counts as 1
 */
struct mc_score_way {
	struct mc_score *score;
	u32 weight;
};

/**
 * mc_score_start - nothing was measured yet
 * @s: score; @s->inflight and @s->last are kept
 * @speed: the port's bytes in a millisecond
 */
void mc_score_start(struct mc_score *s, u64 speed);

/**
 * mc_score_cost - time in ns that a slice would take, times the weight
 * @way: way
 * @best_bw: the fastest candidate's bandwidth
 * @len: bytes of the slice
 */
u64 mc_score_cost(const struct mc_score_way *way, u64 best_bw, u32 len);

/**
 * mc_score_pick - choose a way
 * @ways: candidates
 * @n: how many
 * @len: bytes of the slice
 * @picks: number of picks so far, shared by all ways of a peer; counted up
 *
 * The cheapest one; among equals the one chosen longest ago, which makes them take turns. One that was passed over
 * MC_SCORE_PROBE times and has nothing in flight comes first.
 *
 * Return: index, -1 without candidates.
 */
int mc_score_pick(struct mc_score_way *ways, u32 n, u32 len, u64 *picks);

/**
 * mc_score_post - a slice is posted
 * @s: score
 * @len: bytes
 *
 * Return: bytes in flight with it, for mc_score_done().
 */
u64 mc_score_post(struct mc_score *s, u32 len);

/**
 * mc_score_done - a slice is no longer in flight
 * @s: score
 * @len: bytes
 * @ahead: what mc_score_post() returned
 * @ns: time since then; 0: it failed, nothing was measured
 */
void mc_score_done(struct mc_score *s, u32 len, u64 ahead, u64 ns);

#endif /* MC_SCORE_H */
