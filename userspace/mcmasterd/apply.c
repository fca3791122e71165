// SPDX-License-Identifier: MIT
/*
 * The only writer of the state. Deterministic: what a record does depends on the record and the state, never on a
 * clock, a generator or the configuration.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "discard.h"
#include "node.h"
#include "segment.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * When may an object's ranges be handed out again? Readers hold leases: not before the last one ended, with a margin
 * for clocks and for packets still under way. A writer that has not ended may write until the release timeout.
 * Without either, nothing can touch them: at once.
 */
static uint64_t reuse_time(const struct mc_object *o, const struct mc_op *op)
{
	if (!o->complete)
		return later(o->put_start + op->release_ns, op->now + op->margin_ns);
	return o->lease_until ? o->lease_until + op->margin_ns : 0;
}

static void retire(struct mc_state *s, struct mc_replica *r, uint64_t release, uint64_t now)
{
	struct mc_segment *seg = r->segment;

	TAILQ_REMOVE(&seg->replicas, r, link);
	seg->nreplicas--;
	s->nreplicas--;
	r->object->nreplicas--;
	r->segment = NULL;
	if (release <= now)
		mc_alloc_release(seg->alloc, r->handle);
	else
		mc_discard_add(&s->discard, seg, r->handle, release);
}

static void object_unlink(struct mc_state *s, struct mc_object *o)
{
	mc_table_remove(&s->table, &o->tree);
	mc_leases_forget(&s->leases, &o->leases);
	if (o->complete) {
		s->nobjects--;
	} else {
		s->nwriting--;
		TAILQ_REMOVE(&s->writing, o, writing);
	}
	free(o);
}

static void object_retire(struct mc_state *s, struct mc_object *o, uint64_t release, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < o->nslots; i++)
		if (o->replicas[i].segment)
			retire(s, &o->replicas[i], release, now);
	object_unlink(s, o);
}

/* ---- nodes and segments ---- */

static void drop_if_empty(struct mc_state *s, struct mc_segment *seg)
{
	if (seg->state == MC_SEGMENT_GONE && !seg->nreplicas && !seg->waiting)
		mc_segment_drop(s, seg);
}

/* The replicas in it are unreadable from here on; an object that has no other goes with them. */
static void segment_gone(struct mc_state *s, struct mc_segment *seg, const struct mc_op *op)
{
	struct mc_replica *r;

	seg->state = MC_SEGMENT_GONE;
	while ((r = TAILQ_FIRST(&seg->replicas))) {
		struct mc_object *o = r->object;

		retire(s, r, reuse_time(o, op), op->now);
		if (!o->nreplicas)
			object_unlink(s, o);
	}
	drop_if_empty(s, seg);
}

static void register_client(struct mc_state *s, struct mc_node *n, const struct mc_op *op)
{
	if (memcmp(n->client, op->client, MC_UUID_LEN))
		memcpy(n->old_client, n->client, MC_UUID_LEN);
	memcpy(n->client, op->client, MC_UUID_LEN);
	n->client_since = op->now;
	n->state = MC_NODE_NEED_REMOUNT;
	n->info = *op->info;
	n->inherited = op->inherited;
	n->need_version = ++s->nodes_version;
}

static bool node_changed(const struct mc_node *n, const struct mc_node_info *info)
{
	uint32_t i;

	if (strcmp(n->info.name, info->name) || !mc_node_same_rails(&n->info, info))
		return true;
	for (i = 0; i < info->nrails; i++)
		if (strcmp(n->info.rails[i].device, info->rails[i].device))
			return true;
	return false;
}

static bool new_client(const struct mc_node *n, const struct mc_op *op)
{
	return n->state == MC_NODE_GONE || memcmp(n->client, op->client, MC_UUID_LEN);
}

bool mc_op_registers(const struct mc_state *s, const struct mc_op *op)
{
	const struct mc_node *n = mc_state_node(s, op->node);

	return !n || new_client(n, op) || node_changed(n, op->info);
}

static int apply_register(struct mc_state *s, const struct mc_op *op)
{
	struct mc_node *n = mc_state_node(s, op->node);
	bool fresh = !n;

	if (!n)
		n = mc_node_add(s, op->node);
	if (!n)
		return -ENOMEM;
	if (fresh || new_client(n, op))
		register_client(s, n, op);
	else
		s->nodes_version++;
	n->info = *op->info;
	n->last_ping = op->now;
	return 0;
}

