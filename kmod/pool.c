// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <net/netlink.h>

#include "event.h"
#include "fault.h"
#include "genl.h"
#include "local.h"
#include "mem.h"
#include "pool.h"

/* Protects both lists; a pool is on exactly one of them from creation until its pages are freed. */
static DEFINE_MUTEX(pool_lock);
static LIST_HEAD(pool_live);
static LIST_HEAD(pool_quarantine);
static atomic_t pool_structs = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(pool_freed);
static struct kobject *pools_kobj;

static void pool_kobj_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct mc_pool, kobj));
	if (atomic_dec_and_test(&pool_structs))
		wake_up_all(&pool_freed);
}

#define POOL_ATTR(_name, _fmt, _expr) \
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_pool *pool = container_of(kobj, struct mc_pool, kobj); \
	\
	return sysfs_emit(buf, _fmt "\n", _expr); \
} \
static struct kobj_attribute pool_##_name = __ATTR_RO(_name)

POOL_ATTR(name, "%s", pool->name);
POOL_ATTR(len, "%llu", pool->target.len);
POOL_ATTR(numa_node, "%d", pool->numa_node);
POOL_ATTR(page_size, "%u", pool->page_size);
POOL_ATTR(leases, "%d", atomic_read(&pool->leases));

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
	pools_kobj = kobject_create_and_add("pools", mc_kobj);
	return pools_kobj ? 0 : -ENOMEM;
}

/* Live pools hold the module, so only quarantined ones can be left. Their release work is queued or running. */
void mc_pool_exit(void)
{
	flush_workqueue(mc_wq);
	wait_event(pool_freed, !atomic_read(&pool_structs));
	kobject_put(pools_kobj);
}

void mc_pool_get(struct mc_pool *pool)
{
	kobject_get(&pool->kobj);
}

void mc_pool_put(struct mc_pool *pool)
{
	kobject_put(&pool->kobj);
}

struct mc_mem *mc_pool_mem(struct mc_pool *pool)
{
	return pool->mem;
}

u64 mc_pool_len(struct mc_pool *pool)
{
	return pool->target.len;
}

static void pool_release_work(struct work_struct *work)
{
	struct mc_pool *pool = container_of(work, struct mc_pool, release_work);

	mc_net_revoke_pool(pool);
	mc_net_forget_mem(pool->mem);
	mc_mem_release(pool->mem);
	mutex_lock(&pool_lock);
	pool->mem = NULL;
	list_del_init(&pool->link);
	mutex_unlock(&pool_lock);
	mc_pool_put(pool);
}

bool mc_pool_io_get(struct mc_pool *pool)
{
	return refcount_inc_not_zero(&pool->io);
}

void mc_pool_io_put(struct mc_pool *pool)
{
	if (refcount_dec_and_test(&pool->io))
		queue_work(mc_wq, &pool->release_work);
}

static struct mc_pool *find_locked(const u8 *uuid, const char *name)
{
	struct mc_pool *pool;

	lockdep_assert_held(&pool_lock);
	list_for_each_entry(pool, &pool_live, link)
		if (uuid ? !memcmp(pool->target.seg_uuid, uuid, MC_UUID_LEN) : !strcmp(pool->name, name))
			return pool;
	return NULL;
}

struct mc_pool *mc_pool_find(const u8 *uuid)
{
	struct mc_pool *pool;

	mutex_lock(&pool_lock);
	pool = find_locked(uuid, NULL);
	if (pool)
		mc_pool_get(pool);
	mutex_unlock(&pool_lock);
	return pool;
}

struct mc_target *mc_pool_open(const u8 *uuid)
{
	struct mc_target *target = ERR_PTR(-ENOENT);
	struct mc_pool *pool;

	mutex_lock(&pool_lock);
	pool = find_locked(uuid, NULL);
	if (pool) {
		target = &pool->target;
		mc_target_get(target);
	}
	mutex_unlock(&pool_lock);
	return target;
}

struct mc_pool *mc_pool_nth(unsigned long n)
{
	struct mc_pool *pool, *found = NULL;

	mutex_lock(&pool_lock);
	list_for_each_entry(pool, &pool_live, link) {
		if (n--)
			continue;
		mc_pool_get(pool);
		found = pool;
		break;
	}
	mutex_unlock(&pool_lock);
	return found;
}

static u32 list_len(struct list_head *list)
{
	struct list_head *p;
	u32 n = 0;

	mutex_lock(&pool_lock);
	list_for_each(p, list)
		n++;
	mutex_unlock(&pool_lock);
	return n;
}

u32 mc_pool_count(void)
{
	return list_len(&pool_live);
}

u32 mc_pool_quarantined(void)
{
	return list_len(&pool_quarantine);
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

static int publish(struct mc_pool *pool, struct netlink_ext_ack *extack)
{
	int ret;

	mutex_lock(&pool_lock);
	if (find_locked(NULL, pool->name)) {
		mc_ext_err(extack, "a pool named '%s' exists", pool->name);
		ret = -EEXIST;
		goto out;
	}
	ret = kobject_add(&pool->kobj, pools_kobj, "%pUb", pool->target.seg_uuid);
	if (!ret)
		list_add_tail(&pool->link, &pool_live);
out:
	mutex_unlock(&pool_lock);
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
	generate_random_uuid(uuid);
	mc_target_init(&pool->target, &mc_local_ops, uuid, len, true);
	mc_pool_get(pool);	/* for all of target's references together: mc_local_ops.release */
	refcount_set(&pool->io, 1);
	strscpy(pool->name, name, sizeof(pool->name));
	pool->numa_node = numa_node;
	pool->page_size = page_size;
	INIT_WORK(&pool->release_work, pool_release_work);
	pool->mem = mc_mem_alloc_pool(len, numa_node, page_size);
	if (IS_ERR(pool->mem)) {
		ret = PTR_ERR(pool->mem);
		mc_ext_err(extack, "no memory for a pool of %llu bytes in pages of %u", len, page_size);
		goto err_put;
	}
	ret = publish(pool, extack);
	if (ret)
		goto err_free;
	return 0;

err_free:
	mc_mem_release(pool->mem);
err_put:
	mc_target_put(&pool->target);
	mc_pool_put(pool);
	return ret;
}

int mc_pool_destroy(const u8 *uuid)
{
	struct mc_pool *pool;

	mutex_lock(&pool_lock);
	pool = find_locked(uuid, NULL);
	if (pool)
		list_move_tail(&pool->link, &pool_quarantine);
	mutex_unlock(&pool_lock);
	if (!pool)
		return -ENOENT;
	mc_event_seg_gone(NULL, uuid, pool->name, 0, MC_REASON_ASKED);
	/* The list's reference to the structure passes to the release work. */
	kobject_del(&pool->kobj);
	mc_target_put(&pool->target);
	mc_pool_io_put(pool);
	return 0;
}
