/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connection sets: one control queue pair and the data queue pairs between a rail of this node and one of another.
 *
 * The node that wants to reach the other's segments opens the set and owns it (initiator); the other one only serves
 * (passive). A pair of nodes that use each other's segments has sets in each direction, one for each pair of rails in
 * use, and each fails and recovers on its own. A set is never repaired: it breaks as a whole, its queue pairs go to the
 * error state, are drained and destroyed, and the initiator builds a new one with a higher epoch. The passive side
 * destroys all older sets of the same pair of rails before it says yes to a new one, and any set that a FENCE message
 * over another one names before it answers that. These are the fence: after HELLO_ACK or FENCE_ACK no packet of the old
 * set can be executed any more.
 *
 * Locks: setup_lock > post_lock > ctrl_lock (spinlock). Nobody waits for the network under post_lock.
 *
 * Every wait in here is bounded: by a time-out given to it, or by the flush of a queue pair in the error state, which
 * needs no network. Teardown allocates nothing. What can't be bounded from here, the end of rdma_cm's ids, which waits
 * until their messages are sent, is left to a work item (cmid.h): a set is down when its queue pairs are destroyed.
 */
#ifndef MC_CSET_H
#define MC_CSET_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "auth.h"
#include "engine.h"
#include "mc_wire.h"

#define MC_DATA_QPS	2
#define MC_CONN_REG	(1 + MC_DATA_QPS)	/* carries registrations, no packets */
#define MC_CONNS	(2 + MC_DATA_QPS)	/* 0 is the control connection */
#define MC_SQ_CREDITS	64			/* slices posted on one data queue pair */
#define MC_CTRL_BUFS	64			/* each way; more than calls and revocations under way */
#define MC_CTRL_CALLS	16			/* calls under way on one set */
#define MC_WHY_LEN	96

struct mc_cmid_end;
struct mc_cset;

/**
 * struct mc_conn - one connection of a set
 * @set: the set
 * @index: in the set
 * @up: reached the state in which work requests are executed: must be drained
 * @status: result of the last step of connecting
 * @credits: slices that may still be posted (data)
 * @id: rdma_cm's end, NULL: none
 * @end: what destroys @id
 * @cq: completions of the queue pair
 * @event: the step of connecting is over
 */
struct mc_conn {
	struct mc_cset *set;
	u8 index;
	bool up;
	int status;
	int credits;
	struct rdma_cm_id *id;
	struct mc_cmid_end *end;
	struct ib_cq *cq;
	struct completion event;
};

/**
 * struct mc_ctrl_buf - one message on its way
 * @cqe: completion entry
 * @set: the set
 * @link: free list or list of received messages
 * @dma: where the device finds it
 * @len: bytes of a received message
 * @data: MC_WIRE_MSG_MAX bytes
 */
struct mc_ctrl_buf {
	struct ib_cqe cqe;
	struct mc_cset *set;
	struct list_head link;
	u64 dma;
	u32 len;
	u8 *data;
};

/**
 * struct mc_cset_ops - what differs between the two ends
 * @message: a message that is no answer arrived; process context, may sleep
 * @broken: the set broke; called once, must not sleep, the owner of the set destroys it from a work item
 * @free: the last reference is gone
 */
struct mc_cset_ops {
	void (*message)(struct mc_cset *set, struct mc_wire_msg *msg);
	void (*broken)(struct mc_cset *set);
	void (*free)(struct mc_cset *set);
};

/**
 * struct mc_cset - see the top of this file
 * @kref: memory; 1 for whoever destroys it
 * @ops: the end's own behaviour
 * @dev: device, with a reference
 * @rail: local rail id
 * @peer_rail: the other node's rail id; the initiator learns it from CHALLENGE
 * @mtu: bytes of payload that a packet may carry both ways, 0 until HELLO
 * @tos: type of service of its packets as asked for, -1: whatever the node's default is
 * @sl: service level (priority) as asked for, -1: the default
 * @tos_used: type of service in force
 * @read_depth: READs that each data connection may have under way
 * @node: the other node
 * @instance: its module load
 * @epoch: chosen by the initiator, grows
 * @session: key that signs the requests of the data connections
 * @conn: control connection, then the data ones
 * @setup_lock: connecting and tearing down exclude each other
 * @post_lock: protects @dead and every posting
 * @dead: nothing may be posted any more
 * @state: bit 0: it broke
 * @error: why, as -errno
 * @why: why, for people
 * @ctrl_lock: protects @tx_free, @rx_list, @calls, @next_id
 * @area: memory of all control buffers
 * @area_dma: its address for the device
 * @area_mapped: it has one
 * @rx: receive buffers
 * @tx: send buffers
 * @tx_free: send buffers not in use
 * @tx_wait: somebody waits for one, or for one of @call_slots
 * @rx_list: received messages, handled by @rx_work in order
 * @rx_work: see @rx_list
 * @calls: calls that wait for their answer
 * @next_id: number of the next call
 * @call_slots: calls that may still begin, of MC_CTRL_CALLS
 * @last_rx: jiffies when the last message arrived
 */
struct mc_cset {
	struct kref kref;
	const struct mc_cset_ops *ops;
	struct mc_ibdev *dev;
	u32 rail;
	u32 peer_rail;
	u32 mtu;
	s16 tos;
	s16 sl;
	u8 tos_used;
	u8 read_depth;
	u8 node[MC_UUID_LEN];
	u64 instance;
	u32 epoch;
	u8 session[MC_SESSION_LEN];
	struct mc_conn conn[MC_CONNS];
	struct mutex setup_lock;
	struct mutex post_lock;
	bool dead;
	unsigned long state;
	int error;
	char why[MC_WHY_LEN];
	spinlock_t ctrl_lock;
	void *area;
	u64 area_dma;
	bool area_mapped;
	struct mc_ctrl_buf rx[MC_CTRL_BUFS];
	struct mc_ctrl_buf tx[MC_CTRL_BUFS];
	struct list_head tx_free;
	wait_queue_head_t tx_wait;
	struct list_head rx_list;
	struct work_struct rx_work;
	struct list_head calls;
	u32 next_id;
	atomic_t call_slots;
	unsigned long last_rx;
};

