// SPDX-License-Identifier: MIT
/* Put: PutStart, one submission, then PutEnd for what arrived whole and PutRevoke for the rest. */
#include "store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

/* One item whose PutStart succeeded. */
struct put_op {
	struct mc_item *item;
	const Mooncake__V1__PutStartReply *start;
	struct mc_segref **segs;	/* one per replica */
	size_t grant;		/* first of its grants, one per replica */
	uint32_t first;
	uint32_t count;
	bool stored;		/* every byte of every replica has arrived */
	bool extending;		/* more time is being asked for */
	bool quiesced;
};

struct put_wave {
	struct mc_store *s;
	struct put_op *ops;
	size_t n;
	uint32_t replica_num;
	uint64_t deadline;
	struct mc_noseg no;
	Mooncake__V1__BatchPutStartReply *reply;
	struct mc_grant_use *grants;
	size_t n_grants;
	uint64_t asked_ns;	/* before the attempts began, or were last extended */
	struct mc_old_grants old_grants;
	struct mc_renewal renew;
	struct mc_batch *batch;
};

static void fail_all(struct put_wave *w, const struct mc_error *err)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		mc_item_fail_err(w->ops[i].item, err->code, "put", err);
	w->n = 0;
}

static ProtobufCBinaryData bytes(const void *data, size_t len)
{
	ProtobufCBinaryData b = { .len = len, .data = (uint8_t *)data };

	return b;
}

static int ask_start(struct put_wave *w, struct mc_error *err)
{
	Mooncake__V1__BatchPutStartRequest req = MOONCAKE__V1__BATCH_PUT_START_REQUEST__INIT;
	Mooncake__V1__ReplicateConfig config = MOONCAKE__V1__REPLICATE_CONFIG__INIT;
	size_t i;

	req.keys = calloc(w->n, sizeof(*req.keys));
	req.lengths = calloc(w->n, sizeof(*req.lengths));
	if (!req.keys || !req.lengths) {
		free(req.keys);
		free(req.lengths);
		return mc_error_set(err, MC_EINTERNAL, ENOMEM, "no memory to ask for %zu objects", w->n);
	}
	for (i = 0; i < w->n; i++) {
		req.keys[i] = bytes(w->ops[i].item->key, w->ops[i].item->key_len);
		req.lengths[i] = mc_item_len(w->ops[i].item);
	}
	config.replica_num = w->replica_num;
	config.preferred_segments = w->s->preferred;
	config.n_preferred_segments = w->s->n_preferred;
	req.client_uuid = bytes(w->s->client_uuid, MC_UUID_LEN);
	req.tenant = w->s->tenant;
	req.n_keys = req.n_lengths = w->n;
	req.config = &config;
	w->reply = mc_ask(w->s, "BatchPutStart", &req.base, &mooncake__v1__batch_put_start_reply__descriptor,
			  w->deadline, err);
	free(req.keys);
	free(req.lengths);
	if (!w->reply)
		return err->code;
	return mc_count_matches(w->s, "BatchPutStart", w->reply->n_results, w->n, err);
}

/* Keeps the operations that have an attempt to finish. */
static void start(struct put_wave *w)
{
	struct mc_error err;
	size_t i, kept = 0;
	char key[MC_KEY_TEXT];

	w->asked_ns = mc_now_ns();
	if (ask_start(w, &err)) {
		fail_all(w, &err);
		return;
	}
	for (i = 0; i < w->n; i++) {
		struct put_op *op = &w->ops[kept];

		op->item = w->ops[i].item;
		op->start = w->reply->results[i];
		if (mc_judge(op->start->status, mc_key_text(op->item->key, op->item->key_len, key), &err))
			mc_item_fail_err(op->item, err.code, "put", &err);
		else
			kept++;
	}
	w->n = kept;
}

static bool replicas_fit(const struct put_wave *w, struct put_op *op)
{
	uint64_t len = mc_item_len(op->item);
	char key[MC_KEY_TEXT];
	size_t i;

	for (i = 0; i < op->start->n_replicas; i++) {
		const Mooncake__V1__Replica *r = op->start->replicas[i];

		if (r->node_uuid.len != MC_UUID_LEN || r->segment_uuid.len != MC_UUID_LEN || r->length != len ||
		    r->type != MOONCAKE__V1__REPLICA_TYPE__REPLICA_MEMORY)
			break;
	}
	if (i && i == op->start->n_replicas && i <= MC_STORE_MAX_REPLICAS && i >= w->replica_num)
		return true;
	mc_item_fail(op->item, MC_EINTERNAL, EPROTO,
		     "put '%s': the master gave %zu replicas for %u of %" PRIu64 " bytes, of which %zu are right",
		     mc_key_text(op->item->key, op->item->key_len, key), op->start->n_replicas, w->replica_num, len, i);
	return false;
}

