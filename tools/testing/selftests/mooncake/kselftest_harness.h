/* SPDX-License-Identifier: MIT */
/*
 * A test harness with the names of the kernel's kselftest_harness.h, which Debian's headers don't ship. Own code.
 *
 *   TEST(name) { ... }                       FIXTURE(f) { members };
 *   TEST_F(f, name) { self->... }            FIXTURE_SETUP(f) { ... }   FIXTURE_TEARDOWN(f) { ... }
 *   FIXTURE_VARIANT(f) { members };          FIXTURE_VARIANT_ADD(f, name) { ... };      variant->...
 *   ASSERT_* ends the test at once, EXPECT_* lets it go on; SKIP(return, "reason").
 *   NEEDS("tag") skips the test on machines that lack it: MC_LACKS in the environment names what they lack.
 *   TEST_HARNESS_MAIN
 *
 * Each test runs in a child of its own with a limit of time: TEST_WITH_TIMEOUT, TEST_F_TIMEOUT, or
 * TEST_TIMEOUT_SECONDS defined before the include (default 30), times MC_TIME_SCALE. Output is TAP. A name
 * that begins with a case, C48_unregister_twice, is printed as "C-48 unregister twice". An argument selects
 * the tests whose printed name contains it.
 */
#ifndef MC_KSELFTEST_HARNESS_H
#define MC_KSELFTEST_HARNESS_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Literals in comparisons are ints; the kernel harness lives with that as well. */
#pragma GCC diagnostic ignored "-Wsign-compare"

#ifndef TEST_TIMEOUT_SECONDS
#define TEST_TIMEOUT_SECONDS 30
#endif

#define KSFT_PASS 0
#define KSFT_FAIL 1
#define KSFT_SKIP 4

struct __test_metadata {
	const char *name;
	const char *fixture;
	const char *variant_name;
	const void *variant;
	void (*fn)(struct __test_metadata *meta);
	struct __test_metadata *next;
	bool failed;
	bool armed;		/* env is valid: a failed ASSERT goes to the teardown */
	pid_t pid;
	jmp_buf env;
	char skip[256];
	int timeout;
};

struct __fixture_variant {
	const char *fixture;
	const char *name;
	const void *data;
	struct __fixture_variant *next;
};

static struct __test_metadata *__tests, **__tests_tail = &__tests;
static struct __fixture_variant *__variants, **__variants_tail = &__variants;

/* Tests add themselves in the order of the file: constructors without priority run in that order with gcc. */
static inline void __register_test(struct __test_metadata *t)
{
	*__tests_tail = t;
	__tests_tail = &t->next;
}

static inline void __register_variant(struct __fixture_variant *v)
{
	*__variants_tail = v;
	__variants_tail = &v->next;
}

static inline int mc_time_scale(void)
{
	const char *s = getenv("MC_TIME_SCALE");
	int scale = s ? atoi(s) : 1;

	return scale < 1 ? 1 : scale > 100 ? 100 : scale;
}

static inline bool mc_long(void)
{
	const char *s = getenv("MC_LONG");

	return s && *s && strcmp(s, "0");
}

/* One of the project's own debug kernels, which have everything that a test may ask of a kernel. */
static inline bool mc_debug_kernel(void)
{
	const char *kernel = getenv("MC_KERNEL");

	return kernel && strstr(kernel, "-debug");
}

/* How often: @full with full counts, else @usual; a tenth of many on the debug kernel with emulated processors. */
static inline int mc_rounds(int full, int usual)
{
	const char *kernel = getenv("MC_KERNEL");

	if (mc_long())
		return full;
	return usual >= 200 && kernel && !strcmp(kernel, "x86-debug") ? usual / 10 : usual;
}

#define TEST(test_name) __TEST_IMPL(test_name, TEST_TIMEOUT_SECONDS)
#define TEST_WITH_TIMEOUT(test_name, seconds) __TEST_IMPL(test_name, seconds)

#define __TEST_IMPL(test_name, seconds) \
	static void test_name(struct __test_metadata *_metadata); \
	static struct __test_metadata __meta_##test_name = { \
		.name = #test_name, .fn = test_name, .timeout = (seconds) }; \
	static void __attribute__((constructor)) __reg_##test_name(void) { __register_test(&__meta_##test_name); } \
	static void test_name(struct __test_metadata *_metadata __attribute__((unused)))

#define FIXTURE(fixture_name) \
	struct fixture_name; \
	struct __variant_##fixture_name; \
	struct __fixture_##fixture_name; \
	typedef struct __fixture_##fixture_name __self_##fixture_name; \
	struct __fixture_##fixture_name

