/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Messages between the modules of two nodes: the private data of a connection request and the messages of the control
 * queue pair. Pure code: bytes to structures and back, every length checked. Documentation/protocol.rst tells what
 * they mean.
 */
#ifndef MC_WIRE_H
#define MC_WIRE_H

#include <linux/types.h>

#define MC_WIRE_MAJOR		1
#define MC_WIRE_MINOR		1
#define MC_WIRE_REQ_LEN		56	/* what rdma_cm leaves of the private data of a connection request */
#define MC_WIRE_HDR_LEN		16
#define MC_WIRE_HDR_TYPE	2	/* offset of the type */
#define MC_WIRE_MSG_MAX		1024
#define MC_WIRE_UUID		16
#define MC_WIRE_NONCE		32
#define MC_WIRE_TAG		32
#define MC_WIRE_REQ_TAG		16
#define MC_WIRE_REQ_SIGNED	40	/* bytes of the request that its tag covers */
#define MC_WIRE_KEYS_MAX	128
#define MC_WIRE_NAME		64	/* of a segment, with the closing NUL */
#define MC_WIRE_RIGHT_READ	1	/* what a segment's owner lets peers do */
#define MC_WIRE_RIGHT_WRITE	2
#define MC_WIRE_NO_GRANT	4	/* with the rights: requests need no grant */

/**
 * struct mc_wire_req - private data of a connection request
 * @major: protocol version; equal majors work together
 * @minor: grows with additions
 * @index: 0 the control queue pair, 1 and up data queue pairs
 * @node: node that connects
 * @instance: its module load
 * @rail: its rail
 * @epoch: the connection set; grows with each attempt of that instance
 * @tag: keyed by the session, which the control queue pair agreed on; zero in index 0
 */
struct mc_wire_req {
	__u8 major;
	__u8 minor;
	__u8 index;
	__u8 node[MC_WIRE_UUID];
	__u64 instance;
	__u32 rail;
	__u32 epoch;
	__u8 tag[MC_WIRE_REQ_TAG];
};

/**
 * enum mc_wire_type - messages; the comment says who sends them
 */
enum mc_wire_type {
	MC_WIRE_HELLO = 1,	/* initiator */
	MC_WIRE_CHALLENGE,	/* owner */
	MC_WIRE_RESPONSE,	/* initiator */
	MC_WIRE_HELLO_ACK,	/* owner */
	MC_WIRE_SEG_OPEN,	/* initiator */
	MC_WIRE_SEG_INFO,	/* owner */
	MC_WIRE_SEG_KEYS_REQ,	/* initiator */
	MC_WIRE_SEG_KEYS,	/* owner */
	MC_WIRE_SEG_CLOSE,	/* initiator, no answer */
	MC_WIRE_REVOKE,		/* owner */
	MC_WIRE_REVOKE_ACK,	/* initiator */
	MC_WIRE_PING,		/* initiator */
	MC_WIRE_PONG,		/* owner */
	MC_WIRE_ERROR,		/* either: an answer that is only a status */
	MC_WIRE_FENCE,		/* initiator */
	MC_WIRE_FENCE_ACK,	/* owner */
	MC_WIRE_BYE,		/* either, no answer */
	MC_WIRE_SEG_LOOKUP,	/* initiator: which segment has this name */
	MC_WIRE_SEG_FOUND,	/* owner */
	MC_WIRE_SEG_CHANGED,	/* owner: a lease ends because the segment has grown: open it again */
	MC_WIRE_TYPE_END,
};

/**
 * struct mc_wire_hello - HELLO and CHALLENGE: who speaks, and a nonce
 * @major: protocol version
 * @minor: protocol version
 * @auth: enum mc_auth
 * @key_gen: key the sender proposes (HELLO) or has chosen (CHALLENGE)
 * @node: sender
 * @cluster: its cluster
 * @instance: its module load
 * @features: none yet, 0
 * @epoch: connection set
 * @rail: sender's rail
 * @nonce: fresh random bytes
 * @tag: CHALLENGE: proof over both messages; zero in HELLO
 * @mtu: bytes of payload that a packet to the sender's rail may carry
 */
