/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MC_SYSFS_H
#define MC_SYSFS_H

extern const struct attribute_group *mc_sysfs_groups[];

int mc_stats_sysfs_init(void);	/* stats_sysfs.c: transports/ */
void mc_stats_sysfs_exit(void);

int mc_debugfs_init(void);
void mc_debugfs_exit(void);

#endif /* MC_SYSFS_H */
