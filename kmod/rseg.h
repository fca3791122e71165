/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments of peers that this node has open, each shared by all who opened it. */
#ifndef MC_RSEG_H
#define MC_RSEG_H

#include "engine.h"

struct mc_link;
struct mc_peer;
struct mc_wire_msg;

/**
 * struct mc_rlease - keys of a segment that are good on one link; protected by peer->lock
 * @link: in the segment's list
 * @epoch: the link
 * @lease: the owner's number for it
 * @chunk_shift: log2 of the bytes that one key covers
 * @gen: generation of the segment's memory that they are keys of
 * @len: bytes that they cover: less than the segment's while the owner's latest generation is not open on this link
 * @nkeys: entries of @keys
 * @keys: remote keys by chunk
 * @refused: the owner could not open it over this link: others are used
 * @posted: slices on the wire
 * @ack_due: the owner revoked it and waits until @posted is 0
 * @changed: because the segment has grown: it is opened again
 */
struct mc_rlease {
	struct list_head link;
	u32 epoch;
	u32 lease;
	u8 chunk_shift;
	u32 gen;
	u64 len;
	u32 nkeys;
	u32 *keys;
	bool refused;
	u32 posted;
	bool ack_due;
	bool changed;
};

/**
 * struct mc_rseg - one open segment of a peer; members without a note are protected by peer->lock
 * @target: what requests refer to
 * @peer: owner, with a reference; constant
 * @link: in the peer's list
 * @leases: one for each live link
 * @stale: it is gone for good: requests end with ESTALE
 * @outdated: the latest generation of which the owner has said that it has been replaced. One that is as old says
 *	nothing about the segment's length: a link on which the next is open may have told that long before
 */
struct mc_rseg {
	struct mc_target target;
	struct mc_peer *peer;
	struct list_head link;
	struct list_head leases;
	bool stale;
	u32 outdated;
};

/**
 * mc_rseg_reopen - open the peer's segments on a link on which they are not open yet
 * @link: new link, not live yet, or one that was live when a segment was opened over another one
 *
 * Return: 0, or -errno when the link broke.
 */
int mc_rseg_reopen(struct mc_link *link);

struct mc_rlease *mc_rseg_lease(struct mc_rseg *rseg, u32 epoch);	/* peer->lock held */
void mc_rseg_drop_link(struct mc_link *link);	/* peer->lock held: nothing is posted on it any more */
void mc_rseg_all_stale(struct mc_peer *peer);	/* peer->lock held */
void mc_rseg_revoke(struct mc_link *link, struct mc_wire_msg *msg);	/* the owner takes a lease back */
void mc_rseg_acks(struct mc_link *link);	/* send the acknowledgements that are due */

static inline struct mc_rseg *mc_to_rseg(struct mc_target *target)
{
	return container_of(target, struct mc_rseg, target);
}

#endif /* MC_RSEG_H */
