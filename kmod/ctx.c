// SPDX-License-Identifier: GPL-2.0-only
/* Open files: handles, and the end of everything a file owned. */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "buf.h"
#include "ctx.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "grant.h"
#include "mem.h"
#include "req.h"
#include "ring.h"
#include "seg.h"
#include "useg.h"

static DEFINE_SPINLOCK(ctx_list_lock);
static LIST_HEAD(ctx_list);
static atomic_t ctx_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ctx_gone);

void mc_handle_init(struct mc_handle_tab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC1);
	tab->next = 1;
	tab->gen = 0;
	tab->count = 0;
}

void mc_handle_destroy(struct mc_handle_tab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
}

int mc_handle_add(struct mc_handle_tab *tab, void *entry, u32 max, u32 *entry_id, u32 *out)
{
	u32 index;
	int ret;

	xa_lock(&tab->xa);
	if (tab->count >= max) {
		xa_unlock(&tab->xa);
		return -ENOSPC;
	}
	tab->count++;
	/* The zero entry reserves the index; __xa_alloc_cyclic() may drop the lock to allocate. */
	ret = __xa_alloc_cyclic(&tab->xa, &index, NULL, XA_LIMIT(1, MC_HANDLE_INDEX_MAX), &tab->next,
				GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		tab->count--;
		xa_unlock(&tab->xa);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	/* Indices are used in turn, so with one generation a lap no id comes back before all 2^32 were used. */
	tab->gen += ret;
	*entry_id = *out = index | tab->gen << MC_HANDLE_INDEX_BITS;
	__xa_store(&tab->xa, index, entry, 0);	/* a reserved slot: can't fail */
	xa_unlock(&tab->xa);
	return 0;
}

static void ctx_close_work(struct work_struct *work);
static void ctx_free_work(struct work_struct *work);

struct mc_ctx *mc_ctx_create(void)
{
	struct mc_ctx *ctx = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	ctx->acct = mc_acct_create();
	if (!ctx->acct) {
		kfree(ctx);
		return NULL;
	}
	kref_init(&ctx->kref);
	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->reqs);
	mutex_init(&ctx->setup_lock);
	mc_batches_init(&ctx->batches);
	mutex_init(&ctx->cancel_lock);
	mutex_init(&ctx->export_lock);
	INIT_LIST_HEAD(&ctx->exports);
	mc_handle_init(&ctx->bufs);
	ctx->ranges = RB_ROOT;
	mc_handle_init(&ctx->segs);
	mc_handle_init(&ctx->grants);
	INIT_WORK(&ctx->close_work, ctx_close_work);
	INIT_WORK(&ctx->free_work, ctx_free_work);
	ctx->pid = task_tgid_nr(current);
	get_task_comm(ctx->comm, current->group_leader);
	ctx->uid = from_kuid_munged(&init_user_ns, current_uid());
	atomic_inc(&ctx_count);
	spin_lock(&ctx_list_lock);
	list_add_tail(&ctx->link, &ctx_list);
	spin_unlock(&ctx_list_lock);
	return ctx;
}

static void ctx_free_work(struct work_struct *work)
{
	struct mc_ctx *ctx = container_of(work, struct mc_ctx, free_work);

	mc_handle_destroy(&ctx->bufs);
	mc_handle_destroy(&ctx->segs);
	mc_handle_destroy(&ctx->grants);
	if (ctx->ring)
		mc_ring_free(ctx->ring);
	mc_acct_put(ctx->acct);
	mc_batches_destroy(&ctx->batches);
	mutex_destroy(&ctx->cancel_lock);
	mutex_destroy(&ctx->export_lock);
	mutex_destroy(&ctx->setup_lock);
	kfree(ctx);
	if (atomic_dec_and_test(&ctx_count))
		wake_up_all(&ctx_gone);
}

static void ctx_last_put(struct kref *kref)
{
	struct mc_ctx *ctx = container_of(kref, struct mc_ctx, kref);

	spin_lock(&ctx_list_lock);
	list_del(&ctx->link);
	spin_unlock(&ctx_list_lock);
	queue_work(mc_wq, &ctx->free_work);
}

