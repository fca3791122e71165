// SPDX-License-Identifier: MIT
/* What moves no bytes: ready, exist, remove, stat, list. */
#include "store_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_PAGE	1000u

int mc_store_ready(struct mc_store *s, char *version, size_t version_len, const struct mc_opts *opts,
		   struct mc_error *err)
{
	Mooncake__V1__ServiceReadyRequest req = MOONCAKE__V1__SERVICE_READY_REQUEST__INIT;
	Mooncake__V1__ServiceReadyReply *reply;
	struct mc_error local;
	int rc;

	err = err ? err : &local;
	reply = mc_ask(s, "ServiceReady", &req.base, &mooncake__v1__service_ready_reply__descriptor,
		       mc_deadline(s, opts), err);
	if (!reply)
		return err->code;
	rc = mc_judge(reply->status, "ServiceReady", err);
	if (!rc && version && version_len)
		snprintf(version, version_len, "%s", reply->version);
	mc_drop_reply(reply);
	return rc;
}

int mc_key_check(const void *key, size_t len, struct mc_error *err)
{
	if (key && len && len <= MC_STORE_MAX_KEY)
		return 0;
	return mc_error_set(err, MC_EINVALID_KEY, 0, "key of %zu bytes, not 1 to %u", len, MC_STORE_MAX_KEY);
}

/* Notes the first failure of a batch as its error. */
static void note(struct mc_error *err, const struct mc_error *one)
{
	if (!err->code)
		*err = *one;
}

/* One call of a batch of keys: asks, and gives each item its answer. */
typedef int (*keys_fn)(struct mc_store *s, struct mc_key_item **items, ProtobufCBinaryData *keys, size_t n, bool force,
		       uint64_t until, struct mc_error *err);

static int exist_keys(struct mc_store *s, struct mc_key_item **items, ProtobufCBinaryData *keys, size_t n, bool force,
		      uint64_t until, struct mc_error *err)
{
	Mooncake__V1__BatchKeyRequest req = MOONCAKE__V1__BATCH_KEY_REQUEST__INIT;
	Mooncake__V1__BatchExistReply *reply;
	struct mc_error one;
	char key[MC_KEY_TEXT];
	size_t i;

	(void)force;
	req.tenant = s->tenant;
	req.keys = keys;
	req.n_keys = n;
	reply = mc_ask(s, "BatchExistKey", &req.base, &mooncake__v1__batch_exist_reply__descriptor, until, err);
	if (!reply || mc_count_matches(s, "BatchExistKey", reply->n_results, n, err)) {
		mc_drop_reply(reply);
		return err->code;
	}
	for (i = 0; i < n; i++) {
		mc_key_text(keys[i].data, keys[i].len, key);
		items[i]->code = mc_judge(reply->results[i]->status, key, &one);
		if (items[i]->code)
			note(err, &one);
		else
			items[i]->exists = reply->results[i]->exists;
	}
	mc_drop_reply(reply);
	return 0;
}

static int remove_keys(struct mc_store *s, struct mc_key_item **items, ProtobufCBinaryData *keys, size_t n, bool force,
		       uint64_t until, struct mc_error *err)
{
	Mooncake__V1__BatchRemoveRequest req = MOONCAKE__V1__BATCH_REMOVE_REQUEST__INIT;
	Mooncake__V1__BatchStatusReply *reply;
	struct mc_error one;
	char key[MC_KEY_TEXT];
	size_t i;

	req.tenant = s->tenant;
	req.keys = keys;
	req.n_keys = n;
	req.force = force;
	reply = mc_ask(s, "BatchRemove", &req.base, &mooncake__v1__batch_status_reply__descriptor, until, err);
	if (!reply || mc_count_matches(s, "BatchRemove", reply->n_results, n, err)) {
		mc_drop_reply(reply);
		return err->code;
	}
	for (i = 0; i < n; i++) {
		mc_key_text(keys[i].data, keys[i].len, key);
		items[i]->code = mc_judge(reply->results[i], key, &one);
		if (items[i]->code)
			note(err, &one);
	}
	mc_drop_reply(reply);
	return 0;
}

static void fail_keys(struct mc_key_item **items, size_t n, const struct mc_error *err, struct mc_error *first)
{
	size_t i;

	for (i = 0; i < n; i++)
		items[i]->code = err->code;
	note(first, err);
}

