/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories of this node's segments in sysfs. Like those of rails and peers (net_sysfs.h) one knows the UUID, not the
 * object: an open file keeps nothing alive and says ENODEV when its segment is gone.
 */
#ifndef MC_SEG_SYSFS_H
#define MC_SEG_SYSFS_H

#include <linux/types.h>

struct mc_seg_dir;

int mc_seg_sysfs_init(void);
void mc_seg_sysfs_exit(void);	/* no directory is left */

/**
 * mc_seg_dir_add - make a segment's directory
 * @uuid: segment, about to be published
 *
 * Return: directory or ERR_PTR.
 */
struct mc_seg_dir *mc_seg_dir_add(const u8 *uuid);

/**
 * mc_seg_dir_del - take a directory away
 * @dir: directory, NULL or ERR_PTR
 *
 * Waits for readers, which look segments up: not under the lock of the table. Sleeps.
 */
void mc_seg_dir_del(struct mc_seg_dir *dir);

#endif /* MC_SEG_SYSFS_H */
