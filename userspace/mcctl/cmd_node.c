// SPDX-License-Identifier: MIT
/* node, key, version: who this node is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nlctl.h"

#define UUID_FILE	"/var/lib/mooncake/node-uuid"

int ctl_nl_open(const struct ctl *c, struct mcnl **out)
{
	int rc = mcnl_open(out);

	if (!rc)
		return MCT_EXIT_OK;
	ctl_fail(c, 0, "%s", mcnl_errmsg(*out));
	mcnl_close(*out);
	*out = NULL;
	return rc == -ENOENT ? MCT_EXIT_NO_MODULE : mct_exit_of_errno(rc);
}

int ctl_nl_done(const struct ctl *c, struct mcnl *nl, int rc)
{
	if (rc)
		ctl_fail(c, 0, "%s", mcnl_errmsg(nl));
	mcnl_close(nl);
	return mct_exit_of_errno(rc);
}

static const char *auth_name(uint32_t auth)
{
	static const char *const names[] = { "none", "key", "unset (no key loaded: nothing connects)" };

	return auth < 3 ? names[auth] : "unknown";
}

static int node_show(struct ctl *c)
{
	char instance[20];
	struct mcnl_info i;
	struct mcnl *nl;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = ctl_nl_done(c, nl, mcnl_info(nl, &i));
	if (rc)
		return rc;
	snprintf(instance, sizeof(instance), "%016llx", (unsigned long long)i.instance);
	return ctl_print(c, json_pack("{so so ss ss si so sI sI sI sI}", "node_uuid", ctl_uuid(i.node_uuid),
		"cluster_uuid", ctl_uuid(i.cluster_uuid), "instance", instance, "auth", auth_name(i.auth),
		"key_generation", (int)i.key_gen, "clock_epoch",
		json_sprintf("%llu", (unsigned long long)i.clock_epoch),
		"clock_offset_ns", (json_int_t)i.clock_offset, "clock_error_ns", (json_int_t)i.clock_error,
		"clock_age_ns", (json_int_t)i.clock_age, "local_bytes", (json_int_t)i.local_bytes));
}

static int node_init(struct ctl *c)
{
	const char *path = c->argc ? c->argv[0] : UUID_FILE;
	uint8_t uuid[MC_UUID_LEN];
	char err[512];
	int rc = mct_uuid_file_create(path, uuid, err, sizeof(err));

	if (rc)
		return ctl_fail(c, mct_exit_of_errno(rc), "%s", err);
	return ctl_print(c, json_pack("{so ss}", "node_uuid", ctl_uuid(uuid), "file", path));
}

static const struct ctl_opt set_opts[] = {
	{ "cluster", "UUID", "cluster this node belongs to (required)" },
	{ "uuid", "UUID", "identity (default: from the file)" },
	{ "uuid-file", "FILE", "where the identity is kept (default " UUID_FILE ")" },
	{ "auth", "none|key", "go without a key, or need one (default key)" },
	{ NULL, NULL, NULL },
};

static int node_identity(struct ctl *c, uint8_t *uuid, uint8_t *cluster, uint32_t *auth)
{
	char err[512];
	int rc;

	if (!c->val[0])
		return ctl_fail(c, MCT_EXIT_USAGE, "--cluster is missing");
	if (!mct_uuid_parse(c->val[0], cluster))
		return ctl_fail(c, MCT_EXIT_USAGE, "--cluster '%s' is not a UUID", c->val[0]);
	if (c->val[3] && strcmp(c->val[3], "none") && strcmp(c->val[3], "key"))
		return ctl_fail(c, MCT_EXIT_USAGE, "--auth '%s' is neither 'none' nor 'key'", c->val[3]);
	*auth = c->val[3] && !strcmp(c->val[3], "none") ? MC_AUTH_NONE : MC_AUTH_KEY;
	if (c->val[1]) {
		if (!mct_uuid_parse(c->val[1], uuid))
			return ctl_fail(c, MCT_EXIT_USAGE, "--uuid '%s' is not a UUID", c->val[1]);
		return MCT_EXIT_OK;
	}
	rc = mct_uuid_file_load(c->val[2] ? c->val[2] : UUID_FILE, uuid, err, sizeof(err));
	return rc ? ctl_fail(c, mct_exit_of_errno(rc), "%s", err) : MCT_EXIT_OK;
}

static int node_set(struct ctl *c)
{
	uint8_t uuid[MC_UUID_LEN], cluster[MC_UUID_LEN];
	struct mcnl *nl;
	uint32_t auth;
	int rc = node_identity(c, uuid, cluster, &auth);

	if (!rc)
		rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = ctl_nl_done(c, nl, mcnl_node_set(nl, uuid, cluster, auth));
	return rc ? rc : ctl_print(c, json_pack("{so so}", "node_uuid", ctl_uuid(uuid), "cluster_uuid",
						ctl_uuid(cluster)));
}

static const struct ctl_opt key_opts[] = {
	{ "generation", "N", "number of the key when the file does not name it, from 1 (default 1)" },
	{ NULL, NULL, NULL },
};

/* Gives the module a key that was read or made, and wipes it. */
static int key_give(struct ctl *c, struct mcnl *nl, uint8_t *key, uint32_t gen)
{
	int rc = ctl_nl_done(c, nl, mcnl_key_set(nl, gen, key));

	explicit_bzero(key, MC_KEY_LEN);
	return rc ? rc : ctl_print(c, json_pack("{sI ss}", "generation", (json_int_t)gen, "file", c->argv[0]));
}

