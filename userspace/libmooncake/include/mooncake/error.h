/* SPDX-License-Identifier: MIT */
/*
 * How libmooncake says what went wrong: a number to act on and a sentence for people.
 */
#ifndef MOONCAKE_ERROR_H
#define MOONCAKE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define MC_ERROR_TEXT	384	/* bytes, with the closing NUL */

/**
 * struct mc_error - filled in by a call that fails, emptied by one that does not
 * @code: what the call returned: -errno from mc_dev_* and mc_addr_*, a negative MC_E* from mc_store_* and mc_rpc_*
 * @sys_errno: errno behind the failure (ECONNREFUSED, ETIMEDOUT, ...), 0 when there is none
 * @text: one line that names what, where and the value; no newline
 *
 * Every function that takes one accepts NULL.
 */
struct mc_error {
	int code;
	int sys_errno;
	char text[MC_ERROR_TEXT];
};

/* Numbers of the store's answers: ErrorCode of mooncake.proto. */
enum mc_code {
	MC_OK = 0,
	MC_EINTERNAL = -1,
	MC_EBUFFER_OVERFLOW = -10,
	MC_ESEGMENT_NOT_FOUND = -101,
	MC_ESEGMENT_ALREADY_EXISTS = -102,
	MC_ECLIENT_NOT_FOUND = -103,
	MC_ENO_AVAILABLE_HANDLE = -200,
	MC_EINVALID_VERSION = -300,
	MC_EINVALID_KEY = -400,
	MC_EWRITE_FAIL = -500,
	MC_EINVALID_PARAMS = -600,
	MC_EILLEGAL_CLIENT = -601,
	MC_EINVALID_WRITE = -700,
	MC_EINVALID_READ = -701,
	MC_EINVALID_REPLICA = -702,
	MC_EREPLICA_IS_NOT_READY = -703,
	MC_EOBJECT_NOT_FOUND = -704,
	MC_EOBJECT_ALREADY_EXISTS = -705,
	MC_EOBJECT_HAS_LEASE = -706,
	MC_ELEASE_EXPIRED = -707,
	MC_ETRANSFER_FAIL = -800,
	MC_ECHECKSUM_MISMATCH = -801,
	MC_ERPC_FAIL = -900,
	MC_ERPC_TIMEOUT = -901,
	MC_EUNAVAILABLE_IN_CURRENT_STATUS = -1010,
	MC_EUNAVAILABLE_IN_CURRENT_MODE = -1011,
	MC_ENOT_SUPPORTED = -1012,
};

/**
 * mc_strerror() - the name of a store code
 * @code: 0 or negative
 *
 * Return: "OBJECT_NOT_FOUND" for -704; "UNKNOWN_ERROR" for a number that is not in the list. Constant strings.
 */
const char *mc_strerror(int code);

/**
 * mc_error_set() - fill in an error
 * @err: where, or NULL
 * @code: what the caller is about to return
 * @sys_errno: errno behind it (positive), or 0
 * @fmt: the sentence, as for printf
 *
 * Return: @code, so that "return mc_error_set(...)" reads well.
 */
int mc_error_set(struct mc_error *err, int code, int sys_errno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#ifdef __cplusplus
}
#endif

#endif
