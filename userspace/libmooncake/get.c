// SPDX-License-Identifier: MIT
/* Get: GetReplicaList, one submission, and another replica or another look when that fails and time allows. */
#include "store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

enum get_state {
	GET_ASK,	/* where is it? */
	GET_FETCH,	/* known, to be fetched */
	GET_MOVING,	/* in the current batch */
	GET_DONE,	/* the item's result is final */
};

struct get_op {
	struct mc_item *item;
	enum get_state state;
	Mooncake__V1__GetReplicaListReply *reply;
	uint64_t answer_end;	/* of the grants in @reply */
	uint64_t lease_end;	/* of the grant in use, which may be a newer one */
	uint64_t tried;		/* bit per replica */
	unsigned int chosen;
	struct mc_segref *seg;
	size_t grant;
	uint32_t first;
	bool renewing;		/* a newer lease is being asked for */
	bool stale;		/* a segment was gone, or the answer is too old: the master is to be asked again */
};

struct get_wave {
	struct mc_store *s;
	struct get_op *ops;
	size_t n;
	uint64_t deadline;
	uint8_t node_uuid[MC_UUID_LEN];
	struct mc_noseg no;
	Mooncake__V1__BatchGetReplicaListReply *replies[2];	/* first and second look */
	struct mc_grant_use *grants;				/* of the attempt */
	size_t n_grants;
	struct mc_old_grants old_grants;
	struct mc_renewal renew;
	struct mc_batch *batch;
};

static const char *key_of(const struct get_op *op, char out[MC_KEY_TEXT])
{
	return mc_key_text(op->item->key, op->item->key_len, out);
}

static void fail_err(struct get_op *op, int code, const struct mc_error *err)
{
	mc_item_fail_err(op->item, code, "get", err);
	op->state = GET_DONE;
}

static size_t count_state(const struct get_wave *w, enum get_state state)
{
	size_t i, n = 0;

	for (i = 0; i < w->n; i++)
		n += w->ops[i].state == state;
	return n;
}

/* Asks for the @n items that are marked with @which. */
static Mooncake__V1__BatchGetReplicaListReply *ask_where(struct get_wave *w, bool (*which)(const struct get_op *op),
							 size_t n, uint64_t until, struct mc_error *err)
{
	Mooncake__V1__BatchKeyRequest req = MOONCAKE__V1__BATCH_KEY_REQUEST__INIT;
	Mooncake__V1__BatchGetReplicaListReply *reply;
	size_t i;

	req.keys = calloc(n, sizeof(*req.keys));
	if (!req.keys) {
		mc_error_set(err, MC_EINTERNAL, ENOMEM, "no memory to ask for %zu objects", n);
		return NULL;
	}
	for (i = 0; i < w->n; i++) {
		if (!which(&w->ops[i]))
			continue;
		req.keys[req.n_keys].data = (uint8_t *)w->ops[i].item->key;
		req.keys[req.n_keys++].len = w->ops[i].item->key_len;
	}
	req.tenant = w->s->tenant;
	req.client_uuid = w->s->reader;
	reply = mc_ask(w->s, "BatchGetReplicaList", &req.base, &mooncake__v1__batch_get_replica_list_reply__descriptor,
		       until, err);
	free(req.keys);
	if (reply && mc_count_matches(w->s, "BatchGetReplicaList", reply->n_results, n, err)) {
		mc_drop_reply(reply);
		return NULL;
	}
	return reply;
}

/* The master counts the lease from later than @asked_ns, never from earlier. */
uint64_t mc_lease_end(const Mooncake__V1__GetReplicaListReply *reply, uint64_t asked_ns)
{
	return reply->lease_ttl_ms > UINT64_MAX / 4000000 ? UINT64_MAX : asked_ns + reply->lease_ttl_ms * 1000000;
}

static void take_reply(struct get_op *op, Mooncake__V1__GetReplicaListReply *reply, uint64_t asked_ns)
{
	uint64_t room = mc_item_len(op->item);
	struct mc_error err;
	char key[MC_KEY_TEXT];

	op->reply = reply;
	op->tried = 0;
	if (mc_judge(reply->status, key_of(op, key), &err)) {
		fail_err(op, err.code, &err);
		return;
	}
	if (reply->size > room || !reply->size) {
		mc_error_set(&err, reply->size ? MC_EINVALID_PARAMS : MC_EINTERNAL, 0,
			     "the object has %" PRIu64 " bytes, the destination %" PRIu64, reply->size, room);
		fail_err(op, err.code, &err);
		return;
	}
	op->answer_end = mc_lease_end(reply, asked_ns);
	op->lease_end = op->answer_end;
	op->state = GET_FETCH;
}

