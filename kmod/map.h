/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings of pool extents: read-only, under a read grant, on the node that owns the pool.
 *
 * The pages belong to the pool and no mapping has a reference to them. They are mapped as page frames (VM_PFNMAP),
 * which get_user_pages() refuses: nothing can hold on to a page behind the mapping's back. So taking the page table
 * entries away is all it takes to end a mapping, and that is done
 *
 *   - when the grant ends (a timer on CLOCK_BOOTTIME), is given back, or belongs to another master's time;
 *   - before a page of the segment is freed: mc_map_end_mem() is the first thing that its release work does.
 *
 * A mapping (struct mc_map) stands for one mmap() and for all VMAs that come from it by fork, mremap and splitting;
 * they are in the tree of the device node's address_space at the offsets that they were made with, where
 * unmap_mapping_range() finds them.
 *
 * Why none is missed: entries are inserted by the fault handler only, which holds map->lock for reading and sees that
 * the mapping is not dead. Ending sets dead under the lock for writing, and unmaps afterwards: an entry is there
 * before, or not at all. fork copies entries from a parent to a child that is in the tree already, behind its parent,
 * and mremap moves them under the tree's lock or forward in it: as with truncation of a file, a walk of the tree
 * meets each of them.
 *
 * Why the walk finds the mapping: mmap() puts it into the table and on the list of its pages while it holds the
 * descriptor's pages (desc->io), so that the release work comes later; and it looks at grant and clock again
 * afterwards, because whoever took the grant away before may have looked there too early.
 *
 * References: all VMAs together have one, the timer one until it is cancelled or its work has run, each walk one.
 *
 * Locks: mmap_lock or a VMA's lock -> map->lock (held while page tables are allocated) -> page table locks. maps_lock
 * (spinlock) protects table and lists and is a leaf. unmap_mapping_range() takes the tree's lock (i_mmap_rwsem) and
 * page table locks, and is called with none of ours held and in no mmap_lock: the order can't close a circle.
 */
#ifndef MC_MAP_H
#define MC_MAP_H

#include <linux/types.h>

struct mc_ctx;
struct mc_mem;
struct vm_area_struct;

/**
 * mc_map_mmap - mmap() of an extent
 * @ctx: file
 * @vma: being made; its offset names grant and first byte, see the uapi
 *
 * Return: 0 or -errno, see MC_OFF_GRANT() in the uapi.
 */
int mc_map_mmap(struct mc_ctx *ctx, struct vm_area_struct *vma);

void mc_map_end_grant(struct mc_ctx *ctx, u32 id);	/* it was given back; sleeps */
void mc_map_end_epoch(u64 epoch);	/* another master's time: all mappings of other epochs end; sleeps */

/**
 * mc_map_end_mem - nobody sees these pages any more
 * @mem: memory that no mmap() finds any more
 *
 * Sleeps. Returns when no page table names a page of it.
 */
void mc_map_end_mem(struct mc_mem *mem);

u32 mc_map_count(void);	/* mappings that have a VMA, ended ones included */

#endif /* MC_MAP_H */
