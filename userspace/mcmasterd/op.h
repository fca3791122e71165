/* SPDX-License-Identifier: MIT */
/*
 * One record per mutation. Everything that changes the master's state goes the same way:
 *
 *	validate (op.c, reads the state)  ->  decide (master.c: time, places, token)  ->  journal  ->  apply (apply.c)
 *
 * and only then is answered. A record carries its inputs and every decision that was taken for it: the time, the
 * places, the token, the waiting times as configured. apply() asks nothing else, so that the same records in the same
 * order give the same state, live, in replay or on a standby.
 */
#ifndef MC_MASTER_OP_H
#define MC_MASTER_OP_H

#include "alloc.h"
#include "names.h"

#define MC_REPLICAS_MAX	16u
#define MC_RAILS_MAX	16u

struct mc_state;

/**
 * enum mc_op_type - what a record does
 * @MC_OP_PING: a node's mcnoded says that it lives; not journaled
 * @MC_OP_REGISTER: a ping that brings a new node or run of mcnoded, or changed rails
 * @MC_OP_EXPIRE: a node was not heard of for the client TTL: its segments go
 * @MC_OP_FORGET: a node was gone for another client TTL: drop its record
 * @MC_OP_MOUNT: a segment comes, or is taken over by a new run of its node's mcnoded
 * @MC_OP_UNMOUNT: a segment goes with everything in it
 * @MC_OP_PUT_START: a write begins; with @old_token it takes an abandoned one's name over
 * @MC_OP_PUT_EXTEND: it goes on: its time begins anew
 * @MC_OP_PUT_END: it is complete
 * @MC_OP_PUT_REVOKE: it failed
 * @MC_OP_ABANDON: nobody has ended it within the release timeout
 * @MC_OP_REMOVE: an object goes
 * @MC_OP_LEASE: an object is protected for a reader; not journaled
 * @MC_OP_CLIENT_GONE: a reader has died: what it protected may go; not journaled
 * @MC_OP_RELEASE: ranges whose waiting time is over become free
 * @MC_OP_LEASES_END: leases whose time is over are dropped; not journaled, as they are not
 */
enum mc_op_type {
	MC_OP_PING,
	MC_OP_REGISTER,
	MC_OP_EXPIRE,
	MC_OP_FORGET,
	MC_OP_MOUNT,
	MC_OP_UNMOUNT,
	MC_OP_PUT_START,
	MC_OP_PUT_EXTEND,
	MC_OP_PUT_END,
	MC_OP_PUT_REVOKE,
	MC_OP_ABANDON,
	MC_OP_REMOVE,
	MC_OP_LEASE,
	MC_OP_CLIENT_GONE,
	MC_OP_RELEASE,
	MC_OP_LEASES_END,
	MC_OP_TYPES
};

/**
 * struct mc_place - where one replica goes
 * @segment: segment's UUID
 * @extent: range in it
 * @replica_id: number of the replica, unique in this run of the cluster
 */
struct mc_place {
	uint8_t segment[MC_UUID_LEN];
	struct mc_extent extent;
	uint64_t replica_id;
};

/**
 * struct mc_rail - one end that other nodes' modules connect to
 * @id: number on its node, from 1
 * @addr: address, network order
 * @addr_len: 4 or 16
 * @port: port
 * @device: for people
 */
struct mc_rail {
	uint32_t id;
	uint8_t addr[16];
	uint8_t addr_len;
	uint16_t port;
	char device[64];
};

/**
 * struct mc_node_info - what a node says about itself
 * @name: host name
 * @peer: address its mcnoded calls from
 * @nrails: number of rails
 * @rails: the rails
 */
struct mc_node_info {
	char name[MC_NAME_MAX + 1];
	char peer[64];
	uint32_t nrails;
	struct mc_rail rails[MC_RAILS_MAX];
};

/**
 * struct mc_op - one mutation
 * @type: what
 * @now: master time, ns
 * @release_ns: release timeout as configured: an unfinished write's ranges rest that long after its start
 * @margin_ns: skew and retry margin as configured: ranges rest that long after the last lease or known write
 * @client: who asks (not for EXPIRE, FORGET, REMOVE, LEASE, RELEASE, LEASES_END)
 * @reader: who reads, or zero (LEASE); who is gone (CLIENT_GONE)
 * @name: object's name (PUT_*, ABANDON, REMOVE, LEASE)
 * @length: object's bytes (PUT_START)
 * @token: the attempt (PUT_*, ABANDON)
 * @old_token: abandoned attempt to replace, 0: none (PUT_START)
 * @until: end of the lease (LEASE), of the segment's rest (MOUNT)
 * @quiesced: nothing can write for this attempt any more (PUT_REVOKE)
 * @force: also while leased (REMOVE)
 * @inherited: the node had an earlier master, which may have handed its segments out (REGISTER); so did the
 *	segment (MOUNT)
 * @has_crc32c: @crc32c is valid (PUT_END)
 * @crc32c: checksum of the bytes (PUT_END)
 * @nplaces: replicas to make; as decided, before that as asked for (PUT_START)
 * @places: where (PUT_START)
 * @preferred: names of segments to try first; input of the decision, not of apply (PUT_START)
 * @npreferred: their number
 * @node: node's UUID (PING, REGISTER, EXPIRE, FORGET, MOUNT)
 * @info: what the node says (PING, REGISTER)
 * @seen_version: version of the node list that the caller has (PING, REGISTER)
 * @segment: segment's UUID (MOUNT, UNMOUNT)
 * @label: segment's name (MOUNT)
 * @size: segment's bytes (MOUNT)
 */
struct mc_op {
	enum mc_op_type type;
	uint64_t now, release_ns, margin_ns;
	uint8_t client[MC_UUID_LEN], reader[MC_UUID_LEN];

	const struct mc_scoped *name;
	uint64_t length, token, old_token, until;
	bool quiesced, force, inherited, has_crc32c;
	uint32_t crc32c;
	uint32_t nplaces;
	struct mc_place places[MC_REPLICAS_MAX];
	char * const *preferred;
	size_t npreferred;

	uint8_t node[MC_UUID_LEN];
	const struct mc_node_info *info;
	uint64_t seen_version;

	uint8_t segment[MC_UUID_LEN];
	const char *label;
	uint64_t size;
};

/**
 * mc_op_name() - "PutStart"
 * @type: of a record
 *
 * Return: a constant string.
 */
const char *mc_op_name(enum mc_op_type type);

/**
 * mc_op_journaled() - does this kind of record go to the journal?
 * @type: of a record
 *
 * Return: false for what only protects the present (leases, pings).
 */
bool mc_op_journaled(enum mc_op_type type);

/**
 * mc_op_validate() - may this record be applied?
 * @s: state, not changed
 * @op: record; @op->now is set, decisions are not needed yet
 * @res: why not
 *
 * Return: 0 or the number of the error.
 */
int mc_op_validate(const struct mc_state *s, const struct mc_op *op, struct mc_result *res);

/**
 * mc_op_registers() - does this ping change the node list?
 * @s: state
 * @op: MC_OP_PING, validated
 *
 * Return: true when it must be journaled, as MC_OP_REGISTER.
 */
bool mc_op_registers(const struct mc_state *s, const struct mc_op *op);

/**
 * mc_op_apply() - carry a validated record out
 * @s: state
 * @op: record with all decisions
 *
 * Return: 0; -ENOMEM or -ESTALE (a place is not free) with the state unchanged.
 */
int mc_op_apply(struct mc_state *s, const struct mc_op *op);

#endif
