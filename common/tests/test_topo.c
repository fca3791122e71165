// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mc_topo.h"

static void weights_by_distance(void **state)
{
	(void)state;
	assert_int_equal(mc_topo_weight(-1), 1);	/* nothing known: no difference */
	assert_int_equal(mc_topo_weight(10), 1);
	assert_int_equal(mc_topo_weight(11), 5);
	assert_int_equal(mc_topo_weight(20), 5);
	assert_int_equal(mc_topo_weight(21), 5);
	assert_int_equal(mc_topo_weight(22), 10);
	assert_int_equal(mc_topo_weight(255), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(weights_by_distance) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
