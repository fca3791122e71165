// SPDX-License-Identifier: MIT
#include "fake_master.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint8_t fm_byte(uint8_t salt, uint64_t i)
{
	return ((i + 1) * 2654435761u + salt * 97u) >> 13;
}

struct fm_object *fm_find(struct fake_master *fm, const void *key, size_t len)
{
	unsigned int i;

	for (i = 0; i < FM_OBJECTS; i++)
		if (fm->objects[i].used && fm->objects[i].key_len == len && !memcmp(fm->objects[i].key, key, len))
			return &fm->objects[i];
	return NULL;
}

static struct fm_object *create(struct fake_master *fm, const void *key, size_t len, uint64_t size,
				unsigned int replicas)
{
	struct fm_object *o;
	unsigned int i, seg;

	for (o = fm->objects; o->used; o++)
		if (o == &fm->objects[FM_OBJECTS - 1])
			abort();
	memset(o, 0, sizeof(*o));
	o->used = true;
	memcpy(o->key, key, len);
	o->key_len = len;
	o->size = size;
	o->token = ++fm->next_token;
	o->since = mc_now_ns();
	o->n_replicas = replicas ? replicas : 1;
	for (i = 0; i < o->n_replicas; i++) {
		seg = (fm->first_seg + i) % fm->fk->n_segs;
		o->replicas[i].seg = seg;
		o->replicas[i].offset = fm->next_off[seg];
		fm->next_off[seg] += (size + 4095) & ~4095ull;
	}
	return o;
}

struct fm_object *fm_add(struct fake_master *fm, const char *key, uint64_t size, unsigned int replicas)
{
	struct fm_object *o = create(fm, key, strlen(key), size, replicas);
	unsigned int r;
	uint64_t i;

	for (r = 0; r < o->n_replicas; r++)
		for (i = 0; i < size; i++)
			fm->fk->segs[o->replicas[r].seg].data[o->replicas[r].offset + i] = fm_byte(key[0], i);
	o->complete = true;
	return o;
}

/* ---- replies ---- */

static Mooncake__V1__Status *status(int code, const char *message)
{
	Mooncake__V1__Status *s = malloc(sizeof(*s));

	mooncake__v1__status__init(s);
	s->code = code;
	s->name = strdup(mc_strerror(code));
	s->message = strdup(message);
	return s;
}

static ProtobufCBinaryData copy(const void *data, size_t len)
{
	ProtobufCBinaryData b = { .len = len, .data = malloc(len) };

	memcpy(b.data, data, len);
	return b;
}

/*
 * Signed with no key: the fake kernel looks at what it allows, not at who says so. A grant to read lasts as long as the
 * lease, one to write as long as an attempt.
 */
static ProtobufCBinaryData grant(const struct fake_master *fm, const struct fk_seg *seg, const struct fm_object *o,
				 unsigned int i)
{
	uint64_t life_ms = o->complete ? fm->lease_ms : fm->attempt_ms;
	struct mc_grant g = {
		.off = o->replicas[i].offset, .len = o->size,
		.not_after = fm->grants_end ? mc_now_ns() + life_ms * 1000000 : UINT64_MAX,
		.rights = o->complete ? MC_GRANT_R : MC_GRANT_W,
	};
	static const uint8_t key[MC_GRANT_KEY];
	uint8_t out[MC_GRANT_LEN];

	memcpy(g.seg, seg->uuid, MC_UUID_LEN);
	mc_grant_sign(&g, key, out);
	return copy(out, sizeof(out));
}

static Mooncake__V1__Replica **replicas(struct fake_master *fm, const struct fm_object *o, size_t *n)
{
	Mooncake__V1__Replica **list = calloc(FM_REPLICAS, sizeof(*list));
	unsigned int i;

	for (i = 0; i < o->n_replicas && !fm->no_replicas; i++) {
		const struct fk_seg *seg = &fm->fk->segs[o->replicas[i].seg];

		list[i] = malloc(sizeof(*list[i]));
		mooncake__v1__replica__init(list[i]);
		list[i]->id = o->token * FM_REPLICAS + i;
		list[i]->status = o->replicas[i].status ? o->replicas[i].status : o->complete ? 3 : 2;
		list[i]->node_uuid = copy(seg->node_uuid, fm->bad_uuid ? 15 : MC_UUID_LEN);
		list[i]->segment_uuid = copy(seg->uuid, MC_UUID_LEN);
		list[i]->segment_name = strdup("pool");
		list[i]->offset = o->replicas[i].offset;
		list[i]->length = o->size + fm->bad_length;
		list[i]->grant = grant(fm, seg, o, i);
	}
	*n = i;
	return list;
}

