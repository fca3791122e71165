// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace.h"

static const char *write_trace(const char *text)
{
	static char path[32];
	int fd;

	strcpy(path, "/tmp/mctrace.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

#define LINE(ids) "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3, \"hash_ids\": [" ids "]}\n"

static void test_lines(void **state)
{
	static const struct { const char *line, *words; } bad[] = {
		{ "", "not JSON" },
		{ "[]", "not a JSON object" },
		{ "{\"timestamp\": 1}", "'input_length' is missing" },
		{ "{\"timestamp\": -1}", "'timestamp' is negative: -1" },
		{ "{\"timestamp\": 1.5}", "'timestamp' is not an integer" },
		{ "{\"timestamp\": 1, \"timestamp\": 2}", "not JSON" },
		{ "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3}", "'hash_ids' is missing" },
		{ "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3, \"hash_ids\": 4}", "not a list" },
		{ LINE("1, -2"), "member 1" },
		{ LINE("1, \"2\""), "member 1" },
		{ LINE("99999999999999999999"), "not JSON" },
		{ LINE("1") "x", "not JSON" },
	};
	struct tr_request r;
	char err[256];

	(void)state;
	assert_true(tr_parse_line(LINE("7, 0, 9"), strlen(LINE("7, 0, 9")), &r, err, sizeof(err)));
	assert_int_equal(r.n, 3);
	assert_int_equal(r.ids[2], 9);
	free(r.ids);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (tr_parse_line(bad[i].line, strlen(bad[i].line), &r, err, sizeof(err)))
			fail_msg("'%s' was taken", bad[i].line);
		if (!strstr(err, bad[i].words))
			fail_msg("'%s': complaint '%s' lacks '%s'", bad[i].line, err, bad[i].words);
	}
}

static void test_file(void **state)
{
	struct tr_trace t, u;
	char err[512];
	const char *path;

	(void)state;
	path = write_trace(LINE("1, 2") LINE("") LINE("1, 3, 4"));
	assert_true(tr_load(path, 0, &t, err, sizeof(err)));
	assert_int_equal(t.n, 3);
	assert_int_equal(t.blocks, 5);
	assert_int_equal(t.longest, 3);
	assert_true(tr_load(path, 2, &u, err, sizeof(err)));
	assert_int_equal(u.n, 2);
	assert_int_not_equal(t.digest, u.digest);
	tr_free(&t);
	tr_free(&u);
	assert_false(tr_load(path, 4, &t, err, sizeof(err)));
	assert_non_null(strstr(err, "3 requests, 4"));
	unlink(path);
	path = write_trace(LINE("1") "oops\n" LINE("2"));
	assert_false(tr_load(path, 0, &t, err, sizeof(err)));
	assert_non_null(strstr(err, ":2: not JSON"));
	unlink(path);
	path = write_trace("");
	assert_false(tr_load(path, 0, &t, err, sizeof(err)));
	unlink(path);
}

/* Counting, on a trace small enough to do by hand. */
static void test_count(void **state)
{
	struct tr_count n;
	struct tr_trace t;
	char err[512];
	const char *path = write_trace(LINE("1, 2, 3")		/* 3 misses */
				       LINE("1, 2, 4")		/* 2 hits, 1 miss */
				       LINE("9, 2, 3")		/* 0 hits: 2 and 3 are known, but not as a prefix */
				       LINE("1, 2, 4")		/* 3 hits */
				       LINE("5, 5")		/* 2 misses of one block */
				       LINE("1, 6, 3"));	/* 1 hit: 3 is known, but behind a missing one */
	uint64_t id;

	(void)state;
	assert_true(tr_load(path, 0, &t, err, sizeof(err)));
	assert_true(tr_count(&t, &n));
	assert_int_equal(n.requests, 6);
	assert_int_equal(n.blocks, 17);
	assert_int_equal(n.hits, 6);
	assert_int_equal(n.misses, 11);
	assert_int_equal(n.unique, 7);
	assert_true(tr_reused_block(&t, 2, &id));
	assert_int_equal(id, 1);
	assert_false(tr_reused_block(&t, 1, &id));
	tr_free(&t);
	unlink(path);
}

static void test_block_pattern(void **state)
{
	static uint8_t a[8192], b[8192];
	size_t same = 0;

	(void)state;
	for (size_t len = 1; len < 40; len++) {
		memset(a, 0xEE, sizeof(a));
		tr_block_fill(12, a, len);
		assert_int_equal(a[len], 0xEE);
		assert_int_equal(tr_block_check(12, a, len), -1);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(a[i], tr_block_byte(12, i));
	}
	tr_block_fill(12, a, sizeof(a));
	for (size_t at = 0; at < sizeof(a); at += 997) {
		a[at] ^= 1;
		assert_int_equal(tr_block_check(12, a, sizeof(a)), at);
		a[at] ^= 1;
	}
	/* swapped pages, and the page of a neighbour, are wrong at once */
	memcpy(b, a + 4096, 4096);
	memcpy(b + 4096, a, 4096);
	assert_in_range(tr_block_check(12, b, sizeof(b)), 0, 3);
	tr_block_fill(13, b, sizeof(b));
	for (size_t i = 0; i < sizeof(a); i++)
		same += a[i] == b[i];
	assert_in_range(same, 0, sizeof(a) / 256 * 3);
	assert_in_range(tr_block_check(12, b, sizeof(b)), 0, 3);
}

static void test_noise(void **state)
{
	static uint8_t a[4099], b[4099];
	uint64_t s = 7, t = 7;

	(void)state;
	a[4098] = 0x11;
	tr_noise_fill(&s, a, 4098);
	assert_int_equal(a[4098], 0x11);
	assert_true(tr_block_check(7, a, 4098) >= 0);
	tr_noise_fill(&t, b, 4098);
	assert_memory_equal(a, b, 4098);
	tr_noise_fill(&t, b, 4098);
	assert_memory_not_equal(a, b, 16);
}

static void test_percentiles(void **state)
{
	struct tr_samples s = { 0 };

	(void)state;
	assert_int_equal(tr_percentile(&s, 50), 0);
	for (uint64_t i = 1000; i > 0; i--)
		assert_true(tr_sample(&s, i));
	assert_int_equal(tr_percentile(&s, 50), 500);
	assert_int_equal(tr_percentile(&s, 99), 990);
	assert_int_equal(tr_percentile(&s, 100), 1000);
	assert_int_equal(tr_percentile(&s, 0), 1);
	free(s.ns);
}

static void test_results_travel(void **state)
{
	struct tr_result r = { .requests = 1, .blocks = 2, .hits_local = 3, .exist_ns = 1ULL << 40, .why = "w\"x" };
	struct tr_result back;
	json_t *o = tr_result_json(&r);

	(void)state;
	assert_true(tr_result_parse(o, &back));
	assert_memory_equal(&r, &back, sizeof(r));
	tr_result_add(&back, &r);
	assert_int_equal(back.blocks, 4);
	assert_int_equal(back.exist_ns, 1ULL << 41);
	json_object_set_new(o, "misses", json_integer(-1));
	assert_false(tr_result_parse(o, &back));
	json_object_del(o, "misses");
	assert_false(tr_result_parse(o, &back));
	json_decref(o);
}

/* ---- lines ---- */

static void test_line_protocol(void **state)
{
	struct tr_conn a = { .fd = -1 }, b = { .fd = -1 };
	int fd[2], rc;
	json_t *o;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	a.fd = fd[0];
	b.fd = fd[1];
	assert_null(tr_recv(&b, 20, &rc));
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(tr_send(&a, json_pack("{si}", "run", 1), 1000), 0);
	assert_int_equal(tr_send(&a, json_pack("{si}", "run", 2), 1000), 0);
	for (int i = 1; i <= 2; i++) {
		o = tr_recv(&b, 1000, &rc);
		assert_int_equal(json_integer_value(json_object_get(o, "run")), i);
		json_decref(o);
	}
	assert_int_equal(write(a.fd, "{\"x\":", 5), 5);
	assert_null(tr_recv(&b, 20, &rc));
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(write(a.fd, "1}\n[]\n", 6), 6);
	o = tr_recv(&b, 1000, &rc);
	assert_non_null(o);
	json_decref(o);
	assert_null(tr_recv(&b, 1000, &rc));
	assert_int_equal(rc, -EBADMSG);
	tr_close(&a);
	assert_null(tr_recv(&b, 1000, &rc));
	assert_int_equal(rc, -EPIPE);
	tr_close(&b);
}

static void test_endless_line_is_refused(void **state)
{
	struct tr_conn b = { .fd = -1 };
	static char x[20000];
	int fd[2], rc;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	b.fd = fd[1];
	memset(x, 'x', sizeof(x));
	assert_int_equal(write(fd[0], x, sizeof(x)), sizeof(x));
	assert_null(tr_recv(&b, 1000, &rc));
	assert_int_equal(rc, -EBADMSG);
	tr_close(&b);
	close(fd[0]);
}

/* ---- verdict ---- */

static struct tr_report good_report(void)
{
	struct tr_report r = { .n_nodes = 2, .asked = 2, .block_bytes = 4096, .parallel = 1 };

	for (int n = 0; n < 2; n++) {
		r.node[n] = (struct tr_result){ .requests = 1, .get_bytes_local = 4096, .get_bytes_rdma = 8192,
						.put_bytes_rdma = 4096 };
		r.counters[n] = (struct tr_counters){ .valid = true, .local_bytes = 4096, .read_bytes = 8192,
						      .write_bytes = 4096, .ops = 3, .nic = true, .nic_sent = 40,
						      .nic_rcvd = 40 };
	}
	return r;
}

static void test_verdict(void **state)
{
	struct tr_report r = good_report();
	char why[TR_TEXT];

	(void)state;
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_OK);
	r.node[1].verify_errors = 1;
	strcpy(r.node[1].why, "wrong byte: key kv-1");
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_CORRUPT);
	assert_string_equal(why, "wrong byte: key kv-1");
	r = good_report();
	r.node[0].errors = 1;
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_FAILED);
	r = good_report();
	r.asked = 3;
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_FAILED);
	assert_string_equal(why, "only 2 of 3 requests were done");
	r = good_report();
	r.counters[1].valid = false;
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_FAILED);
}

