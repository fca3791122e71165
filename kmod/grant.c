// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/algapi.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "auth.h"
#include "ctx.h"
#include "engine.h"
#include "fault.h"
#include "grant.h"
#include "map.h"
#include "node.h"

/**
 * struct grant_entry - a loaded grant
 * @id: handle
 * @g: what it allows; constant
 */
struct grant_entry {
	u32 id;
	struct mc_grant g;
};

/**
 * struct key_cache - the key of the last grant of a call: most grants of one call are for few segments
 * @valid: the rest is
 * @seg: segment
 * @gen: generation
 * @key: from mc_auth_grant_key()
 */
struct key_cache {
	bool valid;
	u8 seg[MC_UUID_LEN];
	u32 gen;
	u8 key[MC_GRANT_KEY];
};

static atomic_t grants = ATOMIC_INIT(0);

u32 mc_grant_count(void)
{
	return atomic_read(&grants);
}

int mc_grant_valid(const struct mc_grant *g, u64 *left)
{
	u64 boot = ktime_get_boottime_ns();
	struct mc_clock clock;

	if (!mc_auth_has(g->key_gen))
		return -EACCES;
	mc_clock_get(&clock);
	*left = mc_clock_good(&clock, boot) ? mc_grant_left(g, &clock, boot) : 0;
	return *left ? 0 : -ETIME;
}

static int check_tag(const u8 *bytes, const struct mc_grant *g, struct key_cache *cache)
{
	u8 tag[MC_GRANT_TAG];
	int ret;

	if (!cache->valid || cache->gen != g->key_gen || memcmp(cache->seg, g->seg, MC_UUID_LEN)) {
		cache->valid = false;
		ret = mc_auth_grant_key(g->seg, g->key_gen, cache->key);
		if (ret)
			return ret;
		memcpy(cache->seg, g->seg, MC_UUID_LEN);
		cache->gen = g->key_gen;
		cache->valid = true;
	}
	mc_grant_tag(bytes, cache->key, tag);
	return crypto_memneq(tag, bytes + MC_GRANT_BODY, MC_GRANT_TAG) ? -EACCES : 0;
}

static int load_one(struct mc_ctx *ctx, struct mc_grant_item *item, struct key_cache *cache)
{
	struct grant_entry *e;
	struct mc_grant g;
	u64 left;
	int ret;

	ret = mc_grant_decode(item->grant, &g);
	if (!ret)
		ret = check_tag(item->grant, &g, cache);
	if (!ret)
		ret = mc_grant_valid(&g, &left);
	if (ret)
		return ret;
	e = mc_fault_hit(alloc) ? NULL : kmalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	e->g = g;
	/* Counted before anybody can find and delete it. */
	atomic_inc(&grants);
	ret = mc_handle_add(&ctx->grants, e, MC_MAX_GRANTS, &e->id, &item->out_id);
	if (ret) {
		atomic_dec(&grants);
		kfree(e);
	}
	return ret;
}

int mc_grant_load(struct mc_ctx *ctx, struct mc_grant_add *arg)
{
	struct mc_grant_item __user *uitems = u64_to_user_ptr(arg->items);
	struct key_cache cache = { };
	struct mc_grant_item *items;
	u32 i;
	int ret = 0;

	BUILD_BUG_ON(MC_GRANT_LEN != MC_GRANT_BODY + MC_GRANT_TAG);
	BUILD_BUG_ON(sizeof(struct mc_grant_item) != MC_GRANT_LEN + 8);
	if (arg->flags || !arg->count || arg->count > MC_MAX_GRANT_BATCH)
		return -EINVAL;
	items = vmemdup_user(uitems, arg->count * sizeof(*items));
	if (IS_ERR(items))
		return PTR_ERR(items);
	arg->out_added = 0;
	for (i = 0; i < arg->count; i++) {
		items[i].out_id = 0;
		items[i].out_error = load_one(ctx, &items[i], &cache);
		if (!items[i].out_error)
			arg->out_added++;
		cond_resched();
	}
	memzero_explicit(&cache, sizeof(cache));
	if (copy_to_user(uitems, items, arg->count * sizeof(*items)))
		ret = -EFAULT;
	kvfree(items);
	return ret;
}

