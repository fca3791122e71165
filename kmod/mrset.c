// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "cset.h"
#include "fault.h"
#include "ibdev.h"
#include "mc_mr.h"
#include "mem.h"
#include "mrset.h"
#include "quarantine.h"
#include "trace.h"

/**
 * struct mr_chunk - one registration
 * @mr: NULL: not registered
 * @sgt: its pages, mapped for the device
 */
struct mr_chunk {
	struct ib_mr *mr;
	struct sg_table sgt;
};

/**
 * struct mc_mrset - registrations of one memory on one device
 * @mem_link: in mc_mem.mrsets
 * @dev_link: in mc_ibdev.mrsets
 * @mem: the memory
 * @dev: the device, with a reference
 * @nchunks: entries of @chunk
 * @chunk: by number
 */
struct mc_mrset {
	struct list_head mem_link;
	struct list_head dev_link;
	struct mc_mem *mem;
	struct mc_ibdev *dev;
	u64 nchunks;
	struct mr_chunk chunk[];
};

/*
 * Held over every withdrawal, so that neither memory nor device disappears while the other side of the pair is at it.
 */
static DEFINE_MUTEX(mrset_teardown);

u64 mc_mrset_nchunks(const struct mc_mem *mem, const struct mc_ibdev *dev)
{
	return (((u64)mem->npages << PAGE_SHIFT) + (1ULL << dev->chunk_shift) - 1) >> dev->chunk_shift;
}

static struct mc_mrset *find(struct mc_mem *mem, struct mc_ibdev *dev)
{
	struct mc_mrset *set;

	lockdep_assert_held(&mem->mr_lock);
	list_for_each_entry(set, &mem->mrsets, mem_link)
		if (set->dev == dev)
			return set;
	return NULL;
}

static struct mc_mrset *find_or_create(struct mc_mem *mem, struct mc_ibdev *dev)
{
	struct mc_mrset *set;
	u64 n = mc_mrset_nchunks(mem, dev);

	if (mem->forgotten)
		return ERR_PTR(-ENOENT);
	set = find(mem, dev);
	if (set)
		return set;
	set = kvzalloc(struct_size(set, chunk, n), GFP_KERNEL);
	if (!set)
		return ERR_PTR(-ENOMEM);
	set->mem = mem;
	set->dev = dev;
	set->nchunks = n;
	spin_lock(&dev->lock);
	if (dev->gone) {
		spin_unlock(&dev->lock);
		kvfree(set);
		return ERR_PTR(-ENOTCONN);
	}
	list_add_tail(&set->dev_link, &dev->mrsets);
	spin_unlock(&dev->lock);
	kref_get(&dev->kref);
	list_add_tail(&set->mem_link, &mem->mrsets);
	return set;
}

static void chunk_unmap(struct mc_mrset *set, struct mr_chunk *c)
{
	ib_dma_unmap_sgtable_attrs(set->dev->ib, &c->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&c->sgt);
}

/*
 * ib_dereg_mr() is the barrier: it returns when the device has let go of the registration, whatever was using it. If
 * it fails the device may still reach the pages: each gets a reference that is never dropped, so that nobody else
 * ever owns them.
 */
static void chunk_drop(struct mc_mrset *set, u64 idx)
{
	struct mr_chunk *c = &set->chunk[idx];
	u64 pages = 1ULL << (set->dev->chunk_shift - PAGE_SHIFT), first = idx * pages, i;
	u64 n = min_t(u64, pages, set->mem->npages - first);
	int ret;

	if (!c->mr)
		return;
	ret = ib_dereg_mr(c->mr);
	trace_mc_mr_dereg(set->dev->name, set->mem->kind == MC_MEM_POOL, idx,
			    n, ret);
	if (WARN_ONCE(ret, "mooncake: deregistration failed, pages are lost")) {
		for (i = first; i < first + n; i++)
			get_page(mc_extents_page(&set->mem->ext, i));
	} else {
		chunk_unmap(set, c);
	}
	c->mr = NULL;
}

