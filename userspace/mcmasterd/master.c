// SPDX-License-Identifier: MIT
#include "master.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "discard.h"
#include "log.h"
#include "node.h"
#include "segment.h"

#define RETRY_NS	(50 * MC_NS_PER_MS)
#define LEASE_SWEEP_NS	(1000 * MC_NS_PER_MS)	/* leases that have ended are dropped together */
#define SWEEP_MAX	4096u	/* records one sweep makes before it lets callers in again */

static uint64_t boottime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t mc_master_now(const struct mc_master *m)
{
	return m->cfg.clock_ns() - m->start_ns;
}

/* A random number that is not 0. */
static uint64_t random_u64(struct mc_rng *rng)
{
	uint64_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != sizeof(v))
		v = mc_rng_next(rng);
	return v ? v : 1;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct mc_master *m = arg;

	(void)fd;
	(void)what;
	m->timer_at = UINT64_MAX;
	mc_master_sweep(m);
}

static int check_config(const struct mc_master_config *cfg, struct mc_result *res)
{
	if (cfg->release_ms <= cfg->discard_ms)
		return mc_fail(res, MC_E(INVALID_PARAMS),
			       "put release timeout %llu ms must be above the discard timeout %llu ms",
			       (unsigned long long)cfg->release_ms, (unsigned long long)cfg->discard_ms);
	return 0;
}

struct mc_master *mc_master_new(const struct mc_master_config *cfg, struct event_base *base, struct mc_result *res)
{
	struct mc_state_config sc = {
		.discard_ns = cfg->discard_ms * MC_NS_PER_MS,
		.client_ttl_ns = cfg->client_ttl_ms * MC_NS_PER_MS,
	};
	struct mc_master *m;

	if (check_config(cfg, res))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (m)
		m->timer = evtimer_new(base, on_timer, m);
	if (!m || !m->timer) {
		free(m);
		mc_fail(res, MC_E(INTERNAL_ERROR), "out of memory");
		return NULL;
	}
	m->cfg = *cfg;
	if (!m->cfg.clock_ns)
		m->cfg.clock_ns = boottime_ns;
	/* Time 0 lies a second back, so that no moment of this run is 0. */
	m->start_ns = m->cfg.clock_ns() - 1000000000ull;
	m->rng.s = boottime_ns() | 1;
	m->rng.s = random_u64(&m->rng);
	m->clock_epoch = random_u64(&m->rng);
	m->next_replica_id = 1;
	m->timer_at = UINT64_MAX;
	sc.seed = random_u64(&m->rng);
	/* Random in the high bits, room to count in the low ones. */
	sc.nodes_version = (random_u64(&m->rng) & 0x7fffffffull) << 32;
	mc_state_init(&m->state, &sc);
	mc_journal_none(&m->journal);
	mc_minter_set(&m->minter, cfg->key, cfg->key_gen);
	return m;
}

void mc_master_free(struct mc_master *m)
{
	if (!m)
		return;
	mc_state_fini(&m->state);
	explicit_bzero(&m->minter, sizeof(m->minter));
	explicit_bzero(m->cfg.key, sizeof(m->cfg.key));
	event_free(m->timer);
	free(m);
}

/* After the end of a grant its holder's last packets may be under way, and its clock may be off, as may this one's. */
static uint64_t margin_ns(const struct mc_master *m)
{
	return (2 * MC_MAX_SKEW_MS + m->cfg.retry_bound_ms) * MC_NS_PER_MS;
}

/* A writer's grant lasts for the discard timeout. */
static uint64_t release_ns(const struct mc_master *m)
{
	uint64_t granted = m->cfg.discard_ms * MC_NS_PER_MS + margin_ns(m);

	return m->cfg.release_ms * MC_NS_PER_MS > granted ? m->cfg.release_ms * MC_NS_PER_MS : granted;
}

