// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/netlink.h>

#include "event.h"
#include "fault.h"
#include "genl.h"
#include "mem.h"
#include "pool.h"

static atomic_t pools_quarantined = ATOMIC_INIT(0);	/* destroyed, pages not freed yet */
static atomic_t pool_structs = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(pools_freed);
static struct kobject *pools_kobj;

static void pool_kobj_release(struct kobject *kobj)
{
	struct mc_pool *pool = container_of(kobj, struct mc_pool, kobj);

	kfree_rcu(pool, seg.rcu);
	if (atomic_dec_and_test(&pool_structs))
		wake_up_all(&pools_freed);
}

#define POOL_ATTR(_name, _fmt, _expr) \
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_pool *pool = container_of(kobj, struct mc_pool, kobj); \
	\
	return sysfs_emit(buf, _fmt "\n", _expr); \
} \
static struct kobj_attribute pool_##_name = __ATTR_RO(_name)

POOL_ATTR(name, "%s", pool->seg.name);
POOL_ATTR(len, "%llu", pool->seg.target.len);
POOL_ATTR(numa_node, "%d", pool->numa_node);
POOL_ATTR(page_size, "%u", pool->page_size);
POOL_ATTR(leases, "%d", atomic_read(&pool->seg.leases));

static struct attribute *pool_attrs[] = {
	&pool_name.attr, &pool_len.attr, &pool_numa_node.attr, &pool_page_size.attr, &pool_leases.attr, NULL
};
ATTRIBUTE_GROUPS(pool);

static const struct kobj_type pool_ktype = {
	.release = pool_kobj_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = pool_groups,
};

int mc_pool_init(void)
{
	int ret = mc_seg_start();

	if (ret)
		return ret;
	pools_kobj = kobject_create_and_add("pools", mc_kobj);
	if (pools_kobj)
		return 0;
	mc_seg_exit();
	return -ENOMEM;
}

/* Live pools hold the module, so only quarantined ones can be left. */
void mc_pool_exit(void)
{
	mc_seg_exit();
	wait_event(pools_freed, !atomic_read(&pool_structs));
	kobject_put(pools_kobj);
}

static void pool_drained(struct mc_seg_desc *desc)
{
	atomic_dec(&pools_quarantined);
}

static void pool_free(struct mc_seg *seg)
{
	kobject_put(&mc_seg_pool(seg)->kobj);
}

static const struct mc_seg_ops pool_seg_ops = {
	.drained = pool_drained,
	.free = pool_free,
};

struct mc_pool *mc_pool_nth(unsigned long n)
{
	struct mc_seg *seg = mc_seg_nth(n, &pool_seg_ops);

	return seg ? mc_seg_pool(seg) : NULL;
}

void mc_pool_put(struct mc_pool *pool)
{
	mc_seg_put(&pool->seg);
}

u32 mc_pool_count(void)
{
	return mc_seg_count(&pool_seg_ops);
}

u32 mc_pool_quarantined(void)
{
	return atomic_read(&pools_quarantined);
}

static int check_create(const char *name, u64 len, int numa_node, u32 page_size, struct netlink_ext_ack *extack)
{
	unsigned long avail = si_mem_available();

	if (!*name || strnlen(name, MC_NAME_LEN) == MC_NAME_LEN) {
		mc_ext_err(extack, "pool name must have 1 to 63 bytes");
		return -EINVAL;
	}
	if (page_size != MC_PAGE_4K && page_size != MC_PAGE_2M) {
		mc_ext_err(extack, "page size %u is neither 4096 nor 2097152", page_size);
		return -EINVAL;
	}
	if (!len || len % page_size) {
		mc_ext_err(extack, "pool size %llu is not a multiple of the page size %u", len, page_size);
		return -EINVAL;
	}
	if (len >> PAGE_SHIFT > avail) {
		mc_ext_err(extack, "pool size %llu is more than the %llu bytes of memory that are available", len,
			   (u64)avail << PAGE_SHIFT);
		return -ENOMEM;
	}
	if (numa_node != NUMA_NO_NODE && (numa_node < 0 || numa_node >= MAX_NUMNODES || !node_online(numa_node))) {
		mc_ext_err(extack, "NUMA node %d is not online", numa_node);
		return -EINVAL;
	}
	return 0;
}

/* The directory first: what is in the table can be destroyed, and then the directory goes. */
static int publish(struct mc_pool *pool, struct mc_seg_desc *desc, struct netlink_ext_ack *extack)
{
	int ret = kobject_add(&pool->kobj, pools_kobj, "%pUb", pool->seg.target.seg_uuid);

	if (ret)
		return ret;
	ret = mc_seg_publish(&pool->seg, desc);
	if (ret == -EEXIST)
		mc_ext_err(extack, "a segment named '%s' exists", pool->seg.name);
	if (ret)
		kobject_del(&pool->kobj);
	return ret;
}

static int create(struct mc_pool *pool, u64 len, struct netlink_ext_ack *extack)
{
	struct mc_mem *mem = mc_mem_alloc_pool(len, pool->numa_node, pool->page_size);
	struct mc_seg_desc *desc;
	int ret;

	if (IS_ERR(mem)) {
		mc_ext_err(extack, "no memory for a pool of %llu bytes in pages of %u", len, pool->page_size);
		return PTR_ERR(mem);
	}
	desc = mc_seg_desc_new(&pool->seg, mem, 1);
	ret = desc ? publish(pool, desc, extack) : -ENOMEM;
	if (ret) {
		kfree(desc);
		mc_mem_release(mem);
	}
	return ret;
}

int mc_pool_create(const char *name, u64 len, int numa_node, u32 page_size, u8 *uuid, struct netlink_ext_ack *extack)
{
	struct mc_pool *pool;
	int ret = check_create(name, len, numa_node, page_size, extack);

	if (ret)
		return ret;
	pool = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	atomic_inc(&pool_structs);
	kobject_init(&pool->kobj, &pool_ktype);
	mc_seg_init(&pool->seg, &pool_seg_ops, name, len, MC_RIGHT_READ | MC_RIGHT_WRITE);
	memcpy(uuid, pool->seg.target.seg_uuid, MC_UUID_LEN);
	pool->numa_node = numa_node;
	pool->page_size = page_size;
	ret = create(pool, len, extack);
	if (ret)
		mc_seg_abandon(&pool->seg);
	return ret;
}

int mc_pool_destroy(const u8 *uuid)
{
	struct mc_seg *seg = mc_seg_find(uuid);
	int ret = -ENOENT;

	if (!seg)
		return -ENOENT;
	/* Counted before the release work, which may run at once, counts back. */
	atomic_inc(&pools_quarantined);
	if (seg->ops == &pool_seg_ops && mc_seg_retire(seg)) {
		mc_event_seg_gone(NULL, uuid, seg->name, 0, MC_REASON_ASKED);
		kobject_del(&mc_seg_pool(seg)->kobj);
		ret = 0;
	} else {
		atomic_dec(&pools_quarantined);
	}
	mc_seg_put(seg);
	return ret;
}
