/* SPDX-License-Identifier: MIT */
/*
 * Names and results: what may be called what, how an answer says what went wrong, and the scoped name that identifies
 * an object everywhere in the master.
 */
#ifndef MC_MASTER_NAMES_H
#define MC_MASTER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mooncake.pb-c.h"

#define MC_TENANT_MAX		255u
#define MC_KEY_MAX		4096u
#define MC_SCOPED_MAX		(MC_TENANT_MAX + 1 + MC_KEY_MAX)
#define MC_NAME_MAX		255u
#define MC_UUID_LEN		16
#define MC_UUID_TEXT		37u
#define MC_KEY_TEXT		200u	/* room for mc_key_text() */

/* Error numbers are the contract's; MC_E(OK) is 0. */
#define MC_E(name) MOONCAKE__V1__ERROR_CODE__##name

/**
 * struct mc_result - how an operation went
 * @code: 0 or a number of the contract's ErrorCode
 * @text: for people: what was wrong and with which value; empty when @code is 0
 */
struct mc_result {
	int code;
	char text[320];
};

/**
 * mc_fail() - fill a result in
 * @res: result
 * @code: negative number of ErrorCode
 * @fmt: as for printf
 *
 * Return: @code.
 */
int mc_fail(struct mc_result *res, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/**
 * mc_code_name() - "OBJECT_NOT_FOUND" for -704
 * @code: number
 *
 * Return: the contract's name, "UNKNOWN" for numbers it does not have.
 */
const char *mc_code_name(int code);

/**
 * struct mc_scoped - an object's name: tenant, one NUL, key
 * @len: bytes used of @bytes
 * @tenant_len: length of the tenant's name; the key starts at @tenant_len + 1
 * @bytes: the name; ordered by memcmp() it is ordered by tenant, then key, because no tenant holds a NUL
 */
struct mc_scoped {
	uint32_t len;
	uint16_t tenant_len;
	uint8_t bytes[MC_SCOPED_MAX];
};

/**
 * mc_tenant_check() - normalise and check a tenant's name
 * @tenant: as received; "" means "default"
 * @res: result
 *
 * Return: the name to use, or NULL with @res filled in.
 */
const char *mc_tenant_check(const char *tenant, struct mc_result *res);

/**
 * mc_scoped_set() - check tenant and key and join them
 * @s: result
 * @tenant: as received
 * @key: as received
 * @res: why not
 *
 * Return: 0 or INVALID_PARAMS.
 */
int mc_scoped_set(struct mc_scoped *s, const char *tenant, const ProtobufCBinaryData *key, struct mc_result *res);

/**
 * mc_label_check() - check a name that is for people (segment, node, device)
 * @what: what it names, for the message
 * @label: as received
 * @empty_ok: may it be empty?
 * @res: why not
 *
 * Return: 0 or INVALID_PARAMS: longer than MC_NAME_MAX, not UTF-8, or with control characters.
 */
int mc_label_check(const char *what, const char *label, bool empty_ok, struct mc_result *res);

/**
 * mc_uuid_check() - a UUID has 16 bytes that are not all zero
 * @what: whose it is, for the message
 * @uuid: as received
 * @res: why not
 *
 * Return: 0 or INVALID_PARAMS.
 */
int mc_uuid_check(const char *what, const ProtobufCBinaryData *uuid, struct mc_result *res);

/**
 * mc_key_text() - a key as it can be printed
 * @key: bytes
 * @len: their number
 * @out: result; unprintable bytes become \xNN, a long key is cut and ends in "..."
 *
 * Return: @out.
 */
const char *mc_key_text(const uint8_t *key, size_t len, char out[MC_KEY_TEXT]);

/**
 * mc_uuid_text() - a UUID in the usual form
 * @uuid: 16 bytes
 * @out: result
 *
 * Return: @out.
 */
const char *mc_uuid_text(const uint8_t *uuid, char out[MC_UUID_TEXT]);

/**
 * mc_uuid_parse() - read the usual form
 * @text: 32 hex digits, hyphens allowed between them
 * @uuid: result
 *
 * Return: 0 or -EINVAL.
 */
int mc_uuid_parse(const char *text, uint8_t uuid[MC_UUID_LEN]);

#endif
