/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/mooncake: registered buffers, segments of this and other nodes, and transfers between them.
 *
 * This header is the manual of the device. Words: a *buffer* is memory of the caller, pinned once; a
 * *segment* is memory that others can open (a pool of some node); a *request* moves bytes between one
 * buffer and one segment and completes exactly once.
 *
 * Rules for every ioctl
 *   - The first member is the size of the structure as the caller knows it. Smaller than the first version: EINVAL.
 *     Bytes beyond what the kernel knows must be zero, else E2BIG. Reserved members and unknown flags must be zero,
 *     else EINVAL.
 *   - Members named out_* are results; the kernel writes them only when it says so.
 *   - Everything belongs to the open file, not to a process. MC_IOC_BUF_REG(_BATCH) needs the address space that
 *     opened the file (EACCES in any other); everything else may be called by whoever holds the descriptor.
 *   - Handles (buffer and segment ids) are never zero and carry a generation: a stale, foreign or random one is ENOENT.
 *
 * Closing the last descriptor ends it all: requests that have not started are dropped, those on the wire run out or
 * are fenced, then registrations are withdrawn and pages unpinned, in that order and in the background.
 */
#ifndef _UAPI_LINUX_MOONCAKE_H
#define _UAPI_LINUX_MOONCAKE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MC_ABI_MAJOR		1
#define MC_ABI_MINOR		0

#define MC_UUID_LEN		16
#define MC_NAME_LEN		64	/* with the closing NUL */

/* Limits; MC_IOC_INFO reports the values in force. */
#define MC_MAX_RING_ENTRIES	32768
#define MC_MAX_BUFFERS		4096	/* an open file */
#define MC_MAX_BUF_BATCH	1024	/* of one MC_IOC_BUF_REG_BATCH */
#define MC_MAX_SEGMENTS		4096	/* opened by an open file */
#define MC_MAX_EXPORTS		1024	/* segments that an open file exports */
#define MC_MAX_EXPORT_BUFS	4096	/* buffers of one exported segment */
#define MC_MAX_GRANTS		65536	/* loaded by an open file */
#define MC_MAX_GRANT_BATCH	1024	/* of one MC_IOC_GRANT_ADD or MC_IOC_GRANT_DEL */
#define MC_MAX_BUF_LEN		(1ULL << 40)
#define MC_MAX_REQ_LEN		(1ULL << 32)
#define MC_MAX_BATCHES_KEPT	1024	/* that have ended, for MC_IOC_BATCH, of an open file */
#define MC_MAX_TIMEOUT_NS	(3600ULL * 1000000000ULL)

/**
 * struct mc_info - MC_IOC_INFO: what this kernel module is and what it allows
 * @size: sizeof(struct mc_info)
 * @abi_major: equal majors work together
 * @abi_minor: grows with additions
 * @features: MC_FEAT_*
 * @node_uuid: identity of this node, all zero until mcnoded has set it
 * @instance: random number of this module load
 * @cluster_uuid: cluster this node belongs to, all zero until set
 * @max_ring_entries: submission entries of one ring
 * @max_buffers: registered buffers of one open file
 * @max_segments: opened segments of one open file
 * @slice_bytes: slice size of transfers between nodes
 * @max_buf_len: bytes of one buffer
 * @max_req_len: bytes of one request
 * @default_timeout_ns: deadline of a request that names none
 * @mr_chunk_bytes: bytes covered by one registration on the most limited device in use, 0 without devices
 * @auth: 0 none (asked for explicitly), 1 cluster key loaded, 2 no key and not allowed to go without
 * @resv: zero
 * @max_buf_batch: entries of one MC_IOC_BUF_REG_BATCH; the first version ends before it
 * @max_exports: segments that one open file exports
 * @max_export_bufs: buffers of one exported segment
 * @max_grants: grants loaded by one open file
 * @max_grant_batch: entries of one MC_IOC_GRANT_ADD or MC_IOC_GRANT_DEL
 * @max_batches_kept: batches that have ended and are still known to MC_IOC_BATCH, of one open file
 * @max_timeout_ns: longest deadline of a request and of a wait
 */
