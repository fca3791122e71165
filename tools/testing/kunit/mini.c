// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The runner of include/cmocka.h as a program: prints TAP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include "cmocka.h"

static jmp_buf out;

void mini_fail(const char *file, int line, const char *what, long long a, long long b)
{
	printf("# %s:%d: %s, these are %lld (0x%llx) and %lld (0x%llx)\n", file, line, what, a, a, b, b);
	longjmp(out, 1);
}

void print_message(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
}

int mini_run(const char *file, const struct CMUnitTest *tests, unsigned long n)
{
	volatile unsigned long i;
	volatile int failed = 0;
	void *state = NULL;

	(void)file;
	printf("1..%lu\n", n);
	for (i = 0; i < n; i++) {
		if (setjmp(out)) {
			printf("not ok %lu - %s\n", i + 1, tests[i].name);
			failed++;
			continue;
		}
		tests[i].run(&state);
		printf("ok %lu - %s\n", i + 1, tests[i].name);
	}
	return failed;
}
