// SPDX-License-Identifier: MIT
/*
 * Calls about objects. Each has one function for one item, which the single call and the batch both use, so that an
 * item of a batch depends on nothing but itself.
 */
#include "service.h"

#include <string.h>

#include "segment.h"
#include "server.h"

#define BATCH_MAX	65536u	/* items, and for writes items times replicas: keeps a reply below 64 MiB */
#define LIST_DEFAULT	1000u
#define LIST_MAX	10000u

/* Refuses a batch before any item of it is carried out. */
static bool too_many(void *call, size_t items, size_t replicas)
{
	char text[160];

	/* A count that no item may have is for each item to refuse. */
	if (!replicas || replicas > MC_REPLICAS_MAX)
		replicas = 1;
	if (items <= BATCH_MAX / replicas)
		return false;
	snprintf(text, sizeof(text), "a batch of %zu items and %zu replicas each; at most %u in all are taken", items,
		 replicas, BATCH_MAX);
	mc_rpc_fail(call, MC_GRPC_RESOURCE_EXHAUSTED, text);
	return true;
}

/* ---- existence and look-up ---- */

static int lease(struct mc_master *m, const struct mc_scoped *name, const ProtobufCBinaryData *client,
		 struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_LEASE, .name = name };

	if (client->len && mc_uuid_check("client_uuid", client, res))
		return res->code;
	if (client->len)
		memcpy(op.reader, client->data, MC_UUID_LEN);
	return mc_master_submit(m, &op, res);
}

static V1(ExistReply) *exist_one(struct mc_master *m, struct mc_arena *a, const char *tenant,
				 const ProtobufCBinaryData *key, const ProtobufCBinaryData *client, bool protect)
{
	V1(ExistReply) *out = mc_arena_alloc(a, 1, sizeof(*out));
	struct mc_result res = { 0 };
	const struct mc_object *o;
	struct mc_scoped name;

	if (!out)
		return NULL;
	mooncake__v1__exist_reply__init(out);
	if (!mc_scoped_set(&name, tenant, key, &res)) {
		o = mc_state_object(&m->state, &name);
		out->exists = o && o->complete;
		if (out->exists && protect)
			lease(m, &name, client, &res);
	}
	mc_master_count(m, MC_COUNT_EXIST, res.code);
	out->status = mc_service_status(a, &res);
	return out->status ? out : NULL;
}

static void exist_key(V1(Master_Service) *base, const V1(KeyRequest) *in, V1(ExistReply_Closure) done, void *call)
{
	done(exist_one(mc_service_master(base), mc_rpc_call_arena(call), in->tenant, &in->key, &in->client_uuid,
		       in->lease), call);
}

static void batch_exist_key(V1(Master_Service) *base, const V1(BatchKeyRequest) *in, V1(BatchExistReply_Closure) done,
			    void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	V1(BatchExistReply) out;
	size_t i;

	if (too_many(call, in->n_keys, 1))
		return;
	mooncake__v1__batch_exist_reply__init(&out);
	out.results = mc_arena_alloc(a, in->n_keys, sizeof(*out.results));
	for (i = 0; out.results && i < in->n_keys; i++) {
		out.results[i] = exist_one(mc_service_master(base), a, in->tenant, &in->keys[i], &in->client_uuid,
					   in->lease);
		if (!out.results[i])
			break;
	}
	out.n_results = i;
	done(out.results && i == in->n_keys ? &out : NULL, call);
}

/*
 * The right to write until another writer may take the attempt over, or to read as long as the lease. Nobody else has
 * anything in an object's pages: its range is rounded up to them.
 */
static void write_grant(struct mc_master *m, const struct mc_object *o, const V1(Replica) *r, uint8_t *out)
{
	struct mc_grant g = {
		.off = r->offset,
		.len = r->length,
		.not_after = o->complete ? o->lease_until : o->put_start + m->cfg.discard_ms * MC_NS_PER_MS,
		.epoch = m->clock_epoch,
		.tenant = mc_grant_tenant((const char *)o->tree.name, o->tree.tenant_len),
		.rights = (o->complete ? MC_GRANT_R : MC_GRANT_W) | MC_GRANT_WHOLE_PAGES,
	};

	memcpy(g.seg, r->segment_uuid.data, MC_UUID_LEN);
	mc_mint(&m->minter, &g, out);
}

