// SPDX-License-Identifier: MIT
#include "opts.h"

#include <getopt.h>
#include <stdio.h>

#include "config.h"
#include "mctext.h"

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "check-config", no_argument, NULL, 'C' },
	{ "destroy-pool-on-exit", no_argument, NULL, 'D' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int usage(void)
{
	printf("Usage: mcnoded [OPTIONS]\n"
	       "The node's daemon of Mooncake: sets the kernel module up and keeps the node in touch with the master.\n"
	       "It stays in the foreground and logs to standard error; SIGTERM unmounts the pool and ends it.\n\n"
	       "  -c, --config FILE        configuration (default %s)\n"
	       "      --check-config       read the configuration, say what is wrong, and end\n"
	       "      --destroy-pool-on-exit  give the pool's memory back when ending\n"
	       "  -h, --help               this text\n"
	       "      --version            version\n\n"
	       "Exit status: 0 ended by a signal, 1 kernel or system refused, 2 command line or configuration,\n"
	       "6 no permission, 7 module not loaded. See mcnoded(8) and mcnoded.yaml(5).\n", ND_CONFIG_PATH);
	return MCT_EXIT_OK;
}

int nd_opts_parse(int argc, char **argv, struct nd_opts *o)
{
	int c;

	o->config = ND_CONFIG_PATH;
	o->check = false;
	o->destroy_pool = false;
	while ((c = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'C':
			o->check = true;
			break;
		case 'D':
			o->destroy_pool = true;
			break;
		case 'h':
			return usage();
		case 'V':
			printf("mcnoded %s\n", MC_VERSION);
			return MCT_EXIT_OK;
		default:
			return MCT_EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "mcnoded: unexpected argument '%s'\n", argv[optind]);
		return MCT_EXIT_USAGE;
	}
	return -1;
}
