// SPDX-License-Identifier: MIT
/* The rules, on a clock of our own: who may do what when, and when a range may be handed out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "master.h"
#include "segment.h"

#define MS		MC_NS_PER_MS
#define MIB		(1ull << 20)
#define DISCARD_MS	3000u
#define RELEASE_MS	8000u
#define LEASE_MS	10000u
#define TTL_MS		10000u
#define REST_MS		5000u
#define MARGIN_MS	(2 * MC_MAX_SKEW_MS + 2000u)

static uint64_t clock_ns = 1000 * MS;

static uint64_t test_clock(void)
{
	return clock_ns;
}

/* ---- a master whose records are kept ---- */

struct kept {
	struct mc_op op;
	struct mc_scoped name;
	struct mc_node_info info;
	char label[MC_NAME_MAX + 1];
};

static struct kept *kept;
static size_t nkept, capkept;
static struct event_base *base;
static struct mc_master *m;

static int keep(struct mc_journal *j, const struct mc_op *op)
{
	struct kept *k;

	(void)j;
	if (nkept == capkept) {
		capkept = capkept ? capkept * 2 : 1024;
		kept = realloc(kept, capkept * sizeof(*kept));
		assert_non_null(kept);
	}
	k = &kept[nkept++];
	k->op = *op;
	if (op->name)
		k->name = *op->name;
	if (op->info)
		k->info = *op->info;
	if (op->label)
		strcpy(k->label, op->label);
	return 0;
}

static int setup(void **state)
{
	struct mc_master_config cfg = {
		.lease_ttl_ms = LEASE_MS, .discard_ms = DISCARD_MS, .release_ms = RELEASE_MS,
		.client_ttl_ms = TTL_MS, .retry_bound_ms = 2000, .restart_rest_ms = REST_MS, .clock_ns = test_clock,
	};
	struct mc_result res = { 0 };

	(void)state;
	base = event_base_new();
	m = mc_master_new(&cfg, base, &res);
	assert_non_null(m);
	m->journal.append = keep;
	m->journal.all = true;
	nkept = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mc_master_free(m);
	event_base_free(base);
	free(kept);
	kept = NULL;
	capkept = 0;
	return 0;
}

static void pass_ms(uint64_t ms)
{
	clock_ns += ms * MS;
	mc_master_sweep(m);
}

/* ---- calls ---- */

static void uuid(uint8_t out[MC_UUID_LEN], char kind, uint32_t n)
{
	memset(out, kind, MC_UUID_LEN);
	memcpy(out, &n, sizeof(n));
}

static const char *peer = "10.0.0.1";
static uint64_t seen;

static int ping(uint32_t node, uint32_t client, uint32_t rail)
{
	struct mc_node_info info = { .nrails = rail ? 1 : 0 };
	struct mc_op op = { .type = MC_OP_PING, .info = &info, .seen_version = seen };
	struct mc_result res;

	snprintf(info.name, sizeof(info.name), "node%u", node);
	snprintf(info.peer, sizeof(info.peer), "%s", peer);
	info.rails[0] = (struct mc_rail){ .id = 1, .addr_len = 4, .addr = { 10, 1, 0, rail }, .port = 50060 };
	uuid(op.node, 'N', node);
	uuid(op.client, 'C', client);
	mc_master_submit(m, &op, &res);
	return res.code;
}

static int mount(uint32_t node, uint32_t client, uint32_t seg, const char *name, uint64_t size)
{
	struct mc_op op = { .type = MC_OP_MOUNT, .label = name, .size = size };
	struct mc_result res;

	uuid(op.node, 'N', node);
	uuid(op.client, 'C', client);
	uuid(op.segment, 'S', seg);
	mc_master_submit(m, &op, &res);
	return res.code;
}

static int unmount(uint32_t client, uint32_t seg)
{
	struct mc_op op = { .type = MC_OP_UNMOUNT };
	struct mc_result res;

	uuid(op.client, 'C', client);
	uuid(op.segment, 'S', seg);
	mc_master_submit(m, &op, &res);
	return res.code;
}

