/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rails: addresses of this node on an RDMA device. Each has a listener bound to its address and is a source for
 * connections.
 */
#ifndef MC_RAIL_H
#define MC_RAIL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <rdma/rdma_cm.h>

#include "net.h"

struct mc_ibdev;
struct mc_net_dir;
struct netlink_ext_ack;

#define MC_RAILS_MAX	16

/**
 * struct mc_rail - one rail
 * @kref: list, connection sets
 * @link: in the list of rails
 * @id: from 1, never used again
 * @dev: device, with a reference
 * @addr: address and port
 * @listener: rdma_cm's listening end
 * @dir: its directory in sysfs
 * @counters: what this node moved through it
 */
struct mc_rail {
	struct kref kref;
	struct list_head link;
	u32 id;
	struct mc_ibdev *dev;
	struct sockaddr_storage addr;
	struct rdma_cm_id *listener;
	struct mc_net_dir *dir;
	struct mc_counters counters;
};

/**
 * mc_rail_add - start listening
 * @dev: device; its reference becomes the rail's, also on failure
 * @addr: address and port
 * @id: result
 * @extack: says what is wrong
 *
 * Return: 0, -EEXIST, -ENOSPC, -EADDRNOTAVAIL, -EADDRINUSE, -ENOMEM.
 */
int mc_rail_add(struct mc_ibdev *dev, const struct sockaddr_storage *addr, u32 *id, struct netlink_ext_ack *extack);

int mc_rail_del(u32 id);	/* -ENOENT; every connection of the rail is gone when it returns 0 */
void mc_rail_del_dev(struct mc_ibdev *dev);
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

u32 mc_rail_count(int family);
struct mc_rail *mc_rail_find(u32 id);	/* with a reference, or NULL */
u64 mc_rail_speed(struct mc_rail *rail);	/* of its port, bytes in a ms; 1 when nothing is known */
bool mc_rail_onlink(struct mc_rail *rail, const struct sockaddr_storage *addr);	/* of the rail's own subnet */
bool mc_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b);	/* ports aside */
u16 mc_rail_port(const struct mc_rail *rail);

#endif /* MC_RAIL_H */
