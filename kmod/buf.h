/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: pinned memory of a process.
 *
 * References (io): one for the handle, one for each request. Unregistering takes the handle out of the table, so that
 * no new request finds it, and drops the handle's reference. The last reference queues the release work: the
 * registrations go on every device, then the pages. Until then the buffer is in quarantine, visible in debugfs.
 */
#ifndef MC_BUF_H
#define MC_BUF_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/mooncake.h>

#include "quarantine.h"

struct mc_ctx;
struct mc_mem;

/**
 * struct mc_buf - one buffer
 * @id: handle
 * @gone: unregistered; what is left is requests and the release work
 * @io: see the top of this file
 * @ctx: open file, with a reference
 * @mem: its pages
 * @addr: user address
 * @range: in the file's tree of registered ranges, until it is unregistered
 * @len: bytes; @mem may be gone while this is still listed
 * @pinned: bytes of its pages, likewise
 * @extents: how many runs they are, likewise
 * @link: in the list of all buffers, until it is freed
 * @quarantine: from when it is unregistered until its pages are let go
 * @release_work: see the top of this file
 */
struct mc_buf {
	u32 id;
	bool gone;
	refcount_t io;
	struct mc_ctx *ctx;
	struct mc_mem *mem;
	u64 addr;
	struct rb_node range;
	u64 len;
	u64 pinned;
	unsigned long extents;
	struct list_head link;
	struct mc_quarantine quarantine;
	struct work_struct release_work;
};

int mc_buf_register(struct mc_ctx *ctx, struct mc_buf_reg *arg);
int mc_buf_register_batch(struct mc_ctx *ctx, struct mc_buf_reg_batch *arg);
int mc_buf_unregister(struct mc_ctx *ctx, u32 id);
void mc_buf_unregister_all(struct mc_ctx *ctx);

int mc_buf_init(void);
void mc_buf_exit(void);	/* no context is left */

/**
 * mc_buf_get - the buffer behind a handle, with an io reference
 * @ctx: file
 * @id: handle
 *
 * Return: buffer, or NULL.
 */
struct mc_buf *mc_buf_get(struct mc_ctx *ctx, u32 id);
void mc_buf_put(struct mc_buf *buf);	/* does not sleep */

/**
 * struct mc_buf_info - what the dump and debugfs show of a buffer
 * @id: handle
 * @pid: process that opened the file
 * @uid: its user
 * @len: bytes
 * @pinned: bytes of the pages that are pinned
 * @extents: runs of pages that follow one another physically
 * @gone: unregistered
 * @io: references
 */
struct mc_buf_info {
	u32 id;
	u32 pid;
	u32 uid;
	u64 len;
	u64 pinned;
	unsigned long extents;
	bool gone;
	unsigned int io;
};

/**
 * mc_buf_nth - describe the n-th buffer of the node
 * @n: from 0
 * @info: result
 *
 * Return: false when there are not so many.
 */
bool mc_buf_nth(unsigned long n, struct mc_buf_info *info);
u32 mc_buf_count(void);

#endif /* MC_BUF_H */
