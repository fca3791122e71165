// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum mc_log_level most = MC_LOG_INFO;

int mc_log_set(const char *name)
{
	static const char * const names[] = { "error", "warn", "info", "debug" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			most = MC_LOG_ERROR + i;
			return 0;
		}
	}
	return -EINVAL;
}

void mc_log(enum mc_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* One call, so that lines of several processes on one terminal stay whole. */
	fprintf(stderr, "mcmasterd: %s\n", line);
}