static bool not_asked(const struct get_op *op)
{
	return op->state == GET_ASK;
}

static void look_up(struct get_wave *w, int look)
{
	size_t i, k = 0, n = count_state(w, GET_ASK);
	uint64_t asked_ns = mc_now_ns();
	struct mc_error err;

	if (!n)
		return;
	w->replies[look] = ask_where(w, not_asked, n, w->deadline, &err);
	for (i = 0; i < w->n; i++) {
		if (w->ops[i].state != GET_ASK)
			continue;
		if (w->replies[look])
			take_reply(&w->ops[i], w->replies[look]->results[k++], asked_ns);
		else
			fail_err(&w->ops[i], err.code, &err);
	}
}

static bool usable(const struct get_op *op, unsigned int i)
{
	const Mooncake__V1__Replica *r = op->reply->replicas[i];

	return !(op->tried & 1ull << i) && r->status == MOONCAKE__V1__REPLICA_STATUS__REPLICA_COMPLETE &&
	       r->type == MOONCAKE__V1__REPLICA_TYPE__REPLICA_MEMORY && r->node_uuid.len == MC_UUID_LEN &&
	       r->segment_uuid.len == MC_UUID_LEN && r->length == op->reply->size;
}

static unsigned int count_usable(const struct get_op *op)
{
	unsigned int i, n = 0;

	for (i = 0; i < op->reply->n_replicas && i < 64; i++)
		n += usable(op, i);
	return n;
}

/* This node's replica, else the first on a node that is well, else the first. Returns -1 when none is left. */
static int best(const struct get_wave *w, const struct get_op *op)
{
	uint64_t now = mc_now_ns();
	unsigned int i;
	int found = -1, sick = -1;

	for (i = 0; i < op->reply->n_replicas && i < 64; i++) {
		const uint8_t *node = op->reply->replicas[i]->node_uuid.data;

		if (!usable(op, i))
			continue;
		if (mc_health_sick(&w->s->health, node, now)) {
			sick = sick < 0 ? (int)i : sick;
			continue;
		}
		if (!memcmp(node, w->node_uuid, MC_UUID_LEN))
			return i;
		if (found < 0)
			found = i;
	}
	return found < 0 ? sick : found;
}

static bool is_trial(const struct get_wave *w, const struct get_op *op)
{
	return mc_health_doubtful(&w->s->health, op->reply->replicas[op->chosen]->node_uuid.data);
}

/* When others could be asked, an attempt does not wait for the call's deadline. */
static uint64_t attempt_limit(const struct get_wave *w, const struct get_op *op, uint64_t left_ns)
{
	uint64_t limit = (is_trial(w, op) ? MC_TRIAL_NS : MC_TRY_NS) + op->reply->size * MC_TRY_NS_BYTE;

	return count_usable(op) && limit < left_ns ? limit : left_ns;
}

static void note_health(struct get_wave *w, const struct get_op *op, int sys_errno)
{
	mc_health_note(&w->s->health, op->reply->replicas[op->chosen]->node_uuid.data, sys_errno, mc_now_ns());
}

static void lease_over(struct get_op *op)
{
	char key[MC_KEY_TEXT];

	mc_item_fail(op->item, MC_ELEASE_EXPIRED, 0,
		     "get '%s': the lease of %" PRIu64 " ms ended before the last byte came", key_of(op, key),
		     op->reply->lease_ttl_ms);
	op->state = GET_DONE;
}

/* No replica is left. If one failed, the item tells how already. */
static void none_left(struct get_op *op)
{
	char key[MC_KEY_TEXT];

	if (!op->item->res.code)
		mc_item_fail(op->item, MC_EINVALID_REPLICA, 0, "get '%s': none of %zu replicas is complete",
			     key_of(op, key), op->reply->n_replicas);
	op->state = GET_DONE;
}

static void replica_failed(struct get_wave *w, struct get_op *op, const struct mc_error *err)
{
	fail_err(op, MC_ETRANSFER_FAIL, err);
	mc_item_place(op->item, op->reply->replicas[op->chosen]);
	note_health(w, op, err->sys_errno);
	op->item->res.retries++;
	op->stale |= err->sys_errno == ESTALE || err->sys_errno == ENOENT;
	if (op->seg && op->stale)
		mc_segref_forget(w->s, op->seg);
	op->state = GET_FETCH;
}