/* One entry for each run in the chunk. */
static int chunk_table(struct sg_table *sgt, const struct mc_extents *ext, u64 first, u64 n)
{
	struct scatterlist *sg;
	struct mc_run run;
	unsigned int nents = 0;
	u64 left, here;

	mc_extents_find(ext, first, &run);
	for (left = n; left; left -= here, nents++) {
		here = min_t(u64, left, run.npages);
		mc_extents_next(ext, &run, here);
	}
	if (sg_alloc_table(sgt, nents, GFP_KERNEL))
		return -ENOMEM;
	mc_extents_find(ext, first, &run);
	for (left = n, sg = sgt->sgl; left; left -= here, sg = sg_next(sg)) {
		here = min_t(u64, left, run.npages);
		sg_set_page(sg, run.page, here << PAGE_SHIFT, 0);
		mc_extents_next(ext, &run, here);
	}
	return 0;
}

static int chunk_map(struct mc_mrset *set, struct mr_chunk *c, u64 first, u64 n)
{
	struct ib_device *ib = set->dev->ib;
	int ret;

	ret = chunk_table(&c->sgt, &set->mem->ext, first, n);
	if (ret)
		return ret;
	ret = ib_dma_map_sgtable_attrs(ib, &c->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		goto err_free;
	/* Bounced pages would be neither what a peer reads nor what it writes. */
	if (!ib_uses_virt_dma(ib) && dma_need_sync(ib->dma_device, sg_dma_address(c->sgt.sgl))) {
		ret = -EOPNOTSUPP;
		goto err_unmap;
	}
	return 0;

err_unmap:
	ib_dma_unmap_sgtable_attrs(ib, &c->sgt, DMA_BIDIRECTIONAL, 0);
err_free:
	sg_free_table(&c->sgt);
	return ret;
}

/*
 * Largest page that describes the chunk: fewer entries in the device's tables. Devices that are software take the
 * processor's pages: what they do with larger ones has changed from kernel to kernel.
 */
static unsigned int chunk_page_shift(const struct mc_mrset *set, const struct mr_chunk *c)
{
	struct ib_device *ib = set->dev->ib;
	struct scatterlist *sg;
	u64 bits = 0;
	int i;

	if (ib_uses_virt_dma(ib))
		return PAGE_SHIFT;
	for_each_sgtable_dma_sg(&c->sgt, sg, i)
		bits |= sg_dma_address(sg) | (i + 1 < c->sgt.nents ? sg_dma_len(sg) : 0);
	return mc_mr_page_shift(ib->attrs.page_size_cap, bits, PAGE_SHIFT, set->dev->chunk_shift);
}

static int chunk_register(struct mc_mrset *set, struct mc_cset *cset, struct mr_chunk *c, struct ib_mr *mr, u64 idx,
			  unsigned int page_shift)
{
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR, .mr = mr };
	int n = ib_map_mr_sg(mr, c->sgt.sgl, c->sgt.nents, NULL, 1U << page_shift);

	if (n != c->sgt.nents)
		return n < 0 ? n : -EIO;
	mr->iova = idx << set->dev->chunk_shift;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr.key = mr->rkey;
	wr.access = IB_ACCESS_LOCAL_WRITE;
	if (set->mem->rights & MC_RIGHT_READ)
		wr.access |= IB_ACCESS_REMOTE_READ;
	if (set->mem->rights & MC_RIGHT_WRITE)
		wr.access |= IB_ACCESS_REMOTE_WRITE;
	return mc_fault_hit(mr_reg) ? -EIO : mc_cset_reg(cset, &wr);
}