struct mc_info {
	__u32 size;
	__u16 abi_major;
	__u16 abi_minor;
	__u64 features;
	__u8  node_uuid[MC_UUID_LEN];
	__u64 instance;
	__u8  cluster_uuid[MC_UUID_LEN];
	__u32 max_ring_entries;
	__u32 max_buffers;
	__u32 max_segments;
	__u32 slice_bytes;
	__u64 max_buf_len;
	__u64 max_req_len;
	__u64 default_timeout_ns;
	__u64 mr_chunk_bytes;
	__u32 auth;
	__u32 resv;
	__u32 max_buf_batch;
	__u32 max_exports;
	__u32 max_export_bufs;
	__u32 max_grants;
	__u32 max_grant_batch;
	__u32 max_batches_kept;
	__u64 max_timeout_ns;
};

#define MC_FEAT_RDMA		(1ULL << 0)
#define MC_FEAT_FAULT		(1ULL << 63)	/* built with fault hooks: never for production */

/**
 * struct mc_buf_reg - MC_IOC_BUF_REG: pin memory of the caller and make it a buffer
 * @size: sizeof(struct mc_buf_reg)
 * @flags: must be 0
 * @addr: start, any alignment
 * @len: bytes, 1 to MC_MAX_BUF_LEN
 * @out_id: handle
 * @resv: must be 0
 *
 * The mapping must be writable: anonymous memory, shmem/memfd or hugetlb. Pages stay pinned until the buffer is
 * unregistered and no request uses it. They count against RLIMIT_MEMLOCK of the user that opened the file, all of its
 * files and processes together, unless the caller has CAP_IPC_LOCK. Buffers of
 * one file don't overlap; they may touch, and a range that was unregistered may be registered again at once.
 * Other nodes can't address a buffer unless it is exported (MC_IOC_SEG_EXPORT).
 *
 * Errors: EINVAL (length 0, wrap-around, too long), EEXIST (overlaps a buffer of this file), EFAULT (a page is not
 * mapped, not writable or can't be had), EOPNOTSUPP (a mapping of a file or of a device, the rings of this one
 * included), ENOMEM (RLIMIT_MEMLOCK or memory), EACCES (another address space), ENOSPC (too many buffers), EINTR
 * (killed). After an error nothing is pinned. The kernel log says which mapping it was or how much was asked beyond
 * which limit.
 */
struct mc_buf_reg {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 out_id;
	__u32 resv;
};

/**
 * struct mc_buf_item - one range of MC_IOC_BUF_REG_BATCH
 * @addr: start
 * @len: bytes
 * @out_id: handle
 * @resv: must be 0
 */
struct mc_buf_item {
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 out_id;
	__u32 resv;
};

/**
 * struct mc_buf_reg_batch - MC_IOC_BUF_REG_BATCH: register many ranges or none
 * @size: sizeof(struct mc_buf_reg_batch)
 * @flags: must be 0
 * @count: entries, 1 to MC_MAX_BUF_BATCH
 * @out_index: after an error about one entry its number, else @count
 * @items: address of @count struct mc_buf_item; the handles are written after all have succeeded
 *
 * All entries are checked, also against each other, before the first page is pinned. An error takes back what was
 * registered, last one first. Errors: those of MC_IOC_BUF_REG, for the first entry that has one (of two that overlap,
 * the later one); E2BIG (too many entries).
 */
struct mc_buf_reg_batch {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 out_index;
	__aligned_u64 items;
};

/**
 * struct mc_handle - MC_IOC_BUF_UNREG, MC_IOC_SEG_CLOSE: give a handle back
 * @size: sizeof(struct mc_handle)
 * @id: the handle
 *
 * Returns 0 at once, never EBUSY: requests in flight end by themselves (whole, or ECANCELED when they had not
 * started), then memory is let go in the background. A second call is ENOENT. The segments that an unregistered buffer
 * is part of end with it.
 */
struct mc_handle {
	__u32 size;
	__u32 id;
};

