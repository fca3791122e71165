/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Topology: how near each rail is to each NUMA node. Buffers and pools lie where their first page does. The matrix is
 * rails/N/weights in sysfs; RAIL_SET overrides it.
 */
#ifndef MC_TOPO_K_H
#define MC_TOPO_K_H

#include <linux/types.h>

struct mc_mem;
struct mc_rail;

#define MC_TOPO_NODES	64	/* NUMA nodes that can be told apart; the others are like the last of these */

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

int mc_topo_show(const struct mc_rail *rail, char *buf);	/* sysfs: one weight for each node that is online */

#endif /* MC_TOPO_K_H */
