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

#define MC_UUID_TEXT	37	/* with the closing NUL */
#define MC_ADDR_TEXT	46

/** mc_uuid_text() - "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" into @to (MC_UUID_TEXT bytes); returns @to */
const char *mc_uuid_text(const uint8_t *uuid, char *to);

/** mc_uuid_parse() - read that form, upper or lower case; false when it is anything else */
bool mc_uuid_parse(const char *text, uint8_t *uuid);

/** mc_uuid_is_zero() - true when all 16 bytes are 0 */
bool mc_uuid_is_zero(const uint8_t *uuid);

/** mc_uuid_random() - a new random (version 4) UUID; 0 or -errno */
int mc_uuid_random(uint8_t *uuid);

/** mc_addr_text() - address without port into @to (MC_ADDR_TEXT bytes); returns @to */
const char *mc_addr_text(const struct mcnl_addr *a, char *to);

/** mc_addr_parse() - IPv4 or IPv6 literal, no name, no port, no brackets */
bool mc_addr_parse(const char *text, struct mcnl_addr *a);

/** mc_u64_parse() - decimal number within [@min, @max], nothing around it */
bool mc_u64_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/** mc_size_parse() - bytes: a number with nothing or one of K M G T (powers of 1024) behind it, "KiB" and "KB" too */
bool mc_size_parse(const char *text, uint64_t *out);

/** mc_size_text() - bytes for people ("4 KiB", "1.5 GiB") into @to (16 bytes or more); returns @to */
const char *mc_size_text(uint64_t bytes, char *to, size_t size);

/**
 * mc_key_load() - read the cluster key
 * @path: file with 64 hexadecimal digits (a newline may follow) or exactly 32 bytes
 * @key: MC_KEY_LEN bytes
 * @err: sentence on failure
 * @errlen: its room
 *
 * The file must be a regular file that belongs to the caller or root and that neither group nor others can read or
 * write.
 *
 * Return: 0; -EACCES (permissions); -EINVAL (contents); the -errno of open or read.
 */
int mc_key_load(const char *path, uint8_t *key, char *err, size_t errlen);

/** mc_key_generate() - write a new random key, mode 0600, never over an existing file (-EEXIST) */
int mc_key_generate(const char *path, char *err, size_t errlen);

/** mc_uuid_file_load() - read a UUID from a file's first line; -ENOENT when there is no file, -EINVAL when bad */
int mc_uuid_file_load(const char *path, uint8_t *uuid, char *err, size_t errlen);

/** mc_uuid_file_create() - write a new random UUID, mode 0644, synced, never over an existing file (-EEXIST) */
int mc_uuid_file_create(const char *path, uint8_t *uuid, char *err, size_t errlen);

#endif /* MCTEXT_H */
