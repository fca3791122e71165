/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MC_NODE_H
#define MC_NODE_H

#include <linux/types.h>

/**
 * struct mc_clock - the master's time as mcnoded last measured it
 * @set: it did
 * @epoch: the master's clock epoch
 * @offset: master time minus CLOCK_BOOTTIME, ns
 * @error: bound of the error, ns
 * @set_at: CLOCK_BOOTTIME of the measurement, ns
 */
struct mc_clock {
	bool set;
	u64 epoch;
	s64 offset;
	u64 error;
	u64 set_at;
};

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

void mc_clock_set(u64 epoch, s64 offset, u64 error);
void mc_clock_get(struct mc_clock *out);

#endif /* MC_NODE_H */