static int apply_ping(struct mc_state *s, const struct mc_op *op)
{
	struct mc_node *n = mc_state_node(s, op->node);

	if (n->state == MC_NODE_NEED_REMOUNT && op->seen_version >= n->need_version &&
	    op->seen_version <= s->nodes_version)
		n->state = MC_NODE_OK;
	n->info = *op->info;
	n->last_ping = op->now;
	return 0;
}

/*
 * All segments of a node for which @gone says so. Dropping a record moves the array, so each round starts anew; the
 * rounds are few.
 */
static void segments_gone(struct mc_state *s, const struct mc_op *op,
			  bool (*gone)(const struct mc_segment *seg, const struct mc_op *op))
{
	uint32_t i = 0;

	while (i < s->nsegments) {
		struct mc_segment *seg = s->segments[i];

		if (seg->state == MC_SEGMENT_OK && !memcmp(seg->node, op->node, MC_UUID_LEN) && gone(seg, op)) {
			segment_gone(s, seg, op);
			i = 0;
		} else {
			i++;
		}
	}
}

static bool any_segment(const struct mc_segment *seg, const struct mc_op *op)
{
	(void)seg;
	(void)op;
	return true;
}

static int apply_expire(struct mc_state *s, const struct mc_op *op)
{
	mc_state_node(s, op->node)->state = MC_NODE_GONE;
	s->nodes_version++;
	segments_gone(s, op, any_segment);
	return 0;
}

static int apply_forget(struct mc_state *s, const struct mc_op *op)
{
	mc_node_drop(s, mc_state_node(s, op->node));
	s->nodes_version++;
	return 0;
}

/* A new run of mcnoded mounts the name with a new identity: what the run before had under it no longer exists. */
static bool replaced(const struct mc_segment *seg, const struct mc_op *op)
{
	return memcmp(seg->client, op->client, MC_UUID_LEN) && memcmp(seg->uuid, op->segment, MC_UUID_LEN) &&
	       !strcmp(seg->name, op->label);
}

static int apply_mount(struct mc_state *s, const struct mc_op *op)
{
	struct mc_segment *seg = mc_state_segment(s, op->segment);

	if (!seg) {
		seg = mc_segment_add(s, op);
		if (!seg)
			return -ENOMEM;
		seg->rest_until = op->until;
	}
	memcpy(seg->client, op->client, MC_UUID_LEN);
	seg->state = MC_SEGMENT_OK;
	mc_state_node(s, op->node)->state = MC_NODE_OK;
	segments_gone(s, op, replaced);
	return 0;
}

static int apply_unmount(struct mc_state *s, const struct mc_op *op)
{
	struct mc_segment *seg = mc_state_segment(s, op->segment);

	if (seg && seg->state == MC_SEGMENT_OK)
		segment_gone(s, seg, op);
	return 0;
}

/* ---- objects ---- */

static struct mc_object *object_new(const struct mc_op *op)
{
	size_t slots = sizeof(struct mc_replica) * op->nplaces;
	struct mc_object *o = calloc(1, sizeof(*o) + slots + op->name->len);

	if (!o)
		return NULL;
	o->tree.name = (uint8_t *)o->replicas + slots;
	o->tree.name_len = op->name->len;
	o->tree.tenant_len = op->name->tenant_len;
	memcpy(o->tree.name, op->name->bytes, op->name->len);
	memcpy(o->client, op->client, MC_UUID_LEN);
	o->size = op->length;
	o->token = op->token;
	o->put_start = op->now;
	o->nslots = op->nplaces;
	return o;
}

static void unclaim(struct mc_object *o, uint32_t count)
{
	while (count--)
		mc_alloc_release(o->replicas[count].segment->alloc, o->replicas[count].handle);
}

/* Takes the places without touching any list, so that failing at the last one can be undone. */
static int claim(struct mc_state *s, struct mc_object *o, const struct mc_op *op)
{
	uint32_t i;

	for (i = 0; i < op->nplaces; i++) {
		struct mc_replica *r = &o->replicas[i];

		r->object = o;
		r->id = op->places[i].replica_id;
		r->segment = mc_state_segment(s, op->places[i].segment);
		r->handle = r->segment ? mc_alloc_claim(r->segment->alloc, &op->places[i].extent) : MC_ALLOC_NONE;
		if (r->handle == MC_ALLOC_NONE) {
			unclaim(o, i);
			return -ESTALE;
		}
	}
	return 0;
}

