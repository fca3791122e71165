// SPDX-License-Identifier: MIT
/* The gRPC client's way to a connected socket: resolve, try one address after the other, pause after a failure. */
#include "client_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_NS		(5 * 1000000000ull)	/* for one address */
#define BACKOFF_MIN_MS		50u
#define BACKOFF_MAX_MS		1000u
#define USER_TIMEOUT_MS		10000			/* unacknowledged bytes: the peer's machine is gone */
#define KEEPALIVE_IDLE_S	10

void mc_lookup_put(struct mc_lookup *l)
{
	int left;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	left = --l->refs;
	pthread_mutex_unlock(&l->lock);
	if (left)
		return;
	close(l->efd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *lookup_thread(void *arg)
{
	struct mc_lookup *l = arg;
	struct mc_sockaddr out[MC_RPC_MAX_ADDRS];
	struct mc_error err = { 0 };
	uint64_t one = 1;
	int n = mc_addr_resolve(&l->addr, out, MC_RPC_MAX_ADDRS, &err);

	pthread_mutex_lock(&l->lock);
	memcpy(l->out, out, sizeof(out[0]) * (n > 0 ? n : 0));
	l->n = n;
	l->err = err;
	pthread_mutex_unlock(&l->lock);
	if (write(l->efd, &one, sizeof(one)) < 0)
		abort();	/* an eventfd of our own at 0 takes a 1 */
	mc_lookup_put(l);
	return NULL;
}

static int start_detached(struct mc_lookup *l)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&thread, &attr, lookup_thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

struct mc_lookup *mc_lookup_start(const struct mc_addr *addr)
{
	struct mc_lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->addr = *addr;
	l->refs = 2;
	l->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->efd < 0) {
		pthread_mutex_destroy(&l->lock);
		free(l);
		return NULL;
	}
	if (start_detached(l)) {
		l->refs = 1;
		mc_lookup_put(l);
		return NULL;
	}
	return l;
}

static void close_socket(struct mc_rpc_client *c)
{
	if (c->conn.session)
		nghttp2_session_del(c->conn.session);
	c->conn.session = NULL;
	if (c->conn.fd >= 0)
		close(c->conn.fd);
	c->conn.fd = -1;
}

void mc_conn_drop(struct mc_rpc_client *c, const struct mc_error *err)
{
	struct mc_call *call;

	close_socket(c);
	mc_lookup_put(c->conn.lookup);
	c->conn.lookup = NULL;
	c->conn.draining = false;
	c->conn.last = *err;
	mc_set_phase(c, MC_PHASE_DOWN);
	while ((call = TAILQ_FIRST(&c->active))) {
		TAILQ_REMOVE(&c->active, call, link);
		mc_call_end(c, call, err);
	}
}

static void fail_waiting(struct mc_rpc_client *c, const struct mc_error *err)
{
	struct mc_call_list all = TAILQ_HEAD_INITIALIZER(all);
	struct mc_call *call;

	pthread_mutex_lock(&c->lock);
	TAILQ_CONCAT(&all, &c->queue, link);
	pthread_mutex_unlock(&c->lock);
	while ((call = TAILQ_FIRST(&all))) {
		TAILQ_REMOVE(&all, call, link);
		mc_call_end(c, call, err);
	}
}

void mc_conn_fail(struct mc_rpc_client *c, const struct mc_error *err)
{
	unsigned int pause = c->conn.backoff_ms ? c->conn.backoff_ms : BACKOFF_MIN_MS;

	mc_conn_drop(c, err);
	c->conn.retry_at_ns = mc_client_now_ns() + pause * 1000000ull;
	c->conn.backoff_ms = pause * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : pause * 2;
	fail_waiting(c, err);
}

static void set_options(int fd)
{
	int one = 1, user = USER_TIMEOUT_MS, idle = KEEPALIVE_IDLE_S;

	/* Each is an improvement only: a connection without them works. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user, sizeof(user));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
}

/* Starts to connect to one address. Returns 0 or an errno. */
static int try_address(struct mc_rpc_client *c, const struct mc_sockaddr *a)
{
	struct mc_conn *conn = &c->conn;

	mc_addr_format((const struct sockaddr *)&a->sa, conn->peer, sizeof(conn->peer));
	conn->fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		return errno;
	set_options(conn->fd);
	conn->connect_by_ns = mc_client_now_ns() + CONNECT_NS;
	if (connect(conn->fd, (const struct sockaddr *)&a->sa, a->len) && errno != EINPROGRESS)
		return errno;
	return 0;
}

static void describe(struct mc_rpc_client *c, int sys, struct mc_error *err)
{
	const char *peer = c->addr.numeric ? c->addr.text : c->conn.peer;

	if (sys == ECONNREFUSED)
		mc_error_set(err, MC_ERPC_FAIL, sys, "connection refused by %s (%s): is the server running there?",
			     c->addr.text, c->conn.peer);
	else if (sys == ETIMEDOUT)
		mc_error_set(err, MC_ERPC_TIMEOUT, sys, "%s (%s) does not answer to a connection", c->addr.text, peer);
	else
		mc_error_set(err, MC_ERPC_FAIL, sys, "can't connect to %s (%s): %s", c->addr.text, c->conn.peer,
			     strerror(sys));
}

/* Goes to the next address of the name; after the last one the attempt has failed with @sys. */
static void next_address(struct mc_rpc_client *c, int sys)
{
	struct mc_error err;

	for (;;) {
		close_socket(c);
		if (c->conn.next_addr >= c->conn.n_addrs)
			break;
		sys = try_address(c, &c->conn.addrs[c->conn.next_addr++]);
		if (!sys) {
			mc_set_phase(c, MC_PHASE_CONNECTING);
			return;
		}
	}
	describe(c, sys, &err);
	mc_conn_fail(c, &err);
}

void mc_conn_start(struct mc_rpc_client *c)
{
	struct mc_error err;

	c->conn.next_addr = 0;
	if (c->addr.numeric) {
		c->conn.n_addrs = mc_addr_resolve(&c->addr, c->conn.addrs, MC_RPC_MAX_ADDRS, &err);
		next_address(c, EHOSTUNREACH);
		return;
	}
	c->conn.lookup = mc_lookup_start(&c->addr);
	if (c->conn.lookup) {
		mc_set_phase(c, MC_PHASE_RESOLVING);
		return;
	}
	mc_error_set(&err, MC_ERPC_FAIL, ENOMEM, "no resources to resolve the host name of %s", c->addr.text);
	mc_conn_fail(c, &err);
}

void mc_conn_looked_up(struct mc_rpc_client *c)
{
	struct mc_lookup *l = c->conn.lookup;
	struct mc_error err;

	pthread_mutex_lock(&l->lock);
	c->conn.n_addrs = l->n;
	memcpy(c->conn.addrs, l->out, sizeof(l->out));
	err = l->err;
	pthread_mutex_unlock(&l->lock);
	mc_lookup_put(l);
	c->conn.lookup = NULL;
	if (c->conn.n_addrs > 0) {
		next_address(c, EHOSTUNREACH);
		return;
	}
	err.code = MC_ERPC_FAIL;
	mc_conn_fail(c, &err);
}

void mc_conn_connected(struct mc_rpc_client *c, bool late)
{
	struct mc_error err;
	socklen_t len = sizeof(int);
	int sys = 0;

	if (late && mc_client_now_ns() < c->conn.connect_by_ns)
		return;
	if (late)
		sys = ETIMEDOUT;
	else if (getsockopt(c->conn.fd, SOL_SOCKET, SO_ERROR, &sys, &len))
		sys = errno;
	if (sys) {
		next_address(c, sys);
		return;
	}
	if (mc_h2_open(c)) {
		mc_error_set(&err, MC_ERPC_FAIL, ENOMEM, "no memory for the connection to %s", c->addr.text);
		mc_conn_fail(c, &err);
		return;
	}
	mc_set_phase(c, MC_PHASE_UP);
}
