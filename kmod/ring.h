/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The submission and completion rings of an open file. See the uapi header for the layout and the barriers.
 *
 * The kernel believes nothing that is written there: it keeps its own head and tail, masks every index, copies an
 * entry once and works on the copy. A lying cq_head costs the liar completions and nothing else.
 *
 * Locks: sq_mutex serialises submission (sq_head). cq_lock protects cq_tail and inflight; it nests inside req->lock and
 * is not taken from interrupts.
 */
#ifndef MC_RING_H
#define MC_RING_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/mooncake.h>

struct eventfd_ctx;
struct mc_ctx;
struct vm_area_struct;

/**
 * struct mc_ring - both rings
 * @sq: submission area, writable by the user
 * @cq: completion area
 * @sqes: entries in @sq
 * @cqes: entries in @cq
 * @sq_entries: power of two
 * @cq_entries: power of two
 * @sq_bytes: bytes of @sq
 * @cq_bytes: bytes of @cq
 * @sq_mutex: see the top of this file
 * @sq_head: entries consumed
 * @cq_lock: see the top of this file
 * @cq_tail: completions published
 * @inflight: slots reserved for requests that have not completed
 * @wait: sleepers in MC_IOC_ENTER and poll()
 * @eventfd: signalled on empty to not empty; under @cq_lock
 */
struct mc_ring {
	struct mc_sq_head *sq;
	struct mc_cq_head *cq;
	struct mc_sqe *sqes;
	struct mc_cqe *cqes;
	u32 sq_entries;
	u32 cq_entries;
	u32 sq_bytes;
	u32 cq_bytes;
	struct mutex sq_mutex;
	u32 sq_head;
	spinlock_t cq_lock;
	u32 cq_tail;
	u32 inflight;
	wait_queue_head_t wait;
	struct eventfd_ctx *eventfd;
};

/**
 * mc_ring_create - check the sizes and allocate
 * @arg: in: entries; out: sizes and offsets
 *
 * Return: rings, or ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM).
 */
struct mc_ring *mc_ring_create(struct mc_ring_setup *arg);
void mc_ring_free(struct mc_ring *ring);

/**
 * mc_ring_enter - MC_IOC_ENTER
 * @ctx: file with a ring
 * @arg: see the uapi
 *
 * Return: 0, -ETIME, -EINTR, -EINVAL; the out members are set whatever it is.
 */
int mc_ring_enter(struct mc_ctx *ctx, struct mc_enter *arg);

/**
 * mc_ring_complete - publish a completion into a slot that was reserved
 * @ring: ring
 * @cqe: completion
 */
void mc_ring_complete(struct mc_ring *ring, const struct mc_cqe *cqe);

/* Completions that wait to be taken, as far as the user's cq_head can be believed. */
u32 mc_ring_ready(struct mc_ring *ring);
int mc_ring_set_eventfd(struct mc_ring *ring, int fd);
int mc_ring_mmap(struct mc_ring *ring, struct vm_area_struct *vma);

#endif /* MC_RING_H */