/* ---- cm.c ---- */

/**
 * mc_cset_init - prepare a zeroed set
 * @set: embedded in the end's own structure
 * @ops: behaviour
 * @dev: device; takes a reference
 *
 * Return: 0 or -ENOMEM.
 */
int mc_cset_init(struct mc_cset *set, const struct mc_cset_ops *ops, struct mc_ibdev *dev);

/**
 * mc_cset_connect - open one connection
 * @set: set
 * @index: which one; the control connection first
 * @src: address of the local rail
 * @dst: address of the remote rail
 * @timeout_ms: for each of the three steps
 *
 * Return: 0 or -errno; -EACCES, -EPROTO, -ESTALE when the other node refused with that reason.
 */
int mc_cset_connect(struct mc_cset *set, int index, struct sockaddr *src, struct sockaddr *dst, u32 timeout_ms);

/**
 * mc_cset_accept - accept one connection
 * @set: set
 * @index: which one
 * @id: the request's end; becomes the set's, destroyed with it, also on failure
 * @end: what destroys @id; likewise
 * @event: parameters of the request
 *
 * Return: 0 or -errno.
 */
int mc_cset_accept(struct mc_cset *set, int index, struct rdma_cm_id *id, struct mc_cmid_end *end,
		   struct rdma_conn_param *event);

/**
 * mc_cset_break - the set is no longer any good
 * @set: set
 * @err: -errno
 * @fmt: why, for people; the first reason is kept
 *
 * Any context, interrupts included. Calls ops->broken() the first time.
 */
__printf(3, 4) void mc_cset_break(struct mc_cset *set, int err, const char *fmt, ...);

bool mc_cset_broken(struct mc_cset *set);

/**
 * mc_cset_destroy - take the set down
 * @set: set; the caller's reference is dropped
 *
 * Every work request has ended and every handler has returned when this does, and the queue pairs are gone; rdma_cm's
 * ids may be there for longer. Never from a CM or completion handler nor from @set's own message handler.
 */
void mc_cset_destroy(struct mc_cset *set);

void mc_cset_get(struct mc_cset *set);
void mc_cset_put(struct mc_cset *set);

/**
 * mc_cset_reg - have a registration done
 * @set: connected set
 * @wr: the work request
 *
 * Return: 0, -ENOTCONN, -EIO. It is over in either case.
 */
int mc_cset_reg(struct mc_cset *set, struct ib_reg_wr *wr);

extern unsigned int mc_ack_timeout;	/* module parameter ack_timeout: 4.096 us times two to this power */
#define MC_RETRIES	7		/* tries of a packet without acknowledgement */
#define MC_RNR_RETRIES	6		/* tries while the other side has no receive posted; 7 would be for ever */

/* ---- ctrl.c ---- */

int mc_ctrl_init(struct mc_cset *set);			/* buffers */
int mc_ctrl_start(struct mc_cset *set);			/* post the receives; before connecting */
void mc_ctrl_stop(struct mc_cset *set);			/* queue pair is gone: no message is handled any more */
void mc_ctrl_free(struct mc_cset *set);
void mc_ctrl_flush(struct mc_cset *set);		/* wait, not for long, until what was sent has arrived */
void mc_ctrl_fail_calls(struct mc_cset *set);		/* wake all callers: no answer will come */

/**
 * mc_ctrl_send - send a message
 * @set: set
 * @msg: message
 *
 * Waits up to a second for a free buffer. Failure breaks the set.
 *
 * Return: 0 or -errno.
 */
int mc_ctrl_send(struct mc_cset *set, const struct mc_wire_msg *msg);

/**
 * mc_ctrl_call - send a message and wait for its answer
 * @set: set
 * @msg: question, replaced by the answer
 * @timeout_ms: longest wait
 *
 * Return: the answer's status, -ETIMEDOUT, -ENOTCONN (the set broke), -EINTR (killed).
 */
int mc_ctrl_call(struct mc_cset *set, struct mc_wire_msg *msg, u32 timeout_ms);

/* ---- hello.c ---- */

/**
 * struct mc_hello_state - where the owner's side of HELLO stands
 * @step: 0 waits for HELLO, 1 for RESPONSE, 2 done
 * @talk: transcript
 */
struct mc_hello_state {
	int step;
	struct mc_auth_talk talk;
};

/**
 * mc_hello_initiate - prove who this node is and check who the other one is
 * @set: control connection is up; gets instance and session key
 * @node: node that must answer
 * @timeout_ms: for each of two answers
 *
 * Return: 0, -EACCES (no proof), -EPROTO (version or node differ), -ENOENT (another cluster), -ESTALE, -ETIMEDOUT,
 * -ENOTCONN.
 */
int mc_hello_initiate(struct mc_cset *set, const u8 *node, u32 timeout_ms);

/**
 * mc_hello_serve - the owner's side: handle HELLO or RESPONSE
 * @set: passive set
 * @st: state
 * @msg: message; becomes CHALLENGE for the first
 *
 * Return: 0: @msg is to be sent, or, when @st->step is 2, the node is who it says; else -errno to be sent.
 */
int mc_hello_serve(struct mc_cset *set, struct mc_hello_state *st, struct mc_wire_msg *msg);

#endif /* MC_CSET_H */
