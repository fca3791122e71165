// SPDX-License-Identifier: MIT
#include "scan.h"

#include <errno.h>

#define DEPTH_MAX	8u	/* the contract nests two deep */

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct scan {
	uint32_t fields;
};

static int get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	unsigned int shift;

	*v = 0;
	for (shift = 0; shift < 70; shift += 7) {
		if (*p == end)
			return -EBADMSG;
		if (shift < 64)
			*v |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return 0;
	}
	return -EBADMSG;
}

static void blot_nuls(uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!p[i])
			p[i] = 1;
}

static int scan_message(struct scan *s, const ProtobufCMessageDescriptor *desc, uint8_t *data, size_t len,
			unsigned int depth);

static int scan_bytes(struct scan *s, const ProtobufCFieldDescriptor *f, uint8_t *data, size_t len,
		      unsigned int depth)
{
	if (!f)
		return 0;
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		blot_nuls(data, len);
		return 0;
	case PROTOBUF_C_TYPE_MESSAGE:
		return scan_message(s, f->descriptor, data, len, depth + 1);
	case PROTOBUF_C_TYPE_BYTES:
		return 0;
	default:
		/* Packed numbers: at most one a byte. */
		if (len > MC_RPC_FIELDS_MAX - s->fields)
			return -E2BIG;
		s->fields += len;
		return 0;
	}
}

static int scan_field(struct scan *s, const ProtobufCMessageDescriptor *desc, const uint8_t **p, const uint8_t *end,
		      unsigned int depth)
{
	const ProtobufCFieldDescriptor *f;
	uint64_t tag, v;
	int err;

	err = get_varint(p, end, &tag);
	if (err)
		return err;
	if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -EBADMSG;
	f = protobuf_c_message_descriptor_get_field(desc, tag >> 3);
	switch (tag & 7) {
	case WIRE_VARINT:
		return get_varint(p, end, &v);
	case WIRE_64:
	case WIRE_32:
		v = (tag & 7) == WIRE_64 ? 8 : 4;
		if ((uint64_t)(end - *p) < v)
			return -EBADMSG;
		*p += v;
		return 0;
	case WIRE_BYTES:
		err = get_varint(p, end, &v);
		if (err)
			return err;
		if (v > (uint64_t)(end - *p))
			return -EBADMSG;
		err = scan_bytes(s, f, (uint8_t *)*p, v, depth);
		*p += v;
		return err;
	}
	return -EBADMSG;
}

static int scan_message(struct scan *s, const ProtobufCMessageDescriptor *desc, uint8_t *data, size_t len,
			unsigned int depth)
{
	const uint8_t *p = data, *end = data + len;
	int err;

	if (depth > DEPTH_MAX)
		return -EBADMSG;
	while (p < end) {
		if (s->fields++ >= MC_RPC_FIELDS_MAX)
			return -E2BIG;
		err = scan_field(s, desc, &p, end, depth);
		if (err)
			return err;
	}
	return 0;
}

int mc_rpc_scan(const ProtobufCMessageDescriptor *desc, uint8_t *data, size_t len)
{
	struct scan s = { 0 };

	return scan_message(&s, desc, data, len, 0);
}