static Mooncake__V1__PutStartReply *put_start(struct fake_master *fm, const ProtobufCBinaryData *key, uint64_t len,
					      unsigned int n)
{
	Mooncake__V1__PutStartReply *r = malloc(sizeof(*r));
	struct fm_object *o;

	mooncake__v1__put_start_reply__init(r);
	fm->starts++;
	if (fm_find(fm, key->data, key->len)) {
		r->status = status(MC_EOBJECT_ALREADY_EXISTS, "object exists");
		return r;
	}
	o = create(fm, key->data, key->len, len, n);
	r->status = fm->no_status ? NULL : status(0, "");
	r->token = o->token;
	r->grant_ttl_ms = fm->attempt_ms;
	r->replicas = replicas(fm, o, &r->n_replicas);
	return r;
}

static Mooncake__V1__PutStartReply *put_extend(struct fake_master *fm, const ProtobufCBinaryData *key, uint64_t token)
{
	Mooncake__V1__PutStartReply *r = malloc(sizeof(*r));
	struct fm_object *o = fm_find(fm, key->data, key->len);

	mooncake__v1__put_start_reply__init(r);
	fm->extensions++;
	if (!o || o->token != token || o->complete || fm->no_extension) {
		r->status = status(MC_EILLEGAL_CLIENT, "no longer current");
		return r;
	}
	o->since = mc_now_ns();
	r->status = status(0, "");
	r->token = o->token;
	r->grant_ttl_ms = fm->attempt_ms;
	r->replicas = replicas(fm, o, &r->n_replicas);
	return r;
}

static Mooncake__V1__GetReplicaListReply *where(struct fake_master *fm, const ProtobufCBinaryData *key)
{
	Mooncake__V1__GetReplicaListReply *r = malloc(sizeof(*r));
	struct fm_object *o = fm_find(fm, key->data, key->len);

	mooncake__v1__get_replica_list_reply__init(r);
	fm->queries++;
	if (!o) {
		r->status = status(MC_EOBJECT_NOT_FOUND, "object does not exist");
		return r;
	}
	r->status = fm->no_status ? NULL : status(0, "");
	r->size = o->size;
	r->lease_ttl_ms = fm->lease_ms;
	r->clock_epoch = fm->epoch;
	r->replicas = replicas(fm, o, &r->n_replicas);
	return r;
}

static Mooncake__V1__Status *put_finish(struct fake_master *fm, const ProtobufCBinaryData *key, uint64_t token,
					bool end, bool quiesced)
{
	struct fm_object *o = fm_find(fm, key->data, key->len);

	if (end) {
		fm->ends++;
	} else {
		fm->revokes++;
		fm->quiesced += quiesced;
	}
	if (!o)
		return status(MC_EOBJECT_NOT_FOUND, "object does not exist");
	if (o->token != token || o->complete)
		return status(MC_EINVALID_VERSION, "another attempt");
	fm->late_ends += end && mc_now_ns() > o->since + fm->attempt_ms * 1000000;
	if (end && fm->end_code)
		return status(fm->end_code, "as the test wants");
	if (end)
		o->complete = true;
	else
		o->used = false;
	return status(0, "");
}

static Mooncake__V1__Status *remove_one(struct fake_master *fm, const ProtobufCBinaryData *key, bool force)
{
	struct fm_object *o = fm_find(fm, key->data, key->len);

	if (!o)
		return status(MC_EOBJECT_NOT_FOUND, "object does not exist");
	if (!force && fm->lease_ms == 777)
		return status(MC_EOBJECT_HAS_LEASE, "leased");
	o->used = false;
	return status(0, "");
}

static int by_key(const void *a, const void *b)
{
	const struct fm_object *x = *(const struct fm_object *const *)a, *y = *(const struct fm_object *const *)b;
	size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
	int rc = memcmp(x->key, y->key, n);

	return rc ? rc : (int)x->key_len - (int)y->key_len;
}

