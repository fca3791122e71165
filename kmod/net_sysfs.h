/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories of rails and peers in sysfs. A directory knows the rail's id or the peer's UUID, not the object: each
 * read looks it up and says ENODEV when it is gone, so that an open file keeps nothing alive.
 */
#ifndef MC_NET_SYSFS_H
#define MC_NET_SYSFS_H

#include <linux/types.h>

struct mc_net_dir;

int mc_net_sysfs_init(void);
void mc_net_sysfs_exit(void);

/**
 * mc_net_dir_rail - make a rail's directory
 * @id: rail
 *
 * Return: directory or ERR_PTR.
 */
struct mc_net_dir *mc_net_dir_rail(u32 id);

/**
 * mc_net_dir_peer - make a peer's directory
 * @node: its UUID
 *
 * Return: directory or ERR_PTR.
 */
struct mc_net_dir *mc_net_dir_peer(const u8 *node);

/**
 * mc_net_dir_del - take a directory away
 * @dir: directory, NULL or ERR_PTR
 *
 * Waits for readers, which take the locks of the lists of rails and peers: never under those.
 */
void mc_net_dir_del(struct mc_net_dir *dir);

#endif /* MC_NET_SYSFS_H */
