// SPDX-License-Identifier: MIT
#include "addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	"0123456789"

/* What an address falls apart into; host and port point into the caller's text. */
struct parts {
	const char *host;
	size_t host_len;
	const char *port;	/* NULL when none is written */
	bool brackets;
};

static int bad(struct mc_error *err, const char *text, const char *what, const char *part, size_t part_len)
{
	return mc_error_set(err, -EINVAL, EINVAL, "address '%.100s': %s '%.*s'", text, what,
			    (int)(part_len > 100 ? 100 : part_len), part);
}

static bool is_v6(const char *text, size_t len)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr a;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	return inet_pton(AF_INET6, copy, &a) == 1;
}

static int split_brackets(const char *text, struct parts *p, struct mc_error *err)
{
	const char *end = strchr(text, ']');

	if (!end)
		return bad(err, text, "no ']' after", text, strlen(text));
	p->brackets = true;
	p->host = text + 1;
	p->host_len = end - p->host;
	if (end[1] == ':')
		p->port = end + 2;
	else if (end[1])
		return bad(err, text, "expected ':port' behind ']', not", end + 1, strlen(end + 1));
	return 0;
}

/* More than one colon and no brackets: an IPv6 literal without port, unless its end could be meant as one. */
static int split_bare_v6(const char *text, struct parts *p, struct mc_error *err)
{
	size_t len = strcspn(text, "%");
	const char *last = strrchr(text, ':');

	if (last[1] && strspn(last + 1, DIGITS) == strlen(last + 1) && is_v6(text, last - text))
		return mc_error_set(err, -EINVAL, EINVAL,
				    "address '%.100s': an IPv6 address with a port needs brackets: '[%.*s]:%.20s'",
				    text, (int)(last - text), text, last + 1);
	if (!is_v6(text, len))
		return bad(err, text, "not an IPv6 address (with a port it needs brackets)", text, len);
	p->host = text;
	p->host_len = strlen(text);
	return 0;
}

static int split(const char *text, struct parts *p, struct mc_error *err)
{
	const char *colon = strchr(text, ':');

	memset(p, 0, sizeof(*p));
	if (*text == '[')
		return split_brackets(text, p, err);
	if (colon && strchr(colon + 1, ':'))
		return split_bare_v6(text, p, err);
	p->host = text;
	p->host_len = colon ? (size_t)(colon - text) : strlen(text);
	p->port = colon ? colon + 1 : NULL;
	return 0;
}

static int parse_port(const char *text, const struct parts *p, struct mc_addr *out, struct mc_error *err)
{
	size_t len = p->port ? strlen(p->port) : 0;
	unsigned long v;

	if (!p->port)
		return 0;
	if (!len || strspn(p->port, DIGITS) != len)
		return bad(err, text, "port is not a number:", p->port, len);
	v = len > 5 ? 65536 : strtoul(p->port, NULL, 10);
	if (v > 65535)
		return bad(err, text, "port is above 65535:", p->port, len);
	if (!v && !(out->flags & MC_ADDR_LISTEN))
		return bad(err, text, "port is 0:", p->port, len);
	out->port = v;
	return 0;
}

static int set_v4(const char *text, struct mc_addr *out, struct mc_error *err)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&out->sa;

	if (inet_pton(AF_INET, out->host, &sin->sin_addr) != 1)
		return bad(err, text, "not an IPv4 address:", out->host, strlen(out->host));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(out->port);
	out->sa_len = sizeof(*sin);
	out->numeric = true;
	return 0;
}

static int set_v6(const char *text, struct mc_addr *out, struct mc_error *err)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&out->sa;
	const char *scope = strchr(out->host, '%');
	size_t len = scope ? (size_t)(scope - out->host) : strlen(out->host);
	char copy[INET6_ADDRSTRLEN] = "";

	if (!is_v6(out->host, len))
		return bad(err, text, "not an IPv6 address:", out->host, len);
	memcpy(copy, out->host, len);
	inet_pton(AF_INET6, copy, &sin6->sin6_addr);
	if (scope) {
		sin6->sin6_scope_id = if_nametoindex(scope + 1);
		if (!sin6->sin6_scope_id && scope[1] && strspn(scope + 1, DIGITS) == strlen(scope + 1))
			sin6->sin6_scope_id = strtoul(scope + 1, NULL, 10);
		if (!sin6->sin6_scope_id)
			return bad(err, text, "no network interface", scope + 1, strlen(scope + 1));
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(out->port);
	out->sa_len = sizeof(*sin6);
	out->numeric = true;
	return 0;
}

