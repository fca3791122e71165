/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the RDMA half share. */
#ifndef MC_NET_H
#define MC_NET_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "fault.h"
#include "mc_wire.h"

struct mc_ibdev;

#define MC_REJECT_MAGIC	0x6d636b6eU

/**
 * enum mc_count - counters of a peer or a rail
 */
enum mc_count {
	MC_COUNT_READ_BYTES,
	MC_COUNT_WRITE_BYTES,
	MC_COUNT_READ_OPS,
	MC_COUNT_WRITE_OPS,
	MC_COUNT_ERRORS,
	MC_COUNT_RETRIES,
	MC_COUNT_INFLIGHT,
	MC_COUNT_RECONNECTS,
	MC_COUNTS
};

/**
 * struct mc_counters - see enum mc_count
 * @v: values
 */
struct mc_counters {
	atomic64_t v[MC_COUNTS];
};

static inline void mc_count(struct mc_counters *c, enum mc_count which, s64 n)
{
	atomic64_add(n, &c->v[which]);
}

extern struct workqueue_struct *mc_net_wq;	/* unbound: everything that connects, pumps and tears down */

/* Module parameters; Documentation/failure.rst */
extern unsigned int mc_ping_ms;
extern unsigned int mc_ping_miss;
extern unsigned int mc_revoke_ms;
extern unsigned int mc_path_ms;
extern unsigned int mc_connect_ms;

void mc_net_drop_dev(struct mc_ibdev *dev);	/* everything made on a device that goes away */

/* Protocol version to claim; the fault hook claims another one. */
static inline u8 mc_net_wire_major(void)
{
	return mc_fault_value(hello_version) ?: MC_WIRE_MAJOR;
}

#endif /* MC_NET_H */
