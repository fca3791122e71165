// SPDX-License-Identifier: GPL-2.0-only
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "ctx.h"
#include "engine.h"
#include "fault.h"
#include "grant.h"
#include "map.h"
#include "mem.h"
#include "seg.h"

#define FAULT_PAGES	16	/* mapped by one fault, where they are */

/**
 * struct mc_map - one mapping
 * @ref: see the top of map.h
 * @vmas: VMAs that show it
 * @link: in the table of all, by grant, until it has ended
 * @by_mem: in mem->maps until it has ended
 * @ctx: file; valid as long as there is a VMA, compared only
 * @grant_id: its grant
 * @epoch: the master's clock of the grant
 * @end: CLOCK_BOOTTIME when the grant ends, ns
 * @ext: pages of the segment; valid until it is dead
 * @first: its first page there
 * @npages: pages
 * @pgoff: offset of the first page in the device, in pages
 * @inode: device node, with a reference
 * @lock: see the top of map.h
 * @dead: no page is mapped any more
 * @timer: at @end
 * @work: ends it
 */
struct mc_map {
	refcount_t ref;
	refcount_t vmas;
	struct hlist_node link;
	struct list_head by_mem;
	struct mc_ctx *ctx;
	u32 grant_id;
	u64 epoch;
	u64 end;
	const struct mc_extents *ext;
	unsigned long first;
	unsigned long npages;
	pgoff_t pgoff;
	struct inode *inode;
	struct rw_semaphore lock;
	bool dead;
	struct hrtimer timer;
	struct work_struct work;
};

static DEFINE_SPINLOCK(maps_lock);
static DEFINE_HASHTABLE(maps_table, 10);	/* handles of one file count up: few of them meet */
static atomic_t maps = ATOMIC_INIT(0);

u32 mc_map_count(void)
{
	return atomic_read(&maps);
}

static void map_put(struct mc_map *m)
{
	if (!refcount_dec_and_test(&m->ref))
		return;
	iput(m->inode);
	kfree(m);
}

static void unlist(struct mc_map *m)
{
	spin_lock(&maps_lock);
	hash_del(&m->link);
	list_del_init(&m->by_mem);
	spin_unlock(&maps_lock);
}

/* Several may do it at a time; each returns when no entry is left. */
static void map_end(struct mc_map *m)
{
	down_write(&m->lock);
	m->dead = true;
	up_write(&m->lock);
	unmap_mapping_range(m->inode->i_mapping, (loff_t)m->pgoff << PAGE_SHIFT, (loff_t)m->npages << PAGE_SHIFT, 1);
	unlist(m);
}

static void map_end_work(struct work_struct *work)
{
	struct mc_map *m = container_of(work, struct mc_map, work);

	map_end(m);
	map_put(m);
}

static enum hrtimer_restart map_timer(struct hrtimer *timer)
{
	queue_work(mc_wq, &container_of(timer, struct mc_map, timer)->work);
	return HRTIMER_NORESTART;
}

/* The last VMA has gone, or there never was one. */
static void map_close(struct mc_map *m)
{
	unlist(m);
	if (hrtimer_cancel(&m->timer))
		map_put(m);	/* the timer's: its work won't run */
	atomic_dec(&maps);
	map_put(m);
}

static void vm_open(struct vm_area_struct *vma)
{
	struct mc_map *m = vma->vm_private_data;

	refcount_inc(&m->vmas);
}

static void vm_close(struct vm_area_struct *vma)
{
	struct mc_map *m = vma->vm_private_data;

	if (refcount_dec_and_test(&m->vmas))
		map_close(m);
}

/* A page that is mapped already is no error: neighbours may have come first. */
static vm_fault_t insert(struct mc_map *m, struct vm_fault *vmf, pgoff_t first)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PAGE_MASK, end = min(vma->vm_end, ALIGN(addr + 1, PMD_SIZE));
	struct mc_run run;
	unsigned int i;
	vm_fault_t ret;

	mc_extents_find(m->ext, m->first + first, &run);
	ret = vmf_insert_pfn(vma, addr, page_to_pfn(run.page));
	for (i = 1; i < FAULT_PAGES && ret == VM_FAULT_NOPAGE; i++) {
		addr += PAGE_SIZE;
		if (addr >= end || first + i >= m->npages)
			break;
		mc_extents_next(m->ext, &run, 1);
		if (vmf_insert_pfn(vma, addr, page_to_pfn(run.page)) != VM_FAULT_NOPAGE)
			break;
	}
	return ret;
}

