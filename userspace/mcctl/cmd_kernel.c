// SPDX-License-Identifier: MIT
/* rail, pool, peer, buffer, client, fault: what this node's module has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "nlctl.h"

static json_t *endpoint(const struct mcnl_rail *r)
{
	char addr[MCT_ADDR_TEXT];

	mct_addr_text(&r->addr, addr);
	return r->addr.len == 16 ? json_sprintf("[%s]:%u", addr, r->port) : json_sprintf("%s:%u", addr, r->port);
}

static int add_counters(json_t *o, const struct mcnl_counters *n)
{
	json_t *more = json_pack("{sI sI sI sI sI sI sI sI}", "read_bytes", (json_int_t)n->read_bytes, "write_bytes",
				 (json_int_t)n->write_bytes, "read_ops", (json_int_t)n->read_ops, "write_ops",
				 (json_int_t)n->write_ops, "errors", (json_int_t)n->errors, "retries",
				 (json_int_t)n->retries, "inflight", (json_int_t)n->inflight, "reconnects",
				 (json_int_t)n->reconnects);
	int rc = json_object_update(o, more);

	json_decref(more);
	return rc;
}

static json_t *setting(uint32_t value)
{
	return value == MC_RAIL_DEFAULT ? json_null() : json_integer((json_int_t)value);
}

/* All there is to know of one rail. */
static json_t *rail_show_json(const struct mcnl_rail *r)
{
	json_t *o = json_pack("{si ss so ss sI sI so so si si ss}", "rail", (int)r->id, "device", r->dev, "address",
			      endpoint(r), "state", r->state, "slice_bytes", (json_int_t)r->slice_bytes, "tail_bytes",
			      (json_int_t)r->tail_bytes, "type_of_service", setting(r->tos), "service_level",
			      setting(r->service_level), "numa_node", (int)r->numa, "gid_index", (int)r->gid_index,
			      "gid_reason", r->gid_reason);

	add_counters(o, &r->c);
	return o;
}

static json_t *rail_json(const void *entry)
{
	const struct mcnl_rail *r = entry;
	json_t *o = json_pack("{si ss so ss}", "rail", (int)r->id, "device", r->dev, "address", endpoint(r),
			      "state", r->state);

	add_counters(o, &r->c);
	return o;
}

static json_t *path_json(const struct mcnl_path *p)
{
	json_t *bad = json_array();

	for (size_t i = 0; i < p->n_unreachable; i++)
		json_array_append_new(bad, json_integer(p->unreachable[i]));
	return json_pack("{si si ss sI sI si si si si si si so ss}", "local_rail", (int)p->local_rail, "rail",
			 (int)p->remote_rail, "state", p->state, "epoch", (json_int_t)p->epoch, "bandwidth",
			 (json_int_t)p->bandwidth, "attempts", (int)p->attempts, "mtu", (int)p->mtu, "read_depth",
			 (int)p->read_depth, "tos", (int)p->tos, "retries", (int)p->retries, "rnr_retries",
			 (int)p->rnr_retries, "unreachable", bad, "last_error", p->last_error);
}

static json_t *peer_json(const void *entry)
{
	const struct mcnl_peer *p = entry;
	json_t *rails = json_array(), *paths = json_array(), *o;

	for (size_t i = 0; i < p->n_rails; i++)
		json_array_append_new(rails, json_pack("{si so si ss}", "rail", (int)p->rails[i].id, "address",
			endpoint(&p->rails[i]), "local_rail", (int)p->rails[i].local_id, "state",
			p->rails[i].state));
	for (size_t i = 0; i < p->n_paths; i++)
		json_array_append_new(paths, path_json(&p->paths[i]));
	o = json_pack("{so ss sI so so ss}", "node_uuid", ctl_uuid(p->node_uuid), "state", p->state, "epoch",
		      (json_int_t)p->epoch, "rails", rails, "paths", paths, "last_error", p->last_error);
	add_counters(o, &p->c);
	return o;
}

