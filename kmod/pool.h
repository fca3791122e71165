/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools: segments that belong to the node and to no process (see seg.h for references and the end).
 *
 * The kobject's reference belongs to the segment's structure: it is dropped when that would be freed, and the last of
 * it, which may be that of an open sysfs file, frees the pool.
 */
#ifndef MC_POOL_H
#define MC_POOL_H

#include <linux/kobject.h>

#include "seg.h"

struct netlink_ext_ack;

#define MC_PAGE_4K	4096u
#define MC_PAGE_2M	(2u << 20)

/**
 * struct mc_pool - one pool
 * @kobj: see the top of this file; /sys/class/misc/mooncake/pools/UUID
 * @seg: the segment
 * @numa_node: as asked for
 * @page_size: as asked for
 */
struct mc_pool {
	struct kobject kobj;
	struct mc_seg seg;
	int numa_node;
	u32 page_size;
};

int mc_pool_init(void);
void mc_pool_exit(void);

/**
 * mc_pool_create - make a pool
 * @name: not empty, unique
 * @len: bytes, a multiple of @page_size
 * @numa_node: node, or NUMA_NO_NODE
 * @page_size: MC_PAGE_4K or MC_PAGE_2M
 * @uuid: result
 * @extack: says what is wrong
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOMEM, -EINTR.
 */
int mc_pool_create(const char *name, u64 len, int numa_node, u32 page_size, u8 *uuid, struct netlink_ext_ack *extack);

/**
 * mc_pool_destroy - begin the end of a pool
 * @uuid: segment
 *
 * Return: 0 at once, -ENOENT.
 */
int mc_pool_destroy(const u8 *uuid);

/**
 * mc_pool_nth - the n-th live pool
 * @n: from 0
 *
 * Return: pool with a reference (mc_pool_put()), or NULL.
 */
struct mc_pool *mc_pool_nth(unsigned long n);
void mc_pool_put(struct mc_pool *pool);
u32 mc_pool_count(void);		/* live ones */
u32 mc_pool_quarantined(void);		/* destroyed, pages not freed yet */

static inline struct mc_pool *mc_seg_pool(struct mc_seg *seg)
{
	return container_of(seg, struct mc_pool, seg);
}

#endif /* MC_POOL_H */
