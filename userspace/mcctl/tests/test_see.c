// SPDX-License-Identifier: MIT
/* Rates, histograms, bars and events: what top, stat and event compute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "see.h"

static void test_delta(void **state)
{
	(void)state;
	assert_int_equal(see_delta(10, 25), 15);
	assert_int_equal(see_delta(25, 25), 0);
	assert_int_equal(see_delta(25, 10), 10);	/* began anew */
	assert_int_equal(see_delta(UINT64_MAX, 0), 0);
}

static void test_rate(void **state)
{
	(void)state;
	assert_int_equal(see_rate(1000, 1000000000), 1000);
	assert_int_equal(see_rate(1000, 2000000000), 500);
	assert_int_equal(see_rate(1, 3000000000u), 0);
	assert_int_equal(see_rate(2, 3000000000u), 1);	/* rounded */
	assert_int_equal(see_rate(5, 0), 0);
	/* 100 GB/s for an hour does not overflow */
	assert_int_equal(see_rate(360000000000000ull, 3600000000000ull), 100000000000ull);
	assert_int_equal(see_rate(UINT64_MAX, 1000000000), UINT64_MAX);
}

static void test_hist_delta(void **state)
{
	uint64_t a[MC_HIST_BUCKETS] = { [3] = 5, [7] = 2 }, b[MC_HIST_BUCKETS] = { [3] = 6, [7] = 2, [8] = 1 };
	uint64_t out[MC_HIST_BUCKETS];

	(void)state;
	see_hist_delta(a, b, out);
	assert_int_equal(out[3], 1);
	assert_int_equal(out[7], 0);
	assert_int_equal(out[8], 1);
	b[7] = 1;		/* one smaller: all of it is new */
	see_hist_delta(a, b, out);
	assert_int_equal(out[3], 6);
	assert_int_equal(out[7], 1);
}

static json_int_t num(json_t *rates, const char *list, size_t i, const char *key)
{
	json_t *v = json_object_get(json_array_get(json_object_get(rates, list), i), key);

	assert_non_null(v);
	return json_integer_value(v);
}

static void test_rates(void **state)
{
	struct mcnl_stat sa = { .transport = MC_TRANSPORT_RDMA, .op = MC_OP_WRITE, .reqs = 10, .bytes = 1000 };
	struct mcnl_stat sb[2] = { { .transport = MC_TRANSPORT_RDMA, .op = MC_OP_READ, .reqs = 4 }, sa };
	struct mcnl_rail ra = { .id = 1, .dev = "rxe0", .state = "up", .c = { .write_bytes = 4096, .errors = 1 } };
	struct mcnl_rail rb[2] = { ra, { .id = 2, .dev = "rxe1", .state = "up", .c = { .read_bytes = 50 } } };
	struct mcnl_peer pa = { .node_uuid = { 1 }, .state = "live", .c = { .read_ops = 7 } };
	struct mcnl_peer pb = pa;
	struct mcnl_rail_hist ha = { .id = 1, .write = { [16] = 1 } }, hb = ha;
	struct see_sample a = { 1000, 5, &sa, 1, &ra, 1, &ha, 1, &pa, 1 };
	struct see_sample b = { 2000001000, 5, sb, 2, rb, 2, &hb, 1, &pb, 1 };
	json_t *r;

	(void)state;
	sb[1].reqs = 30;
	sb[1].bytes = 5000;
	sb[1].hist[20] = 20;
	rb[0].c.write_bytes = 12288;
	rb[0].c.inflight = 3;
	hb.write[16] = 3;
	pb.c.read_ops = 17;
	r = see_rates(&a, &b);
	assert_int_equal(num(r, "transports", 0, "requests_s"), 2);	/* was not there before: from 0 */
	assert_int_equal(num(r, "transports", 1, "requests_s"), 10);
	assert_int_equal(num(r, "transports", 1, "bytes_s"), 2000);
	assert_in_range(num(r, "transports", 1, "p50_ns"), 1 << 20, 2 << 20);
	assert_int_equal(num(r, "rails", 0, "write_bytes_s"), 4096);
	assert_int_equal(num(r, "rails", 0, "errors_s"), 0);
	assert_int_equal(num(r, "rails", 0, "inflight"), 3);
	assert_in_range(num(r, "rails", 0, "write_p99_ns"), 1 << 16, 2 << 16);
	assert_int_equal(num(r, "rails", 0, "read_p99_ns"), 0);
	assert_int_equal(num(r, "rails", 1, "read_bytes_s"), 25);
	assert_int_equal(num(r, "peers", 0, "slices_s"), 5);
	json_decref(r);
	/* Another load of the module: what it counts now it has counted since. */
	b.instance = 6;
	r = see_rates(&a, &b);
	assert_int_equal(num(r, "transports", 1, "requests_s"), 15);
	assert_int_equal(num(r, "rails", 0, "write_bytes_s"), 6144);
	json_decref(r);
}

static void test_bar(void **state)
{
	char to[SEE_BAR + 1];

	(void)state;
	assert_string_equal(see_bar(0, 100, 10, to), "");
	assert_string_equal(see_bar(0, 0, 10, to), "");
	assert_string_equal(see_bar(50, 100, 10, to), "#####");
	assert_string_equal(see_bar(100, 100, 10, to), "##########");
	assert_string_equal(see_bar(1, 1000000, 10, to), "#");	/* little, but not nothing */
	assert_string_equal(see_bar(200, 100, 10, to), "##########");
}

