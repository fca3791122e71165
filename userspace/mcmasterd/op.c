// SPDX-License-Identifier: MIT
/* Names of records, and the rules that say whether one may be applied. */
#include "op.h"

#include <string.h>

#include "node.h"
#include "segment.h"

static const struct {
	const char *name;
	bool journaled;
} types[MC_OP_TYPES] = {
	[MC_OP_PING] = { "Ping", false },
	[MC_OP_REGISTER] = { "Register", true },
	[MC_OP_EXPIRE] = { "Expire", true },
	[MC_OP_FORGET] = { "Forget", true },
	[MC_OP_MOUNT] = { "Mount", true },
	[MC_OP_UNMOUNT] = { "Unmount", true },
	[MC_OP_PUT_START] = { "PutStart", true },
	[MC_OP_PUT_EXTEND] = { "PutExtend", true },
	[MC_OP_PUT_END] = { "PutEnd", true },
	[MC_OP_PUT_REVOKE] = { "PutRevoke", true },
	[MC_OP_ABANDON] = { "Abandon", true },
	[MC_OP_REMOVE] = { "Remove", true },
	[MC_OP_LEASE] = { "Lease", false },
	[MC_OP_CLIENT_GONE] = { "ClientGone", false },
	[MC_OP_RELEASE] = { "Release", true },
	[MC_OP_LEASES_END] = { "LeasesEnd", false },
};

const char *mc_op_name(enum mc_op_type type)
{
	return types[type].name;
}

bool mc_op_journaled(enum mc_op_type type)
{
	return types[type].journaled;
}

static const char *object_text(const struct mc_op *op, char out[MC_KEY_TEXT])
{
	const struct mc_scoped *n = op->name;

	return mc_key_text(n->bytes + n->tenant_len + 1, n->len - n->tenant_len - 1, out);
}

static const char *tenant_text(const struct mc_op *op)
{
	return (const char *)op->name->bytes;
}

static int not_found(const struct mc_op *op, struct mc_result *res)
{
	char key[MC_KEY_TEXT];

	return mc_fail(res, MC_E(OBJECT_NOT_FOUND), "object '%s' of tenant '%s' does not exist", object_text(op, key),
		       tenant_text(op));
}

/* ---- nodes and segments ---- */

static bool same_uuid(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, MC_UUID_LEN);
}

static bool alive(const struct mc_state *s, const struct mc_node *n, uint64_t now)
{
	return n->state != MC_NODE_GONE && now < n->last_ping + s->cfg.client_ttl_ns;
}

/* A node's UUID is made once per node: two live ones with the same are a mistake that must not pass quietly. */
static int check_duplicate(const struct mc_node *n, const struct mc_op *op, struct mc_result *res)
{
	char uuid[MC_UUID_TEXT], old[MC_ADDR_TEXT], new[MC_ADDR_TEXT];

	if (!same_uuid(op->client, n->old_client) && mc_node_same_rails(&n->info, op->info) &&
	    !strcmp(n->info.peer, op->info->peer))
		return 0;
	return mc_fail(res, MC_E(ILLEGAL_CLIENT), "node %s is alive at %.100s; refused at %.100s",
		       mc_uuid_text(n->uuid, uuid), mc_node_addresses(&n->info, old),
		       mc_node_addresses(op->info, new));
}

static int validate_ping(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_node *n = mc_state_node(s, op->node);
	const struct mc_node *mine = mc_node_of_client(s, op->client);
	char client[MC_UUID_TEXT], node[MC_UUID_TEXT];

	if (mine && !same_uuid(mine->uuid, op->node))
		return mc_fail(res, MC_E(INVALID_PARAMS), "client %s is registered for node %s",
			       mc_uuid_text(op->client, client), mc_uuid_text(mine->uuid, node));
	if (n && !same_uuid(n->client, op->client) && alive(s, n, op->now))
		return check_duplicate(n, op, res);
	return 0;
}