/*
 * What a segment's owner lets others do. A request that needs more ends with EACCES before anything is sent, and the
 * registrations at the owner allow no more either.
 */
#define MC_RIGHT_READ		(1U << 0)
#define MC_RIGHT_WRITE		(1U << 1)

/**
 * struct mc_seg_open - MC_IOC_SEG_OPEN: open a segment of this or another node
 * @size: sizeof(struct mc_seg_open), or up to @out_flags inclusive: the first version
 * @flags: must be 0
 * @node_uuid: node that owns it
 * @seg_uuid: the segment; zero to open it by name
 * @timeout_ns: how long to wait for the other node, 0 means 5 s
 * @out_len: bytes of the segment; an exported one may grow: open it again to see how far
 * @out_id: handle
 * @out_flags: MC_SEG_LOCAL when it lives on this node, MC_SEG_NEEDS_GRANT when requests need a grant: it is a pool
 * @name: the name it was exported or created under, when @seg_uuid is zero; leading '/' don't count. Else empty
 * @out_seg_uuid: the segment, whichever way it was named
 * @out_rights: MC_RIGHT_* that its owner gives; 0: none
 * @out_gen: generation of its memory; grows with each buffer that is added
 *
 * Errors: EINVAL (neither or both of UUID and name, no NUL in the name), EHOSTUNREACH (no such peer, or no rail leads
 * to it), ENOENT (the node has no such segment), EACCES (the peer could not prove that it knows the cluster key),
 * EPROTO (version or cluster differ), ETIMEDOUT, ENOSPC, EINTR.
 */
struct mc_seg_open {
	__u32 size;
	__u32 flags;
	__u8  node_uuid[MC_UUID_LEN];
	__u8  seg_uuid[MC_UUID_LEN];
	__aligned_u64 timeout_ns;
	__aligned_u64 out_len;
	__u32 out_id;
	__u32 out_flags;
	__u8  name[MC_NAME_LEN];
	__u8  out_seg_uuid[MC_UUID_LEN];
	__u32 out_rights;
	__u32 out_gen;
};

#define MC_SEG_LOCAL		(1U << 0)
#define MC_SEG_NEEDS_GRANT	(1U << 1)

/**
 * struct mc_seg_export - MC_IOC_SEG_EXPORT: let others open a buffer
 * @size: sizeof(struct mc_seg_export)
 * @flags: must be 0
 * @buf_id: the buffer; it must consist of whole pages
 * @rights: MC_RIGHT_READ, both rights, or 0: others may open it and see its size, no more
 * @name: what others open it by; leading '/' don't count. Printable, unique among the live segments of the node
 * @out_seg_uuid: the segment: random, new each time a name comes into use
 * @out_off: where the buffer begins in the segment
 * @out_len: bytes of the segment
 * @out_gen: generation of its memory, from 1
 * @resv: must be 0
 *
 * A name that this file exports already: the buffer is added to the end of that segment, with the same rights, and its
 * UUID stays. Peers that have it open are told and then can reach the new end too; requests in flight go on.
 *
 * The segment ends with MC_IOC_SEG_UNEXPORT, with the open file, and when one of its buffers is unregistered: requests
 * of others end with ESTALE at once. A buffer may be in several segments, once in each.
 *
 * Errors: EINVAL (name, rights, a buffer that does not begin and end at a page), ENOENT (no such buffer), EEXIST (the
 * name is in use and not by this file, or the buffer is in that segment already), EACCES (other rights than the
 * segment has), ENOSPC (MC_MAX_EXPORTS, MC_MAX_EXPORT_BUFS), ENOMEM.
 */
struct mc_seg_export {
	__u32 size;
	__u32 flags;
	__u32 buf_id;
	__u32 rights;
	__u8  name[MC_NAME_LEN];
	__u8  out_seg_uuid[MC_UUID_LEN];
	__aligned_u64 out_off;
	__aligned_u64 out_len;
	__u32 out_gen;
	__u32 resv;
};

