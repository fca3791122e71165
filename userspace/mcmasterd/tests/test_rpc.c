// SPDX-License-Identifier: MIT
/* What surrounds a call: frames, texts, timeouts, the scan of untrusted bytes, names and error numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "arena.h"
#include "frame.h"
#include "names.h"
#include "scan.h"

static void frames_in_pieces(void **state)
{
	static uint8_t in[5 + 10000];
	struct mc_frame_reader r;
	size_t step, i, n;

	(void)state;
	mc_frame_put_hdr(in, 10000);
	for (i = 0; i < 10000; i++)
		in[5 + i] = i * 7;
	for (step = 1; step < sizeof(in); step = step * 3 + 1) {
		mc_frame_reader_init(&r, MC_GRPC_MSG_MAX);
		for (i = 0; i < sizeof(in); i += n) {
			assert_false(mc_frame_complete(&r));
			n = sizeof(in) - i < step ? sizeof(in) - i : step;
			assert_int_equal(mc_frame_feed(&r, in + i, n), 0);
		}
		assert_true(mc_frame_complete(&r));
		assert_int_equal(r.len, 10000);
		assert_memory_equal(r.msg, in + 5, 10000);
		assert_int_equal(mc_frame_feed(&r, in, 1), -EBADMSG);
		mc_frame_reader_free(&r);
	}
}

static void frames_that_lie(void **state)
{
	struct mc_frame_reader r;
	uint8_t h[5];

	(void)state;
	mc_frame_reader_init(&r, 100);
	mc_frame_put_hdr(h, 101);
	assert_int_equal(mc_frame_feed(&r, h, 5), -EMSGSIZE);
	mc_frame_reader_free(&r);
	mc_frame_put_hdr(h, 0xffffffff);
	assert_int_equal(mc_frame_feed(&r, h, 5), -EMSGSIZE);
	mc_frame_reader_free(&r);
	h[0] = 1;
	assert_int_equal(mc_frame_feed(&r, h, 5), -EPROTONOSUPPORT);
	mc_frame_reader_free(&r);
	mc_frame_put_hdr(h, 0);
	assert_int_equal(mc_frame_feed(&r, h, 5), 0);
	assert_true(mc_frame_complete(&r));
	mc_frame_reader_free(&r);
	/* A large claim with nothing behind it costs nothing. */
	mc_frame_reader_init(&r, MC_GRPC_MSG_MAX);
	mc_frame_put_hdr(h, MC_GRPC_MSG_MAX);
	assert_int_equal(mc_frame_feed(&r, h, 5), 0);
	assert_int_equal(mc_frame_feed(&r, h, 1), 0);
	assert_true(r.cap <= 4096);
	mc_frame_reader_free(&r);
}

static void texts_survive(void **state)
{
	static const char text[] = "key 'a%b' \xc3\xa4 \n is \"odd\"";
	char enc[256], dec[256];
	size_t n;

	(void)state;
	n = mc_grpc_text_encode(text, enc, sizeof(enc));
	assert_null(strchr(enc, '\n'));
	assert_int_equal(mc_grpc_text_decode((uint8_t *)enc, n, dec, sizeof(dec)), strlen(text));
	assert_string_equal(dec, text);
	n = mc_grpc_text_encode("ab\n", enc, 4);
	assert_string_equal(enc, "ab");
	mc_grpc_text_decode((const uint8_t *)"%4", 2, dec, sizeof(dec));
	assert_string_equal(dec, "%4");
}

static void timeouts(void **state)
{
	static const uint64_t values[] = { 1, 99999999, 100000000, 5000000000ull, 3600000000000ull, UINT64_MAX };
	char text[12];
	uint64_t ns, i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		mc_grpc_timeout_format(values[i], text);
		assert_int_equal(mc_grpc_timeout_parse((uint8_t *)text, strlen(text), &ns), 0);
		assert_true(ns >= values[i] || ns == UINT64_MAX);
		assert_true(ns - values[i] <= values[i] / 90000000 + 1);
	}
	assert_int_equal(mc_grpc_timeout_parse((const uint8_t *)"5S", 2, &ns), 0);
	assert_int_equal(ns, 5000000000ull);
	assert_int_equal(mc_grpc_timeout_parse((const uint8_t *)"S", 1, &ns), -EINVAL);
	assert_int_equal(mc_grpc_timeout_parse((const uint8_t *)"5x", 2, &ns), -EINVAL);
	assert_int_equal(mc_grpc_timeout_parse((const uint8_t *)"-5S", 3, &ns), -EINVAL);
	assert_int_equal(mc_grpc_timeout_parse((const uint8_t *)"123456789S", 10, &ns), -EINVAL);
}

