// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mc_verb.h"

static const struct mc_verb good_send = {
	.kind = MC_VERB_SEND, .op = MC_VERB_OP_SEND, .answered = true, .sges = 1, .len = 64,
};
static const struct mc_verb good_rdma = {
	.kind = MC_VERB_RDMA, .op = MC_VERB_OP_WRITE, .answered = true, .sges = 1, .len = 65536, .remote = 65536,
	.remote_shift = 21,
};
static const struct mc_verb good_reg = {
	.kind = MC_VERB_REG, .op = MC_VERB_OP_REG, .answered = true, .len = 4096, .key = 7, .region_key = 7,
	.access = MC_VERB_LOCAL_WRITE | MC_VERB_REMOTE_READ | MC_VERB_REMOTE_WRITE,
};

static void each_operation_has_its_structure(void **state)
{
	struct mc_verb v;
	int kind, op, good = 0;

	(void)state;
	for (kind = 0; kind <= MC_VERB_KINDS; kind++) {
		for (op = 0; op <= MC_VERB_OP_REG + 1; op++) {
			v = kind == MC_VERB_REG ? good_reg : kind == MC_VERB_RDMA ? good_rdma : good_send;
			v.kind = (enum mc_verb_kind)kind;
			v.op = (enum mc_verb_op)op;
			good += !mc_verb_fault(&v);
		}
	}
	assert_int_equal(good, 5);	/* send, receive, write, read, register */
	assert_null(mc_verb_fault(&good_send));
	assert_null(mc_verb_fault(&good_rdma));
	assert_null(mc_verb_fault(&good_reg));
}

#define BAD(base, change) do { struct mc_verb v = (base); change; assert_non_null(mc_verb_fault(&v)); } while (0)
#define FINE(base, change) do { struct mc_verb v = (base); change; assert_null(mc_verb_fault(&v)); } while (0)

static void local_memory(void **state)
{
	(void)state;
	BAD(good_send, v.sges = 0);
	BAD(good_send, v.sges = 2);
	BAD(good_send, v.len = 0);
	BAD(good_rdma, v.empty = 1);
	BAD(good_send, v.len = MC_VERB_LEN_MAX + 1);
	FINE(good_send, v.len = MC_VERB_LEN_MAX);
	BAD(good_send, v.answered = false);
	BAD(good_rdma, v.chained = true);
}

static void remote_range(void **state)
{
	(void)state;
	FINE(good_rdma, v.remote = (1 << 21) - 65536);
	BAD(good_rdma, v.remote = (1 << 21) - 65535);
	BAD(good_rdma, v.remote = ~0ULL - 100);
	BAD(good_rdma, v.remote_shift = 64);
	BAD(good_rdma, v.remote_shift = 15);
}

static void registration(void **state)
{
	(void)state;
	BAD(good_reg, v.sges = 1);
	BAD(good_reg, v.len = 0);
	BAD(good_reg, v.key = 8);
	BAD(good_reg, v.access = MC_VERB_REMOTE_WRITE);
	BAD(good_reg, v.access |= MC_VERB_ACCESS_OTHER);
	FINE(good_reg, v.access = MC_VERB_REMOTE_READ);
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_has_its_structure), cmocka_unit_test(local_memory),
		cmocka_unit_test(remote_range), cmocka_unit_test(registration),
	};

	tests[0].name = "C-68 each operation has its structure";
	tests[1].name = "C-68 local memory";
	tests[2].name = "C-68 the remote range";
	tests[3].name = "C-68 registrations";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