static int check_remount(const struct mc_segment *seg, const struct mc_op *op, struct mc_result *res)
{
	char uuid[MC_UUID_TEXT], node[MC_UUID_TEXT];

	if (seg->state == MC_SEGMENT_OK && !same_uuid(seg->node, op->node))
		return mc_fail(res, MC_E(SEGMENT_ALREADY_EXISTS), "segment %s is mounted by node %s",
			       mc_uuid_text(seg->uuid, uuid), mc_uuid_text(seg->node, node));
	if (!same_uuid(seg->node, op->node) || seg->size != op->size || strcmp(seg->name, op->label))
		return mc_fail(res, MC_E(INVALID_PARAMS),
			       "segment %s is '%.40s' of %llu bytes on node %s, not '%.40s' of %llu",
			       mc_uuid_text(seg->uuid, uuid), seg->name, (unsigned long long)seg->size,
			       mc_uuid_text(seg->node, node), op->label, (unsigned long long)op->size);
	return 0;
}

static int validate_mount(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_segment *seg = mc_state_segment(s, op->segment);
	const struct mc_node *n = mc_state_node(s, op->node);
	char client[MC_UUID_TEXT], node[MC_UUID_TEXT];

	if (!op->size || op->size % MC_PAGE_SIZE || op->size > MC_SEGMENT_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS),
			       "segment of %llu bytes; multiples of %llu up to %llu are taken",
			       (unsigned long long)op->size, MC_PAGE_SIZE, (unsigned long long)MC_SEGMENT_MAX);
	if (!n || n->state == MC_NODE_GONE || !same_uuid(n->client, op->client))
		return mc_fail(res, MC_E(CLIENT_NOT_FOUND), "client %s does not speak for node %s: ping first",
			       mc_uuid_text(op->client, client), mc_uuid_text(op->node, node));
	return seg ? check_remount(seg, op, res) : 0;
}

static int validate_unmount(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_segment *seg = mc_state_segment(s, op->segment);
	char uuid[MC_UUID_TEXT], client[MC_UUID_TEXT];

	if (!seg || seg->state == MC_SEGMENT_GONE || same_uuid(seg->client, op->client))
		return 0;
	return mc_fail(res, MC_E(ILLEGAL_CLIENT), "segment %s was mounted by client %s", mc_uuid_text(seg->uuid, uuid),
		       mc_uuid_text(seg->client, client));
}

/* ---- objects ---- */

static int check_absent(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_object *o = mc_state_object(s, op->name);
	char key[MC_KEY_TEXT];

	if (!o)
		return 0;
	if (o->complete)
		return mc_fail(res, MC_E(OBJECT_ALREADY_EXISTS), "object '%s' of tenant '%s' exists",
			       object_text(op, key), tenant_text(op));
	if (op->now <= o->put_start + s->cfg.discard_ns)
		return mc_fail(res, MC_E(OBJECT_ALREADY_EXISTS),
			       "object '%s' of tenant '%s' is being written since %llu ms", object_text(op, key),
			       tenant_text(op), (unsigned long long)((op->now - o->put_start) / MC_NS_PER_MS));
	return 0;
}

static int validate_put_start(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	char key[MC_KEY_TEXT];

	if (!op->length || op->length > MC_SEGMENT_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "object '%s' of %llu bytes; 1 to %llu are taken",
			       object_text(op, key), (unsigned long long)op->length,
			       (unsigned long long)MC_SEGMENT_MAX);
	if (!op->nplaces || op->nplaces > MC_REPLICAS_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "replica_num %u for object '%s'; 1 to %u are taken",
			       op->nplaces, object_text(op, key), MC_REPLICAS_MAX);
	return check_absent(s, op, res);
}

