/* SPDX-License-Identifier: GPL-2.0-only */
/* The RDMA transport: cuts, posts and ends slices of requests on segments of peers. */
#ifndef MC_RDMA_H
#define MC_RDMA_H

#include "engine.h"

struct mc_peer;

extern const struct mc_transport_ops mc_rdma_ops;

void mc_rdma_submit(struct mc_req *req);
void mc_rdma_abort(struct mc_req *req, bool fence);
void mc_rdma_pump(struct work_struct *work);	/* mc_peer.pump_work */

/**
 * mc_rdma_unfenced - are there WRITEs that an old link may still execute?
 * @peer: peer; its lock is held
 * @epoch: the link, which is drained on this side
 */
bool mc_rdma_unfenced(struct mc_peer *peer, u32 epoch);

/**
 * mc_rdma_fenced - the owner has destroyed its end of a link: no slice of it can be executed any more
 * @peer: peer
 * @epoch: the link
 *
 * Its slices end if their requests were stopped or if they failed too often; the rest is posted again.
 */
void mc_rdma_fenced(struct mc_peer *peer, u32 epoch);

/**
 * mc_rdma_fail_all - there is no path and none in sight
 * @peer: peer
 * @err: what its requests end with
 */
void mc_rdma_fail_all(struct mc_peer *peer, int err);

#endif /* MC_RDMA_H */