/**
 * struct mc_seg_unexport - MC_IOC_SEG_UNEXPORT: end a segment of this file
 * @size: sizeof(struct mc_seg_unexport)
 * @flags: must be 0
 * @seg_uuid: the segment
 *
 * Returns 0 at once: what peers have on the wire runs out or is fenced in the background, until then the pages stay
 * pinned. A second call, and a segment that is not this file's: ENOENT.
 */
struct mc_seg_unexport {
	__u32 size;
	__u32 flags;
	__u8  seg_uuid[MC_UUID_LEN];
};

/*
 * Rings: one pair per open file, set up once (EEXIST afterwards). Both areas come from mmap() of the device:
 *
 *   offset MC_OFF_SQ, out_sq_bytes: struct mc_sq_head, then at out_sqe_off the mc_sqe array   (read-write, shared)
 *   offset MC_OFF_CQ, out_cq_bytes: struct mc_cq_head, then at out_cqe_off the mc_cqe array   (read-only, shared)
 *
 * Indices run freely over 2^32 and are masked with entries - 1. The caller fills entries and moves sq.tail with
 * release order; MC_IOC_ENTER consumes them and moves cq.sq_head. Completions appear between sq.cq_head (the caller
 * moves it, release order, after reading) and cq.tail (the kernel moves it, release order). A completion slot is
 * reserved when an entry is consumed: the completion ring can't overflow; an entry that finds no free slot is not
 * consumed. The kernel keeps its own copies of all indices and reads each entry once.
 */
#define MC_OFF_SQ		0x00000000ULL
#define MC_OFF_CQ		0x10000000ULL

/**
 * struct mc_sq_head - start of the submission area, written by the caller
 * @tail: entries made available so far
 * @cq_head: completions taken so far
 * @resv: leave zero
 */
struct mc_sq_head {
	__u32 tail;
	__u32 cq_head;
	__u32 resv[14];
};

/**
 * struct mc_cq_head - start of the completion area, written by the kernel
 * @tail: completions published so far
 * @sq_head: entries consumed so far
 * @resv: zero
 */
struct mc_cq_head {
	__u32 tail;
	__u32 sq_head;
	__u32 resv[14];
};

/**
 * struct mc_ring_setup - MC_IOC_RING_SETUP
 * @size: sizeof(struct mc_ring_setup)
 * @flags: must be 0
 * @sq_entries: power of two, 1 to MC_MAX_RING_ENTRIES
 * @cq_entries: power of two, at least @sq_entries, at most 2 * MC_MAX_RING_ENTRIES
 * @out_sq_bytes: bytes to map at MC_OFF_SQ
 * @out_cq_bytes: bytes to map at MC_OFF_CQ
 * @out_sqe_off: where the mc_sqe array begins in the submission area
 * @out_cqe_off: where the mc_cqe array begins in the completion area
 * @resv: must be 0
 */
struct mc_ring_setup {
	__u32 size;
	__u32 flags;
	__u32 sq_entries;
	__u32 cq_entries;
	__u32 out_sq_bytes;
	__u32 out_cq_bytes;
	__u32 out_sqe_off;
	__u32 out_cqe_off;
	__u32 resv[2];
};

#define MC_OP_NOP		0	/* completes at once with result 0 */
#define MC_OP_READ		1	/* segment to buffer */
#define MC_OP_WRITE		2	/* buffer to segment */

/**
 * struct mc_sqe - one request
 * @opcode: MC_OP_*
 * @priority: must be 0
 * @flags: must be 0
 * @buf_id: buffer
 * @buf_off: first byte in the buffer
 * @target_id: segment handle from MC_IOC_SEG_OPEN
 * @batch: any number, repeated in the completion; 0: the request belongs to no batch that MC_IOC_BATCH knows
 * @target_off: first byte in the segment
 * @len: bytes, 1 to MC_MAX_REQ_LEN (NOP: 0)
 * @cookie: any number, repeated in the completion
 * @timeout_ns: deadline, counted from submission, at most MC_MAX_TIMEOUT_NS: then the request is stopped and whatever
 *	of it is on the wire is cut off. 0 means 60 s, after which what is on the wire has 1 s more to end by itself (or
 *	until the grant ends, if that is sooner); if that was all that was left and it ends well, the request succeeds
 * @grant_id: grant that allows it, from MC_IOC_GRANT_ADD; 0 for a segment that needs none
 * @crc32c: must be 0
 * @spans: must be 0
 * @span_count: must be 0
 * @list_id: must be 0
 * @list_first: must be 0
 * @list_count: must be 0
 * @resv: must be 0
 *
 * A malformed entry completes with its error like any other request: EINVAL (field), ENOENT (handle), ERANGE (outside
 * the buffer or segment), EACCES (a pool without a grant, outside what the grant allows, or against the segment's
 * rights), ETIME (the grant has ended, also before the last byte had moved). Further results: ETIMEDOUT, ECANCELED,
 * ESTALE (the owner withdrew the segment), EHOSTUNREACH (no path to the node), EIO (the path failed and retries did
 * too), EBUSY never.
 */
