/* SPDX-License-Identifier: MIT */
/*
 * The device half of libmooncake: memory of this process, segments of any node, and transfers between them. A thin
 * layer over /dev/mooncake, whose manual is <linux/mooncake.h>.
 *
 * Threads: every function may be called from any thread at any time, with one exception: a struct mc_batch belongs to
 * one thread at a time. All batches of a handle share its ring; threads that wait take turns in the kernel, there is
 * no background thread. After fork() the child must not use a handle of its parent.
 *
 * Errors: functions return 0 or -errno and fill in a struct mc_error.
 */
#ifndef MOONCAKE_DEVICE_H
#define MOONCAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MC_DEV_PATH		"/dev/mooncake"
#define MC_DEV_RING_ENTRIES	1024	/* when the caller does not choose */

struct mc_info;		/* <linux/mooncake.h> */
struct mc_dev;		/* an open device with its ring */
struct mc_buf;		/* registered memory of this process */
struct mc_seg;		/* an opened segment */
struct mc_batch;	/* transfers that are submitted and waited for together */

/**
 * mc_dev_open() - open the device and set up its ring
 * @path: device node; NULL for MC_DEV_PATH
 * @ring_entries: submission entries, rounded up to a power of two; 0 for MC_DEV_RING_ENTRIES. Batches may be larger:
 *	they go out in waves
 * @out: the handle
 * @err: why not
 *
 * Return: 0, -ENOENT (no such node: is the module loaded?), -EACCES (group mooncake), -EPROTO (ABI major differs),
 * -ENOMEM, or what the kernel said.
 */
int mc_dev_open(const char *path, uint32_t ring_entries, struct mc_dev **out, struct mc_error *err);

/**
 * mc_dev_close() - give the handle back, with all its buffers and segments
 * @dev: handle or NULL
 *
 * Nothing may be using it. The kernel ends what is in flight and unpins memory in the background.
 */
void mc_dev_close(struct mc_dev *dev);

/**
 * mc_dev_fd() - the descriptor, for poll() in the caller's loop
 * @dev: handle
 *
 * Return: descriptor, owned by @dev. Readable while completions wait; follow with mc_dev_reap().
 */
int mc_dev_fd(const struct mc_dev *dev);

/**
 * mc_dev_info() - what the kernel module is and allows
 * @dev: handle
 * @info: result, as the kernel answers now (the node's UUID may be set after the handle was opened)
 * @err: why not
 *
 * Return: 0 or -errno.
 */
int mc_dev_info(struct mc_dev *dev, struct mc_info *info, struct mc_error *err);

/**
 * mc_dev_path() - the device node of a handle
 * @dev: handle
 *
 * Return: the path as given to mc_dev_open(), owned by @dev.
 */
const char *mc_dev_path(const struct mc_dev *dev);

/**
 * mc_buf_register() - pin memory and make it a buffer
 * @dev: handle
 * @addr: start, any alignment; anonymous memory, shmem/memfd or hugetlb, writable
 * @len: bytes, 1 to 1 TiB
 * @out: the buffer
 * @err: why not
 *
 * The memory must stay mapped until mc_buf_unregister(). It counts against RLIMIT_MEMLOCK.
 *
 * Return: 0 or -errno as listed at struct mc_buf_reg.
 */
int mc_buf_register(struct mc_dev *dev, void *addr, uint64_t len, struct mc_buf **out, struct mc_error *err);

/**
 * mc_buf_unregister() - give a buffer back
 * @buf: buffer or NULL
 * @err: why not
 *
 * The handle is gone whatever the result, and memory is unpinned once no request uses it.
 *
 * Return: 0, or -EBUSY when the device may still write into the memory (see mc_buf_busy()): it stays pinned, and the
 * caller must not free or reuse it before it closes the device.
 */
int mc_buf_unregister(struct mc_buf *buf, struct mc_error *err);

/**
 * mc_buf_busy() - may a request that was reported as ended still touch this memory?
 * @buf: buffer
 *
 * A busy buffer refuses transfers (-EBUSY) until the kernel has released it; mc_dev_reap() takes notice of that.
 *
 * Return: true while the memory must not be reused.
 */
