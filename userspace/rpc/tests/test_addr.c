// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"

struct good {
	const char *text;
	const char *host;
	unsigned int port;
	const char *numeric;	/* NULL for a name */
};

struct wrong {
	const char *text;
	const char *part;	/* must be named */
};

static void c90_valid(void **state)
{
	static const struct good good[] = {
		{ "h:1", "h", 1, NULL },
		{ "h:65535", "h", 65535, NULL },
		{ "h", "h", 50051, NULL },
		{ "node-1.example_x.org:9003", "node-1.example_x.org", 9003, NULL },
		{ "1.2.3.4", "1.2.3.4", 50051, "1.2.3.4:50051" },
		{ "127.0.0.1:50052", "127.0.0.1", 50052, "127.0.0.1:50052" },
		{ "0.0.0.0:7", "0.0.0.0", 7, "0.0.0.0:7" },
		{ "[::1]:9", "::1", 9, "[::1]:9" },
		{ "[::1]", "::1", 50051, "[::1]:50051" },
		{ "::1", "::1", 50051, "[::1]:50051" },
		{ "::", "::", 50051, "[::]:50051" },
		{ "[::]:12", "::", 12, "[::]:12" },
		{ "fe80::1", "fe80::1", 50051, "[fe80::1]:50051" },
		{ "2001:db8::1", "2001:db8::1", 50051, "[2001:db8::1]:50051" },
		{ "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", 50051, "[1:2:3:4:5:6:7:8]:50051" },
		{ "[2001:db8::5:1]:3", "2001:db8::5:1", 3, "[2001:db8::5:1]:3" },
		{ "[fe80::1%lo]:5", "fe80::1%lo", 5, "[fe80::1%lo]:5" },
		{ "fe80::1%lo", "fe80::1%lo", 50051, "[fe80::1%lo]:50051" },
		{ "[::ffff:1.2.3.4]:5", "::ffff:1.2.3.4", 5, "[::ffff:1.2.3.4]:5" },
	};
	struct mc_addr a;
	struct mc_error err;
	char text[80];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (mc_addr_parse(good[i].text, 50051, 0, &a, &err))
			fail_msg("%s: %s", good[i].text, err.text);
		assert_string_equal(a.host, good[i].host);
		assert_string_equal(a.text, good[i].text);
		assert_int_equal(a.port, good[i].port);
		assert_int_equal(a.numeric, good[i].numeric != NULL);
		if (good[i].numeric)
			assert_string_equal(mc_addr_format((struct sockaddr *)&a.sa, text, sizeof(text)),
					    good[i].numeric);
	}
}

static void c90_invalid(void **state)
{
	static const struct wrong wrong[] = {
		{ "", "no host" },
		{ ":50051", "no host in ':50051'" },
		{ "h:0", "'0'" },
		{ "h:00", "'00'" },
		{ "h:65536", "'65536'" },
		{ "h:99999999999999999999", "'99999999999999999999'" },
		{ "h:x", "'x'" },
		{ "h:", "port is not a number: ''" },
		{ "h:-1", "'-1'" },
		{ "h:+1", "'+1'" },
		{ "h: 1", "' 1'" },
		{ "h:1x", "'1x'" },
		{ "::1:50051", "'[::1]:50051'" },
		{ "::1:9", "'[::1]:9'" },
		{ "2001:db8::5:1", "'[2001:db8::5]:1'" },
		{ "::1:x", "'::1:x'" },
		{ "a:b:c", "'a:b:c'" },
		{ "[::1", "no ']'" },
		{ "[::1]x", "'x'" },
		{ "[::1]5", "'5'" },
		{ "[::1]:", "''" },
		{ "[::1]:70000", "'70000'" },
		{ "[]:1", "no host" },
		{ "[h]:1", "'h'" },
		{ "[1.2.3.4]:1", "'1.2.3.4'" },
		{ "[::g]:1", "'::g'" },
		{ "[fe80::1%nosuchif]:1", "'nosuchif'" },
		{ "[fe80::1%]:1", "no network interface ''" },
		{ "256.1.1.1", "'256.1.1.1'" },
		{ "1.2.3", "'1.2.3'" },
		{ "1.2.3.4.5:6", "'1.2.3.4.5'" },
		{ "127.1:5", "'127.1'" },
		{ "h o:1", "' '" },
		{ "h/x:1", "'/'" },
		{ "http://h:1", "" },
		{ "h\xc3\xa4:1", "host name" },
	};
	struct mc_addr a;
	struct mc_error err;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&err, 0, sizeof(err));
		if (!mc_addr_parse(wrong[i].text, 50051, 0, &a, &err))
			fail_msg("'%s' was accepted", wrong[i].text);
		assert_int_equal(err.code, -EINVAL);
		if (!strstr(err.text, wrong[i].part))
			fail_msg("'%s': '%s' does not name %s", wrong[i].text, err.text, wrong[i].part);
	}
}