void mc_ctx_get(struct mc_ctx *ctx)
{
	kref_get(&ctx->kref);
}

void mc_ctx_put(struct mc_ctx *ctx)
{
	kref_put(&ctx->kref, ctx_last_put);
}

static void ctx_close_work(struct work_struct *work)
{
	struct mc_ctx *ctx = container_of(work, struct mc_ctx, close_work);

	mc_useg_unexport_all(ctx);	/* first: peers are to know at once */
	mc_req_stop_all(ctx, -ECANCELED, false);
	mc_buf_unregister_all(ctx);
	mc_seg_handle_close_all(ctx);
	mc_grant_unload_all(ctx);
	/* No lock: nobody can name a client any more. */
	if (memchr_inv(ctx->client, 0, MC_UUID_LEN))
		mc_event_client_gone(ctx->client, ctx->pid);
	mc_ctx_put(ctx);
}

int mc_ctx_name_client(struct mc_ctx *ctx, const u8 *uuid)
{
	int ret = 0;

	if (!memchr_inv(uuid, 0, MC_UUID_LEN))
		return -EINVAL;
	spin_lock(&ctx->lock);
	if (!memchr_inv(ctx->client, 0, MC_UUID_LEN))
		memcpy(ctx->client, uuid, MC_UUID_LEN);
	else if (memcmp(ctx->client, uuid, MC_UUID_LEN))
		ret = -EEXIST;
	spin_unlock(&ctx->lock);
	return ret;
}

void mc_ctx_close(struct mc_ctx *ctx)
{
	spin_lock(&ctx->lock);
	WRITE_ONCE(ctx->dying, true);
	spin_unlock(&ctx->lock);
	queue_work(mc_wq, &ctx->close_work);
}

bool mc_ctx_nth(unsigned long n, struct mc_ctx_info *info)
{
	struct mc_ctx *ctx;
	bool found = false;

	/* What is listed is there: the last reference takes it off the list first. */
	spin_lock(&ctx_list_lock);
	list_for_each_entry(ctx, &ctx_list, link) {
		if (n--)
			continue;
		info->pid = ctx->pid;
		memcpy(info->comm, ctx->comm, sizeof(info->comm));
		info->uid = ctx->uid;
		info->closing = READ_ONCE(ctx->dying);
		info->buffers = READ_ONCE(ctx->bufs.count);
		info->pinned = (u64)atomic_long_read(&ctx->acct->pages) << PAGE_SHIFT;
		found = true;
		break;
	}
	spin_unlock(&ctx_list_lock);
	return found;
}

static struct mc_ctx *ctx_first(void)
{
	struct mc_ctx *ctx, *found = NULL;

	spin_lock(&ctx_list_lock);
	list_for_each_entry(ctx, &ctx_list, link)
		if (kref_get_unless_zero(&ctx->kref)) {
			/* To the end of the list, so that the next call looks at another one. */
			list_move_tail(&ctx->link, &ctx_list);
			found = ctx;
			break;
		}
	spin_unlock(&ctx_list_lock);
	return found;
}

void mc_ctx_drain_all(void)
{
	struct mc_ctx *ctx;

	while (atomic_read(&ctx_count)) {
		ctx = ctx_first();
		if (ctx) {
			mc_req_stop_all(ctx, -ECANCELED, true);
			mc_ctx_put(ctx);
		}
		wait_event_timeout(ctx_gone, !atomic_read(&ctx_count), HZ / 20);
	}
	flush_workqueue(mc_wq);	/* the free work itself is code of this module */
}

