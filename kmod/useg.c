// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "buf.h"
#include "ctx.h"
#include "event.h"
#include "fault.h"
#include "mem.h"
#include "useg.h"

/* What a generation keeps: its descriptor's @priv. */
struct buf_refs {
	u32 n;
	struct mc_buf *buf[];
};

static void useg_drained(struct mc_seg_desc *desc)
{
	struct buf_refs *refs = desc->priv;
	u32 i;

	for (i = 0; i < refs->n; i++)
		mc_buf_put(refs->buf[i]);
	kvfree(refs);
}

static void useg_free(struct mc_seg *seg)
{
	struct mc_useg *us = mc_seg_useg(seg);

	kfree_rcu(us, seg.rcu);
}

static const struct mc_seg_ops useg_ops = {
	.drained = useg_drained,
	.free = useg_free,
};

struct mc_useg *mc_seg_useg(struct mc_seg *seg)
{
	return seg->ops == &useg_ops ? container_of(seg, struct mc_useg, seg) : NULL;
}

int mc_name_trim(const u8 *name, char *out)
{
	size_t i, n;

	if (name[MC_NAME_LEN - 1])
		return -EINVAL;
	while (*name == '/')	/* ends at the closing NUL at the latest */
		name++;
	n = strlen(name);
	memset(out, 0, MC_NAME_LEN);
	memcpy(out, name, n);
	for (i = 0; i < n; i++)
		if (iscntrl(out[i]))
			return -EINVAL;
	return n ? 0 : -EINVAL;
}

/* ---- one generation ---- */

/*
 * Buffers of the newest generation, in order; NULL: there is none yet. The file's export_lock keeps it: only under that
 * lock is a generation replaced or the segment retired.
 */
static const struct buf_refs *refs_of(struct mc_useg *us)
{
	struct mc_seg_desc *desc = rcu_dereference_protected(us->seg.desc, true);

	return desc ? desc->priv : NULL;
}

static struct mc_mem *view_of(struct buf_refs *refs, u32 rights)
{
	struct mc_mem **parts = kvmalloc_array(refs->n, sizeof(*parts), GFP_KERNEL_ACCOUNT);
	struct mc_mem *mem;
	u32 i;

	if (!parts)
		return NULL;
	for (i = 0; i < refs->n; i++)
		parts[i] = refs->buf[i]->mem;
	mem = mc_mem_view(parts, refs->n, rights);
	kvfree(parts);
	return mem;
}

static struct buf_refs *refs_new(struct mc_useg *us, struct mc_buf *buf)
{
	const struct buf_refs *old = refs_of(us);
	u32 n = old ? old->n : 0;
	struct buf_refs *refs = kvmalloc(struct_size(refs, buf, n + 1), GFP_KERNEL_ACCOUNT);

	if (!refs)
		return NULL;
	if (n)
		memcpy(refs->buf, old->buf, n * sizeof(*refs->buf));
	refs->buf[n] = buf;
	refs->n = n + 1;
	return refs;
}

/*
 * The descriptor of what the segment has and one buffer more. The references to buffers are taken by whoever publishes
 * it: until then the older generation and the caller keep them all.
 */
static struct mc_seg_desc *desc_new(struct mc_useg *us, struct mc_buf *buf, u32 gen)
{
	struct buf_refs *refs = refs_new(us, buf);
	struct mc_mem *mem = refs ? view_of(refs, us->seg.target.rights) : NULL;
	struct mc_seg_desc *desc = mem ? mc_seg_desc_new(&us->seg, mem, gen) : NULL;

	if (!desc) {
		if (mem)
			mc_mem_release(mem);
		kvfree(refs);
		return NULL;
	}
	desc->priv = refs;
	return desc;
}

static void refs_get(struct buf_refs *refs)
{
	u32 i;

	for (i = 0; i < refs->n; i++)
		refcount_inc(&refs->buf[i]->io);
}

/* A descriptor that was not published: nobody has seen it. */
static void desc_undo(struct mc_seg_desc *desc)
{
	mc_mem_release(desc->mem);
	useg_drained(desc);
	kfree(desc);
}

/* The buffer is the last one of the segment, which is as long as the descriptor says. */
static void answer(struct mc_useg *us, struct mc_buf *buf, struct mc_seg_export *arg, u64 len, u32 gen)
{
	memcpy(arg->out_seg_uuid, us->seg.target.seg_uuid, MC_UUID_LEN);
	arg->out_off = len - buf->len;
	arg->out_len = len;
	arg->out_gen = gen;
}

/* ---- a file's list ---- */

static struct mc_useg *find_name(struct mc_ctx *ctx, const char *name)
{
	struct mc_useg *us;

	lockdep_assert_held(&ctx->export_lock);
	list_for_each_entry(us, &ctx->exports, link)
		if (!strcmp(us->seg.name, name))
			return us;
	return NULL;
}

static struct mc_useg *find_uuid(struct mc_ctx *ctx, const u8 *uuid)
{
	struct mc_useg *us;

	lockdep_assert_held(&ctx->export_lock);
	list_for_each_entry(us, &ctx->exports, link)
		if (!memcmp(us->seg.target.seg_uuid, uuid, MC_UUID_LEN))
			return us;
	return NULL;
}

