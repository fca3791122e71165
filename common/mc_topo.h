/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How near a device is to some memory, as the weight that its cost is multiplied with. Memory of the machine lies on a
 * NUMA node; memory of a device lies where the device is plugged in.
 */
#ifndef MC_TOPO_H
#define MC_TOPO_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
#endif

#define MC_TIER_NEAR	1	/* the same NUMA node, the same PCI switch, or nothing is known */
#define MC_TIER_HOST	2	/* of a device's memory: another branch below the same PCI host bridge */
#define MC_TIER_FAR	5	/* the node beside it; of a device's memory: another host bridge */
#define MC_TIER_REMOTE	10	/* further away */

#define MC_TOPO_DEPTH	8	/* bridges above a PCI function that are looked at */

/**
 * struct mc_topo_pci - where a PCI function is
 * @known: it is one; otherwise nothing below says anything
 * @domain: PCI domain
 * @root: number of its root bus
 * @depth: entries of @bridge
 * @bridge: bus << 8 | devfn of each bridge on the way, the root port first
 * @fn: the same of the function itself
 */
struct mc_topo_pci {
	bool known;
	u32 domain;
	u8 root;
	u8 depth;
	u16 bridge[MC_TOPO_DEPTH];
	u16 fn;
};

/* Where the ways from two functions towards the processor meet. */
enum mc_topo_meet {
	MC_TOPO_UNKNOWN,	/* one of them is no PCI function */
	MC_TOPO_NOWHERE,	/* below different host bridges */
	MC_TOPO_HOST,		/* in their host bridge */
	MC_TOPO_SWITCH,		/* in a bridge below it */
	MC_TOPO_SAME,		/* they are of one device */
};

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

enum mc_topo_meet mc_topo_meet(const struct mc_topo_pci *a, const struct mc_topo_pci *b);

/**
 * mc_topo_pci_weight - weight of a device for the memory of another one
 * @meet: where their ways meet
 * @distance: of their NUMA nodes, as for mc_topo_weight(); what counts when PCI says nothing
 */
unsigned int mc_topo_pci_weight(enum mc_topo_meet meet, int distance);

#endif /* MC_TOPO_H */
