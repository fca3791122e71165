/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Letting go of rdma_cm's ids, apart from the queue pairs.
 *
 * rdma_destroy_id() waits until each of the id's messages (REQ, REP, REJ, DREQ) has been sent, with no limit: what
 * hinders a device from sending (a firewall of this node: soft-RoCE then tries for ever) hinders it. Nothing that the
 * module promises may wait for that. So ids are destroyed by a work item of their device, one after the other, after
 * everything that matters to others has been done: the queue pair is gone, whoever waited is awake.
 *
 * An id that waits there is *deaf*: its handler is one that does nothing and its context is NULL. Both are changed
 * under rdma_cm's handler mutex, under which handlers run; so none that knew the connection runs any more when
 * mc_cmid_deafen() returns, and the set may be freed before the id. The work item holds a reference to its device
 * (struct mc_ibdev).
 *
 * What rdma_cm refuses by itself (a request for which it finds no listener any more, or can't make an id) is out of
 * reach: it rejects such requests with an id of its own, and destroying the last listener of a port number can wait
 * until that message is sent. So can deleting a rail, behind a firewall of its own node.
 *
 * Only two wait for these work items, and with no limit: the removal of the device, for which rdma_cm would wait
 * itself, and the unloading of the module, whose code the handler and the work items are.
 */
#ifndef MC_CMID_H
#define MC_CMID_H

#include <linux/llist.h>

struct mc_ibdev;
struct rdma_cm_id;

#define MC_CMIDS_MAX	256	/* a device makes no new ids when so many wait and the one it is at takes over 5 s */

/**
 * struct mc_cmid_end - what it takes to destroy an id; made with the id, so that its end allocates nothing
 * @link: in the device's list
 * @dev: device; whoever has this holds a reference to it
 * @id: the id that ends
 */
struct mc_cmid_end {
	struct llist_node link;
	struct mc_ibdev *dev;
	struct rdma_cm_id *id;
};

/**
 * mc_cmid_end_new - prepare the end of an id
 * @dev: device that the id will be on
 *
 * Return: to be given to mc_cmid_destroy(), or to kfree() when there is no id, or ERR_PTR: -ENOMEM, -EBUSY (too many
 * ids are stuck).
 */
struct mc_cmid_end *mc_cmid_end_new(struct mc_ibdev *dev);

void mc_cmid_deafen(struct rdma_cm_id *id);	/* see the top of this file; never from the id's handler */

/**
 * mc_cmid_destroy - have an id destroyed
 * @end: what was prepared
 * @id: deaf, without a queue pair
 *
 * Waits for nothing.
 */
void mc_cmid_destroy(struct mc_cmid_end *end, struct rdma_cm_id *id);

void mc_cmid_dev_init(struct mc_ibdev *dev);
void mc_cmid_dev_wait(struct mc_ibdev *dev);	/* until its ids are destroyed; no limit */

int mc_cmid_init(void);
void mc_cmid_exit(void);	/* waits for all that are left; no limit */

#endif /* MC_CMID_H */