static json_t *pool_json(const void *entry)
{
	const struct mcnl_pool *p = entry;

	return json_pack("{ss so sI si si ss si}", "name", p->name, "segment_uuid", ctl_uuid(p->seg_uuid), "bytes",
			 (json_int_t)p->len, "numa_node", (int)p->numa, "page_size", (int)p->page_size, "state",
			 p->state, "leases", (int)p->leases);
}

static const char *rights_name(uint32_t rights)
{
	if (rights & MC_RIGHT_WRITE)
		return rights & MC_RIGHT_READ ? "read-write" : "write";
	return rights & MC_RIGHT_READ ? "read" : "none";
}

static json_t *seg_json(const void *entry)
{
	const struct mcnl_seg *s = entry;

	return json_pack("{so so ss sI ss sI ss sI sI sI}", "name", ctl_text(s->name, strlen(s->name)), "segment_uuid",
			 ctl_uuid(s->seg_uuid), "kind", s->pid ? "exported" : "pool", "bytes", (json_int_t)s->len,
			 "rights", rights_name(s->rights), "generation", (json_int_t)s->gen, "state", s->state,
			 "leases", (json_int_t)s->leases, "pid", (json_int_t)s->pid, "uid", (json_int_t)s->uid);
}

static json_t *buf_json(const void *entry)
{
	const struct mcnl_buf *b = entry;

	return json_pack("{sI si si sI sI ss}", "buffer", (json_int_t)b->id, "pid", (int)b->pid, "uid", (int)b->uid,
			 "bytes", (json_int_t)b->len, "pinned", (json_int_t)b->pinned, "state", b->state);
}

static json_t *client_json(const void *entry)
{
	const struct mcnl_client *c = entry;

	return json_pack("{si si so ss sI sI}", "pid", (int)c->pid, "uid", (int)c->uid, "name",
			 ctl_text(c->name, strlen(c->name)), "state", c->state, "buffers", (json_int_t)c->buffers,
			 "pinned", (json_int_t)c->pinned);
}

/* All dumps print alike: an array, empty when there is nothing. */
static int print_list(struct ctl *c, struct mcnl *nl, int rc, void *mem, size_t n, size_t size,
		      json_t *(*one)(const void *entry))
{
	json_t *list = json_array();

	rc = ctl_nl_done(c, nl, rc);
	for (size_t i = 0; i < n && !rc; i++)
		json_array_append_new(list, one((char *)mem + i * size));
	free(mem);
	if (!rc)
		return ctl_print(c, list);
	json_decref(list);
	return rc;
}

static int rail_list(struct ctl *c)
{
	struct mcnl_rail *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_rails(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), rail_json);
}

static int peer_list(struct ctl *c)
{
	struct mcnl_peer *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_peers(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), peer_json);
}

static int rail_show(struct ctl *c)
{
	struct mcnl_rail *mem = NULL, *found = NULL;
	struct mcnl *nl;
	uint64_t id;
	size_t n = 0;
	int rc;

	if (!mct_u64_parse(c->argv[0], 1, UINT32_MAX, &id))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not the number of a rail", c->argv[0]);
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = ctl_nl_done(c, nl, mcnl_rails(nl, &mem, &n));
	for (size_t i = 0; i < n && !rc; i++)
		if (mem[i].id == id)
			found = &mem[i];
	if (!rc)
		rc = found ? ctl_print(c, rail_show_json(found)) :
			     ctl_fail(c, MCT_EXIT_NOT_FOUND, "there is no rail %s", c->argv[0]);
	free(mem);
	return rc;
}

static int peer_show(struct ctl *c)
{
	struct mcnl_peer *mem = NULL, *found = NULL;
	uint8_t uuid[MC_UUID_LEN];
	struct mcnl *nl;
	size_t n = 0;
	int rc;

	if (!mct_uuid_parse(c->argv[0], uuid))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not a UUID", c->argv[0]);
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = ctl_nl_done(c, nl, mcnl_peers(nl, &mem, &n));
	for (size_t i = 0; i < n && !rc; i++)
		if (!memcmp(mem[i].node_uuid, uuid, MC_UUID_LEN))
			found = &mem[i];
	if (!rc)
		rc = found ? ctl_print(c, peer_json(found)) :
			     ctl_fail(c, MCT_EXIT_NOT_FOUND, "%s is no peer", c->argv[0]);
	free(mem);
	return rc;
}