static int keys_batch(struct mc_store *s, struct mc_key_item *items, size_t n, bool force, const struct mc_opts *opts,
		      keys_fn fn, struct mc_error *err)
{
	uint64_t until = mc_deadline(s, opts);
	ProtobufCBinaryData *keys = calloc(MC_KEYS_PER_CALL, sizeof(*keys));
	struct mc_key_item **some = calloc(MC_KEYS_PER_CALL, sizeof(*some));
	struct mc_error first = { 0 }, one;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		items[i].code = 0;
		items[i].exists = false;
		if (!keys || !some)
			items[i].code = mc_error_set(&one, MC_EINTERNAL, ENOMEM, "no memory for a batch of keys");
		else if (n > MC_STORE_MAX_BATCH)
			items[i].code = mc_error_set(&one, MC_EINVALID_PARAMS, 0, "batch of %zu keys is above %u", n,
						     MC_STORE_MAX_BATCH);
		else
			items[i].code = mc_key_check(items[i].key, items[i].key_len, &one);
		if (items[i].code) {
			note(&first, &one);
		} else {
			some[k] = &items[i];
			keys[k].data = (uint8_t *)items[i].key;
			keys[k++].len = items[i].key_len;
		}
		if (k && (k == MC_KEYS_PER_CALL || i + 1 == n)) {
			one.code = 0;
			if (fn(s, some, keys, k, force, until, &one))
				fail_keys(some, k, &one, &first);
			else if (one.code)
				note(&first, &one);
			k = 0;
		}
	}
	free(keys);
	free(some);
	if (first.code && err)
		*err = first;
	return first.code;
}

int mc_store_exist_batch(struct mc_store *s, struct mc_key_item *items, size_t n, const struct mc_opts *opts,
			 struct mc_error *err)
{
	return keys_batch(s, items, n, false, opts, exist_keys, err);
}

int mc_store_exist(struct mc_store *s, const void *key, size_t key_len, bool *exists, const struct mc_opts *opts,
		   struct mc_error *err)
{
	struct mc_key_item item = { .key = key, .key_len = key_len };
	int rc = mc_store_exist_batch(s, &item, 1, opts, err);

	*exists = item.exists;
	return rc;
}

int mc_store_remove_batch(struct mc_store *s, struct mc_key_item *items, size_t n, bool force,
			  const struct mc_opts *opts, struct mc_error *err)
{
	return keys_batch(s, items, n, force, opts, remove_keys, err);
}

int mc_store_remove(struct mc_store *s, const void *key, size_t key_len, bool force, const struct mc_opts *opts,
		    struct mc_error *err)
{
	struct mc_key_item item = { .key = key, .key_len = key_len };

	return mc_store_remove_batch(s, &item, 1, force, opts, err);
}

static void copy_uuid(uint8_t *out, const ProtobufCBinaryData *uuid)
{
	if (uuid->len == MC_UUID_LEN)
		memcpy(out, uuid->data, MC_UUID_LEN);
}

static void copy_replica(struct mc_replica *out, const Mooncake__V1__Replica *r)
{
	memset(out, 0, sizeof(*out));
	out->id = r->id;
	out->state = r->status;
	copy_uuid(out->node_uuid, &r->node_uuid);
	copy_uuid(out->seg_uuid, &r->segment_uuid);
	out->offset = r->offset;
	out->length = r->length;
	snprintf(out->segment_name, sizeof(out->segment_name), "%s", r->segment_name);
}

Mooncake__V1__GetReplicaListReply *mc_ask_replicas(struct mc_store *s, const void *key, size_t key_len, uint64_t until,
						   struct mc_error *err)
{
	Mooncake__V1__KeyRequest req = MOONCAKE__V1__KEY_REQUEST__INIT;

	req.tenant = s->tenant;
	req.key.data = (uint8_t *)key;
	req.key.len = key_len;
	req.client_uuid = s->reader;
	return mc_ask(s, "GetReplicaList", &req.base, &mooncake__v1__get_replica_list_reply__descriptor, until, err);
}

