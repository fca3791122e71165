// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/nodemask.h>
#include <linux/pci.h>
#include <linux/sysfs.h>
#include <linux/topology.h>
#include <rdma/ib_verbs.h>

#include "mem.h"
#include "rail.h"

int mc_topo_node(const struct mc_mem *mem)
{
	return mem->npages ? page_to_nid(mc_mem_page(mem, 0)) : 0;
}

static u16 fn_of(const struct pci_dev *pdev)
{
	return PCI_DEVID(pdev->bus->number, pdev->devfn);
}

/* A bridge stays as long as what is behind it. */
static void pci_place(struct pci_dev *pdev, struct mc_topo_pci *place)
{
	struct pci_dev *up;
	struct pci_bus *bus = pdev->bus;
	u32 depth = 0, i = 0;

	memset(place, 0, sizeof(*place));
	while (!pci_is_root_bus(bus))
		bus = bus->parent;
	place->known = true;
	place->domain = pci_domain_nr(bus);
	place->root = bus->number;
	place->fn = fn_of(pdev);
	for (up = pci_upstream_bridge(pdev); up; up = pci_upstream_bridge(up))
		depth++;
	/* The ones next to the root port are kept: those tell branches apart. */
	place->depth = min_t(u32, depth, MC_TOPO_DEPTH);
	for (up = pci_upstream_bridge(pdev); up; up = pci_upstream_bridge(up), i++)
		if (depth - i <= MC_TOPO_DEPTH)
			place->bridge[depth - i - 1] = fn_of(up);
}

void mc_topo_rail_place(struct mc_rail *rail, struct ib_device *ib, int card_index)
{
	struct device *dev = ib->dma_device ?: ib->dev.parent;
	struct net_device *card = dev ? NULL : dev_get_by_index(&init_net, card_index);

	if (card)
		dev = card->dev.parent;
	memset(&rail->pci, 0, sizeof(rail->pci));
	rail->numa = dev ? dev_to_node(dev) : NUMA_NO_NODE;
	/* A virtio card's own device sits on a PCI function. */
	for (; dev; dev = dev->parent) {
		if (!dev_is_pci(dev))
			continue;
		pci_place(to_pci_dev(dev), &rail->pci);
		if (rail->numa == NUMA_NO_NODE)
			rail->numa = dev_to_node(dev);
		break;
	}
	if (card)
		dev_put(card);
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

/* ---- memory of devices ---- */

static struct mc_topo_over *find_over(const struct mc_rail *rail, u32 domain, u16 fn)
{
	u32 i;

	for (i = 0; i < MC_TOPO_PCI_OVER; i++)
		if (rail->pci_over[i].weight && rail->pci_over[i].domain == domain && rail->pci_over[i].fn == fn)
			return (struct mc_topo_over *)&rail->pci_over[i];
	return NULL;
}

static u32 pci_weight(const struct mc_rail *rail, const struct mc_topo_pci *from, struct pci_dev *pdev)
{
	const struct mc_topo_over *over = find_over(rail, pci_domain_nr(pdev->bus), fn_of(pdev));
	int node = dev_to_node(&pdev->dev), mine = mc_topo_rail_node(rail);
	u8 forced = over ? READ_ONCE(over->weight) : 0;
	struct mc_topo_pci place;

	if (forced)
		return forced;
	pci_place(pdev, &place);
	return mc_topo_pci_weight(mc_topo_meet(from, &place),
				  node == NUMA_NO_NODE || mine == NUMA_NO_NODE ? -1 : node_distance(node, mine));
}

int mc_topo_override_pci(struct mc_rail *rail, const char *name, u32 weight)
{
	unsigned int domain, bus, dev, fn;
	struct mc_topo_over *over;
	struct pci_dev *pdev;
	char end;
	u32 i;

	if (sscanf(name, "%x:%x:%x.%x%c", &domain, &bus, &dev, &fn, &end) != 4 || bus > 255 || dev > 31 || fn > 7 ||
	    weight > 255)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(dev, fn));
	if (!pdev)
		return -ENODEV;
	pci_dev_put(pdev);
	over = find_over(rail, domain, PCI_DEVID(bus, PCI_DEVFN(dev, fn)));
	for (i = 0; !over && weight && i < MC_TOPO_PCI_OVER; i++)
		if (!rail->pci_over[i].weight)
			over = &rail->pci_over[i];
	if (!over)
		return weight ? -ENOSPC : 0;
	over->domain = domain;
	over->fn = PCI_DEVID(bus, PCI_DEVFN(dev, fn));
	WRITE_ONCE(over->weight, weight);
	return 0;
}

bool mc_topo_name(struct mc_rail *rail, char *name)
{
	struct mc_topo_pci p;

	mc_rail_place(rail, &p);
	if (!p.known)
		return false;
	snprintf(name, MC_TOPO_NAME, "%04x:%02x:%02x.%x", p.domain, PCI_BUS_NUM(p.fn), PCI_SLOT(p.fn & 0xff),
		 PCI_FUNC(p.fn & 0xff));
	return true;
}

/* Devices that have memory which others may want to reach: of displays, accelerators; and what RAIL_SET named. */
static bool has_memory(const struct mc_rail *rail, struct pci_dev *pdev)
{
	u32 base = pdev->class >> 16;

	return base == PCI_BASE_CLASS_DISPLAY || base == 0x12 || find_over(rail, pci_domain_nr(pdev->bus), fn_of(pdev));
}

int mc_topo_show_pci(struct mc_rail *rail, char *buf)
{
	struct pci_dev *pdev = NULL;
	struct mc_topo_pci from;
	int n = 0;

	mc_rail_place(rail, &from);
	for_each_pci_dev(pdev)
		if (has_memory(rail, pdev))
			n += sysfs_emit_at(buf, n, "%s%s=%u", n ? " " : "", pci_name(pdev),
					   pci_weight(rail, &from, pdev));
	return n ? n + sysfs_emit_at(buf, n, "\n") : sysfs_emit(buf, "none\n");
}