/* Chooses a replica whose segment can be opened. */
static void choose(struct get_wave *w, struct get_op *op)
{
	struct mc_error err;
	uint64_t until;
	int i;

	for (;;) {
		if (mc_now_ns() >= op->lease_end) {
			lease_over(op);
			return;
		}
		/* The lease was renewed for the replica that failed; what the others were granted is over. */
		if (mc_now_ns() >= op->answer_end) {
			op->stale = true;
			op->state = GET_DONE;
			return;
		}
		i = best(w, op);
		if (i < 0) {
			none_left(op);
			return;
		}
		op->chosen = i;
		op->tried |= 1ull << i;
		until = mc_now_ns() + attempt_limit(w, op, mc_left_ns(w->deadline));
		if (!mc_segref_get_once(w->s, &w->no, op->reply->replicas[i], until, &op->seg, &err))
			break;
		replica_failed(w, op, &err);
	}
	op->lease_end = op->answer_end;
	op->state = GET_MOVING;
}

/*
 * The time of one attempt: what is left, or less as long as every item has another replica. A node that failed when it
 * was asked last costs a moment when it is tried again, not a second: the items of one attempt have one deadline, so
 * that holds when all of them are trials.
 */
static uint64_t attempt_ns(const struct get_wave *w)
{
	uint64_t left = mc_left_ns(w->deadline), most = 0, bytes = 0, limit;
	bool others = true, trials = true;
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct get_op *op = &w->ops[i];
		uint64_t n;

		if (op->state != GET_MOVING)
			continue;
		n = count_usable(op);
		others &= n > 0;
		trials &= is_trial(w, op);
		bytes += op->reply->size;
		most = n > most ? n : most;
	}
	limit = (trials ? MC_TRIAL_NS : MC_TRY_NS) + bytes * MC_TRY_NS_BYTE;
	if (others && limit < left)
		return limit;
	return left / (most + 1);
}

static void grant_refused(struct get_wave *w, struct get_op *op, int error)
{
	char key[MC_KEY_TEXT];
	struct mc_error err;

	if (error == -ETIME && mc_now_ns() >= op->lease_end) {
		lease_over(op);
	} else if (error == -ETIME) {
		mc_item_fail(op->item, MC_EUNAVAILABLE_IN_CURRENT_STATUS, ETIME,
			     "get '%s': this node does not know the master's time: does mcnoded run?", key_of(op, key));
		op->state = GET_DONE;
	} else {
		mc_error_set(&err, error, -error, "the kernel refuses the grant: %s%s", strerror(-error),
			     error == -EACCES ? ": do master and node have the same key?" : "");
		replica_failed(w, op, &err);
	}
}

/* All grants of the attempt in as few calls as the kernel allows. */
static void load_grants(struct get_wave *w)
{
	uint64_t until = w->deadline;
	size_t i;

	w->grants = calloc(w->n, sizeof(*w->grants));
	for (i = 0; i < w->n && w->grants; i++) {
		struct get_op *op = &w->ops[i];

		if (op->state != GET_MOVING)
			continue;
		if (op->lease_end < until)
			until = op->lease_end;
		op->grant = w->n_grants;
		w->grants[w->n_grants].bytes = op->reply->replicas[op->chosen]->grant.data;
		w->grants[w->n_grants++].len = op->reply->replicas[op->chosen]->grant.len;
	}
	mc_grants_load_until(w->s->dev, w->grants, w->n_grants, until);
	for (i = 0; i < w->n; i++) {
		struct get_op *op = &w->ops[i];

		if (op->state == GET_MOVING && (!w->grants || w->grants[op->grant].error))
			grant_refused(w, op, w->grants ? w->grants[op->grant].error : -ENOMEM);
	}
}

static void drop_grants(struct get_wave *w)
{
	mc_old_grants_drop(w->s->dev, &w->old_grants);
	mc_grants_unload(w->s->dev, w->grants, w->n_grants);
	free(w->grants);
	w->grants = NULL;
	w->n_grants = 0;
}

