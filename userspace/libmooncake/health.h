/* SPDX-License-Identifier: MIT */
/* Which nodes failed lately: a get asks the others first, so that a dead path costs a moment once, not at each get. */
#ifndef MC_HEALTH_H
#define MC_HEALTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/mooncake.h>

#define MC_HEALTH_SLOTS		64u
#define MC_SICK_MIN_NS		(1000 * 1000000ull)
#define MC_SICK_MAX_NS		(30 * 1000000000ull)

/**
 * struct mc_health - nodes that failed
 * @lock: protects @node
 * @node: a node, until when it is asked last, and how long the next failure makes that; unused while @for_ns is 0
 *
 * When all places are taken the one that ends first gives way: forgetting only costs an attempt.
 */
struct mc_health {
	pthread_mutex_t lock;
	struct {
		uint8_t uuid[MC_UUID_LEN];
		uint64_t until_ns;
		uint64_t for_ns;
	} node[MC_HEALTH_SLOTS];
};

/**
 * mc_health_init() - all are well
 * @h: zeroed memory
 */
void mc_health_init(struct mc_health *h);

/**
 * mc_health_sick() - did the node fail lately?
 * @h: health
 * @uuid: node
 * @now_ns: mc_now_ns()
 *
 * Return: true: better ask another one.
 */
bool mc_health_sick(struct mc_health *h, const uint8_t *uuid, uint64_t now_ns);

/**
 * mc_health_doubtful() - did the node fail when it was asked last, however long ago that was?
 * @h: health
 * @uuid: node
 *
 * Return: true: asking it is a trial.
 */
bool mc_health_doubtful(struct mc_health *h, const uint8_t *uuid);

/**
 * mc_health_note() - how an attempt ended
 * @h: health
 * @uuid: node
 * @sys_errno: 0, or the errno it failed with; what says nothing about the way to the node is ignored
 * @now_ns: mc_now_ns()
 *
 * The first failure makes the node sick for MC_SICK_MIN_NS, each further one after that time for twice as long as
 * before, up to MC_SICK_MAX_NS; a success makes it well.
 */
void mc_health_note(struct mc_health *h, const uint8_t *uuid, int sys_errno, uint64_t now_ns);

#endif