static struct mc_scoped *name_of(const char *key)
{
	static struct mc_scoped name;
	ProtobufCBinaryData data = { .data = (uint8_t *)key, .len = strlen(key) };
	struct mc_result res;

	assert_int_equal(mc_scoped_set(&name, "", &data, &res), 0);
	return &name;
}

static struct mc_op last;

static int put_start(uint32_t client, const char *key, uint64_t length, uint32_t replicas)
{
	struct mc_op op = { .type = MC_OP_PUT_START, .length = length, .nplaces = replicas };
	struct mc_result res;

	uuid(op.client, 'C', client);
	op.name = name_of(key);
	mc_master_submit(m, &op, &res);
	last = op;
	return res.code;
}

static int finish(enum mc_op_type type, uint32_t client, const char *key, uint64_t token, bool quiesced)
{
	struct mc_op op = { .type = type, .token = token, .quiesced = quiesced };
	struct mc_result res;

	uuid(op.client, 'C', client);
	op.name = name_of(key);
	mc_master_submit(m, &op, &res);
	return res.code;
}

static int simple(enum mc_op_type type, const char *key, bool force)
{
	struct mc_op op = { .type = type, .force = force };
	struct mc_result res;

	op.name = name_of(key);
	mc_master_submit(m, &op, &res);
	return res.code;
}

static void put(uint32_t client, const char *key, uint64_t length)
{
	assert_int_equal(put_start(client, key, length, 1), 0);
	assert_int_equal(finish(MC_OP_PUT_END, client, key, last.token, false), 0);
}

static uint64_t used(void)
{
	struct mc_room room;

	mc_room_of(&m->state, mc_master_now(m), &room);
	return room.used;
}

/* One node, one segment of 64 MiB. */
static void one_segment(void)
{
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
}

static void alive(uint64_t ms)
{
	for (; ms > 1000; ms -= 1000) {
		pass_ms(1000);
		assert_int_equal(ping(1, 1, 1), 0);
	}
	pass_ms(ms);
}

/* ---- writing ---- */

static void abandoned_write_is_taken_over(void **state)
{
	struct mc_op first;

	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	first = last;
	pass_ms(1000);
	assert_int_equal(put_start(8, "k", MIB, 1), MC_E(OBJECT_ALREADY_EXISTS));
	pass_ms(2000);
	/* At the discard timeout itself the first attempt still holds the key. */
	assert_int_equal(put_start(8, "k", MIB, 1), MC_E(OBJECT_ALREADY_EXISTS));
	pass_ms(1);
	assert_int_equal(put_start(8, "k", MIB, 1), 0);
	assert_int_not_equal(last.token, first.token);
	assert_int_not_equal(last.places[0].extent.page, first.places[0].extent.page);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", first.token, false), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(finish(MC_OP_PUT_END, 8, "k", last.token, false), 0);
	assert_int_equal(used(), 2 * MIB);
	pass_ms(RELEASE_MS - 3001 - 1);
	assert_int_equal(used(), 2 * MIB);
	pass_ms(1);
	assert_int_equal(used(), MIB);
}

static void abandoned_write_vanishes_alone(void **state)
{
	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	pass_ms(RELEASE_MS - 1);
	assert_int_equal(m->state.nwriting, 1);
	assert_int_equal(used(), MIB);
	pass_ms(1);
	assert_int_equal(m->state.nwriting, 0);
	assert_int_equal(used(), 0);
	assert_null(mc_state_object(&m->state, name_of("k")));
}

/* The client's name alone does not tell its attempts apart. */
static void late_end_of_older_attempt(void **state)
{
	uint64_t first;

	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	first = last.token;
	pass_ms(DISCARD_MS + 1);
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", first, false), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 7, "k", first, true), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(m->state.nwriting, 1);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", last.token, false), 0);
}