static void list(struct fake_master *fm, const Mooncake__V1__ListRequest *q, Mooncake__V1__ListReply *r)
{
	struct fm_object *all[FM_OBJECTS], after = { 0 };
	size_t i, n = 0;

	fm->lists++;
	for (i = 0; i < FM_OBJECTS; i++)
		if (fm->objects[i].used && fm->objects[i].key_len >= q->prefix.len &&
		    (!q->prefix.len || !memcmp(fm->objects[i].key, q->prefix.data, q->prefix.len)))
			all[n++] = &fm->objects[i];
	qsort(all, n, sizeof(all[0]), by_key);
	if (q->after.len)
		memcpy(after.key, q->after.data, q->after.len);
	after.key_len = q->after.len;
	r->objects = calloc(q->limit, sizeof(*r->objects));
	r->status = status(0, "");
	for (i = 0; i < n; i++) {
		const struct fm_object *o = all[i], *a = &after;
		Mooncake__V1__ObjectInfo *info;

		if (q->after.len && by_key(&o, &a) <= 0 && !fm->stuck_list)
			continue;
		if (r->n_objects == q->limit) {
			r->more = true;
			break;
		}
		info = malloc(sizeof(*info));
		mooncake__v1__object_info__init(info);
		info->key = copy(o->key, o->key_len);
		info->size = o->size;
		info->replicas = o->n_replicas;
		info->complete = o->complete;
		r->objects[r->n_objects++] = info;
	}
}

/* ---- calls ---- */

#define REPLY(type, TYPE)							\
	Mooncake__V1__##type *r = malloc(sizeof(*r));				\
	static const Mooncake__V1__##type init = MOONCAKE__V1__##TYPE##__INIT;	\
	*r = init

#define RESULTS(count)								\
	do {									\
		r->n_results = (count) - fm->short_reply;			\
		r->results = calloc((count), sizeof(*r->results));		\
		if ((count) > fm->largest_call)					\
			fm->largest_call = (count);				\
	} while (0)

static ProtobufCMessage *batch_put_start(struct fake_master *fm, const Mooncake__V1__BatchPutStartRequest *q)
{
	REPLY(BatchPutStartReply, BATCH_PUT_START_REPLY);
	size_t i;

	RESULTS(q->n_keys);
	snprintf(fm->tenant, sizeof(fm->tenant), "%s", q->tenant);
	if (q->config->n_preferred_segments)
		snprintf(fm->preferred, sizeof(fm->preferred), "%s", q->config->preferred_segments[0]);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = put_start(fm, &q->keys[i], q->lengths[i], q->config->replica_num);
	return &r->base;
}

static ProtobufCMessage *batch_put_extend(struct fake_master *fm, const Mooncake__V1__BatchPutExtendRequest *q)
{
	REPLY(BatchPutStartReply, BATCH_PUT_START_REPLY);
	size_t i;

	RESULTS(q->n_items);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = put_extend(fm, &q->items[i]->key, q->items[i]->token);
	return &r->base;
}

static ProtobufCMessage *batch_put_end(struct fake_master *fm, const Mooncake__V1__BatchPutEndRequest *q)
{
	REPLY(BatchStatusReply, BATCH_STATUS_REPLY);
	size_t i;

	RESULTS(q->n_items);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = put_finish(fm, &q->items[i]->key, q->items[i]->token, true, false);
	return &r->base;
}

static ProtobufCMessage *batch_put_revoke(struct fake_master *fm, const Mooncake__V1__BatchPutRevokeRequest *q)
{
	REPLY(BatchStatusReply, BATCH_STATUS_REPLY);
	size_t i;

	RESULTS(q->n_items);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = put_finish(fm, &q->items[i]->key, q->items[i]->token, false, q->items[i]->quiesced);
	return &r->base;
}

static ProtobufCMessage *batch_where(struct fake_master *fm, const Mooncake__V1__BatchKeyRequest *q)
{
	REPLY(BatchGetReplicaListReply, BATCH_GET_REPLICA_LIST_REPLY);
	size_t i;

	RESULTS(q->n_keys);
	fm->reader_len = q->client_uuid.len;
	if (q->client_uuid.len == MC_UUID_LEN)
		memcpy(fm->reader, q->client_uuid.data, MC_UUID_LEN);
	if (fm->before_list)
		fm->before_list(fm);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = where(fm, &q->keys[i]);
	return &r->base;
}

