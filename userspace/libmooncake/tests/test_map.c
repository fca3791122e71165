// SPDX-License-Identifier: MIT
/* Objects mapped where they are, against a kernel made of memcpy. */
#include <errno.h>
#include <string.h>

#include "store_env.h"

static int map(struct env *e, const char *key, struct mc_map *m)
{
	memset(m, 0xee, sizeof(*m));
	return mc_store_map(e->s, key, strlen(key), m, NULL, &e->err);
}

/* What failed holds nothing, and giving it back does nothing. */
static void refused(struct env *e, const char *key, int code, int sys_errno)
{
	struct mc_map m;

	assert_int_equal(map(e, key, &m), code);
	assert_int_equal(e->err.code, code);
	assert_int_equal(e->err.sys_errno, sys_errno);
	assert_null(m.addr);
	assert_int_equal(fk_grants(e->fk), 0);
	mc_store_unmap(e->s, &m);
}

static void the_pools_own_bytes(void **state)
{
	struct env *e = setup();
	struct fm_object *o = fm_add(e->fm, "k", 100001, 1);
	uint64_t before = mc_now_ns();
	struct mc_map m;

	(void)state;
	assert_int_equal(map(e, "k", &m), 0);
	assert_ptr_equal(m.addr, e->fk->segs[0].data + o->replicas[0].offset);
	assert_int_equal(m.len, 100001);
	assert_int_equal(fk_grants(e->fk), 1);
	/* As long as the lease, counted from before it was asked for, less what the kernel's clock may be off. */
	assert_true(m.until_ns >= before + e->fm->lease_ms * 1000000 - MC_CLOCK_SKEW_NS);
	assert_true(m.until_ns <= mc_now_ns() + e->fm->lease_ms * 1000000 - MC_CLOCK_SKEW_NS);
	assert_int_equal(e->fk->maps, 1);
	mc_store_unmap(e->s, &m);
	assert_null(m.addr);
	mc_store_unmap(e->s, &m);
	assert_int_equal(fk_grants(e->fk), 0);
	teardown(e);
}

static void only_what_is_here(void **state)
{
	struct env *e = setup();
	struct fm_object *o;
	struct mc_map m;

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "far", 5000, 1);
	refused(e, "far", MC_ENOT_SUPPORTED, EREMOTE);
	assert_non_null(strstr(e->err.text, "'far'"));
	/* The second replica is here. */
	e->fm->first_seg = 2;
	o = fm_add(e->fm, "both", 5000, 2);
	assert_int_equal(map(e, "both", &m), 0);
	assert_ptr_equal(m.addr, e->fk->segs[0].data + o->replicas[1].offset);
	mc_store_unmap(e->s, &m);
	/* But not yet complete. */
	o->replicas[1].status = 2;
	refused(e, "both", MC_ENOT_SUPPORTED, EREMOTE);
	teardown(e);
}

static void refusals(void **state)
{
	static const struct {
		int map_err, code, sys_errno;
	} kinds[] = {
		{ EINVAL, MC_ENOT_SUPPORTED, EINVAL },	{ ESTALE, MC_ETRANSFER_FAIL, ESTALE },
		{ ENOENT, MC_ETRANSFER_FAIL, ENOENT },	{ EACCES, MC_ETRANSFER_FAIL, EACCES },
		{ ENOMEM, MC_EINTERNAL, ENOMEM },	{ ETIME, MC_EUNAVAILABLE_IN_CURRENT_STATUS, ETIME },
	};
	struct env *e = setup();
	unsigned int i;

	(void)state;
	fm_add(e->fm, "k", 5000, 1);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		e->fk->map_err = kinds[i].map_err;
		refused(e, "k", kinds[i].code, kinds[i].sys_errno);
	}
	e->fk->map_err = 0;
	e->fk->grant_err = -EACCES;
	e->fk->grant_errs = 1;
	refused(e, "k", MC_ETRANSFER_FAIL, EACCES);
	/* Shorter than the kernel's clock may be off: nothing that could be read safely. */
	e->fm->lease_ms = MC_CLOCK_SKEW_NS / 1000000 - 1;
	refused(e, "k", MC_ELEASE_EXPIRED, 0);
	e->fm->lease_ms = 0;
	e->fk->map_err = ETIME;
	refused(e, "k", MC_ELEASE_EXPIRED, 0);
	refused(e, "none", MC_EOBJECT_NOT_FOUND, 0);
	refused(e, "", MC_EINVALID_KEY, 0);
	e->fm->refuse = "GetReplicaList";
	refused(e, "k", MC_ERPC_FAIL, ECONNREFUSED);
	teardown(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pools_own_bytes),
		cmocka_unit_test(only_what_is_here),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