static void c90_listen(void **state)
{
	struct mc_sockaddr out[4];
	struct mc_addr a;
	struct mc_error err;
	char text[80];

	(void)state;
	assert_int_equal(mc_addr_parse("127.0.0.1:0", 1, MC_ADDR_LISTEN, &a, &err), 0);
	assert_int_equal(a.port, 0);
	assert_int_equal(mc_addr_parse("lo:50051", 1, MC_ADDR_LISTEN, &a, &err), 0);
	assert_false(a.numeric);
	assert_true(mc_addr_resolve(&a, out, 4, &err) >= 1);
	assert_string_equal(mc_addr_format((struct sockaddr *)&out[0].sa, text, sizeof(text)), "127.0.0.1:50051");
	assert_int_equal(mc_addr_parse("h:65536", 1, MC_ADDR_LISTEN, &a, &err), -EINVAL);
}

/* A literal answers at once and needs nothing; names that can't be resolved say which. */
static void c90_resolve(void **state)
{
	struct mc_sockaddr out[4];
	struct mc_addr a;
	struct mc_error err;
	char text[80];

	(void)state;
	assert_int_equal(mc_addr_parse("[::1]:5", 1, 0, &a, &err), 0);
	assert_int_equal(mc_addr_resolve(&a, out, 4, &err), 1);
	assert_string_equal(mc_addr_format((struct sockaddr *)&out[0].sa, text, sizeof(text)), "[::1]:5");
	assert_int_equal(mc_addr_resolve(&a, out, 0, &err), -EINVAL);
	assert_int_equal(mc_addr_parse("localhost:5", 1, 0, &a, &err), 0);
	assert_true(mc_addr_resolve(&a, out, 4, &err) >= 1);
	assert_int_equal(mc_addr_parse("no-such-host.invalid:5", 1, 0, &a, &err), 0);
	assert_int_equal(mc_addr_resolve(&a, out, 4, &err), -EHOSTUNREACH);
	assert_non_null(strstr(err.text, "no-such-host.invalid"));
}

static void long_texts(void **state)
{
	struct mc_addr a;
	struct mc_error err;
	char text[2000];
	unsigned int n;

	(void)state;
	for (n = 1; n < sizeof(text); n++) {
		memset(text, 'x', n);
		text[n] = 0;
		assert_int_equal(mc_addr_parse(text, 1, 0, &a, &err), n > 255 ? -EINVAL : 0);
		memset(text, ':', n);
		assert_int_equal(mc_addr_parse(text, 1, 0, &a, &err), n == 2 ? 0 : -EINVAL);
		memset(text, '[', n);
		assert_int_equal(mc_addr_parse(text, 1, 0, &a, &err), -EINVAL);
	}
}

/* Any text ends in a result; what is accepted has a host and a port. */
static void random_texts(void **state)
{
	static const char alphabet[] = "[]:%.01289abfxl-";
	unsigned int seed = getenv("SEED") ? atoi(getenv("SEED")) : 12345, i, k, n;
	struct mc_addr a;
	char text[32];

	(void)state;
	print_message("SEED=%u\n", seed);
	srand(seed);
	for (i = 0; i < 200000; i++) {
		n = rand() % 24;
		for (k = 0; k < n; k++)
			text[k] = alphabet[rand() % (sizeof(alphabet) - 1)];
		text[n] = 0;
		if (!mc_addr_parse(text, 50051, 0, &a, NULL))
			assert_true(a.port && a.host[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "C-90 valid addresses", c90_valid, NULL, NULL, NULL },
		{ "C-90 invalid addresses name the bad part", c90_invalid, NULL, NULL, NULL },
		{ "C-90 addresses to listen on", c90_listen, NULL, NULL, NULL },
		{ "C-90 literals need no resolver", c90_resolve, NULL, NULL, NULL },
		cmocka_unit_test(long_texts),
		cmocka_unit_test(random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
