/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that devices may touch: pages of a user buffer (pinned) or of a pool (allocated).
 *
 * struct mc_mem is the junction of the two halves of the module: buffers and pools own one each, and the RDMA half hangs
 * its registrations (struct mc_mrset, one a device) on it. Its pages are let go in one place only, mc_mem_release(),
 * which runs in process context after mc_net_forget_mem() has returned: no registration is left on any device then.
 */
#ifndef MC_MEM_H
#define MC_MEM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct mc_acct;

/**
 * enum mc_mem_kind - where the pages come from
 * @MC_MEM_USER: pinned with FOLL_LONGTERM; never remotely accessible
 * @MC_MEM_POOL: allocated and zeroed by mc_pool_create(); remotely accessible, whole pages
 */
enum mc_mem_kind { MC_MEM_USER, MC_MEM_POOL };

/**
 * struct mc_mem - pages, and the registrations that cover them
 * @kind: see enum mc_mem_kind
 * @page_off: offset of byte 0 in the first page (0 for a pool)
 * @len: bytes
 * @npages: entries of @pages
 * @pages: every 4 KiB page in order; constant from creation to release
 * @acct: who pays for pinned pages, NULL for pools
 * @mr_lock: protects @mrsets and @forgotten; may be held over device registration, so sleepable
 * @mrsets: registrations by device (struct mc_mrset.mem_link), owned by the RDMA half
 * @forgotten: set once by mc_net_forget_mem(): no registration can be added any more
 */
struct mc_mem {
	enum mc_mem_kind kind;
	u32 page_off;
	u64 len;
	unsigned long npages;
	struct page **pages;
	struct mc_acct *acct;
	struct mutex mr_lock;
	struct list_head mrsets;
	bool forgotten;
};

struct mc_mem *mc_mem_pin_user(u64 addr, u64 len);
struct mc_mem *mc_mem_alloc_pool(u64 len, int numa_node, u32 page_size);
void mc_mem_release(struct mc_mem *mem);

#endif /* MC_MEM_H */
