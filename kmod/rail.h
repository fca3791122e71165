/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rails: addresses of this node on an RDMA device. Each has a listener bound to its address and is a source for
 * connections.
 *
 * A rail stays until it is deleted. When its device or its address goes away, its listener and all its connections go
 * (rail_stop()), and it starts again by itself when both are back. While its port is down it keeps the listener; its
 * links are broken, so that slices go another way at once.
 *
 * Lock: the lock of the list of rails (rail.c) protects what is marked (R). It is taken under peer->lock; under it:
 * rdma_cm, no other lock of the module.
 */
#ifndef MC_RAIL_H
#define MC_RAIL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <rdma/rdma_cm.h>

#include "gid.h"
#include "net.h"
#include "topo.h"

struct mc_ibdev;
struct mc_net_dir;
struct netlink_ext_ack;

#define MC_RAILS_MAX	16

/**
 * enum mc_rail_state - see the top of this file
 * @MC_RAIL_UP: listening, port active
 * @MC_RAIL_PORT_DOWN: listening, port not active
 * @MC_RAIL_NO_DEVICE: there is no usable RDMA device of its name
 * @MC_RAIL_NO_ADDRESS: the device does not have its address
 */
enum mc_rail_state { MC_RAIL_UP, MC_RAIL_PORT_DOWN, MC_RAIL_NO_DEVICE, MC_RAIL_NO_ADDRESS };

/**
 * struct mc_rail - one rail
 * @kref: list, connection sets
 * @link: in the list of rails
 * @id: from 1, never used again
 * @dev_name: name of its device
 * @dev: device, with a reference; NULL: stopped (R)
 * @addr: address and port
 * @state: (R)
 * @listener: rdma_cm's listening end; NULL: stopped (R)
 * @port: of the device
 * @numa: NUMA node of the device, NUMA_NO_NODE: not known
 * @pci: where the device is plugged in (R)
 * @gid: index of its entry in the port's GID table, negative: none, @gid_why says why
 * @gid_why: why that entry
 * @gid_forced: index that was asked for, -1: none
 * @slice_bytes: bytes of a slice
 * @tail_bytes: bytes of a rest that joins the last slice
 * @tos: type of service that connections ask for, -1: the node's default
 * @sl: service level that they ask for, -1: the default
 * @weights: by NUMA node, 0: as measured
 * @pci_over: what RAIL_SET said of PCI functions; changed under the netlink family's lock
 * @dir: its directory in sysfs
 * @counters: what this node moved through it
 */
struct mc_rail {
	struct kref kref;
	struct list_head link;
	u32 id;
	char dev_name[IB_DEVICE_NAME_MAX];
	struct mc_ibdev *dev;
	struct sockaddr_storage addr;
	enum mc_rail_state state;
	struct rdma_cm_id *listener;
	u32 port;
	int numa;
	struct mc_topo_pci pci;
	int gid;
	enum mc_gid_why gid_why;
	int gid_forced;
	u32 slice_bytes;
	u32 tail_bytes;
	s16 tos;
	s16 sl;
	u8 weights[MC_TOPO_NODES];
	struct mc_topo_over pci_over[MC_TOPO_PCI_OVER];
	struct mc_net_dir *dir;
	struct mc_counters counters;
};

/**
 * mc_rail_add - start listening
 * @dev: device; its reference becomes the rail's, also on failure
 * @addr: address and port
 * @gid: index in the GID table that it must have, -1: whichever it has
 * @id: result
 * @extack: says what is wrong
 *
 * Return: 0, -EEXIST, -ENOSPC, -EADDRNOTAVAIL, -EADDRINUSE, -ENOMEM.
 */
int mc_rail_add(struct mc_ibdev *dev, const struct sockaddr_storage *addr, int gid, u32 *id,
		struct netlink_ext_ack *extack);

/**
 * struct mc_rail_set - what RAIL_SET changes
 * @slice_bytes: 0: no change
 * @tail_bytes: negative: no change
 * @tos: -1: the node's default, -2: no change
 * @sl: the same
 */
struct mc_rail_set {
	u32 slice_bytes;
	s64 tail_bytes;
	int tos;
	int sl;
};

/**
 * mc_rail_set - change settings of a rail
 * @rail: rail
 * @set: settings
 *
 * Connections that are open are replaced when the network class changed.
 *
 * Return: 0 or -EINVAL (a slice out of range, or the rest would be longer than it).
 */
int mc_rail_set(struct mc_rail *rail, const struct mc_rail_set *set);

int mc_rail_del(u32 id);	/* -ENOENT; every connection of the rail is gone when it returns 0 */
void mc_rail_stop_dev(struct mc_ibdev *dev);	/* nothing of a rail is left on the device when this returns */
void mc_rail_check_dev(struct mc_ibdev *dev);	/* its ports or addresses may have changed; sleeps */
void mc_rail_revive(void);			/* a device or an address appeared: try to start what is stopped */
void mc_rail_exit(void);
struct mc_ibdev *mc_rail_dev(struct mc_rail *rail);	/* with a reference; NULL: stopped */
bool mc_rail_listens(struct mc_rail *rail);
bool mc_rail_ready(struct mc_rail *rail);	/* listening, and its port is active right now */
const char *mc_rail_state_name(struct mc_rail *rail);
void mc_rail_del_all(void);
void mc_rail_put(struct mc_rail *rail);
bool mc_rail_any(void);

/**
 * mc_rail_nth - the n-th rail of a family
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for any
 * @n: from 0
 *
 * Return: rail with a reference, or NULL.
 */
struct mc_rail *mc_rail_nth(int family, u32 n);

struct mc_rail *mc_rail_find(u32 id);	/* with a reference, or NULL */
u64 mc_rail_speed(struct mc_rail *rail);	/* of its port, bytes in a ms; 1 when nothing is known */
bool mc_rail_onlink(struct mc_rail *rail, const struct sockaddr_storage *addr);	/* of the rail's own subnet */
bool mc_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b);	/* ports aside */
u16 mc_rail_port(const struct mc_rail *rail);
void mc_rail_place(struct mc_rail *rail, struct mc_topo_pci *place);	/* where its device is plugged in */

#endif /* MC_RAIL_H */
