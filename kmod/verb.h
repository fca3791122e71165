/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that gives work requests to a device: one function for each structure, so that an operation can't
 * arrive in another one's, and each request is looked at first (common/mc_verb.h). A malformed one is a fault of this
 * module: it is not posted, and the kernel's log has a warning.
 *
 * All functions return 0, -EINVAL (malformed), or what the device says; they do not sleep. The caller holds what keeps
 * the queue pair alive.
 */
#ifndef MC_VERB_K_H
#define MC_VERB_K_H

#include <rdma/ib_verbs.h>

struct seq_file;

int mc_post_send(struct ib_qp *qp, const struct ib_send_wr *wr);
int mc_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr);
int mc_post_reg(struct ib_qp *qp, const struct ib_reg_wr *wr);

/**
 * mc_post_rdma - post a READ or a WRITE
 * @qp: queue pair
 * @wr: request
 * @shift: log2 of the bytes that a key of the other side covers
 */
int mc_post_rdma(struct ib_qp *qp, const struct ib_rdma_wr *wr, u32 shift);

void mc_verb_show(struct seq_file *m);	/* debugfs: how many of each kind were posted, and malformed ones */

#endif /* MC_VERB_K_H */