static void finish_calls(void **state)
{
	uint64_t token;

	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	token = last.token;
	assert_int_not_equal(token, 0);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", 0, false), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(finish(MC_OP_PUT_END, 8, "k", token, false), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(finish(MC_OP_PUT_END, 7, "no", token, false), MC_E(OBJECT_NOT_FOUND));
	assert_int_equal(simple(MC_OP_LEASE, "k", false), MC_E(REPLICA_IS_NOT_READY));
	assert_int_equal(simple(MC_OP_REMOVE, "k", true), MC_E(REPLICA_IS_NOT_READY));
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", token, false), 0);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", token, false), MC_E(INVALID_WRITE));
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 7, "k", token, true), MC_E(INVALID_WRITE));
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 8, "k", token, true), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(m->state.nobjects, 1);
	assert_int_equal(used(), MIB);
}

static void revoke_quiesced_or_not(void **state)
{
	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 7, "k", last.token, true), 0);
	assert_int_equal(used(), 0);
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 7, "k", last.token, false), 0);
	assert_null(mc_state_object(&m->state, name_of("k")));
	assert_int_equal(used(), MIB);
	pass_ms(RELEASE_MS - 1);
	assert_int_equal(used(), MIB);
	pass_ms(1);
	assert_int_equal(used(), 0);
}

/* A revoke just before the release timeout: its packets have the margin to arrive in. */
static void late_revoke_waits_for_the_margin(void **state)
{
	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	alive(RELEASE_MS - 1);
	assert_int_equal(finish(MC_OP_PUT_REVOKE, 7, "k", last.token, false), 0);
	alive(MARGIN_MS - 1);
	assert_int_equal(used(), MIB);
	pass_ms(1);
	assert_int_equal(used(), 0);
}

/* ---- removing ---- */

static void removed_range_waits_for_its_readers(void **state)
{
	(void)state;
	one_segment();
	put(7, "k", MIB);
	assert_int_equal(simple(MC_OP_LEASE, "k", false), 0);
	assert_int_equal(simple(MC_OP_REMOVE, "k", false), MC_E(OBJECT_HAS_LEASE));
	pass_ms(1000);
	assert_int_equal(simple(MC_OP_REMOVE, "k", true), 0);
	assert_null(mc_state_object(&m->state, name_of("k")));
	alive(LEASE_MS - 1000 + MARGIN_MS - 1);
	assert_int_equal(used(), MIB);
	pass_ms(1);
	assert_int_equal(used(), 0);
}

/* The lease is over, but a clock may be slow and a packet under way. */
static void expired_lease_keeps_the_margin(void **state)
{
	(void)state;
	one_segment();
	put(7, "k", MIB);
	assert_int_equal(simple(MC_OP_LEASE, "k", false), 0);
	alive(LEASE_MS);
	assert_int_equal(simple(MC_OP_REMOVE, "k", false), 0);
	assert_int_equal(used(), MIB);
	alive(MARGIN_MS);
	assert_int_equal(used(), 0);
	put(7, "k", MIB);
	assert_int_equal(simple(MC_OP_REMOVE, "k", false), 0);
	assert_int_equal(used(), 0);
	assert_int_equal(simple(MC_OP_REMOVE, "k", false), MC_E(OBJECT_NOT_FOUND));
}

/* ---- nodes and segments ---- */

static void unmounted_segment_comes_back(void **state)
{
	struct mc_op first;

	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "w", MIB, 1), 0);
	first = last;
	put(7, "k", MIB);
	assert_int_equal(unmount(2, 1), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(unmount(1, 1), 0);
	assert_int_equal(unmount(1, 1), 0);
	assert_int_equal(unmount(1, 99), 0);
	assert_null(mc_state_object(&m->state, name_of("k")));
	assert_int_equal(finish(MC_OP_PUT_END, 7, "w", first.token, false), MC_E(OBJECT_NOT_FOUND));
	assert_int_equal(put_start(7, "x", MIB, 1), MC_E(NO_AVAILABLE_HANDLE));
	/* Back with the same identity: what the abandoned writer may still write to is not handed out. */
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
	assert_int_equal(used(), MIB);
	assert_int_equal(put_start(7, "x", 63 * MIB, 1), 0);
	assert_int_not_equal(last.places[0].extent.page, first.places[0].extent.page);
	assert_int_equal(put_start(7, "y", MIB, 1), MC_E(NO_AVAILABLE_HANDLE));
	pass_ms(RELEASE_MS);
	assert_int_equal(used(), 0);
}

