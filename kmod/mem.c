// SPDX-License-Identifier: GPL-2.0-only
/* Pages: pinned from user memory and paid for, or allocated for pools. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mooncake.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/userfaultfd_k.h>

#include "compat.h"
#include "dev.h"
#include "fault.h"
#include "mem.h"
#include "trace.h"

#define PIN_STEP 512	/* pages a step: between steps others get the CPU and a kill is noticed */

static atomic64_t pinned_pages;

u64 mc_mem_pinned_pages(void)
{
	return atomic64_read(&pinned_pages);
}

struct mc_acct *mc_acct_create(void)
{
	struct mc_acct *acct = kzalloc(sizeof(*acct), GFP_KERNEL_ACCOUNT);

	if (!acct)
		return NULL;
	kref_init(&acct->kref);
	acct->user = get_uid(current_user());
	acct->mm = current->mm;
	if (acct->mm)
		mmgrab(acct->mm);
	return acct;
}

static void acct_free(struct kref *kref)
{
	struct mc_acct *acct = container_of(kref, struct mc_acct, kref);

	free_uid(acct->user);
	if (acct->mm)
		mmdrop(acct->mm);
	kfree(acct);
}

void mc_acct_put(struct mc_acct *acct)
{
	kref_put(&acct->kref, acct_free);
}

static int acct_charge(struct mc_acct *acct, unsigned long npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long old = atomic_long_read(&acct->user->locked_vm), new;

	do {
		if (check_add_overflow(old, npages, &new))
			return -ENOMEM;
		if (new > limit && !capable(CAP_IPC_LOCK)) {
			pr_info_ratelimited("mooncake: user %u: RLIMIT_MEMLOCK %lu KiB, %lu in use, %lu wanted\n",
					    from_kuid_munged(&init_user_ns, acct->user->uid),
					    limit << (PAGE_SHIFT - 10), old << (PAGE_SHIFT - 10),
					    npages << (PAGE_SHIFT - 10));
			return -ENOMEM;
		}
	} while (!atomic_long_try_cmpxchg(&acct->user->locked_vm, (long *)&old, new));
	atomic_long_add(npages, &acct->pages);
	atomic64_add(npages, &acct->mm->pinned_vm);
	atomic64_add(npages, &pinned_pages);
	return 0;
}

static void acct_uncharge(struct mc_acct *acct, unsigned long npages)
{
	WARN_ON_ONCE(atomic_long_sub_return(npages, &acct->user->locked_vm) < 0);
	WARN_ON_ONCE(atomic_long_sub_return(npages, &acct->pages) < 0);
	WARN_ON_ONCE(atomic64_sub_return(npages, &acct->mm->pinned_vm) < 0);
	WARN_ON_ONCE(atomic64_sub_return(npages, &pinned_pages) < 0);
}

/* Is it of a kind whose pages stay put? NULL, or what it is. */
static const char *vma_refused(struct vm_area_struct *vma)
{
	struct inode *inode = vma->vm_file ? file_inode(vma->vm_file) : NULL;

	if (inode && S_ISCHR(inode->i_mode) && imajor(inode) == MISC_MAJOR && iminor(inode) == mc_misc.minor)
		return "a mapping of this device";
	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return "a mapping of a device";
	/* A private mapping of /dev/zero is anonymous memory. */
	if (!inode || vma_is_anonymous(vma) || is_vm_hugetlb_page(vma) || mc_mapping_is_shmem(vma->vm_file->f_mapping))
		return NULL;
	return S_ISCHR(inode->i_mode) ? "a mapping of a device" : "a mapping of a file";
}

static int refuse(unsigned long at, const char *what, int err)
{
	pr_info_ratelimited("mooncake: process %d can't register %#lx: %s\n", task_tgid_nr(current), at, what);
	return err;
}

/* Is all of [start, end) mapped, writable and of a usable kind? The mmap lock is held. */
static int check_vmas(unsigned long start, unsigned long end)
{
	while (start < end) {
		struct vm_area_struct *vma = find_vma(current->mm, start);
		const char *what;

		if (!vma || vma->vm_start > start)
			return refuse(start, "nothing is mapped there", -EFAULT);
		what = vma_refused(vma);
		if (what)
			return refuse(start, what, -EOPNOTSUPP);
		if (!(vma->vm_flags & VM_WRITE))
			return refuse(start, "the mapping is not writable", -EFAULT);
		start = vma->vm_end;
	}
	return 0;
}

