// SPDX-License-Identifier: MIT
/* Ways to the master: plain calls, and libmooncake. */
#include "client.h"
#include "ctl.h"

int ctl_rpc_open(const struct ctl *c, struct mc_rpc_client **out)
{
	struct mc_error err;

	if (mc_rpc_client_new(c->master, "mooncake.v1.Master", MC_MASTER_PORT, out, &err))
		return ctl_fail(c, ctl_exit_of(err.code, err.sys_errno), "master: %s", err.text);
	return MCT_EXIT_OK;
}

void ctl_store_config(const struct ctl *c, bool need_device, struct mc_store_config *cfg)
{
	mc_store_config_init(cfg);
	cfg->master = c->master;
	cfg->tenant = c->tenant;
	cfg->timeout_ms = c->timeout_ms;
	cfg->device = need_device ? c->device : "";
}

int ctl_store_open(const struct ctl *c, bool need_device, struct mc_store **out)
{
	struct mc_store_config cfg;
	struct mc_error err;

	ctl_store_config(c, need_device, &cfg);
	if (mc_store_open(&cfg, out, &err))
		return ctl_fail_store(c, &err);
	return MCT_EXIT_OK;
}
