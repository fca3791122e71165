/* SPDX-License-Identifier: MIT */
/*
 * Words and numbers that administrators type: UUIDs, sizes, addresses, key files. Each parser takes the whole
 * text or refuses it; the caller names the text in its message.
 */
#ifndef MCTEXT_H
#define MCTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcnl.h"

#define MCT_UUID_TEXT	37	/* with the closing NUL */
#define MCT_ADDR_TEXT	46

/*
 * Exit statuses of mcctl and mcnoded, as their manual pages list them.
 */
enum mct_exit {
	MCT_EXIT_OK = 0,
	MCT_EXIT_FAILED = 1,		/* the operation was refused or failed */
	MCT_EXIT_USAGE = 2,		/* command line, configuration or address */
	MCT_EXIT_NOT_FOUND = 3,
	MCT_EXIT_EXISTS = 4,
	MCT_EXIT_UNREACHABLE = 5,	/* nobody answers, or not in time */
	MCT_EXIT_PERMISSION = 6,
	MCT_EXIT_NO_MODULE = 7,		/* module not loaded or device missing */
	MCT_EXIT_CORRUPT = 8,		/* wrong bytes */
};

/** mct_exit_of_errno() - the exit status for a -errno (or errno) of the kernel */
int mct_exit_of_errno(int rc);

/** mct_uuid_text() - "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" into @to (MCT_UUID_TEXT bytes); returns @to */
const char *mct_uuid_text(const uint8_t *uuid, char *to);

/** mct_uuid_parse() - read that form, upper or lower case; false when it is anything else */
bool mct_uuid_parse(const char *text, uint8_t *uuid);

/** mct_uuid_is_zero() - true when all 16 bytes are 0 */
bool mct_uuid_is_zero(const uint8_t *uuid);

/** mct_uuid_random() - a new random (version 4) UUID; 0 or -errno */
int mct_uuid_random(uint8_t *uuid);

/** mct_addr_text() - address without port into @to (MCT_ADDR_TEXT bytes); returns @to */
const char *mct_addr_text(const struct mcnl_addr *a, char *to);

#define MCT_RAIL_TEXT	224

struct mcnl_event;

/**
 * mct_rail_text() - what an event about a rail is about, into @to (MCT_RAIL_TEXT bytes); returns @to
 *
 * "rail 1 (rxe0)", or both ends of a path: "path over rail 1 (rxe0) to rail 2 (10.77.1.2) of UUID". The other end
 * is left out as far as the kernel didn't say which it is.
 */
const char *mct_rail_text(const struct mcnl_event *ev, char *to);

/** mct_addr_parse() - IPv4 or IPv6 literal, no name, no port, no brackets */
bool mct_addr_parse(const char *text, struct mcnl_addr *a);

/** mct_u64_parse() - decimal number within [@min, @max], nothing around it */
bool mct_u64_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/** mct_size_parse() - bytes: a number with nothing or one of K M G T (powers of 1024) behind it, "KiB" and "KB" too */
bool mct_size_parse(const char *text, uint64_t *out);

/** mct_ms_parse() - "5s", "500ms", "2m" or seconds without a unit; 1 ms to 1 h */
bool mct_ms_parse(const char *text, uint32_t *ms);

/** mct_size_text() - bytes for people ("4 KiB", "1.5 GiB") into @to (16 bytes or more); returns @to */
const char *mct_size_text(uint64_t bytes, char *to, size_t size);

/**
 * mct_key_load() - read the cluster key
 * @path: file with 64 hexadecimal digits, which a blank and the key's generation may follow, then perhaps a newline; or
 *	exactly 32 bytes
 * @key: MC_KEY_LEN bytes
 * @gen: set to the generation when the file names one, else left alone; may be NULL
 * @err: sentence on failure
 * @errlen: its room
 *
 * The file must be a regular file that belongs to the caller or root and that neither group nor others can read or
 * write.
 *
 * Return: 0; -EACCES (permissions); -EINVAL (contents); the -errno of open or read.
 */
int mct_key_load(const char *path, uint8_t *key, uint32_t *gen, char *err, size_t errlen);

/** mct_key_generate() - write a new random key, mode 0600, never over an existing file (-EEXIST) */
int mct_key_generate(const char *path, char *err, size_t errlen);

/**
 * mct_key_rotate() - replace the key in a file by a new random one, of the next generation
 * @path: key file
 * @key: the new key, MC_KEY_LEN bytes
 * @gen: generation of the old key if the file does not name it; the new key's
 * @err: sentence on failure
 * @errlen: its room
 *
 * Afterwards the file holds the old key or the new one, whole.
 *
 * Return: 0 or -errno, as mct_key_load(); -ERANGE when there is no next generation.
 */
int mct_key_rotate(const char *path, uint8_t *key, uint32_t *gen, char *err, size_t errlen);

/** mct_uuid_file_load() - read a UUID from a file's first line; -ENOENT when there is no file, -EINVAL when bad */
int mct_uuid_file_load(const char *path, uint8_t *uuid, char *err, size_t errlen);

/** mct_uuid_file_create() - write a new random UUID, mode 0644, synced, never over an existing file (-EEXIST) */
int mct_uuid_file_create(const char *path, uint8_t *uuid, char *err, size_t errlen);

#endif /* MCTEXT_H */