static int pool_list(struct ctl *c)
{
	struct mcnl_pool *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_pools(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), pool_json);
}

static int segment_ls(struct ctl *c)
{
	struct mcnl_seg *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_segs(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), seg_json);
}

static int buffer_list(struct ctl *c)
{
	struct mcnl_buf *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_bufs(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), buf_json);
}

static int client_list(struct ctl *c)
{
	struct mcnl_client *mem = NULL;
	struct mcnl *nl;
	size_t n = 0;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	rc = mcnl_clients(nl, &mem, &n);
	return print_list(c, nl, rc, mem, n, sizeof(*mem), client_json);
}

static const struct ctl_opt rail_opts[] = {
	{ "port", "N", "port to listen on (default 50060)" },
	{ NULL, NULL, NULL },
};

static int rail_add(struct ctl *c)
{
	uint64_t port = MC_DEFAULT_PORT;
	struct mcnl_addr addr;
	struct mcnl *nl;
	uint32_t id = 0;
	int rc;

	if (!mct_addr_parse(c->argv[1], &addr))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is neither an IPv4 nor an IPv6 address", c->argv[1]);
	if (c->val[0] && !mct_u64_parse(c->val[0], 1, 65535, &port))
		return ctl_fail(c, MCT_EXIT_USAGE, "--port '%s' is not a number from 1 to 65535", c->val[0]);
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = ctl_nl_done(c, nl, mcnl_rail_add(nl, c->argv[0], &addr, (uint16_t)port, &id));
	return rc ? rc : ctl_print(c, json_pack("{si ss}", "rail", (int)id, "device", c->argv[0]));
}

static const struct ctl_opt rail_set_opts[] = {
	{ "slice", "BYTES", "of a slice, 4096 to 16777216" },
	{ "tail", "BYTES", "of a rest that joins the last slice, at most a slice" },
	{ "tos", "N", "type of service of its connections, 0 to 255; default: the node's" },
	{ "service-level", "N", "priority of its connections, 0 to 15; default: the node's" },
	{ "node", "N", "NUMA node that --weight is for" },
	{ "weight", "N", "of the rail for that memory, 1 to 255; 0: by distance" },
	{ "pci", "DEVICE", "PCI function that --weight is for, such as 0000:41:00.0" },
	{ NULL, NULL, NULL },
};

static int rail_set(struct ctl *c)
{
	struct mcnl_rail_set set;
	int64_t *const to[] = { &set.slice, &set.tail, &set.tos, &set.service_level, &set.node, &set.weight };
	uint64_t id, v;
	struct mcnl *nl;
	int rc;

	if (!mct_u64_parse(c->argv[0], 1, UINT32_MAX, &id))
		return ctl_fail(c, MCT_EXIT_USAGE, "rail '%s' is not a number from 1 on", c->argv[0]);
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		*to[i] = -1;
		if (!c->val[i])
			continue;
		if ((i == 2 || i == 3) && !strcmp(c->val[i], "default"))
			v = MC_RAIL_DEFAULT;
		else if (!mct_u64_parse(c->val[i], 0, UINT32_MAX - 1, &v))
			return ctl_fail(c, MCT_EXIT_USAGE, "--%s '%s' is not a number", rail_set_opts[i].name,
					c->val[i]);
		*to[i] = (int64_t)v;
	}
	set.pci = c->val[sizeof(to) / sizeof(to[0])];
	rc = ctl_nl_open(c, &nl);
	return rc ? rc : ctl_nl_done(c, nl, mcnl_rail_set(nl, (uint32_t)id, &set));
}