static int chunk_add(struct mc_mrset *set, struct mc_cset *cset, u64 idx)
{
	u64 per = 1ULL << (set->dev->chunk_shift - PAGE_SHIFT);
	u64 first = idx * per, n = min_t(u64, per, set->mem->npages - first);
	struct mr_chunk *c = &set->chunk[idx];
	unsigned int page_shift;
	struct ib_mr *mr;
	int ret;

	ret = chunk_map(set, c, first, n);
	if (ret)
		return ret;
	page_shift = chunk_page_shift(set, c);
	mr = ib_alloc_mr(set->dev->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(n, 1U << (page_shift - PAGE_SHIFT)));
	if (IS_ERR(mr)) {
		chunk_unmap(set, c);
		return PTR_ERR(mr);
	}
	ret = chunk_register(set, cset, c, mr, idx, page_shift);
	trace_mc_mr_reg(set->dev->name, set->mem->kind == MC_MEM_POOL, idx, n, ret);
	c->mr = mr;
	if (ret)
		chunk_drop(set, idx);
	return ret;
}

/* Failure of the n-th chunk takes back those before it that were not there when the call began. */
static int add_chunks(struct mc_mrset *set, struct mc_cset *cset, u64 first, u64 count)
{
	unsigned long *added = bitmap_zalloc(count, GFP_KERNEL);
	u64 i;
	int ret = 0;

	if (!added)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		if (set->chunk[first + i].mr)
			continue;
		ret = chunk_add(set, cset, first + i);
		if (!ret)
			__set_bit(i, added);
	}
	if (ret)
		for_each_set_bit(i, added, count)
			chunk_drop(set, first + i);
	bitmap_free(added);
	return ret;
}

int mc_mrset_ensure(struct mc_mem *mem, struct mc_cset *cset, u64 first, u64 count)
{
	struct mc_mrset *set;
	int ret;

	mutex_lock(&mem->mr_lock);
	set = find_or_create(mem, cset->dev);
	if (IS_ERR(set))
		ret = PTR_ERR(set);
	else if (first >= set->nchunks || count > set->nchunks - first)
		ret = -ERANGE;
	else
		ret = add_chunks(set, cset, first, count);
	mutex_unlock(&mem->mr_lock);
	return ret;
}

bool mc_mrset_lkey(struct mc_mem *mem, struct mc_ibdev *dev, u64 idx, u32 *lkey)
{
	struct mc_mrset *set;
	bool found;

	mutex_lock(&mem->mr_lock);
	set = find(mem, dev);
	found = set && idx < set->nchunks && set->chunk[idx].mr;
	if (found)
		*lkey = set->chunk[idx].mr->lkey;
	mutex_unlock(&mem->mr_lock);
	return found;
}

int mc_mrset_rkeys(struct mc_mem *mem, struct mc_ibdev *dev, u64 first, u32 count, u32 *keys)
{
	struct mc_mrset *set;
	int ret = 0;
	u32 i;

	mutex_lock(&mem->mr_lock);
	set = mem->forgotten ? NULL : find(mem, dev);
	if (!set)
		ret = -ENOENT;
	else if (first >= set->nchunks || count > set->nchunks - first)
		ret = -ERANGE;
	for (i = 0; i < count && !ret; i++) {
		if (set->chunk[first + i].mr)
			keys[i] = set->chunk[first + i].mr->rkey;
		else
			ret = -ENOENT;
	}
	mutex_unlock(&mem->mr_lock);
	return ret;
}

void mc_mrset_close_mem(struct mc_mem *mem)
{
	mutex_lock(&mem->mr_lock);
	mem->forgotten = true;
	mutex_unlock(&mem->mr_lock);
}

static void drop(struct mc_mrset *set)
{
	u64 i;

	lockdep_assert_held(&mrset_teardown);
	list_del(&set->mem_link);
	spin_lock(&set->dev->lock);
	list_del(&set->dev_link);
	spin_unlock(&set->dev->lock);
	for (i = 0; i < set->nchunks; i++) {
		chunk_drop(set, i);
		cond_resched();
	}
	mc_ibdev_put(set->dev);
	kvfree(set);
}

