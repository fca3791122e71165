/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How near a device is to some memory, as the weight that its cost is multiplied with. */
#ifndef MC_TOPO_H
#define MC_TOPO_H

#define MC_TIER_NEAR	1	/* the same NUMA node, or nothing is known */
#define MC_TIER_FAR	5	/* the node beside it */
#define MC_TIER_REMOTE	10	/* further away */

/**
 * mc_topo_weight - weight of a NUMA distance
 * @distance: as the firmware counts it: 10 is the node itself; negative: not known
 */
static inline unsigned int mc_topo_weight(int distance)
{
	if (distance <= 10)
		return MC_TIER_NEAR;
	return distance <= 21 ? MC_TIER_FAR : MC_TIER_REMOTE;
}

#endif /* MC_TOPO_H */