static int rail_del(struct ctl *c)
{
	struct mcnl *nl;
	uint64_t id;
	int rc;

	if (!mct_u64_parse(c->argv[0], 1, UINT32_MAX, &id))
		return ctl_fail(c, MCT_EXIT_USAGE, "rail '%s' is not a number from 1 on", c->argv[0]);
	rc = ctl_nl_open(c, &nl);
	return rc ? rc : ctl_nl_done(c, nl, mcnl_rail_del(nl, (uint32_t)id));
}

/* "ID@ADDR:PORT", as `peer list` shows them. */
static int parse_rail(struct ctl *c, char *text, struct mcnl_rail *r)
{
	char *at = strchr(text, '@');
	struct mc_error err;
	struct mc_addr a;
	uint64_t id;

	if (!at)
		return ctl_fail(c, MCT_EXIT_USAGE, "rail '%s' is not of the form ID@ADDRESS:PORT", text);
	*at = '\0';
	if (!mct_u64_parse(text, 1, UINT32_MAX, &id))
		return ctl_fail(c, MCT_EXIT_USAGE, "rail number '%s' is not a number from 1 on", text);
	if (mc_addr_parse(at + 1, MC_DEFAULT_PORT, 0, &a, &err))
		return ctl_fail(c, MCT_EXIT_USAGE, "rail %s: %s", text, err.text);
	if (!mct_addr_parse(a.host, &r->addr))
		return ctl_fail(c, MCT_EXIT_USAGE, "rail %s: '%s' is neither an IPv4 nor an IPv6 address", text,
				a.host);
	r->id = (uint32_t)id;
	r->port = a.port;
	return MCT_EXIT_OK;
}

static int peer_set(struct ctl *c)
{
	struct mcnl_rail rails[MCNL_MAX_RAILS] = { 0 };
	uint8_t uuid[MC_UUID_LEN];
	size_t n = (size_t)c->argc - 1;
	struct mcnl *nl;
	int rc = MCT_EXIT_OK;

	if (!mct_uuid_parse(c->argv[0], uuid))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not a UUID", c->argv[0]);
	for (size_t i = 0; i < n && !rc; i++)
		rc = parse_rail(c, c->argv[i + 1], &rails[i]);
	if (!rc)
		rc = ctl_nl_open(c, &nl);
	return rc ? rc : ctl_nl_done(c, nl, mcnl_peer_set(nl, uuid, rails, n));
}

static int peer_del(struct ctl *c)
{
	uint8_t uuid[MC_UUID_LEN];
	struct mcnl *nl;
	int rc;

	if (!mct_uuid_parse(c->argv[0], uuid))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not a UUID", c->argv[0]);
	rc = ctl_nl_open(c, &nl);
	return rc ? rc : ctl_nl_done(c, nl, mcnl_peer_del(nl, uuid));
}

static const struct ctl_opt pool_opts[] = {
	{ "numa", "NODE", "NUMA node of the memory (default any)" },
	{ "page-size", "4K|2M", "size of its pages (default 4K)" },
	{ NULL, NULL, NULL },
};

static int pool_create(struct ctl *c)
{
	uint64_t len, numa = 0, page = 4096;
	uint8_t uuid[MC_UUID_LEN];
	struct mcnl *nl;
	int rc;

	if (!mct_size_parse(c->argv[1], &len))
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not a size (a number, with K, M, G or T behind it)",
				c->argv[1]);
	if (c->val[0] && !mct_u64_parse(c->val[0], 0, 1023, &numa))
		return ctl_fail(c, MCT_EXIT_USAGE, "--numa '%s' is not a number from 0 to 1023", c->val[0]);
	if (c->val[1] && (!mct_size_parse(c->val[1], &page) || (page != 4096 && page != 2097152)))
		return ctl_fail(c, MCT_EXIT_USAGE, "--page-size '%s' is neither 4K nor 2M", c->val[1]);
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = mcnl_pool_create(nl, c->argv[0], len, c->val[0] ? (int32_t)numa : -1, (uint32_t)page, uuid);
	rc = ctl_nl_done(c, nl, rc);
	return rc ? rc : ctl_print(c, json_pack("{ss so sI}", "name", c->argv[0], "segment_uuid", ctl_uuid(uuid),
						"bytes", (json_int_t)len));
}

