/* SPDX-License-Identifier: MIT */
/* Command line of mcnoded. */
#ifndef ND_OPTS_H
#define ND_OPTS_H

#include <stdbool.h>

/**
 * struct nd_opts - what was asked for
 * @config: path of the configuration file
 * @check: only read it
 * @destroy_pool: destroy the pool on exit, whatever the file says
 */
struct nd_opts {
	const char *config;
	bool check;
	bool destroy_pool;
};

/** nd_opts_parse() - read the command line; -1 to go on, else the exit status to end with */
int nd_opts_parse(int argc, char **argv, struct nd_opts *o);

#endif /* ND_OPTS_H */
