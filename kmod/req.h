/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine's side of requests that only the entry half needs; what transports need is in engine.h. */
#ifndef MC_REQ_H
#define MC_REQ_H

#include <linux/types.h>

struct mc_cancel;
struct mc_ctx;
struct mc_req;
struct mc_sqe;

int mc_req_init(void);
void mc_req_exit(void);

/**
 * mc_req_submit - start the request that an entry describes
 * @ctx: file; a completion slot is reserved in its ring
 * @sqe: private copy of the entry
 *
 * Never fails: whatever is wrong becomes the completion's result.
 */
void mc_req_submit(struct mc_ctx *ctx, const struct mc_sqe *sqe);

/**
 * mc_req_stop_all - stop every request of a file
 * @ctx: file
 * @err: their result
 * @fence: don't let posted slices run out
 *
 * Context: process, sleeps.
 */
void mc_req_stop_all(struct mc_ctx *ctx, int err, bool fence);

/**
 * mc_req_cancel - MC_IOC_CANCEL
 * @ctx: file
 * @arg: see the uapi
 *
 * Return: 0, -EINVAL, -ENOENT, -EINTR.
 */
int mc_req_cancel(struct mc_ctx *ctx, struct mc_cancel *arg);

/* Requests that have not completed. */
u32 mc_req_count(void);

#endif /* MC_REQ_H */
