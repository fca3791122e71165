// SPDX-License-Identifier: MIT
/* mcctl: find the command, run it, see that its output arrived. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

int main(int argc, char **argv)
{
	struct ctl c;
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = ctl_parse(&c, argc, argv);
	if (status < 0)
		status = c.cmd->run(&c);
	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && status == MCT_EXIT_OK)
		return ctl_fail(&c, MCT_EXIT_FAILED, "standard output: %s", strerror(errno ? errno : EIO));
	return status;
}
