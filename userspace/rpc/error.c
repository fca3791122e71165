// SPDX-License-Identifier: MIT
#include "../libmooncake/include/mooncake/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
	int code;
	const char *name;
} names[] = {
	{ MC_OK, "OK" },
	{ MC_EINTERNAL, "INTERNAL_ERROR" },
	{ MC_EBUFFER_OVERFLOW, "BUFFER_OVERFLOW" },
	{ MC_ESEGMENT_NOT_FOUND, "SEGMENT_NOT_FOUND" },
	{ MC_ESEGMENT_ALREADY_EXISTS, "SEGMENT_ALREADY_EXISTS" },
	{ MC_ECLIENT_NOT_FOUND, "CLIENT_NOT_FOUND" },
	{ MC_ENO_AVAILABLE_HANDLE, "NO_AVAILABLE_HANDLE" },
	{ MC_EINVALID_VERSION, "INVALID_VERSION" },
	{ MC_EINVALID_KEY, "INVALID_KEY" },
	{ MC_EWRITE_FAIL, "WRITE_FAIL" },
	{ MC_EINVALID_PARAMS, "INVALID_PARAMS" },
	{ MC_EILLEGAL_CLIENT, "ILLEGAL_CLIENT" },
	{ MC_EINVALID_WRITE, "INVALID_WRITE" },
	{ MC_EINVALID_READ, "INVALID_READ" },
	{ MC_EINVALID_REPLICA, "INVALID_REPLICA" },
	{ MC_EREPLICA_IS_NOT_READY, "REPLICA_IS_NOT_READY" },
	{ MC_EOBJECT_NOT_FOUND, "OBJECT_NOT_FOUND" },
	{ MC_EOBJECT_ALREADY_EXISTS, "OBJECT_ALREADY_EXISTS" },
	{ MC_EOBJECT_HAS_LEASE, "OBJECT_HAS_LEASE" },
	{ MC_ELEASE_EXPIRED, "LEASE_EXPIRED" },
	{ MC_ETRANSFER_FAIL, "TRANSFER_FAIL" },
	{ MC_ECHECKSUM_MISMATCH, "CHECKSUM_MISMATCH" },
	{ MC_ERPC_FAIL, "RPC_FAIL" },
	{ MC_ERPC_TIMEOUT, "RPC_TIMEOUT" },
	{ MC_EUNAVAILABLE_IN_CURRENT_STATUS, "UNAVAILABLE_IN_CURRENT_STATUS" },
	{ MC_EUNAVAILABLE_IN_CURRENT_MODE, "UNAVAILABLE_IN_CURRENT_MODE" },
	{ MC_ENOT_SUPPORTED, "NOT_SUPPORTED" },
};

const char *mc_strerror(int code)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return names[i].name;
	return "UNKNOWN_ERROR";
}

int mc_error_set(struct mc_error *err, int code, int sys_errno, const char *fmt, ...)
{
	va_list ap;
	char *p;

	if (!err)
		return code;
	err->code = code;
	err->sys_errno = sys_errno;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* One failure is one line, whatever a key or a server's answer holds. */
	for (p = err->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return code;
}