static void scan_blots_nuls(void **state)
{
	/* tenant "a\0b", key "k\0l" */
	uint8_t msg[] = { 0x0a, 3, 'a', 0, 'b', 0x12, 3, 'k', 0, 'l' };
	Mooncake__V1__KeyRequest *req;
	struct mc_result res;
	struct mc_arena a;

	(void)state;
	assert_int_equal(mc_rpc_scan(&mooncake__v1__key_request__descriptor, msg, sizeof(msg)), 0);
	mc_arena_init(&a);
	req = mooncake__v1__key_request__unpack(&a.pb, sizeof(msg), msg);
	assert_non_null(req);
	assert_int_equal(strlen(req->tenant), 3);
	assert_null(mc_tenant_check(req->tenant, &res));
	assert_int_equal(res.code, -600);
	assert_int_equal(req->key.len, 3);
	assert_memory_equal(req->key.data, "k\0l", 3);
	mc_arena_free(&a);
}

static void scan_bounds_fields(void **state)
{
	size_t n = (MC_RPC_FIELDS_MAX + 1) * 2, i;
	uint8_t *msg = malloc(n);

	(void)state;
	for (i = 0; i < n; i += 2) {
		msg[i] = 0x12;
		msg[i + 1] = 0;
	}
	assert_int_equal(mc_rpc_scan(&mooncake__v1__batch_key_request__descriptor, msg, n), -E2BIG);
	assert_int_equal(mc_rpc_scan(&mooncake__v1__batch_key_request__descriptor, msg, n - 2), 0);
	free(msg);
}

/* Whatever the bytes: no crash, and what the scan lets pass is bounded for protobuf-c. */
static void scan_of_noise(void **state)
{
	const ProtobufCServiceDescriptor *d = &mooncake__v1__master__descriptor;
	const char *env = getenv("MC_SEED");
	unsigned int seed = env ? strtoul(env, NULL, 0) : (unsigned long)time(NULL), i, k;

	(void)state;
	printf("# MC_SEED=%u\n", seed);
	srandom(seed);
	for (i = 0; i < 100000; i++) {
		const ProtobufCMessageDescriptor *in = d->methods[i % d->n_methods].input;
		size_t n = random() % 64;
		uint8_t *msg = malloc(n ? n : 1);
		struct mc_arena a;

		for (k = 0; k < n; k++)
			msg[k] = random() % 3 ? random() % 48 : random();
		mc_arena_init(&a);
		if (!mc_rpc_scan(in, msg, n))
			protobuf_c_message_unpack(in, &a.pb, n, msg);
		mc_arena_free(&a);
		free(msg);
	}
}

static int tenant_code(const char *tenant)
{
	struct mc_result res = { 0 };

	return mc_tenant_check(tenant, &res) ? 0 : res.code;
}

static void tenant_names(void **state)
{
	char longest[257];
	struct mc_result res;

	(void)state;
	memset(longest, 'x', 256);
	longest[256] = 0;
	assert_int_equal(tenant_code(longest), -600);
	longest[255] = 0;
	assert_int_equal(tenant_code(longest), 0);
	assert_string_equal(mc_tenant_check("", &res), "default");
	assert_int_equal(tenant_code("a/b"), 0);
	assert_int_equal(tenant_code("_a"), -600);
	assert_int_equal(tenant_code("a_"), 0);
	assert_int_equal(tenant_code("\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x99"), 0);
	assert_int_equal(tenant_code("a\x1f"), -600);
	assert_int_equal(tenant_code("a\x7f"), -600);
	assert_int_equal(tenant_code("\xff"), -600);
	assert_int_equal(tenant_code("\xc0\x80"), -600);
	assert_int_equal(tenant_code("\xed\xa0\x80"), -600);
	assert_int_equal(tenant_code("\xe2\x82"), -600);
	assert_int_equal(tenant_code("\xf4\x90\x80\x80"), -600);
}