static void write_replica(struct mc_master *m, V1(Replica) *out, const struct mc_object *o,
			  const struct mc_replica *r, uint8_t *grant)
{
	const struct mc_segment *seg = r->segment;

	mooncake__v1__replica__init(out);
	out->id = r->id;
	out->type = MOONCAKE__V1__REPLICA_TYPE__REPLICA_MEMORY;
	out->status = o->complete ? MOONCAKE__V1__REPLICA_STATUS__REPLICA_COMPLETE :
		      MOONCAKE__V1__REPLICA_STATUS__REPLICA_PROCESSING;
	out->node_uuid = (ProtobufCBinaryData){ .len = MC_UUID_LEN, .data = (uint8_t *)seg->node };
	out->segment_uuid = (ProtobufCBinaryData){ .len = MC_UUID_LEN, .data = (uint8_t *)seg->uuid };
	out->segment_name = (char *)seg->name;
	out->offset = (uint64_t)mc_alloc_extent(seg->alloc, r->handle).page << MC_PAGE_SHIFT;
	out->length = o->size;
	write_grant(m, o, out, grant);
	out->grant = (ProtobufCBinaryData){ .len = MC_MINT_BYTES, .data = grant };
}

/* Fills *@list and returns the number of replicas, or -1 when out of memory. */
static int write_replicas(struct mc_master *m, struct mc_arena *a, const struct mc_object *o, V1(Replica) ***list)
{
	V1(Replica) *r = mc_arena_alloc(a, o->nreplicas, sizeof(*r));
	uint8_t *grants = mc_arena_alloc(a, o->nreplicas, MC_MINT_BYTES);
	int i, n = 0;

	*list = mc_arena_alloc(a, o->nreplicas, sizeof(**list));
	if (!r || !grants || !*list)
		return -1;
	for (i = 0; i < o->nslots; i++) {
		if (!o->replicas[i].segment)
			continue;
		write_replica(m, &r[n], o, &o->replicas[i], grants + n * MC_MINT_BYTES);
		(*list)[n] = &r[n];
		n++;
	}
	return n;
}

static V1(GetReplicaListReply) *get_one(struct mc_master *m, struct mc_arena *a, const char *tenant,
					const ProtobufCBinaryData *key, const ProtobufCBinaryData *client)
{
	V1(GetReplicaListReply) *out = mc_arena_alloc(a, 1, sizeof(*out));
	struct mc_result res = { 0 };
	struct mc_scoped name;
	int n = 0;

	if (!out)
		return NULL;
	mooncake__v1__get_replica_list_reply__init(out);
	if (!mc_scoped_set(&name, tenant, key, &res) && !lease(m, &name, client, &res)) {
		const struct mc_object *o = mc_state_object(&m->state, &name);

		n = write_replicas(m, a, o, &out->replicas);
		out->size = o->size;
		out->lease_ttl_ms = m->cfg.lease_ttl_ms;
		out->has_crc32c = o->has_crc32c;
		out->crc32c = o->crc32c;
		out->clock_epoch = m->clock_epoch;
	}
	mc_master_count(m, MC_COUNT_GET, res.code);
	out->status = mc_service_status(a, &res);
	if (n < 0 || !out->status)
		return NULL;
	out->n_replicas = n;
	return out;
}

static void get_replica_list(V1(Master_Service) *base, const V1(KeyRequest) *in,
			     V1(GetReplicaListReply_Closure) done, void *call)
{
	done(get_one(mc_service_master(base), mc_rpc_call_arena(call), in->tenant, &in->key, &in->client_uuid), call);
}