static bool has(struct mc_useg *us, struct mc_buf *buf)
{
	const struct buf_refs *refs = refs_of(us);
	u32 i;

	for (i = 0; i < refs->n; i++)
		if (refs->buf[i] == buf)
			return true;
	return false;
}

static void end(struct mc_ctx *ctx, struct mc_useg *us)
{
	lockdep_assert_held(&ctx->export_lock);
	list_del_init(&us->link);
	ctx->nexports--;
	mc_event_seg_gone(NULL, us->seg.target.seg_uuid, us->seg.name, us->pid,
			  READ_ONCE(ctx->dying) ? MC_REASON_EXIT : MC_REASON_ASKED);
	mc_seg_retire(&us->seg);
}

static int export_new(struct mc_ctx *ctx, struct mc_buf *buf, const char *name, struct mc_seg_export *arg)
{
	struct mc_seg_desc *desc;
	struct mc_useg *us;
	int ret;

	if (ctx->nexports >= MC_MAX_EXPORTS)
		return -ENOSPC;
	us = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*us), GFP_KERNEL_ACCOUNT);
	if (!us)
		return -ENOMEM;
	mc_seg_init(&us->seg, &useg_ops, name, buf->len, arg->rights);
	us->seg.target.needs_grant = false;
	us->pid = ctx->pid;
	us->uid = ctx->uid;
	desc = desc_new(us, buf, 1);
	if (!desc) {
		mc_seg_abandon(&us->seg);
		return -ENOMEM;
	}
	refs_get(desc->priv);
	answer(us, buf, arg, desc->len, 1);
	ret = mc_seg_publish(&us->seg, desc);
	if (ret) {
		desc_undo(desc);
		mc_seg_abandon(&us->seg);
		return ret;
	}
	list_add_tail(&us->link, &ctx->exports);
	ctx->nexports++;
	return 0;
}

static int export_more(struct mc_useg *us, struct mc_buf *buf, struct mc_seg_export *arg)
{
	struct mc_seg_desc *desc;
	int ret;

	if (arg->rights != us->seg.target.rights)
		return -EACCES;
	if (has(us, buf))
		return -EEXIST;
	if (refs_of(us)->n >= MC_MAX_EXPORT_BUFS)
		return -ENOSPC;
	desc = desc_new(us, buf, us->seg.target.gen + 1);
	if (!desc)
		return -ENOMEM;
	refs_get(desc->priv);
	answer(us, buf, arg, desc->len, desc->gen);
	ret = mc_seg_replace(&us->seg, desc);
	/* Only this file retires it, and takes it off the list first, under the lock that is held here. */
	if (WARN_ON_ONCE(ret))
		desc_undo(desc);
	return ret;
}

static int export_buf(struct mc_ctx *ctx, struct mc_buf *buf, const char *name, struct mc_seg_export *arg)
{
	struct mc_useg *us;
	int ret = -ENOENT;

	if (mutex_lock_killable(&ctx->export_lock))
		return -EINTR;
	/* Its unregistration waits for the lock and then ends the segments that have it: this one would be missed. */
	if (!READ_ONCE(buf->gone)) {
		us = find_name(ctx, name);
		ret = us ? export_more(us, buf, arg) : export_new(ctx, buf, name, arg);
	}
	mutex_unlock(&ctx->export_lock);
	return ret;
}

int mc_useg_export(struct mc_ctx *ctx, struct mc_seg_export *arg)
{
	char name[MC_NAME_LEN];
	struct mc_buf *buf;
	int ret;

	if (arg->flags || arg->resv || arg->rights & ~(MC_RIGHT_READ | MC_RIGHT_WRITE) ||
	    arg->rights == MC_RIGHT_WRITE || mc_name_trim(arg->name, name))
		return -EINVAL;
	buf = mc_buf_get(ctx, arg->buf_id);
	if (!buf)
		return -ENOENT;
	ret = -EINVAL;
	if (!buf->mem->page_off && !(buf->len & ~PAGE_MASK))
		ret = export_buf(ctx, buf, name, arg);
	mc_buf_put(buf);
	return ret;
}

int mc_useg_unexport(struct mc_ctx *ctx, const u8 *uuid)
{
	struct mc_useg *us;

	mutex_lock(&ctx->export_lock);
	us = find_uuid(ctx, uuid);
	if (us)
		end(ctx, us);
	mutex_unlock(&ctx->export_lock);
	return us ? 0 : -ENOENT;
}

void mc_useg_drop_buf(struct mc_ctx *ctx, struct mc_buf *buf)
{
	struct mc_useg *us, *next;

	mutex_lock(&ctx->export_lock);
	list_for_each_entry_safe(us, next, &ctx->exports, link)
		if (has(us, buf))
			end(ctx, us);
	mutex_unlock(&ctx->export_lock);
}

void mc_useg_unexport_all(struct mc_ctx *ctx)
{
	struct mc_useg *us, *next;

	mutex_lock(&ctx->export_lock);
	list_for_each_entry_safe(us, next, &ctx->exports, link)
		end(ctx, us);
	mutex_unlock(&ctx->export_lock);
}