struct mc_sqe {
	__u8  opcode;
	__u8  priority;
	__u16 flags;
	__u32 buf_id;
	__u64 buf_off;
	__u32 target_id;
	__u32 batch;
	__u64 target_off;
	__u64 len;
	__u64 cookie;
	__u64 timeout_ns;
	__u32 grant_id;
	__u32 crc32c;
	__u64 spans;
	__u32 span_count;
	__u32 list_id;
	__u32 list_first;
	__u32 list_count;
	__u64 resv[5];
};

/**
 * struct mc_cqe - how one request ended
 * @cookie: from the request
 * @result: 0 or -errno
 * @flags: MC_CQE_F_*
 * @bytes: bytes moved; @len on success. After an error nothing in the destination range is valid
 * @fail_off: offset in the request of the first byte that failed, ~0 on success
 * @crc32c: 0
 * @rail: rail that carried the first slice, 0 for the local copy
 * @batch: from the request
 * @resv0: 0
 * @resv: 0
 */
struct mc_cqe {
	__u64 cookie;
	__s32 result;
	__u32 flags;
	__u64 bytes;
	__u64 fail_off;
	__u32 crc32c;
	__u32 rail;
	__u32 batch;
	__u32 resv0;
	__u64 resv[2];
};

#define MC_CQE_F_QUIESCED	(1U << 0) /* nothing of this request can reach the segment any more */
#define MC_CQE_F_BUSY		(1U << 1) /* the device may still touch the buffer; RELEASED follows */
#define MC_CQE_F_RELEASED	(1U << 2) /* second completion after BUSY */

/**
 * struct mc_enter - MC_IOC_ENTER: submit entries and wait for completions
 * @size: sizeof(struct mc_enter)
 * @flags: must be 0
 * @to_submit: consume at most this many entries
 * @min_complete: wait until this many completions are waiting to be taken (0: don't wait)
 * @timeout_ns: longest wait, at most MC_MAX_TIMEOUT_NS
 * @out_submitted: entries consumed
 * @out_ready: completions waiting to be taken
 *
 * The out members are written whatever the result is (except EFAULT and a bad size or flag). 0: done. ETIME: the wait
 * ended first. EINTR: a signal came. EINVAL: no ring, bad flags, min_complete above the completion ring. Fewer
 * entries than asked are consumed when the ring holds fewer or the completion ring is full.
 */
struct mc_enter {
	__u32 size;
	__u32 flags;
	__u32 to_submit;
	__u32 min_complete;
	__aligned_u64 timeout_ns;
	__u32 out_submitted;
	__u32 out_ready;
};

/**
 * struct mc_eventfd - MC_IOC_EVENTFD: signal an eventfd when completions arrive
 * @size: sizeof(struct mc_eventfd)
 * @fd: eventfd, or -1 to stop
 * @flags: must be 0
 * @resv: must be 0
 *
 * Signalled when the completion ring goes from empty (as the kernel last saw cq_head) to not empty. poll() says
 * POLLIN | POLLRDNORM while completions wait.
 */
struct mc_eventfd {
	__u32 size;
	__s32 fd;
	__u32 flags;
	__u32 resv;
};