static int key_generation(struct ctl *c, uint32_t *gen)
{
	uint64_t v = 1;

	if (c->val[0] && !mct_u64_parse(c->val[0], 1, UINT32_MAX, &v))
		return ctl_fail(c, MCT_EXIT_USAGE, "--generation '%s' is not a number from 1 to %u", c->val[0],
				UINT32_MAX);
	*gen = (uint32_t)v;
	return MCT_EXIT_OK;
}

static int key_load(struct ctl *c)
{
	uint8_t key[MC_KEY_LEN];
	struct mcnl *nl;
	uint32_t gen;
	char err[512];
	int rc = key_generation(c, &gen);

	if (rc)
		return rc;
	rc = mct_key_load(c->argv[0], key, &gen, err, sizeof(err));
	if (rc)
		return ctl_fail(c, mct_exit_of_errno(rc), "%s", err);
	rc = ctl_nl_open(c, &nl);
	if (!rc)
		return key_give(c, nl, key, gen);
	explicit_bzero(key, sizeof(key));
	return rc;
}

/* The file stays as it is unless there is a module to give the new key to. */
static int key_rotate(struct ctl *c)
{
	uint8_t key[MC_KEY_LEN];
	struct mcnl *nl;
	uint32_t gen;
	char err[512];
	int rc = key_generation(c, &gen);

	if (!rc)
		rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = mct_key_rotate(c->argv[0], key, &gen, err, sizeof(err));
	if (!rc)
		return key_give(c, nl, key, gen);
	mcnl_close(nl);
	return ctl_fail(c, mct_exit_of_errno(rc), "%s", err);
}

static int key_show(struct ctl *c)
{
	struct mcnl_info i;
	struct mcnl *nl;
	int rc = ctl_nl_open(c, &nl);

	if (!rc)
		rc = ctl_nl_done(c, nl, mcnl_info(nl, &i));
	return rc ? rc : ctl_print(c, json_pack("{ss sI sI}", "auth", auth_name(i.auth), "generation",
						(json_int_t)i.key_gen, "also_accepted", (json_int_t)i.key_gen_old));
}

static int key_generate(struct ctl *c)
{
	char err[512];
	int rc = mct_key_generate(c->argv[0], err, sizeof(err));

	if (rc)
		return ctl_fail(c, mct_exit_of_errno(rc), "%s", err);
	return ctl_print(c, json_pack("{ss}", "file", c->argv[0]));
}

static int version(struct ctl *c)
{
	char abi[24];

	snprintf(abi, sizeof(abi), "%d.%d", MC_ABI_MAJOR, MC_ABI_MINOR);
	return ctl_print(c, json_pack("{ss ss}", "mcctl", MC_VERSION, "device_abi", abi));
}

const struct ctl_cmd ctl_node_cmds[] = {
	{ "node", "show", "", 0, 0, "identity, key and clock of this node's module", NULL, node_show },
	{ "node", "init", "[FILE]", 0, 1, "make this node's identity, once (default " UUID_FILE ")", NULL,
	  node_init },
	{ "node", "set", "--cluster UUID", 0, 0, "give the module its identity", set_opts, node_set },
	{ "key", "load", "FILE", 1, 1, "load the cluster key into the module", key_opts, key_load },
	{ "key", "rotate", "FILE", 1, 1, "replace the key in the file by a new one and load that", key_opts,
	  key_rotate },
	{ "key", "show", "", 0, 0, "generations of the key that the module accepts", NULL, key_show },
	{ "key", "generate", "FILE", 1, 1, "write a new random cluster key", NULL, key_generate },
	{ "version", NULL, "", 0, 0, "versions of this program", NULL, version },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