static void mount_rules(void **state)
{
	(void)state;
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), MC_E(CLIENT_NOT_FOUND));
	one_segment();
	assert_int_equal(ping(2, 2, 2), 0);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
	assert_int_equal(mount(1, 1, 1, "pool", 32 * MIB), MC_E(INVALID_PARAMS));
	assert_int_equal(mount(1, 1, 1, "other", 64 * MIB), MC_E(INVALID_PARAMS));
	assert_int_equal(mount(2, 2, 1, "pool", 64 * MIB), MC_E(SEGMENT_ALREADY_EXISTS));
	assert_int_equal(mount(2, 1, 2, "pool", 64 * MIB), MC_E(CLIENT_NOT_FOUND));
	assert_int_equal(mount(1, 1, 2, "pool", 0), MC_E(INVALID_PARAMS));
	assert_int_equal(mount(1, 1, 2, "pool", 4097), MC_E(INVALID_PARAMS));
	assert_int_equal(mount(1, 1, 2, "pool", MC_SEGMENT_MAX + MC_PAGE_SIZE), MC_E(INVALID_PARAMS));
	assert_int_equal(m->state.nsegments, 1);
}

/* The pool outlives mcnoded: its next run takes the segment over and every object is still there. */
static void new_run_takes_the_segment_over(void **state)
{
	(void)state;
	one_segment();
	put(7, "k", MIB);
	assert_int_equal(ping(1, 5, 1), 0);
	assert_int_equal(mount(1, 5, 1, "pool", 64 * MIB), 0);
	assert_non_null(mc_state_object(&m->state, name_of("k")));
	assert_int_equal(unmount(1, 1), MC_E(ILLEGAL_CLIENT));
	/* The run before is over: it can't come back. */
	assert_int_equal(ping(1, 1, 1), MC_E(ILLEGAL_CLIENT));
}

/* C-39: a new identity under the old name ends the old segment at once; capacity is not counted twice. */
static void new_identity_ends_the_old_one(void **state)
{
	struct mc_room room;

	(void)state;
	one_segment();
	put(7, "k", MIB);
	assert_int_equal(ping(1, 5, 1), 0);
	assert_int_equal(mount(1, 5, 2, "pool", 64 * MIB), 0);
	mc_room_of(&m->state, mc_master_now(m), &room);
	assert_int_equal(room.capacity, 64 * MIB);
	assert_null(mc_state_object(&m->state, name_of("k")));
	put(7, "k", MIB);
}

static void segment_of_an_ended_run_goes(void **state)
{
	(void)state;
	one_segment();
	put(7, "k", MIB);
	assert_int_equal(ping(1, 5, 1), 0);
	clock_ns += (TTL_MS - 1) * MS;
	assert_int_equal(ping(1, 5, 1), 0);
	mc_master_sweep(m);
	assert_non_null(mc_state_object(&m->state, name_of("k")));
	pass_ms(1);
	assert_null(mc_state_object(&m->state, name_of("k")));
}

