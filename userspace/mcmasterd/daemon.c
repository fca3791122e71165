// SPDX-License-Identifier: MIT
/* The life of the process: sets the parts up, runs the loop, takes them down. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "log.h"
#include "server.h"
#include "service.h"

#define DRAIN_MSEC	1000	/* how long replies may take to leave after SIGTERM */

static struct event_base *loop;
static struct mc_rpc_server *server;
static struct mc_master *master;

static void log_rpc(void *ctx, const char *line)
{
	(void)ctx;
	mc_log(MC_LOG_INFO, "%s", line);
}

static void on_drain(evutil_socket_t fd, short what, void *arg)
{
	static int waited;

	(void)fd;
	(void)what;
	(void)arg;
	waited += 20;
	if (waited >= DRAIN_MSEC || mc_rpc_server_idle(server))
		event_base_loopbreak(loop);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct timeval tv = { .tv_usec = 20000 };

	(void)what;
	mc_log(MC_LOG_INFO, "signal %d: stopping", (int)sig);
	mc_rpc_server_stop(server);
	event_add(arg, &tv);
}

static void on_hup(evutil_socket_t sig, short what, void *arg)
{
	const struct mc_opts *o = arg;
	uint8_t key[MC_GRANT_KEY];
	char err[256];
	uint32_t gen;

	(void)sig;
	(void)what;
	if (mc_opts_key(o, key, &gen, err, sizeof(err))) {
		mc_log(MC_LOG_ERROR, "SIGHUP: %s; grants are signed as before", err);
		return;
	}
	mc_minter_set(&master->minter, key, gen);
	explicit_bzero(key, sizeof(key));
	if (gen)
		mc_log(MC_LOG_INFO, "SIGHUP: grants are signed with generation %u of the cluster key", gen);
	else
		mc_log(MC_LOG_WARN, "SIGHUP: no --key-file is given: grants are signed without a key");
}

static int listen_on(const struct mc_journal *j, const struct mc_addr *addr)
{
	struct mc_sockaddr sa[16];
	struct mc_error err = { 0 };
	char text[96], why[160];
	int n, i, port;

	n = mc_addr_resolve(addr, sa, sizeof(sa) / sizeof(sa[0]), &err);
	if (n < 0) {
		mc_log(MC_LOG_ERROR, "--listen: %s", err.text);
		return MC_EXIT_USAGE;
	}
	for (i = 0; i < n; i++) {
		struct sockaddr *at = (struct sockaddr *)&sa[i].sa;

		port = mc_rpc_server_listen(server, at, sa[i].len, why, sizeof(why));
		if (port < 0) {
			mc_log(MC_LOG_ERROR, "%s: %s", mc_addr_format(at, text, sizeof(text)), why);
			return MC_EXIT_RUN;
		}
		/* Port 0 asks for any: say which it became. */
		if (at->sa_family == AF_INET6)
			((struct sockaddr_in6 *)at)->sin6_port = htons(port);
		else
			((struct sockaddr_in *)at)->sin_port = htons(port);
		mc_log(MC_LOG_START, "listening on %s (journal %s: %s; auth %s)",
		       mc_addr_format(at, text, sizeof(text)),
		       j->name, j->promise, master->minter.gen ? "key" : "none");
	}
	return 0;
}

static int write_pidfile(const char *path)
{
	FILE *f = fopen(path, "w");
	int ok;

	if (!f) {
		mc_log(MC_LOG_ERROR, "--pidfile '%s': %s", path, strerror(errno));
		return MC_EXIT_RUN;
	}
	ok = fprintf(f, "%d\n", (int)getpid()) > 0;
	if (fclose(f) || !ok) {
		mc_log(MC_LOG_ERROR, "--pidfile '%s': %s", path, strerror(errno));
		return MC_EXIT_RUN;
	}
	return 0;
}

static int listen_and_loop(const struct mc_opts *o, const struct mc_journal *j)
{
	int status = 0;
	uint32_t i;

	for (i = 0; !status && i < o->nlisten; i++)
		status = listen_on(j, &o->listen[i]);
	if (!status && o->pidfile)
		status = write_pidfile(o->pidfile);
	if (status)
		return status;
	if (event_base_dispatch(loop) < 0)
		status = MC_EXIT_RUN;
	if (o->pidfile)
		unlink(o->pidfile);
	return status;
}

/* Signals are caught before anybody can know that we are there. */
static int serve(const struct mc_opts *o, const struct mc_journal *j)
{
	struct event *drain = event_new(loop, -1, EV_PERSIST, on_drain, NULL);
	struct event *term = evsignal_new(loop, SIGTERM, on_signal, drain);
	struct event *intr = evsignal_new(loop, SIGINT, on_signal, drain);
	struct event *hup = evsignal_new(loop, SIGHUP, on_hup, (void *)o);
	int status = MC_EXIT_RUN;

	if (drain && term && intr && hup && !event_add(term, NULL) && !event_add(intr, NULL) && !event_add(hup, NULL))
		status = listen_and_loop(o, j);
	if (hup)
		event_free(hup);
	if (intr)
		event_free(intr);
	if (term)
		event_free(term);
	if (drain)
		event_free(drain);
	return status;
}

static int run(const struct mc_opts *o, struct mc_master *m)
{
	struct mc_service service;
	struct mc_rpc_server_config cfg = { .base = loop, .service = &service.base.base, .log = log_rpc };
	int status;

	mc_service_init(&service, m);
	server = mc_rpc_server_new(&cfg);
	if (!server) {
		mc_log(MC_LOG_ERROR, "out of memory");
		return MC_EXIT_RUN;
	}
	status = serve(o, &m->journal);
	mc_rpc_server_free(server);
	return status;
}

int mc_daemon_run(const struct mc_opts *opts)
{
	struct mc_master_config cfg = opts->master;
	struct mc_result res = { 0 };
	struct mc_master *m = NULL;
	char err[256];
	int status;

	if (mc_opts_key(opts, cfg.key, &cfg.key_gen, err, sizeof(err))) {
		mc_log(MC_LOG_ERROR, "%s", err);
		return MC_EXIT_RUN;
	}

	signal(SIGPIPE, SIG_IGN);
	loop = event_base_new();
	if (loop)
		m = mc_master_new(&cfg, loop, &res);
	if (!m) {
		mc_log(MC_LOG_ERROR, "%s", loop ? res.text : "can't make an event loop");
		if (loop)
			event_base_free(loop);
		return MC_EXIT_RUN;
	}
	explicit_bzero(cfg.key, sizeof(cfg.key));
	master = m;
	status = run(opts, m);
	mc_master_free(m);
	event_base_free(loop);
	return status;
}
