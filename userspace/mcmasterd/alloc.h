/* SPDX-License-Identifier: MIT */
/*
 * Offset allocator: hands out ranges of a segment without touching it. Two-level segregated free lists: sizes are
 * counted in pages of 4 KiB and binned by a small float with three mantissa bits, so finding a hole takes two
 * find-first-set instructions. A request is rounded up to its bin's size (at most 12.5 % more), so that a hole left by
 * one object fits the next of the same size exactly; when no such hole is left, the exact number of pages is looked for
 * in the bin below. Freeing merges with both neighbours.
 *
 * Looking and taking are two steps: mc_alloc_find() decides, the decision is journaled, mc_alloc_claim() carries it out
 * at exactly that place, live or in replay.
 */
#ifndef MC_MASTER_ALLOC_H
#define MC_MASTER_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#define MC_PAGE_SHIFT		12
#define MC_PAGE_SIZE		(1ull << MC_PAGE_SHIFT)
#define MC_SEGMENT_MAX		((uint64_t)UINT32_MAX << MC_PAGE_SHIFT)	/* one page less than 16 TiB */

#define MC_ALLOC_NONE		UINT32_MAX

struct mc_alloc;

/**
 * struct mc_extent - a range of a segment, in pages
 * @page: first page
 * @pages: number of pages
 */
struct mc_extent {
	uint32_t page;
	uint32_t pages;
};

/**
 * mc_alloc_new() - one free range
 * @pages: its size, at least 1
 *
 * Return: the allocator, NULL when out of memory.
 */
struct mc_alloc *mc_alloc_new(uint32_t pages);

/**
 * mc_alloc_free() - forget everything
 * @a: allocator; NULL is fine
 */
void mc_alloc_free(struct mc_alloc *a);

/**
 * mc_alloc_find() - where would this many pages go?
 * @a: allocator, not changed
 * @pages: number of pages, at least 1
 * @e: result, at least @pages long
 *
 * Return: true, or false when no hole is large enough.
 */
bool mc_alloc_find(const struct mc_alloc *a, uint32_t pages, struct mc_extent *e);

/**
 * mc_alloc_claim() - take exactly this range
 * @a: allocator
 * @e: range; fast when it lies at the start of a hole that mc_alloc_find() would name, else holes are searched
 *
 * Return: a handle for mc_alloc_release(); MC_ALLOC_NONE when the range is not wholly free or memory ran out.
 */
uint32_t mc_alloc_claim(struct mc_alloc *a, const struct mc_extent *e);

/**
 * mc_alloc_release() - give a range back
 * @a: allocator
 * @handle: from mc_alloc_claim(); not valid afterwards
 */
void mc_alloc_release(struct mc_alloc *a, uint32_t handle);

/**
 * mc_alloc_extent() - the range behind a handle
 * @a: allocator
 * @handle: from mc_alloc_claim()
 *
 * Return: the range.
 */
struct mc_extent mc_alloc_extent(const struct mc_alloc *a, uint32_t handle);

/**
 * mc_alloc_used() - pages handed out
 * @a: allocator
 *
 * Return: their number.
 */
uint32_t mc_alloc_used(const struct mc_alloc *a);

/**
 * mc_alloc_largest() - pages of the largest hole, rounded down to a bin's size unless it is the only hole
 * @a: allocator
 *
 * Return: their number, 0 when full.
 */
uint32_t mc_alloc_largest(const struct mc_alloc *a);

/**
 * mc_alloc_holes() - number of separate free ranges
 * @a: allocator
 *
 * Return: their number; 1 when everything is free.
 */
uint32_t mc_alloc_holes(const struct mc_alloc *a);

/**
 * mc_bin_round() - pages that a request really takes
 * @pages: asked for
 *
 * Return: the smallest bin size that is not below @pages, or @pages where that would not fit 32 bits.
 */
uint32_t mc_bin_round(uint32_t pages);

#endif
