// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "mc_verb.h"

#ifndef __KERNEL__
#include <stddef.h>
#endif

static bool belongs(enum mc_verb_kind kind, enum mc_verb_op op)
{
	switch (kind) {
	case MC_VERB_SEND:
		return op == MC_VERB_OP_SEND;
	case MC_VERB_RECV:
		return op == MC_VERB_OP_RECV;
	case MC_VERB_RDMA:
		return op == MC_VERB_OP_WRITE || op == MC_VERB_OP_READ;
	case MC_VERB_REG:
		return op == MC_VERB_OP_REG;
	default:
		return false;
	}
}

static const char *reg_fault(const struct mc_verb *v)
{
	if (v->sges)
		return "a registration names local memory";
	if (!v->len)
		return "a region without a byte";
	if (v->key != v->region_key)
		return "another key than the region's";
	if (v->access & MC_VERB_ACCESS_OTHER)
		return "a right that nobody is given";
	if (v->access & MC_VERB_REMOTE_WRITE && !(v->access & MC_VERB_LOCAL_WRITE))
		return "remote writing without local writing";
	return NULL;
}

static const char *rdma_fault(const struct mc_verb *v)
{
	u64 last = v->remote + v->len - 1;

	if (last < v->remote)
		return "the remote range wraps";
	if (v->remote_shift > 63 || v->remote >> v->remote_shift != last >> v->remote_shift)
		return "the remote range needs more than one key";
	return NULL;
}

const char *mc_verb_fault(const struct mc_verb *v)
{
	if (!belongs(v->kind, v->op))
		return "operation of another structure";
	if (v->chained)
		return "another request is chained to it";
	if (!v->answered)
		return "nobody would hear of its completion";
	if (v->kind == MC_VERB_REG)
		return reg_fault(v);
	if (v->sges != 1 || v->empty || !v->len)
		return "not one piece of local memory";
	if (v->len > MC_VERB_LEN_MAX)
		return "longer than a message may be";
	return v->kind == MC_VERB_RDMA ? rdma_fault(v) : NULL;
}
