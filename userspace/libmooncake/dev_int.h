/* SPDX-License-Identifier: MIT */
/*
 * Inside the device half.
 *
 * Locks: mc_dev.lock protects the ring, the slots, the list of batches that still have something to send, and the
 * results of all batches. Nobody sleeps under it: the one thread that waits in the kernel (the leader) does so
 * without the lock and is the only one that takes completions while it is there; the others wait on @cond until it
 * has looked.
 */
#ifndef MC_DEV_INT_H
#define MC_DEV_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "uapi/linux/mooncake.h"
#include "include/mooncake/device.h"

#define MC_BATCH_MAX	(1u << 20)

/**
 * struct mc_dev_ops - the kernel, or what stands in for it
 * @ioctl: as ioctl(2), but returns -errno
 * @map: as mmap(2) of @len bytes at offset @off, NULL with errno set on failure
 * @unmap: as munmap(2)
 * @close: as close(2)
 */
struct mc_dev_ops {
	int (*ioctl)(void *ctx, unsigned long cmd, void *arg);
	void *(*map)(void *ctx, uint64_t off, size_t len, bool writable);
	void (*unmap)(void *ctx, void *addr, size_t len);
	void (*close)(void *ctx);
};

/**
 * struct mc_buf - registered memory
 * @link: place in dev->bufs
 * @dev: device
 * @id: kernel's handle
 * @addr: first byte
 * @len: bytes
 * @refs: the caller and transfers; under dev->lock
 * @late: transfers that were reported as ended, or abandoned, and may still touch the memory
 */
struct mc_buf {
	LIST_ENTRY(mc_buf) link;
	struct mc_dev *dev;
	uint32_t id;
	void *addr;
	uint64_t len;
	int refs;
	atomic_uint late;
};

/**
 * struct mc_seg - an opened segment
 * @link: place in dev->segs
 * @dev: device
 * @id: kernel's handle
 * @len: bytes
 * @local: on this node
 */
struct mc_seg {
	LIST_ENTRY(mc_seg) link;
	struct mc_dev *dev;
	uint32_t id;
	uint64_t len;
	bool local;
};

/**
 * struct mc_xfer - one transfer of a batch
 * @done: how it ended
 * @buf: buffer, NULL once it has ended
 * @buf_off: first byte there
 * @seg_off: first byte in the segment
 * @len: bytes
 * @seg_id: segment's handle; the kernel knows when it is stale
 * @grant_id: grant, 0 without
 * @opcode: MC_OP_*
 */
struct mc_xfer {
	struct mc_done done;
	struct mc_buf *buf;
	uint64_t buf_off;
	uint64_t seg_off;
	uint64_t len;
	uint32_t seg_id;
	uint32_t grant_id;
	uint8_t opcode;
};

/**
 * struct mc_batch - transfers that go together
 * @link: place in dev->unsent
 * @dev: device
 * @max: room
 * @n: transfers
 * @grant: of the transfers that are added next
 * @sent: how many were handed to the ring
 * @left: how many have not ended
 * @submitted: mc_batch_submit() was called
 * @queued: in dev->unsent
 * @frozen: results change no more, whatever still comes
 * @abandoned: freed while some had not ended; the last one frees it
 * @deadline_ns: on the clock of mc_now_ns(); 0 is the kernel's default
 * @flying: bytes of transfers that the kernel has
 * @window: no more than that at a time, or one transfer; 0: no limit. See mc_batch_pace()
 * @grow_until: what has ended before then is added to @window
 * @xfers: the transfers
 */
struct mc_batch {
	TAILQ_ENTRY(mc_batch) link;
	struct mc_dev *dev;
	uint32_t max;
	uint32_t n;
	uint32_t grant;
	uint32_t sent;
	uint32_t left;
	bool submitted;
	bool queued;
	bool frozen;
	bool abandoned;
	uint64_t deadline_ns;
	uint64_t flying;
	uint64_t window;
	uint64_t grow_until;
	struct mc_xfer xfers[];
};

/**
 * struct mc_slot - what a cookie stands for: an entry that the kernel has
 * @batch: its batch; NULL when free, or ended and waiting for RELEASED
 * @buf: its buffer, NULL when free
 * @index: number of the transfer in the batch
 * @gen: counts the uses of the slot; the upper half of the cookie
 * @next_free: free list
 */
struct mc_slot {
	struct mc_batch *batch;
	struct mc_buf *buf;
	uint32_t index;
	uint32_t gen;
	uint32_t next_free;
};

