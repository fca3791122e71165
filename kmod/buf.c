// SPDX-License-Identifier: GPL-2.0-only
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "buf.h"
#include "ctx.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "mem.h"
#include "useg.h"

static struct workqueue_struct *buf_wq;	/* ends of buffers; no work in it waits for other work in it */
static DEFINE_SPINLOCK(buf_list_lock);
static LIST_HEAD(buf_list);
static u32 buf_count;

static void buf_release_work(struct work_struct *work)
{
	struct mc_buf *buf = container_of(work, struct mc_buf, release_work);

	mc_net_forget_mem(buf->mem);
	mc_quarantine_del(&buf->quarantine);
	mc_mem_release(buf->mem);
	spin_lock(&buf_list_lock);
	list_del(&buf->link);
	buf_count--;
	spin_unlock(&buf_list_lock);
	mc_ctx_put(buf->ctx);
	kfree(buf);
}

/* Takes a buffer out of the table, with the handle's reference; NULL: it isn't there, or it isn't @want. */
static struct mc_buf *handle_take(struct mc_ctx *ctx, u32 id, struct mc_buf *want)
{
	struct mc_buf *buf;

	xa_lock(&ctx->bufs.xa);
	buf = xa_load(&ctx->bufs.xa, mc_handle_index(id));
	if (buf && buf->id == id && (!want || buf == want)) {
		__xa_erase(&ctx->bufs.xa, mc_handle_index(id));
		ctx->bufs.count--;
		WRITE_ONCE(buf->gone, true);
	} else {
		buf = NULL;
	}
	xa_unlock(&ctx->bufs.xa);
	return buf;
}

static int check_range(u64 addr, u64 len)
{
	u64 end;

	if (!len || len > MC_MAX_BUF_LEN || check_add_overflow(addr, len, &end))
		return -EINVAL;
	/* The last page must not wrap either. */
	if (end > ULONG_MAX - PAGE_SIZE)
		return -EINVAL;
	return 0;
}

/* Ranges of one file don't overlap: the order of their starts is that of their ends. */
static int range_add(struct mc_ctx *ctx, struct mc_buf *buf)
{
	struct rb_node **at = &ctx->ranges.rb_node, *parent = NULL;
	struct mc_buf *other;
	int ret = 0;

	spin_lock(&ctx->lock);
	while (*at) {
		parent = *at;
		other = rb_entry(parent, struct mc_buf, range);
		if (buf->addr + buf->len <= other->addr) {
			at = &parent->rb_left;
		} else if (buf->addr >= other->addr + other->len) {
			at = &parent->rb_right;
		} else {
			ret = -EEXIST;
			break;
		}
	}
	if (!ret) {
		rb_link_node(&buf->range, parent, at);
		rb_insert_color(&buf->range, &ctx->ranges);
	}
	spin_unlock(&ctx->lock);
	return ret;
}

static void range_del(struct mc_ctx *ctx, struct mc_buf *buf)
{
	spin_lock(&ctx->lock);
	rb_erase(&buf->range, &ctx->ranges);
	spin_unlock(&ctx->lock);
}

/* The range first: of two who want the same one, one is refused before anything is pinned. */
static struct mc_buf *buf_make(struct mc_ctx *ctx, u64 addr, u64 len)
{
	struct mc_buf *buf = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->addr = addr;
	buf->len = len;
	ret = range_add(ctx, buf);
	if (ret)
		goto err_free;
	buf->mem = mc_mem_pin_user(ctx->acct, addr, len);
	if (IS_ERR(buf->mem)) {
		ret = PTR_ERR(buf->mem);
		goto err_range;
	}
	refcount_set(&buf->io, 1);
	mc_ctx_get(ctx);
	buf->ctx = ctx;
	buf->pinned = (u64)buf->mem->npages << PAGE_SHIFT;
	buf->extents = buf->mem->ext.n;
	INIT_WORK(&buf->release_work, buf_release_work);
	spin_lock(&buf_list_lock);
	list_add_tail(&buf->link, &buf_list);
	buf_count++;
	spin_unlock(&buf_list_lock);
	return buf;

err_range:
	range_del(ctx, buf);
err_free:
	kfree(buf);
	return ERR_PTR(ret);
}