static bool open_replicas(struct put_wave *w, struct put_op *op)
{
	struct mc_error err;
	size_t i;

	op->segs = calloc(op->start->n_replicas, sizeof(*op->segs));
	if (!op->segs) {
		mc_item_fail(op->item, MC_EINTERNAL, ENOMEM, "put: no memory for %zu replicas", op->start->n_replicas);
		return false;
	}
	for (i = 0; i < op->start->n_replicas; i++) {
		if (!mc_segref_get_once(w->s, &w->no, op->start->replicas[i], w->deadline, &op->segs[i], &err))
			continue;
		mc_item_fail_err(op->item, MC_ETRANSFER_FAIL, "put", &err);
		mc_item_place(op->item, op->start->replicas[i]);
		return false;
	}
	return true;
}

/* Until something of it is handed to the kernel an attempt is quiesced. */
static void prepare(struct put_wave *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct put_op *op = &w->ops[i];

		op->quiesced = true;
		if (replicas_fit(w, op) && open_replicas(w, op))
			op->count = mc_item_xfers(op->item, mc_item_len(op->item)) * op->start->n_replicas;
	}
}

static void grant_refused(struct put_op *op, size_t r, int error)
{
	char key[MC_KEY_TEXT];

	mc_item_fail(op->item, MC_ETRANSFER_FAIL, -error, "put '%s': the kernel refuses the grant: %s%s",
		     mc_key_text(op->item->key, op->item->key_len, key), strerror(-error),
		     error == -ETIME ? ": it has ended, or mcnoded does not tell the master's time" :
		     error == -EACCES ? ": do master and node have the same key?" : "");
	mc_item_place(op->item, op->start->replicas[r]);
	op->count = 0;
}

/* All grants of the wave in as few calls as the kernel allows. */
static void load_grants(struct put_wave *w)
{
	size_t i, r, n = 0;

	for (i = 0; i < w->n; i++)
		n += w->ops[i].count ? w->ops[i].start->n_replicas : 0;
	w->grants = calloc(n + 1, sizeof(*w->grants));
	for (i = 0; i < w->n && w->grants; i++) {
		struct put_op *op = &w->ops[i];

		op->grant = w->n_grants;
		for (r = 0; op->count && r < op->start->n_replicas; r++) {
			w->grants[w->n_grants].bytes = op->start->replicas[r]->grant.data;
			w->grants[w->n_grants++].len = op->start->replicas[r]->grant.len;
		}
	}
	mc_grants_load_until(w->s->dev, w->grants, w->n_grants, w->deadline);
	for (i = 0; i < w->n; i++)
		for (r = 0; w->ops[i].count && r < w->ops[i].start->n_replicas; r++)
			if (!w->grants || w->grants[w->ops[i].grant + r].error)
				grant_refused(&w->ops[i], r,
					      w->grants ? w->grants[w->ops[i].grant + r].error : -ENOMEM);
}

static void fail_unstarted(struct put_wave *w, int sys, const char *why)
{
	char key[MC_KEY_TEXT];
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct put_op *op = &w->ops[i];

		if (op->item->res.code)
			continue;
		mc_item_fail(op->item, MC_ETRANSFER_FAIL, sys, "put '%s': %s: %s",
			     mc_key_text(op->item->key, op->item->key_len, key), why, strerror(sys));
		op->count = 0;
	}
}

static void fill_batch(struct put_wave *w)
{
	struct mc_error err = { 0 };
	uint32_t total = 0;
	size_t i, r;
	int rc = 0;

	for (i = 0; i < w->n; i++)
		total += w->ops[i].count;
	if (!total)
		return;
	if (mc_batch_new(w->s->dev, total, &w->batch, &err)) {
		fail_unstarted(w, err.sys_errno, "preparing the transfer");
		return;
	}
	for (i = 0; i < w->n; i++) {
		struct put_op *op = &w->ops[i];

		op->first = w->batch->n;
		for (r = 0; r < op->start->n_replicas && op->count && !rc; r++) {
			mc_batch_grant(w->batch, w->grants[op->grant + r].id);
			rc = mc_item_add(w->batch, op->item, mc_item_len(op->item), op->segs[r]->seg,
					 op->start->replicas[r]->offset, true);
		}
		op->count = w->batch->n - op->first;
		if (rc)
			mc_item_fail(op->item, MC_ETRANSFER_FAIL, -rc, "put: preparing the transfer: %s",
				     strerror(-rc));
		rc = 0;
	}
}

