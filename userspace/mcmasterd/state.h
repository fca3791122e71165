/* SPDX-License-Identifier: MIT */
/*
 * What the master knows. Changed by mc_op_apply() alone; everything else only reads.
 *
 * Ownership: the state owns objects (through the table), segments, nodes and the discard list. An object owns its
 * replicas; a replica belongs to one segment's list as long as it exists. A range of a segment is held by exactly one
 * replica or one entry of the discard list, or is free.
 *
 * Locks: one thread applies, so there are none yet. The order they will have: nodes, segments (with their allocators),
 * shard, discard list. What is per shard is in mc_table; the list of unfinished writes is global and ordered by time.
 */
#ifndef MC_MASTER_STATE_H
#define MC_MASTER_STATE_H

#include <stdio.h>
#include <sys/queue.h>

#include "lease.h"
#include "op.h"
#include "table.h"

#define MC_NS_PER_MS	1000000ull

/**
 * struct mc_replica - one copy of an object
 * @link: in segment->replicas
 * @object: owner
 * @segment: where it lives; NULL once that segment has gone
 * @id: number of the replica
 * @handle: of its range in the segment's allocator
 */
struct mc_replica {
	TAILQ_ENTRY(mc_replica) link;
	struct mc_object *object;
	struct mc_segment *segment;
	uint64_t id;
	uint32_t handle;
};

/**
 * struct mc_object - an object, or a write in progress
 * @tree: its place in the table; first member
 * @writing: in state->writing while not @complete
 * @size: bytes
 * @token: the attempt that writes or wrote it
 * @put_start: when that began, or was last extended
 * @lease_until: end of the last lease granted, 0: never; bytes may be read until then
 * @open_until: end of the last lease that is nobody's in particular
 * @leases: those of readers that named themselves
 * @client: whose attempt it is
 * @crc32c: checksum, if @has_crc32c
 * @has_crc32c: the writer gave one
 * @complete: readable
 * @nslots: entries of @replicas
 * @nreplicas: entries that still have a segment; never 0
 * @replicas: copies; the name follows them in the same allocation
 */
struct mc_object {
	struct mc_tree_node tree;
	TAILQ_ENTRY(mc_object) writing;
	uint64_t size, token, put_start, lease_until, open_until;
	struct mc_lease_list leases;
	uint8_t client[MC_UUID_LEN];
	uint32_t crc32c;
	bool has_crc32c, complete;
	uint8_t nslots, nreplicas;
	struct mc_replica replicas[];
};

/**
 * enum mc_segment_state - may it be used?
 * @MC_SEGMENT_OK: takes and serves objects
 * @MC_SEGMENT_GONE: holds no object; kept while ranges of it wait, so that they are not reused should it come back
 */
enum mc_segment_state { MC_SEGMENT_OK, MC_SEGMENT_GONE };

/**
 * struct mc_segment - a pool that a node contributes
 * @uuid: its identity
 * @node: the node it is on
 * @client: the run of mcnoded that mounted it
 * @name: for people; several segments may have the same
 * @size: bytes, a multiple of the page size
 * @state: see above
 * @alloc: which ranges are taken
 * @waiting: pages taken by the discard list
 * @rest_until: takes no objects before that: an earlier master's readers and writers may still touch it
 * @nreplicas: entries of @replicas
 * @replicas: what is in it
 */
struct mc_segment {
	uint8_t uuid[MC_UUID_LEN], node[MC_UUID_LEN], client[MC_UUID_LEN];
	char name[MC_NAME_MAX + 1];
	uint64_t size;
	enum mc_segment_state state;
	struct mc_alloc *alloc;
	uint32_t waiting;
	uint64_t rest_until;
	uint64_t nreplicas;
	TAILQ_HEAD(, mc_replica) replicas;
};

/**
 * enum mc_node_state - what the master thinks of a node
 * @MC_NODE_NEED_REMOUNT: registered; must mount its segments (again)
 * @MC_NODE_OK: has done so, or has none
 * @MC_NODE_GONE: not heard of for the client TTL
 */
enum mc_node_state { MC_NODE_NEED_REMOUNT, MC_NODE_OK, MC_NODE_GONE };

