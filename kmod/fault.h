/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault hooks of builds with MC_FAULT=1; without it they are constants and vanish. Set over netlink (FAULT_SET NAME
 * VALUE).
 *
 * A counting hook (mc_fault_hit) set to n fires once, at the n-th time it is passed, and is 0 again. A value hook
 * (mc_fault_value) is read as it stands. 0 is off for both.
 */
#ifndef MC_FAULT_H
#define MC_FAULT_H

#include <linux/types.h>

#define MC_FAULTS(X) \
	X(pin)			/* n-th pin step fails with ENOMEM */ \
	X(alloc)		/* n-th allocation of an object fails */ \
	X(any_alloc)		/* n-th allocation of any kind fails, whoever makes it (fault_alloc.h) */ \
	X(my_alloc)		/* the same, but only those of the thread that set the hook count */ \
	X(slice_alloc)		/* n-th slice can't be allocated */ \
	X(flip_byte)		/* n-th local copy or landed READ flips one byte */ \
	X(local_err)		/* n-th local slice fails with EIO */ \
	X(default_timeout_ms)	/* value: deadline of requests that name none, at most 60000 */ \
	X(local_delay_ms)	/* value: delay before each local slice */ \
	X(mr_reg)		/* n-th registration of a chunk fails */ \
	X(wc_status)		/* n-th data completion counts as failed */ \
	X(wc_delay_ms)		/* value: delay before each data completion is looked at */ \
	X(connect_refuse)	/* value: errno with which each connection request is refused */ \
	X(wc_fail)		/* value: every data completion counts as failed */ \
	X(ctrl_drop)		/* n-th control message is not sent */ \
	X(ctrl_delay_ms)	/* value: delay before each control message */ \
	X(post_delay_ms)	/* value: delay before each posted slice */ \
	X(hello_version)	/* value: protocol major to claim */ \
	X(gen_back)		/* n-th segment that a peer opens is given as its previous generation */ \
	X(gen_old)		/* value: all of them are */ \
	X(changed_delay_ms)	/* value: delay before the news that a segment has grown is looked at */ \
	X(changed_rail)		/* value: only if it comes over that rail */

#define X(name) MC_FAULT_##name,
enum mc_fault_id { MC_FAULTS(X) MC_FAULT_MAX };
#undef X

#ifdef MC_FAULT
bool __mc_fault_hit(enum mc_fault_id id);
u64 __mc_fault_value(enum mc_fault_id id);
#define mc_fault_hit(name) __mc_fault_hit(MC_FAULT_##name)
#define mc_fault_value(name) __mc_fault_value(MC_FAULT_##name)
#else
#define mc_fault_hit(name) false
#define mc_fault_value(name) ((u64)0)
#endif

/**
 * mc_fault_set - set a hook by name
 * @name: without prefix
 * @value: see above
 *
 * Return: 0, -ENOENT (no such hook), -EOPNOTSUPP (built without hooks).
 */
int mc_fault_set(const char *name, u64 value);

struct seq_file;
void mc_fault_show(struct seq_file *m);

#endif /* MC_FAULT_H */
