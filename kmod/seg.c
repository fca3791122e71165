// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <linux/wait.h>

#include "fault.h"
#include "local.h"
#include "map.h"
#include "mem.h"
#include "seg.h"
#include "seg_sysfs.h"

static DEFINE_MUTEX(segs_lock);
static DEFINE_HASHTABLE(segs_table, 8);
static LIST_HEAD(segs_list);
static struct workqueue_struct *seg_wq;	/* ends of descriptors; no work in it waits for other work in it */
static atomic_t segs_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(segs_wait);

static u32 hash(const u8 *uuid)
{
	u32 h;

	memcpy(&h, uuid, sizeof(h));	/* random bytes */
	return h;
}

/*
 * Their own: each waits for as long as the slowest peer needs to let go, and there may be as many as there are
 * segments. On mc_wq they would keep the deadlines of requests from running.
 */
int mc_seg_start(void)
{
	seg_wq = alloc_workqueue("mooncake_seg", WQ_UNBOUND, 0);
	return seg_wq ? 0 : -ENOMEM;
}

/* The works that are left are queued or running; each drops a reference of its segment. */
void mc_seg_exit(void)
{
	flush_workqueue(mc_wq);
	wait_event(segs_wait, !atomic_read(&segs_alive));
	destroy_workqueue(seg_wq);
}

void mc_seg_init(struct mc_seg *seg, const struct mc_seg_ops *ops, const char *name, u64 len, u32 rights)
{
	u8 uuid[MC_UUID_LEN];

	kref_init(&seg->kref);
	seg->ops = ops;
	generate_random_uuid(uuid);
	mc_target_init(&seg->target, &mc_local_ops, uuid, len, true);
	seg->target.rights = rights;
	mc_seg_get(seg);	/* for all of target's references together: mc_local_ops.release */
	strscpy(seg->name, name, sizeof(seg->name));
	RCU_INIT_POINTER(seg->desc, NULL);
	atomic_set(&seg->leases, 0);
	atomic_inc(&segs_alive);
}

void mc_seg_abandon(struct mc_seg *seg)
{
	mc_target_put(&seg->target);
	mc_seg_put(seg);
}

void mc_seg_get(struct mc_seg *seg)
{
	kref_get(&seg->kref);
}

static void seg_free(struct kref *kref)
{
	struct mc_seg *seg = container_of(kref, struct mc_seg, kref);

	seg->ops->free(seg);
	if (atomic_dec_and_test(&segs_alive))
		wake_up_all(&segs_wait);
}

void mc_seg_put(struct mc_seg *seg)
{
	kref_put(&seg->kref, seg_free);
}

/* ---- descriptors ---- */

/* At once, while local requests may still be copying: a peer must not wait for them to learn that it is over. */
static void desc_tell_work(struct work_struct *work)
{
	struct mc_seg_desc *desc = container_of(work, struct mc_seg_desc, tell_work);

	mc_net_tell_mem(desc->mem);
	mc_seg_desc_put(desc);
}

/* The life reference of a descriptor that is not the current one any more goes on to its tell work. */
static void desc_end(struct mc_seg_desc *desc)
{
	desc->quarantine.mem = desc->mem;
	desc->quarantine.io = &desc->io;
	desc->quarantine.seg = desc->seg->target.seg_uuid;
	mc_quarantine_add(&desc->quarantine);
	queue_work(seg_wq, &desc->tell_work);
}

static void desc_release_work(struct work_struct *work)
{
	struct mc_seg_desc *desc = container_of(work, struct mc_seg_desc, release_work);
	struct mc_seg *seg = desc->seg;

	mc_map_end_mem(desc->mem);
	mc_net_forget_mem(desc->mem);
	mc_quarantine_del(&desc->quarantine);
	mc_mem_release(desc->mem);
	seg->ops->drained(desc);
	kfree_rcu(desc, rcu);
	mc_seg_put(seg);
}

struct mc_seg_desc *mc_seg_desc_new(struct mc_seg *seg, struct mc_mem *mem, u32 gen)
{
	struct mc_seg_desc *desc = mc_fault_hit(alloc) ? NULL : kzalloc(sizeof(*desc), GFP_KERNEL_ACCOUNT);

	if (!desc)
		return NULL;
	refcount_set(&desc->io, 1);
	desc->seg = seg;
	desc->gen = gen;
	desc->len = mem->len;
	desc->mem = mem;
	INIT_WORK(&desc->tell_work, desc_tell_work);
	INIT_WORK(&desc->release_work, desc_release_work);
	return desc;
}

/*
 * A descriptor that is found with no references left was replaced, or its segment retired, just now: look again. That
 * ends because whoever dropped the last one had first put the successor, or NULL, in its place.
 */
struct mc_seg_desc *mc_seg_desc_get(struct mc_seg *seg)
{
	struct mc_seg_desc *desc;