/* GUP names no page; the first one of the step may be good. */
static int refuse_page(unsigned long start, unsigned long end)
{
	struct vm_area_struct *vma;

	for (vma = find_vma(current->mm, start); vma && vma->vm_start < end; vma = find_vma(current->mm, vma->vm_end))
		if (userfaultfd_armed(vma))
			return refuse(max(start, vma->vm_start), "its userfaultfd has to provide a page", -EFAULT);
	return refuse(start, "a page of it can't be had", -EFAULT);
}

/*
 * A page that only userspace can provide (userfaultfd) is EFAULT at once: without a way to drop the mmap lock the fault
 * is not waited for. Pages that can't move out of a movable zone just now are tried again.
 */
static long pin_step(unsigned long start, unsigned long n, struct page **pages)
{
	unsigned long end = start + n * PAGE_SIZE;
	int tries = 3;
	long got;

	if (mc_fault_hit(pin))
		return -ENOMEM;
	do {
		if (mmap_read_lock_killable(current->mm))
			return -EINTR;
		got = check_vmas(start, end);
		if (!got) {
			got = mc_pin_user_pages(start, n, FOLL_WRITE | FOLL_LONGTERM, pages) ?: -EFAULT;
			if (got == -EFAULT)
				refuse_page(start, end);
		}
		mmap_read_unlock(current->mm);
	} while (got == -EAGAIN && --tries);
	return got == -EAGAIN ? -ENOMEM : got;
}

static int add_pinned(struct mc_mem *mem, struct page **pages, long n)
{
	long i;

	for (i = 0; i < n; i++)
		if (mc_extents_add(&mem->ext, pages[i], 1, mem->npages - mem->ext.npages))
			return -ENOMEM;
	return 0;
}

static void unpin(struct mc_mem *mem, bool dirty)
{
	struct mc_run run;
	unsigned long n;

	if (!mem->ext.npages)
		return;
	for (mc_extents_find(&mem->ext, 0, &run); run.npages; mc_extents_next(&mem->ext, &run, n)) {
		n = min_t(unsigned long, run.npages, PIN_STEP);
		unpin_user_page_range_dirty_lock(run.page, n, dirty);
		cond_resched();
	}
}

