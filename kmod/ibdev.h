/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA devices that can carry rails.
 *
 * Each usable device has two protection domains: memory registrations and data queue pairs live in @pd, control queue
 * pairs in @ctrl_pd. A node that has not proven who it is only reaches the second one, in which nothing is remotely
 * accessible.
 */
#ifndef MC_IBDEV_H
#define MC_IBDEV_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct netlink_ext_ack;

/**
 * struct mc_ibdev - one device
 * @kref: list, rails, connection sets, registrations
 * @link: in the list of devices
 * @name: its name, good for as long as this structure
 * @ib: the device; valid while @gone is false or something made on it still exists
 * @pd: registrations and data queue pairs
 * @ctrl_pd: control queue pairs
 * @chunk_shift: log2 of the bytes that one registration covers
 * @doubtful: soft-RoCE: the success of a READ may be false, see kmod/rdma.c
 * @gone: ib_client.remove() has begun: nothing new
 * @handler: hears of the device's events
 * @event_work: looks at the rails after an event
 * @lock: protects @mrsets
 * @mrsets: registrations on this device (struct mc_mrset.dev_link)
 * @ids: rdma_cm's ids that are to be destroyed (cmid.h)
 * @nids: how many are not destroyed yet
 * @ids_since: jiffies when the destruction of the one that is being destroyed began
 * @ids_work: destroys them; holds a reference
 */
struct mc_ibdev {
	struct kref kref;
	struct list_head link;
	char name[IB_DEVICE_NAME_MAX];
	struct ib_device *ib;
	struct ib_pd *pd;
	struct ib_pd *ctrl_pd;
	u8 chunk_shift;
	bool doubtful;
	bool gone;
	struct ib_event_handler handler;
	struct work_struct event_work;
	spinlock_t lock;
	struct list_head mrsets;
	struct llist_head ids;
	atomic_t nids;
	unsigned long ids_since;
	struct work_struct ids_work;
};

int mc_ibdev_init(void);
void mc_ibdev_exit(void);

/**
 * mc_ibdev_find - a usable device by name
 * @name: for example rxe0
 * @extack: lists the usable ones when there is none of that name
 *
 * Return: device with a reference, or ERR_PTR(-ENODEV).
 */
struct mc_ibdev *mc_ibdev_find(const char *name, struct netlink_ext_ack *extack);

struct mc_ibdev *mc_ibdev_nth(u32 n);	/* from 0; with a reference, or NULL */
void mc_ibdev_put(struct mc_ibdev *dev);
u64 mc_ibdev_min_chunk(void);	/* smallest chunk of all usable devices, 0 without any */

#endif /* MC_IBDEV_H */