int mc_store_stat(struct mc_store *s, const void *key, size_t key_len, struct mc_object_stat *st,
		  const struct mc_opts *opts, struct mc_error *err)
{
	Mooncake__V1__GetReplicaListReply *reply;
	struct mc_error local;
	char text[MC_KEY_TEXT];
	int rc;

	err = err ? err : &local;
	memset(st, 0, sizeof(*st));
	rc = mc_key_check(key, key_len, err);
	if (rc)
		return rc;
	reply = mc_ask_replicas(s, key, key_len, mc_deadline(s, opts), err);
	if (!reply)
		return err->code;
	rc = mc_judge(reply->status, mc_key_text(key, key_len, text), err);
	if (!rc) {
		st->size = reply->size;
		st->lease_ttl_ms = reply->lease_ttl_ms;
		for (; st->n_replicas < reply->n_replicas && st->n_replicas < MC_STORE_MAX_REPLICAS; st->n_replicas++)
			copy_replica(&st->replicas[st->n_replicas], reply->replicas[st->n_replicas]);
	}
	mc_drop_reply(reply);
	return rc;
}

/* Where a walk over the objects is. */
struct walk {
	struct mc_store *s;
	const void *prefix;
	size_t prefix_len;
	uint64_t left;
	uint64_t until;
	uint8_t after[MC_STORE_MAX_KEY];
	size_t after_len;
	bool more;
	int (*fn)(void *arg, const struct mc_object_info *obj);
	void *arg;
};

static int visit(struct walk *w, const Mooncake__V1__ListReply *page)
{
	size_t i;
	int rc;

	for (i = 0; i < page->n_objects && w->left; i++, w->left--) {
		const Mooncake__V1__ObjectInfo *o = page->objects[i];
		struct mc_object_info info = {
			.key = o->key.data, .key_len = o->key.len, .size = o->size, .replicas = o->replicas,
			.complete = o->complete,
		};

		rc = w->fn(w->arg, &info);
		if (rc)
			return rc;
	}
	return 0;
}

/* A page that says more without getting further would never end. */
static int advance(struct walk *w, const Mooncake__V1__ListReply *page, struct mc_error *err)
{
	const ProtobufCBinaryData *last = page->n_objects ? &page->objects[page->n_objects - 1]->key : NULL;

	w->more = page->more && w->left;
	if (!w->more)
		return 0;
	if (!last || last->len > sizeof(w->after) ||
	    (last->len == w->after_len && !memcmp(last->data, w->after, last->len)))
		return mc_error_set(err, MC_ERPC_FAIL, EPROTO, "List: %s says that there is more but goes no further",
				    w->s->master->address(w->s->master_ctx));
	memcpy(w->after, last->data, last->len);
	w->after_len = last->len;
	return 0;
}

static int list_page(struct walk *w, struct mc_error *err)
{
	Mooncake__V1__ListRequest req = MOONCAKE__V1__LIST_REQUEST__INIT;
	Mooncake__V1__ListReply *page;
	int rc;

	req.tenant = w->s->tenant;
	req.prefix.data = (uint8_t *)w->prefix;
	req.prefix.len = w->prefix_len;
	req.limit = w->left < LIST_PAGE ? w->left : LIST_PAGE;
	req.after.data = w->after;
	req.after.len = w->after_len;
	page = mc_ask(w->s, "List", &req.base, &mooncake__v1__list_reply__descriptor, w->until, err);
	if (!page)
		return err->code;
	rc = mc_judge(page->status, "List", err);
	if (!rc)
		rc = visit(w, page);
	if (!rc)
		rc = advance(w, page, err);
	mc_drop_reply(page);
	return rc;
}

int mc_store_list(struct mc_store *s, const void *prefix, size_t prefix_len, uint64_t limit,
		  int (*fn)(void *arg, const struct mc_object_info *obj), void *arg, const struct mc_opts *opts,
		  struct mc_error *err)
{
	struct walk w = {
		.s = s, .prefix = prefix, .prefix_len = prefix ? prefix_len : 0, .left = limit ? limit : UINT64_MAX,
		.until = mc_deadline(s, opts), .fn = fn, .arg = arg, .more = true,
	};
	struct mc_error local;
	int rc = 0;

	while (w.more && !rc)
		rc = list_page(&w, err ? err : &local);
	return rc;
}
