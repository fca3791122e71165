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

#define FN(bus, dev, f) ((bus) << 8 | (dev) << 3 | (f))

/* Two switches below ports of one host bridge, another host bridge, another domain. */
static const struct mc_topo_pci nic = { .known = true, .root = 0, .depth = 3, .fn = FN(4, 0, 0),
	.bridge = { FN(0, 1, 0), FN(1, 0, 0), FN(2, 0, 0) } };
static const struct mc_topo_pci nic_port2 = { .known = true, .root = 0, .depth = 3, .fn = FN(4, 0, 1),
	.bridge = { FN(0, 1, 0), FN(1, 0, 0), FN(2, 0, 0) } };
static const struct mc_topo_pci gpu_beside = { .known = true, .root = 0, .depth = 3, .fn = FN(5, 0, 0),
	.bridge = { FN(0, 1, 0), FN(1, 0, 0), FN(2, 1, 0) } };
static const struct mc_topo_pci gpu_other_port = { .known = true, .root = 0, .depth = 1, .fn = FN(8, 0, 0),
	.bridge = { FN(0, 2, 0) } };
static const struct mc_topo_pci gpu_other_root = { .known = true, .root = 0x80, .depth = 1, .fn = FN(0x81, 0, 0),
	.bridge = { FN(0x80, 1, 0) } };
static const struct mc_topo_pci gpu_other_domain = { .known = true, .domain = 1, .depth = 3, .fn = FN(5, 0, 0),
	.bridge = { FN(0, 1, 0), FN(1, 0, 0), FN(2, 1, 0) } };
static const struct mc_topo_pci on_root_bus = { .known = true, .fn = FN(0, 9, 0) };
static const struct mc_topo_pci no_pci;

static void pci_ways_meet(void **state)
{
	(void)state;
	assert_int_equal(mc_topo_meet(&nic, &nic), MC_TOPO_SAME);
	assert_int_equal(mc_topo_meet(&nic, &nic_port2), MC_TOPO_SAME);
	assert_int_equal(mc_topo_meet(&nic, &gpu_beside), MC_TOPO_SWITCH);
	assert_int_equal(mc_topo_meet(&nic, &gpu_other_port), MC_TOPO_HOST);
	assert_int_equal(mc_topo_meet(&on_root_bus, &nic), MC_TOPO_HOST);
	assert_int_equal(mc_topo_meet(&nic, &gpu_other_root), MC_TOPO_NOWHERE);
	assert_int_equal(mc_topo_meet(&nic, &gpu_other_domain), MC_TOPO_NOWHERE);
	assert_int_equal(mc_topo_meet(&nic, &no_pci), MC_TOPO_UNKNOWN);
	assert_int_equal(mc_topo_meet(&no_pci, &no_pci), MC_TOPO_UNKNOWN);
}

static void pci_weights(void **state)
{
	(void)state;
	/* What PCI knows counts more than what the firmware says of nodes. */
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_SAME, 32), 1);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_SWITCH, -1), 1);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_HOST, 10), 2);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_NOWHERE, 10), 5);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_NOWHERE, 21), 5);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_NOWHERE, 32), 10);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_UNKNOWN, -1), 1);
	assert_int_equal(mc_topo_pci_weight(MC_TOPO_UNKNOWN, 21), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_by_distance), cmocka_unit_test(pci_ways_meet), cmocka_unit_test(pci_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