static void batch_get_replica_list(V1(Master_Service) *base, const V1(BatchKeyRequest) *in,
				   V1(BatchGetReplicaListReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	V1(BatchGetReplicaListReply) out;
	size_t i;

	if (too_many(call, in->n_keys, 1))
		return;
	mooncake__v1__batch_get_replica_list_reply__init(&out);
	out.results = mc_arena_alloc(a, in->n_keys, sizeof(*out.results));
	for (i = 0; out.results && i < in->n_keys; i++) {
		out.results[i] = get_one(mc_service_master(base), a, in->tenant, &in->keys[i], &in->client_uuid);
		if (!out.results[i])
			break;
	}
	out.n_results = i;
	done(out.results && i == in->n_keys ? &out : NULL, call);
}

/* ---- writing ---- */

static int put_start(struct mc_master *m, const V1(PutStartRequest) *in, struct mc_scoped *name, struct mc_op *op,
		     struct mc_result *res)
{
	const V1(ReplicateConfig) *cfg = in->config;
	size_t i;

	if (mc_uuid_check("client_uuid", &in->client_uuid, res) || mc_scoped_set(name, in->tenant, &in->key, res))
		return res->code;
	op->type = MC_OP_PUT_START;
	memcpy(op->client, in->client_uuid.data, MC_UUID_LEN);
	op->name = name;
	op->length = in->length;
	op->nplaces = cfg && cfg->replica_num ? cfg->replica_num : 1;
	for (i = 0; cfg && i < cfg->n_preferred_segments; i++)
		if (mc_label_check("preferred segment", cfg->preferred_segments[i], false, res))
			return res->code;
	if (cfg && cfg->n_preferred_segments > MC_REPLICAS_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%zu preferred segments; at most %u are taken",
			       cfg->n_preferred_segments, MC_REPLICAS_MAX);
	op->preferred = cfg ? cfg->preferred_segments : NULL;
	op->npreferred = cfg ? cfg->n_preferred_segments : 0;
	return mc_master_submit(m, op, res);
}

/* Token and replicas, with grants as of now; -1 when out of memory. */
static int write_attempt(struct mc_master *m, struct mc_arena *a, const struct mc_scoped *name, V1(PutStartReply) *out)
{
	const struct mc_object *o = mc_state_object(&m->state, name);
	int n = write_replicas(m, a, o, &out->replicas);

	out->token = o->token;
	out->grant_ttl_ms = m->cfg.discard_ms;
	out->n_replicas = n < 0 ? 0 : n;
	return n;
}

static V1(PutStartReply) *put_start_one(struct mc_master *m, struct mc_arena *a, const V1(PutStartRequest) *in)
{
	V1(PutStartReply) *out = mc_arena_alloc(a, 1, sizeof(*out));
	struct mc_result res = { 0 };
	struct mc_op op = { 0 };
	struct mc_scoped name;
	int n = 0;

	if (!out)
		return NULL;
	mooncake__v1__put_start_reply__init(out);
	if (!put_start(m, in, &name, &op, &res))
		n = write_attempt(m, a, &name, out);
	mc_master_count(m, MC_COUNT_PUT_START, res.code);
	out->status = mc_service_status(a, &res);
	return n < 0 || !out->status ? NULL : out;
}

static void put_start_call(V1(Master_Service) *base, const V1(PutStartRequest) *in, V1(PutStartReply_Closure) done,
			   void *call)
{
	done(put_start_one(mc_service_master(base), mc_rpc_call_arena(call), in), call);
}

static V1(PutStartReply) *put_start_refused(struct mc_arena *a, const struct mc_result *res)
{
	V1(PutStartReply) *out = mc_arena_alloc(a, 1, sizeof(*out));

	if (!out)
		return NULL;
	mooncake__v1__put_start_reply__init(out);
	out->status = mc_service_status(a, res);
	return out->status ? out : NULL;
}

static V1(PutStartReply) *put_start_item(struct mc_master *m, struct mc_arena *a, const V1(BatchPutStartRequest) *in,
					 size_t i)
{
	V1(PutStartRequest) one;
	struct mc_result res;

	if (in->n_lengths != in->n_keys) {
		mc_fail(&res, MC_E(INVALID_PARAMS), "%zu keys but %zu lengths", in->n_keys, in->n_lengths);
		mc_master_count(m, MC_COUNT_PUT_START, res.code);
		return put_start_refused(a, &res);
	}
	mooncake__v1__put_start_request__init(&one);
	one.client_uuid = in->client_uuid;
	one.tenant = in->tenant;
	one.key = in->keys[i];
	one.length = in->lengths[i];
	one.config = in->config;
	return put_start_one(m, a, &one);
}

static void batch_put_start(V1(Master_Service) *base, const V1(BatchPutStartRequest) *in,
			    V1(BatchPutStartReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	V1(BatchPutStartReply) out;
	size_t i;

	if (too_many(call, in->n_keys, in->config ? in->config->replica_num : 1))
		return;
	mooncake__v1__batch_put_start_reply__init(&out);
	out.results = mc_arena_alloc(a, in->n_keys, sizeof(*out.results));
	for (i = 0; out.results && i < in->n_keys; i++) {
		out.results[i] = put_start_item(mc_service_master(base), a, in, i);
		if (!out.results[i])
			break;
	}
	out.n_results = i;
	done(out.results && i == in->n_keys ? &out : NULL, call);
}

static V1(PutStartReply) *put_extend_one(struct mc_master *m, struct mc_arena *a, const V1(PutExtendRequest) *in)
{
	V1(PutStartReply) *out = mc_arena_alloc(a, 1, sizeof(*out));
	struct mc_op op = { .type = MC_OP_PUT_EXTEND, .token = in->token };
	struct mc_result res = { 0 };
	struct mc_scoped name;
	int n = 0;

	if (!out)
		return NULL;
	mooncake__v1__put_start_reply__init(out);
	if (!mc_uuid_check("client_uuid", &in->client_uuid, &res) &&
	    !mc_scoped_set(&name, in->tenant, &in->key, &res)) {
		memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
		op.name = &name;
		if (!mc_master_submit(m, &op, &res))
			n = write_attempt(m, a, &name, out);
	}
	mc_master_count(m, MC_COUNT_PUT_EXTEND, res.code);
	out->status = mc_service_status(a, &res);
	return n < 0 || !out->status ? NULL : out;
}

static void batch_put_extend(V1(Master_Service) *base, const V1(BatchPutExtendRequest) *in,
			     V1(BatchPutStartReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	V1(BatchPutStartReply) out;
	size_t i;

	/* An attempt has as many replicas as its start was allowed. */
	if (too_many(call, in->n_items, MC_REPLICAS_MAX))
		return;
	mooncake__v1__batch_put_start_reply__init(&out);
	out.results = mc_arena_alloc(a, in->n_items, sizeof(*out.results));
	for (i = 0; out.results && i < in->n_items; i++) {
		out.results[i] = put_extend_one(mc_service_master(base), a, in->items[i]);
		if (!out.results[i])
			break;
	}
	out.n_results = i;
	done(out.results && i == in->n_items ? &out : NULL, call);
}

static int put_end(struct mc_master *m, const V1(PutEndRequest) *in, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_PUT_END, .token = in->token, .has_crc32c = in->has_crc32c,
			    .crc32c = in->crc32c };
	struct mc_scoped name;

	if (!mc_uuid_check("client_uuid", &in->client_uuid, res) &&
	    !mc_scoped_set(&name, in->tenant, &in->key, res)) {
		memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
		op.name = &name;
		mc_master_submit(m, &op, res);
	}
	mc_master_count(m, MC_COUNT_PUT_END, res->code);
	return res->code;
}

static int put_revoke(struct mc_master *m, const V1(PutRevokeRequest) *in, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_PUT_REVOKE, .token = in->token, .quiesced = in->quiesced };
	struct mc_scoped name;

	if (!mc_uuid_check("client_uuid", &in->client_uuid, res) &&
	    !mc_scoped_set(&name, in->tenant, &in->key, res)) {
		memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
		op.name = &name;
		mc_master_submit(m, &op, res);
	}
	mc_master_count(m, MC_COUNT_PUT_REVOKE, res->code);
	return res->code;
}

static int remove_one(struct mc_master *m, const char *tenant, const ProtobufCBinaryData *key, bool force,
		      struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_REMOVE, .force = force };
	struct mc_scoped name;

	if (!mc_scoped_set(&name, tenant, key, res)) {
		op.name = &name;
		mc_master_submit(m, &op, res);
	}
	mc_master_count(m, MC_COUNT_REMOVE, res->code);
	return res->code;
}