/*
 * Grants: a pool is read, written and mapped under a grant only, whose bytes the master hands out with the place of
 * an object. A grant says which range of which segment, for reading or writing, and until when; its tag proves that
 * somebody wrote it who knows the cluster key. It is nobody's in particular: whoever has the bytes may load them.
 *
 * Generations: the kernel accepts the two newest of the cluster key. A grant of an older one ends at once.
 */
#define MC_GRANT_LEN		88	/* bytes of a grant */

/**
 * struct mc_grant_item - one of MC_IOC_GRANT_ADD
 * @grant: as the master gave it
 * @out_id: handle for struct mc_sqe.grant_id and mmap(); 0 when refused
 * @out_error: 0, or negative: EINVAL (not a grant), EACCES (the tag is wrong, or of a key that this node does not
 *	have), ETIME (it has ended, or this node does not know the master's time: mcnoded sets it each second), ENOSPC
 *	(too many), ENOMEM
 */
struct mc_grant_item {
	__u8  grant[MC_GRANT_LEN];
	__u32 out_id;
	__s32 out_error;
};

/**
 * struct mc_grant_add - MC_IOC_GRANT_ADD: load grants
 * @size: sizeof(struct mc_grant_add)
 * @flags: must be 0
 * @count: entries, 1 to MC_MAX_GRANT_BATCH
 * @out_added: how many were taken
 * @items: address of @count struct mc_grant_item, which are read and written
 *
 * Each entry has a result of its own; a bad one does not spoil the others. Errors of the call: EINVAL, EFAULT,
 * ENOMEM. After EFAULT entries may have been taken; they go with the file.
 */
struct mc_grant_add {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 out_added;
	__aligned_u64 items;
};

/**
 * struct mc_grant_del - MC_IOC_GRANT_DEL: give grants back
 * @size: sizeof(struct mc_grant_del)
 * @flags: must be 0
 * @count: entries, 1 to MC_MAX_GRANT_BATCH
 * @out_deleted: how many there were; the others were gone already, which is no error
 * @ids: address of @count __u32, the handles
 *
 * Requests that have been submitted go on; mappings end. Errors: EINVAL, EFAULT, ENOMEM.
 */
struct mc_grant_del {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 out_deleted;
	__aligned_u64 ids;
};

/*
 * mmap() of a pool's extent, on the node that owns the pool: read-only and shared, under a loaded grant to read.
 *
 *   offset MC_OFF_GRANT(grant id) + first byte in the range of the grant
 *
 * Range and length count in pages: the range must begin on a page, and own its last page whole (the master's grants
 * say so). What follows the object in that page reads as zero. Only the first 2 GiB of a range can be where a mapping
 * begins; it may be longer.
 *
 * The mapping ends with the grant (its time, MC_IOC_GRANT_DEL, another master), with the pool, and with the last of
 * its VMAs; touching it afterwards is SIGBUS. fork() and mremap() keep it. It can't be pinned: no O_DIRECT, no
 * registration.
 *
 * Errors: EINVAL (outside the range, not on a page, MAP_PRIVATE), EACCES (PROT_WRITE, PROT_EXEC, a grant to write
 * only or of a key that is not accepted any more; mprotect() later as well), ENOENT (no such grant; no such segment
 * on this node), ETIME (the grant has ended), ESTALE (the pool has), ENOMEM.
 */
#define MC_OFF_GRANT_SHIFT	31
#define MC_OFF_GRANT(id)	((__u64)(id) << MC_OFF_GRANT_SHIFT)

/**
 * struct mc_cancel - MC_IOC_CANCEL: stop requests of this file
 * @size: sizeof(struct mc_cancel)
 * @flags: MC_CANCEL_ALL or 0
 * @cookie: the requests with this cookie; 0 with MC_CANCEL_ALL
 * @out_count: requests that were found; not all of them need end with ECANCELED
 * @resv: must be 0
 *
 * Nothing more of them is posted. What is on the wire runs out first: each request completes once, as ever, with
 * ECANCELED, or with the result it had when something else stopped it first. One whose last byte has moved may complete
 * either way. Requests that are submitted while this runs may be missed. Errors: EINVAL, ENOENT (there is no such
 * request, or it has completed), EINTR (killed).
 */