static void silent_node_expires(void **state)
{
	uint64_t version;

	(void)state;
	one_segment();
	put(7, "k", MIB);
	version = m->state.nodes_version;
	pass_ms(TTL_MS - 1);
	assert_non_null(mc_state_object(&m->state, name_of("k")));
	pass_ms(1);
	assert_null(mc_state_object(&m->state, name_of("k")));
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_GONE);
	assert_true(m->state.nodes_version > version);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), MC_E(CLIENT_NOT_FOUND));
	seen = m->state.nodes_version;
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_NEED_REMOUNT);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_OK);
	put(7, "k", MIB);
	pass_ms(2 * TTL_MS);
	pass_ms(0);
	assert_int_equal(m->state.nnodes, 0);
	assert_int_equal(m->state.nsegments, 0);
	seen = 0;
}

/* Told once, asked again: a node without a pool is fine; one whose answer was lost is told again. */
static void told_to_remount_until_it_knows(void **state)
{
	(void)state;
	seen = 0;
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_NEED_REMOUNT);
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_NEED_REMOUNT);
	seen = m->state.nodes_version - 1;
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_NEED_REMOUNT);
	seen = m->state.nodes_version + 1000;
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_NEED_REMOUNT);
	seen = m->state.nodes_version;
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(m->state.nodes[0]->state, MC_NODE_OK);
	seen = 0;
}

/* C-32: what an earlier master handed out may still be read and written; nothing new is put there meanwhile. */
static void inherited_segment_rests(void **state)
{
	(void)state;
	seen = m->state.nodes_version + (1ull << 32);
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
	assert_int_equal(put_start(7, "k", MIB, 1), MC_E(NO_AVAILABLE_HANDLE));
	seen = 0;
	pass_ms(REST_MS - 1);
	assert_int_equal(mount(1, 1, 1, "pool", 64 * MIB), 0);
	assert_int_equal(put_start(7, "k", MIB, 1), MC_E(NO_AVAILABLE_HANDLE));
	pass_ms(1);
	assert_int_equal(put_start(7, "k", MIB, 1), 0);
	/* A node that knows this master only, or none, brings nothing. */
	assert_int_equal(ping(2, 2, 2), 0);
	assert_int_equal(mount(2, 2, 2, "pool2", 128 * MIB), 0);
	assert_int_equal(put_start(7, "l", 100 * MIB, 1), 0);
}

static void duplicate_node_is_refused(void **state)
{
	struct mc_node_info info = { .nrails = 1, .peer = "10.0.0.2", .name = "twin" };
	struct mc_op op = { .type = MC_OP_PING, .info = &info };
	struct mc_result res;

	(void)state;
	one_segment();
	info.rails[0] = (struct mc_rail){ .id = 1, .addr_len = 4, .addr = { 10, 1, 0, 9 }, .port = 50060 };
	uuid(op.node, 'N', 1);
	uuid(op.client, 'C', 9);
	assert_int_equal(mc_master_submit(m, &op, &res), MC_E(ILLEGAL_CLIENT));
	assert_non_null(strstr(res.text, "10.1.0.1:50060"));
	assert_non_null(strstr(res.text, "10.1.0.9:50060"));
	assert_non_null(strstr(res.text, "10.0.0.2"));
	/* The same rails, but from elsewhere. */
	info.rails[0].addr[3] = 1;
	assert_int_equal(mc_master_submit(m, &op, &res), MC_E(ILLEGAL_CLIENT));
	/* One client, two nodes. */
	assert_int_equal(ping(2, 1, 1), MC_E(INVALID_PARAMS));
	pass_ms(TTL_MS);
	assert_int_equal(mc_master_submit(m, &op, &res), 0);
}

/* ---- placement ---- */

static void two_by_two(void)
{
	assert_int_equal(ping(1, 1, 1), 0);
	assert_int_equal(ping(2, 2, 2), 0);
	assert_int_equal(mount(1, 1, 11, "a1", 64 * MIB), 0);
	assert_int_equal(mount(1, 1, 12, "a2", 64 * MIB), 0);
	assert_int_equal(mount(2, 2, 21, "b1", 64 * MIB), 0);
	assert_int_equal(mount(2, 2, 22, "b2", 64 * MIB), 0);
}

