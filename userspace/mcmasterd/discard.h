/* SPDX-License-Identifier: MIT */
/*
 * The discard list. A range whose object has gone is handed out again only when nothing can touch it any more; until
 * then it waits here and stays taken in its segment's allocator.
 */
#ifndef MC_MASTER_DISCARD_H
#define MC_MASTER_DISCARD_H

#include "state.h"

/**
 * mc_discard_reserve() - make room, so that mc_discard_add() can't fail
 * @d: list
 * @count: entries there may be in all
 *
 * Return: 0 or -ENOMEM.
 */
int mc_discard_reserve(struct mc_discard_list *d, size_t count);

/**
 * mc_discard_add() - let a range wait
 * @d: list with room
 * @seg: segment
 * @handle: range
 * @release: when it becomes free
 */
void mc_discard_add(struct mc_discard_list *d, struct mc_segment *seg, uint32_t handle, uint64_t release);

/**
 * mc_discard_next() - when does something become free?
 * @d: list
 *
 * Return: that time, UINT64_MAX when the list is empty.
 */
uint64_t mc_discard_next(const struct mc_discard_list *d);

/**
 * mc_discard_release() - free the first range if its time has come
 * @d: list
 * @now: time
 *
 * Return: the segment that got a range back, or NULL when nothing is due.
 */
struct mc_segment *mc_discard_release(struct mc_discard_list *d, uint64_t now);

/**
 * mc_discard_dump() - the list as text, in order
 * @d: list
 * @f: where
 */
void mc_discard_dump(const struct mc_discard_list *d, FILE *f);

#endif
