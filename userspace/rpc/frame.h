/* SPDX-License-Identifier: MIT */
/*
 * What gRPC puts around a message inside an HTTP/2 stream, for both ends: the five-byte frame, the status numbers, the
 * percent-encoded grpc-message and the grpc-timeout header. Pure code: no sockets, no event loop.
 */
#ifndef MC_RPC_FRAME_H
#define MC_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_GRPC_HDR_LEN		5u		/* flag byte, big-endian length */
#define MC_GRPC_MSG_MAX		(64u << 20)	/* largest message either end accepts */
#define MC_GRPC_TEXT_MAX	1024u		/* longest grpc-message either end writes, encoded */

/* Status numbers of the gRPC protocol, as sent in the grpc-status trailer. */
enum mc_grpc_status {
	MC_GRPC_OK = 0,
	MC_GRPC_CANCELLED = 1,
	MC_GRPC_UNKNOWN = 2,
	MC_GRPC_INVALID_ARGUMENT = 3,
	MC_GRPC_DEADLINE_EXCEEDED = 4,
	MC_GRPC_NOT_FOUND = 5,
	MC_GRPC_ALREADY_EXISTS = 6,
	MC_GRPC_PERMISSION_DENIED = 7,
	MC_GRPC_RESOURCE_EXHAUSTED = 8,
	MC_GRPC_FAILED_PRECONDITION = 9,
	MC_GRPC_ABORTED = 10,
	MC_GRPC_OUT_OF_RANGE = 11,
	MC_GRPC_UNIMPLEMENTED = 12,
	MC_GRPC_INTERNAL = 13,
	MC_GRPC_UNAVAILABLE = 14,
	MC_GRPC_DATA_LOSS = 15,
	MC_GRPC_UNAUTHENTICATED = 16,
};

/**
 * mc_grpc_status_name() - "UNIMPLEMENTED" for 12
 * @status: number from the wire
 *
 * Return: a constant string, "UNKNOWN" for numbers gRPC does not define.
 */
const char *mc_grpc_status_name(int status);

/**
 * mc_frame_put_hdr() - write the five bytes in front of an uncompressed message
 * @hdr: where
 * @len: bytes of the message
 */
void mc_frame_put_hdr(uint8_t hdr[MC_GRPC_HDR_LEN], uint32_t len);

/**
 * struct mc_frame_reader - collects the one message of a unary call from pieces of any size
 * @hdr: the frame header, as far as it has arrived
 * @hdr_have: bytes of @hdr that have arrived
 * @msg: the message; NULL while empty
 * @len: announced length, valid once @hdr_have is 5
 * @have: bytes of @msg that have arrived
 * @cap: bytes allocated for @msg; grows with what arrives, never with what is merely announced
 * @max: longest message accepted
 */
struct mc_frame_reader {
	uint8_t hdr[MC_GRPC_HDR_LEN];
	uint8_t hdr_have;
	uint8_t *msg;
	uint32_t len;
	uint32_t have;
	uint32_t cap;
	uint32_t max;
};

/**
 * mc_frame_reader_init() - start empty
 * @r: reader
 * @max: longest message accepted, normally MC_GRPC_MSG_MAX
 */
void mc_frame_reader_init(struct mc_frame_reader *r, uint32_t max);

/**
 * mc_frame_feed() - take the next piece of the stream
 * @r: reader
 * @data: piece
 * @len: its length
 *
 * Return: 0, or -EMSGSIZE (announced length above max), -EPROTONOSUPPORT (compressed message), -EBADMSG (bytes behind
 * the message) or -ENOMEM.
 */
int mc_frame_feed(struct mc_frame_reader *r, const uint8_t *data, size_t len);

/**
 * mc_frame_complete() - has the whole message arrived?
 * @r: reader
 *
 * Return: true when header and all announced bytes are there.
 */
bool mc_frame_complete(const struct mc_frame_reader *r);

/**
 * mc_frame_reader_free() - drop the message and start empty again
 * @r: reader
 */
void mc_frame_reader_free(struct mc_frame_reader *r);

/**
 * mc_grpc_text_encode() - percent-encode a grpc-message
 * @text: UTF-8 text
 * @out: result, always terminated; cut at a character of the encoding when it does not fit
 * @outlen: size of @out, at least 1
 *
 * Return: length of @out.
 */
size_t mc_grpc_text_encode(const char *text, char *out, size_t outlen);

/**
 * mc_grpc_text_decode() - undo mc_grpc_text_encode()
 * @text: header value
 * @len: its length
 * @out: result, always terminated; malformed escapes stay as they are
 * @outlen: size of @out, at least 1
 *
 * Return: length of @out.
 */
size_t mc_grpc_text_decode(const uint8_t *text, size_t len, char *out, size_t outlen);

/**
 * mc_grpc_timeout_parse() - read a grpc-timeout header ("100m" is 100 ms)
 * @text: header value
 * @len: its length
 * @ns: result; saturates at UINT64_MAX
 *
 * Return: 0 or -EINVAL.
 */
int mc_grpc_timeout_parse(const uint8_t *text, size_t len, uint64_t *ns);

/**
 * mc_grpc_timeout_format() - write a grpc-timeout header
 * @ns: time left; rounded up to the unit that fits the protocol's eight digits
 * @out: result, terminated
 */
void mc_grpc_timeout_format(uint64_t ns, char out[12]);

#endif