static void copies_on_different_hosts(void **state)
{
	char key[16];
	uint32_t i;

	(void)state;
	two_by_two();
	for (i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		assert_int_equal(put_start(7, key, 4096, 2), 0);
		assert_int_equal(last.nplaces, 2);
		assert_int_not_equal(mc_state_segment(&m->state, last.places[0].segment)->node[0],
				     mc_state_segment(&m->state, last.places[1].segment)->node[0]);
	}
	assert_int_equal(put_start(7, "three", 4096, 3), 0);
	assert_int_equal(last.nplaces, 2);
	assert_int_equal(put_start(7, "many", 4096, MC_REPLICAS_MAX + 1), MC_E(INVALID_PARAMS));
	assert_int_equal(put_start(7, "none", 4096, 0), MC_E(INVALID_PARAMS));
	assert_int_equal(put_start(7, "empty", 0, 1), MC_E(INVALID_PARAMS));
}

static void preferred_segments_come_first(void **state)
{
	char *wanted[] = { "nowhere", "b2", "a1" };
	struct mc_op op = { .type = MC_OP_PUT_START, .preferred = wanted, .npreferred = 3 };
	struct mc_result res;
	uint32_t i;

	(void)state;
	two_by_two();
	uuid(op.client, 'C', 7);
	for (i = 0; i < 20; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%u", i);
		op.name = name_of(key);
		op.nplaces = 2;
		op.length = 4096;
		assert_int_equal(mc_master_submit(m, &op, &res), 0);
		assert_string_equal(mc_state_segment(&m->state, op.places[0].segment)->name, "b2");
		assert_string_equal(mc_state_segment(&m->state, op.places[1].segment)->name, "a1");
		op.type = MC_OP_PUT_START;
	}
	/* A full one falls through. */
	op.name = name_of("large");
	op.nplaces = 1;
	op.length = 64 * MIB;
	assert_int_equal(mc_master_submit(m, &op, &res), 0);
	assert_string_not_equal(mc_state_segment(&m->state, op.places[0].segment)->name, "b2");
	op.name = name_of("too large");
	op.nplaces = 1;
	op.length = 65 * MIB;
	assert_int_equal(mc_master_submit(m, &op, &res), MC_E(NO_AVAILABLE_HANDLE));
	assert_non_null(strstr(res.text, "largest hole"));
}

/* One copy's node goes: the other still serves. */
static void second_copy_survives(void **state)
{
	struct mc_object *o;

	(void)state;
	two_by_two();
	assert_int_equal(put_start(7, "k", MIB, 2), 0);
	assert_int_equal(finish(MC_OP_PUT_END, 7, "k", last.token, false), 0);
	clock_ns += (TTL_MS - 1) * MS;
	assert_int_equal(ping(2, 2, 2), 0);
	pass_ms(1);
	o = mc_state_object(&m->state, name_of("k"));
	assert_non_null(o);
	assert_int_equal(o->nreplicas, 1);
	assert_int_equal(simple(MC_OP_LEASE, "k", false), 0);
}

/* ---- all of it together ---- */

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 16) % below;
}

/* Every page of every segment is free, or held by one replica or one waiting range. */
static void check_pages(void)
{
	uint64_t replicas = 0;
	uint32_t i, k;
	size_t d;

	for (i = 0; i < m->state.nsegments; i++) {
		const struct mc_segment *seg = m->state.segments[i];
		uint8_t *map = calloc(1, seg->size / MC_PAGE_SIZE);
		uint32_t taken = 0, waiting = 0;
		const struct mc_replica *r;

		TAILQ_FOREACH(r, &seg->replicas, link) {
			struct mc_extent e = mc_alloc_extent(seg->alloc, r->handle);

			assert_true(e.pages * MC_PAGE_SIZE >= r->object->size);
			for (k = 0; k < e.pages; k++, taken++)
				assert_int_equal(map[e.page + k]++, 0);
			replicas++;
		}
		for (d = 0; d < m->state.discard.count; d++) {
			const struct mc_discard *w = &m->state.discard.heap[d];
			struct mc_extent e;

			if (w->segment != seg)
				continue;
			e = mc_alloc_extent(seg->alloc, w->handle);
			for (k = 0; k < e.pages; k++, taken++, waiting++)
				assert_int_equal(map[e.page + k]++, 0);
		}
		assert_int_equal(taken, mc_alloc_used(seg->alloc));
		assert_int_equal(waiting, seg->waiting);
		free(map);
	}
	assert_int_equal(replicas, m->state.nreplicas);
}