static void answer_status(V1(StatusReply_Closure) done, void *call, const struct mc_result *res)
{
	V1(StatusReply) out;

	mooncake__v1__status_reply__init(&out);
	out.status = mc_service_status(mc_rpc_call_arena(call), res);
	done(out.status ? &out : NULL, call);
}

static void put_end_call(V1(Master_Service) *base, const V1(PutEndRequest) *in, V1(StatusReply_Closure) done,
			 void *call)
{
	struct mc_result res = { 0 };

	put_end(mc_service_master(base), in, &res);
	answer_status(done, call, &res);
}

static void put_revoke_call(V1(Master_Service) *base, const V1(PutRevokeRequest) *in, V1(StatusReply_Closure) done,
			    void *call)
{
	struct mc_result res = { 0 };

	put_revoke(mc_service_master(base), in, &res);
	answer_status(done, call, &res);
}

static void remove_call(V1(Master_Service) *base, const V1(RemoveRequest) *in, V1(StatusReply_Closure) done,
			void *call)
{
	struct mc_result res = { 0 };

	remove_one(mc_service_master(base), in->tenant, &in->key, in->force, &res);
	answer_status(done, call, &res);
}

/* A batch whose items each end in a status: @item carries item i of @in out. */
static void batch_status(struct mc_master *m, const void *in, size_t n,
			 void (*item)(struct mc_master *m, const void *in, size_t i, struct mc_result *res),
			 V1(BatchStatusReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	V1(BatchStatusReply) out;
	size_t i;

	if (too_many(call, n, 1))
		return;
	mooncake__v1__batch_status_reply__init(&out);
	out.results = mc_arena_alloc(a, n, sizeof(*out.results));
	for (i = 0; out.results && i < n; i++) {
		struct mc_result res = { 0 };

		item(m, in, i, &res);
		out.results[i] = mc_service_status(a, &res);
		if (!out.results[i])
			break;
	}
	out.n_results = i;
	done(out.results && i == n ? &out : NULL, call);
}

static void end_item(struct mc_master *m, const void *in, size_t i, struct mc_result *res)
{
	put_end(m, ((const V1(BatchPutEndRequest) *)in)->items[i], res);
}

static void revoke_item(struct mc_master *m, const void *in, size_t i, struct mc_result *res)
{
	put_revoke(m, ((const V1(BatchPutRevokeRequest) *)in)->items[i], res);
}

static void remove_item(struct mc_master *m, const void *in, size_t i, struct mc_result *res)
{
	const V1(BatchRemoveRequest) *b = in;

	remove_one(m, b->tenant, &b->keys[i], b->force, res);
}

static void batch_put_end(V1(Master_Service) *base, const V1(BatchPutEndRequest) *in,
			  V1(BatchStatusReply_Closure) done, void *call)
{
	batch_status(mc_service_master(base), in, in->n_items, end_item, done, call);
}

static void batch_put_revoke(V1(Master_Service) *base, const V1(BatchPutRevokeRequest) *in,
			     V1(BatchStatusReply_Closure) done, void *call)
{
	batch_status(mc_service_master(base), in, in->n_items, revoke_item, done, call);
}

static void batch_remove(V1(Master_Service) *base, const V1(BatchRemoveRequest) *in,
			 V1(BatchStatusReply_Closure) done, void *call)
{
	batch_status(mc_service_master(base), in, in->n_keys, remove_item, done, call);
}

/* ---- listing ---- */

static int check_list(const V1(ListRequest) *in, struct mc_result *res)
{
	if (in->limit > LIST_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "limit %u; at most %u are taken", in->limit, LIST_MAX);
	if (in->prefix.len > MC_KEY_MAX || in->after.len > MC_KEY_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "prefix of %zu and start of %zu bytes; keys have at most %u",
			       in->prefix.len, in->after.len, MC_KEY_MAX);
	return 0;
}

static int compare_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int d = n ? memcmp(a->data, b->data, n) : 0;

	return d ? d : (a->len > b->len) - (a->len < b->len);
}