/* Nobody else has found it: let it go here; queued work would free what one waits for. */
static void buf_undo(struct mc_ctx *ctx, struct mc_buf *buf)
{
	range_del(ctx, buf);
	buf_release_work(&buf->release_work);
}

int mc_buf_register(struct mc_ctx *ctx, struct mc_buf_reg *arg)
{
	struct mc_buf *buf;
	int ret;

	if (arg->flags || arg->resv)
		return -EINVAL;
	ret = check_range(arg->addr, arg->len);
	if (ret)
		return ret;
	if (current->mm != ctx->acct->mm)
		return -EACCES;
	if (READ_ONCE(ctx->bufs.count) >= MC_MAX_BUFFERS)
		return -ENOSPC;
	buf = buf_make(ctx, arg->addr, arg->len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	ret = mc_handle_add(&ctx->bufs, buf, MC_MAX_BUFFERS, &buf->id, &arg->out_id);
	if (ret)
		buf_undo(ctx, buf);
	return ret;
}

/* ---- many at once ---- */

struct span {
	u64 start;
	u64 end;
	u32 index;
};

static int span_cmp(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Every entry by itself, then all against each other: sorted by their starts, only neighbours can overlap first. */
static int check_items(const struct mc_buf_item *items, u32 n, u32 *index)
{
	struct span *r = kvmalloc_array(n, sizeof(*r), GFP_KERNEL_ACCOUNT);
	int ret = 0;
	u32 i;

	if (!r)
		return -ENOMEM;
	for (i = 0; i < n && !ret; i++) {
		*index = i;
		ret = items[i].resv ? -EINVAL : check_range(items[i].addr, items[i].len);
		r[i] = (struct span){ items[i].addr, items[i].addr + items[i].len, i };
	}
	if (ret)
		goto out;
	sort(r, n, sizeof(*r), span_cmp, NULL);
	for (i = 1; i < n && !ret; i++) {
		if (r[i].start >= r[i - 1].end)
			continue;
		*index = max(r[i].index, r[i - 1].index);
		ret = -EEXIST;
	}
out:
	kvfree(r);
	return ret;
}

/* What is left of a buffer whose handle was taken out of the table. */
static void let_go(struct mc_ctx *ctx, struct mc_buf *buf)
{
	buf->quarantine.mem = buf->mem;
	buf->quarantine.io = &buf->io;
	buf->quarantine.id = buf->id;
	buf->quarantine.pid = ctx->pid;
	mc_quarantine_add(&buf->quarantine);
	range_del(ctx, buf);
	mc_useg_drop_buf(ctx, buf);
	mc_buf_put(buf);
}

/*
 * Takes the handles back that were given out, then the buffers, the last one first. Somebody may have guessed a handle:
 * such a buffer may be in use, or unregistered and freed already, so only its address is looked at.
 */
static void undo_items(struct mc_ctx *ctx, const struct mc_buf_item *items, struct mc_buf **bufs, u32 made, u32 added)
{
	while (made--) {
		if (made >= added)
			buf_undo(ctx, bufs[made]);
		else if (handle_take(ctx, items[made].out_id, bufs[made]))
			let_go(ctx, bufs[made]);
		cond_resched();
	}
}

static int register_items(struct mc_ctx *ctx, struct mc_buf_item *items, struct mc_buf **bufs, u32 n, u32 *index,
			  u64 uptr)
{
	u32 made = 0, added = 0;
	int ret;

	for (; made < n; made++) {
		*index = made;
		bufs[made] = buf_make(ctx, items[made].addr, items[made].len);
		ret = PTR_ERR_OR_ZERO(bufs[made]);
		if (ret)
			goto undo;
	}
	/* No handle before all are pinned: what isn't complete can't be used. */
	for (; added < n; added++) {
		*index = added;
		ret = mc_handle_add(&ctx->bufs, bufs[added], MC_MAX_BUFFERS, &bufs[added]->id, &items[added].out_id);
		if (ret)
			goto undo;
	}
	*index = n;
	ret = copy_to_user(u64_to_user_ptr(uptr), items, n * sizeof(*items)) ? -EFAULT : 0;
	if (!ret)
		return 0;
undo:
	undo_items(ctx, items, bufs, made, added);
	return ret;
}

int mc_buf_register_batch(struct mc_ctx *ctx, struct mc_buf_reg_batch *arg)
{
	u32 n = arg->count, *index = &arg->out_index;
	struct mc_buf_item *items;
	struct mc_buf **bufs;
	int ret;

	*index = n;
	if (arg->flags || !n)
		return -EINVAL;
	if (n > MC_MAX_BUF_BATCH)
		return -E2BIG;
	if (current->mm != ctx->acct->mm)
		return -EACCES;
	if (READ_ONCE(ctx->bufs.count) + n > MC_MAX_BUFFERS)
		return -ENOSPC;
	items = vmemdup_user(u64_to_user_ptr(arg->items), n * sizeof(*items));
	if (IS_ERR(items))
		return PTR_ERR(items);
	bufs = kvmalloc_array(n, sizeof(*bufs), GFP_KERNEL_ACCOUNT);
	ret = bufs ? check_items(items, n, index) : -ENOMEM;
	if (!ret)
		ret = register_items(ctx, items, bufs, n, index, arg->items);
	kvfree(bufs);
	kvfree(items);
	return ret;
}

struct mc_buf *mc_buf_get(struct mc_ctx *ctx, u32 id)
{
	struct mc_buf *buf;

	xa_lock(&ctx->bufs.xa);
	buf = xa_load(&ctx->bufs.xa, mc_handle_index(id));
	/* An entry of the table has the handle's reference: the count is not zero. */
	if (buf && buf->id == id)
		refcount_inc(&buf->io);
	else
		buf = NULL;
	xa_unlock(&ctx->bufs.xa);
	return buf;
}

void mc_buf_put(struct mc_buf *buf)
{
	if (refcount_dec_and_test(&buf->io))
		queue_work(buf_wq, &buf->release_work);
}

int mc_buf_unregister(struct mc_ctx *ctx, u32 id)
{
	struct mc_buf *buf = handle_take(ctx, id, NULL);

	if (!buf)
		return -ENOENT;
	mc_event_buf_gone(id, ctx->pid, ctx->uid, buf->len, READ_ONCE(ctx->dying) ? MC_REASON_EXIT : MC_REASON_ASKED);
	let_go(ctx, buf);
	return 0;
}

void mc_buf_unregister_all(struct mc_ctx *ctx)
{
	unsigned long index;
	struct mc_buf *buf;

	xa_for_each(&ctx->bufs.xa, index, buf)
		mc_buf_unregister(ctx, buf->id);
}

bool mc_buf_nth(unsigned long n, struct mc_buf_info *info)
{
	struct mc_buf *buf;
	bool found = false;

	spin_lock(&buf_list_lock);
	list_for_each_entry(buf, &buf_list, link) {
		if (n--)
			continue;
		info->id = READ_ONCE(buf->id);
		info->pid = buf->ctx->pid;
		info->uid = buf->ctx->uid;
		info->len = buf->len;
		info->pinned = buf->pinned;
		info->extents = buf->extents;
		info->gone = READ_ONCE(buf->gone);
		info->io = refcount_read(&buf->io);
		found = true;
		break;
	}
	spin_unlock(&buf_list_lock);
	return found;
}

u32 mc_buf_count(void)
{
	return READ_ONCE(buf_count);
}

/*
 * Their own: registrations are withdrawn one after the other, each as long as its device takes, and a process may have
 * left thousands. On mc_wq they would keep the deadlines of requests from running.
 */
int mc_buf_init(void)
{
	buf_wq = alloc_workqueue("mooncake_buf", WQ_UNBOUND, 0);
	return buf_wq ? 0 : -ENOMEM;
}

/* Every buffer has let go of its context; what may be left is the end of a work item, which this waits for. */
void mc_buf_exit(void)
{
	destroy_workqueue(buf_wq);
}
