// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "extent.h"

static struct mc_extent *at(const struct mc_extents *e, unsigned long i)
{
	return &e->blocks[i / MC_EXTENTS_BLOCK][i % MC_EXTENTS_BLOCK];
}

static unsigned long end_of(const struct mc_extents *e, unsigned long i)
{
	return i + 1 < e->n ? at(e, i + 1)->first : e->npages;
}

/* One more entry of @blocks; they are few: a block describes at least a megabyte unless it is the last one. */
static int more_blocks(struct mc_extents *e)
{
	unsigned long cap = e->cap ? 2 * e->cap : 1;
	struct mc_extent **blocks;

	if (e->nblocks < e->cap)
		return 0;
	blocks = kvmalloc_array(cap, sizeof(*blocks), GFP_KERNEL_ACCOUNT);
	if (!blocks)
		return -ENOMEM;
	if (e->nblocks)
		memcpy(blocks, e->blocks, e->nblocks * sizeof(*blocks));
	kvfree(e->blocks);
	e->blocks = blocks;
	e->cap = cap;
	return 0;
}

static int more_room(struct mc_extents *e, unsigned long left)
{
	unsigned long room = min_t(unsigned long, left, MC_EXTENTS_BLOCK);
	struct mc_extent *block;

	if (e->nblocks && e->n < (e->nblocks - 1) * MC_EXTENTS_BLOCK + e->room)
		return 0;
	if (more_blocks(e))
		return -ENOMEM;
	block = kmalloc_array(room, sizeof(*block), GFP_KERNEL_ACCOUNT);
	if (!block)
		return -ENOMEM;
	e->blocks[e->nblocks++] = block;
	e->room = room;
	return 0;
}

int mc_extents_add(struct mc_extents *e, struct page *page, unsigned long npages, unsigned long left)
{
	struct mc_extent *last = e->n ? at(e, e->n - 1) : NULL;

	if (!last || page_to_pfn(last->page) + (e->npages - last->first) != page_to_pfn(page)) {
		if (more_room(e, left))
			return -ENOMEM;
		*at(e, e->n) = (struct mc_extent){ page, e->npages };
		e->n++;
	}
	e->npages += npages;
	return 0;
}

void mc_extents_free(struct mc_extents *e)
{
	unsigned long i;

	for (i = 0; i < e->nblocks; i++) {
		kfree(e->blocks[i]);
		cond_resched();
	}
	kvfree(e->blocks);
}

void mc_extents_find(const struct mc_extents *e, unsigned long n, struct mc_run *run)
{
	unsigned long low = 0, high = e->n, mid;

	/* The last one that begins at or before @n: at(low) does, at(high) does not. */
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (at(e, mid)->first <= n)
			low = mid;
		else
			high = mid;
	}
	run->index = low;
	run->page = nth_page(at(e, low)->page, n - at(e, low)->first);
	run->npages = end_of(e, low) - n;
}

void mc_extents_next(const struct mc_extents *e, struct mc_run *run, unsigned long n)
{
	if (n < run->npages) {
		run->page = nth_page(run->page, n);
		run->npages -= n;
	} else if (++run->index < e->n) {
		run->page = at(e, run->index)->page;
		run->npages = end_of(e, run->index) - at(e, run->index)->first;
	} else {
		run->npages = 0;
	}
}

struct page *mc_extents_page(const struct mc_extents *e, unsigned long n)
{
	struct mc_run run;

	mc_extents_find(e, n, &run);
	return run.page;
}