static void key_bounds(void **state)
{
	static uint8_t key[MC_KEY_MAX + 1];
	ProtobufCBinaryData data = { .data = key, .len = MC_KEY_MAX };
	struct mc_scoped *s = malloc(sizeof(*s));
	struct mc_result res;

	(void)state;
	assert_int_equal(mc_scoped_set(s, "t", &data, &res), 0);
	assert_int_equal(s->len, MC_KEY_MAX + 2);
	data.len++;
	assert_int_equal(mc_scoped_set(s, "t", &data, &res), -600);
	assert_non_null(strstr(res.text, "4097"));
	data.len = 0;
	assert_int_equal(mc_scoped_set(s, "t", &data, &res), -600);
	free(s);
}

/* The public store codes: existing callers know them by number. */
static void error_numbers(void **state)
{
	static const struct { int code; const char *name; } known[] = {
		{ 0, "OK" }, { -1, "INTERNAL_ERROR" }, { -10, "BUFFER_OVERFLOW" }, { -101, "SEGMENT_NOT_FOUND" },
		{ -102, "SEGMENT_ALREADY_EXISTS" }, { -103, "CLIENT_NOT_FOUND" }, { -200, "NO_AVAILABLE_HANDLE" },
		{ -300, "INVALID_VERSION" }, { -400, "INVALID_KEY" }, { -500, "WRITE_FAIL" },
		{ -600, "INVALID_PARAMS" }, { -601, "ILLEGAL_CLIENT" }, { -700, "INVALID_WRITE" },
		{ -701, "INVALID_READ" }, { -702, "INVALID_REPLICA" }, { -703, "REPLICA_IS_NOT_READY" },
		{ -704, "OBJECT_NOT_FOUND" }, { -705, "OBJECT_ALREADY_EXISTS" }, { -706, "OBJECT_HAS_LEASE" },
		{ -707, "LEASE_EXPIRED" }, { -800, "TRANSFER_FAIL" }, { -801, "CHECKSUM_MISMATCH" },
		{ -900, "RPC_FAIL" }, { -901, "RPC_TIMEOUT" }, { -1010, "UNAVAILABLE_IN_CURRENT_STATUS" },
		{ -1011, "UNAVAILABLE_IN_CURRENT_MODE" }, { -1012, "NOT_SUPPORTED" },
	};
	size_t i;

	(void)state;
	assert_int_equal(mooncake__v1__error_code__descriptor.n_values, sizeof(known) / sizeof(known[0]));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(mc_code_name(known[i].code), known[i].name);
	assert_string_equal(mc_code_name(-9999), "UNKNOWN");
}

static void uuids(void **state)
{
	char text[MC_UUID_TEXT];
	uint8_t u[16];

	(void)state;
	assert_int_equal(mc_uuid_parse("0123ABCD-0000-4000-8000-00000000ffee", u), 0);
	assert_string_equal(mc_uuid_text(u, text), "0123abcd-0000-4000-8000-00000000ffee");
	assert_int_equal(mc_uuid_parse("0123ABCD-0000-4000-8000-00000000ffe", u), -EINVAL);
	assert_int_equal(mc_uuid_parse("0123ABCD-0000-4000-8000-00000000ffeee", u), -EINVAL);
	assert_int_equal(mc_uuid_parse("x123abcd00004000800000000000ffee", u), -EINVAL);
	assert_int_equal(mc_uuid_parse("", u), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "rpc: a frame may come in pieces of any size", frames_in_pieces, NULL, NULL, NULL },
		{ "rpc: frames that lie are refused and cost nothing", frames_that_lie, NULL, NULL, NULL },
		{ "rpc: texts survive percent-encoding", texts_survive, NULL, NULL, NULL },
		{ "rpc: timeouts are read and written", timeouts, NULL, NULL, NULL },
		{ "C-20 rpc: a NUL inside a tenant's name is seen", scan_blots_nuls, NULL, NULL, NULL },
		{ "rpc: a request has a bounded number of fields", scan_bounds_fields, NULL, NULL, NULL },
		{ "rpc: noise is refused or read, never more", scan_of_noise, NULL, NULL, NULL },
		{ "C-20 names: tenants", tenant_names, NULL, NULL, NULL },
		{ "names: keys have 1 to 4096 bytes", key_bounds, NULL, NULL, NULL },
		{ "names: error numbers are the public ones", error_numbers, NULL, NULL, NULL },
		{ "names: UUIDs are read and written", uuids, NULL, NULL, NULL },
	};

	return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
