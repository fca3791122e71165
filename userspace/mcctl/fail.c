// SPDX-License-Identifier: MIT
/* Errors: one line on standard error, and which exit status they mean. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

int ctl_fail(const struct ctl *c, int status, const char *fmt, ...)
{
	char line[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* what the caller names may hold anything, an error is one line all the same */
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	fprintf(stderr, "mcctl: ");
	if (c && c->cmd)
		fprintf(stderr, "%s%s%s: ", c->cmd->group, c->cmd->verb ? " " : "",
			c->cmd->verb ? c->cmd->verb : "");
	fprintf(stderr, "%s\n", line);
	return status;
}

static int exit_of_device(int sys_errno)
{
	switch (sys_errno) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return MCT_EXIT_NO_MODULE;
	case EACCES:
	case EPERM:
		return MCT_EXIT_PERMISSION;
	default:
		return MCT_EXIT_FAILED;
	}
}

int ctl_exit_of(int code, int sys_errno)
{
	switch (code) {
	case MC_OK:
		return MCT_EXIT_OK;
	case MC_EINVALID_PARAMS:
	case MC_EINVALID_KEY:
		return MCT_EXIT_USAGE;
	case MC_EOBJECT_NOT_FOUND:
	case MC_ESEGMENT_NOT_FOUND:
		return MCT_EXIT_NOT_FOUND;
	case MC_EOBJECT_ALREADY_EXISTS:
	case MC_ESEGMENT_ALREADY_EXISTS:
		return MCT_EXIT_EXISTS;
	case MC_ERPC_FAIL:
	case MC_ERPC_TIMEOUT:
		return MCT_EXIT_UNREACHABLE;
	case MC_EUNAVAILABLE_IN_CURRENT_MODE:
		return exit_of_device(sys_errno);
	case MC_ETRANSFER_FAIL:
		return mct_exit_of_errno(sys_errno) == MCT_EXIT_UNREACHABLE ? MCT_EXIT_UNREACHABLE :
									       MCT_EXIT_FAILED;
	default:
		return MCT_EXIT_FAILED;
	}
}

int ctl_fail_store(const struct ctl *c, const struct mc_error *err)
{
	return ctl_fail(c, ctl_exit_of(err->code, err->sys_errno), "%s (%d): %s", mc_strerror(err->code),
			err->code, err->text);
}