struct mc_cancel {
	__u32 size;
	__u32 flags;
	__aligned_u64 cookie;
	__u32 out_count;
	__u32 resv;
};

#define MC_CANCEL_ALL		(1U << 0)

/**
 * struct mc_batch_info - MC_IOC_BATCH: what has become of the requests of a batch
 * @size: sizeof(struct mc_batch_info)
 * @flags: must be 0
 * @batch: number, not 0
 * @out_pending: requests that have not completed
 * @out_done: requests that have
 * @out_error: 0, or the result of the first one that failed
 * @resv: must be 0
 * @out_error_cookie: its cookie
 *
 * What a completion says is counted when the completion can be seen. Once nothing is pending, the numbers stay until
 * MC_MAX_BATCHES_KEPT other batches of the file have ended, or the number is used again, which begins anew. Errors:
 * EINVAL, ENOENT (not known, or not any more).
 */
struct mc_batch_info {
	__u32 size;
	__u32 flags;
	__u32 batch;
	__u32 out_pending;
	__aligned_u64 out_done;
	__s32 out_error;
	__u32 resv;
	__aligned_u64 out_error_cookie;
};

/**
 * struct mc_client - MC_IOC_CLIENT: whose file this is
 * @size: sizeof(struct mc_client)
 * @flags: must be 0
 * @uuid: the client, as it calls itself when it talks to the master; not zero
 *
 * When the last descriptor has gone (a killed process's too), the netlink event CLIENT_GONE names the client: nobody
 * waits for what the master protects for it. What it has on the wire runs out or is fenced. Once; again with the same
 * UUID is fine. Errors: EINVAL, EEXIST (another one was given).
 */
struct mc_client {
	__u32 size;
	__u32 flags;
	__u8  uuid[MC_UUID_LEN];
};

#define MC_IOC_MAGIC		0xCA
#define MC_IOC_INFO		_IOWR(MC_IOC_MAGIC, 0x00, struct mc_info)
#define MC_IOC_BUF_REG		_IOWR(MC_IOC_MAGIC, 0x01, struct mc_buf_reg)
#define MC_IOC_BUF_UNREG	_IOW(MC_IOC_MAGIC, 0x02, struct mc_handle)
#define MC_IOC_SEG_OPEN		_IOWR(MC_IOC_MAGIC, 0x03, struct mc_seg_open)
#define MC_IOC_SEG_CLOSE	_IOW(MC_IOC_MAGIC, 0x04, struct mc_handle)
#define MC_IOC_RING_SETUP	_IOWR(MC_IOC_MAGIC, 0x05, struct mc_ring_setup)
#define MC_IOC_ENTER		_IOWR(MC_IOC_MAGIC, 0x06, struct mc_enter)
#define MC_IOC_EVENTFD		_IOW(MC_IOC_MAGIC, 0x07, struct mc_eventfd)
#define MC_IOC_GRANT_ADD	_IOWR(MC_IOC_MAGIC, 0x08, struct mc_grant_add)
#define MC_IOC_GRANT_DEL	_IOWR(MC_IOC_MAGIC, 0x09, struct mc_grant_del)

#define MC_IOC_BUF_REG_BATCH	_IOWR(MC_IOC_MAGIC, 0x0a, struct mc_buf_reg_batch)
#define MC_IOC_SEG_EXPORT	_IOWR(MC_IOC_MAGIC, 0x0b, struct mc_seg_export)
#define MC_IOC_SEG_UNEXPORT	_IOW(MC_IOC_MAGIC, 0x0c, struct mc_seg_unexport)
#define MC_IOC_CANCEL		_IOWR(MC_IOC_MAGIC, 0x0d, struct mc_cancel)
#define MC_IOC_BATCH		_IOWR(MC_IOC_MAGIC, 0x0e, struct mc_batch_info)
#define MC_IOC_CLIENT		_IOW(MC_IOC_MAGIC, 0x10, struct mc_client)

#endif /* _UAPI_LINUX_MOONCAKE_H */