/* Which segment it is: by its UUID, or by the name that the owner's kernel knows it by. */
static int seg_resolve(const struct mc_seg_open *arg, bool local, u64 timeout, u8 *uuid)
{
	bool by_uuid = memchr_inv(arg->seg_uuid, 0, MC_UUID_LEN);
	char name[MC_NAME_LEN];
	struct mc_seg *seg;

	memcpy(uuid, arg->seg_uuid, MC_UUID_LEN);
	if (by_uuid)
		return memchr_inv(arg->name, 0, MC_NAME_LEN) ? -EINVAL : 0;
	if (mc_name_trim(arg->name, name))
		return -EINVAL;
	if (!local)
		return mc_net_seg_lookup(arg->node_uuid, name, timeout, uuid);
	seg = mc_seg_find_name(name);
	if (!seg)
		return -ENOENT;
	memcpy(uuid, seg->target.seg_uuid, MC_UUID_LEN);
	mc_seg_put(seg);
	return 0;
}

static struct mc_target *seg_target(const struct mc_seg_open *arg)
{
	u64 timeout = arg->timeout_ns ?: 5 * NSEC_PER_SEC, begun = ktime_get_ns(), took;
	u8 uuid[MC_UUID_LEN];
	bool local;
	int ret;

	spin_lock(&mc_node.lock);
	local = mc_node.set && !memcmp(arg->node_uuid, mc_node.uuid, MC_UUID_LEN);
	spin_unlock(&mc_node.lock);
	ret = seg_resolve(arg, local, timeout, uuid);
	if (ret)
		return ERR_PTR(ret);
	if (local)
		return mc_seg_open(uuid);
	/* One time-out for the look-up and for opening what it found. */
	took = ktime_get_ns() - begun;
	return took < timeout ? mc_net_seg_open(arg->node_uuid, uuid, timeout - took) : ERR_PTR(-ETIMEDOUT);
}

int mc_seg_handle_open(struct mc_ctx *ctx, struct mc_seg_open *arg)
{
	struct mc_seg_handle *h;
	struct mc_target *target;
	int ret;

	h = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h)
		return -ENOMEM;
	target = seg_target(arg);
	if (IS_ERR(target)) {
		ret = PTR_ERR(target);
		goto err_free;
	}
	h->target = target;
	arg->out_len = READ_ONCE(target->len);
	arg->out_flags = (target->local ? MC_SEG_LOCAL : 0) | (target->needs_grant ? MC_SEG_NEEDS_GRANT : 0);
	memcpy(arg->out_seg_uuid, target->seg_uuid, MC_UUID_LEN);
	arg->out_rights = target->rights;
	arg->out_gen = READ_ONCE(target->gen);
	ret = mc_handle_add(&ctx->segs, h, MC_MAX_SEGMENTS, &h->id, &arg->out_id);
	if (ret)
		goto err_put;
	return 0;

err_put:
	mc_target_put(target);
err_free:
	kfree(h);
	return ret;
}

struct mc_target *mc_seg_handle_get(struct mc_ctx *ctx, u32 id)
{
	struct mc_target *target = NULL;
	struct mc_seg_handle *h;

	xa_lock(&ctx->segs.xa);
	h = xa_load(&ctx->segs.xa, mc_handle_index(id));
	if (h && h->id == id) {
		target = h->target;
		mc_target_get(target);
	}
	xa_unlock(&ctx->segs.xa);
	return target;
}

int mc_seg_handle_close(struct mc_ctx *ctx, u32 id)
{
	struct mc_seg_handle *h;

	xa_lock(&ctx->segs.xa);
	h = xa_load(&ctx->segs.xa, mc_handle_index(id));
	if (h && h->id == id) {
		__xa_erase(&ctx->segs.xa, mc_handle_index(id));
		ctx->segs.count--;
	} else {
		h = NULL;
	}
	xa_unlock(&ctx->segs.xa);
	if (!h)
		return -ENOENT;
	mc_target_put(h->target);
	kfree(h);
	return 0;
}

void mc_seg_handle_close_all(struct mc_ctx *ctx)
{
	struct mc_seg_handle *h;
	unsigned long index;

	xa_for_each(&ctx->segs.xa, index, h)
		mc_seg_handle_close(ctx, h->id);
}
