/* SPDX-License-Identifier: MIT */
/*
 * Small things that both halves of libmooncake need.
 */
#ifndef MC_UTIL_H
#define MC_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define MC_UUID_TEXT	37	/* with the closing NUL */
#define MC_KEY_TEXT	64	/* room for a key in a message */

/**
 * mc_uuid_text() - write a UUID as people do
 * @uuid: 16 bytes
 * @out: result
 *
 * Return: @out.
 */
const char *mc_uuid_text(const uint8_t *uuid, char out[MC_UUID_TEXT]);

/**
 * mc_key_text() - write a key for a message: printable bytes as they are, others as \xNN, long ones cut
 * @key: key
 * @len: its bytes
 * @out: result
 *
 * Return: @out.
 */
const char *mc_key_text(const void *key, size_t len, char out[MC_KEY_TEXT]);

/**
 * mc_random_uuid() - make a version 4 UUID
 * @out: 16 bytes
 *
 * Return: 0 or -errno.
 */
int mc_random_uuid(uint8_t out[16]);

#endif