static void fill_batch(struct get_wave *w)
{
	struct mc_error err = { 0 };
	uint32_t total = 0;
	size_t i;
	int rc;

	for (i = 0; i < w->n; i++)
		if (w->ops[i].state == GET_MOVING)
			total += mc_item_xfers(w->ops[i].item, w->ops[i].reply->size);
	rc = total ? mc_batch_new(w->s->dev, total, &w->batch, &err) : 0;
	for (i = 0; i < w->n; i++) {
		struct get_op *op = &w->ops[i];

		if (op->state != GET_MOVING)
			continue;
		op->first = w->batch ? w->batch->n : 0;
		if (!rc)
			mc_batch_grant(w->batch, w->grants[op->grant].id);
		if (!rc)
			rc = mc_item_add(w->batch, op->item, op->reply->size, op->seg->seg,
					 op->reply->replicas[op->chosen]->offset, false);
		if (!rc)
			continue;
		mc_error_set(&err, rc, -rc, "preparing the transfer: %s", strerror(-rc));
		fail_err(op, MC_ETRANSFER_FAIL, &err);
		rc = w->batch ? 0 : rc;
	}
}

static uint32_t xfers_of(const struct get_op *op)
{
	return mc_item_xfers(op->item, op->reply->size);
}

/* Something of it still waits to be handed to the kernel. */
static bool waits(const struct get_wave *w, const struct get_op *op)
{
	return op->state == GET_MOVING && mc_batch_unsent(w->batch, op->first, xfers_of(op));
}

static bool is_renewing(const struct get_op *op)
{
	return op->renewing;
}

/* The replica that is being read, in a later answer: the range has held this object all the time between the two. */
static const Mooncake__V1__Replica *still_there(const struct get_op *op, const Mooncake__V1__GetReplicaListReply *reply)
{
	const Mooncake__V1__Replica *old = op->reply->replicas[op->chosen];
	size_t i;

	if (!reply->status || reply->status->code || reply->clock_epoch != op->reply->clock_epoch)
		return NULL;
	for (i = 0; i < reply->n_replicas; i++) {
		const Mooncake__V1__Replica *r = reply->replicas[i];

		if (r->id == old->id && r->status == old->status && r->offset == old->offset &&
		    r->length == old->length && r->segment_uuid.len == MC_UUID_LEN &&
		    !memcmp(r->segment_uuid.data, old->segment_uuid.data, MC_UUID_LEN))
			return r;
	}
	return NULL;
}

/* When to ask again: half of a lease before the first one ends, but not all the time for one that can't be had. */
static uint64_t next_renewal(const struct get_wave *w)
{
	uint64_t at = UINT64_MAX, soon = mc_now_ns() + w->renew.life_ns / 8;
	size_t i;

	for (i = 0; i < w->n; i++)
		if (waits(w, &w->ops[i]) && w->ops[i].lease_end - w->renew.life_ns / 2 < at)
			at = w->ops[i].lease_end - w->renew.life_ns / 2;
	return at > soon ? at : soon;
}

/*
 * The lease of what still waits is renewed, and what is handed over from now on is read under a newer grant. Whatever
 * goes wrong here leaves the older one, which ends when it ends.
 */
static uint64_t renew_leases(void *arg)
{
	struct get_wave *w = arg;
	Mooncake__V1__BatchGetReplicaListReply *reply;
	uint64_t asked_ns = mc_now_ns();
	size_t i, k = 0, n = 0;

	for (i = 0; i < w->n; i++) {
		w->ops[i].renewing = waits(w, &w->ops[i]);
		n += w->ops[i].renewing;
	}
	if (!n)
		return UINT64_MAX;
	reply = ask_where(w, is_renewing, n, mc_renewal_limit(&w->renew, asked_ns, w->deadline), NULL);
	for (i = 0; i < w->n && reply; i++) {
		struct get_op *op = &w->ops[i];
		const Mooncake__V1__Replica *r;

		if (!op->renewing)
			continue;
		r = still_there(op, reply->results[k]);
		if (r && mc_grant_replace(w->batch, op->first, xfers_of(op), &w->grants[op->grant], r->grant.data,
					  r->grant.len, &w->old_grants))
			op->lease_end = mc_lease_end(reply->results[k], asked_ns);
		k++;
	}
	mc_drop_reply(reply);
	return next_renewal(w);
}

static void plan_renewal(struct get_wave *w)
{
	uint64_t life_ms = 0, end = UINT64_MAX;
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct get_op *op = &w->ops[i];

		if (op->state != GET_MOVING)
			continue;
		end = op->lease_end < end ? op->lease_end : end;
		if (!life_ms || op->reply->lease_ttl_ms < life_ms)
			life_ms = op->reply->lease_ttl_ms;
	}
	mc_renewal_init(&w->renew, end - life_ms * 1000000, life_ms, renew_leases, w);
}

