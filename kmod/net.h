/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the RDMA half share. */
#ifndef MC_NET_H
#define MC_NET_H

#include <linux/types.h>
#include <linux/workqueue.h>

#include "fault.h"
#include "mc_wire.h"
#include "stats.h"

struct mc_ibdev;

#define MC_REJECT_MAGIC	0x6d636b6eU

extern struct workqueue_struct *mc_net_wq;	/* unbound: everything that connects, pumps and tears down */

/* Module parameters; Documentation/failure.rst */
extern unsigned int mc_ping_ms;
extern unsigned int mc_ping_miss;
extern unsigned int mc_revoke_ms;
extern unsigned int mc_path_ms;
extern unsigned int mc_connect_ms;
extern unsigned int mc_idle_ms;
extern unsigned long mc_window;

const char *mc_net_reason(int err);	/* what a refusal means, in words */

void mc_net_drop_dev(struct mc_ibdev *dev);	/* everything made on a device that goes away */

/* Protocol version to claim; the fault hook claims another one. */
static inline u8 mc_net_wire_major(void)
{
	return mc_fault_value(hello_version) ?: MC_WIRE_MAJOR;
}

#endif /* MC_NET_H */