static void random_step(uint64_t *tokens)
{
	uint32_t k = rnd(50), client = 100 + rnd(3), node = 1 + rnd(3);
	char key[16], pool[16];

	snprintf(key, sizeof(key), "key%u", k);
	snprintf(pool, sizeof(pool), "pool%u", node);
	switch (rnd(12)) {
	case 0: case 1: case 2:
		if (!put_start(client, key, 1 + rnd(300000), 1 + rnd(3)))
			tokens[k] = last.token;
		break;
	case 3: case 4:
		finish(MC_OP_PUT_END, client, key, tokens[k], false);
		break;
	case 5:
		finish(MC_OP_PUT_REVOKE, client, key, tokens[k], rnd(2));
		break;
	case 6:
		simple(MC_OP_REMOVE, key, rnd(2));
		break;
	case 7:
		simple(MC_OP_LEASE, key, false);
		break;
	case 8: case 9:
		seen = m->state.nodes_version - rnd(2);
		ping(node, node * 10 + (rnd(40) == 0), node);
		break;
	case 10:
		mount(node, node * 10 + rnd(2), node * 10 + (rnd(20) == 0), pool, 4 * MIB);
		break;
	case 11:
		if (rnd(20) == 0)
			unmount(node * 10, node * 10);
		pass_ms(rnd(400));
		break;
	}
}

static char *dump(const struct mc_state *s)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	mc_state_dump(s, f);
	fclose(f);
	return text;
}

static char *replay(void)
{
	struct mc_state_config cfg = m->state.cfg;
	struct mc_state s;
	size_t i;
	char *text;

	cfg.seed = 12345;	/* shapes the trees only */
	mc_state_init(&s, &cfg);
	for (i = 0; i < nkept; i++) {
		struct kept *k = &kept[i];

		if (k->op.name)
			k->op.name = &k->name;
		if (k->op.info)
			k->op.info = &k->info;
		if (k->op.label)
			k->op.label = k->label;
		assert_int_equal(mc_op_apply(&s, &k->op), 0);
	}
	text = dump(&s);
	mc_state_fini(&s);
	return text;
}

static void same_records_same_state(void **state)
{
	const char *env = getenv("MC_SEED");
	uint64_t tokens[50] = { 0 };
	char *live, *first, *second;
	uint32_t i;

	(void)state;
	rng = (env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL)) | 1;
	printf("# MC_SEED=%llu\n", (unsigned long long)rng);
	for (i = 0; i < 30000; i++) {
		random_step(tokens);
		if (i % 100 == 0)
			check_pages();
	}
	live = dump(&m->state);
	first = replay();
	second = replay();
	assert_true(nkept > 5000);
	assert_true(strlen(live) > 1000);
	assert_string_equal(first, live);
	assert_string_equal(second, live);
	free(live);
	free(first);
	free(second);
	seen = 0;
}

/* Nothing is left when everyone has gone. */
static void everything_drains(void **state)
{
	uint64_t tokens[50] = { 0 };
	uint32_t i;

	(void)state;
	rng = 99991;
	for (i = 0; i < 5000; i++)
		random_step(tokens);
	for (i = 0; i < 20; i++)
		pass_ms(TTL_MS);
	assert_int_equal(m->state.nobjects, 0);
	assert_int_equal(m->state.nwriting, 0);
	assert_int_equal(m->state.nreplicas, 0);
	assert_int_equal(m->state.discard.count, 0);
	assert_int_equal(m->state.nsegments, 0);
	assert_int_equal(m->state.nnodes, 0);
	seen = 0;
}