static ProtobufCMessage *batch_exist(struct fake_master *fm, const Mooncake__V1__BatchKeyRequest *q)
{
	REPLY(BatchExistReply, BATCH_EXIST_REPLY);
	size_t i;

	RESULTS(q->n_keys);
	for (i = 0; i < r->n_results; i++) {
		struct fm_object *o = fm_find(fm, q->keys[i].data, q->keys[i].len);

		r->results[i] = malloc(sizeof(*r->results[i]));
		mooncake__v1__exist_reply__init(r->results[i]);
		r->results[i]->status = status(0, "");
		r->results[i]->exists = o && o->complete;
	}
	return &r->base;
}

static ProtobufCMessage *batch_remove(struct fake_master *fm, const Mooncake__V1__BatchRemoveRequest *q)
{
	REPLY(BatchStatusReply, BATCH_STATUS_REPLY);
	size_t i;

	RESULTS(q->n_keys);
	for (i = 0; i < r->n_results; i++)
		r->results[i] = remove_one(fm, &q->keys[i], q->force);
	return &r->base;
}

static ProtobufCMessage *answer(struct fake_master *fm, const char *method, const void *q)
{
	if (!strcmp(method, "BatchPutStart"))
		return batch_put_start(fm, q);
	if (!strcmp(method, "BatchPutExtend"))
		return batch_put_extend(fm, q);
	if (!strcmp(method, "BatchPutEnd"))
		return batch_put_end(fm, q);
	if (!strcmp(method, "BatchPutRevoke"))
		return batch_put_revoke(fm, q);
	if (!strcmp(method, "BatchGetReplicaList"))
		return batch_where(fm, q);
	if (!strcmp(method, "BatchExistKey"))
		return batch_exist(fm, q);
	if (!strcmp(method, "BatchRemove"))
		return batch_remove(fm, q);
	if (!strcmp(method, "GetReplicaList"))
		return &where(fm, &((const Mooncake__V1__KeyRequest *)q)->key)->base;
	if (!strcmp(method, "List")) {
		REPLY(ListReply, LIST_REPLY);

		list(fm, q, r);
		return &r->base;
	}
	if (!strcmp(method, "ServiceReady")) {
		REPLY(ServiceReadyReply, SERVICE_READY_REPLY);

		r->status = status(0, "");
		r->version = strdup("1.2.3");
		return &r->base;
	}
	abort();
}

static ProtobufCMessage *through_the_wire(const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *wire = malloc(len ? len : 1);
	ProtobufCMessage *out;

	protobuf_c_message_pack(m, wire);
	out = protobuf_c_message_unpack(m->descriptor, NULL, len, wire);
	free(wire);
	if (!out)
		abort();
	return out;
}

static int fm_call(void *ctx, const char *method, const ProtobufCMessage *req, const ProtobufCMessageDescriptor *type,
		   ProtobufCMessage **reply, int timeout_ms, struct mc_error *err)
{
	struct timespec t = { .tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000 };
	struct fake_master *fm = ctx;
	ProtobufCMessage *q, *r;

	*reply = NULL;
	fm->calls++;
	if (timeout_ms < 1)
		return mc_error_set(err, MC_ERPC_TIMEOUT, ETIMEDOUT, "%s: no time left", method);
	if (fm->hang && !strcmp(fm->hang, method)) {
		nanosleep(&t, NULL);
		return mc_error_set(err, MC_ERPC_TIMEOUT, ETIMEDOUT, "%s: no answer from fake:1 within %d ms", method,
				    timeout_ms);
	}
	if (fm->refuse && !strcmp(fm->refuse, method))
		return mc_error_set(err, MC_ERPC_FAIL, ECONNREFUSED, "connection refused by fake:1");
	q = through_the_wire(req);
	r = answer(fm, method, q);
	if (r->descriptor != type)
		abort();
	*reply = through_the_wire(r);
	protobuf_c_message_free_unpacked(q, NULL);
	protobuf_c_message_free_unpacked(r, NULL);
	return 0;
}

static const char *fm_address(void *ctx)
{
	(void)ctx;
	return "fake:1";
}

static void fm_end(void *ctx)
{
	(void)ctx;
}

const struct mc_master_ops fm_ops = {
	.call = fm_call,
	.address = fm_address,
	.free = fm_end,
};

struct fake_master *fm_new(struct fake_kernel *fk)
{
	struct fake_master *fm = calloc(1, sizeof(*fm));

	fm->fk = fk;
	fk->need_grants = true;
	fm->lease_ms = 10000;
	fm->attempt_ms = 30000;
	fm->epoch = 7;
	return fm;
}

void fm_free(struct fake_master *fm)
{
	free(fm);
}
