// SPDX-License-Identifier: MIT
/* mcnoded: order of start and end, and the loop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "log.h"
#include "loop.h"
#include "mctext.h"
#include "node.h"
#include "opts.h"

static volatile sig_atomic_t stopping;

static void on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

static void on_hup(int sig)
{
	(void)sig;
	nd_reload_key = 1;
}

static void complain(const char *line, void *arg)
{
	(void)arg;
	nd_log(ND_ERROR, "%s", line);
}

static int load_identity(const struct nd_config *cfg, struct nd_node *nd)
{
	uint8_t uuid[MC_UUID_LEN];
	char err[ND_TEXT];
	int rc = mct_uuid_file_load(cfg->uuid_file, uuid, err, sizeof(err));

	if (rc == -ENOENT)
		rc = mct_uuid_file_create(cfg->uuid_file, uuid, err, sizeof(err));
	nd->key_gen = cfg->key_gen;
	if (!rc && !cfg->auth_none)
		rc = mct_key_load(cfg->key_file, nd->key, &nd->key_gen, err, sizeof(err));
	if (rc) {
		nd_log(ND_ERROR, "%s", err);
		return rc == -EACCES || rc == -EPERM ? MCT_EXIT_PERMISSION : MCT_EXIT_FAILED;
	}
	rc = nd_init(nd, uuid);
	return rc ? MCT_EXIT_FAILED : MCT_EXIT_OK;
}

static int start(struct nd_node *nd, struct mcnl **nl)
{
	int rc = mcnl_open(nl);

	if (rc) {
		nd_log(ND_ERROR, "%s", mcnl_errmsg(*nl));
		return rc == -ENOENT ? MCT_EXIT_NO_MODULE : MCT_EXIT_FAILED;
	}
	rc = nd_setup(nd);
	if (rc) {
		nd_log(ND_ERROR, "%s", nd->errmsg);
		return rc == -EPERM ? MCT_EXIT_PERMISSION : MCT_EXIT_FAILED;
	}
	nd_log(ND_INFO, "kernel is set up: %zu rails, pool %s", nd->self.n_rails,
	       nd->cfg->has_pool ? nd->pool.name : "none");
	nd_loop(nd, &stopping);
	return nd_stop(nd) ? MCT_EXIT_FAILED : MCT_EXIT_OK;
}

static int serve(struct nd_config *cfg)
{
	struct nd_node nd = { .cfg = cfg, .k = &nd_kernel_mcnl, .m = &nd_master_grpc, .now = nd_boottime };
	struct mc_rpc_client *client = NULL;
	struct mcnl *nl = NULL;
	struct mc_error err;
	int status = load_identity(cfg, &nd);

	nd.kctx = &nl;
	if (status == MCT_EXIT_OK && mc_rpc_client_new(cfg->master, "mooncake.v1.Master", 50051, &client, &err)) {
		nd_log(ND_ERROR, "master: %s", err.text);
		status = MCT_EXIT_FAILED;
	}
	nd.mctx = client;
	if (status == MCT_EXIT_OK)
		status = start(&nd, &nl);
	mc_rpc_client_free(client);
	mcnl_close(nl);
	nd_fini(&nd);
	return status;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal }, hup = { .sa_handler = on_hup };
	static struct nd_config cfg;
	struct nd_opts o;
	sigset_t block;
	int status = nd_opts_parse(argc, argv, &o);

	if (status >= 0)
		return status;
	if (nd_config_load(o.config, &cfg, complain, NULL))
		return MCT_EXIT_USAGE;
	if (o.check) {
		printf("%s: fine\n", o.config);
		return MCT_EXIT_OK;
	}
	cfg.destroy_pool |= o.destroy_pool;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGHUP, &hup, NULL);
	signal(SIGPIPE, SIG_IGN);
	return serve(&cfg);
}
