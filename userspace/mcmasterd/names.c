// SPDX-License-Identifier: MIT
#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int mc_fail(struct mc_result *res, int code, const char *fmt, ...)
{
	va_list ap;

	res->code = code;
	va_start(ap, fmt);
	vsnprintf(res->text, sizeof(res->text), fmt, ap);
	va_end(ap);
	return code;
}

const char *mc_code_name(int code)
{
	const ProtobufCEnumValue *v =
		protobuf_c_enum_descriptor_get_value(&mooncake__v1__error_code__descriptor, code);

	return v ? v->name : "UNKNOWN";
}

/* Length of the well-formed UTF-8 sequence at @p, 0 if there is none: no overlong forms, no surrogates. */
static size_t utf8_step(const uint8_t *p)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4 || (p[1] & 0xc0) != 0x80)
		return 0;
	if (p[0] < 0xe0)
		return 2;
	if ((p[2] & 0xc0) != 0x80 || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
		return 0;
	if (p[0] < 0xf0)
		return 3;
	if ((p[3] & 0xc0) != 0x80 || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return 4;
}

/* What is wrong with the characters of a name, or NULL. */
static const char *bad_text(const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t step;

	for (; *p; p += step) {
		step = utf8_step(p);
		if (!step)
			return "is not UTF-8";
		if (*p < 0x20 || *p == 0x7f)
			return "has a control character";
	}
	return NULL;
}

const char *mc_tenant_check(const char *tenant, struct mc_result *res)
{
	char shown[MC_KEY_TEXT];
	const char *bad = NULL;
	size_t len = strlen(tenant);

	if (!len)
		return "default";
	if (len > MC_TENANT_MAX) {
		mc_fail(res, MC_E(INVALID_PARAMS), "tenant of %zu bytes; at most %u are taken", len, MC_TENANT_MAX);
		return NULL;
	}
	if (tenant[0] == '_')
		bad = "begins with '_'";
	else
		bad = bad_text(tenant);
	if (!bad)
		return tenant;
	mc_fail(res, MC_E(INVALID_PARAMS), "tenant '%s' %s", mc_key_text((const uint8_t *)tenant, len, shown), bad);
	return NULL;
}

int mc_scoped_set(struct mc_scoped *s, const char *tenant, const ProtobufCBinaryData *key, struct mc_result *res)
{
	tenant = mc_tenant_check(tenant, res);
	if (!tenant)
		return res->code;
	if (!key->len || key->len > MC_KEY_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "key of %zu bytes in tenant '%s'; 1 to %u are taken",
			       key->len, tenant, MC_KEY_MAX);
	s->tenant_len = strlen(tenant);
	s->len = s->tenant_len + 1 + key->len;
	memcpy(s->bytes, tenant, s->tenant_len + 1);
	memcpy(s->bytes + s->tenant_len + 1, key->data, key->len);
	return 0;
}

int mc_label_check(const char *what, const char *label, bool empty_ok, struct mc_result *res)
{
	char shown[MC_KEY_TEXT];
	size_t len = strlen(label);
	const char *bad;

	if (!len && !empty_ok)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%s is empty", what);
	if (len > MC_NAME_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%s of %zu bytes; at most %u are taken", what, len,
			       MC_NAME_MAX);
	bad = bad_text(label);
	if (bad)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%s '%s' %s", what,
			       mc_key_text((const uint8_t *)label, len, shown), bad);
	return 0;
}

int mc_uuid_check(const char *what, const ProtobufCBinaryData *uuid, struct mc_result *res)
{
	static const uint8_t zero[MC_UUID_LEN];

	if (uuid->len != MC_UUID_LEN)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%s of %zu bytes; a UUID has %u", what, uuid->len,
			       MC_UUID_LEN);
	if (!memcmp(uuid->data, zero, MC_UUID_LEN))
		return mc_fail(res, MC_E(INVALID_PARAMS), "%s is all zero", what);
	return 0;
}

const char *mc_key_text(const uint8_t *key, size_t len, char out[MC_KEY_TEXT])
{
	size_t i, n = 0;

	for (i = 0; i < len && n < MC_KEY_TEXT - 8; i++) {
		if (key[i] >= 0x20 && key[i] < 0x7f && key[i] != '\\')
			out[n++] = key[i];
		else
			n += snprintf(out + n, MC_KEY_TEXT - n, "\\x%02x", key[i]);
	}
	snprintf(out + n, MC_KEY_TEXT - n, "%s", i < len ? "..." : "");
	return out;
}

const char *mc_uuid_text(const uint8_t *u, char out[MC_UUID_TEXT])
{
	snprintf(out, MC_UUID_TEXT, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
		 u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	return out;
}

int mc_uuid_parse(const char *text, uint8_t uuid[MC_UUID_LEN])
{
	unsigned int digits = 0;

	for (; *text; text++) {
		const char *hex = "0123456789abcdef", *d;

		if (*text == '-' && digits && digits % 2 == 0)
			continue;
		d = strchr(hex, *text >= 'A' && *text <= 'F' ? *text + 32 : *text);
		if (!d || digits == 2 * MC_UUID_LEN)
			return -EINVAL;
		uuid[digits / 2] = digits % 2 ? uuid[digits / 2] << 4 | (d - hex) : d - hex;
		digits++;
	}
	return digits == 2 * MC_UUID_LEN ? 0 : -EINVAL;
}
