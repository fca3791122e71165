// SPDX-License-Identifier: MIT
/* One request, as an inference instance does it: which blocks are known, get and verify those, put the others. */
#include <stdio.h>
#include <string.h>

#include "trace_lane.h"

static void note_error(struct tr_lane *l, struct tr_result *res, const char *what, const char *key, int code,
		       const char *why)
{
	res->errors++;
	if (!res->why[0])
		snprintf(res->why, sizeof(res->why), "node %s: %s of key %s: %s (%d): %s", l->job->host, what, key,
			 mc_strerror(code), code, why);
}

static void set_keys(struct tr_lane *l, const struct tr_request *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		snprintf(l->keys[i], sizeof(l->keys[i]), "kv-%llu", (unsigned long long)r->ids[i]);
}

/* How many blocks in front are there already. */
static uint32_t known_prefix(struct tr_lane *l, const struct tr_request *r, struct tr_result *res)
{
	struct mc_error err;
	uint32_t k = 0;
	uint64_t t0 = tr_now_ns();

	for (uint32_t i = 0; i < r->n; i++)
		l->exist[i] = (struct mc_key_item){ .key = l->keys[i], .key_len = strlen(l->keys[i]) };
	if (mc_store_exist_batch(l->store, l->exist, r->n, NULL, &err)) {
		note_error(l, res, "look-up", l->keys[0], err.code, err.text);
		return 0;
	}
	res->exist_ns = tr_now_ns() - t0;
	while (k < r->n && l->exist[k].exists)
		k++;
	return k;
}

static void set_items(struct tr_lane *l, uint32_t from, uint32_t to)
{
	uint64_t block = l->job->block_bytes;

	for (uint32_t i = from; i < to; i++) {
		l->pieces[i] = (struct mc_piece){ .buf = l->buf, .off = i * block, .len = block };
		memset(&l->items[i], 0, sizeof(l->items[i]));
		l->items[i].key = l->keys[i];
		l->items[i].key_len = strlen(l->keys[i]);
		l->items[i].pieces = &l->pieces[i];
		l->items[i].n_pieces = 1;
	}
}

static void verify(struct tr_lane *l, uint64_t id, uint32_t i, struct tr_result *res)
{
	const struct mc_result *got = &l->items[i].res;
	const uint8_t *p = l->mem + i * l->job->block_bytes;
	char node[MCT_UUID_TEXT], seg[MCT_UUID_TEXT];
	int64_t at = tr_block_check(id, p, l->job->block_bytes);

	if (at < 0)
		return;
	res->verify_errors++;
	if (!res->why[0])
		snprintf(res->why, sizeof(res->why), "wrong byte: key %s, node %s, offset %lld: expected 0x%02x, found "
			 "0x%02x (%s from node %s, segment %s, offset %llu)", l->keys[i], l->job->host,
			 (long long)at, tr_block_byte(id, (uint64_t)at), p[at],
			 got->local ? "local copy" : "RDMA", mct_uuid_text(got->node_uuid, node),
			 mct_uuid_text(got->seg_uuid, seg), (unsigned long long)got->offset);
}

static void take_get(struct tr_lane *l, const struct tr_request *r, uint32_t i, struct tr_result *res)
{
	const struct mc_result *got = &l->items[i].res;
	char why[96];

	if (got->code) {
		note_error(l, res, "get", l->keys[i], got->code, got->why);
		return;
	}
	if (got->bytes != l->job->block_bytes) {
		snprintf(why, sizeof(why), "%llu bytes came, a block has %llu", (unsigned long long)got->bytes,
			 (unsigned long long)l->job->block_bytes);
		note_error(l, res, "get", l->keys[i], MC_EINTERNAL, why);
		return;
	}
	if (got->local) {
		res->hits_local++;
		res->get_bytes_local += got->bytes;
	} else {
		res->hits_rdma++;
		res->get_bytes_rdma += got->bytes;
	}
	verify(l, r->ids[i], i, res);
}

/* Random bytes first: what a get leaves untouched can't pass for what it should have brought. */
static void get_known(struct tr_lane *l, const struct tr_request *r, uint32_t n, struct tr_result *res)
{
	struct mc_error err;
	uint64_t t0;

	if (!n)
		return;
	tr_noise_fill(&l->noise, l->mem, n * l->job->block_bytes);
	set_items(l, 0, n);
	t0 = tr_now_ns();
	mc_store_get_batch(l->store, l->items, n, NULL, &err);
	res->get_ns = tr_now_ns() - t0;
	for (uint32_t i = 0; i < n; i++)
		take_get(l, r, i, res);
}

static void fill_block(struct tr_lane *l, uint64_t id, uint32_t i)
{
	uint8_t *p = l->mem + i * l->job->block_bytes;

	tr_block_fill(id, p, l->job->block_bytes);
	if (l->job->has_flip && l->job->flip == id)
		p[l->job->flip_at % l->job->block_bytes] ^= 0x40;
}

static void take_put(struct tr_lane *l, uint32_t i, struct tr_result *res)
{
	const struct mc_result *put = &l->items[i].res;

	if (put->code == MC_EOBJECT_ALREADY_EXISTS)
		res->existed++;
	else if (put->code)
		note_error(l, res, "put", l->keys[i], put->code, put->why);
	else if (put->local)
		res->put_bytes_local += put->bytes;
	else
		res->put_bytes_rdma += put->bytes;
}

static void put_rest(struct tr_lane *l, const struct tr_request *r, uint32_t from, struct tr_result *res)
{
	struct mc_error err;
	uint64_t t0;

	if (from == r->n)
		return;
	for (uint32_t i = from; i < r->n; i++)
		fill_block(l, r->ids[i], i);
	set_items(l, from, r->n);
	t0 = tr_now_ns();
	mc_store_put_batch(l->store, l->items + from, r->n - from, NULL, &err);
	res->put_ns = tr_now_ns() - t0;
	res->misses = r->n - from;
	for (uint32_t i = from; i < r->n; i++)
		take_put(l, i, res);
}

void tr_lane_request(struct tr_lane *l, const struct tr_request *r, struct tr_result *res)
{
	uint32_t k;

	memset(res, 0, sizeof(*res));
	res->requests = 1;
	res->blocks = r->n;
	if (!r->n)
		return;
	set_keys(l, r);
	k = known_prefix(l, r, res);
	if (res->errors)
		return;
	get_known(l, r, k, res);
	put_rest(l, r, k, res);
}