/**
 * struct mc_node - a node and the run of mcnoded that speaks for it
 * @uuid: its identity
 * @client: the run
 * @old_client: the run before, whose late calls are refused
 * @info: name, rails, address
 * @state: see above
 * @client_since: when @client registered
 * @last_ping: when it was last heard of
 * @need_version: version of the node list that told it to mount
 * @inherited: it came from an earlier master
 */
struct mc_node {
	uint8_t uuid[MC_UUID_LEN], client[MC_UUID_LEN], old_client[MC_UUID_LEN];
	struct mc_node_info info;
	enum mc_node_state state;
	uint64_t client_since, last_ping, need_version;
	bool inherited;
};

/**
 * struct mc_discard - a range that waits for reuse
 * @release: when it becomes free
 * @seq: order of entering, so that equal times have one order
 * @segment: where
 * @handle: of the range
 */
struct mc_discard {
	uint64_t release, seq;
	struct mc_segment *segment;
	uint32_t handle;
};

/**
 * struct mc_discard_list - heap of waiting ranges, soonest first
 * @heap: entries
 * @count: their number
 * @cap: room; kept large enough for every replica there is, so that retiring one never allocates
 * @seq: next entry's number
 */
struct mc_discard_list {
	struct mc_discard *heap;
	size_t count, cap;
	uint64_t seq;
};

/**
 * struct mc_state_config - what the rules depend on
 * @seed: shapes the table, decides nothing
 * @nodes_version: the node list's first version; random per run, so that a version tells the run it is from
 * @discard_ns: an unfinished write's name may be taken after that
 * @client_ttl_ns: a client not heard of for that long is dead
 */
struct mc_state_config {
	uint64_t seed, nodes_version, discard_ns, client_ttl_ns;
};

/**
 * struct mc_state - everything
 * @cfg: rules
 * @table: objects
 * @writing: unfinished writes, oldest first
 * @segments: sorted by UUID
 * @nsegments: their number
 * @nodes: sorted by UUID
 * @nnodes: their number
 * @discard: ranges waiting for reuse
 * @leases: of readers that named themselves
 * @nobjects: complete objects
 * @nwriting: unfinished writes
 * @nreplicas: replicas of both
 * @nodes_version: changes with the node list
 */
struct mc_state {
	struct mc_state_config cfg;
	struct mc_table table;
	TAILQ_HEAD(, mc_object) writing;
	struct mc_segment **segments;
	uint32_t nsegments;
	struct mc_node **nodes;
	uint32_t nnodes;
	struct mc_discard_list discard;
	struct mc_leases leases;
	uint64_t nobjects, nwriting, nreplicas;
	uint64_t nodes_version;
};

/**
 * mc_state_init() - nothing known
 * @s: state
 * @cfg: rules
 */
void mc_state_init(struct mc_state *s, const struct mc_state_config *cfg);

/**
 * mc_state_fini() - free everything
 * @s: state
 */
void mc_state_fini(struct mc_state *s);

/**
 * mc_state_object() - look an object or write up
 * @s: state
 * @name: scoped name
 *
 * Return: the object or NULL.
 */
struct mc_object *mc_state_object(const struct mc_state *s, const struct mc_scoped *name);

/**
 * mc_object_protected() - until when may an object not be removed?
 * @o: object
 *
 * Return: master time, 0: nobody reads it.
 */
uint64_t mc_object_protected(const struct mc_object *o);

/**
 * mc_state_segment() - look a segment up
 * @s: state
 * @uuid: its UUID
 *
 * Return: the segment, also a gone one, or NULL.
 */
struct mc_segment *mc_state_segment(const struct mc_state *s, const uint8_t *uuid);

/**
 * mc_state_node() - look a node up
 * @s: state
 * @uuid: its UUID
 *
 * Return: the node, also a gone one, or NULL.
 */
struct mc_node *mc_state_node(const struct mc_state *s, const uint8_t *uuid);

/**
 * mc_state_dump() - all of it as text, the same for equal states
 * @s: state
 * @f: where
 */
void mc_state_dump(const struct mc_state *s, FILE *f);

#endif
