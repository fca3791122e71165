/* SPDX-License-Identifier: MIT */
/* Segments: the pools that nodes contribute. Look-up, creation and figures; mounting is in apply.c. */
#ifndef MC_MASTER_SEGMENT_H
#define MC_MASTER_SEGMENT_H

#include "state.h"

/**
 * mc_segment_add() - a record for a segment not known yet
 * @s: state
 * @op: MC_OP_MOUNT
 *
 * Return: the segment, in state OK and empty, or NULL when out of memory.
 */
struct mc_segment *mc_segment_add(struct mc_state *s, const struct mc_op *op);

/**
 * mc_segment_drop() - forget a segment
 * @s: state
 * @seg: a gone segment without replicas and waiting ranges
 */
void mc_segment_drop(struct mc_state *s, struct mc_segment *seg);

/**
 * mc_segment_used() - bytes taken by objects and by waiting ranges
 * @seg: segment
 *
 * Return: their number.
 */
uint64_t mc_segment_used(const struct mc_segment *seg);

/**
 * mc_segment_state_name() - for people
 * @seg: segment
 * @now: time
 *
 * Return: "ok", "resting" or "gone".
 */
const char *mc_segment_state_name(const struct mc_segment *seg, uint64_t now);

/**
 * mc_segment_dump() - one line
 * @seg: segment
 * @f: where
 */
void mc_segment_dump(const struct mc_segment *seg, FILE *f);

#endif
