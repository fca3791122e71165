// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests of common/ as KUnit suites: one for each file, one case for each test. A file's main() is compiled under
 * another name and calls mini_run(), which here only takes note of the tests; KUnit then runs them.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "cmocka.h"
#include "kernel/mini_kernel.h"

#define MAX_SUITES 64

struct suite {
	struct kunit_suite kunit;
	struct kunit_case *cases;
	const struct CMUnitTest *tests;
};

#define X(name) int mini_main_##name(void);
MINI_MAINS
#undef X

static struct suite *suites[MAX_SUITES];
static struct kunit_suite *kunit_suites[MAX_SUITES];
static int nr_suites;
static struct kunit *running;	/* KUnit runs one test at a time */
static u32 sequence = 1;

long mini_random(void)
{
	sequence = sequence * 1664525 + 1013904223;
	return ((u64)sequence * 0x9e3779b97f4a7c15ull) >> 33;
}

void mini_seed(unsigned int seed)
{
	sequence = seed;
}

void print_message(const char *format, ...)
{
	struct va_format vf;
	va_list ap;

	va_start(ap, format);
	vf.fmt = format;
	vf.va = &ap;
	pr_info("%pV", &vf);
	va_end(ap);
}

void mini_fail(const char *file, int line, const char *what, long long a, long long b)
{
	KUNIT_FAIL(running, "%s:%d: %s, these are %lld (0x%llx) and %lld (0x%llx)", file, line, what, a, a, b, b);
	kunit_try_catch_throw(&running->try_catch);
}

/* A case knows its name only, so names hold the file's too. */
static void run_case(struct kunit *test)
{
	void *state = NULL;
	int s, i;

	running = test;
	for (s = 0; s < nr_suites; s++) {
		for (i = 0; suites[s]->cases[i].name; i++) {
			if (!strcmp(suites[s]->cases[i].name, test->name)) {
				suites[s]->tests[i].run(&state);
				return;
			}
		}
	}
	KUNIT_FAIL(test, "no test of this name");
}

static void free_suite(struct suite *s)
{
	int i;

	for (i = 0; s->cases && s->cases[i].name; i++)
		kfree(s->cases[i].name);
	kfree(s->cases);
	kfree(s->tests);
	kfree(s);
}

static struct suite *new_suite(const char *stem, int len, const struct CMUnitTest *tests, unsigned long n)
{
	struct suite *s = kzalloc(sizeof(*s), GFP_KERNEL);
	unsigned long i;

	if (!s)
		return NULL;
	s->cases = kcalloc(n + 1, sizeof(*s->cases), GFP_KERNEL);
	s->tests = kmemdup(tests, n * sizeof(*tests), GFP_KERNEL);
	if (!s->cases || !s->tests)
		goto err_free;
	snprintf((char *)s->kunit.name, sizeof(s->kunit.name), "mooncake-%.*s", len, stem);
	s->kunit.test_cases = s->cases;
	for (i = 0; i < n; i++) {
		s->cases[i].run_case = run_case;
		s->cases[i].name = kasprintf(GFP_KERNEL, "%.*s.%s", len, stem, tests[i].name);
		if (!s->cases[i].name)
			goto err_free;
	}
	return s;

err_free:
	free_suite(s);
	return NULL;
}

int mini_run(const char *file, const struct CMUnitTest *tests, unsigned long n)
{
	const char *base = kbasename(file);
	struct suite *s;

	if (!strncmp(base, "test_", 5))
		base += 5;
	s = nr_suites < MAX_SUITES ? new_suite(base, strcspn(base, "."), tests, n) : NULL;
	if (!s)
		return -ENOMEM;
	kunit_suites[nr_suites] = &s->kunit;
	suites[nr_suites++] = s;
	return 0;
}

static void free_suites(void)
{
	while (nr_suites)
		free_suite(suites[--nr_suites]);
}

static int __init mini_init(void)
{
	int ret = 0;

#define X(name) ret = ret ?: mini_main_##name();
	MINI_MAINS
#undef X
	if (ret)
		free_suites();
	else
		__kunit_test_suites_init(kunit_suites, nr_suites);
	return ret;
}

static void __exit mini_exit(void)
{
	__kunit_test_suites_exit(kunit_suites, nr_suites);
	free_suites();
}

module_init(mini_init);
module_exit(mini_exit);
MODULE_DESCRIPTION("Unit tests of mooncake's pure functions");
MODULE_LICENSE("GPL");
