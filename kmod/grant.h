/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants that an open file has loaded, and what they mean for its requests.
 *
 * A grant is checked when it is loaded (tag, generation, time), when a request starts (range, rights, generation, time)
 * and when its last slice has ended (time). A request copies what it needs of the grant: giving the grant back does not
 * touch requests that have started. A request is stopped in the moment its grant ends: writes are fenced, so that the
 * master can count on a range being left alone.
 *
 * Lock: the handle table's (xa_lock) protects an entry from lookup to the copy that the lookup makes.
 */
#ifndef MC_KGRANT_H
#define MC_KGRANT_H

#include <linux/types.h>
#include <linux/mooncake.h>

#include "mc_grant.h"

struct mc_ctx;
struct mc_req;

/**
 * mc_grant_load - MC_IOC_GRANT_ADD
 * @ctx: file
 * @arg: see the uapi
 *
 * Return: 0, -EINVAL, -EFAULT, -ENOMEM; each grant has a result of its own.
 */
int mc_grant_load(struct mc_ctx *ctx, struct mc_grant_add *arg);

/**
 * mc_grant_unload - MC_IOC_GRANT_DEL
 * @ctx: file
 * @arg: see the uapi
 *
 * Return: 0, -EINVAL, -EFAULT, -ENOMEM.
 */
int mc_grant_unload(struct mc_ctx *ctx, struct mc_grant_del *arg);

void mc_grant_unload_all(struct mc_ctx *ctx);

/**
 * mc_grant_find - look at a loaded grant
 * @ctx: file
 * @id: handle
 * @g: a copy
 *
 * Return: 0 or -ENOENT.
 */
int mc_grant_find(struct mc_ctx *ctx, u32 id, struct mc_grant *g);

/**
 * mc_grant_valid - is it of a key that is accepted, and has it not ended?
 * @g: grant
 * @left: ns until it ends
 *
 * Return: 0, -EACCES, -ETIME (also when the master's time is not known well enough).
 */
int mc_grant_valid(const struct mc_grant *g, u64 *left);

/**
 * mc_grant_start - may this request start?
 * @ctx: file
 * @req: its target is known; its grant members are filled in
 * @sqe: entry, which names the grant
 *
 * Return: 0, -EACCES, -ETIME, -ENOENT (no such grant), -EINVAL (a grant where none is needed).
 */
int mc_grant_start(struct mc_ctx *ctx, struct mc_req *req, const struct mc_sqe *sqe);

/**
 * mc_grant_cap - a request ends no later than its grant
 * @req: request
 * @timeout: its deadline, ns from now
 *
 * Return: the smaller of the deadline and what is left of the grant.
 */
u64 mc_grant_cap(struct mc_req *req, u64 timeout);

/**
 * mc_grant_ended - has the grant ended before the request did?
 * @req: request whose last slice has ended
 *
 * Return: true when no byte of it counts.
 */
bool mc_grant_ended(const struct mc_req *req);

u32 mc_grant_count(void);	/* loaded on this node */

#endif /* MC_KGRANT_H */
