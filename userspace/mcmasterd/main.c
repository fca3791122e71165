// SPDX-License-Identifier: MIT
/* mcmasterd: the metadata master. */
#include "daemon.h"

int main(int argc, char **argv)
{
	static struct mc_opts opts;
	int status = mc_opts_parse(&opts, argc, argv);

	return status >= 0 ? status : mc_daemon_run(&opts);
}