static int journal_full(struct mc_journal *j, const struct mc_op *op)
{
	(void)j;
	(void)op;
	return -28;
}

/* What the journal did not take did not happen. */
static void journal_comes_first(void **state)
{
	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "a", MIB, 1), 0);
	m->journal.append = journal_full;
	assert_int_equal(put_start(7, "b", MIB, 1), MC_E(INTERNAL_ERROR));
	assert_int_equal(finish(MC_OP_PUT_END, 7, "a", last.token, false), MC_E(ILLEGAL_CLIENT));
	assert_int_equal(m->state.nobjects, 0);
	assert_int_equal(m->state.nwriting, 1);
	assert_int_equal(used(), MIB);
}

/* Leases are not in the journal, so their end must not be: a master that only reads would fill it. */
static void leases_end_unjournaled(void **state)
{
	struct mc_op op = { .type = MC_OP_LEASE, .name = name_of("k") };
	struct mc_result res;

	(void)state;
	one_segment();
	assert_int_equal(put_start(7, "k", MIB, 1) || finish(MC_OP_PUT_END, 7, "k", last.token, false), 0);
	m->journal.all = false;
	nkept = 0;
	uuid(op.reader, 'R', 1);
	assert_int_equal(mc_master_submit(m, &op, &res), 0);
	assert_int_equal(m->state.leases.count, 1);
	alive(LEASE_MS + 2000);
	assert_int_equal(m->state.leases.count, 0);
	assert_int_equal(nkept, 0);
}

static void release_must_exceed_discard(void **state)
{
	struct mc_master_config cfg = { .discard_ms = 5, .release_ms = 5 };
	struct mc_result res;

	(void)state;
	assert_null(mc_master_new(&cfg, base, &res));
	assert_non_null(strstr(res.text, "5 ms"));
}

#define T(name, fn) { name, fn, setup, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T("C-1 state: an abandoned write's key after 3 s, its space after 8 s", abandoned_write_is_taken_over),
		T("C-1 state: an abandoned write vanishes with no traffic", abandoned_write_vanishes_alone),
		T("state: a late end of an older attempt is refused", late_end_of_older_attempt),
		T("C-2 state: repeated and foreign finish calls", finish_calls),
		T("state: a quiesced revoke frees at once, another waits", revoke_quiesced_or_not),
		T("state: a late revoke waits for the margin", late_revoke_waits_for_the_margin),
		T("state: a removed range waits for its readers", removed_range_waits_for_its_readers),
		T("state: an expired lease keeps the margin", expired_lease_keeps_the_margin),
		T("state: an unmounted segment comes back without what waits", unmounted_segment_comes_back),
		T("state: who may mount what", mount_rules),
		T("state: a new run of mcnoded takes the segment over", new_run_takes_the_segment_over),
		T("state: a new identity ends the old one", new_identity_ends_the_old_one),
		T("state: a segment of an ended run goes", segment_of_an_ended_run_goes),
		T("state: a silent node expires", silent_node_expires),
		T("state: a node is told to remount until it knows", told_to_remount_until_it_knows),
		T("C-32 state: a segment from an earlier master rests", inherited_segment_rests),
		T("state: a duplicate node is refused with both addresses", duplicate_node_is_refused),
		T("state: copies go to different hosts", copies_on_different_hosts),
		T("state: preferred segments come first", preferred_segments_come_first),
		T("state: the second copy survives the first's node", second_copy_survives),
		T("state: the same records give the same state", same_records_same_state),
		T("state: everything drains", everything_drains),
		T("state: the journal comes first", journal_comes_first),
		T("state: leases end without a record in the journal", leases_end_unjournaled),
		T("state: the release timeout must exceed the discard timeout", release_must_exceed_discard),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
