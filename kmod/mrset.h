/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registrations: one set for each pair of memory and device, one MR for each chunk.
 *
 * A chunk has its own scatterlist, its own DMA mapping and its own MR, whose addresses count from byte 0 of the
 * memory's first page: what goes over the wire is an offset in the segment. Chunks of buffers are registered when a
 * slice first needs them and only for local use; those of pools all at once, when the first peer opens the pool
 * through the device.
 *
 * Locks: mrset_teardown (one at a time, file-local) > mem->mr_lock > dev->lock.
 */
#ifndef MC_MRSET_H
#define MC_MRSET_H

#include <linux/types.h>

struct mc_cset;
struct mc_ibdev;
struct mc_lines;
struct mc_mem;
struct seq_file;

/**
 * mc_mrset_lkey - local key of a chunk
 * @mem: memory
 * @dev: device
 * @idx: chunk
 * @lkey: result
 *
 * Return: false if the chunk is not registered yet.
 */
bool mc_mrset_lkey(struct mc_mem *mem, struct mc_ibdev *dev, u64 idx, u32 *lkey);

/**
 * mc_mrset_ensure - register chunks that are not registered
 * @mem: memory; stays alive during the call
 * @set: connected set of the device, its registration queue pair carries the work requests
 * @first: first chunk
 * @count: chunks
 *
 * Waits for the registrations, which end at the latest when the set is drained. On failure, chunks that this call had
 * registered are undone.
 *
 * Return: 0, -ENOMEM, -ENOENT (memory is being released), -ENOTCONN (the set broke), -EOPNOTSUPP, -EIO.
 */
int mc_mrset_ensure(struct mc_mem *mem, struct mc_cset *set, u64 first, u64 count);

/**
 * mc_mrset_rkeys - remote keys of chunks
 * @mem: a pool's memory
 * @dev: device
 * @first: first chunk
 * @count: chunks
 * @keys: result
 *
 * Return: 0, -ENOENT (not registered, released), -ERANGE.
 */
int mc_mrset_rkeys(struct mc_mem *mem, struct mc_ibdev *dev, u64 first, u32 count, u32 *keys);

u64 mc_mrset_nchunks(const struct mc_mem *mem, const struct mc_ibdev *dev);

void mc_mrset_close_mem(struct mc_mem *mem);		/* nothing new is registered or leased from now on */
void mc_mrset_drop_mem(struct mc_mem *mem);		/* deregister and unmap; see mc_net_forget_mem() */
void mc_mrset_drop_dev(struct mc_ibdev *dev);		/* the same for a device that goes away */

/**
 * mc_mrset_show - debugfs: which chunks of which memory are registered on a device; never a key
 * @m: file
 * @dev: device
 * @max: lines at most
 */
void mc_mrset_show(struct seq_file *m, struct mc_ibdev *dev, u32 max);

/**
 * mc_mrset_show_mem - debugfs: on which devices a memory is registered
 * @m: file
 * @mem: memory, alive
 * @lines: how many may still be shown
 */
void mc_mrset_show_mem(struct seq_file *m, struct mc_mem *mem, struct mc_lines *lines);

#endif /* MC_MRSET_H */
