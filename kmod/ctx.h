/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open file of /dev/mooncake.
 *
 * References: the file holds one until its close work is done; each request and each buffer holds one. The structure
 * and its ring go with the last.
 *
 * Lock order: ctx->lock -> (nothing); ring->sq_mutex is outside of it; req->lock -> ring->cq_lock. Handle tables are
 * xarrays: their own lock (xa_lock) protects an entry from lookup to the reference that the lookup takes.
 *
 * End: release() only marks it dying and queues the close work, so that a killed process is gone at once. The close
 * work stops every request (posted ones run out, bounded by their deadline), gives all handles back and drops the
 * file's reference.
 */
#ifndef MC_CTX_H
#define MC_CTX_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/mooncake.h>

#include "batch.h"

struct mc_acct;
struct mc_req;
struct mc_ring;
struct mc_target;

#define MC_HANDLE_INDEX_BITS	20
#define MC_HANDLE_INDEX_MAX	((1U << MC_HANDLE_INDEX_BITS) - 1)

/**
 * struct mc_handle_tab - handles of one kind in one file
 * @xa: index to entry, the entry knows its whole id
 * @next: for xa_alloc_cyclic(): indices are used in turn, so that one comes back as late as possible
 * @gen: how often the indices have gone round; its low 12 bits are the generation
 * @count: entries
 */
struct mc_handle_tab {
	struct xarray xa;
	u32 next;
	u32 gen;
	u32 count;
};

/**
 * struct mc_ctx - one open file
 * @kref: see the top of this file
 * @link: in the list of all contexts
 * @lock: protects @reqs, @dying, @ranges, @client
 * @reqs: requests that have not completed
 * @dying: set by release(): no new requests
 * @acct: who pays for pinned pages
 * @ring: rings, NULL until MC_IOC_RING_SETUP; set once
 * @setup_lock: one MC_IOC_RING_SETUP or MC_IOC_EVENTFD at a time
 * @bufs: buffer handles
 * @ranges: address ranges of the registered buffers (struct mc_buf.range)
 * @segs: segment handles
 * @grants: loaded grants
 * @batches: what has become of the requests
 * @cancel_lock: one MC_IOC_CANCEL at a time: it moves requests between lists
 * @export_lock: see useg.h
 * @exports: segments that it exports (struct mc_useg.link)
 * @nexports: entries of @exports
 * @close_work: see the top of this file
 * @free_work: frees it: the last reference may go where one can't sleep
 * @pid: process that opened it, for people
 * @comm: its name then, for people
 * @uid: its user, for people
 * @client: who uses it (MC_IOC_CLIENT), or zero
 */
struct mc_ctx {
	struct kref kref;
	struct list_head link;
	spinlock_t lock;
	struct list_head reqs;
	bool dying;
	struct mc_acct *acct;
	struct mc_ring *ring;
	struct mutex setup_lock;
	struct mc_handle_tab bufs;
	struct rb_root ranges;
	struct mc_handle_tab segs;
	struct mc_handle_tab grants;
	struct mc_batches batches;
	struct mutex cancel_lock;
	struct mutex export_lock;
	struct list_head exports;
	u32 nexports;
	struct work_struct close_work;
	struct work_struct free_work;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	uid_t uid;
	u8 client[MC_UUID_LEN];
};

struct mc_ctx *mc_ctx_create(void);
void mc_ctx_get(struct mc_ctx *ctx);
void mc_ctx_put(struct mc_ctx *ctx);

/**
 * mc_ctx_name_client - MC_IOC_CLIENT
 * @ctx: context
 * @uuid: client
 *
 * Return: 0, -EINVAL (zero), -EEXIST (it has another one).
 */
int mc_ctx_name_client(struct mc_ctx *ctx, const u8 *uuid);

/**
 * mc_ctx_close - the file is gone
 * @ctx: context; the file's reference passes to the close work
 */
void mc_ctx_close(struct mc_ctx *ctx);

/**
 * struct mc_ctx_info - what the dump shows of an open file
 * @pid: process that opened it
 * @comm: its name
 * @uid: its user
 * @closing: closed; what it had is being let go
 * @buffers: registered buffers
 * @pinned: bytes pinned for buffers, also for those that are being let go
 */
struct mc_ctx_info {
	u32 pid;
	char comm[TASK_COMM_LEN];
	u32 uid;
	bool closing;
	u32 buffers;
	u64 pinned;
};

/**
 * mc_ctx_nth - describe the n-th open file of the node
 * @n: from 0
 * @info: result
 *
 * Return: false when there are not so many.
 */
bool mc_ctx_nth(unsigned long n, struct mc_ctx_info *info);

/**
 * mc_ctx_drain_all - module exit: wait until no context is left
 *
 * No file is open any more; contexts of closed ones may still drain. Requests on the wire are fenced instead of
 * waited for.
 */
void mc_ctx_drain_all(void);

/**
 * mc_handle_add - reserve an id for an entry and publish it
 * @tab: table
 * @entry: what a lookup finds
 * @max: most entries
 * @entry_id: where the entry keeps its id; written before the entry becomes visible
 * @out: the id, for the caller: the entry may be gone when this returns
 *
 * Return: 0, -ENOSPC, -ENOMEM.
 */
int mc_handle_add(struct mc_handle_tab *tab, void *entry, u32 max, u32 *entry_id, u32 *out);
void mc_handle_init(struct mc_handle_tab *tab);
void mc_handle_destroy(struct mc_handle_tab *tab);

static inline unsigned long mc_handle_index(u32 id)
{
	return id & MC_HANDLE_INDEX_MAX;
}

/**
 * struct mc_seg_handle - an opened segment of a file
 * @id: handle
 * @target: with a reference
 */
struct mc_seg_handle {
	u32 id;
	struct mc_target *target;
};

int mc_seg_handle_open(struct mc_ctx *ctx, struct mc_seg_open *arg);
int mc_seg_handle_close(struct mc_ctx *ctx, u32 id);
void mc_seg_handle_close_all(struct mc_ctx *ctx);

/**
 * mc_seg_handle_get - the target behind a handle
 * @ctx: file
 * @id: handle
 *
 * Return: target with a reference, or NULL.
 */
struct mc_target *mc_seg_handle_get(struct mc_ctx *ctx, u32 id);

#endif /* MC_CTX_H */
