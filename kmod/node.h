/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MC_NODE_H
#define MC_NODE_H

#include <linux/types.h>

#include "mc_grant.h"

void mc_node_init(void);

/**
 * mc_node_set - say who this node is
 * @uuid: not all zero
 * @cluster: cluster, all zero when none is configured
 * @auth: enum mc_auth
 * @busy: rails, peers or pools exist: only the same values are accepted
 *
 * Return: 0, -EINVAL, -EBUSY.
 */
int mc_node_set(const u8 *uuid, const u8 *cluster, u32 auth, bool busy);

/**
 * mc_clock_set - what mcnoded heard of the master's time
 * @epoch: the master's clock
 * @offset: master time minus CLOCK_BOOTTIME, ns
 * @error: bound of the error, ns
 * @at: CLOCK_BOOTTIME when it was measured, ns
 */
void mc_clock_set(u64 epoch, s64 offset, u64 error, u64 at);
void mc_clock_get(struct mc_clock *out);	/* any context; never waits for a lock */

#endif /* MC_NODE_H */
