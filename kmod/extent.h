/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of a memory as runs: pages that follow one another physically are one extent, whether they belong to one folio
 * or not. A gigabyte of huge pages is 512 extents or fewer, in the worst case each page is one.
 *
 * Extents are kept in blocks of a page and are never copied. Only the table of blocks grows with the memory, by
 * doubling: a block describes a megabyte or more, so that is 8 bytes a megabyte at most, virtually contiguous.
 * Extents are only ever added, by the one that makes the memory; afterwards they don't change and need no lock.
 */
#ifndef MC_EXTENT_H
#define MC_EXTENT_H

#include <linux/mm_types.h>
#include <linux/types.h>

/**
 * struct mc_extent - pages that follow one another
 * @page: the first one
 * @first: its number in the memory; the next extent's @first is where this one ends
 */
struct mc_extent {
	struct page *page;
	unsigned long first;
};

/**
 * struct mc_extents - all of a memory
 * @n: how many extents
 * @npages: how many pages they have
 * @blocks: of MC_EXTENTS_BLOCK extents each, the last one may be smaller
 * @nblocks: blocks in use
 * @cap: entries of @blocks
 * @room: extents that the last block has room for
 */
struct mc_extents {
	unsigned long n;
	unsigned long npages;
	struct mc_extent **blocks;
	unsigned long nblocks;
	unsigned long cap;
	unsigned long room;
};

#define MC_EXTENTS_BLOCK	(PAGE_SIZE / sizeof(struct mc_extent))

/**
 * mc_extents_add - add pages at the end
 * @e: extents
 * @page: first page
 * @npages: pages that follow one another, at least 1
 * @left: pages that may still come, these included: how large a block can get
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM; nothing is added then.
 */
int mc_extents_add(struct mc_extents *e, struct page *page, unsigned long npages, unsigned long left);

void mc_extents_free(struct mc_extents *e);	/* the pages are the caller's */

/**
 * struct mc_run - where one is in the extents
 * @page: first page from here on
 * @npages: how many follow it physically
 * @index: its extent
 */
struct mc_run {
	struct page *page;
	unsigned long npages;
	unsigned long index;
};

/**
 * mc_extents_find - the run that begins with a page
 * @e: extents
 * @n: number of the page, below @e->npages
 * @run: result
 */
void mc_extents_find(const struct mc_extents *e, unsigned long n, struct mc_run *run);

/**
 * mc_extents_next - go forward
 * @e: extents
 * @run: where one is; at the end its @npages becomes 0
 * @n: pages, at most @run->npages
 */
void mc_extents_next(const struct mc_extents *e, struct mc_run *run, unsigned long n);

/* The page of that number. */
struct page *mc_extents_page(const struct mc_extents *e, unsigned long n);

#endif /* MC_EXTENT_H */