static int no_room(const struct mc_state *s, const struct mc_op *op, uint32_t wanted, struct mc_result *res)
{
	struct mc_room room;

	mc_room_of(s, op->now, &room);
	if (!room.segments)
		return mc_fail(res, MC_E(NO_AVAILABLE_HANDLE),
			       "no room for %llu bytes: no segment is mounted", (unsigned long long)op->length);
	if (room.resting)
		return mc_fail(res, MC_E(NO_AVAILABLE_HANDLE),
			       "no room for %u x %llu bytes: %u of %u segments rest after the master's restart, for up "
			       "to another %llu ms", wanted, (unsigned long long)op->length, room.resting,
			       room.segments, (unsigned long long)(room.rest_ns / MC_NS_PER_MS));
	return mc_fail(res, MC_E(NO_AVAILABLE_HANDLE),
		       "no room for %u x %llu bytes: %u segments of %llu bytes, %llu free, largest hole %llu, "
		       "%llu waiting for reuse", wanted, (unsigned long long)op->length, room.segments,
		       (unsigned long long)room.capacity, (unsigned long long)(room.capacity - room.used),
		       (unsigned long long)room.largest, (unsigned long long)room.waiting);
}

/* Does this version of the node list come from an earlier master? */
static bool foreign_version(const struct mc_state *s, uint64_t version)
{
	return version && version >> 32 != s->cfg.nodes_version >> 32;
}

static void decide_nodes(struct mc_master *m, struct mc_op *op)
{
	const struct mc_node *n = mc_state_node(&m->state, op->node);

	if (op->type == MC_OP_PING && mc_op_registers(&m->state, op)) {
		op->type = MC_OP_REGISTER;
		op->inherited = foreign_version(&m->state, op->seen_version);
	}
	/*
	 * This master knows nothing of the leases and writes that an earlier one granted in this segment. What they may
	 * still touch is not handed out: they see an error, never another object's bytes.
	 */
	if (op->type == MC_OP_MOUNT && (op->inherited || (n && n->inherited)))
		op->until = op->now + m->cfg.restart_rest_ms * MC_NS_PER_MS;
}

/* Chance and choice: taken here, carried in the record. */
static int decide(struct mc_master *m, struct mc_op *op, struct mc_result *res)
{
	const struct mc_object *old;
	uint32_t wanted = op->nplaces, i;

	decide_nodes(m, op);
	if (op->type == MC_OP_LEASE)
		op->until = op->now + m->cfg.lease_ttl_ms * MC_NS_PER_MS;
	if (op->type != MC_OP_PUT_START)
		return 0;
	if (!mc_place_random(&m->state, &m->rng, op))
		return no_room(&m->state, op, wanted, res);
	for (i = 0; i < op->nplaces; i++)
		op->places[i].replica_id = m->next_replica_id++;
	op->token = random_u64(&m->rng);
	old = mc_state_object(&m->state, op->name);
	op->old_token = old ? old->token : 0;
	return 0;
}

static void arm(struct mc_master *m, uint64_t at, uint64_t now)
{
	uint64_t ns = at > now ? at - now : 0;
	struct timeval tv;

	if (at >= m->timer_at)
		return;
	/* Rounded up: firing a moment early would find nothing due. */
	ns += 999999;
	tv.tv_sec = ns / 1000000000ull;
	tv.tv_usec = ns % 1000000000ull / 1000;
	if (!evtimer_add(m->timer, &tv))
		m->timer_at = at;
}

