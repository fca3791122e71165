/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets that other nodes opened, as the files of the owner's side share them: pset.c (who they are, what they ask, how
 * they end), pset_accept.c (how they begin) and lease.c (what they hold). See lease.h.
 */
#ifndef MC_PSET_H
#define MC_PSET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "cset.h"
#include "lease.h"

struct mc_rail;
struct mc_seg;
struct mc_seg_desc;

/**
 * struct mc_lease - a peer knows the keys of a segment
 * @link: in the set's list
 * @id: unique on this node
 * @seg: the segment's structure, with a reference
 * @desc: the generation it has keys of; the lease ends before that is freed
 * @told: REVOKE was sent
 */
struct mc_lease {
	struct list_head link;
	u32 id;
	struct mc_seg *seg;
	struct mc_seg_desc *desc;
	bool told;
};

/**
 * struct mc_pset - a set that another node opened
 * @set: the set
 * @link: in the list of sets, until it is destroyed
 * @rail: rail it came through, with a reference
 * @hello: how far the proof is
 * @authed: the node is who it says
 * @proof: number of that proof; grows from set to set
 * @addr: where it came from
 * @born: jiffies
 * @leases: by age
 * @nleases: how many
 * @end_work: destroys it
 */
struct mc_pset {
	struct mc_cset set;
	struct list_head link;
	struct mc_rail *rail;
	struct mc_hello_state hello;
	bool authed;
	u64 proof;
	struct sockaddr_storage addr;
	unsigned long born;
	struct list_head leases;
	u32 nleases;
	struct work_struct end_work;
};

extern struct mutex mc_psets_lock;		/* the list of sets, and their leases */
extern struct list_head mc_psets;
extern wait_queue_head_t mc_psets_wait;		/* a set or a lease ended */
extern atomic_t mc_psets_changes;		/* how often that happened */

/* To be called after a set or a lease has ended. */
void mc_psets_changed(void);

/**
 * mc_pset_find - the first set that is so, with a reference
 * @is: is it?
 * @arg: second argument of @is
 *
 * Return: the set or NULL.
 */
struct mc_pset *mc_pset_find(bool (*is)(const struct mc_pset *ps, const void *arg), const void *arg);

/**
 * mc_pset_new - a set that was asked for
 * @rail: rail it came through; a reference is taken
 * @dev: its device
 * @id: the request's end
 * @req: the request
 *
 * Return: set on the list, with a reference for the caller, or ERR_PTR: -EBUSY (too many), -ENOMEM.
 */
struct mc_pset *mc_pset_new(struct mc_rail *rail, struct mc_ibdev *dev, const struct rdma_cm_id *id,
			    const struct mc_wire_req *req);

/**
 * mc_pset_wait_gone - wait until a broken set has been destroyed
 * @ps: set, whose reference is given back
 */
void mc_pset_wait_gone(struct mc_pset *ps);

int mc_pset_accept_init(void);
void mc_pset_accept_exit(void);
void mc_pset_accept_flush(void);	/* requests that have come are dealt with when this returns */

/* Messages of a proven set: 0 when @msg is the answer, or -errno. */
int mc_lease_serve_open(struct mc_pset *ps, struct mc_wire_msg *msg);
int mc_lease_serve_lookup(struct mc_wire_msg *msg);
int mc_lease_serve_keys(struct mc_pset *ps, struct mc_wire_msg *msg);

void mc_lease_drop(struct mc_pset *ps, u32 id);
void mc_lease_drop_all(struct mc_pset *ps);	/* the caller holds mc_psets_lock */

#endif /* MC_PSET_H */