struct mc_wire_hello {
	__u8 major;
	__u8 minor;
	__u8 auth;
	__u32 key_gen;
	__u8 node[MC_WIRE_UUID];
	__u8 cluster[MC_WIRE_UUID];
	__u64 instance;
	__u64 features;
	__u32 epoch;
	__u32 rail;
	__u8 nonce[MC_WIRE_NONCE];
	__u8 tag[MC_WIRE_TAG];
	__u32 mtu;
};

/**
 * struct mc_wire_msg - one control message
 * @type: enum mc_wire_type
 * @id: a request's number, repeated in its answer
 * @status: answers: 0 or -errno
 * @hello: HELLO, CHALLENGE
 * @tag: RESPONSE
 * @epoch: HELLO_ACK: the set this node serves now; every older one of the same pair of rails is destroyed.
 *	FENCE, FENCE_ACK: a set that is to be destroyed, or was
 * @seg: SEG_OPEN, SEG_FOUND, REVOKE, SEG_CHANGED: segment
 * @lease: SEG_INFO, SEG_KEYS_REQ, SEG_CLOSE, REVOKE, REVOKE_ACK, SEG_CHANGED: the lease
 * @len: SEG_INFO: bytes of the segment
 * @chunk_shift: SEG_INFO: log2 of the bytes that one key covers
 * @rights: SEG_INFO: MC_WIRE_RIGHT_* and MC_WIRE_NO_GRANT; a sender of version 1.0 gives both rights. Without
 *	rights there are no keys
 * @gen: SEG_INFO: generation of the segment's memory; 0 from a sender of version 1.0
 * @name: SEG_LOOKUP
 * @first: SEG_KEYS_REQ, SEG_KEYS: first chunk
 * @count: SEG_KEYS_REQ, SEG_KEYS: keys, at most MC_WIRE_KEYS_MAX
 * @keys: SEG_KEYS
 */
struct mc_wire_msg {
	__u8 type;
	__u32 id;
	__s32 status;
	union {
		struct mc_wire_hello hello;
		__u8 tag[MC_WIRE_TAG];
		__u32 epoch;
		char name[MC_WIRE_NAME];
		struct {
			__u8 seg[MC_WIRE_UUID];
			__u32 lease;
			__u64 len;
			__u8 chunk_shift;
			__u8 rights;
			__u32 gen;
			__u32 first;
			__u32 count;
			__u32 keys[MC_WIRE_KEYS_MAX];
		};
	};
};

/**
 * mc_wire_req_encode - connection request to bytes
 * @req: request
 * @buf: MC_WIRE_REQ_LEN bytes
 */
void mc_wire_req_encode(const struct mc_wire_req *req, __u8 *buf);

/**
 * mc_wire_req_decode - bytes to connection request
 * @req: result
 * @buf: bytes
 * @len: how many
 *
 * Return: 0, -EINVAL (not ours, too short), -EPROTO (another major version; @req->major and @req->minor are set).
 */
int mc_wire_req_decode(struct mc_wire_req *req, const __u8 *buf, __u32 len);

/**
 * mc_wire_encode - message to bytes
 * @msg: message
 * @buf: at least MC_WIRE_MSG_MAX bytes
 *
 * Return: bytes written, or -EINVAL (type or count).
 */
int mc_wire_encode(const struct mc_wire_msg *msg, __u8 *buf);

/**
 * mc_wire_decode - bytes to message
 * @msg: result
 * @buf: bytes
 * @len: how many arrived
 *
 * Return: 0, -EINVAL (length, count), -EOPNOTSUPP (type; @msg->id is set).
 */
int mc_wire_decode(struct mc_wire_msg *msg, const __u8 *buf, __u32 len);

#endif /* MC_WIRE_H */
