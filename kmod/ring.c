// SPDX-License-Identifier: GPL-2.0-only
#include <linux/build_bug.h>
#include <linux/eventfd.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "ctx.h"
#include "fault.h"
#include "req.h"
#include "ring.h"

/*
 * What vmalloc_user() does, but charged to the caller's memory cgroup: open files are many. vfree() frees pages and
 * array.
 */
static void *area_alloc(u32 head, u32 entries, u32 entry_size, u32 *bytes)
{
	unsigned int n = 0, npages;
	struct page **pages;
	void *area = NULL;

	*bytes = PAGE_ALIGN(head + entries * entry_size);
	npages = *bytes >> PAGE_SHIFT;
	pages = mc_fault_hit(alloc) ? NULL : kvmalloc_array(npages, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	for (; n < npages; n++) {
		pages[n] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[n])
			break;
	}
	if (n == npages)
		area = vmap(pages, n, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (area)
		return area;
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
	return NULL;
}

static bool sizes_ok(const struct mc_ring_setup *arg)
{
	if (arg->flags || memchr_inv(arg->resv, 0, sizeof(arg->resv)))
		return false;
	if (!is_power_of_2(arg->sq_entries) || arg->sq_entries > MC_MAX_RING_ENTRIES)
		return false;
	return is_power_of_2(arg->cq_entries) && arg->cq_entries >= arg->sq_entries &&
	       arg->cq_entries <= 2 * MC_MAX_RING_ENTRIES;
}

struct mc_ring *mc_ring_create(struct mc_ring_setup *arg)
{
	struct mc_ring *ring;

	BUILD_BUG_ON(sizeof(struct mc_sqe) != 128 || sizeof(struct mc_cqe) != 64);
	BUILD_BUG_ON(sizeof(struct mc_sq_head) != 64 || sizeof(struct mc_cq_head) != 64);
	if (!sizes_ok(arg))
		return ERR_PTR(-EINVAL);
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	/* The arrays begin at a multiple of the entry size, so that no entry straddles a page. */
	ring->sq = area_alloc(sizeof(struct mc_sqe), arg->sq_entries, sizeof(struct mc_sqe), &ring->sq_bytes);
	if (!ring->sq)
		goto err_free;
	ring->cq = area_alloc(sizeof(struct mc_cqe), arg->cq_entries, sizeof(struct mc_cqe), &ring->cq_bytes);
	if (!ring->cq)
		goto err_free_sq;
	ring->sqes = (void *)ring->sq + sizeof(struct mc_sqe);
	ring->cqes = (void *)ring->cq + sizeof(struct mc_cqe);
	ring->sq_entries = arg->sq_entries;
	ring->cq_entries = arg->cq_entries;
	mutex_init(&ring->sq_mutex);
	spin_lock_init(&ring->cq_lock);
	init_waitqueue_head(&ring->wait);
	arg->out_sq_bytes = ring->sq_bytes;
	arg->out_cq_bytes = ring->cq_bytes;
	arg->out_sqe_off = sizeof(struct mc_sqe);
	arg->out_cqe_off = sizeof(struct mc_cqe);
	return ring;

err_free_sq:
	vfree(ring->sq);
err_free:
	kfree(ring);
	return ERR_PTR(-ENOMEM);
}

void mc_ring_free(struct mc_ring *ring)
{
	if (ring->eventfd)
		eventfd_ctx_put(ring->eventfd);
	vfree(ring->cq);
	vfree(ring->sq);
	mutex_destroy(&ring->sq_mutex);
	kfree(ring);
}

/* Pairs with the user's release store after it has read the entries. */
static u32 user_cq_head(struct mc_ring *ring)
{
	return smp_load_acquire(&ring->sq->cq_head);
}

static u32 ready_from(struct mc_ring *ring, u32 tail)
{
	u32 ready = tail - user_cq_head(ring);

	return min(ready, ring->cq_entries);
}

u32 mc_ring_ready(struct mc_ring *ring)
{
	return ready_from(ring, READ_ONCE(ring->cq_tail));
}

static bool reserve_slot(struct mc_ring *ring)
{
	bool ok;

	spin_lock(&ring->cq_lock);
	ok = ready_from(ring, ring->cq_tail) + ring->inflight < ring->cq_entries;
	if (ok)
		ring->inflight++;
	spin_unlock(&ring->cq_lock);
	return ok;
}

void mc_ring_complete(struct mc_ring *ring, const struct mc_cqe *cqe)
{
	bool was_empty;

	spin_lock(&ring->cq_lock);
	was_empty = user_cq_head(ring) == ring->cq_tail;
	ring->cqes[ring->cq_tail & (ring->cq_entries - 1)] = *cqe;
	ring->inflight--;
	WRITE_ONCE(ring->cq_tail, ring->cq_tail + 1);
	/* Pairs with the user's acquire load: the entry is there before the tail says so. */
	smp_store_release(&ring->cq->tail, ring->cq_tail);
	if (was_empty && ring->eventfd)
		mc_eventfd_signal(ring->eventfd);
	spin_unlock(&ring->cq_lock);
	wake_up_all(&ring->wait);
}

static int submit(struct mc_ctx *ctx, u32 to_submit, u32 *submitted)
{
	struct mc_ring *ring = ctx->ring;
	u32 avail;

	if (mutex_lock_killable(&ring->sq_mutex))
		return -EINTR;
	/* Pairs with the user's release store: entries below the tail are filled. */
	avail = smp_load_acquire(&ring->sq->tail) - ring->sq_head;
	avail = min3(avail, ring->sq_entries, to_submit);
	while (*submitted < avail && reserve_slot(ring)) {
		struct mc_sqe sqe = ring->sqes[ring->sq_head & (ring->sq_entries - 1)];

		barrier();	/* the copy above is the only read of the entry */
		ring->sq_head++;
		smp_store_release(&ring->cq->sq_head, ring->sq_head);
		mc_req_submit(ctx, &sqe);
		++*submitted;
		cond_resched();
		if (fatal_signal_pending(current))
			break;
	}
	mutex_unlock(&ring->sq_mutex);
	return 0;
}

static int wait_ready(struct mc_ring *ring, u32 n, u64 timeout_ns)
{
	int ret;

	if (mc_ring_ready(ring) >= n)
		return 0;
	if (!timeout_ns)
		return -ETIME;
	ret = wait_event_interruptible_hrtimeout(ring->wait, mc_ring_ready(ring) >= n, ns_to_ktime(timeout_ns));
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

int mc_ring_enter(struct mc_ctx *ctx, struct mc_enter *arg)
{
	struct mc_ring *ring = READ_ONCE(ctx->ring);
	int ret = 0;

	arg->out_submitted = 0;
	arg->out_ready = 0;
	if (!ring || arg->flags || arg->min_complete > ring->cq_entries || arg->timeout_ns > MC_MAX_TIMEOUT_NS)
		return -EINVAL;
	if (arg->to_submit)
		ret = submit(ctx, arg->to_submit, &arg->out_submitted);
	if (!ret && arg->min_complete)
		ret = wait_ready(ring, arg->min_complete, arg->timeout_ns);
	arg->out_ready = mc_ring_ready(ring);
	return ret;
}

int mc_ring_set_eventfd(struct mc_ring *ring, int fd)
{
	struct eventfd_ctx *new = NULL, *old;

	if (fd != -1) {
		new = eventfd_ctx_fdget(fd);
		if (IS_ERR(new))
			return PTR_ERR(new);
	}
	spin_lock(&ring->cq_lock);
	old = ring->eventfd;
	ring->eventfd = new;
	spin_unlock(&ring->cq_lock);
	if (old)
		eventfd_ctx_put(old);
	return 0;
}

int mc_ring_mmap(struct mc_ring *ring, struct vm_area_struct *vma)
{
	u64 off = (u64)vma->vm_pgoff << PAGE_SHIFT, len = vma->vm_end - vma->vm_start;
	bool cq = off >= MC_OFF_CQ;
	u64 bytes = cq ? ring->cq_bytes : ring->sq_bytes;

	if (vma->vm_pgoff > MC_OFF_CQ >> (PAGE_SHIFT - 1))
		return -EINVAL;
	off -= cq ? MC_OFF_CQ : MC_OFF_SQ;
	if (!(vma->vm_flags & VM_SHARED) || off >= bytes || len > bytes - off)
		return -EINVAL;
	if ((vma->vm_flags & VM_EXEC) || (cq && (vma->vm_flags & VM_WRITE)))
		return -EACCES;
	mc_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC | (cq ? VM_MAYWRITE : 0));
	return remap_vmalloc_range(vma, cq ? (void *)ring->cq : (void *)ring->sq, off >> PAGE_SHIFT);
}
