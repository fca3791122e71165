// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Grants: bytes, tags, and every edge of what one allows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "mc_grant.h"

#define LEN (MC_GRANT_BODY + MC_GRANT_TAG)

static const uint8_t seg[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static struct mc_grant sample(void)
{
	struct mc_grant g = { .off = 0x1000, .len = 0x2345, .not_after = 0x0123456789abcdefULL,
			      .epoch = 0xfedcba9876543210ULL, .tenant = 77, .key_gen = 3, .rights = MC_GRANT_R };

	memcpy(g.seg, seg, sizeof(seg));
	return g;
}

/* Made with Python: hashlib.blake2s(label + b"\0" + data, key=key, digest_size=n), see Documentation/protocol.rst. */
static void tag_vectors(void **state)
{
	static const uint8_t want_key[8] = { 0xa0, 0xf2, 0xcf, 0x77, 0xb7, 0xab, 0x9b, 0xa9 };
	static const uint8_t want_tag[MC_GRANT_TAG] = { 0x8e, 0xfa, 0xef, 0x80, 0xaf, 0x11, 0x87, 0x1b,
		0x8f, 0x7c, 0x58, 0xab, 0xcb, 0x57, 0xd6, 0xe8 };
	struct mc_grant g = sample();
	uint8_t cluster[32], key[32], out[LEN];
	int i;

	(void)state;
	for (i = 0; i < 32; i++)
		cluster[i] = (uint8_t)i;
	mc_grant_key(cluster, seg, 3, key);
	assert_memory_equal(key, want_key, sizeof(want_key));
	mc_grant_sign(&g, key, out);
	assert_memory_equal(out + MC_GRANT_BODY, want_tag, MC_GRANT_TAG);
	assert_int_equal(out[16], 0);
	assert_int_equal(out[17], 0x10);
	assert_int_equal(out[32], 0xef);
	assert_int_equal(out[40], 0x10);
	assert_int_equal(out[56], 3);
	assert_true(mc_grant_tenant("default", 7) == 0xbd0f5f0cb88491e5ULL);
}

static void every_byte_counts(void **state)
{
	uint8_t key[32] = { 9 }, out[LEN], tag[MC_GRANT_TAG];
	struct mc_grant g = sample(), back;
	int i;

	(void)state;
	mc_grant_sign(&g, key, out);
	assert_int_equal(0, mc_grant_decode(out, &back));
	assert_memory_equal(&g, &back, sizeof(g));
	for (i = 0; i < MC_GRANT_BODY; i++) {
		out[i] ^= 0x80;
		mc_grant_tag(out, key, tag);
		assert_memory_not_equal(tag, out + MC_GRANT_BODY, MC_GRANT_TAG);
		out[i] ^= 0x80;
	}
	key[31] ^= 1;
	mc_grant_tag(out, key, tag);
	assert_memory_not_equal(tag, out + MC_GRANT_BODY, MC_GRANT_TAG);
}

static void keys_differ(void **state)
{
	uint8_t cluster[32] = { 1 }, other[16] = { 1 }, a[32], b[32];

	(void)state;
	mc_grant_key(cluster, seg, 1, a);
	mc_grant_key(cluster, seg, 2, b);
	assert_memory_not_equal(a, b, 32);
	mc_grant_key(cluster, other, 1, b);
	assert_memory_not_equal(a, b, 32);
	cluster[31] = 1;
	mc_grant_key(cluster, seg, 1, b);
	assert_memory_not_equal(a, b, 32);
}

static int decoded(struct mc_grant g)
{
	uint8_t key[32] = { 0 }, out[LEN];
	struct mc_grant back;

	mc_grant_sign(&g, key, out);
	return mc_grant_decode(out, &back);
}

static void bad_members(void **state)
{
	uint8_t key[32] = { 0 }, out[LEN];
	struct mc_grant g = sample(), back;

	(void)state;
	assert_int_equal(0, decoded(g));
	g.len = 0;
	assert_int_equal(-EINVAL, decoded(g));
	g.len = ~0ULL - g.off;
	assert_int_equal(0, decoded(g));
	g.len++;
	assert_int_equal(-EINVAL, decoded(g));
	g.len = ~0ULL;
	assert_int_equal(-EINVAL, decoded(g));
	g = sample();
	g.rights = 0;
	assert_int_equal(-EINVAL, decoded(g));
	g.rights = MC_GRANT_WHOLE_PAGES;
	assert_int_equal(-EINVAL, decoded(g));
	g.rights = MC_GRANT_R | 8;
	assert_int_equal(-EINVAL, decoded(g));
	g.rights = MC_GRANT_RIGHTS;
	assert_int_equal(0, decoded(g));
	g = sample();
	mc_grant_sign(&g, key, out);
	out[71] = 1;
	assert_int_equal(-EINVAL, mc_grant_decode(out, &back));
}

static void ranges(void **state)
{
	struct mc_grant g = sample();
	uint8_t other[16] = { 0 };

	(void)state;
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000, 0x2345));
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000, 1));
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000 + 0x2344, 1));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000, 0x2346));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000 + 0x2345, 1));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000 + 0x2344, 2));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0xfff, 1));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0xfff, 0x2345));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1001, ~0ULL));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, ~0ULL, 2));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_W, seg, 0x1000, 1));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, other, 0x1000, 1));
	g.rights = MC_GRANT_W;
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000, 1));
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_W, seg, 0x1000, 1));
	g.rights = MC_GRANT_R | MC_GRANT_W;
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, 0x1000, 1));
	g.off = 0;
	g.len = ~0ULL;
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, 0, ~0ULL));
	assert_int_equal(0, mc_grant_covers(&g, MC_GRANT_R, seg, ~0ULL - 1, 1));
	assert_int_equal(-EACCES, mc_grant_covers(&g, MC_GRANT_R, seg, ~0ULL - 1, 2));
}

