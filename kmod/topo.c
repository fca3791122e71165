// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sysfs.h>
#include <linux/topology.h>

#include "mc_topo.h"
#include "mem.h"
#include "rail.h"

int mc_topo_node(const struct mc_mem *mem)
{
	return mem->npages ? page_to_nid(mem->pages[0]) : 0;
}

int mc_topo_rail_node(const struct mc_rail *rail)
{
	return READ_ONCE(rail->numa);
}

u32 mc_topo_rail_weight(const struct mc_rail *rail, int node)
{
	int mine = mc_topo_rail_node(rail);
	u8 forced = READ_ONCE(rail->weights[clamp(node, 0, MC_TOPO_NODES - 1)]);

	if (forced)
		return forced;
	return mc_topo_weight(mine == NUMA_NO_NODE || node < 0 ? -1 : node_distance(node, mine));
}

int mc_topo_override(struct mc_rail *rail, int node, u32 weight)
{
	if (node < 0 || node >= MC_TOPO_NODES || node >= nr_node_ids || !node_online(node) || weight > 255)
		return -EINVAL;
	WRITE_ONCE(rail->weights[node], weight);
	return 0;
}

int mc_topo_show(const struct mc_rail *rail, char *buf)
{
	int node, n = 0;

	for_each_online_node(node)
		n += sysfs_emit_at(buf, n, "%s%u", n ? " " : "", mc_topo_rail_weight(rail, node));
	return n + sysfs_emit_at(buf, n, "\n");
}
