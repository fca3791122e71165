/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that devices may touch: pages of a user buffer (pinned), of a pool (allocated), or of buffers that are
 * exported (a view: the pages are those of the buffers, registered once more with the rights of the export).
 *
 * struct mc_mem is the junction of the two halves of the module: buffers and pools own one each, and the RDMA half
 * hangs its registrations (struct mc_mrset, one a device) on it. Its pages are let go in one place only,
 * mc_mem_release(), which runs in process context after mc_net_forget_mem() has returned: no registration is left on
 * any device then.
 */
#ifndef MC_MEM_H
#define MC_MEM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "extent.h"

struct mm_struct;
struct user_struct;

/**
 * enum mc_mem_kind - where the pages come from
 * @MC_MEM_USER: pinned with FOLL_LONGTERM; never remotely accessible
 * @MC_MEM_POOL: allocated and zeroed by mc_pool_create(); remotely accessible, whole pages
 * @MC_MEM_VIEW: pages of buffers, whose owner keeps them pinned until the view is released; whole pages
 */
enum mc_mem_kind { MC_MEM_USER, MC_MEM_POOL, MC_MEM_VIEW };

/**
 * struct mc_mem - pages, and the registrations that cover them
 * @kind: see enum mc_mem_kind
 * @rights: what peers may do, MC_RIGHT_*; 0 for a buffer
 * @block_order: pool: order of the allocated blocks
 * @page_off: offset of byte 0 in the first page (0 for pools and views)
 * @len: bytes
 * @npages: 4 KiB pages
 * @ext: the pages as runs; constant from creation to release
 * @acct: who pays for pinned pages, NULL for pools and views
 * @mr_lock: protects @mrsets and @forgotten; may be held over device registration, so sleepable
 * @mrsets: registrations by device (struct mc_mrset.mem_link), owned by the RDMA half
 * @maps: mappings of it in processes (struct mc_map), owned by map.c
 * @forgotten: set once by mc_net_forget_mem(): no registration can be added any more
 */
struct mc_mem {
	enum mc_mem_kind kind;
	u32 rights;
	unsigned int block_order;
	u32 page_off;
	u64 len;
	unsigned long npages;
	struct mc_extents ext;
	struct mc_acct *acct;
	struct mutex mr_lock;
	struct list_head mrsets;
	struct list_head maps;
	bool forgotten;
};

/**
 * struct mc_acct - who pays for pinned pages: the user that opened the file
 * @kref: one for the context, one for each pinned memory
 * @user: its locked_vm is charged, against the RLIMIT_MEMLOCK of whoever registers
 * @pages: charged for this file
 * @mm: its pinned_vm mirrors the charge; memory of the structure only, the address space may be gone
 */
struct mc_acct {
	struct kref kref;
	struct user_struct *user;
	atomic_long_t pages;
	struct mm_struct *mm;
};

struct mc_acct *mc_acct_create(void);
void mc_acct_put(struct mc_acct *acct);

/**
 * mc_mem_pin_user - pin a range of the current address space
 * @acct: who pays; a reference is taken
 * @addr: start
 * @len: bytes, checked by the caller against wrap-around and limits
 *
 * Context: process, sleeps, takes the mmap lock.
 * Return: memory, or ERR_PTR: see struct mc_buf_reg; nothing is pinned or charged then.
 */
struct mc_mem *mc_mem_pin_user(struct mc_acct *acct, u64 addr, u64 len);

/**
 * mc_mem_alloc_pool - allocate zeroed pages
 * @len: bytes, a multiple of @page_size
 * @numa_node: node, or NUMA_NO_NODE
 * @page_size: 4096 or 2097152: how large the blocks are
 *
 * Return: memory, or ERR_PTR(-ENOMEM), ERR_PTR(-EINTR).
 */
struct mc_mem *mc_mem_alloc_pool(u64 len, int numa_node, u32 page_size);

/**
 * mc_mem_view - the pages of some memories one after the other
 * @parts: memories of whole pages, alive and pinned until the view is released
 * @n: how many, at least 1
 * @rights: what peers may do
 *
 * Return: memory, or NULL.
 */
struct mc_mem *mc_mem_view(struct mc_mem **parts, u32 n, u32 rights);

/**
 * mc_mem_release - let the pages go
 * @mem: memory; no registration is left (mc_net_forget_mem() has returned)
 */
void mc_mem_release(struct mc_mem *mem);

/**
 * mc_mem_copy - copy between two memories
 * @dst: destination
 * @dst_off: first byte
 * @src: source
 * @src_off: first byte
 * @len: bytes; both ranges are inside
 */
void mc_mem_copy(struct mc_mem *dst, u64 dst_off, struct mc_mem *src, u64 src_off, size_t len);

/* The page that a byte is in. */
static inline struct page *mc_mem_page(const struct mc_mem *mem, u64 off)
{
	return mc_extents_page(&mem->ext, (mem->page_off + off) >> PAGE_SHIFT);
}

/* Pages pinned for buffers now, for sysfs. */
u64 mc_mem_pinned_pages(void);

#endif /* MC_MEM_H */