static void judge_put(struct put_wave *w, struct put_op *op)
{
	struct mc_result *res = &op->item->res;
	char key[MC_KEY_TEXT], node[MC_UUID_TEXT];
	struct mc_sum sum;
	uint64_t len = mc_item_len(op->item);
	size_t r;

	if (!op->count)
		return;
	mc_sum_up(w->batch, op->first, op->count, &sum);
	op->quiesced = sum.quiesced;
	res->busy = sum.busy;
	res->rail = sum.rail;
	if (!sum.result && !res->code) {
		op->stored = true;
		return;
	}
	if (res->code)
		return;
	r = sum.fail_at / len;
	mc_item_place(op->item, op->start->replicas[r]);
	mc_item_fail(op->item, MC_ETRANSFER_FAIL, -sum.result,
		     "put '%s': byte %" PRIu64 " of %" PRIu64 " did not reach node %s: %s",
		     mc_key_text(op->item->key, op->item->key_len, key), sum.fail_at % len, len,
		     mc_uuid_text(res->node_uuid, node), strerror(-sum.result));
	if (sum.result == -ESTALE || sum.result == -ENOENT)
		mc_segref_forget(w->s, op->segs[r]);
}

static Mooncake__V1__BatchPutStartReply *ask_extend(struct put_wave *w, size_t n, uint64_t until)
{
	Mooncake__V1__BatchPutExtendRequest req = MOONCAKE__V1__BATCH_PUT_EXTEND_REQUEST__INIT;
	Mooncake__V1__PutExtendRequest *items = calloc(n, sizeof(*items));
	Mooncake__V1__BatchPutStartReply *reply = NULL;
	size_t i;

	req.items = calloc(n, sizeof(*req.items));
	for (i = 0; i < w->n && items && req.items; i++) {
		const struct put_op *op = &w->ops[i];
		Mooncake__V1__PutExtendRequest *e = &items[req.n_items];

		if (!op->extending)
			continue;
		mooncake__v1__put_extend_request__init(e);
		e->client_uuid = bytes(w->s->client_uuid, MC_UUID_LEN);
		e->tenant = w->s->tenant;
		e->key = bytes(op->item->key, op->item->key_len);
		e->token = op->start->token;
		req.items[req.n_items++] = e;
	}
	if (req.n_items)
		reply = mc_ask(w->s, "BatchPutExtend", &req.base, &mooncake__v1__batch_put_start_reply__descriptor,
			       until, NULL);
	if (reply && reply->n_results != n) {
		mc_drop_reply(reply);
		reply = NULL;
	}
	free(req.items);
	free(items);
	return reply;
}

/* An attempt has its places from its start to its end: only the grants are new, for what still waits for its turn. */
static bool take_extension(struct put_wave *w, struct put_op *op, const Mooncake__V1__PutStartReply *more)
{
	uint32_t each = op->count / op->start->n_replicas;
	bool all = true;
	size_t r;

	if (!more->status || more->status->code || more->n_replicas != op->start->n_replicas)
		return false;
	for (r = 0; r < more->n_replicas; r++)
		all &= !mc_batch_unsent(w->batch, op->first + r * each, each) ||
		       mc_grant_replace(w->batch, op->first + r * each, each, &w->grants[op->grant + r],
					more->replicas[r]->grant.data, more->replicas[r]->grant.len, &w->old_grants);
	return all;
}

/*
 * Extends all attempts: also one whose bytes have arrived is ended with the others only. Whatever goes wrong here
 * leaves the older grants, which end when they end.
 */