#define FIXTURE_VARIANT(fixture_name) struct __variant_##fixture_name
#define FIXTURE_VARIANT_ADD(fixture_name, variant_name) \
	static const struct __variant_##fixture_name __vdata_##fixture_name##_##variant_name; \
	static struct __fixture_variant __v_##fixture_name##_##variant_name = { \
		.fixture = #fixture_name, .name = #variant_name, .data = &__vdata_##fixture_name##_##variant_name }; \
	static void __attribute__((constructor(200))) __vreg_##fixture_name##_##variant_name(void) \
	{ __register_variant(&__v_##fixture_name##_##variant_name); } \
	static const struct __variant_##fixture_name __vdata_##fixture_name##_##variant_name =

#define FIXTURE_SETUP(fixture_name) \
	static void __setup_##fixture_name(struct __test_metadata *_metadata __attribute__((unused)), \
		__self_##fixture_name *self __attribute__((unused)), \
		const struct __variant_##fixture_name *variant __attribute__((unused)))
#define FIXTURE_TEARDOWN(fixture_name) \
	static void __teardown_##fixture_name(struct __test_metadata *_metadata __attribute__((unused)), \
		__self_##fixture_name *self __attribute__((unused)), \
		const struct __variant_##fixture_name *variant __attribute__((unused)))

#define TEST_F(fixture_name, test_name) TEST_F_TIMEOUT(fixture_name, test_name, TEST_TIMEOUT_SECONDS)
#define TEST_F_TIMEOUT(fixture_name, test_name, seconds) \
	static void fixture_name##_##test_name(struct __test_metadata *_metadata, __self_##fixture_name *self, \
		const struct __variant_##fixture_name *variant); \
	static void __wrap_##fixture_name##_##test_name(struct __test_metadata *_metadata) \
	{ \
		__self_##fixture_name self; \
		memset(&self, 0, sizeof(self)); \
		_metadata->pid = getpid(); \
		_metadata->armed = true; \
		if (!setjmp(_metadata->env)) { \
			__setup_##fixture_name(_metadata, &self, _metadata->variant); \
			if (!_metadata->failed && !_metadata->skip[0]) \
				fixture_name##_##test_name(_metadata, &self, _metadata->variant); \
		} \
		_metadata->armed = false; \
		__teardown_##fixture_name(_metadata, &self, _metadata->variant); \
	} \
	static void __attribute__((constructor)) __reg_##fixture_name##_##test_name(void) \
	{ \
		__register_fixture_test(#fixture_name, #test_name, __wrap_##fixture_name##_##test_name, (seconds)); \
	} \
	static void fixture_name##_##test_name(struct __test_metadata *_metadata __attribute__((unused)), \
		__self_##fixture_name *self __attribute__((unused)), \
		const struct __variant_##fixture_name *variant __attribute__((unused)))

/* One test a variant; one without when the fixture has none. Variants register earlier (constructor priority 200). */
static inline void __register_fixture_test(const char *fixture, const char *name, void (*fn)(struct __test_metadata *),
					   int timeout)
{
	struct __fixture_variant *v;
	bool any = false;

	for (v = __variants; ; v = v->next) {
		struct __test_metadata *t;

		while (v && strcmp(v->fixture, fixture))
			v = v->next;
		if (!v && any)
			return;
		t = calloc(1, sizeof(*t));
		if (!t)
			abort();
		t->name = name;
		t->fixture = fixture;
		t->fn = fn;
		t->timeout = timeout;
		t->variant_name = v ? v->name : NULL;
		t->variant = v ? v->data : NULL;
		__register_test(t);
		any = true;
		if (!v)
			return;
	}
}

#define TH_LOG(fmt, ...) do { \
	printf("# %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__); fflush(stdout); } while (0)
#define SKIP(statement, fmt, ...) do { \
	snprintf(_metadata->skip, sizeof(_metadata->skip), fmt, ##__VA_ARGS__); statement; } while (0)

#define NEEDS(tag) do { \
	if (__lacks(tag)) \
		SKIP(return, "tag %s: this kind of machine has none", tag); } while (0)

/* Whether a word is among those of MC_LACKS. */
static inline bool __lacks(const char *tag)
{
	const char *p = getenv("MC_LACKS");
	size_t len = strlen(tag);

	for (; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		if (strcspn(p, " ") == len && !strncmp(p, tag, len))
			return true;
	}
	return false;
}

#define __IS_SIGNED(x) ((__typeof__(x))-1 < (__typeof__(x))1)
#define __CMP(expected, seen, op, fatal) do { \
	__typeof__(expected) __exp = (expected); \
	__typeof__(seen) __seen = (seen); \
	if (!(__exp op __seen)) { \
		TH_LOG("expected %s (%lld) " #op " %s (%lld)", #expected, (long long)(intptr_t)__exp, \
		       #seen, (long long)(intptr_t)__seen); \
		_metadata->failed = true; \
		if (fatal) \
			__test_abort(_metadata); \
	} } while (0)
#define __CMPSTR(expected, seen, op, fatal) do { \
	const char *__exp = (expected), *__seen = (seen); \
	if (!(strcmp(__exp, __seen) op 0)) { \
		TH_LOG("expected \"%s\" " #op " \"%s\"", __exp, __seen); \
		_metadata->failed = true; \
		if (fatal) \
			__test_abort(_metadata); \
	} } while (0)

/* A test with a fixture goes on in its teardown; others, and children a test has forked, end here. */
static inline void __test_abort(struct __test_metadata *t)
{
	fflush(stdout);
	if (t->armed && t->pid == getpid())
		longjmp(t->env, 1);
	_exit(KSFT_FAIL);
}

#define ASSERT_EQ(e, s) __CMP(e, s, ==, 1)
#define ASSERT_NE(e, s) __CMP(e, s, !=, 1)
#define ASSERT_LT(e, s) __CMP(e, s, <, 1)
#define ASSERT_LE(e, s) __CMP(e, s, <=, 1)
#define ASSERT_GT(e, s) __CMP(e, s, >, 1)
#define ASSERT_GE(e, s) __CMP(e, s, >=, 1)
#define ASSERT_NULL(s) __CMP((void *)0, (void *)(s), ==, 1)
#define ASSERT_TRUE(s) __CMP(0, (int)!!(s), !=, 1)
#define ASSERT_FALSE(s) __CMP(0, (int)!!(s), ==, 1)
#define ASSERT_STREQ(e, s) __CMPSTR(e, s, ==, 1)
#define ASSERT_STRNE(e, s) __CMPSTR(e, s, !=, 1)
#define EXPECT_EQ(e, s) __CMP(e, s, ==, 0)
#define EXPECT_NE(e, s) __CMP(e, s, !=, 0)
#define EXPECT_LT(e, s) __CMP(e, s, <, 0)
#define EXPECT_LE(e, s) __CMP(e, s, <=, 0)
#define EXPECT_GT(e, s) __CMP(e, s, >, 0)
#define EXPECT_GE(e, s) __CMP(e, s, >=, 0)
#define EXPECT_NULL(s) __CMP((void *)0, (void *)(s), ==, 0)
#define EXPECT_TRUE(s) __CMP(0, (int)!!(s), !=, 0)
#define EXPECT_FALSE(s) __CMP(0, (int)!!(s), ==, 0)
#define EXPECT_STREQ(e, s) __CMPSTR(e, s, ==, 0)
#define EXPECT_STRNE(e, s) __CMPSTR(e, s, !=, 0)

/* "C48_unregister_twice" -> "C-48 unregister twice" */
static inline void __print_name(const struct __test_metadata *t, char *out, size_t len)
{
	const char *n = t->name;
	char *p;

	if (n[0] == 'C' && n[1] >= '0' && n[1] <= '9')
		snprintf(out, len, "C-%s", n + 1);
	else
		snprintf(out, len, "%s%s%s", t->fixture ? t->fixture : "", t->fixture ? " " : "", n);
	if (t->variant_name)
		snprintf(out + strlen(out), len - strlen(out), " [%s]", t->variant_name);
	for (p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
}

static inline int __wait_child(pid_t pid, int seconds)
{
	struct timespec nap = { 0, 5000000 };
	int64_t left = (int64_t)seconds * mc_time_scale() * 200;
	int status;

	while (left-- > 0) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		nanosleep(&nap, NULL);
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	printf("# no end after %d s x %d\n", seconds, mc_time_scale());
	left = 600;
	while (left-- > 0 && waitpid(pid, &status, WNOHANG) != pid)
		nanosleep(&nap, NULL);
	if (left < 0)
		printf("# and it can't be killed\n");
	return -1;
}

/* Returns KSFT_PASS, KSFT_FAIL or KSFT_SKIP. */
static inline int __run_test(struct __test_metadata *t, char *skip, size_t len)
{
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, res;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0 || shared == MAP_FAILED)
		return KSFT_FAIL;
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->fn(t);
		snprintf(shared, 4096, "%s", t->skip);
		fflush(stdout);
		_exit(t->failed ? KSFT_FAIL : t->skip[0] ? KSFT_SKIP : KSFT_PASS);
	}
	status = __wait_child(pid, t->timeout);
	kill(-pid, SIGKILL);	/* children that a failed test left behind */
	res = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : KSFT_FAIL;
	if (status >= 0 && WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	snprintf(skip, len, "%s", shared);
	munmap(shared, 4096);
	return res;
}

static int test_harness_run(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	struct __test_metadata *t;
	int n = 0, failed = 0, i = 0;
	char name[256], skip[256];

	for (t = __tests; t; t = t->next) {
		__print_name(t, name, sizeof(name));
		n += !only || strstr(name, only);
	}
	printf("TAP version 13\n1..%d\n", n);
	for (t = __tests; t; t = t->next) {
		int res;

		__print_name(t, name, sizeof(name));
		if (only && !strstr(name, only))
			continue;
		res = __run_test(t, skip, sizeof(skip));
		if (res == KSFT_SKIP)
			printf("ok %d - %s # SKIP %s\n", ++i, name, skip);
		else
			printf("%s %d - %s\n", res == KSFT_PASS ? "ok" : "not ok", ++i, name);
		failed += res != KSFT_PASS && res != KSFT_SKIP;
		fflush(stdout);
	}
	return failed ? KSFT_FAIL : KSFT_PASS;
}

#define TEST_HARNESS_MAIN int main(int argc, char **argv) { return test_harness_run(argc, argv); }

#endif /* MC_KSELFTEST_HARNESS_H */
