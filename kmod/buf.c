// SPDX-License-Identifier: GPL-2.0-only
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "buf.h"
#include "ctx.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "mem.h"
#include "useg.h"

static DEFINE_SPINLOCK(buf_list_lock);
static LIST_HEAD(buf_list);
static u32 buf_count;

static void buf_release_work(struct work_struct *work)
{
	struct mc_buf *buf = container_of(work, struct mc_buf, release_work);

	mc_net_forget_mem(buf->mem);
	mc_mem_release(buf->mem);
	spin_lock(&buf_list_lock);
	list_del(&buf->link);
	buf_count--;
	spin_unlock(&buf_list_lock);
	mc_ctx_put(buf->ctx);
	kfree(buf);
}

static int check_range(struct mc_ctx *ctx, const struct mc_buf_reg *arg)
{
	u64 end;

	if (arg->flags || arg->resv)
		return -EINVAL;
	if (!arg->len || arg->len > MC_MAX_BUF_LEN || check_add_overflow(arg->addr, arg->len, &end))
		return -EINVAL;
	/* The last page must not wrap either. */
	if (end > ULONG_MAX - PAGE_SIZE)
		return -EINVAL;
	if (current->mm != ctx->acct->mm)
		return -EACCES;
	return 0;
}

int mc_buf_register(struct mc_ctx *ctx, struct mc_buf_reg *arg)
{
	struct mc_buf *buf;
	int ret = check_range(ctx, arg);

	if (ret)
		return ret;
	if (READ_ONCE(ctx->bufs.count) >= MC_MAX_BUFFERS)
		return -ENOSPC;
	buf = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	buf->mem = mc_mem_pin_user(ctx->acct, arg->addr, arg->len);
	if (IS_ERR(buf->mem)) {
		ret = PTR_ERR(buf->mem);
		goto err_free;
	}
	refcount_set(&buf->io, 1);
	mc_ctx_get(ctx);
	buf->ctx = ctx;
	buf->addr = arg->addr;
	buf->len = buf->mem->len;
	buf->pinned = (u64)buf->mem->npages << PAGE_SHIFT;
	INIT_WORK(&buf->release_work, buf_release_work);
	spin_lock(&buf_list_lock);
	list_add_tail(&buf->link, &buf_list);
	buf_count++;
	spin_unlock(&buf_list_lock);
	ret = mc_handle_add(&ctx->bufs, buf, MC_MAX_BUFFERS, &buf->id, &arg->out_id);
	if (ret) {
		/* Nobody else has found it: let it go here; queued work would free what one waits for. */
		buf_release_work(&buf->release_work);
		return ret;
	}
	return 0;

err_free:
	kfree(buf);
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
		queue_work(mc_wq, &buf->release_work);
}

int mc_buf_unregister(struct mc_ctx *ctx, u32 id)
{
	struct mc_buf *buf;

	xa_lock(&ctx->bufs.xa);
	buf = xa_load(&ctx->bufs.xa, mc_handle_index(id));
	if (buf && buf->id == id) {
		__xa_erase(&ctx->bufs.xa, mc_handle_index(id));
		ctx->bufs.count--;
		WRITE_ONCE(buf->gone, true);
	} else {
		buf = NULL;
	}
	xa_unlock(&ctx->bufs.xa);
	if (!buf)
		return -ENOENT;
	mc_useg_drop_buf(ctx, buf);
	mc_event_buf_gone(id, ctx->pid, ctx->uid, buf->len, READ_ONCE(ctx->dying) ? MC_REASON_EXIT : MC_REASON_ASKED);
	mc_buf_put(buf);
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