	rcu_read_lock();
	do {
		desc = rcu_dereference(seg->desc);
	} while (desc && !mc_seg_desc_tryget(desc));
	rcu_read_unlock();
	return desc;
}

void mc_seg_desc_put(struct mc_seg_desc *desc)
{
	if (refcount_dec_and_test(&desc->io))
		queue_work(seg_wq, &desc->release_work);
}

/* ---- the table ---- */

int mc_seg_publish(struct mc_seg *seg, struct mc_seg_desc *desc)
{
	struct mc_seg *other;
	int ret = 0;

	/* Before anybody can retire it, which takes the directory away; until it is published its files say ENODEV. */
	seg->dir = mc_seg_dir_add(seg->target.seg_uuid);
	if (IS_ERR(seg->dir))
		return PTR_ERR(seg->dir);
	mutex_lock(&segs_lock);
	list_for_each_entry(other, &segs_list, link)
		if (!strcmp(other->name, seg->name))
			ret = -EEXIST;
	if (!ret) {
		mc_seg_get(seg);	/* the descriptor's */
		rcu_assign_pointer(seg->desc, desc);
		hash_add_rcu(segs_table, &seg->node, hash(seg->target.seg_uuid));
		list_add_tail_rcu(&seg->link, &segs_list);
	}
	mutex_unlock(&segs_lock);
	if (ret)
		mc_seg_dir_del(seg->dir);
	return ret;
}

int mc_seg_replace(struct mc_seg *seg, struct mc_seg_desc *desc)
{
	struct mc_seg_desc *old;

	mutex_lock(&segs_lock);
	old = rcu_dereference_protected(seg->desc, lockdep_is_held(&segs_lock));
	if (old) {
		mc_seg_get(seg);	/* the descriptor's */
		rcu_assign_pointer(seg->desc, desc);
		/* After the descriptor: whoever sees the length finds the pages. */
		smp_store_release(&seg->target.len, desc->len);
		WRITE_ONCE(seg->target.gen, desc->gen);
	}
	mutex_unlock(&segs_lock);
	if (!old)
		return -ESTALE;
	desc_end(old);
	return 0;
}

bool mc_seg_retire(struct mc_seg *seg)
{
	struct mc_seg_desc *desc;

	mutex_lock(&segs_lock);
	desc = rcu_replace_pointer(seg->desc, NULL, lockdep_is_held(&segs_lock));
	if (desc) {
		hash_del_rcu(&seg->node);
		list_del_rcu(&seg->link);
	}
	mutex_unlock(&segs_lock);
	if (!desc)
		return false;
	mc_seg_dir_del(seg->dir);
	mc_target_put(&seg->target);
	desc_end(desc);
	mc_seg_put(seg);
	return true;
}

struct mc_seg *mc_seg_find(const u8 *uuid)
{
	struct mc_seg *seg;

	rcu_read_lock();
	hash_for_each_possible_rcu(segs_table, seg, node, hash(uuid))
		if (!memcmp(seg->target.seg_uuid, uuid, MC_UUID_LEN) && kref_get_unless_zero(&seg->kref))
			goto out;
	seg = NULL;
out:
	rcu_read_unlock();
	return seg;
}

struct mc_seg *mc_seg_find_name(const char *name)
{
	struct mc_seg *seg, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(seg, &segs_list, link) {
		if (strcmp(seg->name, name) || !kref_get_unless_zero(&seg->kref))
			continue;
		found = seg;
		break;
	}
	rcu_read_unlock();
	return found;
}

struct mc_seg *mc_seg_nth(unsigned long n, const struct mc_seg_ops *ops)
{
	struct mc_seg *seg, *found = NULL;

	mutex_lock(&segs_lock);
	list_for_each_entry(seg, &segs_list, link) {
		if ((ops && seg->ops != ops) || n--)
			continue;
		mc_seg_get(seg);
		found = seg;
		break;
	}
	mutex_unlock(&segs_lock);
	return found;
}

u32 mc_seg_count(const struct mc_seg_ops *ops)
{
	struct mc_seg *seg;
	u32 n = 0;

	mutex_lock(&segs_lock);
	list_for_each_entry(seg, &segs_list, link)
		n += !ops || seg->ops == ops;
	mutex_unlock(&segs_lock);
	return n;
}

/* A segment that was retired meanwhile has no reference of the target to add to, or soon none: it isn't there. */
struct mc_target *mc_seg_open(const u8 *uuid)
{
	struct mc_target *target = ERR_PTR(-ENOENT);
	struct mc_seg *seg = mc_seg_find(uuid);

	if (!seg)
		return target;
	if (kref_get_unless_zero(&seg->target.kref))
		target = &seg->target;
	mc_seg_put(seg);
	return target;
}
