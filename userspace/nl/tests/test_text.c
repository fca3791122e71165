// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mctext.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/mctext.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static const char *path(const char *name)
{
	static char p[128];

	snprintf(p, sizeof(p), "%s/%s", dir, name);
	return p;
}

static void write_file(const char *p, const char *text, size_t len, mode_t mode)
{
	int fd = open(p, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_uuid(void **state)
{
	static const char *const bad[] = {
		"", "00112233-4455-6677-8899-aabbccddeef", "00112233-4455-6677-8899-aabbccddeeff0",
		"00112233_4455-6677-8899-aabbccddeeff", "0011223g-4455-6677-8899-aabbccddeeff",
		"001122334455-6677-8899-aabbccddeeff--", " 0112233-4455-6677-8899-aabbccddeeff",
	};
	uint8_t u[MC_UUID_LEN], v[MC_UUID_LEN];
	char text[MCT_UUID_TEXT];

	(void)state;
	assert_true(mct_uuid_parse("00112233-4455-6677-8899-AAbbccddeeff", u));
	for (int i = 0; i < MC_UUID_LEN; i++)
		assert_int_equal(u[i], i * 0x11);
	assert_string_equal(mct_uuid_text(u, text), "00112233-4455-6677-8899-aabbccddeeff");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(mct_uuid_parse(bad[i], v));
	assert_int_equal(mct_uuid_random(u), 0);
	assert_int_equal(mct_uuid_random(v), 0);
	assert_memory_not_equal(u, v, MC_UUID_LEN);
	assert_int_equal(u[6] >> 4, 4);
	assert_int_equal(u[8] >> 6, 2);
}

static void test_sizes(void **state)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "0", 0 }, { "1", 1 }, { "4K", 4096 }, { "4k", 4096 }, { "64KiB", 65536 }, { "3M", 3145728 },
		{ "1GB", 1073741824 }, { "2T", 2199023255552 }, { "18446744073709551615", UINT64_MAX },
		{ "16777215T", 16777215ULL << 40 },
	};
	static const char *const bad[] = {
		"", "K", "-1", "+1", " 1", "1 ", "4KK", "4Q", "4Ki", "0x10", "1.5G",
		"18446744073709551616", "16777216T",
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(mct_size_parse(good[i].text, &v));
		assert_int_equal(v, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (mct_size_parse(bad[i], &v))
			fail_msg("'%s' was taken as %llu", bad[i], (unsigned long long)v);
}

static void test_addresses(void **state)
{
	struct mcnl_addr a;
	char text[MCT_ADDR_TEXT];

	(void)state;
	assert_true(mct_addr_parse("10.77.0.1", &a));
	assert_int_equal(a.len, 4);
	assert_memory_equal(a.bytes, "\x0a\x4d\x00\x01", 4);
	assert_true(mct_addr_parse("fd77::1", &a));
	assert_int_equal(a.len, 16);
	assert_string_equal(mct_addr_text(&a, text), "fd77::1");
	assert_false(mct_addr_parse("10.77.0", &a));
	assert_false(mct_addr_parse("10.77.0.256", &a));
	assert_false(mct_addr_parse("[fd77::1]", &a));
	assert_false(mct_addr_parse("localhost", &a));
	assert_false(mct_addr_parse("", &a));
}

static void test_rails(void **state)
{
	struct mcnl_event ev = { .rail_id = 1, .dev = "rxe0" };
	char text[MCT_RAIL_TEXT];

	(void)state;
	assert_string_equal(mct_rail_text(&ev, text), "rail 1 (rxe0)");
	ev.node_uuid[0] = 0xaa;
	assert_string_equal(mct_rail_text(&ev, text),
			    "path over rail 1 (rxe0) to aa000000-0000-0000-0000-000000000000");
	ev.remote_rail = 2;
	ev.remote_addr = (struct mcnl_addr){ .len = 4, .bytes = { 10, 77, 1, 2 } };
	assert_string_equal(mct_rail_text(&ev, text), "path over rail 1 (rxe0) to rail 2 (10.77.1.2) of "
						      "aa000000-0000-0000-0000-000000000000");
	/* the longest there can be */
	memset(ev.dev, 'd', sizeof(ev.dev) - 1);
	memset(ev.remote_addr.bytes, 0xff, sizeof(ev.remote_addr.bytes));
	ev.remote_addr.len = 16;
	ev.rail_id = ev.remote_rail = UINT32_MAX;
	assert_true(strlen(mct_rail_text(&ev, text)) < sizeof(text) - 1);
	assert_non_null(strstr(text, "ffff:ffff) of aa000000-0000-0000-0000-000000000000"));
}

static void test_key_forms(void **state)
{
	static const char hex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
	uint8_t key[MC_KEY_LEN];
	char err[512];

	(void)state;
	write_file(path("hex"), hex, 65, 0600);
	assert_int_equal(mct_key_load(path("hex"), key, NULL, err, sizeof(err)), 0);
	for (int i = 0; i < MC_KEY_LEN; i++)
		assert_int_equal(key[i], i);
	write_file(path("raw"), (char *)key, MC_KEY_LEN, 0600);
	assert_int_equal(mct_key_load(path("raw"), key, NULL, err, sizeof(err)), 0);
	assert_int_equal(key[31], 31);
	write_file(path("short"), hex, 63, 0600);
	assert_int_equal(mct_key_load(path("short"), key, NULL, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "/short"));
	write_file(path("letters"), "zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 64, 0600);
	assert_int_equal(mct_key_load(path("letters"), key, NULL, err, sizeof(err)), -EINVAL);
	assert_int_equal(mct_key_load(path("none"), key, NULL, err, sizeof(err)), -ENOENT);
}

static void test_key_generations(void **state)
{
	static const char hex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
	static const char *const bad[] = { " 0\n", " 4294967296\n", "7\n", " \n", " 7 \n", " 7\n\n", " -1\n", "  7\n" };
	uint8_t key[MC_KEY_LEN], old[MC_KEY_LEN];
	char text[128], err[512];
	uint32_t gen = 5;

	(void)state;
	write_file(path("none"), hex, 64, 0600);
	assert_int_equal(mct_key_load(path("none"), key, &gen, err, sizeof(err)), 0);
	assert_int_equal(gen, 5);
	snprintf(text, sizeof(text), "%s 4294967295\n", hex);
	write_file(path("last"), text, strlen(text), 0600);
	assert_int_equal(mct_key_load(path("last"), key, &gen, err, sizeof(err)), 0);
	assert_true(gen == UINT32_MAX);
	assert_int_equal(mct_key_rotate(path("last"), key, &gen, err, sizeof(err)), -ERANGE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", hex, bad[i]);
		write_file(path("bad"), text, strlen(text), 0600);
		assert_int_equal(mct_key_load(path("bad"), key, &gen, err, sizeof(err)), -EINVAL);
	}
	assert_int_equal(mct_key_generate(path("k"), err, sizeof(err)), 0);
	assert_int_equal(mct_key_load(path("k"), old, &gen, err, sizeof(err)), 0);
	assert_int_equal(gen, 1);
	assert_int_equal(mct_key_rotate(path("k"), key, &gen, err, sizeof(err)), 0);
	assert_int_equal(gen, 2);
	assert_memory_not_equal(key, old, sizeof(old));
	assert_int_equal(mct_key_load(path("k"), old, &gen, err, sizeof(err)), 0);
	assert_int_equal(gen, 2);
	assert_memory_equal(key, old, sizeof(old));
}

static void test_key_is_private(void **state)
{
	static const mode_t open_modes[] = { 0640, 0604, 0620, 0602, 0610, 0601 };
	uint8_t key[MC_KEY_LEN];
	char err[512], mode[8];

	(void)state;
	assert_int_equal(mct_key_generate(path("k"), err, sizeof(err)), 0);
	assert_int_equal(mct_key_load(path("k"), key, NULL, err, sizeof(err)), 0);
	assert_int_equal(mct_key_generate(path("k"), err, sizeof(err)), -EEXIST);
	for (size_t i = 0; i < sizeof(open_modes) / sizeof(*open_modes); i++) {
		assert_int_equal(chmod(path("k"), open_modes[i]), 0);
		assert_int_equal(mct_key_load(path("k"), key, NULL, err, sizeof(err)), -EACCES);
		snprintf(mode, sizeof(mode), "%04o", (unsigned int)open_modes[i]);
		assert_non_null(strstr(err, mode));
	}
	assert_int_equal(mkfifo(path("fifo"), 0600), 0);
	assert_int_equal(mct_key_load(path("fifo"), key, NULL, err, sizeof(err)), -EINVAL);
}

static void test_uuid_file(void **state)
{
	uint8_t u[MC_UUID_LEN], v[MC_UUID_LEN];
	char err[512];

	(void)state;
	assert_int_equal(mct_uuid_file_load(path("u"), v, err, sizeof(err)), -ENOENT);
	assert_int_equal(mct_uuid_file_create(path("u"), u, err, sizeof(err)), 0);
	assert_int_equal(mct_uuid_file_load(path("u"), v, err, sizeof(err)), 0);
	assert_memory_equal(u, v, MC_UUID_LEN);
	assert_int_equal(mct_uuid_file_create(path("u"), v, err, sizeof(err)), -EEXIST);
	write_file(path("zero"), "00000000-0000-0000-0000-000000000000\n", 37, 0644);
	assert_int_equal(mct_uuid_file_load(path("zero"), v, err, sizeof(err)), -EINVAL);
	write_file(path("junk"), "junk", 4, 0644);
	assert_int_equal(mct_uuid_file_load(path("junk"), v, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "'junk'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uuid), cmocka_unit_test(test_rails),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test_setup_teardown(test_key_forms, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_key_generations, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_key_is_private, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_uuid_file, make_dir, remove_dir),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("nl text", tests, NULL, NULL);
}
