/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MC_DEV_H
#define MC_DEV_H

#include <linux/miscdevice.h>

extern struct miscdevice mc_misc;
extern bool mc_dev_ready;	/* all of the module is up: before, open() is ENODEV */

int mc_dev_init(void);
void mc_dev_exit(void);

#endif /* MC_DEV_H */
