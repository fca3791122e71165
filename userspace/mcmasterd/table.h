/* SPDX-License-Identifier: MIT */
/*
 * All objects by name. 1024 shards by hash(tenant, key), each an ordered tree (a treap) of scoped names, so that one
 * structure answers look-ups and sorted lists. Shards share nothing: each can have a lock of its own.
 *
 * The hash is XXH3-64 with seed MC_HASH_SEED over the scoped name (tenant, NUL, key); the shard is its top ten bits.
 * Both are fixed here, never by a library's idea of a default hash.
 */
#ifndef MC_MASTER_TABLE_H
#define MC_MASTER_TABLE_H

#include <stdint.h>

#include "names.h"

#define MC_SHARDS	1024u
#define MC_HASH_SEED	0x4d6f6f6e63616b65ull	/* "Mooncake" */

/**
 * struct mc_tree_node - what an object embeds as its first member
 * @left: smaller names
 * @right: larger names
 * @prio: random; a parent's is not below its children's
 * @tenant_len: as in struct mc_scoped
 * @name_len: bytes of @name
 * @name: the scoped name
 */
struct mc_tree_node {
	struct mc_tree_node *left, *right;
	uint32_t prio;
	uint16_t tenant_len;
	uint16_t name_len;
	uint8_t *name;
};

/**
 * struct mc_table - the shards
 * @root: one tree a shard
 * @rng: state of the priorities' generator; their values shape the trees and nothing else
 */
struct mc_table {
	struct mc_tree_node *root[MC_SHARDS];
	uint64_t rng;
};

/**
 * mc_shard_of() - the shard a name belongs to
 * @name: scoped name
 * @len: its length
 *
 * Return: 0 to MC_SHARDS - 1.
 */
uint32_t mc_shard_of(const uint8_t *name, uint32_t len);

/**
 * mc_table_init() - start empty
 * @t: table
 * @seed: random, so that nobody can choose names that make a tree deep
 */
void mc_table_init(struct mc_table *t, uint64_t seed);

/**
 * mc_table_find() - look a name up
 * @t: table
 * @name: scoped name
 * @len: its length
 *
 * Return: the node or NULL.
 */
struct mc_tree_node *mc_table_find(const struct mc_table *t, const uint8_t *name, uint32_t len);

/**
 * mc_table_insert() - add a node whose name is not there yet
 * @t: table
 * @n: node with @name, @name_len and @tenant_len set
 */
void mc_table_insert(struct mc_table *t, struct mc_tree_node *n);

/**
 * mc_table_remove() - take a node out
 * @t: table
 * @n: node of this table
 */
void mc_table_remove(struct mc_table *t, struct mc_tree_node *n);

/**
 * struct mc_table_walk - names of all shards in order
 * @table: what is walked; must not change meanwhile
 * @heap: next node of each shard that has one, smallest on top
 * @count: entries of @heap
 */
struct mc_table_walk {
	const struct mc_table *table;
	struct mc_tree_node *heap[MC_SHARDS];
	uint32_t count;
};

/**
 * mc_table_walk_from() - start a walk
 * @w: walk
 * @t: table
 * @name: scoped name to start at
 * @len: its length
 * @behind: start behind @name itself
 */
void mc_table_walk_from(struct mc_table_walk *w, const struct mc_table *t, const uint8_t *name, uint32_t len,
			bool behind);

/**
 * mc_table_walk_next() - one step
 * @w: walk
 *
 * Return: the next node, NULL at the end.
 */
struct mc_tree_node *mc_table_walk_next(struct mc_table_walk *w);

#endif
