/* SPDX-License-Identifier: GPL-2.0-only */
/* GID tables of ports: what common/mc_gid.h is asked about. */
#ifndef MC_GID_K_H
#define MC_GID_K_H

#include <linux/socket.h>

#include "mc_gid.h"

struct mc_ibdev;
struct netlink_ext_ack;

/**
 * mc_gid_of_addr - the entry that belongs to an address
 * @dev: device
 * @port: its port
 * @addr: address
 * @forced: index that was asked for, -1: none
 * @why: result: why that one
 * @extack: shows the table when @forced can't be used
 *
 * Return: index, -EINVAL (@forced can't be used), -ENOENT (no entry has the address), -ENOMEM.
 */
int mc_gid_of_addr(struct mc_ibdev *dev, u32 port, const struct sockaddr_storage *addr, int forced,
		   enum mc_gid_why *why, struct netlink_ext_ack *extack);

/**
 * mc_gid_addr - choose an address of a device
 * @dev: device; its first port that has a usable entry
 * @addr: result; the port number in it is not touched
 * @extack: says what is wrong
 *
 * Return: 0, -ENODEV (no usable address), -ENOMEM.
 */
int mc_gid_addr(struct mc_ibdev *dev, struct sockaddr_storage *addr, struct netlink_ext_ack *extack);

#endif /* MC_GID_K_H */
