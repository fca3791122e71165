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
 * mc_rdma_fenced - a new path is live: no slice of an older one can be executed any more
 * @peer: peer
 *
 * Ends the waiting slices whose requests were stopped and those that failed too often; the rest is posted again.
 */
void mc_rdma_fenced(struct mc_peer *peer);

/**
 * mc_rdma_fail_all - there is no path and none in sight
 * @peer: peer
 * @err: what its requests end with
 */
void mc_rdma_fail_all(struct mc_peer *peer, int err);

#endif /* MC_RDMA_H */
