// SPDX-License-Identifier: MIT
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ALLOC	4096u

static const char * const status_names[] = {
	[MC_GRPC_OK] = "OK",
	[MC_GRPC_CANCELLED] = "CANCELLED",
	[MC_GRPC_UNKNOWN] = "UNKNOWN",
	[MC_GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
	[MC_GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
	[MC_GRPC_NOT_FOUND] = "NOT_FOUND",
	[MC_GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
	[MC_GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
	[MC_GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
	[MC_GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
	[MC_GRPC_ABORTED] = "ABORTED",
	[MC_GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
	[MC_GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
	[MC_GRPC_INTERNAL] = "INTERNAL",
	[MC_GRPC_UNAVAILABLE] = "UNAVAILABLE",
	[MC_GRPC_DATA_LOSS] = "DATA_LOSS",
	[MC_GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

const char *mc_grpc_status_name(int status)
{
	if (status < 0 || (size_t)status >= sizeof(status_names) / sizeof(status_names[0]))
		return "UNKNOWN";
	return status_names[status];
}

void mc_frame_put_hdr(uint8_t hdr[MC_GRPC_HDR_LEN], uint32_t len)
{
	hdr[0] = 0;
	hdr[1] = len >> 24;
	hdr[2] = len >> 16;
	hdr[3] = len >> 8;
	hdr[4] = len;
}

void mc_frame_reader_init(struct mc_frame_reader *r, uint32_t max)
{
	memset(r, 0, sizeof(*r));
	r->max = max;
}

static int header_done(struct mc_frame_reader *r)
{
	if (r->hdr[0] != 0)
		return -EPROTONOSUPPORT;
	r->len = (uint32_t)r->hdr[1] << 24 | (uint32_t)r->hdr[2] << 16 | (uint32_t)r->hdr[3] << 8 | r->hdr[4];
	return r->len > r->max ? -EMSGSIZE : 0;
}

/* The announced length is only a claim: memory follows the bytes that came. */
static int make_room(struct mc_frame_reader *r, uint32_t need)
{
	uint64_t cap = r->cap ? r->cap : FIRST_ALLOC;
	uint8_t *p;

	if (need <= r->cap)
		return 0;
	while (cap < need)
		cap *= 2;
	if (cap > r->len)
		cap = r->len;
	p = realloc(r->msg, cap);
	if (!p)
		return -ENOMEM;
	r->msg = p;
	r->cap = cap;
	return 0;
}

int mc_frame_feed(struct mc_frame_reader *r, const uint8_t *data, size_t len)
{
	int err;

	while (len && r->hdr_have < MC_GRPC_HDR_LEN) {
		r->hdr[r->hdr_have++] = *data++;
		len--;
		if (r->hdr_have == MC_GRPC_HDR_LEN) {
			err = header_done(r);
			if (err)
				return err;
		}
	}
	if (!len)
		return 0;
	if (len > r->len - r->have)
		return -EBADMSG;
	err = make_room(r, r->have + len);
	if (err)
		return err;
	memcpy(r->msg + r->have, data, len);
	r->have += len;
	return 0;
}

bool mc_frame_complete(const struct mc_frame_reader *r)
{
	return r->hdr_have == MC_GRPC_HDR_LEN && r->have == r->len;
}

void mc_frame_reader_free(struct mc_frame_reader *r)
{
	free(r->msg);
	mc_frame_reader_init(r, r->max);
}

size_t mc_grpc_text_encode(const char *text, char *out, size_t outlen)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *text; text++) {
		unsigned char c = *text;

		if (c >= 0x20 && c <= 0x7e && c != '%') {
			if (n + 1 >= outlen)
				break;
			out[n++] = c;
			continue;
		}
		if (n + 3 >= outlen)
			break;
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	out[n] = 0;
	return n;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

size_t mc_grpc_text_decode(const uint8_t *text, size_t len, char *out, size_t outlen)
{
	size_t i, n = 0;

	for (i = 0; i < len && n + 1 < outlen; i++) {
		if (text[i] == '%' && i + 2 < len && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
			out[n++] = hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]);
			i += 2;
		} else {
			out[n++] = text[i];
		}
	}
	out[n] = 0;
	return n;
}

static uint64_t unit_ns(uint8_t unit)
{
	switch (unit) {
	case 'H': return 3600000000000ull;
	case 'M': return 60000000000ull;
	case 'S': return 1000000000ull;
	case 'm': return 1000000ull;
	case 'u': return 1000ull;
	case 'n': return 1ull;
	}
	return 0;
}

int mc_grpc_timeout_parse(const uint8_t *text, size_t len, uint64_t *ns)
{
	uint64_t v = 0, unit;
	size_t i;

	if (len < 2 || len > 9)
		return -EINVAL;
	for (i = 0; i < len - 1; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		v = v * 10 + (text[i] - '0');
	}
	unit = unit_ns(text[len - 1]);
	if (!unit)
		return -EINVAL;
	*ns = v > UINT64_MAX / unit ? UINT64_MAX : v * unit;
	return 0;
}

void mc_grpc_timeout_format(uint64_t ns, char out[12])
{
	static const char units[] = "numSMH";
	const char *u;

	for (u = units; u[1]; u++) {
		uint64_t unit = unit_ns(*u);
		uint64_t v = ns / unit + (ns % unit != 0);

		if (v <= 99999999)
			break;
	}
	snprintf(out, 12, "%u%c", (unsigned int)(ns / unit_ns(*u) + (ns % unit_ns(*u) != 0)), *u);
}