static int check_name(const char *text, const struct mc_addr *out, struct mc_error *err)
{
	static const char allowed[] = DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
	size_t ok = strspn(out->host, allowed);

	if (out->host[ok])
		return bad(err, text, "character not allowed in a host name:", out->host + ok, 1);
	return 0;
}

int mc_addr_parse(const char *text, uint16_t default_port, unsigned int flags, struct mc_addr *out,
		  struct mc_error *err)
{
	struct parts p;
	int rc;

	memset(out, 0, sizeof(*out));
	out->flags = flags;
	out->port = default_port;
	if (strlen(text) >= sizeof(out->text))
		return mc_error_set(err, -EINVAL, EINVAL, "address '%.40s...' is longer than %zu bytes", text,
				    sizeof(out->text) - 1);
	strcpy(out->text, text);
	rc = split(text, &p, err);
	if (rc)
		return rc;
	if (!p.host_len)
		return bad(err, text, "no host in", text, strlen(text));
	if (p.host_len >= sizeof(out->host))
		return bad(err, text, "host is longer than 255 bytes:", p.host, 40);
	memcpy(out->host, p.host, p.host_len);
	rc = parse_port(text, &p, out, err);
	if (rc)
		return rc;
	if (p.brackets || strchr(out->host, ':'))
		return set_v6(text, out, err);
	if (strspn(out->host, DIGITS ".") == p.host_len)
		return set_v4(text, out, err);
	return check_name(text, out, err);
}

static void set_port(struct mc_sockaddr *s, uint16_t port)
{
	if (s->sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&s->sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&s->sa)->sin_port = htons(port);
}

static int resolve_interface(const struct mc_addr *addr, struct mc_sockaddr *out, size_t max, struct mc_error *err)
{
	struct ifaddrs *all, *i;
	size_t n = 0;

	if (getifaddrs(&all))
		return mc_error_set(err, -errno, errno, "addresses of network interface '%s': %s", addr->host,
				    strerror(errno));
	for (i = all; i && n < max; i = i->ifa_next) {
		if (strcmp(i->ifa_name, addr->host) || !i->ifa_addr ||
		    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		out[n].len = i->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
			     sizeof(struct sockaddr_in);
		memset(&out[n].sa, 0, sizeof(out[n].sa));
		memcpy(&out[n].sa, i->ifa_addr, out[n].len);
		set_port(&out[n++], addr->port);
	}
	freeifaddrs(all);
	if (!n)
		return mc_error_set(err, -EADDRNOTAVAIL, EADDRNOTAVAIL, "network interface '%s' has no IP address",
				    addr->host);
	return n;
}

static int resolve_name(const struct mc_addr *addr, struct mc_sockaddr *out, size_t max, struct mc_error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *res, *i;
	size_t n = 0;
	int rc;

	if (addr->flags & MC_ADDR_LISTEN)
		hints.ai_flags = AI_PASSIVE;
	rc = getaddrinfo(addr->host, NULL, &hints, &res);
	if (rc)
		return mc_error_set(err, -EHOSTUNREACH, EHOSTUNREACH, "host name '%s' (in '%s') can't be resolved: %s",
				    addr->host, addr->text, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	for (i = res; i && n < max; i = i->ai_next) {
		if (i->ai_family != AF_INET && i->ai_family != AF_INET6)
			continue;
		memset(&out[n].sa, 0, sizeof(out[n].sa));
		memcpy(&out[n].sa, i->ai_addr, i->ai_addrlen);
		out[n].len = i->ai_addrlen;
		set_port(&out[n++], addr->port);
	}
	freeaddrinfo(res);
	if (!n)
		return mc_error_set(err, -EHOSTUNREACH, EHOSTUNREACH, "host name '%s' (in '%s') has no IP address",
				    addr->host, addr->text);
	return n;
}

int mc_addr_resolve(const struct mc_addr *addr, struct mc_sockaddr *out, size_t max, struct mc_error *err)
{
	if (!max)
		return mc_error_set(err, -EINVAL, EINVAL, "no room for the addresses of '%s'", addr->text);
	if (addr->numeric) {
		out[0].sa = addr->sa;
		out[0].len = addr->sa_len;
		return 1;
	}
	if ((addr->flags & MC_ADDR_LISTEN) && if_nametoindex(addr->host))
		return resolve_interface(addr, out, max, err);
	return resolve_name(addr, out, max, err);
}

const char *mc_addr_format(const struct sockaddr *sa, char *out, size_t outlen)
{
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1], port[8];
	socklen_t len = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (getnameinfo(sa, len, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(out, outlen, "address family %d", sa->sa_family);
	else
		snprintf(out, outlen, sa->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return out;
}
