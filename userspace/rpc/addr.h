/* SPDX-License-Identifier: MIT */
/*
 * Addresses as people write them: "host:port", "host", "[v6]:port", "[v6%scope]:port", "v6".
 *
 * An IPv6 address with a port needs brackets: "::1:50051" can be read in two ways and is refused with a message that
 * says so. A bare IPv6 literal ("::1", "::") is an address without port unless its end could also be one. Literals
 * are never looked up; what consists of digits and dots is IPv4 or an error.
 */
#ifndef MC_RPC_ADDR_H
#define MC_RPC_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../libmooncake/include/mooncake/error.h"

#define MC_ADDR_LISTEN	(1u << 0)	/* to bind: port 0 and names of network interfaces are allowed */

/**
 * struct mc_addr - a parsed address
 * @text: as written, for messages
 * @host: name or literal, without brackets and with its scope
 * @port: port
 * @numeric: @host is a literal and @sa is valid
 * @flags: MC_ADDR_* it was parsed with
 * @sa: socket address of a literal
 * @sa_len: its length
 */
struct mc_addr {
	char text[320];
	char host[256];
	uint16_t port;
	bool numeric;
	unsigned int flags;
	struct sockaddr_storage sa;
	socklen_t sa_len;
};

/**
 * struct mc_sockaddr - one socket address a name stands for
 * @sa: address
 * @len: its length
 */
struct mc_sockaddr {
	struct sockaddr_storage sa;
	socklen_t len;
};

/**
 * mc_addr_parse() - read an address; touches neither resolver nor network
 * @text: what was written
 * @default_port: port when none is written
 * @flags: MC_ADDR_*
 * @out: result
 * @err: names the bad part
 *
 * Return: 0 or -EINVAL.
 */
int mc_addr_parse(const char *text, uint16_t default_port, unsigned int flags, struct mc_addr *out,
		  struct mc_error *err);

/**
 * mc_addr_resolve() - socket addresses of an address
 * @addr: parsed address
 * @out: results, in the order to try
 * @max: room in @out
 * @err: why not
 *
 * A literal answers at once. A name asks the system's resolver, which may take many seconds: see client.c for a way
 * to wait with a limit. With MC_ADDR_LISTEN the name of a network interface stands for its addresses.
 *
 * Return: how many (at least 1), or -EHOSTUNREACH when the name can't be resolved, -EADDRNOTAVAIL when an interface
 * has no address.
 */
int mc_addr_resolve(const struct mc_addr *addr, struct mc_sockaddr *out, size_t max, struct mc_error *err);

/**
 * mc_addr_format() - write a socket address as "1.2.3.4:5" or "[::1]:5"
 * @sa: address
 * @out: result, always terminated
 * @outlen: size of @out
 *
 * Return: @out.
 */
const char *mc_addr_format(const struct sockaddr *sa, char *out, size_t outlen);

#endif
