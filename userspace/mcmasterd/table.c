// SPDX-License-Identifier: MIT
#include "table.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t mc_shard_of(const uint8_t *name, uint32_t len)
{
	return XXH3_64bits_withSeed(name, len, MC_HASH_SEED) >> 54;
}

static int compare(const uint8_t *a, uint32_t alen, const uint8_t *b, uint32_t blen)
{
	int d = memcmp(a, b, alen < blen ? alen : blen);

	return d ? d : (alen > blen) - (alen < blen);
}

static int compare_nodes(const struct mc_tree_node *a, const struct mc_tree_node *b)
{
	return compare(a->name, a->name_len, b->name, b->name_len);
}

void mc_table_init(struct mc_table *t, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->rng = seed | 1;
}

static uint32_t next_prio(struct mc_table *t)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return t->rng >> 32;
}

struct mc_tree_node *mc_table_find(const struct mc_table *t, const uint8_t *name, uint32_t len)
{
	struct mc_tree_node *n = t->root[mc_shard_of(name, len)];

	while (n) {
		int d = compare(name, len, n->name, n->name_len);

		if (!d)
			return n;
		n = d < 0 ? n->left : n->right;
	}
	return NULL;
}

/* Names below @pivot go to *@lo, the others to *@hi. */
static void split(struct mc_tree_node *n, const struct mc_tree_node *pivot, struct mc_tree_node **lo,
		  struct mc_tree_node **hi)
{
	while (n) {
		if (compare_nodes(n, pivot) < 0) {
			*lo = n;
			lo = &n->right;
			n = n->right;
		} else {
			*hi = n;
			hi = &n->left;
			n = n->left;
		}
	}
	*lo = NULL;
	*hi = NULL;
}

void mc_table_insert(struct mc_table *t, struct mc_tree_node *n)
{
	struct mc_tree_node **at = &t->root[mc_shard_of(n->name, n->name_len)];

	n->prio = next_prio(t);
	while (*at && (*at)->prio >= n->prio)
		at = compare_nodes(n, *at) < 0 ? &(*at)->left : &(*at)->right;
	split(*at, n, &n->left, &n->right);
	*at = n;
}

void mc_table_remove(struct mc_table *t, struct mc_tree_node *n)
{
	struct mc_tree_node **at = &t->root[mc_shard_of(n->name, n->name_len)];
	struct mc_tree_node *l = n->left, *r = n->right;

	while (*at != n)
		at = compare_nodes(n, *at) < 0 ? &(*at)->left : &(*at)->right;
	/* Merge the two subtrees in place, the higher priority first. */
	while (l && r) {
		if (l->prio >= r->prio) {
			*at = l;
			at = &l->right;
			l = l->right;
		} else {
			*at = r;
			at = &r->left;
			r = r->left;
		}
	}
	*at = l ? l : r;
}

static struct mc_tree_node *lower_bound(struct mc_tree_node *n, const uint8_t *name, uint32_t len, bool behind)
{
	struct mc_tree_node *best = NULL;

	while (n) {
		int d = compare(n->name, n->name_len, name, len);

		if (d > 0 || (d == 0 && !behind)) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best;
}

static void sift_down(struct mc_table_walk *w, uint32_t i)
{
	struct mc_tree_node *n = w->heap[i];
	uint32_t child;

	while ((child = 2 * i + 1) < w->count) {
		if (child + 1 < w->count && compare_nodes(w->heap[child + 1], w->heap[child]) < 0)
			child++;
		if (compare_nodes(n, w->heap[child]) <= 0)
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = n;
}

void mc_table_walk_from(struct mc_table_walk *w, const struct mc_table *t, const uint8_t *name, uint32_t len,
			bool behind)
{
	uint32_t i;

	w->table = t;
	w->count = 0;
	for (i = 0; i < MC_SHARDS; i++) {
		struct mc_tree_node *n = lower_bound(t->root[i], name, len, behind);

		if (n)
			w->heap[w->count++] = n;
	}
	for (i = w->count / 2; i-- > 0; )
		sift_down(w, i);
}

struct mc_tree_node *mc_table_walk_next(struct mc_table_walk *w)
{
	struct mc_tree_node *n, *next;

	if (!w->count)
		return NULL;
	n = w->heap[0];
	next = lower_bound(w->table->root[mc_shard_of(n->name, n->name_len)], n->name, n->name_len, true);
	w->heap[0] = next ? next : w->heap[--w->count];
	if (w->count)
		sift_down(w, 0);
	return n;
}