/* The list begins at the prefix, or behind `after` when that is further on. */
static void list_start(struct mc_table_walk *w, const struct mc_table *t, const char *tenant,
		       const V1(ListRequest) *in)
{
	bool behind = in->after.len && compare_bytes(&in->after, &in->prefix) >= 0;
	const ProtobufCBinaryData *key = behind ? &in->after : &in->prefix;
	uint32_t len = strlen(tenant) + 1;
	uint8_t name[MC_SCOPED_MAX];

	memcpy(name, tenant, len);
	if (key->len)
		memcpy(name + len, key->data, key->len);
	mc_table_walk_from(w, t, name, len + key->len, behind);
}

static bool in_list(const struct mc_tree_node *n, const char *tenant, const ProtobufCBinaryData *prefix)
{
	uint32_t len = strlen(tenant) + 1;

	return n->tenant_len + 1u == len && !memcmp(n->name, tenant, len) && n->name_len - len >= prefix->len &&
	       (!prefix->len || !memcmp(n->name + len, prefix->data, prefix->len));
}

static V1(ObjectInfo) *write_object(struct mc_arena *a, const struct mc_tree_node *n)
{
	const struct mc_object *o = (const struct mc_object *)n;
	V1(ObjectInfo) *out = mc_arena_alloc(a, 1, sizeof(*out));

	if (!out)
		return NULL;
	mooncake__v1__object_info__init(out);
	out->key.data = (uint8_t *)n->name + n->tenant_len + 1;
	out->key.len = n->name_len - n->tenant_len - 1;
	out->size = o->size;
	out->replicas = o->nreplicas;
	out->complete = o->complete;
	return out;
}