static void moved(struct get_wave *w, struct get_op *op, const struct mc_sum *sum)
{
	struct mc_result *res = &op->item->res;
	uint8_t retries = res->retries;

	if (sum->done_ns >= op->lease_end) {
		lease_over(op);
		return;
	}
	memset(res, 0, sizeof(*res));
	res->retries = retries;
	res->bytes = op->reply->size;
	res->rail = sum->rail;
	res->local = mc_seg_local(op->seg->seg);
	mc_item_place(op->item, op->reply->replicas[op->chosen]);
	note_health(w, op, 0);
	op->state = GET_DONE;
}

static void judge_get(struct get_wave *w, struct get_op *op)
{
	uint32_t count = xfers_of(op);
	char node[MC_UUID_TEXT];
	struct mc_error err;
	struct mc_sum sum;

	if (op->state == GET_MOVING) {
		mc_sum_up(w->batch, op->first, count, &sum);
		if (!sum.result) {
			moved(w, op, &sum);
		} else if (sum.result == -ETIME) {
			lease_over(op);
			op->item->res.busy = sum.busy;
		} else {
			mc_error_set(&err, sum.result, -sum.result,
				     "byte %" PRIu64 " of %" PRIu64 " did not come from node %s: %s", sum.fail_at,
				     op->reply->size,
				     mc_uuid_text(op->reply->replicas[op->chosen]->node_uuid.data, node),
				     strerror(-sum.result));
			replica_failed(w, op, &err);
			op->item->res.busy = sum.busy;
			/* Another attempt would use memory that the first may still write, or time that is over. */
			if (sum.busy || !mc_left_ns(w->deadline))
				op->state = GET_DONE;
		}
	}
	mc_segref_put(w->s, op->seg);
	op->seg = NULL;
}

/* One attempt for every item that is to be fetched. Returns whether any is left. */
static bool attempt(struct get_wave *w)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->ops[i].state == GET_FETCH)
			choose(w, &w->ops[i]);
	load_grants(w);
	fill_batch(w);
	mc_fault_hold("MC_FAULT_HOLD_GET_MS");
	plan_renewal(w);
	mc_move(w->batch, attempt_ns(w), w->deadline, &w->renew);
	for (i = 0; i < w->n; i++)
		if (w->ops[i].reply && w->ops[i].seg)
			judge_get(w, &w->ops[i]);
	mc_batch_free(w->batch);
	w->batch = NULL;
	drop_grants(w);
	return count_state(w, GET_FETCH) > 0;
}

/* Objects whose segment was gone may have a newer place, and old answers allow nothing any more: one more look. */
static void second_look(struct get_wave *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct get_op *op = &w->ops[i];

		if (!op->stale || !op->item->res.code || op->item->res.busy || !mc_left_ns(w->deadline))
			continue;
		op->state = GET_ASK;
		op->item->res.code = 0;
	}
	w->no.n = 0;
	look_up(w, 1);
}

static void get_wave(struct mc_store *s, struct mc_item *items, size_t n, uint64_t deadline)
{
	struct get_wave w = { .s = s, .deadline = deadline };
	struct mc_info info;
	size_t i;

	w.ops = calloc(n, sizeof(*w.ops));
	for (i = 0; i < n; i++) {
		if (items[i].res.code)
			continue;
		if (w.ops)
			w.ops[w.n++].item = &items[i];
		else
			mc_item_fail(&items[i], MC_EINTERNAL, ENOMEM, "get: no memory for %zu objects", n);
	}
	/* Without a known identity no replica is preferred. */
	if (!mc_dev_info(s->dev, &info, NULL))
		memcpy(w.node_uuid, info.node_uuid, MC_UUID_LEN);
	look_up(&w, 0);
	while (attempt(&w))
		;
	second_look(&w);
	while (attempt(&w))
		;
	mc_drop_reply(w.replies[0]);
	mc_drop_reply(w.replies[1]);
	free(w.ops);
}

int mc_store_get_batch(struct mc_store *s, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err)
{
	uint64_t deadline = mc_deadline(s, opts);
	size_t i, len;

	if (mc_check_call(s, "get", items, n)) {
		for (i = 0; i < n; i += len) {
			len = mc_wave(items + i, n - i, 1);
			get_wave(s, items + i, len, deadline);
		}
	}
	return mc_items_verdict(items, n, err);
}

int mc_store_get(struct mc_store *s, const void *key, size_t key_len, struct mc_buf *buf, uint64_t off, uint64_t len,
		 const struct mc_opts *opts, struct mc_result *res, struct mc_error *err)
{
	struct mc_piece piece = { .buf = buf, .off = off, .len = len };

	return mc_item_single(s, mc_store_get_batch, key, key_len, &piece, opts, res, err);
}