static void publish(struct mc_state *s, struct mc_object *o)
{
	uint32_t i;

	for (i = 0; i < o->nslots; i++) {
		struct mc_replica *r = &o->replicas[i];

		TAILQ_INSERT_TAIL(&r->segment->replicas, r, link);
		r->segment->nreplicas++;
	}
	o->nreplicas = o->nslots;
	s->nreplicas += o->nslots;
	s->nwriting++;
	TAILQ_INSERT_TAIL(&s->writing, o, writing);
	mc_table_insert(&s->table, &o->tree);
}

static int apply_put_start(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o, *old;
	int err;

	err = mc_discard_reserve(&s->discard, s->discard.count + s->nreplicas + op->nplaces);
	if (err)
		return err;
	o = object_new(op);
	if (!o)
		return -ENOMEM;
	err = claim(s, o, op);
	if (err) {
		free(o);
		return err;
	}
	old = op->old_token ? mc_state_object(s, op->name) : NULL;
	if (old)
		object_retire(s, old, reuse_time(old, op), op->now);
	publish(s, o);
	return 0;
}

/* The list of writes stays in the order of their times. */
static int apply_put_extend(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o = mc_state_object(s, op->name);

	o->put_start = op->now;
	TAILQ_REMOVE(&s->writing, o, writing);
	TAILQ_INSERT_TAIL(&s->writing, o, writing);
	return 0;
}

static int apply_put_end(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o = mc_state_object(s, op->name);

	o->complete = true;
	o->has_crc32c = op->has_crc32c;
	o->crc32c = op->has_crc32c ? op->crc32c : 0;
	TAILQ_REMOVE(&s->writing, o, writing);
	s->nwriting--;
	s->nobjects++;
	return 0;
}

static int apply_put_revoke(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o = mc_state_object(s, op->name);

	object_retire(s, o, op->quiesced ? 0 : reuse_time(o, op), op->now);
	return 0;
}

static int apply_abandon(struct mc_state *s, const struct mc_op *op)
{
	/* Its release time is what made it due. */
	object_retire(s, mc_state_object(s, op->name), 0, op->now);
	return 0;
}

static int apply_remove(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o = mc_state_object(s, op->name);

	object_retire(s, o, reuse_time(o, op), op->now);
	return 0;
}

static int apply_lease(struct mc_state *s, const struct mc_op *op)
{
	struct mc_object *o = mc_state_object(s, op->name);

	mc_leases_expire(&s->leases, op->now);
	o->lease_until = later(o->lease_until, op->until);
	if (!mc_lease_take(&s->leases, &o->leases, o, op->reader, op->until))
		o->open_until = later(o->open_until, op->until);
	return 0;
}

static int apply_client_gone(struct mc_state *s, const struct mc_op *op)
{
	mc_leases_reader_gone(&s->leases, op->reader, op->now + s->cfg.client_ttl_ns);
	return 0;
}

static int apply_release(struct mc_state *s, const struct mc_op *op)
{
	struct mc_segment *seg;

	while ((seg = mc_discard_release(&s->discard, op->now)))
		drop_if_empty(s, seg);
	return 0;
}

static int apply_leases_end(struct mc_state *s, const struct mc_op *op)
{
	mc_leases_expire(&s->leases, op->now);
	return 0;
}

int mc_op_apply(struct mc_state *s, const struct mc_op *op)
{
	static int (* const apply[MC_OP_TYPES])(struct mc_state *s, const struct mc_op *op) = {
		[MC_OP_PING] = apply_ping,
		[MC_OP_REGISTER] = apply_register,
		[MC_OP_EXPIRE] = apply_expire,
		[MC_OP_FORGET] = apply_forget,
		[MC_OP_MOUNT] = apply_mount,
		[MC_OP_UNMOUNT] = apply_unmount,
		[MC_OP_PUT_START] = apply_put_start,
		[MC_OP_PUT_EXTEND] = apply_put_extend,
		[MC_OP_PUT_END] = apply_put_end,
		[MC_OP_PUT_REVOKE] = apply_put_revoke,
		[MC_OP_ABANDON] = apply_abandon,
		[MC_OP_REMOVE] = apply_remove,
		[MC_OP_LEASE] = apply_lease,
		[MC_OP_CLIENT_GONE] = apply_client_gone,
		[MC_OP_RELEASE] = apply_release,
		[MC_OP_LEASES_END] = apply_leases_end,
	};

	return apply[op->type](s, op);
}
