/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The part of cmocka's interface that the tests of common/ use, for places where the library is not: in the kernel,
 * where each test becomes a case of a KUnit suite (kunit.c), and in 32-bit programs (mini.c). So a test is written
 * once. Those tests need no fixtures: one that has them doesn't compile, and a group with them fails.
 */
#ifndef MC_MINI_CMOCKA_H
#define MC_MINI_CMOCKA_H

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
};

#define cmocka_unit_test(f) { #f, f }
#define cmocka_run_group_tests_name(group, tests, up, down) \
	((up) || (down) ? -1 : mini_run(__FILE__, tests, sizeof(tests) / sizeof((tests)[0])))
#define cmocka_run_group_tests(tests, up, down) cmocka_run_group_tests_name("", tests, up, down)

/**
 * mini_run - run the tests of a file, or take note of them
 * @file: name of the source file
 * @tests: its tests; copied
 * @n: how many
 *
 * Returns the number of tests that failed.
 */
int mini_run(const char *file, const struct CMUnitTest *tests, unsigned long n);

/**
 * mini_fail - end the running test: it failed
 * @file: where
 * @line: where
 * @what: the condition that doesn't hold
 * @a: left-hand side, 0 when there is none
 * @b: right-hand side
 */
void mini_fail(const char *file, int line, const char *what, long long a, long long b) __attribute__((noreturn));

void print_message(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

#define mini_check(c, what, a, b) ((c) ? (void)0 : mini_fail(__FILE__, __LINE__, what, (long long)(a), (long long)(b)))
#define mini_compare(a, op, b) do {					\
	long long __a = (long long)(a), __b = (long long)(b);		\
									\
	mini_check(__a op __b, #a " " #op " " #b, __a, __b);		\
} while (0)

#define assert_true(c) mini_check(c, #c, 0, 1)
#define assert_false(c) mini_check(!(c), "!(" #c ")", 1, 0)
#define assert_int_equal(a, b) mini_compare(a, ==, b)
#define assert_int_not_equal(a, b) mini_compare(a, !=, b)
#define assert_null(p) mini_check(!(p), #p " is NULL", 0, 0)
#define assert_non_null(p) mini_check(!!(p), #p " is not NULL", 0, 0)
#define assert_ptr_equal(a, b) mini_check((const void *)(a) == (const void *)(b), #a " == " #b, 0, 0)
#define assert_ptr_not_equal(a, b) mini_check((const void *)(a) != (const void *)(b), #a " != " #b, 0, 0)
#define assert_memory_equal(a, b, n) mini_check(!memcmp(a, b, n), #a " holds what " #b " does", 0, 0)
#define assert_memory_not_equal(a, b, n) mini_check(!!memcmp(a, b, n), #a " differs from " #b, 0, 0)
#define assert_string_equal(a, b) mini_check(!strcmp(a, b), #a " reads as " #b, 0, 0)
#define assert_string_not_equal(a, b) mini_check(!!strcmp(a, b), #a " reads unlike " #b, 0, 0)
#define assert_in_range(v, from, to) do {				\
	long long __v = (long long)(v);					\
									\
	mini_check(__v >= (long long)(from) && __v <= (long long)(to), #v " in " #from ".." #to, __v, from); \
} while (0)
#define assert_return_code(r, e) mini_check((r) >= 0, #r " >= 0", r, e)
#define fail() mini_fail(__FILE__, __LINE__, "fail()", 0, 0)

#endif /* MC_MINI_CMOCKA_H */