/* A pool's UUID from its name. */
static int pool_lookup(struct ctl *c, struct mcnl *nl, const char *name, uint8_t *uuid)
{
	struct mcnl_pool *mem = NULL;
	size_t n = 0, i = 0;
	int rc = mcnl_pools(nl, &mem, &n);

	while (i < n && strcmp(mem[i].name, name))
		i++;
	if (!rc && i < n)
		memcpy(uuid, mem[i].seg_uuid, MC_UUID_LEN);
	free(mem);
	if (rc)
		return ctl_fail(c, mct_exit_of_errno(rc), "%s", mcnl_errmsg(nl));
	return i < n ? MCT_EXIT_OK :
		       ctl_fail(c, MCT_EXIT_NOT_FOUND, "there is no pool '%s' on this node", name);
}

static int pool_destroy(struct ctl *c)
{
	uint8_t uuid[MC_UUID_LEN];
	struct mcnl *nl;
	int rc = ctl_nl_open(c, &nl);

	if (rc)
		return rc;
	if (!mct_uuid_parse(c->argv[0], uuid)) {
		rc = pool_lookup(c, nl, c->argv[0], uuid);
		if (rc) {
			mcnl_close(nl);
			return rc;
		}
	}
	return ctl_nl_done(c, nl, mcnl_pool_destroy(nl, uuid));
}

static int fault_set(struct ctl *c)
{
	struct mcnl *nl;
	uint64_t value;
	int rc;

	if (!mct_u64_parse(c->argv[1], 0, UINT64_MAX, &value))
		return ctl_fail(c, MCT_EXIT_USAGE, "value '%s' is not a number", c->argv[1]);
	rc = ctl_nl_open(c, &nl);
	return rc ? rc : ctl_nl_done(c, nl, mcnl_fault_set(nl, c->argv[0], value));
}

const struct ctl_cmd ctl_kernel_cmds[] = {
	{ "rail", "list", "", 0, 0, "listeners of this node and what they carried", NULL, rail_list },
	{ "rail", "show", "RAIL", 1, 1, "one listener with its settings and counters", NULL, rail_show },
	{ "rail", "add", "DEVICE ADDRESS", 2, 2, "listen with an RDMA device on its address", rail_opts, rail_add },
	{ "rail", "set", "RAIL", 1, 1, "change slices, network class or weight of a rail", rail_set_opts, rail_set },
	{ "rail", "del", "RAIL", 1, 1, "stop a listener", NULL, rail_del },
	{ "pool", "list", "", 0, 0, "pools of this node", NULL, pool_list },
	{ "pool", "create", "NAME SIZE", 2, 2, "make a pool", pool_opts, pool_create },
	{ "pool", "destroy", "NAME|UUID", 1, 1, "end a pool; its memory comes back when peers let go", NULL,
	  pool_destroy },
	{ "peer", "list", "", 0, 0, "other nodes and what went between", NULL, peer_list },
	{ "peer", "show", "UUID", 1, 1, "one node: its rails and the paths to it", NULL, peer_show },
	{ "peer", "set", "UUID RAIL...", 2, 1 + MCNL_MAX_RAILS, "install a peer; RAIL is ID@ADDRESS:PORT", NULL,
	  peer_set },
	{ "peer", "del", "UUID", 1, 1, "remove a peer", NULL, peer_del },
	{ "segment", "ls", "", 0, 0, "pools of this node and what its processes export", NULL, segment_ls },
	{ "buffer", "list", "", 0, 0, "registered memory of this node's processes", NULL, buffer_list },
	{ "client", "list", "", 0, 0, "open files of the device; \"closing\": closed, its memory is being let go", NULL,
	  client_list },
	{ "fault", "set", "NAME VALUE", 2, 2, "set a fault hook (fault builds only)", NULL, fault_set },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
