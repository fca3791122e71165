// SPDX-License-Identifier: MIT
/* Lines of JSON over TCP; no wait is without a limit. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "addr.h"
#include "trace.h"

#define RETRY_MS	200

uint64_t tr_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static uint64_t end_of(int timeout_ms)
{
	return tr_now_ns() + (uint64_t)timeout_ms * 1000000ULL;
}

static int left_ms(uint64_t end)
{
	uint64_t now = tr_now_ns();

	return now >= end ? 0 : (int)((end - now + 999999) / 1000000);
}

static int wait_for(int fd, short events, uint64_t end)
{
	struct pollfd p = { .fd = fd, .events = events };
	int rc = poll(&p, 1, left_ms(end));

	if (rc < 0)
		return errno == EINTR ? 0 : -errno;
	return rc ? 0 : -ETIMEDOUT;
}

int tr_send(struct tr_conn *c, json_t *msg, int timeout_ms)
{
	char *text = json_dumps(msg, JSON_COMPACT);
	uint64_t end = end_of(timeout_ms);
	size_t len, done = 0;
	int rc = 0;

	json_decref(msg);
	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n';	/* takes the place of the NUL */
	while (done < len && !rc) {
		ssize_t n = send(c->fd, text + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			rc = wait_for(c->fd, POLLOUT, end);
		else
			rc = -errno;
	}
	free(text);
	return rc;
}

static json_t *take_line(struct tr_conn *c, int *rc)
{
	char *nl = memchr(c->buf, '\n', c->have);
	size_t len = nl ? (size_t)(nl - c->buf) : 0;
	json_t *o;

	*rc = 0;
	if (!nl) {
		*rc = c->have == sizeof(c->buf) ? -EBADMSG : -EAGAIN;
		return NULL;
	}
	o = json_loadb(c->buf, len, 0, NULL);
	c->have -= len + 1;
	memmove(c->buf, nl + 1, c->have);
	if (!json_is_object(o)) {
		json_decref(o);
		*rc = -EBADMSG;
		return NULL;
	}
	return o;
}

json_t *tr_recv(struct tr_conn *c, int timeout_ms, int *rc)
{
	uint64_t end = end_of(timeout_ms);
	json_t *o;
	ssize_t n;

	for (;;) {
		o = take_line(c, rc);
		if (o || *rc != -EAGAIN)
			return o;
		n = recv(c->fd, c->buf + c->have, sizeof(c->buf) - c->have, MSG_DONTWAIT);
		if (n > 0) {
			c->have += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			*rc = wait_for(c->fd, POLLIN, end);
		else
			*rc = n ? -errno : -EPIPE;
		if (*rc)
			return NULL;
	}
}

void tr_close(struct tr_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->have = 0;
}

static int connect_once(const struct mc_sockaddr *sa, uint64_t end)
{
	int fd = socket(sa->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(int);
	int one = 1, rc = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&sa->sa, sa->len)) {
		rc = errno == EINPROGRESS ? wait_for(fd, POLLOUT, end) : -errno;
		if (!rc && getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &len) == 0)
			rc = -rc;
	}
	if (rc) {
		close(fd);
		return rc;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int resolve(const char *address, unsigned int flags, struct mc_sockaddr *sa, size_t max, char *err,
		   size_t errlen)
{
	struct mc_error why = { 0 };
	struct mc_addr a;
	int n = mc_addr_parse(address, TR_PORT, flags, &a, &why);

	if (!n)
		n = mc_addr_resolve(&a, sa, max, &why);
	if (n < 0)
		snprintf(err, errlen, "%s", why.text);
	return n;
}

/* The conductor may start later than its lanes. */
int tr_connect(struct tr_conn *c, const char *address, int timeout_ms, char *err, size_t errlen)
{
	uint64_t end = end_of(timeout_ms);
	struct mc_sockaddr sa[8];
	int n = resolve(address, 0, sa, 8, err, errlen), rc = -ETIMEDOUT;

	c->fd = -1;
	c->have = 0;
	if (n < 0)
		return n;
	do {
		for (int i = 0; i < n; i++) {
			rc = connect_once(&sa[i], end);
			if (rc >= 0) {
				c->fd = rc;
				return 0;
			}
		}
		if (left_ms(end) > RETRY_MS)
			poll(NULL, 0, RETRY_MS);
	} while (left_ms(end) > RETRY_MS);
	snprintf(err, errlen, "conductor %s: %s (after %d ms of trying)", address, strerror(-rc), timeout_ms);
	return rc;
}

int tr_listen(const char *address, char *err, size_t errlen)
{
	struct mc_sockaddr sa;
	int one = 1, fd, rc = resolve(address, MC_ADDR_LISTEN, &sa, 1, err, errlen);

	if (rc < 0)
		return rc;
	fd = socket(sa.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (struct sockaddr *)&sa.sa, sa.len) && !listen(fd, 64))
		return fd;
	rc = -errno;
	snprintf(err, errlen, "listen on %s: %s", address, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}
