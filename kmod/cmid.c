// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "cmid.h"
#include "ibdev.h"

#define STUCK_JIFFIES	(5 * HZ)	/* an id whose destruction takes longer is stuck, and what waits behind it */

/* Of its own, since its work may take for ever. */
static struct workqueue_struct *cmid_wq;

/* That many wait is no reason by itself: they may be the end of many connections at once, which takes its time. */
static bool stuck(struct mc_ibdev *dev)
{
	return atomic_read(&dev->nids) >= MC_CMIDS_MAX &&
	       time_after(jiffies, READ_ONCE(dev->ids_since) + STUCK_JIFFIES);
}

struct mc_cmid_end *mc_cmid_end_new(struct mc_ibdev *dev)
{
	struct mc_cmid_end *end;

	if (stuck(dev)) {
		pr_warn_ratelimited("mooncake: %s: the last messages of %u connections have not been sent\n", dev->name,
				    MC_CMIDS_MAX);
		return ERR_PTR(-EBUSY);
	}
	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return ERR_PTR(-ENOMEM);
	end->dev = dev;
	return end;
}

static int deaf(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

void mc_cmid_deafen(struct rdma_cm_id *id)
{
	rdma_lock_handler(id);
	id->event_handler = deaf;
	id->context = NULL;
	rdma_unlock_handler(id);
}

void mc_cmid_destroy(struct mc_cmid_end *end, struct rdma_cm_id *id)
{
	struct mc_ibdev *dev = end->dev;

	end->id = id;
	/* The first: what the stamp says is of another time. */
	if (atomic_inc_return(&dev->nids) == 1)
		WRITE_ONCE(dev->ids_since, jiffies);
	/* The work item's. It may have taken this id before queue_work() begins: then it runs once more for nothing. */
	kref_get(&dev->kref);
	llist_add(&end->link, &dev->ids);
	if (!queue_work(cmid_wq, &dev->ids_work))
		mc_ibdev_put(dev);
}

static void ids_work(struct work_struct *work)
{
	struct mc_ibdev *dev = container_of(work, struct mc_ibdev, ids_work);
	struct mc_cmid_end *end, *next;
	struct llist_node *ids = llist_del_all(&dev->ids);

	llist_for_each_entry_safe(end, next, ids, link) {
		WRITE_ONCE(dev->ids_since, jiffies);
		rdma_destroy_id(end->id);
		atomic_dec(&dev->nids);
		kfree(end);
	}
	mc_ibdev_put(dev);
}

void mc_cmid_dev_init(struct mc_ibdev *dev)
{
	init_llist_head(&dev->ids);
	INIT_WORK(&dev->ids_work, ids_work);
}

void mc_cmid_dev_wait(struct mc_ibdev *dev)
{
	flush_work(&dev->ids_work);
}

int mc_cmid_init(void)
{
	cmid_wq = alloc_workqueue("mooncake_cmid", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return cmid_wq ? 0 : -ENOMEM;
}

void mc_cmid_exit(void)
{
	destroy_workqueue(cmid_wq);
}