static vm_fault_t vm_fault_page(struct vm_fault *vmf)
{
	struct mc_map *m = vmf->vma->vm_private_data;
	pgoff_t n = vmf->pgoff - m->pgoff;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&m->lock);
	if (!m->dead && n < m->npages && ktime_get_boottime_ns() < m->end)
		ret = insert(m, vmf, n);
	up_read(&m->lock);
	return ret;
}

static const struct vm_operations_struct map_vm_ops = {
	.open = vm_open,
	.close = vm_close,
	.fault = vm_fault_page,
};

/**
 * struct extent - what an mmap() asks for
 * @id: grant
 * @g: the grant
 * @left: ns until it ends
 * @first: first page in the segment
 * @npages: pages
 * @pad: the last page ends with bytes that are not the object's
 */
struct extent {
	u32 id;
	struct mc_grant g;
	u64 left;
	u64 first;
	unsigned long npages;
	bool pad;
};

/* Which pages of the segment, if the grant and the segment have them. */
static int check_range(struct extent *e, u64 seg_len, u64 off, u64 len)
{
	const struct mc_grant *g = &e->g;
	u64 bytes;

	if (g->off > seg_len || g->len > seg_len - g->off || !PAGE_ALIGNED(g->off))
		return -EINVAL;
	if (!PAGE_ALIGNED(g->len) && !(g->rights & MC_GRANT_WHOLE_PAGES))
		return -EINVAL;
	/* A segment ends on a page: rounding up stays inside. */
	bytes = PAGE_ALIGN(g->len);
	if (off >= bytes || len > bytes - off)
		return -EINVAL;
	e->first = (g->off + off) >> PAGE_SHIFT;
	e->npages = len >> PAGE_SHIFT;
	e->pad = !PAGE_ALIGNED(g->len) && off + len == bytes;
	return 0;
}