static uint64_t extend(void *arg)
{
	struct put_wave *w = arg;
	Mooncake__V1__BatchPutStartReply *reply;
	uint64_t asked_ns = mc_now_ns();
	size_t i, k = 0, n = 0;
	bool all = true;

	for (i = 0; i < w->n; i++) {
		w->ops[i].extending = w->ops[i].count && !w->ops[i].item->res.code;
		n += w->ops[i].extending;
	}
	if (!n)
		return UINT64_MAX;
	reply = ask_extend(w, n, mc_renewal_limit(&w->renew, asked_ns, w->deadline));
	for (i = 0; i < w->n && reply; i++)
		if (w->ops[i].extending)
			all &= take_extension(w, &w->ops[i], reply->results[k++]);
	mc_drop_reply(reply);
	return asked_ns + w->renew.life_ns / (reply && all ? 2 : 8);
}

static uint64_t grant_life_ms(const struct put_wave *w)
{
	uint64_t life_ms = 0;
	size_t i;

	for (i = 0; i < w->n; i++)
		if (!life_ms || w->ops[i].start->grant_ttl_ms < life_ms)
			life_ms = w->ops[i].start->grant_ttl_ms;
	return life_ms;
}

static void transfer(struct put_wave *w)
{
	uint64_t left = mc_left_ns(w->deadline);
	size_t i;

	if (left)
		fill_batch(w);
	else
		fail_unstarted(w, ETIMEDOUT, "before the first byte was sent");
	if (!w->batch)
		return;
	mc_renewal_init(&w->renew, w->asked_ns, grant_life_ms(w), extend, w);
	mc_move(w->batch, left, w->deadline, &w->renew);
	for (i = 0; i < w->n; i++)
		judge_put(w, &w->ops[i]);
}

static void take_end_result(struct put_wave *w, struct put_op *op, const Mooncake__V1__Status *st)
{
	struct mc_result *res = &op->item->res;
	struct mc_error err;
	char key[MC_KEY_TEXT];

	if (mc_judge(st, mc_key_text(op->item->key, op->item->key_len, key), &err)) {
		mc_item_fail_err(op->item, err.code, "put", &err);
		return;
	}
	res->bytes = mc_item_len(op->item);
	mc_item_place(op->item, op->start->replicas[0]);
	res->local = mc_seg_local(op->segs[0]->seg);
	(void)w;
}

static size_t count_ops(const struct put_wave *w, bool stored)
{
	size_t i, n = 0;

	for (i = 0; i < w->n; i++)
		n += w->ops[i].stored == stored;
	return n;
}

static void end_unknown(struct put_wave *w, const struct mc_error *err)
{
	char key[MC_KEY_TEXT];
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->ops[i].stored)
			mc_item_fail(w->ops[i].item, err->code, err->sys_errno, "put '%s': outcome unknown: %s",
				     mc_key_text(w->ops[i].item->key, w->ops[i].item->key_len, key), err->text);
}

static void finish_stored(struct put_wave *w)
{
	Mooncake__V1__BatchPutEndRequest req = MOONCAKE__V1__BATCH_PUT_END_REQUEST__INIT;
	Mooncake__V1__BatchStatusReply *reply = NULL;
	size_t i, n = count_ops(w, true);
	Mooncake__V1__PutEndRequest *ends = calloc(n, sizeof(*ends));
	struct mc_error err;

	req.items = calloc(n, sizeof(*req.items));
	if (!ends || !req.items) {
		mc_error_set(&err, MC_EINTERNAL, ENOMEM, "no memory to finish %zu objects", n);
		end_unknown(w, &err);
		goto out;
	}
	for (i = 0; i < w->n; i++) {
		const struct put_op *op = &w->ops[i];
		Mooncake__V1__PutEndRequest *e = &ends[req.n_items];

		if (!op->stored)
			continue;
		mooncake__v1__put_end_request__init(e);
		e->client_uuid = bytes(w->s->client_uuid, MC_UUID_LEN);
		e->tenant = w->s->tenant;
		e->key = bytes(op->item->key, op->item->key_len);
		e->token = op->start->token;
		req.items[req.n_items++] = e;
	}
	reply = mc_ask(w->s, "BatchPutEnd", &req.base, &mooncake__v1__batch_status_reply__descriptor, w->deadline,
		       &err);
	if (!reply || mc_count_matches(w->s, "BatchPutEnd", reply->n_results, n, &err)) {
		end_unknown(w, &err);
		goto out;
	}
	for (i = 0, n = 0; i < w->n; i++)
		if (w->ops[i].stored)
			take_end_result(w, &w->ops[i], reply->results[n++]);
out:
	mc_drop_reply(reply);
	free(req.items);
	free(ends);
}

