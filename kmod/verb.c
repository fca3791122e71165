// SPDX-License-Identifier: GPL-2.0-only
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "mc_verb.h"
#include "verb.h"

#define MALFORMED	MC_VERB_KINDS	/* index of the count of those */

struct verb_counts {
	u64 n[MC_VERB_KINDS + 1];
};
static DEFINE_PER_CPU(struct verb_counts, counts);

static enum mc_verb_op op_of(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
		return MC_VERB_OP_SEND;
	case IB_WR_RDMA_WRITE:
		return MC_VERB_OP_WRITE;
	case IB_WR_RDMA_READ:
		return MC_VERB_OP_READ;
	case IB_WR_REG_MR:
		return MC_VERB_OP_REG;
	default:
		return MC_VERB_OP_OTHER;
	}
}

static bool heard(const struct ib_cqe *cqe)
{
	return cqe && cqe->done;
}

static void describe_sges(struct mc_verb *v, const struct ib_sge *sge, int n)
{
	int i;

	v->sges = n;
	for (i = 0; i < n && sge; i++) {
		v->len += sge[i].length;
		v->empty += !sge[i].length;
	}
}

static void describe(struct mc_verb *v, const struct ib_send_wr *wr)
{
	v->op = op_of(wr->opcode);
	v->chained = wr->next;
	v->answered = heard(wr->wr_cqe) && wr->send_flags & IB_SEND_SIGNALED;
	describe_sges(v, wr->sg_list, wr->num_sge);
}

static u32 access_of(int access)
{
	u32 known = 0;

	known |= access & IB_ACCESS_LOCAL_WRITE ? MC_VERB_LOCAL_WRITE : 0;
	known |= access & IB_ACCESS_REMOTE_READ ? MC_VERB_REMOTE_READ : 0;
	known |= access & IB_ACCESS_REMOTE_WRITE ? MC_VERB_REMOTE_WRITE : 0;
	if (access & ~(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE))
		known |= MC_VERB_ACCESS_OTHER;
	return known;
}

static int look_at(const struct mc_verb *v)
{
	const char *fault = mc_verb_fault(v);

	this_cpu_inc(counts.n[fault ? MALFORMED : v->kind]);
	if (WARN_ONCE(fault, "mooncake: malformed work request of kind %d, operation %d: %s\n", v->kind, v->op, fault))
		return -EINVAL;
	return 0;
}

int mc_post_send(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	struct mc_verb v = { .kind = MC_VERB_SEND };

	describe(&v, wr);
	return look_at(&v) ?: ib_post_send(qp, wr, NULL);
}

int mc_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr)
{
	struct mc_verb v = {
		.kind = MC_VERB_RECV, .op = MC_VERB_OP_RECV, .chained = wr->next, .answered = heard(wr->wr_cqe),
	};

	describe_sges(&v, wr->sg_list, wr->num_sge);
	return look_at(&v) ?: ib_post_recv(qp, wr, NULL);
}

int mc_post_reg(struct ib_qp *qp, const struct ib_reg_wr *wr)
{
	struct mc_verb v = {
		.kind = MC_VERB_REG, .key = wr->key, .region_key = wr->mr->rkey, .access = access_of(wr->access),
	};

	describe(&v, &wr->wr);
	v.len = wr->mr->length;
	return look_at(&v) ?: ib_post_send(qp, &wr->wr, NULL);
}

int mc_post_rdma(struct ib_qp *qp, const struct ib_rdma_wr *wr, u32 shift)
{
	struct mc_verb v = { .kind = MC_VERB_RDMA, .remote = wr->remote_addr, .remote_shift = shift };

	describe(&v, &wr->wr);
	return look_at(&v) ?: ib_post_send(qp, &wr->wr, NULL);
}

void mc_verb_show(struct seq_file *m)
{
	static const char *const names[MC_VERB_KINDS + 1] = {
		[MC_VERB_SEND] = "send", [MC_VERB_RECV] = "recv", [MC_VERB_RDMA] = "rdma", [MC_VERB_REG] = "reg",
		[MALFORMED] = "malformed",
	};
	u64 sum;
	int i, cpu;

	for (i = 0; i <= MALFORMED; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(&counts, cpu)->n[i]);
		seq_printf(m, "%s %llu\n", names[i], sum);
	}
}
