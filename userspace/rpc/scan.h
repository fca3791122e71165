/* SPDX-License-Identifier: MIT */
/*
 * A look at a request's bytes before protobuf-c unpacks them: bounds what unpacking may cost, and makes text fields
 * safe to be C strings.
 */
#ifndef MC_RPC_SCAN_H
#define MC_RPC_SCAN_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#define MC_RPC_FIELDS_MAX	(512u << 10)	/* fields in one request, those of nested messages included */

/**
 * mc_rpc_scan() - walk the wire format of one message
 * @desc: what it should be
 * @data: the bytes; every NUL inside a text field becomes 0x01
 * @len: their number
 *
 * protobuf-c hands text out as C strings, which would end silently at a NUL on the wire: tenant "a\0b" would act as
 * "a". With 0x01 in its place the text keeps its length, and every check of names refuses the control character.
 *
 * Return: 0, -EBADMSG when the bytes are not a message, or -E2BIG above MC_RPC_FIELDS_MAX fields.
 */
int mc_rpc_scan(const ProtobufCMessageDescriptor *desc, uint8_t *data, size_t len);

#endif
