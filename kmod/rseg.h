/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments of peers that this node has open, each shared by all who opened it. */
#ifndef MC_RSEG_H
#define MC_RSEG_H

#include "engine.h"

struct mc_path;
struct mc_peer;
struct mc_wire_msg;

/**
 * struct mc_rseg - one open segment of a peer; members without a note are protected by peer->lock
 * @target: what requests refer to
 * @peer: owner, with a reference; constant
 * @link: in the peer's list
 * @epoch: set that @lease and @keys belong to; 0: none
 * @lease: the owner's number for it
 * @chunk_shift: log2 of the bytes that one key covers
 * @nkeys: entries of @keys
 * @keys: remote keys by chunk
 * @stale: it is gone for good: requests end with ESTALE
 * @posted: slices on the wire
 * @ack_due: the owner revoked it and waits until @posted is 0
 */
struct mc_rseg {
	struct mc_target target;
	struct mc_peer *peer;
	struct list_head link;
	u32 epoch;
	u32 lease;
	u8 chunk_shift;
	u32 nkeys;
	u32 *keys;
	bool stale;
	u32 posted;
	bool ack_due;
};

/**
 * mc_rseg_reopen - after a reconnect: open the peer's segments again
 * @path: new path, not live yet
 * @same: the owner's module is the same as before; if not, all its segments are stale
 *
 * Return: 0, or -errno when the path broke.
 */
int mc_rseg_reopen(struct mc_path *path, bool same);

void mc_rseg_revoke(struct mc_path *path, struct mc_wire_msg *msg);	/* the owner takes one back */
void mc_rseg_acks(struct mc_path *path);	/* send the acknowledgements that are due */

static inline struct mc_rseg *mc_to_rseg(struct mc_target *target)
{
	return container_of(target, struct mc_rseg, target);
}

#endif /* MC_RSEG_H */
