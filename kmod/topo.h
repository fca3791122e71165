/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Topology: how near each rail is to each place where memory can be. Buffers and pools lie on the NUMA node where their
 * first page does; memory of a device lies where the device is plugged in. The matrix is rails/N/weights (a column for
 * each node) and rails/N/pci_weights (an entry for each device) in sysfs; RAIL_SET overrides either.
 */
#ifndef MC_TOPO_K_H
#define MC_TOPO_K_H

#include <linux/types.h>

#include "mc_topo.h"

struct ib_device;
struct mc_mem;
struct mc_rail;

#define MC_TOPO_NODES	64	/* NUMA nodes that can be told apart; the others are like the last of these */

#define MC_TOPO_PCI_OVER 16	/* PCI functions for which a rail's weight can be overridden */

/**
 * struct mc_topo_over - what RAIL_SET said of a rail and the memory of a PCI function
 * @domain: PCI domain
 * @fn: bus << 8 | devfn
 * @weight: 0: this entry is not in use
 */
struct mc_topo_over {
	u32 domain;
	u16 fn;
	u8 weight;
};

/**
 * mc_topo_rail_place - find out where a rail's device is plugged in
 * @rail: rail; its numa and pci are written
 * @ib: its device
 * @card_index: number of the network card that has the rail's address
 *
 * A device in software is where the network card below it is.
 */
void mc_topo_rail_place(struct mc_rail *rail, struct ib_device *ib, int card_index);

int mc_topo_node(const struct mc_mem *mem);		/* where it lies */
int mc_topo_rail_node(const struct mc_rail *rail);	/* of its device, NUMA_NO_NODE: not known */

/**
 * mc_topo_rail_weight - weight of a rail for memory of a node
 * @rail: rail
 * @node: NUMA node
 *
 * Return: 1, 5, 10, or what RAIL_SET said.
 */
u32 mc_topo_rail_weight(const struct mc_rail *rail, int node);

/**
 * mc_topo_override - set a weight
 * @rail: rail
 * @node: NUMA node
 * @weight: 1 to 255; 0: as measured
 *
 * Return: 0 or -EINVAL (no such node).
 */
int mc_topo_override(struct mc_rail *rail, int node, u32 weight);

/**
 * mc_topo_override_pci - set a weight for the memory of a PCI function
 * @rail: rail, of which one caller at a time may change it
 * @name: the function, "0000:41:00.0"
 * @weight: 1 to 255; 0: as measured
 *
 * Return: 0, -EINVAL (not a name of that form), -ENODEV (there is none), -ENOSPC (MC_TOPO_PCI_OVER are set).
 */
int mc_topo_override_pci(struct mc_rail *rail, const char *name, u32 weight);

#define MC_TOPO_NAME	16	/* bytes of "0000:41:00.0" with room for larger domains */

bool mc_topo_name(struct mc_rail *rail, char *name);	/* the rail's PCI function; false: it has none */
int mc_topo_show_pci(struct mc_rail *rail, char *buf);	/* sysfs: "function=weight ..." */
int mc_topo_show(const struct mc_rail *rail, char *buf);	/* sysfs: one weight for each node that is online */

#endif /* MC_TOPO_K_H */
