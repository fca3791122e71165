/* SPDX-License-Identifier: MIT */
/* mcmasterd's command line. */
#ifndef MC_MASTER_OPTS_H
#define MC_MASTER_OPTS_H

#include "addr.h"
#include "master.h"

#define MC_LISTEN_MAX	8u
#define MC_MASTER_PORT	50051

#define MC_EXIT_RUN	1	/* could not do its work */
#define MC_EXIT_USAGE	2	/* a flag or an address is wrong */

/**
 * struct mc_opts - what the command line says
 * @listen: addresses to listen on
 * @nlisten: their number, at least 1
 * @master: settings of the master
 * @pidfile: where to write the process number, or NULL
 * @key_file: cluster key that signs grants, or NULL
 * @key_gen: its generation when the file does not name it
 */
struct mc_opts {
	struct mc_addr listen[MC_LISTEN_MAX];
	uint32_t nlisten;
	struct mc_master_config master;
	const char *pidfile;
	const char *key_file;
	uint32_t key_gen;
};

/**
 * mc_opts_parse() - read the command line
 * @o: result
 * @argc: as for main()
 * @argv: as for main()
 *
 * Prints the message for what is wrong, or what --help and --version ask for.
 *
 * Return: -1 to go on, else the exit status.
 */
int mc_opts_parse(struct mc_opts *o, int argc, char **argv);

/**
 * mc_opts_key() - read the key file that the command line names
 * @o: options
 * @key: MC_GRANT_KEY bytes; all zero when no file is named
 * @gen: its generation; 0 when no file is named
 * @err: sentence on failure
 * @errlen: its room
 *
 * Return: 0 or -errno, with @key and @gen as they were.
 */
int mc_opts_key(const struct mc_opts *o, uint8_t *key, uint32_t *gen, char *err, size_t errlen);

#endif