static uint64_t abandon_time(const struct mc_master *m, const struct mc_object *o)
{
	return o->put_start + release_ns(m);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a record can have brought forward; the nodes' times are looked at by the sweep. */
static void arm_after(struct mc_master *m, const struct mc_op *op)
{
	const struct mc_object *first = TAILQ_FIRST(&m->state.writing);
	uint64_t at = mc_discard_next(&m->state.discard);

	if (first)
		at = min_u64(at, abandon_time(m, first));
	if (mc_leases_next(&m->state.leases) != UINT64_MAX)
		at = min_u64(at, mc_leases_next(&m->state.leases) + LEASE_SWEEP_NS);
	if (op->type == MC_OP_PING || op->type == MC_OP_REGISTER)
		at = min_u64(at, op->now + m->cfg.client_ttl_ms * MC_NS_PER_MS);
	if (at != UINT64_MAX)
		arm(m, at, op->now);
}

int mc_master_submit(struct mc_master *m, struct mc_op *op, struct mc_result *res)
{
	int err;

	op->now = mc_master_now(m);
	op->release_ns = release_ns(m);
	op->margin_ns = margin_ns(m);
	if (mc_op_validate(&m->state, op, res) || decide(m, op, res))
		return res->code;
	err = mc_journal_append(&m->journal, op);
	if (err)
		return mc_fail(res, MC_E(INTERNAL_ERROR), "%s: journal '%s': %s", mc_op_name(op->type),
			       m->journal.name, strerror(-err));
	err = mc_op_apply(&m->state, op);
	if (err)
		return mc_fail(res, MC_E(INTERNAL_ERROR), "%s: %s", mc_op_name(op->type), strerror(-err));
	arm_after(m, op);
	return 0;
}

/* ---- what becomes due ---- */

/* Submits a record of the master's own. One that fails stays due and is tried again with the next sweep. */
static bool own(struct mc_master *m, struct mc_op *op)
{
	struct mc_result res;

	if (!mc_master_submit(m, op, &res))
		return true;
	mc_log(MC_LOG_ERROR, "%s: %s", mc_op_name(op->type), res.text);
	return false;
}

static void name_of(const struct mc_object *o, struct mc_scoped *name)
{
	name->len = o->tree.name_len;
	name->tenant_len = o->tree.tenant_len;
	memcpy(name->bytes, o->tree.name, o->tree.name_len);
}

static bool sweep_writes(struct mc_master *m, uint64_t now)
{
	struct mc_object *o;
	uint32_t i;

	for (i = 0; i < SWEEP_MAX; i++) {
		struct mc_op op = { .type = MC_OP_ABANDON };
		char key[MC_KEY_TEXT];
		struct mc_scoped name;

		o = TAILQ_FIRST(&m->state.writing);
		if (!o || abandon_time(m, o) > now)
			return true;
		name_of(o, &name);
		op.name = &name;
		op.token = o->token;
		memcpy(op.client, o->client, MC_UUID_LEN);
		mc_log(MC_LOG_INFO, "write of object '%s' of tenant '%s' was abandoned",
		       mc_key_text(name.bytes + name.tenant_len + 1, name.len - name.tenant_len - 1, key),
		       (const char *)name.bytes);
		if (!own(m, &op))
			return false;
		mc_master_count(m, MC_COUNT_ABANDONED, 0);
	}
	return false;
}

static void expire(struct mc_master *m, const struct mc_node *n)
{
	struct mc_op op = { .type = n->state == MC_NODE_GONE ? MC_OP_FORGET : MC_OP_EXPIRE };
	char uuid[MC_UUID_TEXT], addr[MC_ADDR_TEXT];

	memcpy(op.node, n->uuid, MC_UUID_LEN);
	if (op.type == MC_OP_EXPIRE) {
		mc_log(MC_LOG_WARN, "node %s '%s' at %s: no ping for %llu ms; its segments are gone",
		       mc_uuid_text(n->uuid, uuid), n->info.name, mc_node_addresses(&n->info, addr),
		       (unsigned long long)m->cfg.client_ttl_ms);
		mc_master_count(m, MC_COUNT_EXPIRED, 0);
	}
	own(m, &op);
}

static uint64_t node_due(const struct mc_master *m, const struct mc_node *n)
{
	uint64_t ttl = m->cfg.client_ttl_ms * MC_NS_PER_MS;

	return n->last_ping + (n->state == MC_NODE_GONE ? 2 * ttl : ttl);
}

static uint64_t sweep_nodes(struct mc_master *m, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t i = m->state.nnodes;

	while (i-- > 0) {
		struct mc_node *n = m->state.nodes[i];

		/* A node that expires now is looked at again for when to forget it; a forgotten one is no more. */
		if (node_due(m, n) <= now) {
			bool forget = n->state == MC_NODE_GONE;

			expire(m, n);
			if (forget)
				continue;
		}
		next = min_u64(next, node_due(m, n));
	}
	return next;
}

/* A segment whose node has a new run of mcnoded has the client TTL to be mounted by it. */
static uint64_t stale_due(const struct mc_master *m, const struct mc_segment *seg)
{
	const struct mc_node *n = mc_state_node(&m->state, seg->node);

	if (seg->state != MC_SEGMENT_OK)
		return UINT64_MAX;
	if (!n)
		return 0;
	if (!memcmp(n->client, seg->client, MC_UUID_LEN))
		return UINT64_MAX;
	return n->client_since + m->cfg.client_ttl_ms * MC_NS_PER_MS;
}

static uint64_t sweep_segments(struct mc_master *m, uint64_t now)
{
	uint64_t next = UINT64_MAX, due;
	uint32_t i = m->state.nsegments;

	while (i-- > 0) {
		struct mc_segment *seg = m->state.segments[i];
		struct mc_op op = { .type = MC_OP_UNMOUNT };
		char uuid[MC_UUID_TEXT];

		due = stale_due(m, seg);
		if (due > now) {
			next = min_u64(next, due);
			continue;
		}
		mc_log(MC_LOG_WARN, "segment %s '%s' was not mounted again by its node's new mcnoded; it is gone",
		       mc_uuid_text(seg->uuid, uuid), seg->name);
		memcpy(op.client, seg->client, MC_UUID_LEN);
		memcpy(op.segment, seg->uuid, MC_UUID_LEN);
		own(m, &op);
	}
	return next;
}

void mc_master_sweep(struct mc_master *m)
{
	struct mc_op leases_end = { .type = MC_OP_LEASES_END }, release = { .type = MC_OP_RELEASE };
	uint64_t now = mc_master_now(m), next;
	bool done;

	if (mc_leases_next(&m->state.leases) <= now)
		own(m, &leases_end);
	if (mc_discard_next(&m->state.discard) <= now)
		own(m, &release);
	done = sweep_writes(m, now);
	next = sweep_nodes(m, now);
	next = min_u64(next, sweep_segments(m, now));
	next = min_u64(next, mc_discard_next(&m->state.discard));
	if (mc_leases_next(&m->state.leases) != UINT64_MAX)
		next = min_u64(next, mc_leases_next(&m->state.leases) + LEASE_SWEEP_NS);
	if (TAILQ_FIRST(&m->state.writing))
		next = min_u64(next, abandon_time(m, TAILQ_FIRST(&m->state.writing)));
	now = mc_master_now(m);
	/* What is still due was too much for one sweep, or failed: callers first. */
	if (!done || next <= now)
		next = now + RETRY_NS;
	if (next != UINT64_MAX)
		arm(m, next, now);
}

/* ---- counters ---- */

void mc_master_count(struct mc_master *m, enum mc_counted what, int code)
{
	m->counters[what].calls++;
	if (code)
		m->counters[what].failures++;
}

const char *mc_counted_name(enum mc_counted what)
{
	static const char * const names[MC_COUNTED] = {
		[MC_COUNT_PING] = "Ping",
		[MC_COUNT_MOUNT] = "MountSegment",
		[MC_COUNT_UNMOUNT] = "UnmountSegment",
		[MC_COUNT_CLIENTS_GONE] = "ClientsGone",
		[MC_COUNT_EXIST] = "ExistKey",
		[MC_COUNT_GET] = "GetReplicaList",
		[MC_COUNT_PUT_START] = "PutStart",
		[MC_COUNT_PUT_EXTEND] = "PutExtend",
		[MC_COUNT_PUT_END] = "PutEnd",
		[MC_COUNT_PUT_REVOKE] = "PutRevoke",
		[MC_COUNT_REMOVE] = "Remove",
		[MC_COUNT_LIST] = "List",
		[MC_COUNT_ABANDONED] = "abandoned",
		[MC_COUNT_EXPIRED] = "expired",
	};

	return names[what];
}
