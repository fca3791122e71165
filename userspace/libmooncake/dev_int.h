/* SPDX-License-Identifier: MIT */
/*
 * Inside the device half.
 *
 * Locks: mc_dev.lock protects the ring, the slots, the list of batches that still have something to send, and the results of
 * all batches. Nobody sleeps under it: the one thread that waits in the kernel (the leader) does so without the lock and is
 * the only one that takes completions while it is there; the others wait on @cond until it has looked.
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

struct mc_buf {
	LIST_ENTRY(mc_buf) link;
	struct mc_dev *dev;
	uint32_t id;
	void *addr;
	uint64_t len;
	int refs;		/* caller and transfers; under dev->lock */
	atomic_uint late;	/* transfers that were reported as ended, or abandoned, and may still touch the memory */
};

struct mc_seg {
	LIST_ENTRY(mc_seg) link;
	struct mc_dev *dev;
	uint32_t id;
	uint64_t len;
	bool local;
};

/* One transfer of a batch. */
struct mc_xfer {
	struct mc_done done;
	struct mc_buf *buf;	/* NULL once it has ended */
	uint64_t buf_off;
	uint64_t seg_off;
	uint64_t len;
	uint32_t seg_id;
	uint8_t opcode;
};

struct mc_batch {
	TAILQ_ENTRY(mc_batch) link;
	struct mc_dev *dev;
	uint32_t max;
	uint32_t n;
	uint32_t sent;		/* handed to the ring */
	uint32_t left;		/* not ended */
	bool submitted;
	bool queued;		/* in dev->unsent */
	bool frozen;		/* results change no more, whatever still comes */
	bool abandoned;		/* freed while some had not ended */
	uint64_t deadline_ns;	/* 0: the kernel's default */
	struct mc_xfer xfers[];
};

/* What a cookie stands for: an entry the kernel has. */
struct mc_slot {
	struct mc_batch *batch;	/* NULL: free, or ended and waiting for RELEASED */
	struct mc_buf *buf;
	uint32_t index;
	uint32_t gen;
	uint32_t next_free;
};

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
	uint32_t unsubmitted;	/* entries in the ring that the kernel has not consumed */
	struct mc_slot *slots;	/* cq_entries of them */
	uint32_t free_slot;	/* head of the free list, UINT32_MAX when none */
	uint64_t stray;		/* completions nobody asked for */
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
