// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mc_score.h"

#define BLOCK	65536u
#define WAYS	4

static void cost_is_bytes_over_bandwidth_times_weight(void **state)
{
	struct mc_score s = { .bw = 1000, .inflight = 3000 };
	struct mc_score_way way = { &s, 1 };

	(void)state;
	assert_int_equal(mc_score_cost(&way, 1000, 1000), 4000000);
	way.weight = 5;
	assert_int_equal(mc_score_cost(&way, 1000, 1000), 20000000);
	way.weight = 10;
	s.inflight = 0;
	assert_int_equal(mc_score_cost(&way, 1000, 1000), 10000000);
	/* never slower than the fastest over 64 */
	way.weight = 1;
	s.bw = 1;
	assert_int_equal(mc_score_cost(&way, 64000, 1000), 1000000);
	/* no overflow */
	s.inflight = ~0ULL >> 1;
	s.bw = 1;
	assert_int_equal(mc_score_cost(&way, 1, 1), (1ULL << 40) * 1000000);
}

static void equals_take_turns(void **state)
{
	struct mc_score s[3];
	struct mc_score_way w[3];
	uint64_t picks = 0;
	unsigned int i, n[3] = { 0 };

	(void)state;
	memset(s, 0, sizeof(s));
	for (i = 0; i < 3; i++) {
		mc_score_start(&s[i], 5000);
		w[i] = (struct mc_score_way) { &s[i], 1 };
	}
	for (i = 0; i < 300; i++)
		n[mc_score_pick(w, 3, BLOCK, &picks)]++;
	for (i = 0; i < 3; i++)
		assert_int_equal(n[i], 100);
	assert_int_equal(mc_score_pick(w, 0, BLOCK, &picks), -1);
}

static void bytes_in_flight_count(void **state)
{
	struct mc_score s[2] = { { .bw = 1000 }, { .bw = 1000, .inflight = BLOCK } };
	struct mc_score_way w[2] = { { &s[0], 1 }, { &s[1], 1 } };
	uint64_t picks = 0;

	(void)state;
	assert_int_equal(mc_score_pick(w, 2, BLOCK, &picks), 0);
	mc_score_post(&s[0], BLOCK);
	mc_score_post(&s[0], BLOCK);
	assert_int_equal(mc_score_pick(w, 2, BLOCK, &picks), 1);
	/* the other tier only when the preferred one has five times as much to do */
	w[1].weight = 5;
	s[1].inflight = 0;
	s[0].inflight = 3 * BLOCK;
	assert_int_equal(mc_score_pick(w, 2, BLOCK, &picks), 0);
	s[0].inflight = 5 * BLOCK;
	assert_int_equal(mc_score_pick(w, 2, BLOCK, &picks), 1);
}

static void measurement_moves_an_eighth(void **state)
{
	struct mc_score s = { 0 };
	uint64_t ahead;

	(void)state;
	mc_score_start(&s, 0);
	assert_int_equal(s.bw, 1);
	mc_score_start(&s, 8000);
	ahead = mc_score_post(&s, 16000);
	assert_int_equal(ahead, 16000);
	mc_score_done(&s, 16000, ahead, 1000000);	/* 16000 bytes in 1 ms */
	assert_int_equal(s.bw, 9000);
	assert_int_equal(s.inflight, 0);
	mc_score_post(&s, 5);
	mc_score_done(&s, 5, 5, 0);			/* a failure measures nothing */
	assert_int_equal(s.bw, 9000);
	assert_int_equal(s.inflight, 0);
}

/* Ways as queues: each serves its slices one after the other at its own speed; a window of slices is always out. */
struct queue {
	struct mc_score score;
	uint64_t rate;		/* bytes in a ms */
	uint64_t free_at;	/* ns */
	uint64_t served;
};

struct out {
	int way;
	uint64_t posted, ends, ahead;
};

static void simulate(struct queue *q, unsigned int n, unsigned int window, unsigned int slices, uint64_t latency)
{
	static struct out out[128];
	struct out *next;
	struct mc_score_way w[WAYS];
	uint64_t now = 0, picks = 0;
	unsigned int i, k, used = 0;

	for (i = 0; i < n; i++)
		w[i] = (struct mc_score_way) { &q[i].score, 1 };
	for (k = 0; k < slices; k++) {
		if (used == window) {
			next = &out[0];
			for (i = 1; i < window; i++)
				if (out[i].ends < next->ends)
					next = &out[i];
			now = next->ends;
			mc_score_done(&q[next->way].score, BLOCK, next->ahead, now - next->posted);
			q[next->way].served++;
		} else {
			next = &out[used++];
		}
		next->way = mc_score_pick(w, n, BLOCK, &picks);
		next->posted = now;
		next->ahead = mc_score_post(&q[next->way].score, BLOCK);
		if (q[next->way].free_at < now)
			q[next->way].free_at = now;
		q[next->way].free_at += BLOCK * 1000000ull / q[next->way].rate;
		next->ends = q[next->way].free_at + latency;
	}
}

/* The throttled way's share is what its bandwidth is of the whole, within a tenth. */
static void share(uint64_t fast, uint64_t slow, uint64_t speed, unsigned int window, uint64_t latency)
{
	struct queue q[2];
	uint64_t all, ideal, got;

	memset(q, 0, sizeof(q));
	mc_score_start(&q[0].score, speed);
	mc_score_start(&q[1].score, speed);
	q[0].rate = q[1].rate = fast;
	simulate(q, 2, window, 2000, latency);		/* both the same at first */
	all = q[0].served + q[1].served;
	assert_true(q[0].served * 100 / all >= 45 && q[0].served * 100 / all <= 55);
	q[0].served = q[1].served = 0;
	q[0].score.inflight = q[1].score.inflight = 0;
	q[0].free_at = q[1].free_at = 0;
	q[1].rate = slow;
	simulate(q, 2, window, 4000, latency);
	all = q[0].served + q[1].served;
	ideal = 1000 * slow / (fast + slow);
	got = 1000 * q[1].served / all;
	assert_true(got >= ideal * 90 / 100 && got <= ideal * 110 / 100);
}

static void shares_follow_a_rail_throttled_to_a_quarter(void **state)
{
	(void)state;
	share(1000000, 250000, 12500000, 32, 10000);
	share(1000000, 250000, 12500000, 64, 50000);
	share(10000, 2500, 1250000, 32, 500000);
	share(10000, 2500, 1250000, 128, 500000);
}

static void a_slow_way_is_probed(void **state)
{
	struct mc_score s[2] = { { .bw = 1000000 }, { .bw = 1 } };
	struct mc_score_way w[2] = { { &s[0], 1 }, { &s[1], 10 } };
	uint64_t picks = 0, i, n = 0;

	(void)state;
	for (i = 0; i < 10 * (MC_SCORE_PROBE + 1); i++)
		n += mc_score_pick(w, 2, BLOCK, &picks) == 1;
	assert_int_equal(n, 10);
	/* not while its last slice is still out */
	s[1].inflight = BLOCK;
	for (i = 0; i < 10 * (MC_SCORE_PROBE + 1); i++)
		assert_int_equal(mc_score_pick(w, 2, BLOCK, &picks), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_is_bytes_over_bandwidth_times_weight),
		cmocka_unit_test(equals_take_turns),
		cmocka_unit_test(bytes_in_flight_count),
		cmocka_unit_test(measurement_moves_an_eighth),
		cmocka_unit_test(shares_follow_a_rail_throttled_to_a_quarter),
		cmocka_unit_test(a_slow_way_is_probed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
