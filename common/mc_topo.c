// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "mc_topo.h"

#define SLOT(fn)	((fn) >> 3)	/* functions of one device differ in the last three bits */

/* How many bridges, from the root port on, the two have in common. */
static u32 common_bridges(const struct mc_topo_pci *a, const struct mc_topo_pci *b)
{
	u32 n = 0;

	while (n < a->depth && n < b->depth && a->bridge[n] == b->bridge[n])
		n++;
	return n;
}

enum mc_topo_meet mc_topo_meet(const struct mc_topo_pci *a, const struct mc_topo_pci *b)
{
	if (!a->known || !b->known)
		return MC_TOPO_UNKNOWN;
	if (a->domain != b->domain || a->root != b->root)
		return MC_TOPO_NOWHERE;
	if (SLOT(a->fn) == SLOT(b->fn))
		return MC_TOPO_SAME;
	return common_bridges(a, b) ? MC_TOPO_SWITCH : MC_TOPO_HOST;
}

unsigned int mc_topo_pci_weight(enum mc_topo_meet meet, int distance)
{
	unsigned int weight = mc_topo_weight(distance);

	switch (meet) {
	case MC_TOPO_SAME:
	case MC_TOPO_SWITCH:
		return MC_TIER_NEAR;
	case MC_TOPO_HOST:
		return MC_TIER_HOST;
	case MC_TOPO_NOWHERE:
		return weight > MC_TIER_FAR ? weight : MC_TIER_FAR;
	default:
		return weight;
	}
}
