// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define CLUSTER "cluster: 00112233-4455-6677-8899-aabbccddeeff\n"

static char lines[16][1024];
static int n_lines;

static void complain(const char *line, void *arg)
{
	(void)arg;
	if (n_lines < 16)
		snprintf(lines[n_lines++], sizeof(lines[0]), "%s", line);
}

static int load(const char *text, struct nd_config *cfg)
{
	char path[] = "/tmp/mcnoded.XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	n_lines = 0;
	rc = nd_config_load(path, cfg, complain, NULL);
	unlink(path);
	assert_int_equal(rc, n_lines);
	return rc;
}

/* One complaint, about this line, with these words. */
static void refused(const char *text, int line, const char *words)
{
	static struct nd_config cfg;
	char place[16];

	if (load(text, &cfg) != 1)
		fail_msg("%d complaints instead of 1 about:\n%s%s", n_lines, text, n_lines ? lines[0] : "");
	snprintf(place, sizeof(place), ":%d: ", line);
	if (!strstr(lines[0], words) || (line && !strstr(lines[0], place)))
		fail_msg("complaint '%s' lacks '%s' or '%s'", lines[0], place, words);
}

static void test_whole_file(void **state)
{
	static struct nd_config cfg;

	(void)state;
	assert_int_equal(load("master: '[fd77::1]:50099'\n"
			      "name: n1\n"
			      CLUSTER
			      "auth: none\n"
			      "uuid_file: /u\nkey_file: /k\nkey_generation: 7\n"
			      "rails:\n"
			      "  - {device: rxe0, address: 10.77.0.1}\n"
			      "  - {device: mlx5_1, address: 'fd77::2', port: 1234}\n"
			      "pool: {name: p, size: 6M, numa: 1, page_size: 2M, destroy_on_exit: true}\n", &cfg), 0);
	assert_string_equal(cfg.master, "[fd77::1]:50099");
	assert_string_equal(cfg.name, "n1");
	assert_string_equal(cfg.uuid_file, "/u");
	assert_string_equal(cfg.key_file, "/k");
	assert_int_equal(cfg.key_gen, 7);
	assert_int_equal(cfg.cluster[15], 0xff);
	assert_true(cfg.auth_none);
	assert_int_equal(cfg.n_rails, 2);
	assert_string_equal(cfg.rails[0].device, "rxe0");
	assert_int_equal(cfg.rails[0].port, 50060);
	assert_int_equal(cfg.rails[1].addr.len, 16);
	assert_int_equal(cfg.rails[1].port, 1234);
	assert_true(cfg.has_pool && cfg.destroy_pool);
	assert_string_equal(cfg.pool.name, "p");
	assert_int_equal(cfg.pool.len, 6 << 20);
	assert_int_equal(cfg.pool.numa, 1);
	assert_int_equal(cfg.pool.page_size, 2 << 20);
}

static void test_defaults(void **state)
{
	static struct nd_config cfg;

	(void)state;
	assert_int_equal(load("master: 10.0.0.1\n" CLUSTER, &cfg), 0);
	assert_string_equal(cfg.uuid_file, ND_UUID_PATH);
	assert_string_equal(cfg.key_file, ND_KEY_PATH);
	assert_int_equal(cfg.key_gen, 1);
	assert_false(cfg.auth_none);
	assert_false(cfg.has_pool);
	assert_int_equal(cfg.n_rails, 0);
	assert_true(cfg.name[0]);
}

static void test_refusals(void **state)
{
	(void)state;
	refused("", 0, "is empty");
	refused(CLUSTER, 0, "'master' is missing");
	refused("master: h\n", 0, "'cluster' is missing");
	refused("master: h\n" CLUSTER "nmae: x\n", 3, "unknown setting 'nmae'");
	refused("master: h\nmaster: i\n" CLUSTER, 2, "'master' is given twice");
	refused("master: [a, b]\n" CLUSTER, 1, "expected one value");
	refused("master: h\ncluster: 0011\n", 2, "'0011' is not a UUID");
	refused("master: h\n" CLUSTER "auth: nein\n", 3, "'nein'");
	refused("master: h\n" CLUSTER "key_generation: 0\n", 3, "'0' is not a number from 1");
	refused("master: h\n" CLUSTER "rails: rxe0\n", 3, "expected a list");
	refused("master: h\n" CLUSTER "rails:\n  - {device: r}\n", 4, "'address' is missing");
	refused("master: h\n" CLUSTER "rails:\n  - {address: 1.2.3.4}\n", 4, "'device' is missing");
	refused("master: h\n" CLUSTER "rails:\n  - device: r\n    address: 1.2.3.4\n    port: 65536\n", 6, "'65536'");
	refused("master: h\n" CLUSTER "rails:\n  - {device: r, address: 1.2.3.4}\n"
		"  - {device: r, address: 1.2.3.4}\n", 5, "listed twice");
	refused("master: h\n" CLUSTER "pool: {name: p}\n", 3, "'size' is missing");
	refused("master: h\n" CLUSTER "pool: {size: 4K}\n", 3, "'name' is missing");
	refused("master: h\n" CLUSTER "pool: {name: p, size: 0}\n", 3, "is 0");
	refused("master: h\n" CLUSTER "pool: {name: p, size: 4097}\n", 3, "not a multiple");
	refused("master: h\n" CLUSTER "pool:\n  name: p\n  size: 1M\n  page_size: 8K\n", 6, "8192");
	refused("master: h\n" CLUSTER "pool: {name: p, size: 1M, numa: x}\n", 3, "'x'");
	refused("master: h\n" CLUSTER "name: \"a\\0b\"\n", 3, "NUL");
	refused("master: h\n\t: x\n", 2, "not YAML");
}

static void test_bad_addresses(void **state)
{
	static const char *const bad[] = { "':p'", "'h:0'", "'h:65536'", "'h:x'", "'::1:50051'", "''" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "master: %s\n" CLUSTER, bad[i]);
		refused(text, 1, "master: ");
	}
}

static void test_all_bad_places_are_named(void **state)
{
	static struct nd_config cfg;

	(void)state;
	assert_int_equal(load("master: h:x\nfoo: 1\ncluster: z\npool:\n  size: 1Q\n  bar: 2\n", &cfg), 5);
	assert_non_null(strstr(lines[0], ":1: "));
	assert_non_null(strstr(lines[1], ":2: "));
	assert_non_null(strstr(lines[2], ":3: "));
	assert_non_null(strstr(lines[3], ":5: "));
	assert_non_null(strstr(lines[4], ":6: "));
}

static void test_missing_file(void **state)
{
	static struct nd_config cfg;

	(void)state;
	n_lines = 0;
	assert_int_equal(nd_config_load("/nonexistent/mcnoded.yaml", &cfg, complain, NULL), 1);
	assert_string_equal(lines[0], "/nonexistent/mcnoded.yaml: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bad_addresses),
		cmocka_unit_test(test_all_bad_places_are_named),
		cmocka_unit_test(test_missing_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("mcnoded config", tests, NULL, NULL);
}