static void times(void **state)
{
	struct mc_clock c = { .set = true, .epoch = 5, .offset = -1000, .set_at = 50 };
	struct mc_grant g = sample();

	(void)state;
	g.epoch = 5;
	g.not_after = 9000;
	/* Master time is boot time - 1000: the last moment is 10000 on this node's clock. */
	assert_int_equal(1, mc_grant_left(&g, &c, 10000));
	assert_int_equal(0, mc_grant_left(&g, &c, 10001));
	assert_int_equal(2, mc_grant_left(&g, &c, 9999));
	assert_int_equal(0, mc_grant_left(&g, &c, ~0ULL / 2));
	c.epoch = 6;
	assert_int_equal(0, mc_grant_left(&g, &c, 9999));
	c.epoch = 5;
	c.set = false;
	assert_int_equal(0, mc_grant_left(&g, &c, 9999));
	c.set = true;
	c.offset = 8000;
	assert_int_equal(1, mc_grant_left(&g, &c, 1000));
	assert_int_equal(0, mc_grant_left(&g, &c, 1001));
	g.not_after = ~0ULL;
	c.offset = 0;
	assert_true(mc_grant_left(&g, &c, 0) == ~0ULL);
}

static void clocks(void **state)
{
	struct mc_clock c = { .set = true, .error = MC_CLOCK_SKEW_NS, .set_at = 1000 };

	(void)state;
	assert_true(mc_clock_good(&c, 1000));
	assert_true(mc_clock_good(&c, 1000 + MC_CLOCK_AGE_NS));
	assert_false(mc_clock_good(&c, 1001 + MC_CLOCK_AGE_NS));
	assert_true(mc_clock_good(&c, 999));	/* measured by another thread a moment later */
	c.error++;
	assert_false(mc_clock_good(&c, 1000));
	c.error = 0;
	c.set = false;
	assert_false(mc_clock_good(&c, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tag_vectors),
		cmocka_unit_test(every_byte_counts),
		cmocka_unit_test(keys_differ),
		cmocka_unit_test(bad_members),
		cmocka_unit_test(ranges),
		cmocka_unit_test(times),
		cmocka_unit_test(clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
