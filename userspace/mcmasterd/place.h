/* SPDX-License-Identifier: MIT */
/*
 * Placement: which segments get an object's replicas. A decision only: nothing is taken until the record is applied.
 */
#ifndef MC_MASTER_PLACE_H
#define MC_MASTER_PLACE_H

#include "state.h"

/**
 * struct mc_rng - where random decisions come from
 * @s: state of a xorshift generator, never 0
 */
struct mc_rng {
	uint64_t s;
};

/**
 * mc_rng_next() - one random number
 * @rng: generator
 *
 * Return: 64 random bits; good for spreading load, not for secrets.
 */
uint64_t mc_rng_next(struct mc_rng *rng);

/**
 * mc_place_random() - the `random` strategy
 * @s: state
 * @rng: generator
 * @op: MC_OP_PUT_START; @op->places is filled in and @op->nplaces set to the number of replicas that found room
 *
 * The segments that the caller prefers come first, in its order, at most one of a name; a full or unknown one is passed
 * over. Then all others, from a random one on. No two replicas have a segment's name or a node in common.
 *
 * Return: @op->nplaces.
 */
uint32_t mc_place_random(const struct mc_state *s, struct mc_rng *rng, struct mc_op *op);

/**
 * struct mc_room - what there is, for messages and status
 * @segments: segments that take objects
 * @capacity: their bytes
 * @used: bytes taken in them
 * @waiting: of these, bytes that wait for reuse
 * @largest: bytes of the largest hole
 * @resting: of @segments, those that take no objects yet
 * @rest_ns: longest time that one of them rests on
 */
struct mc_room {
	uint32_t segments, resting;
	uint64_t capacity, used, waiting, largest, rest_ns;
};

/**
 * mc_room_of() - add all usable segments up
 * @s: state
 * @now: time
 * @room: result
 */
void mc_room_of(const struct mc_state *s, uint64_t now, struct mc_room *room);

#endif