/*
 * Gives back what did not arrive. The item has failed already and says why; a master that does not hear of it frees the
 * space by itself when the attempt's time is over, so nothing more is done about a failure here.
 */
static void revoke_failed(struct put_wave *w)
{
	Mooncake__V1__BatchPutRevokeRequest req = MOONCAKE__V1__BATCH_PUT_REVOKE_REQUEST__INIT;
	size_t i, n = count_ops(w, false);
	Mooncake__V1__PutRevokeRequest *revokes = calloc(n, sizeof(*revokes));

	req.items = calloc(n, sizeof(*req.items));
	for (i = 0; i < w->n && revokes && req.items; i++) {
		const struct put_op *op = &w->ops[i];
		Mooncake__V1__PutRevokeRequest *e = &revokes[req.n_items];

		if (op->stored)
			continue;
		mooncake__v1__put_revoke_request__init(e);
		e->client_uuid = bytes(w->s->client_uuid, MC_UUID_LEN);
		e->tenant = w->s->tenant;
		e->key = bytes(op->item->key, op->item->key_len);
		e->token = op->start->token;
		e->quiesced = op->quiesced;
		req.items[req.n_items++] = e;
	}
	if (req.n_items)
		mc_drop_reply(mc_ask(w->s, "BatchPutRevoke", &req.base, &mooncake__v1__batch_status_reply__descriptor,
				     w->deadline + MC_GRACE_CALL_NS, NULL));
	free(req.items);
	free(revokes);
}

/* A put that has no time left to become readable is revoked rather than left in doubt. */
static void finish(struct put_wave *w)
{
	size_t i;

	mc_fault_hold("MC_FAULT_HOLD_END_MS");
	if (mc_left_ns(w->deadline) < 1000000) {
		fail_unstarted(w, ETIMEDOUT, "before the master could be told");
		for (i = 0; i < w->n; i++)
			w->ops[i].stored = false;
	}
	if (count_ops(w, true))
		finish_stored(w);
	if (count_ops(w, false))
		revoke_failed(w);
}

static void release(struct put_wave *w)
{
	size_t i, r;

	mc_batch_free(w->batch);
	mc_old_grants_drop(w->s->dev, &w->old_grants);
	mc_grants_unload(w->s->dev, w->grants, w->n_grants);
	free(w->grants);
	for (i = 0; i < w->n; i++) {
		for (r = 0; w->ops[i].segs && r < w->ops[i].start->n_replicas; r++)
			mc_segref_put(w->s, w->ops[i].segs[r]);
		free(w->ops[i].segs);
	}
	mc_drop_reply(w->reply);
	free(w->ops);
}

static void put_wave(struct mc_store *s, struct mc_item *items, size_t n, uint32_t replica_num, uint64_t deadline)
{
	struct put_wave w = { .s = s, .replica_num = replica_num, .deadline = deadline };
	size_t i;

	w.ops = calloc(n, sizeof(*w.ops));
	for (i = 0; i < n; i++) {
		if (items[i].res.code)
			continue;
		if (w.ops)
			w.ops[w.n++].item = &items[i];
		else
			mc_item_fail(&items[i], MC_EINTERNAL, ENOMEM, "put: no memory for %zu objects", n);
	}
	if (w.n)
		start(&w);
	if (w.n) {
		prepare(&w);
		load_grants(&w);
		transfer(&w);
		finish(&w);
	}
	release(&w);
}

int mc_store_put_batch(struct mc_store *s, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err)
{
	uint32_t replica_num = opts && opts->replica_num ? opts->replica_num : s->replica_num;
	uint64_t deadline = mc_deadline(s, opts);
	size_t i, len;

	if (mc_check_call(s, "put", items, n)) {
		for (i = 0; i < n; i += len) {
			len = mc_wave(items + i, n - i, replica_num);
			put_wave(s, items + i, len, replica_num, deadline);
		}
	}
	return mc_items_verdict(items, n, err);
}

int mc_store_put(struct mc_store *s, const void *key, size_t key_len, struct mc_buf *buf, uint64_t off, uint64_t len,
		 const struct mc_opts *opts, struct mc_result *res, struct mc_error *err)
{
	struct mc_piece piece = { .buf = buf, .off = off, .len = len };

	return mc_item_single(s, mc_store_put_batch, key, key_len, &piece, opts, res, err);
}