bool mc_buf_busy(const struct mc_buf *buf);

/**
 * mc_buf_addr() - first byte of a buffer
 * @buf: buffer
 *
 * Return: the address it was registered with.
 */
void *mc_buf_addr(const struct mc_buf *buf);

/**
 * mc_buf_len() - size of a buffer
 * @buf: buffer
 *
 * Return: bytes.
 */
uint64_t mc_buf_len(const struct mc_buf *buf);

/**
 * mc_seg_open() - open a segment of this or another node
 * @dev: handle
 * @node_uuid: 16 bytes
 * @seg_uuid: 16 bytes
 * @timeout_ms: longest wait for the other node; 0 for 5 s
 * @out: the segment
 * @err: why not
 *
 * Return: 0 or -errno as listed at struct mc_seg_open.
 */
int mc_seg_open(struct mc_dev *dev, const uint8_t *node_uuid, const uint8_t *seg_uuid, uint32_t timeout_ms,
		struct mc_seg **out, struct mc_error *err);

/**
 * mc_seg_close() - give a segment back
 * @seg: segment or NULL
 *
 * Transfers that have started run out.
 */
void mc_seg_close(struct mc_seg *seg);

/**
 * mc_seg_len() - size of a segment
 * @seg: segment
 *
 * Return: bytes.
 */
uint64_t mc_seg_len(const struct mc_seg *seg);

/**
 * mc_seg_local() - does the segment live on this node?
 * @seg: segment
 *
 * Return: true when transfers are local copies.
 */
bool mc_seg_local(const struct mc_seg *seg);

/**
 * struct mc_grant_use - a grant, for mc_grants_load()
 * @bytes: as the master gave it
 * @len: bytes of it
 * @id: the kernel's handle; 0 when refused
 * @error: 0 or -errno: -EACCES (it proves nothing here), -ETIME (it has ended, or this node does not know the master's
 *	time: mcnoded tells it each second), -EINVAL, -ENOSPC, -ENOMEM
 */
struct mc_grant_use {
	const void *bytes;
	size_t len;
	uint32_t id;
	int error;
};

/**
 * mc_grants_load() - load grants, for transfers that name them with mc_batch_grant()
 * @dev: handle
 * @grants: the grants; each has a result of its own
 * @n: how many; up to 65536 may be loaded at a time
 * @err: why not
 *
 * Return: 0 when each was looked at, or -errno, which the grants that were not have as their error.
 */
int mc_grants_load(struct mc_dev *dev, struct mc_grant_use *grants, size_t n, struct mc_error *err);

/**
 * mc_grants_unload() - give grants back
 * @dev: handle
 * @grants: as mc_grants_load() left them
 * @n: how many
 *
 * Transfers that were submitted go on.
 */
void mc_grants_unload(struct mc_dev *dev, const struct mc_grant_use *grants, size_t n);

/**
 * struct mc_done - how one transfer ended
 * @result: 0 or -errno; -EINPROGRESS while it has not ended
 * @flags: MC_CQE_F_* of <linux/mooncake.h>
 * @bytes: bytes moved: all on success; after an error nothing in the destination is valid
 * @fail_off: first byte that failed, UINT64_MAX on success
 * @rail: rail of the first slice, 0 for a local copy
 * @done_ns: mc_now_ns() when the completion was taken from the ring, never before the transfer ended
 */
struct mc_done {
	int result;
	uint32_t flags;
	uint64_t bytes;
	uint64_t fail_off;
	uint32_t rail;
	uint64_t done_ns;
};

/**
 * mc_batch_new() - make an empty batch
 * @dev: handle
 * @max: transfers it will hold, 1 to 2^20
 * @out: the batch
 * @err: why not
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int mc_batch_new(struct mc_dev *dev, uint32_t max, struct mc_batch **out, struct mc_error *err);

/**
 * mc_batch_grant() - the grant for the transfers that are added from now on
 * @b: batch, not yet submitted
 * @id: from mc_grants_load(); 0 for segments that need none
 */
