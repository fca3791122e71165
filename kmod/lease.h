/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The owner's side: sets that other nodes opened, and the leases on segments that they hold through them.
 *
 * A lease says that a peer knows the keys of a segment. It ends when the peer closes it, acknowledges its revocation,
 * or its set is destroyed (no queue pair is left that could use the keys). Memory is freed only without leases.
 *
 * Lock: mc_psets_lock (pset.h) protects the list of sets and their leases. Under it a set may be broken, which takes
 * its ctrl_lock; no other lock is taken. The lock of the quarantine's list is outside of it.
 */
#ifndef MC_LEASE_H
#define MC_LEASE_H

#include <linux/types.h>

struct mc_ibdev;
struct mc_lines;
struct mc_mem;
struct mc_rail;
struct rdma_cm_event;
struct rdma_cm_id;
struct seq_file;

int mc_pset_init(void);
void mc_pset_exit(void);	/* no rails are left */

/**
 * mc_pset_incoming - a connection request arrived at a rail
 * @rail: rail
 * @id: request's end
 * @event: the request
 *
 * Runs in rdma_cm's handler: the rest is done by a work item.
 *
 * Return: 0, or -ENOMEM: rdma_cm forgets it.
 */
int mc_pset_incoming(struct mc_rail *rail, struct rdma_cm_id *id, struct rdma_cm_event *event);

void mc_pset_drop_rail(u32 rail);	/* destroy the sets of a rail; returns when they are gone */

/**
 * mc_lease_tell - send REVOKE for every lease on some memory that has not been told yet
 * @mem: memory, closed for new leases
 */
void mc_lease_tell(struct mc_mem *mem);

/**
 * mc_lease_end - end every lease on some memory
 * @mem: memory, closed for new leases
 *
 * Tells the peers, waits mc_revoke_ms for their acknowledgements and then destroys the sets of the silent ones.
 */
void mc_lease_end(struct mc_mem *mem);

void mc_pset_show(struct seq_file *m);	/* debugfs */
void mc_lease_show(struct seq_file *m, u32 max);	/* debugfs: who holds which segment open, @max lines */

/**
 * mc_lease_show_mem - debugfs: which peers know keys of a memory
 * @m: file
 * @mem: memory, alive
 * @lines: how many may still be shown
 */
void mc_lease_show_mem(struct seq_file *m, struct mc_mem *mem, struct mc_lines *lines);

#endif /* MC_LEASE_H */
