/* SPDX-License-Identifier: MIT */
/* The life of the process, from open sockets to SIGTERM. */
#ifndef MC_MASTER_DAEMON_H
#define MC_MASTER_DAEMON_H

#include "opts.h"

/**
 * mc_daemon_run() - serve until SIGTERM or SIGINT
 * @opts: the command line
 *
 * Return: exit status of the process; what went wrong has been said.
 */
int mc_daemon_run(const struct mc_opts *opts);

#endif
