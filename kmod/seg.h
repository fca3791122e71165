/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of this node: memory under a UUID and a name that handles of this node and leases of peers reach. Pools are
 * segments of the node; what a process exports is a segment of its open file.
 *
 * What a segment consists of is a descriptor (struct mc_seg_desc): one generation of its memory. A descriptor never
 * changes; adding memory publishes a new one under RCU and drops the old one, whose users finish on the pages that it
 * names. A retired segment has none.
 *
 * Counts:
 *   seg->kref     memory of the structure: the table, each lease of a peer, each look-up, each descriptor; all
 *                 references to the local target together hold one
 *   seg->target   local handles and local requests
 *   desc->io      pages: being the segment's current descriptor (1), and whoever reads or writes them now
 *
 * The last io reference of a descriptor queues its release work: leases end, registrations are withdrawn, pages go.
 *
 * Lock: segs_lock (mutex, file-local) serialises changes of the table and of seg->desc; readers use RCU.
 */
#ifndef MC_SEG_H
#define MC_SEG_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "engine.h"
#include "quarantine.h"

struct mc_mem;
struct mc_seg;
struct mc_seg_dir;

/**
 * struct mc_seg_desc - one generation of a segment's memory; constant until the release work
 * @io: see the top of this file
 * @seg: segment, with a reference to its structure
 * @gen: from 1
 * @len: bytes
 * @mem: pages; goes in the release work
 * @priv: the owner's
 * @tell_work: tells the peers that it ends; has an io reference
 * @release_work: see the top of this file
 * @quarantine: from when it ends until its pages are let go
 * @rcu: frees it
 */
struct mc_seg_desc {
	refcount_t io;
	struct mc_seg *seg;
	u32 gen;
	u64 len;
	struct mc_mem *mem;
	void *priv;
	struct work_struct tell_work;
	struct work_struct release_work;
	struct mc_quarantine quarantine;
	struct rcu_head rcu;
};

/**
 * struct mc_seg_ops - what differs between the owners
 * @drained: nothing uses the pages of a descriptor any more and its memory is released; may sleep
 * @free: the last reference to the structure is gone; must let an RCU grace period pass before the memory goes; does
 *	not sleep
 */
struct mc_seg_ops {
	void (*drained)(struct mc_seg_desc *desc);
	void (*free)(struct mc_seg *seg);
};

/**
 * struct mc_seg - one segment, embedded in its owner's structure
 * @kref: see the top of this file
 * @ops: the owner's
 * @target: what local requests refer to
 * @name: for people, unique among the live segments of this node
 * @desc: current descriptor, NULL before mc_seg_publish() and once retired
 * @leases: peers that have it open, counted by the RDMA half
 * @dir: its directory in sysfs, from publishing to retiring
 * @node: in the table, by UUID
 * @link: in the list of live segments, oldest first
 * @rcu: for the owner's @free
 */
struct mc_seg {
	struct kref kref;
	const struct mc_seg_ops *ops;
	struct mc_target target;
	char name[MC_NAME_LEN];
	struct mc_seg_desc __rcu *desc;
	atomic_t leases;
	struct mc_seg_dir *dir;
	struct hlist_node node;
	struct list_head link;
	struct rcu_head rcu;
};

int mc_seg_start(void);	/* before the first segment; 0 or -ENOMEM */
void mc_seg_exit(void);	/* waits until no segment is left */

/**
 * mc_seg_init - prepare a segment with a random UUID
 * @seg: zeroed
 * @ops: the owner's
 * @name: 1 to MC_NAME_LEN - 1 bytes
 * @len: bytes
 * @rights: what requests may do
 *
 * The caller has the table's reference and that of the target, until mc_seg_publish() succeeds or mc_seg_abandon().
 */
void mc_seg_init(struct mc_seg *seg, const struct mc_seg_ops *ops, const char *name, u64 len, u32 rights);
void mc_seg_abandon(struct mc_seg *seg);	/* instead of publishing; @seg may be gone */

/**
 * mc_seg_desc_new - make a descriptor
 * @seg: segment
 * @mem: its memory; stays the caller's until the descriptor is published
 * @gen: generation
 *
 * Return: descriptor, to be published or freed with kfree(), or NULL.
 */
struct mc_seg_desc *mc_seg_desc_new(struct mc_seg *seg, struct mc_mem *mem, u32 gen);

/**
 * mc_seg_publish - make a segment visible
 * @seg: prepared segment
 * @desc: its first descriptor
 *
 * Return: 0, -EEXIST (a live segment has that name), -ENOMEM.
 */
int mc_seg_publish(struct mc_seg *seg, struct mc_seg_desc *desc);

/**
 * mc_seg_replace - publish the next generation
 * @seg: published segment; changes of one segment exclude one another (the owner's lock)
 * @desc: descriptor, of at least as many bytes
 *
 * The old one's pages go when nobody uses them. Peers are told at once.
 *
 * Return: 0, -ESTALE: the segment was retired.
 */
int mc_seg_replace(struct mc_seg *seg, struct mc_seg_desc *desc);

/**
 * mc_seg_retire - begin the end of a segment
 * @seg: published segment; may be gone on return unless the caller has a reference
 *
 * No look-up finds it from now on, requests of those who have it open end with ESTALE, the memory goes in the
 * background.
 *
 * Return: false if that was done before.
 */
bool mc_seg_retire(struct mc_seg *seg);

/**
 * mc_seg_find - look a live segment up
 * @uuid: its UUID
 *
 * Return: segment with a reference (mc_seg_put()), or NULL.
 */
struct mc_seg *mc_seg_find(const u8 *uuid);

struct mc_seg *mc_seg_find_name(const char *name);	/* the same by name */

/**
 * mc_seg_nth - the n-th live segment of an owner's kind
 * @n: from 0
 * @ops: kind, NULL for any
 *
 * Return: segment with a reference, or NULL.
 */
struct mc_seg *mc_seg_nth(unsigned long n, const struct mc_seg_ops *ops);
u32 mc_seg_count(const struct mc_seg_ops *ops);
void mc_seg_get(struct mc_seg *seg);
void mc_seg_put(struct mc_seg *seg);	/* does not sleep */

/**
 * mc_seg_open - the local target of a segment of this node
 * @uuid: segment
 *
 * Return: target with a reference, or ERR_PTR(-ENOENT).
 */
struct mc_target *mc_seg_open(const u8 *uuid);

/**
 * mc_seg_desc_get - the current descriptor, to use its pages
 * @seg: segment
 *
 * Return: descriptor with an io reference (mc_seg_desc_put()), or NULL: the segment was retired.
 */
struct mc_seg_desc *mc_seg_desc_get(struct mc_seg *seg);
void mc_seg_desc_put(struct mc_seg_desc *desc);	/* does not sleep */

/* Has it no memory (any more)? It was retired, unless it is not published yet. */
static inline bool mc_seg_dead(struct mc_seg *seg)
{
	return !rcu_access_pointer(seg->desc);
}

/**
 * mc_seg_desc_tryget - one reference more, unless its pages are on their way out
 * @desc: descriptor that something keeps from being freed
 */
static inline bool mc_seg_desc_tryget(struct mc_seg_desc *desc)
{
	return refcount_inc_not_zero(&desc->io);
}

static inline struct mc_seg *mc_target_seg(struct mc_target *target)
{
	return container_of(target, struct mc_seg, target);
}

#endif /* MC_SEG_H */
