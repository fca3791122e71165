/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Work requests as they should be. A driver takes an operation by its number and then reads the structure that belongs
 * to it, whatever was given; few look at more. So each request is described and looked at before it is posted.
 */
#ifndef MC_VERB_H
#define MC_VERB_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

#define MC_VERB_LEN_MAX	(1ULL << 31)	/* bytes of one message, by the InfiniBand specification */

/* The structure that a request was built in. */
enum mc_verb_kind { MC_VERB_SEND, MC_VERB_RECV, MC_VERB_RDMA, MC_VERB_REG, MC_VERB_KINDS };

/* What the request asks the device to do. */
enum mc_verb_op {
	MC_VERB_OP_OTHER,	/* one that this module does not use */
	MC_VERB_OP_SEND, MC_VERB_OP_RECV, MC_VERB_OP_WRITE, MC_VERB_OP_READ, MC_VERB_OP_REG,
};

#define MC_VERB_LOCAL_WRITE	(1U << 0)
#define MC_VERB_REMOTE_READ	(1U << 1)
#define MC_VERB_REMOTE_WRITE	(1U << 2)
#define MC_VERB_ACCESS_OTHER	(1U << 3)

/**
 * struct mc_verb - a work request, described
 * @kind: structure it is in
 * @op: operation in it
 * @chained: another one follows it
 * @answered: its completion is asked for and goes to a function; of a receive: goes to a function
 * @sges: pieces of local memory
 * @empty: pieces without a byte
 * @len: bytes of all pieces; REG: of the region
 * @remote: RDMA: where in the segment
 * @remote_shift: RDMA: log2 of the bytes that one key covers
 * @key: REG: key that is given out
 * @region_key: REG: key of the region
 * @access: REG: MC_VERB_* rights
 */
struct mc_verb {
	enum mc_verb_kind kind;
	enum mc_verb_op op;
	bool chained;
	bool answered;
	u32 sges;
	u32 empty;
	u64 len;
	u64 remote;
	u32 remote_shift;
	u32 key;
	u32 region_key;
	u32 access;
};

/**
 * mc_verb_fault - what is wrong with a work request
 * @v: request
 *
 * Return: a sentence's end, "operation of another structure"; NULL: nothing is wrong.
 */
const char *mc_verb_fault(const struct mc_verb *v);

#endif /* MC_VERB_H */
