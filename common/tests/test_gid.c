// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* C-56: the tables of the case, and what else could be guessed wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mc_gid.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))

/* ::ffff:a.b.c.d */
static struct mc_gid_entry ip4(int a, int b, int c, int d, enum mc_gid_type type, bool own)
{
	struct mc_gid_entry e = { .type = type, .own = own };

	e.gid[10] = e.gid[11] = 0xff;
	e.gid[12] = (u8)a;
	e.gid[13] = (u8)b;
	e.gid[14] = (u8)c;
	e.gid[15] = (u8)d;
	return e;
}

/* An IPv6 address of its first two bytes and its last one. */
static struct mc_gid_entry ip6(int first, int second, int last)
{
	struct mc_gid_entry e = { .type = MC_GID_ROCE_V2, .own = true };

	e.gid[0] = (u8)first;
	e.gid[1] = (u8)second;
	e.gid[15] = (u8)last;
	return e;
}

#define V1(a, b, c, d)		ip4(a, b, c, d, MC_GID_IB, true)
#define V2(a, b, c, d)		ip4(a, b, c, d, MC_GID_ROCE_V2, true)
#define FOREIGN(a, b, c, d)	ip4(a, b, c, d, MC_GID_ROCE_V2, false)
#define LINK_LOCAL		ip6(0xfe, 0x80, 1)
#define ULA			ip6(0xfd, 0x00, 1)
#define EMPTY			((struct mc_gid_entry) { .type = MC_GID_NONE })

static int choose(const struct mc_gid_entry *t, uint32_t n, enum mc_gid_why *why)
{
	struct mc_gid_wish any = { .forced = -1 };

	return mc_gid_choose(t, n, &any, why);
}

static void c56_tables_of_two(void **state)
{
	struct mc_gid_entry t[2];
	enum mc_gid_why why;

	(void)state;
	t[0] = LINK_LOCAL;
	t[1] = V2(10, 1, 2, 3);
	assert_int_equal(choose(t, 2, &why), 1);
	assert_int_equal(why, MC_GID_GLOBAL);
	t[0] = V1(10, 1, 2, 3);
	assert_int_equal(choose(t, 2, &why), 1);
	t[0] = FOREIGN(26, 0, 0, 1);
	t[1] = V2(26, 0, 0, 2);
	assert_int_equal(choose(t, 2, &why), 1);
	t[0] = LINK_LOCAL;
	t[1] = ULA;
	assert_int_equal(choose(t, 2, &why), 1);
}

static void c56_link_local_is_the_last_resort(void **state)
{
	struct mc_gid_entry t[1] = { LINK_LOCAL };
	enum mc_gid_why why;

	(void)state;
	assert_int_equal(choose(t, 1, &why), 0);
	assert_int_equal(why, MC_GID_LINK_LOCAL);
	t[0] = V2(169, 254, 1, 1);
	assert_int_equal(choose(t, 1, &why), 0);
	assert_int_equal(why, MC_GID_LINK_LOCAL);
}

static void c56_nothing_is_guessed(void **state)
{
	struct mc_gid_entry t[3] = { V1(10, 0, 0, 1), FOREIGN(10, 0, 0, 1), ip6(0, 0, 0) };
	enum mc_gid_why why;

	(void)state;
	assert_int_equal(choose(t, 0, &why), -1);
	assert_int_equal(choose(t, 3, &why), -1);
	assert_int_equal(why, MC_GID_EMPTY);
}

static void c56_private_addresses_are_as_good(void **state)
{
	static const u8 addrs[][4] = {
		{ 172, 16, 0, 1 }, { 172, 31, 255, 254 }, { 192, 168, 1, 1 }, { 10, 0, 0, 1 }, { 8, 8, 8, 8 },
	};
	struct mc_gid_entry t[2];
	enum mc_gid_why why;
	unsigned int i;

	(void)state;
	t[0] = LINK_LOCAL;
	for (i = 0; i < N(addrs); i++) {
		t[1] = V2(addrs[i][0], addrs[i][1], addrs[i][2], addrs[i][3]);
		assert_int_equal(choose(t, 2, &why), 1);
		assert_int_equal(why, MC_GID_GLOBAL);
	}
}

static void c56_the_right_one_of_256(void **state)
{
	static struct mc_gid_entry t[256];
	struct mc_gid_entry mine = V2(172, 20, 0, 7);
	struct mc_gid_wish wish = { .addr = mine.gid, .forced = -1 };
	enum mc_gid_why why;
	unsigned int i, at;

	(void)state;
	for (at = 0; at < 256; at += 51) {
		for (i = 0; i < 256; i++)
			t[i] = i % 3 ? V1(172, 20, 0, 7) : V2(172, 20, 0, 8);
		t[at] = mine;
		assert_int_equal(mc_gid_choose(t, 256, &wish, &why), at);
		assert_int_equal(why, MC_GID_ADDRESS);
	}
	for (i = 0; i < 256; i++)
		t[i] = EMPTY;
	t[200] = mine;
	assert_int_equal(choose(t, 256, &why), 200);
}

static void the_peers_subnet_comes_first(void **state)
{
	struct mc_gid_entry t[3] = { ULA, V2(10, 1, 0, 1), V2(10, 2, 0, 1) }, peer = V2(10, 2, 0, 9);
	struct mc_gid_wish wish = { .peer = peer.gid, .peer_bits = 96 + 20, .forced = -1 };
	enum mc_gid_why why;

	(void)state;
	assert_int_equal(mc_gid_choose(t, 3, &wish, &why), 2);
	assert_int_equal(why, MC_GID_SUBNET);
	wish.peer_bits = 96 + 8;
	assert_int_equal(mc_gid_choose(t, 3, &wish, &why), 1);
	wish.peer_bits = 129;
	assert_int_equal(mc_gid_choose(t, 3, &wish, &why), 0);
	assert_int_equal(why, MC_GID_GLOBAL);
}

static void c56_what_was_asked_for_is_used_or_refused(void **state)
{
	struct mc_gid_entry t[4] = { V1(10, 0, 0, 1), V2(10, 0, 0, 1), FOREIGN(10, 0, 0, 2), V2(10, 0, 0, 3) };
	struct mc_gid_wish wish = { .addr = t[1].gid };
	static const enum mc_gid_why expect[] = { MC_GID_OLD_TYPE, MC_GID_FORCED, MC_GID_FOREIGN, MC_GID_OTHER };
	enum mc_gid_why why;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		wish.forced = i;
		assert_int_equal(mc_gid_choose(t, 4, &wish, &why), i == 1 ? 1 : -1);
		assert_int_equal(why, expect[i]);
		assert_non_null(mc_gid_reason(why));
	}
	wish.forced = 4;
	assert_int_equal(mc_gid_choose(t, 4, &wish, &why), -1);
	assert_int_equal(why, MC_GID_EMPTY);
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(c56_tables_of_two),
		cmocka_unit_test(c56_link_local_is_the_last_resort),
		cmocka_unit_test(c56_nothing_is_guessed),
		cmocka_unit_test(c56_private_addresses_are_as_good),
		cmocka_unit_test(c56_the_right_one_of_256),
		cmocka_unit_test(c56_what_was_asked_for_is_used_or_refused),
		cmocka_unit_test(the_peers_subnet_comes_first),
	};

	tests[0].name = "C-56 the right entry of tables of two";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