static int check_vma(struct mc_ctx *ctx, struct vm_area_struct *vma, struct extent *e)
{
	u64 id = (u64)vma->vm_pgoff >> (MC_OFF_GRANT_SHIFT - PAGE_SHIFT);

	if (id > U32_MAX || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	e->id = id;
	return mc_grant_find(ctx, e->id, &e->g) ?: e->g.rights & MC_GRANT_R ? mc_grant_valid(&e->g, &e->left) : -EACCES;
}

/*
 * The rest of an object's last page is nobody's: whatever an earlier owner of the page left there must not be seen. The
 * grant says so, and nobody can have been granted a write to it.
 */
static void clear_pad(struct mc_mem *mem, const struct extent *e)
{
	unsigned int used = offset_in_page(e->g.len);

	memzero_page(mc_extents_page(&mem->ext, e->first + e->npages - 1), used, PAGE_SIZE - used);
}

static struct mc_map *map_new(struct mc_ctx *ctx, struct vm_area_struct *vma, const struct extent *e,
			      struct mc_mem *mem)
{
	struct mc_map *m = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return NULL;
	refcount_set(&m->ref, 2);	/* VMAs and timer */
	refcount_set(&m->vmas, 1);
	m->ctx = ctx;
	m->grant_id = e->id;
	m->epoch = e->g.epoch;
	m->end = ktime_get_boottime_ns() + min_t(u64, e->left, S64_MAX / 2);
	m->ext = &mem->ext;
	m->first = e->first;
	m->npages = e->npages;
	m->pgoff = vma->vm_pgoff;
	m->inode = file_inode(vma->vm_file);
	ihold(m->inode);
	init_rwsem(&m->lock);
	INIT_WORK(&m->work, map_end_work);
	hrtimer_init(&m->timer, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	m->timer.function = map_timer;
	atomic_inc(&maps);
	spin_lock(&maps_lock);
	hash_add(maps_table, &m->link, e->id);
	list_add_tail(&m->by_mem, &mem->maps);
	spin_unlock(&maps_lock);
	hrtimer_start(&m->timer, ns_to_ktime(m->end), HRTIMER_MODE_ABS);
	return m;
}

static int map_desc(struct mc_ctx *ctx, struct vm_area_struct *vma, struct extent *e, struct mc_seg_desc *desc)
{
	u64 off = ((u64)vma->vm_pgoff << PAGE_SHIFT) & (MC_OFF_GRANT(1) - 1);
	int ret = check_range(e, desc->len, off, vma->vm_end - vma->vm_start);
	struct mc_map *m;

	if (ret)
		return ret;
	if (e->pad)
		clear_pad(desc->mem, e);
	m = map_new(ctx, vma, e, desc->mem);
	if (!m)
		return -ENOMEM;
	/* Taken away meanwhile? From here on it is found. */
	ret = check_vma(ctx, vma, e);
	if (ret) {
		map_close(m);
		return ret;
	}
	vma->vm_private_data = m;
	vma->vm_ops = &map_vm_ops;
	mc_vm_flags(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	return 0;
}

int mc_map_mmap(struct mc_ctx *ctx, struct vm_area_struct *vma)
{
	struct mc_seg_desc *desc = NULL;
	struct mc_seg *seg;
	struct extent e;
	int ret = check_vma(ctx, vma, &e);

	if (ret)
		return ret;
	seg = mc_seg_find(e.g.seg);
	if (!seg)
		return -ENOENT;
	/* What a process exports is mapped by that process. */
	if (!seg->target.needs_grant)
		ret = -EINVAL;
	else
		desc = mc_seg_desc_get(seg);
	if (desc) {
		ret = map_desc(ctx, vma, &e, desc);
		mc_seg_desc_put(desc);
	} else if (!ret) {
		ret = -ESTALE;
	}
	mc_seg_put(seg);
	return ret;
}

/* One that is being closed has no VMA any more, and is left to whoever closes it. */
static bool take(struct mc_map *m)
{
	lockdep_assert_held(&maps_lock);
	return refcount_inc_not_zero(&m->ref);
}

static void end_taken(struct mc_map *m)
{
	map_end(m);
	map_put(m);
	cond_resched();
}

static struct mc_map *take_of_grant(const struct mc_ctx *ctx, u32 id)
{
	struct mc_map *m;

	spin_lock(&maps_lock);
	hash_for_each_possible(maps_table, m, link, id)
		if (m->ctx == ctx && m->grant_id == id && take(m))
			break;
	spin_unlock(&maps_lock);
	return m;
}

static struct mc_map *take_of_other_epoch(u64 epoch)
{
	struct mc_map *m;
	int bucket;

	spin_lock(&maps_lock);
	hash_for_each(maps_table, bucket, m, link)
		if (m->epoch != epoch && take(m))
			break;
	spin_unlock(&maps_lock);
	return m;
}

/* The grant is out of the table: a mapping that is not counted yet will find that out (map_desc()). */
void mc_map_end_grant(struct mc_ctx *ctx, u32 id)
{
	struct mc_map *m;

	if (!atomic_read(&maps))
		return;
	while ((m = take_of_grant(ctx, id)))
		end_taken(m);
}

void mc_map_end_epoch(u64 epoch)
{
	struct mc_map *m;

	while ((m = take_of_other_epoch(epoch)))
		end_taken(m);
}

void mc_map_end_mem(struct mc_mem *mem)
{
	struct mc_map *m;

	for (;;) {
		spin_lock(&maps_lock);
		m = list_first_entry_or_null(&mem->maps, struct mc_map, by_mem);
		/* One on the list has a reference: it is taken off before the VMAs' is dropped. */
		if (m)
			refcount_inc(&m->ref);
		spin_unlock(&maps_lock);
		if (!m)
			return;
		end_taken(m);
	}
}