static void test_bytes_on_other_paths(void **state)
{
	struct tr_report r = good_report();
	char why[TR_TEXT];

	(void)state;
	assert_int_equal(tr_other_bytes(&r, 0), 0);
	r.counters[0].read_bytes -= 100;
	assert_int_equal(tr_other_bytes(&r, 0), 100);
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_FAILED);
	assert_non_null(strstr(why, "100 bytes"));
	/* a local copy passed off as RDMA is two differences, not none */
	r = good_report();
	r.counters[0].read_bytes -= 4096;
	r.counters[0].local_bytes += 4096;
	assert_int_equal(tr_other_bytes(&r, 0), 8192);
}

static void test_nic_agreement(void **state)
{
	struct tr_report r = good_report();
	char why[TR_TEXT];

	(void)state;
	assert_true(tr_nic_agrees(&r));
	/* 24576 bytes need 6 packets: 2 + 3 can't have carried them */
	r.counters[0].nic_sent = 2;
	r.counters[1].nic_sent = 3;
	assert_false(tr_nic_agrees(&r));
	assert_int_equal(tr_report_verdict(&r, why, sizeof(why)), MCT_EXIT_FAILED);
	r.counters[1].nic_sent = 4;
	assert_true(tr_nic_agrees(&r));
	r.counters[1].nic_sent = 100000;
	assert_false(tr_nic_agrees(&r));
	r.counters[1].nic = false;
	assert_true(tr_nic_agrees(&r));
}

static void test_report_json(void **state)
{
	struct tr_report r = good_report();
	json_t *o = tr_report_json(&r);

	(void)state;
	assert_non_null(o);
	assert_int_equal(json_integer_value(json_object_get(o, "requests")), 2);
	assert_int_equal(json_array_size(json_object_get(o, "nodes")), 2);
	assert_int_equal(json_integer_value(json_object_get(o, "other_bytes")), 0);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_file), cmocka_unit_test(test_count),
		cmocka_unit_test(test_block_pattern), cmocka_unit_test(test_noise), cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_results_travel), cmocka_unit_test(test_line_protocol),
		cmocka_unit_test(test_endless_line_is_refused), cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_bytes_on_other_paths), cmocka_unit_test(test_nic_agreement),
		cmocka_unit_test(test_report_json),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("mcctl trace", tests, NULL, NULL);
}