void mc_mrset_drop_mem(struct mc_mem *mem)
{
	struct mc_mrset *set, *next;

	mutex_lock(&mrset_teardown);
	mutex_lock(&mem->mr_lock);
	list_for_each_entry_safe(set, next, &mem->mrsets, mem_link)
		drop(set);
	mutex_unlock(&mem->mr_lock);
	mutex_unlock(&mrset_teardown);
}

void mc_mrset_drop_dev(struct mc_ibdev *dev)
{
	struct mc_mrset *set;
	struct mc_mem *mem;

	mutex_lock(&mrset_teardown);
	for (;;) {
		/* Only holders of mrset_teardown remove sets: what is first here stays, and so does its memory. */
		spin_lock(&dev->lock);
		set = list_first_entry_or_null(&dev->mrsets, struct mc_mrset, dev_link);
		spin_unlock(&dev->lock);
		if (!set)
			break;
		mem = set->mem;
		mutex_lock(&mem->mr_lock);
		drop(set);
		mutex_unlock(&mem->mr_lock);
	}
	mutex_unlock(&mrset_teardown);
}

/* Runs of chunks in the same state are one line. Returns the lines written. */
static u32 show_set(struct seq_file *m, struct mc_mrset *set, u32 max)
{
	u64 first = 0, i;
	u32 lines = 0;

	lockdep_assert_held(&set->mem->mr_lock);
	for (i = 1; i <= set->nchunks && lines < max; i++) {
		if (i < set->nchunks && !set->chunk[i].mr == !set->chunk[first].mr)
			continue;
		seq_printf(m, "%s %s pages %lu chunks %llu-%llu %s\n", set->dev->name,
			   set->mem->kind == MC_MEM_POOL ? "segment" : "buffer", set->mem->npages, first, i - 1,
			   set->chunk[first].mr ? "registered" : "unregistered");
		first = i;
		lines++;
	}
	return lines;
}

/* Sets are only added, at the end, while mrset_teardown is held; neither they nor their memory go away. */
static struct mc_mrset *next_set(struct mc_ibdev *dev, struct mc_mrset *set)
{
	struct list_head *next;

	spin_lock(&dev->lock);
	next = set ? set->dev_link.next : dev->mrsets.next;
	set = next == &dev->mrsets ? NULL : list_entry(next, struct mc_mrset, dev_link);
	spin_unlock(&dev->lock);
	return set;
}

void mc_mrset_show(struct seq_file *m, struct mc_ibdev *dev, u32 max)
{
	struct mc_mrset *set = NULL;
	u32 lines = 0;

	mutex_lock(&mrset_teardown);
	while (lines < max && (set = next_set(dev, set))) {
		mutex_lock(&set->mem->mr_lock);
		lines += show_set(m, set, max - lines);
		mutex_unlock(&set->mem->mr_lock);
	}
	mutex_unlock(&mrset_teardown);
	if (lines == max)
		seq_puts(m, "...\n");
}

static u64 registered(const struct mc_mrset *set)
{
	u64 i, n = 0;

	for (i = 0; i < set->nchunks; i++)
		n += !!set->chunk[i].mr;
	return n;
}

void mc_mrset_show_mem(struct seq_file *m, struct mc_mem *mem, struct mc_lines *lines)
{
	struct mc_mrset *set;

	if (lines->more)
		return;
	if (!mutex_trylock(&mem->mr_lock)) {
		if (!mc_lines_next(lines))
			return;
		/* By whoever registers, withdraws (which may wait for a device), or looks something up. */
		seq_printf(m, "  devices not shown: registrations of its %lu pages are locked just now\n", mem->npages);
		return;
	}
	list_for_each_entry(set, &mem->mrsets, mem_link) {
		if (!mc_lines_next(lines))
			break;
		seq_printf(m, "  device %s has %llu of %llu chunks\n", set->dev->name, registered(set), set->nchunks);
	}
	mutex_unlock(&mem->mr_lock);
}