static int pin_all(struct mc_mem *mem, unsigned long start)
{
	unsigned long step = min_t(unsigned long, mem->npages, PIN_STEP), had;
	struct page **pages = kmalloc_array(step, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	long got = pages ? 0 : -ENOMEM;

	while (got >= 0 && mem->ext.npages < mem->npages) {
		had = mem->ext.npages;
		got = pin_step(start + had * PAGE_SIZE, min(mem->npages - had, step), pages);
		if (got > 0 && add_pinned(mem, pages, got)) {
			had = mem->ext.npages - had;	/* the rest is nobody's yet */
			unpin_user_pages(pages + had, got - had);
			got = -ENOMEM;
		}
		cond_resched();
		if (got > 0 && fatal_signal_pending(current))
			got = -EINTR;
	}
	kfree(pages);
	if (got < 0)
		unpin(mem, false);
	return got < 0 ? got : 0;
}

static struct mc_mem *mem_alloc(enum mc_mem_kind kind, u64 len, u32 page_off)
{
	struct mc_mem *mem = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return NULL;
	mem->kind = kind;
	mem->len = len;
	mem->page_off = page_off;
	mem->npages = (page_off + len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	mutex_init(&mem->mr_lock);
	INIT_LIST_HEAD(&mem->mrsets);
	INIT_LIST_HEAD(&mem->maps);
	return mem;
}

static void mem_free(struct mc_mem *mem)
{
	mc_extents_free(&mem->ext);
	mutex_destroy(&mem->mr_lock);
	kfree(mem);
}

struct mc_mem *mc_mem_pin_user(struct mc_acct *acct, u64 addr, u64 len)
{
	unsigned long npages = (offset_in_page(addr) + len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	struct mc_mem *mem;
	int ret;

	if (!acct->mm)
		return ERR_PTR(-EACCES);
	/* Refuse by the limit before memory is spent on page tables of our own. */
	ret = acct_charge(acct, npages);
	if (ret)
		return ERR_PTR(ret);
	mem = mem_alloc(MC_MEM_USER, len, offset_in_page(addr));
	if (!mem) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ret = pin_all(mem, addr & PAGE_MASK);
	trace_mc_pin(addr, npages, ret);
	if (ret)
		goto err_free;
	kref_get(&acct->kref);
	mem->acct = acct;
	return mem;

err_free:
	mem_free(mem);
err_uncharge:
	acct_uncharge(acct, npages);
	return ERR_PTR(ret);
}

/* Extents are whole blocks, one or several. */
static void pool_free_pages(struct mc_mem *mem)
{
	unsigned long step = 1UL << mem->block_order;
	struct mc_run run;

	if (!mem->ext.npages)
		return;
	for (mc_extents_find(&mem->ext, 0, &run); run.npages; mc_extents_next(&mem->ext, &run, step)) {
		__free_pages(run.page, mem->block_order);
		cond_resched();
	}
}

/* One block more, or an error. */
static int pool_grow(struct mc_mem *mem, int numa_node, gfp_t gfp)
{
	struct page *page = alloc_pages_node(numa_node, gfp, mem->block_order);
	int ret;

	if (!page)
		return -ENOMEM;
	ret = mc_extents_add(&mem->ext, page, 1UL << mem->block_order, mem->npages - mem->ext.npages);
	if (ret)
		__free_pages(page, mem->block_order);
	return ret;
}

struct mc_mem *mc_mem_alloc_pool(u64 len, int numa_node, u32 page_size)
{
	struct mc_mem *mem = mem_alloc(MC_MEM_POOL, len, 0);
	/* RETRY_MAYFAIL: a pool that does not fit is refused, nobody is killed to make room for it. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	int ret = 0;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->rights = MC_RIGHT_READ | MC_RIGHT_WRITE;
	mem->block_order = get_order(page_size);
	if (mem->block_order)
		gfp |= __GFP_COMP;
	while (!ret && mem->ext.npages < mem->npages) {
		ret = pool_grow(mem, numa_node, gfp);
		cond_resched();
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
	}
	if (!ret)
		return mem;
	pool_free_pages(mem);
	mem_free(mem);
	return ERR_PTR(ret);
}

static int view_add(struct mc_mem *mem, struct mc_mem *part)
{
	struct mc_run run;
	int ret = 0;

	mc_extents_find(&part->ext, 0, &run);
	while (!ret && run.npages) {
		ret = mc_extents_add(&mem->ext, run.page, run.npages, mem->npages - mem->ext.npages);
		mc_extents_next(&part->ext, &run, run.npages);
		cond_resched();
	}
	return ret;
}

struct mc_mem *mc_mem_view(struct mc_mem **parts, u32 n, u32 rights)
{
	struct mc_mem *mem;
	u64 len = 0;
	u32 i;

	for (i = 0; i < n; i++)
		len += parts[i]->len;
	mem = mem_alloc(MC_MEM_VIEW, len, 0);
	if (!mem)
		return NULL;
	mem->rights = rights;
	for (i = 0; i < n; i++) {
		if (view_add(mem, parts[i])) {
			mem_free(mem);
			return NULL;
		}
	}
	return mem;
}

static void unpin_all(struct mc_mem *mem)
{
	unpin(mem, true);
	trace_mc_unpin(mem->npages);
	acct_uncharge(mem->acct, mem->npages);
	mc_acct_put(mem->acct);
}

void mc_mem_release(struct mc_mem *mem)
{
	/* A registration or mapping left here would still reach the pages: leak them rather than free them. */
	if (WARN_ON_ONCE(!list_empty(&mem->mrsets) || !list_empty(&mem->maps)))
		return;
	if (mem->kind == MC_MEM_USER)
		unpin_all(mem);
	else if (mem->kind == MC_MEM_POOL)
		pool_free_pages(mem);
	mem_free(mem);
}

/* Where a byte is. */
struct place {
	const struct mc_extents *ext;
	struct mc_run run;
	size_t off;	/* in the run's first page */
};

static struct place place_of(const struct mc_mem *mem, u64 off)
{
	struct place p = { .ext = &mem->ext, .off = offset_in_page(mem->page_off + off) };

	mc_extents_find(p.ext, (mem->page_off + off) >> PAGE_SHIFT, &p.run);
	return p;
}

static void advance(struct place *p, size_t n)
{
	p->off += n;
	if (p->off < PAGE_SIZE)
		return;
	p->off = 0;
	mc_extents_next(p->ext, &p->run, 1);
}

void mc_mem_copy(struct mc_mem *dst, u64 dst_off, struct mc_mem *src, u64 src_off, size_t len)
{
	struct place to = place_of(dst, dst_off), from = place_of(src, src_off);

	while (len) {
		size_t n = min3(len, (size_t)PAGE_SIZE - to.off, (size_t)PAGE_SIZE - from.off);

		memcpy_page(to.run.page, to.off, from.run.page, from.off, n);
		advance(&to, n);
		advance(&from, n);
		len -= n;
	}
}
