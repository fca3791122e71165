// SPDX-License-Identifier: MIT
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#define MANTISSA_BITS	3u
#define LEAVES		(1u << MANTISSA_BITS)
#define TOPS		32u
#define BINS		(TOPS * LEAVES)
#define NODES_FIRST	64u
#define EXACT_TRIES	64u	/* holes of the bin below that a request looks at when its own bins are empty */
#define NONE		MC_ALLOC_NONE

/* A range, free or taken; all of them, in order of address, are one list from node 0's chain. */
struct node {
	uint32_t page, pages;
	uint32_t left, right;		/* neighbours in the segment */
	uint32_t prev, next;		/* in the bin's list while free; @next links unused nodes */
	bool taken;
};

struct mc_alloc {
	uint32_t pages, used, holes;
	uint32_t first;			/* leftmost node */
	uint32_t top_map;
	uint8_t leaf_map[TOPS];
	uint32_t bins[BINS];
	struct node *nodes;
	uint32_t cap, spare;		/* nodes allocated; head of the unused ones */
};

static uint32_t log2_floor(uint32_t v)
{
	return 31 - __builtin_clz(v);
}

/* Bin whose size is the largest not above @pages. Sizes below 8 have bins of their own. */
static uint32_t bin_floor(uint32_t pages)
{
	uint32_t exp;

	if (pages < LEAVES)
		return pages;
	exp = log2_floor(pages) - MANTISSA_BITS;
	return ((exp + 1) << MANTISSA_BITS) | ((pages >> exp) & (LEAVES - 1));
}

static uint64_t bin_size(uint32_t bin)
{
	uint32_t exp = bin >> MANTISSA_BITS, mantissa = bin & (LEAVES - 1);

	return exp ? (uint64_t)(mantissa | LEAVES) << (exp - 1) : mantissa;
}

static uint32_t bin_ceil(uint32_t pages)
{
	uint32_t bin = bin_floor(pages);

	return bin_size(bin) < pages ? bin + 1 : bin;
}

uint32_t mc_bin_round(uint32_t pages)
{
	uint64_t size = bin_size(bin_ceil(pages));

	return size > UINT32_MAX ? pages : size;
}

static void bin_insert(struct mc_alloc *a, uint32_t i)
{
	struct node *n = &a->nodes[i];
	uint32_t bin = bin_floor(n->pages);

	n->taken = false;
	n->prev = NONE;
	n->next = a->bins[bin];
	if (n->next != NONE)
		a->nodes[n->next].prev = i;
	a->bins[bin] = i;
	a->leaf_map[bin >> MANTISSA_BITS] |= 1u << (bin & (LEAVES - 1));
	a->top_map |= 1u << (bin >> MANTISSA_BITS);
	a->holes++;
}

static void bin_remove(struct mc_alloc *a, uint32_t i)
{
	struct node *n = &a->nodes[i];
	uint32_t bin = bin_floor(n->pages), top = bin >> MANTISSA_BITS;

	if (n->next != NONE)
		a->nodes[n->next].prev = n->prev;
	if (n->prev != NONE)
		a->nodes[n->prev].next = n->next;
	else
		a->bins[bin] = n->next;
	if (a->bins[bin] == NONE) {
		a->leaf_map[top] &= ~(1u << (bin & (LEAVES - 1)));
		if (!a->leaf_map[top])
			a->top_map &= ~(1u << top);
	}
	a->holes--;
}

/* First bin at or above @bin that holds something. */
static uint32_t bin_search(const struct mc_alloc *a, uint32_t bin)
{
	uint32_t top = bin >> MANTISSA_BITS, leaves, tops;

	if (bin >= BINS)
		return NONE;
	leaves = a->leaf_map[top] & (0xffu << (bin & (LEAVES - 1)));
	if (leaves)
		return top << MANTISSA_BITS | __builtin_ctz(leaves);
	tops = top + 1 < TOPS ? a->top_map & (~0u << (top + 1)) : 0;
	if (!tops)
		return NONE;
	top = __builtin_ctz(tops);
	return top << MANTISSA_BITS | __builtin_ctz(a->leaf_map[top]);
}

static void chain_spare(struct mc_alloc *a, uint32_t from)
{
	uint32_t i;

	for (i = a->cap; i-- > from; ) {
		a->nodes[i].next = a->spare;
		a->spare = i;
	}
}

static bool grow(struct mc_alloc *a)
{
	uint32_t from = a->cap, cap = from ? from * 2 : NODES_FIRST;
	struct node *n;

	if (cap <= from)
		return false;
	n = reallocarray(a->nodes, cap, sizeof(*n));
	if (!n)
		return false;
	a->nodes = n;
	a->cap = cap;
	chain_spare(a, from);
	return true;
}

/* Two splits at most follow a successful reserve: destroying and merging never allocate. */
static bool reserve(struct mc_alloc *a)
{
	while (a->spare == NONE || a->nodes[a->spare].next == NONE)
		if (!grow(a))
			return false;
	return true;
}

static uint32_t node_get(struct mc_alloc *a)
{
	uint32_t i = a->spare;

	a->spare = a->nodes[i].next;
	return i;
}

