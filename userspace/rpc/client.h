/* SPDX-License-Identifier: MIT */
/*
 * Unary gRPC calls to one server over one kept HTTP/2 connection.
 *
 * A client may be used from many threads; their calls share the connection. A thread of its own does the input and
 * output, so that every call ends at its deadline whatever the server, the network or the resolver does.
 *
 * A connection that fails is tried again with the next call, but not sooner than a pause that doubles from 50 ms to 1
 * s: calls in that pause fail at once with the error of the last attempt. Calls that were under way when a connection
 * broke fail; they are not repeated, for the server may have carried them out.
 */
#ifndef MC_RPC_CLIENT_H
#define MC_RPC_CLIENT_H

#include <protobuf-c/protobuf-c.h>

#include "../libmooncake/include/mooncake/error.h"

struct mc_rpc_client;

/**
 * mc_rpc_client_new() - get ready to call a server
 * @address: see addr.h
 * @service: full name of the service: "mooncake.v1.Master"
 * @default_port: port when @address has none
 * @out: the client
 * @err: why not
 *
 * Connects with the first call.
 *
 * Return: 0, INVALID_PARAMS (-600, names the bad part of @address) or INTERNAL_ERROR (-1, no memory or no thread).
 */
int mc_rpc_client_new(const char *address, const char *service, uint16_t default_port, struct mc_rpc_client **out,
		      struct mc_error *err);

/**
 * mc_rpc_client_free() - close the connection
 * @client: client or NULL
 *
 * No call may be running.
 */
void mc_rpc_client_free(struct mc_rpc_client *client);

/**
 * mc_rpc_call() - call a method and wait for the answer
 * @client: client
 * @method: "PutStart"
 * @req: request
 * @reply_type: descriptor of the reply
 * @reply: result, to be freed with protobuf_c_message_free_unpacked(); NULL after an error
 * @timeout_ms: deadline, 1 ms to 1 h; also sent as grpc-timeout
 * @err: why not: names the address, and tells a refused connection, an unknown host, a time-out, something that does
 *	not speak HTTP/2 or gRPC, and a gRPC status apart (sys_errno is ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT, EPROTO,
 *	or 0)
 *
 * Return: 0, RPC_FAIL (-900) or RPC_TIMEOUT (-901).
 */
int mc_rpc_call(struct mc_rpc_client *client, const char *method, const ProtobufCMessage *req,
		const ProtobufCMessageDescriptor *reply_type, ProtobufCMessage **reply, int timeout_ms,
		struct mc_error *err);

/**
 * mc_rpc_address() - the server's address as it was given
 * @client: client
 *
 * Return: text, owned by @client.
 */
const char *mc_rpc_address(const struct mc_rpc_client *client);

#endif
