/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests, slices, targets and transports: the contract between the entry half of the module (files, buffers, pools,
 * rings, netlink) and the transports (local copy, RDMA).
 *
 * Life of a request
 *
 *   1. MC_IOC_ENTER copies one entry, reserves its completion slot, resolves the handles and makes a struct mc_req
 * that holds
 *      the context, the buffer (its io reference) and the target (a reference). "pending" starts at 1: the *cutter's
 *      hold*, which stands for the bytes not cut into slices yet.
 *   2. target->ops->submit(req) hands request and cutter's hold to the transport, which queues it on a path. Whenever
 * the
 *      path has room, it calls mc_req_cut(): one slice more, one count of pending more. Slices are cut lazily, so a
 *      huge request costs no memory before its time, and the unposted rest can be dropped at any moment.
 *   3. Each slice ends in exactly one mc_slice_done(). When everything has been cut, or the request was stopped and its
 *      transport has taken it off its queues, the transport drops the cutter's hold with mc_req_cut_end(), once.
 *   4. The last count publishes the completion. No device touches the buffer from then on.
 *
 * Stopping: mc_req_stop(req, err) (deadline, close, first failed slice) makes mc_req_cut() return NULL. The deadline
 * and close paths then call ops->abort(req, fence). The transport takes the request off its queues if it is there and
 * drops the cutter's hold; with fence it also makes sure that slices already posted end soon: their queue pair goes
 * to the error state and is drained. Without fence posted slices run out by themselves (a dying process does not
 * disturb the connection that others share); its deadline still stands.
 *
 * Contexts: everything here runs in process context. submit(), abort() may sleep, are called without locks, and may
 * run at the same time for one request. mc_slice_done(), mc_req_cut(), mc_req_stop() don't sleep and take req->lock
 * (a plain spinlock; nothing but the completion ring's lock nests inside it).
 */
#ifndef MC_ENGINE_H
#define MC_ENGINE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/mooncake.h>
#include <linux/mooncake_netlink.h>
#include <rdma/ib_verbs.h>

struct mc_buf;
struct mc_ctx;
struct mc_mem;
struct mc_req;
struct mc_target;
struct netlink_ext_ack;

/**
 * struct mc_transport_ops - one way of moving bytes
 * @name: for sysfs, traces and messages
 * @id: for statistics
 * @submit: take the request and its cutter's hold; reports every failure through mc_req_stop()/mc_slice_done()
 * @abort: the request was stopped: see the top of this file
 * @release: last reference of a target is gone; may sleep
 */
struct mc_transport_ops {
	const char *name;
	enum mc_transport id;
	void (*submit)(struct mc_req *req);
	void (*abort)(struct mc_req *req, bool fence);
	void (*release)(struct mc_target *target);
};

/**
 * struct mc_target - what a request reads or writes on the far side: a segment of this node or of a peer
 * @kref: one for each open handle and each request
 * @ops: transport that reaches it
 * @seg_uuid: the segment
 * @len: bytes
 * @rights: MC_RIGHT_* that the owner gives
 * @gen: generation of the owner's memory, for people
 * @local: a segment of this node
 * @needs_grant: requests need a grant; true unless whoever made the target knows better (segments of open files)
 * @release_work: runs @ops->release: the last reference may go in a context that can't sleep
 *
 * Embedded in struct mc_seg and in struct mc_rseg. All members but @len and @gen are
 * constant after creation; those grow when the owner adds memory.
 */
struct mc_target {
	struct kref kref;
	const struct mc_transport_ops *ops;
	u8 seg_uuid[MC_UUID_LEN];
	u64 len;
	u32 rights;
	u32 gen;
	bool local;
	bool needs_grant;
	struct work_struct release_work;
};

void mc_target_init(struct mc_target *target, const struct mc_transport_ops *ops, const u8 *seg_uuid, u64 len,
		    bool local);
void mc_target_get(struct mc_target *target);
void mc_target_put(struct mc_target *target);

/**
 * struct mc_slice - the unit a transport executes
 * @link: for whoever holds the slice (queue of retries, list of posted ones)
 * @req: request it is part of; valid until mc_slice_done()
 * @off: offset in the request; the buffer side is req->buf_off + off, the segment side req->tgt_off + off
 * @len: bytes; never crosses a registration chunk on either side
 * @tries: times it was posted
 * @unfenced: a WRITE whose old path failed and may still deliver it: the completion won't say QUIESCED
 * @posted_at: RDMA: ktime_get() based ns of the last post
 * @cqe: RDMA: completion entry
 * @path: RDMA: queue pair it was posted on
 * @fence: RDMA: link that may still execute it: it is not posted again before that is fenced; 0: none
 * @again: RDMA: it was posted before
 * @ahead: RDMA: bytes in flight on its path then, with it
 */
struct mc_slice {
	struct list_head link;
	struct mc_req *req;
	u64 off;
	u32 len;
	u8 tries;
	bool unfenced;
	u64 posted_at;
	struct ib_cqe cqe;
	void *path;
	u32 fence;
	bool again;
	u64 ahead;
};

/**
 * struct mc_req - one request
 * @ref: memory of this structure: 1 for the engine until published, 1 for the deadline work, more by transports
 * @pending: cutter's hold + slices out; 0 publishes
 * @lock: protects @cut_off, @stop_err, @fail_off, @bytes, @unquiesced, @published; @patient once it has been submitted
 * @ctx: open file that submitted it
 * @ctx_link: in ctx's list of live requests
 * @buf: buffer, with its io reference
 * @mem: its memory
 * @target: far side, with a reference
 * @write: WRITE (buffer to segment) if set, else READ
 * @buf_off: first byte in the buffer
 * @tgt_off: first byte in the segment
 * @len: bytes
 * @cookie: from the entry
 * @batch: from the entry
 * @cut_off: bytes cut so far
 * @bytes: bytes moved by slices that ended well
 * @stop_err: 0, or why no more is cut (the first error is kept)
 * @fail_off: lowest offset that failed
 * @unquiesced: a slice ended unfenced
 * @rail: local rail id of the first slice, 0 local
 * @submitted_at: ktime_get() based ns
 * @deadline: aborts it
 * @deadline_at: ktime_get() based ns
 * @patient: after the deadline posted slices may run out for a moment, and the request succeeds if they all do; false
 *	when that is over
 * @late: the deadline work has been here; its own
 * @published: it has completed; under @lock
 * @granted: the target needs a grant, and there was one
 * @grant_first: the grant ends before the deadline
 * @grant_end: CLOCK_BOOTTIME when the grant has ended, ns
 * @grant_epoch: the master's clock that the grant was given on
 * @work: for the transport
 * @net_link: for the transport: queue of the peer or rail
 * @net_queued: transport: it is on a queue and the transport owes mc_req_cut_end()
 */
struct mc_req {
	refcount_t ref;
	refcount_t pending;
	spinlock_t lock;
	struct mc_ctx *ctx;
	struct list_head ctx_link;
	struct mc_buf *buf;
	struct mc_mem *mem;
	struct mc_target *target;
	bool write;
	u64 buf_off;
	u64 tgt_off;
	u64 len;
	u64 cookie;
	u32 batch;
	u64 cut_off;
	u64 bytes;
	int stop_err;
	u64 fail_off;
	bool unquiesced;
	u32 rail;
	u64 submitted_at;
	struct delayed_work deadline;
	u64 deadline_at;
	bool patient;
	bool late;
	bool published;
	bool granted;
	bool grant_first;
	u64 grant_end;
	u64 grant_epoch;
	struct work_struct work;
	struct list_head net_link;
	bool net_queued;
};

/**
 * mc_req_cut - cut the next slice
 * @req: request
 * @loc_chunk: bytes of a registration chunk on the buffer's side, a power of two; 0: none
 * @rem_chunk: the same for the segment's side
 * @block: bytes of a slice
 * @tail: bytes of a rest that are not worth a slice of their own
 *
 * Cuts at chunk borders of both sides and at the slice size with tail merging (common/mc_slice.h). Chunks of a buffer
 * count from the start of its first page (mem->page_off included), those of a segment from offset 0.
 *
 * Return: the slice; NULL when nothing is left or the request was stopped; ERR_PTR(-ENOMEM): try again later.
 */
struct mc_slice *mc_req_cut(struct mc_req *req, u64 loc_chunk, u64 rem_chunk, u32 block, u32 tail);

/**
 * mc_req_all_cut - nothing is left to cut, or the request was stopped
 * @req: request
 */
bool mc_req_all_cut(struct mc_req *req);

/**
 * mc_req_cut_end - drop the cutter's hold; exactly once a request, after the last mc_req_cut()
 * @req: request; may be gone on return unless the caller holds a reference
 */
void mc_req_cut_end(struct mc_req *req);

/**
 * mc_slice_done - end a slice
 * @slice: freed here; nothing may still post or touch it
 * @err: 0 or -errno; the first error stops the request
 */
void mc_slice_done(struct mc_slice *slice, int err);

/**
 * mc_req_stop - cut no more and remember why
 * @req: request
 * @err: -errno; ignored if the request was stopped before
 */
void mc_req_stop(struct mc_req *req, int err);

void mc_req_get(struct mc_req *req);
void mc_req_put(struct mc_req *req);

/* ---- provided by the RDMA half (net.c and friends) to the entry half ---- */

int mc_net_init(void);
void mc_net_exit(void);

/**
 * mc_net_seg_open - open a segment of a peer
 * @node: the peer
 * @seg: the segment
 * @timeout_ns: longest wait; killable
 *
 * Segments are shared: a second open of the same segment returns the same target with one reference more.
 *
 * Return: target with a reference, or ERR_PTR: see struct mc_seg_open in the uapi.
 */
struct mc_target *mc_net_seg_open(const u8 *node, const u8 *seg, u64 timeout_ns);

/**
 * mc_net_forget_mem - withdraw every registration of some memory
 * @mem: memory; no local request uses it any more
 *
 * For a pool: tells the peers that opened it, waits for their acknowledgement, fences the queue pairs of those that
 * stay silent (bounded), then deregisters on every device and unmaps. Returns when no device and no peer can reach a
 * page any more. Never fails, allocates nothing. Process context, sleeps, no locks held.
 */
void mc_net_forget_mem(struct mc_mem *mem);

/**
 * mc_net_tell_mem - some memory of a segment ends or is replaced: no new leases, peers are told
 * @mem: memory, kept alive by the caller; mc_net_forget_mem() follows
 */
void mc_net_tell_mem(struct mc_mem *mem);

/**
 * mc_net_seg_lookup - ask a peer for the segment that has a name
 * @node: the peer
 * @name: NUL-terminated
 * @timeout_ns: longest wait; killable
 * @seg: result
 *
 * Return: 0 or -errno: see struct mc_seg_open in the uapi.
 */
int mc_net_seg_lookup(const u8 *node, const char *name, u64 timeout_ns, u8 *seg);

/* Identity or authentication changed; generic netlink handlers of rails and peers are in genl_net.h. */
int mc_key_set(u32 gen, const u8 *key);
u32 mc_key_gen(void);	/* newest generation, 0 without a key */
bool mc_net_busy(void);	/* rails or peers exist */
u64 mc_net_chunk_bytes(void);	/* for struct mc_info.mr_chunk_bytes */

/* ---- provided by the entry half to the RDMA half ---- */

/**
 * struct mc_node - identity of this node (node.c); constant once @set while rails or peers exist
 * @lock: protects all but @instance
 * @set: NODE_SET was done
 * @uuid: node
 * @cluster: cluster
 * @instance: random number of this module load
 * @auth: enum mc_auth as asked for; MC_AUTH_UNSET until then
 */
struct mc_node {
	spinlock_t lock;
	bool set;
	u8 uuid[MC_UUID_LEN];
	u8 cluster[MC_UUID_LEN];
	u64 instance;
	u32 auth;
};
extern struct mc_node mc_node;

extern struct workqueue_struct *mc_wq;	/* unbound; teardown, deadlines */
extern struct kobject *mc_kobj;		/* /sys/class/misc/mooncake: rails and peers add directories below */
extern struct dentry *mc_debugfs;	/* /sys/kernel/debug/mooncake */
#define MC_SLICE_MIN	4096
#define MC_SLICE_MAX	(16 << 20)
extern unsigned int mc_slice_bytes;	/* module parameter slice_size */
extern unsigned int mc_slice_tail;	/* module parameter slice_tail */
extern unsigned long mc_mr_max;		/* module parameter mr_max, bytes: registrations are no larger */

#endif /* MC_ENGINE_H */