static void node_put(struct mc_alloc *a, uint32_t i)
{
	a->nodes[i].next = a->spare;
	a->spare = i;
}

struct mc_alloc *mc_alloc_new(uint32_t pages)
{
	struct mc_alloc *a = calloc(1, sizeof(*a));
	uint32_t i;

	if (!a)
		return NULL;
	memset(a->bins, 0xff, sizeof(a->bins));
	a->pages = pages;
	a->spare = NONE;
	if (!reserve(a)) {
		free(a);
		return NULL;
	}
	i = node_get(a);
	a->nodes[i] = (struct node){ .pages = pages, .left = NONE, .right = NONE };
	a->first = i;
	bin_insert(a, i);
	return a;
}

void mc_alloc_free(struct mc_alloc *a)
{
	if (!a)
		return;
	free(a->nodes);
	free(a);
}

/* A hole of the bin below that is large enough after all. */
static uint32_t exact_hole(const struct mc_alloc *a, uint32_t pages)
{
	uint32_t i = a->bins[bin_floor(pages)], tries;

	for (tries = 0; i != NONE && tries < EXACT_TRIES; tries++, i = a->nodes[i].next)
		if (a->nodes[i].pages >= pages)
			return i;
	return NONE;
}

bool mc_alloc_find(const struct mc_alloc *a, uint32_t pages, struct mc_extent *e)
{
	uint32_t bin = bin_search(a, bin_ceil(pages));
	uint32_t i = bin != NONE ? a->bins[bin] : exact_hole(a, pages);

	if (i == NONE)
		return false;
	e->page = a->nodes[i].page;
	e->pages = bin != NONE ? mc_bin_round(pages) : pages;
	return true;
}

/* The hole that holds @e: almost always the one that mc_alloc_find() named. */
static uint32_t hole_of(const struct mc_alloc *a, const struct mc_extent *e)
{
	uint32_t bin = bin_search(a, bin_ceil(e->pages)), i;
	const struct node *n;

	i = bin != NONE ? a->bins[bin] : exact_hole(a, e->pages);
	if (i != NONE && a->nodes[i].page == e->page)
		return i;
	for (i = a->first; i != NONE; i = n->right) {
		n = &a->nodes[i];
		if (!n->taken && n->page <= e->page && (uint64_t)e->page + e->pages <= (uint64_t)n->page + n->pages)
			return i;
	}
	return NONE;
}

/* Cut @i after @pages; the rest becomes its right neighbour and stays free. */
static void split(struct mc_alloc *a, uint32_t i, uint32_t pages)
{
	uint32_t r = node_get(a);
	struct node *n = &a->nodes[i], *rest = &a->nodes[r];

	*rest = (struct node){ .page = n->page + pages, .pages = n->pages - pages, .left = i, .right = n->right };
	if (n->right != NONE)
		a->nodes[n->right].left = r;
	n->right = r;
	n->pages = pages;
	bin_insert(a, r);
}

uint32_t mc_alloc_claim(struct mc_alloc *a, const struct mc_extent *e)
{
	uint32_t i = e->pages ? hole_of(a, e) : NONE;

	if (i == NONE || !reserve(a))
		return NONE;
	bin_remove(a, i);
	if (a->nodes[i].page < e->page) {
		split(a, i, e->page - a->nodes[i].page);
		bin_insert(a, i);
		i = a->nodes[i].right;
		bin_remove(a, i);
	}
	if (a->nodes[i].pages > e->pages)
		split(a, i, e->pages);
	a->nodes[i].taken = true;
	a->used += e->pages;
	return i;
}

/* @right, free and already out of its bin, becomes part of its left neighbour. */
static void swallow(struct mc_alloc *a, uint32_t i, uint32_t right)
{
	struct node *n = &a->nodes[i], *r = &a->nodes[right];

	n->pages += r->pages;
	n->right = r->right;
	if (r->right != NONE)
		a->nodes[r->right].left = i;
	node_put(a, right);
}

void mc_alloc_release(struct mc_alloc *a, uint32_t i)
{
	uint32_t left = a->nodes[i].left, right = a->nodes[i].right;

	a->used -= a->nodes[i].pages;
	if (right != NONE && !a->nodes[right].taken) {
		bin_remove(a, right);
		swallow(a, i, right);
	}
	if (left != NONE && !a->nodes[left].taken) {
		bin_remove(a, left);
		swallow(a, left, i);
		i = left;
	}
	bin_insert(a, i);
}

struct mc_extent mc_alloc_extent(const struct mc_alloc *a, uint32_t handle)
{
	return (struct mc_extent){ .page = a->nodes[handle].page, .pages = a->nodes[handle].pages };
}

uint32_t mc_alloc_used(const struct mc_alloc *a)
{
	return a->used;
}

uint32_t mc_alloc_largest(const struct mc_alloc *a)
{
	uint32_t top, bin;

	if (!a->top_map)
		return 0;
	top = log2_floor(a->top_map);
	bin = top << MANTISSA_BITS | log2_floor(a->leaf_map[top]);
	return a->holes == 1 ? a->nodes[a->bins[bin]].pages : bin_size(bin);
}

uint32_t mc_alloc_holes(const struct mc_alloc *a)
{
	return a->holes;
}