/* Extend, End and Revoke: only the attempt that is under way. */
static int check_attempt(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_object *o = mc_state_object(s, op->name);
	char key[MC_KEY_TEXT], client[MC_UUID_TEXT];

	if (!o)
		return not_found(op, res);
	if (!same_uuid(o->client, op->client))
		return mc_fail(res, MC_E(ILLEGAL_CLIENT), "object '%s' of tenant '%s' was not begun by client %s",
			       object_text(op, key), tenant_text(op), mc_uuid_text(op->client, client));
	if (o->token != op->token)
		return mc_fail(res, MC_E(ILLEGAL_CLIENT),
			       "attempt %016llx to write object '%s' of tenant '%s' is no longer current",
			       (unsigned long long)op->token, object_text(op, key), tenant_text(op));
	if (o->complete)
		return mc_fail(res, MC_E(INVALID_WRITE), "object '%s' of tenant '%s' is complete already",
			       object_text(op, key), tenant_text(op));
	return 0;
}

static int validate_remove(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_object *o = mc_state_object(s, op->name);
	char key[MC_KEY_TEXT];

	if (!o)
		return not_found(op, res);
	if (!op->force && op->now < mc_object_protected(o))
		return mc_fail(res, MC_E(OBJECT_HAS_LEASE), "object '%s' of tenant '%s' is leased for another %llu ms",
			       object_text(op, key), tenant_text(op),
			       (unsigned long long)((mc_object_protected(o) - op->now) / MC_NS_PER_MS));
	if (!o->complete)
		return mc_fail(res, MC_E(REPLICA_IS_NOT_READY), "object '%s' of tenant '%s' is being written",
			       object_text(op, key), tenant_text(op));
	return 0;
}

static int validate_lease(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	const struct mc_object *o = mc_state_object(s, op->name);
	char key[MC_KEY_TEXT];

	if (!o)
		return not_found(op, res);
	if (!o->complete)
		return mc_fail(res, MC_E(REPLICA_IS_NOT_READY), "object '%s' of tenant '%s' is being written",
			       object_text(op, key), tenant_text(op));
	return 0;
}

/* The word of a node's mcnoded, which has it from its kernel. */
static int validate_client_gone(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	char uuid[MC_UUID_TEXT];

	if (mc_node_of_client(s, op->client))
		return 0;
	return mc_fail(res, MC_E(CLIENT_NOT_FOUND), "client %s speaks for no node: ping first",
		       mc_uuid_text(op->client, uuid));
}

/* Made by the master itself, in the moment it saw that they are due. */
static int validate_own(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	if ((op->type == MC_OP_EXPIRE || op->type == MC_OP_FORGET) && !mc_state_node(s, op->node))
		return mc_fail(res, MC_E(INTERNAL_ERROR), "%s of an unknown node", mc_op_name(op->type));
	if (op->type == MC_OP_ABANDON)
		return check_attempt(s, op, res);
	return 0;
}

int mc_op_validate(const struct mc_state *s, const struct mc_op *op, struct mc_result *res)
{
	static int (* const validate[MC_OP_TYPES])(const struct mc_state *s, const struct mc_op *op,
						   struct mc_result *res) = {
		[MC_OP_PING] = validate_ping,
		[MC_OP_REGISTER] = validate_ping,
		[MC_OP_EXPIRE] = validate_own,
		[MC_OP_FORGET] = validate_own,
		[MC_OP_MOUNT] = validate_mount,
		[MC_OP_UNMOUNT] = validate_unmount,
		[MC_OP_PUT_START] = validate_put_start,
		[MC_OP_PUT_EXTEND] = check_attempt,
		[MC_OP_PUT_END] = check_attempt,
		[MC_OP_PUT_REVOKE] = check_attempt,
		[MC_OP_ABANDON] = validate_own,
		[MC_OP_REMOVE] = validate_remove,
		[MC_OP_LEASE] = validate_lease,
		[MC_OP_CLIENT_GONE] = validate_client_gone,
		[MC_OP_RELEASE] = validate_own,
		[MC_OP_LEASES_END] = validate_own,
	};

	res->code = 0;
	res->text[0] = 0;
	return validate[op->type](s, op, res);
}