/**
 * struct mc_dev - an open device
 * @ops: the kernel
 * @ctx: its first argument
 * @fd: descriptor for poll()
 * @path: name for messages
 * @lock: see above
 * @cond: signalled when the leader has looked
 * @leader: a thread waits in the kernel
 * @sq: submission area
 * @sqes: its entries
 * @cq: completion area
 * @cqes: its entries
 * @sq_bytes: size of the submission area
 * @cq_bytes: size of the completion area
 * @sq_entries: submission entries
 * @cq_entries: completion entries
 * @sq_tail: entries filled so far; published at submission
 * @cq_head: completions taken so far
 * @unsubmitted: filled entries that the kernel has not consumed
 * @slots: @cq_entries of them: what is in flight never exceeds the completion ring
 * @free_slot: head of the free list, UINT32_MAX when none
 * @stray: completions nobody asked for
 * @unsent: batches that still have something to send, oldest first
 * @bufs: all buffers
 * @segs: all segments
 */
struct mc_dev {
	const struct mc_dev_ops *ops;
	void *ctx;
	int fd;
	char *path;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool leader;
	struct mc_sq_head *sq;
	struct mc_sqe *sqes;
	const struct mc_cq_head *cq;
	const struct mc_cqe *cqes;
	size_t sq_bytes;
	size_t cq_bytes;
	uint32_t sq_entries;
	uint32_t cq_entries;
	uint32_t sq_tail;
	uint32_t cq_head;
	uint32_t unsubmitted;
	struct mc_slot *slots;
	uint32_t free_slot;
	uint64_t stray;
	TAILQ_HEAD(, mc_batch) unsent;
	LIST_HEAD(, mc_buf) bufs;
	LIST_HEAD(, mc_seg) segs;
};

/**
 * mc_dev_open_ops() - mc_dev_open() with something in the kernel's place
 * @ops: operations
 * @ctx: their first argument; closed by mc_dev_close(), and when this fails
 * @fd: descriptor to answer mc_dev_fd() with
 * @path: name for messages
 * @ring_entries: as for mc_dev_open()
 * @out: the handle
 * @err: why not
 *
 * Return: as mc_dev_open().
 */
int mc_dev_open_ops(const struct mc_dev_ops *ops, void *ctx, int fd, const char *path, uint32_t ring_entries,
		    struct mc_dev **out, struct mc_error *err);

/**
 * mc_buf_put_locked() - drop a reference; dev->lock is held
 * @buf: buffer
 */
void mc_buf_put_locked(struct mc_buf *buf);

/**
 * mc_ring_reap_locked() - take the completions that are there; dev->lock is held, and nobody waits in the kernel
 * @dev: device
 *
 * Return: how many.
 */
int mc_ring_reap_locked(struct mc_dev *dev);

/**
 * mc_ring_push_locked() - hand unsent transfers to the kernel as far as there is room; dev->lock is held
 * @dev: device
 *
 * Return: 0, or -errno when the kernel refused; the transfers it refused have ended with that.
 */
int mc_ring_push_locked(struct mc_dev *dev);

/**
 * mc_batch_pace() - hand the kernel only what will have moved within a time
 * @b: batch, not yet submitted
 * @ns: that time
 *
 * A transfer is allowed by the grant that it was handed over with: those that wait here can still be given a newer one.
 * The batch begins with 1 MiB; what ends in the first @ns shows how fast the path is, and may be under way at a time
 * from then on.
 */
void mc_batch_pace(struct mc_batch *b, uint64_t ns);

/**
 * mc_batch_regrant() - another grant for the transfers that have not been handed to the kernel
 * @b: batch
 * @first: number of the first transfer
 * @count: how many
 * @id: grant
 *
 * Return: true when some of them were handed over before: the older grant is still needed.
 */
bool mc_batch_regrant(struct mc_batch *b, uint32_t first, uint32_t count, uint32_t id);

/**
 * mc_batch_unsent() - has any of these transfers not been handed to the kernel?
 * @b: batch
 * @first: number of the first transfer
 * @count: how many
 *
 * Return: true when a newer grant would matter.
 */
bool mc_batch_unsent(const struct mc_batch *b, uint32_t first, uint32_t count);

/**
 * mc_batch_freeze() - stop waiting: drop what was not handed to the kernel, and let no result change any more
 * @b: batch
 *
 * What has not ended keeps -EINPROGRESS; its buffers are busy from mc_batch_free() until it has.
 */
void mc_batch_freeze(struct mc_batch *b);

/**
 * mc_ring_forget() - let go of what the kernel had when the device was closed
 * @dev: device, closed
 */
void mc_ring_forget(struct mc_dev *dev);

#endif
