/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools: segments that belong to the node and to no process.
 *
 * Three counts:
 *   kobj       memory of the structure: the list, each local handle (through target.kref), each lease of a peer, sysfs
 *   target     local handles and local requests; all together hold one kobj reference
 *   io         the pool's life (1) and each local request that touches the pages
 *
 * Destroying unlinks the pool: no lookup finds it, it is dead for handles that are still open (ESTALE). It drops the
 * life count of io; the last io reference queues the release work: peers are told, registrations withdrawn, pages
 * freed.
 */
#ifndef MC_POOL_H
#define MC_POOL_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "engine.h"

struct netlink_ext_ack;

#define MC_PAGE_4K	4096u
#define MC_PAGE_2M	(2u << 20)

/**
 * struct mc_pool - one pool
 * @kobj: see the top of this file; /sys/class/misc/mooncake/pools/UUID
 * @target: what local requests reach
 * @io: see the top of this file
 * @mem: pages; NULL once they are freed
 * @name: for people, unique on this node
 * @numa_node: as asked for
 * @page_size: as asked for
 * @leases: peers that have it open, counted by the RDMA half
 * @link: in the list of live pools, or in quarantine
 * @release_work: see the top of this file
 */
struct mc_pool {
	struct kobject kobj;
	struct mc_target target;
	refcount_t io;
	struct mc_mem *mem;
	char name[MC_NAME_LEN];
	int numa_node;
	u32 page_size;
	atomic_t leases;
	struct list_head link;
	struct work_struct release_work;
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
 * mc_pool_open - the target of a pool of this node
 * @uuid: segment
 *
 * Return: target with a reference, or ERR_PTR(-ENOENT).
 */
struct mc_target *mc_pool_open(const u8 *uuid);

bool mc_pool_io_get(struct mc_pool *pool);
void mc_pool_io_put(struct mc_pool *pool);	/* does not sleep */

/**
 * mc_pool_nth - the n-th live pool
 * @n: from 0
 *
 * Return: pool with a reference, or NULL.
 */
struct mc_pool *mc_pool_nth(unsigned long n);
u32 mc_pool_count(void);		/* live ones */
u32 mc_pool_quarantined(void);		/* destroyed, pages not freed yet */

static inline struct mc_pool *mc_target_pool(struct mc_target *target)
{
	return container_of(target, struct mc_pool, target);
}

#endif /* MC_POOL_H */