void mc_batch_grant(struct mc_batch *b, uint32_t id);

/**
 * mc_batch_read() - add a transfer from a segment into a buffer
 * @b: batch, not yet submitted
 * @buf: destination
 * @buf_off: first byte in it
 * @seg: source
 * @seg_off: first byte in it
 * @len: bytes, 1 to 4 GiB
 *
 * Return: its number (0, 1, ...), or -ENOSPC when the batch is full, or -EBUSY when @buf is busy.
 */
int mc_batch_read(struct mc_batch *b, struct mc_buf *buf, uint64_t buf_off, struct mc_seg *seg, uint64_t seg_off,
		  uint64_t len);

/**
 * mc_batch_write() - add a transfer from a buffer into a segment
 * @b: batch, not yet submitted
 * @buf: source
 * @buf_off: first byte in it
 * @seg: destination
 * @seg_off: first byte in it
 * @len: bytes, 1 to 4 GiB
 *
 * Return: as mc_batch_read().
 */
int mc_batch_write(struct mc_batch *b, struct mc_buf *buf, uint64_t buf_off, struct mc_seg *seg, uint64_t seg_off,
		   uint64_t len);

/**
 * mc_batch_submit() - start all transfers of a batch
 * @b: batch; buffers and segments of its transfers must stay until the last has ended
 * @timeout_ns: deadline of each transfer, kept by the kernel; 0 for the kernel's default
 * @err: why not
 *
 * When the ring is smaller than the batch the rest goes out from mc_batch_wait(), as room appears.
 *
 * Return: 0, or -errno when nothing was started.
 */
int mc_batch_submit(struct mc_batch *b, uint64_t timeout_ns, struct mc_error *err);

/**
 * mc_batch_wait() - wait until every transfer of a batch has ended
 * @b: batch
 * @timeout_ns: longest wait; 0 only looks
 * @err: why not
 *
 * Return: 0 when all have ended (well or not: see mc_batch_done()), -ETIME when the wait ended first, or -errno when
 * the kernel refused to go on; transfers that had not been started then have ended with that error.
 */
int mc_batch_wait(struct mc_batch *b, uint64_t timeout_ns, struct mc_error *err);

/**
 * mc_batch_cancel() - drop the transfers that have not been handed to the kernel yet
 * @b: batch
 *
 * They end with -ECANCELED. What the kernel has, ends by its deadline.
 */
void mc_batch_cancel(struct mc_batch *b);

/**
 * mc_batch_done() - how one transfer ended
 * @b: batch
 * @i: number from mc_batch_read() or mc_batch_write()
 *
 * Return: the result, valid until the batch is freed; it changes no more once it has ended.
 */
const struct mc_done *mc_batch_done(const struct mc_batch *b, uint32_t i);

/**
 * mc_batch_left() - how many transfers have not ended
 * @b: batch
 *
 * Return: 0 when all have.
 */
uint32_t mc_batch_left(const struct mc_batch *b);

/**
 * mc_batch_free() - give a batch back
 * @b: batch or NULL
 *
 * Transfers that have not ended go on; their buffers are busy until they have.
 */
void mc_batch_free(struct mc_batch *b);

/**
 * mc_dev_reap() - take completions from the ring without waiting
 * @dev: handle
 *
 * For callers with a loop of their own, after poll() or the eventfd said that there are some.
 *
 * Return: how many were taken.
 */
int mc_dev_reap(struct mc_dev *dev);

/**
 * mc_dev_eventfd() - signal an eventfd when completions arrive
 * @dev: handle
 * @fd: eventfd, or -1 to stop
 * @err: why not
 *
 * Return: 0 or -errno.
 */
int mc_dev_eventfd(struct mc_dev *dev, int fd, struct mc_error *err);

/**
 * mc_now_ns() - the clock that libmooncake measures deadlines and leases with
 *
 * Return: CLOCK_BOOTTIME in nanoseconds: it goes on while the machine sleeps, as the master's lease does.
 */
uint64_t mc_now_ns(void);

#ifdef __cplusplus
}
#endif

#endif
