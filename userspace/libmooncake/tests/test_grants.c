// SPDX-License-Identifier: MIT
/* Grants on their way from the master into the kernel. */
#include "store_env.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

static void one_call_for_a_batch(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	struct env *e = setup();
	struct mc_opts o = { .replica_num = 3 };
	struct mc_item items[4];
	struct mc_piece p[4];

	(void)state;
	items_init(items, p, e, keys, 4, 500);
	assert_int_equal(mc_store_put_batch(e->s, items, 4, &o, &e->err), 0);
	assert_int_equal(e->fk->grant_calls, 1);
	assert_int_equal(fk_grants(e->fk), 0);
	assert_int_equal(mc_store_get_batch(e->s, items, 4, NULL, &e->err), 0);
	assert_int_equal(e->fk->grant_calls, 2);
	teardown(e);
}

static void refused_grant_names_the_key(void **state)
{
	struct env *e = setup();

	(void)state;
	assert_int_equal(put(e, "k", 0, 100, NULL), 0);
	e->fk->grant_err = -EACCES;
	e->fk->grant_errs = 1;
	assert_int_equal(put(e, "other", 0, 100, NULL), MC_ETRANSFER_FAIL);
	assert_int_equal(e->res.sys_errno, EACCES);
	assert_non_null(strstr(e->err.text, "same key"));
	/* The attempt was revoked, and nothing had been sent. */
	assert_int_equal(put(e, "other", 0, 100, NULL), 0);
	e->fk->grant_errs = 1;
	assert_int_equal(get(e, "k", 0, 100, NULL), MC_ETRANSFER_FAIL);
	assert_int_equal(e->res.sys_errno, EACCES);
	assert_int_equal(get(e, "k", 0, 100, NULL), 0);
	teardown(e);
}

/* One grant of a batch is refused: the other items do not notice. */
static void one_refused_of_many(void **state)
{
	static const char *const keys[] = { "a", "b", "c" };
	struct env *e = setup();
	struct mc_item items[3];
	struct mc_piece p[3];

	(void)state;
	items_init(items, p, e, keys, 3, 500);
	e->fk->grant_err = -EINVAL;
	e->fk->grant_errs = 1;
	assert_int_equal(mc_store_put_batch(e->s, items, 3, NULL, &e->err), MC_ETRANSFER_FAIL);
	assert_int_equal(items[0].res.code, MC_ETRANSFER_FAIL);
	assert_int_equal(items[1].res.code, 0);
	assert_int_equal(items[2].res.code, 0);
	teardown(e);
}

/* After the master's restart a node may need a second to learn its time: that is waited for. */
static void clock_comes_late(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fk->grant_err = -ETIME;
	e->fk->grant_errs = 3;
	assert_int_equal(put(e, "k", 0, 100, NULL), 0);
	e->fk->grant_errs = 3;
	assert_int_equal(get(e, "k", 0, 100, NULL), 0);
	assert_int_equal(e->fk->grant_calls, 8);
	teardown(e);
}

static void clock_never_comes(void **state)
{
	struct env *e = setup();
	struct mc_opts o = { .timeout_ms = 300 };

	(void)state;
	assert_int_equal(put(e, "k", 0, 100, NULL), 0);
	e->fk->grant_err = -ETIME;
	e->fk->grant_errs = 1000000;
	assert_int_equal(get(e, "k", 0, 100, &o), MC_EUNAVAILABLE_IN_CURRENT_STATUS);
	assert_non_null(strstr(e->err.text, "mcnoded"));
	teardown(e);
}

static void c4_kernel_says_the_grant_ended(void **state)
{
	struct env *e = setup();

	(void)state;
	assert_int_equal(put(e, "k", 0, 100, NULL), 0);
	fk_arm(e->fk);
	e->fk->fail_nth = 1;
	e->fk->fail_result = -ETIME;
	e->fk->fail_flags = MC_CQE_F_QUIESCED;
	assert_int_equal(get(e, "k", 0, 100, NULL), MC_ELEASE_EXPIRED);
	assert_int_equal(e->res.bytes, 0);
	teardown(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_for_a_batch),
		cmocka_unit_test(refused_grant_names_the_key),
		cmocka_unit_test(one_refused_of_many),
		cmocka_unit_test(clock_comes_late),
		cmocka_unit_test(clock_never_comes),
		{ "C-4 the kernel says that the grant has ended", c4_kernel_says_the_grant_ended, NULL, NULL, NULL },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