static bool unload_one(struct mc_ctx *ctx, u32 id)
{
	struct grant_entry *e;

	xa_lock(&ctx->grants.xa);
	e = xa_load(&ctx->grants.xa, mc_handle_index(id));
	if (e && e->id == id) {
		__xa_erase(&ctx->grants.xa, mc_handle_index(id));
		ctx->grants.count--;
	} else {
		e = NULL;
	}
	xa_unlock(&ctx->grants.xa);
	if (!e)
		return false;
	atomic_dec(&grants);
	kfree(e);
	mc_map_end_grant(ctx, id);
	return true;
}

int mc_grant_unload(struct mc_ctx *ctx, struct mc_grant_del *arg)
{
	u32 *ids, i;

	if (arg->flags || !arg->count || arg->count > MC_MAX_GRANT_BATCH)
		return -EINVAL;
	ids = vmemdup_user(u64_to_user_ptr(arg->ids), arg->count * sizeof(*ids));
	if (IS_ERR(ids))
		return PTR_ERR(ids);
	arg->out_deleted = 0;
	for (i = 0; i < arg->count; i++) {
		arg->out_deleted += unload_one(ctx, ids[i]);
		cond_resched();
	}
	kvfree(ids);
	return 0;
}

void mc_grant_unload_all(struct mc_ctx *ctx)
{
	struct grant_entry *e;
	unsigned long index;

	xa_for_each(&ctx->grants.xa, index, e) {
		unload_one(ctx, e->id);
		cond_resched();
	}
}

int mc_grant_find(struct mc_ctx *ctx, u32 id, struct mc_grant *g)
{
	struct grant_entry *e;
	int ret = -ENOENT;

	xa_lock(&ctx->grants.xa);
	e = xa_load(&ctx->grants.xa, mc_handle_index(id));
	if (e && e->id == id) {
		*g = e->g;
		ret = 0;
	}
	xa_unlock(&ctx->grants.xa);
	return ret;
}

int mc_grant_start(struct mc_ctx *ctx, struct mc_req *req, const struct mc_sqe *sqe)
{
	u32 rights = sqe->opcode == MC_OP_WRITE ? MC_GRANT_W : MC_GRANT_R;
	struct mc_grant g;
	u64 left;
	int ret;

	if (!req->target->needs_grant)
		return sqe->grant_id ? -EINVAL : 0;
	if (!sqe->grant_id)
		return -EACCES;
	ret = mc_grant_find(ctx, sqe->grant_id, &g);
	if (!ret)
		ret = mc_grant_covers(&g, rights, req->target->seg_uuid, sqe->target_off, sqe->len);
	if (!ret)
		ret = mc_grant_valid(&g, &left);
	if (ret)
		return ret;
	req->granted = true;
	req->grant_epoch = g.epoch;
	/* From here on the node's own clock decides; the master's later measurements are no better than this one. */
	req->grant_end = ktime_get_boottime_ns() + min_t(u64, left, S64_MAX);
	return 0;
}

u64 mc_grant_cap(struct mc_req *req, u64 timeout)
{
	u64 now = ktime_get_boottime_ns(), left;

	if (!req->granted)
		return timeout;
	left = req->grant_end > now ? req->grant_end - now : 1;
	req->grant_first = left < timeout;
	return min(left, timeout);
}

bool mc_grant_ended(const struct mc_req *req)
{
	struct mc_clock clock;

	if (!req->granted)
		return false;
	mc_clock_get(&clock);
	return ktime_get_boottime_ns() >= req->grant_end || clock.epoch != req->grant_epoch;
}