static bool list_objects(const struct mc_state *s, struct mc_arena *a, const char *tenant, const V1(ListRequest) *in,
			 V1(ListReply) *out)
{
	uint32_t limit = in->limit ? in->limit : LIST_DEFAULT;
	struct mc_table_walk *w = mc_arena_alloc(a, 1, sizeof(*w));
	struct mc_tree_node *n;

	out->objects = mc_arena_alloc(a, limit, sizeof(*out->objects));
	if (!w || !out->objects)
		return false;
	list_start(w, &s->table, tenant, in);
	while ((n = mc_table_walk_next(w)) && in_list(n, tenant, &in->prefix)) {
		if (out->n_objects == limit) {
			out->more = true;
			break;
		}
		out->objects[out->n_objects] = write_object(a, n);
		if (!out->objects[out->n_objects++])
			return false;
	}
	return true;
}

static void list(V1(Master_Service) *base, const V1(ListRequest) *in, V1(ListReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };
	const char *tenant;
	V1(ListReply) out;
	bool ok = true;

	mooncake__v1__list_reply__init(&out);
	tenant = mc_tenant_check(in->tenant, &res);
	if (tenant && !check_list(in, &res))
		ok = list_objects(&m->state, a, tenant, in, &out);
	mc_master_count(m, MC_COUNT_LIST, res.code);
	out.status = mc_service_status(a, &res);
	done(ok && out.status ? &out : NULL, call);
}

void mc_service_objects(V1(Master_Service) *s)
{
	s->exist_key = exist_key;
	s->batch_exist_key = batch_exist_key;
	s->get_replica_list = get_replica_list;
	s->batch_get_replica_list = batch_get_replica_list;
	s->put_start = put_start_call;
	s->batch_put_start = batch_put_start;
	s->batch_put_extend = batch_put_extend;
	s->put_end = put_end_call;
	s->batch_put_end = batch_put_end;
	s->put_revoke = put_revoke_call;
	s->batch_put_revoke = batch_put_revoke;
	s->remove = remove_call;
	s->batch_remove = batch_remove;
	s->list = list;
}