static void test_ns_text(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} t[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" }, { 12345, "12.3 us" }, { 123456, "123 us" },
		{ 4000000, "4.00 ms" }, { 60000000000ull, "60.0 s" },
	};
	char to[24];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		assert_string_equal(see_ns_text(t[i].ns, to, sizeof(to)), t[i].text);
}

static void test_hist_picture(void **state)
{
	uint64_t hist[MC_HIST_BUCKETS] = { [10] = 40, [12] = 10 }, none[MC_HIST_BUCKETS] = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	see_hist_print(f, none);
	fflush(f);
	assert_string_equal(text, "");
	see_hist_print(f, hist);
	fclose(f);
	assert_string_equal(text, "  from  1.02 us          40  ########################################\n"
			    "  from  2.05 us           0  \n"
			    "  from  4.10 us          10  ##########\n");
	free(text);
}

static void test_stat_json(void **state)
{
	struct mcnl_stat s = { .transport = MC_TRANSPORT_LOCAL, .op = MC_OP_WRITE, .reqs = 3,
			       .hist = { [0] = 1, [9] = 2 } };
	json_t *o = see_stat_json(&s), *h = json_object_get(o, "histogram");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(o, "transport")), "local");
	assert_string_equal(json_string_value(json_object_get(o, "op")), "write");
	assert_int_equal(json_array_size(h), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(h, 0), "from_ns")), 0);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(h, 1), "from_ns")), 512);
	assert_in_range(json_integer_value(json_object_get(o, "p99_ns")), 512, 1024);
	json_decref(o);
}

static void test_top_picture(void **state)
{
	struct mcnl_stat st[3] = { { .transport = MC_TRANSPORT_LOCAL, .op = MC_OP_READ },
				   { .transport = MC_TRANSPORT_NVME, .op = MC_OP_READ },
				   { .transport = MC_TRANSPORT_RDMA, .op = MC_OP_WRITE } };
	struct mcnl_rail rail = { .id = 3, .dev = "mlx5_0", .state = "up" };
	struct see_sample a = { 0, 1, st, 3, &rail, 1, NULL, 0, NULL, 0 }, b = a;
	struct mcnl_stat after[3];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	json_t *r;

	(void)state;
	memcpy(after, st, sizeof(st));
	after[2].bytes = 10 << 20;
	b.stats = after;
	b.time_ns = 1000000000;
	r = see_rates(&a, &b);
	see_top_print(f, r);
	fclose(f);
	json_decref(r);
	assert_non_null(strstr(text, "over the last 1.00 s"));
	assert_non_null(strstr(text, "10 MiB"));
	assert_non_null(strstr(text, "mlx5_0"));
	assert_null(strstr(text, "nvme"));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void test_events(void **state)
{
	struct mcnl_event ev = { .cmd = MC_CMD_EVENT_BUF_GONE, .seq = 9, .time_ns = 12000345678ull, .buf_id = 77,
				 .pid = 1234, .len = 4096, .reason = MC_REASON_EXIT };
	struct mcnl_event rail = { .cmd = MC_CMD_EVENT_RAIL_PAUSED, .rail_id = 2, .dev = "rxe1", .node_uuid = { 0xaa },
				   .reason = MC_REASON_SILENT, .text = "no answer\nto 5 pings" };
	char to[512];
	json_t *o;

	(void)state;
	assert_string_equal(see_event_text(&ev, to, sizeof(to)),
			    "[   12.000345] buffer-gone buffer 77 bytes 4096 pid 1234 uid 0 reason exit");
	assert_string_equal(see_event_text(&rail, to, sizeof(to)),
			    "[    0.000000] rail-paused rail 2 device rxe1 node_uuid "
			    "aa000000-0000-0000-0000-000000000000 reason silent: no answer?to 5 pings");
	o = see_event_json(&ev);
	assert_string_equal(json_string_value(json_object_get(o, "event")), "buffer-gone");
	assert_int_equal(json_integer_value(json_object_get(o, "seq")), 9);
	assert_null(json_object_get(o, "rail"));
	json_decref(o);
	/* a path has two ends */
	rail.remote_rail = 1;
	rail.remote_addr = (struct mcnl_addr){ .len = 4, .bytes = { 10, 77, 1, 2 } };
	rail.remote_port = 50060;
	assert_non_null(strstr(see_event_text(&rail, to, sizeof(to)),
			       "remote_rail 1 remote_address 10.77.1.2 remote_port 50060 reason silent"));
	/* what a newer kernel says is shown, not swallowed */
	ev.cmd = 250;
	ev.reason = 99;
	assert_non_null(strstr(see_event_text(&ev, to, sizeof(to)), "event-250"));
	assert_non_null(strstr(see_event_text(&ev, to, sizeof(to)), "reason other"));
	/* a line that has no room is cut, not written beyond */
	see_event_text(&rail, to, 30);
	assert_true(strlen(to) < 30);
}

static void test_lost(void **state)
{
	(void)state;
	assert_int_equal(see_lost(0, 500), 0);	/* the first one that is seen */
	assert_int_equal(see_lost(4, 5), 0);
	assert_int_equal(see_lost(4, 8), 3);
	assert_int_equal(see_lost(400, 1), 0);	/* another module */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delta), cmocka_unit_test(test_rate), cmocka_unit_test(test_hist_delta),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_bar), cmocka_unit_test(test_ns_text),
		cmocka_unit_test(test_hist_picture), cmocka_unit_test(test_stat_json),
		cmocka_unit_test(test_top_picture), cmocka_unit_test(test_events), cmocka_unit_test(test_lost),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("mcctl see", tests, NULL, NULL);
}
