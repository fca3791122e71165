// SPDX-License-Identifier: MIT
/* Items of a batch: checking them, cutting them into transfers, and judging how those ended. */
#include "store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t mc_item_len(const struct mc_item *item)
{
	uint64_t len = 0;
	uint32_t i;

	for (i = 0; i < item->n_pieces; i++)
		len += item->pieces[i].len;
	return len;
}

void mc_item_fail(struct mc_item *item, int code, int sys_errno, const char *fmt, ...)
{
	struct mc_result *r = &item->res;
	va_list ap;
	char *p;

	r->code = code;
	r->sys_errno = sys_errno;
	r->bytes = 0;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	for (p = r->why; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

void mc_item_fail_err(struct mc_item *item, int code, const char *what, const struct mc_error *err)
{
	char key[MC_KEY_TEXT];

	mc_item_fail(item, code, err->sys_errno, "%s '%s': %s", what, mc_key_text(item->key, item->key_len, key),
		     err->text);
}

static bool check_piece(const struct mc_store *s, const char *what, struct mc_item *item, uint32_t i)
{
	const struct mc_piece *p = &item->pieces[i];
	char key[MC_KEY_TEXT];

	if (!p->buf || p->buf->dev != s->dev) {
		mc_item_fail(item, MC_EINVALID_PARAMS, 0, "%s '%s': piece %u is in no buffer of this store", what,
			     mc_key_text(item->key, item->key_len, key), i);
		return false;
	}
	if (p->off > p->buf->len || p->len > p->buf->len - p->off) {
		mc_item_fail(item, MC_EINVALID_PARAMS, 0,
			     "%s '%s': piece %u (offset %" PRIu64 ", %" PRIu64
			     " bytes) is outside its buffer of %" PRIu64,
			     what, mc_key_text(item->key, item->key_len, key), i, p->off, p->len, p->buf->len);
		return false;
	}
	if (mc_buf_busy(p->buf)) {
		mc_item_fail(item, MC_EUNAVAILABLE_IN_CURRENT_STATUS, EBUSY,
			     "%s '%s': the device may still touch the buffer of piece %u", what,
			     mc_key_text(item->key, item->key_len, key), i);
		return false;
	}
	return true;
}

void mc_item_check(const struct mc_store *s, const char *what, struct mc_item *item)
{
	char key[MC_KEY_TEXT];
	uint64_t len = 0;
	uint32_t i;

	memset(&item->res, 0, sizeof(item->res));
	if (!item->key || !item->key_len || item->key_len > MC_STORE_MAX_KEY) {
		mc_item_fail(item, MC_EINVALID_KEY, 0, "%s: key of %zu bytes, not 1 to %u", what, item->key_len,
			     MC_STORE_MAX_KEY);
		return;
	}
	mc_key_text(item->key, item->key_len, key);
	if (item->n_pieces > MC_STORE_MAX_PIECES) {
		mc_item_fail(item, MC_EINVALID_PARAMS, 0, "%s '%s': %u pieces are above %u", what, key, item->n_pieces,
			     MC_STORE_MAX_PIECES);
		return;
	}
	for (i = 0; i < item->n_pieces; i++) {
		if (!check_piece(s, what, item, i))
			return;
		len += item->pieces[i].len;	/* 4096 pieces of at most 2^40 */
	}
	if (!len || len > MC_STORE_MAX_VALUE)
		mc_item_fail(item, MC_EINVALID_PARAMS, 0, "%s '%s': %" PRIu64 " bytes, not 1 to %llu", what, key, len,
			     MC_STORE_MAX_VALUE);
}

bool mc_check_call(const struct mc_store *s, const char *what, struct mc_item *items, size_t n)
{
	bool ok = s->dev && n <= MC_STORE_MAX_BATCH;
	size_t i;

	for (i = 0; i < n; i++) {
		memset(&items[i].res, 0, sizeof(items[i].res));
		if (!s->dev)
			mc_item_fail(&items[i], MC_EUNAVAILABLE_IN_CURRENT_MODE, 0,
				     "%s: the store was opened without a device", what);
		else if (!ok)
			mc_item_fail(&items[i], MC_EINVALID_PARAMS, 0, "%s: batch of %zu items is above %u", what, n,
				     MC_STORE_MAX_BATCH);
		else
			mc_item_check(s, what, &items[i]);
	}
	return ok;
}

void mc_item_place(struct mc_item *item, const Mooncake__V1__Replica *r)
{
	memcpy(item->res.node_uuid, r->node_uuid.data, MC_UUID_LEN);
	memcpy(item->res.seg_uuid, r->segment_uuid.data, MC_UUID_LEN);
	item->res.offset = r->offset;
	item->res.located = true;
}

uint32_t mc_item_xfers(const struct mc_item *item, uint64_t len)
{
	uint32_t i, n = 0;

	for (i = 0; i < item->n_pieces && len; i++) {
		uint64_t part = item->pieces[i].len < len ? item->pieces[i].len : len;

		n += (part + MC_XFER_BYTES - 1) / MC_XFER_BYTES;
		len -= part;
	}
	return n;
}

/* One piece, cut so that one transfer is done soon: its grant can't be renewed while it is under way. */
static int add_piece(struct mc_batch *b, const struct mc_piece *p, uint64_t len, struct mc_seg *seg, uint64_t seg_off,
		     bool write)
{
	uint64_t done, part;
	int rc;

	for (done = 0; done < len; done += part) {
		part = len - done < MC_XFER_BYTES ? len - done : MC_XFER_BYTES;
		if (write)
			rc = mc_batch_write(b, p->buf, p->off + done, seg, seg_off + done, part);
		else
			rc = mc_batch_read(b, p->buf, p->off + done, seg, seg_off + done, part);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int mc_item_add(struct mc_batch *b, const struct mc_item *item, uint64_t len, struct mc_seg *seg, uint64_t seg_off,
		bool write)
{
	uint32_t i;
	int rc;

	for (i = 0; i < item->n_pieces && len; i++) {
		uint64_t part = item->pieces[i].len < len ? item->pieces[i].len : len;

		rc = add_piece(b, &item->pieces[i], part, seg, seg_off, write);
		if (rc)
			return rc;
		seg_off += part;
		len -= part;
	}
	return 0;
}

size_t mc_wave(const struct mc_item *items, size_t n, uint32_t copies)
{
	uint64_t bytes = 0, xfers = 0;
	size_t i;

	for (i = 0; i < n && i < MC_WAVE_ITEMS; i++) {
		uint64_t len = items[i].res.code ? 0 : mc_item_len(&items[i]);

		bytes += len * copies;
		xfers += len ? (uint64_t)mc_item_xfers(&items[i], len) * copies : 0;
		if (i && (bytes > MC_WAVE_BYTES || xfers > MC_WAVE_XFERS))
			break;
	}
	return i;
}

int mc_item_single(struct mc_store *s,
		   int (*batch)(struct mc_store *s, struct mc_item *items, size_t n, const struct mc_opts *opts,
				struct mc_error *err),
		   const void *key, size_t key_len, const struct mc_piece *piece, const struct mc_opts *opts,
		   struct mc_result *res, struct mc_error *err)
{
	struct mc_item item = { .key = key, .key_len = key_len, .pieces = piece, .n_pieces = 1 };
	int rc = batch(s, &item, 1, opts, err);

	if (res)
		*res = item.res;
	return rc;
}

int mc_items_verdict(const struct mc_item *items, size_t n, struct mc_error *err)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (items[i].res.code)
			return mc_error_set(err, items[i].res.code, items[i].res.sys_errno, "%s", items[i].res.why);
	return 0;
}

void mc_sum_up(const struct mc_batch *b, uint32_t first, uint32_t count, struct mc_sum *sum)
{
	uint64_t before = 0;
	uint32_t i;

	memset(sum, 0, sizeof(*sum));
	sum->quiesced = true;
	sum->rail = count ? b->xfers[first].done.rail : 0;
	for (i = first; i < first + count; i++) {
		const struct mc_xfer *x = &b->xfers[i];
		int result = x->done.result;

		/* A success that moved something else than was asked for is none. */
		if (!result && x->done.bytes != x->len)
			result = -EIO;
		if (result && !sum->result) {
			sum->result = result == -EINPROGRESS ? -ETIMEDOUT : result;
			sum->fail_at = before + (x->done.fail_off < x->len ? x->done.fail_off : 0);
		}
		sum->busy |= result == -EINPROGRESS || (x->done.flags & MC_CQE_F_BUSY);
		sum->quiesced &= !!(x->done.flags & MC_CQE_F_QUIESCED);
		if (x->done.done_ns > sum->done_ns)
			sum->done_ns = x->done.done_ns;
		before += x->len;
	}
}

void mc_move(struct mc_batch *b, uint64_t timeout_ns, uint64_t deadline, struct mc_renewal *renew)
{
	uint64_t until;
	int rc;

	if (!b || !b->n)
		return;
	/* 0 would mean the kernel's default. With 1 everything ends at once. */
	if (!timeout_ns)
		timeout_ns = 1;
	/* Whatever goes wrong here is the result of each transfer it went wrong for. */
	if (renew->at != UINT64_MAX)
		mc_batch_pace(b, renew->life_ns / 8);
	until = mc_now_ns() + timeout_ns;
	until = (until > deadline ? until : deadline) + MC_GRACE_WAIT_NS;
	rc = mc_batch_submit(b, timeout_ns, NULL);
	while (!rc || rc == -ETIME) {
		rc = mc_batch_wait(b, mc_left_ns(until < renew->at ? until : renew->at), NULL);
		if (rc != -ETIME || mc_now_ns() >= until)
			break;
		if (mc_now_ns() >= renew->at)
			renew->at = renew->ask(renew->arg);
	}
	mc_batch_freeze(b);
}
