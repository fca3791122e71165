// SPDX-License-Identifier: MIT
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static void (*capture)(enum nd_level level, const char *line);

void nd_log_capture(void (*fn)(enum nd_level level, const char *line))
{
	capture = fn;
}

void nd_log(enum nd_level level, const char *fmt, ...)
{
	static const char *const word[] = { "error", "warning", "info" };
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (capture)
		capture(level, line);
	else
		fprintf(stderr, "mcnoded: %s: %s\n", word[level], line);
}
