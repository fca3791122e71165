// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Control messages and connection requests: round trips, and every way of being wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "mc_wire.h"

static void fill(void *p, size_t n, unsigned int seed)
{
	uint8_t *b = p;
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = (uint8_t)(seed = seed * 1103515245u + 12345u, seed >> 16);
}

static void make(struct mc_wire_msg *m, unsigned int type)
{
	memset(m, 0, sizeof(*m));
	m->type = (uint8_t)type;
	m->id = 0x01020304;
	m->status = type == MC_WIRE_ERROR ? -EACCES : 0;
	if (type == MC_WIRE_HELLO || type == MC_WIRE_CHALLENGE) {
		m->hello.major = 1;
		m->hello.key_gen = 7;
		m->hello.instance = 0x1122334455667788ULL;
		m->hello.epoch = 9;
		fill(m->hello.nonce, sizeof(m->hello.nonce), type);
		fill(m->hello.tag, sizeof(m->hello.tag), type + 1);
	} else if (type == MC_WIRE_SEG_KEYS) {
		m->lease = 3;
		m->first = 5;
		m->count = MC_WIRE_KEYS_MAX;
		fill(m->keys, sizeof(m->keys), type);
	} else if (type == MC_WIRE_SEG_INFO) {
		m->lease = 3;
		m->len = 1ULL << 40;
		m->chunk_shift = 21;
		m->rights = MC_WIRE_RIGHT_READ;
		m->gen = 4;
	} else if (type == MC_WIRE_SEG_LOOKUP) {
		strcpy(m->name, "kv-cache");
	}
}

static void test_roundtrip(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX], again[MC_WIRE_MSG_MAX];
	struct mc_wire_msg in, out;
	unsigned int type;
	int n;

	(void)state;
	for (type = MC_WIRE_HELLO; type < MC_WIRE_TYPE_END; type++) {
		make(&in, type);
		n = mc_wire_encode(&in, buf);
		assert_in_range(n, MC_WIRE_HDR_LEN, MC_WIRE_MSG_MAX);
		assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), 0);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_int_equal(mc_wire_encode(&out, again), n);
		assert_memory_equal(buf, again, (size_t)n);
	}
}

static void test_truncated(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	struct mc_wire_msg in, out;
	unsigned int type;
	int n, cut;

	(void)state;
	for (type = MC_WIRE_HELLO; type < MC_WIRE_TYPE_END; type++) {
		make(&in, type);
		n = mc_wire_encode(&in, buf);
		for (cut = 0; cut < n; cut++)
			assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)cut), -EINVAL);
		buf[4]--;	/* the length it claims, in agreement with what arrives */
		if (n > MC_WIRE_HDR_LEN && (n & 0xff))
			assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n - 1), -EINVAL);
	}
}

static void test_bad(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	struct mc_wire_msg in, out;
	int n;

	(void)state;
	make(&in, MC_WIRE_SEG_KEYS);
	in.count = MC_WIRE_KEYS_MAX + 1;
	assert_int_equal(mc_wire_encode(&in, buf), -EINVAL);
	make(&in, MC_WIRE_SEG_KEYS);
	n = mc_wire_encode(&in, buf);
	buf[MC_WIRE_HDR_LEN + 8] = 0xff;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EINVAL);
	make(&in, MC_WIRE_PING);
	n = mc_wire_encode(&in, buf);
	buf[2] = MC_WIRE_TYPE_END;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EOPNOTSUPP);
	assert_int_equal(out.id, 0x01020304);
	buf[0] ^= 1;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EINVAL);
}

/* What version 1.0 sent ends before rights and generation. */
static void test_old_info(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	struct mc_wire_msg in, out;
	int n;

	(void)state;
	make(&in, MC_WIRE_SEG_INFO);
	n = mc_wire_encode(&in, buf) - 5;
	buf[4] = (uint8_t)n;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), 0);
	assert_int_equal(out.rights, MC_WIRE_RIGHT_READ | MC_WIRE_RIGHT_WRITE);
	assert_int_equal(out.gen, 0);
	assert_int_equal(out.len, in.len);
	/* Rights that nobody knows are malformed, not ignored. */
	n = mc_wire_encode(&in, buf);
	buf[n - 5] = 8;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EINVAL);
}

static void test_names(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	struct mc_wire_msg in, out;
	int n;

	(void)state;
	make(&in, MC_WIRE_SEG_LOOKUP);
	n = mc_wire_encode(&in, buf);
	memset(buf + MC_WIRE_HDR_LEN, 'x', MC_WIRE_NAME);
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EINVAL);
	buf[n - 1] = 0;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), 0);
	buf[MC_WIRE_HDR_LEN] = 0;
	assert_int_equal(mc_wire_decode(&out, buf, (uint32_t)n), -EINVAL);
}

static void test_random(void **state)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	struct mc_wire_msg out;
	unsigned int i, len, seed = 4711;

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	for (i = 0; i < 200000; i++) {
		len = (unsigned int)rand() % MC_WIRE_MSG_MAX;
		fill(buf, len, (unsigned int)rand());
		if (len >= MC_WIRE_HDR_LEN && (i & 1)) {
			buf[0] = 0x43;
			buf[1] = 0x4d;
			buf[4] = (uint8_t)len;
			buf[5] = (uint8_t)(len >> 8);
			buf[2] = (uint8_t)(1 + i / 2 % (MC_WIRE_TYPE_END - 1));
		}
		if (mc_wire_decode(&out, buf, len) == 0 && out.type == MC_WIRE_SEG_KEYS)
			assert_in_range(out.count, 0, MC_WIRE_KEYS_MAX);
	}
}

static void test_req(void **state)
{
	struct mc_wire_req in, out;
	uint8_t buf[MC_WIRE_REQ_LEN];

	(void)state;
	memset(&in, 0, sizeof(in));
	fill(&in.node, sizeof(in.node), 1);
	fill(&in.tag, sizeof(in.tag), 2);
	in.major = MC_WIRE_MAJOR;
	in.index = 2;
	in.instance = ~0ULL - 3;
	in.rail = 1;
	in.epoch = 77;
	mc_wire_req_encode(&in, buf);
	assert_memory_equal(buf + MC_WIRE_REQ_SIGNED, in.tag, sizeof(in.tag));
	assert_int_equal(mc_wire_req_decode(&out, buf, sizeof(buf)), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(mc_wire_req_decode(&out, buf, sizeof(buf) - 1), -EINVAL);
	buf[5] = MC_WIRE_MAJOR + 1;
	assert_int_equal(mc_wire_req_decode(&out, buf, sizeof(buf)), -EPROTO);
	buf[0] ^= 1;
	assert_int_equal(mc_wire_req_decode(&out, buf, sizeof(buf)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_old_info), cmocka_unit_test(test_names),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_req),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
