// SPDX-License-Identifier: MIT
/* master: what the master says of itself, of nodes and of segments. */
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>

#include "client.h"
#include "ctl.h"
#include "mooncake.pb-c.h"

/* Every reply of the contract begins with its status. */
struct any_reply {
	ProtobufCMessage base;
	Mooncake__V1__Status *status;
};

static int call(struct ctl *c, const char *method, const ProtobufCMessage *req,
		const ProtobufCMessageDescriptor *type, ProtobufCMessage **reply)
{
	struct mc_rpc_client *client;
	const Mooncake__V1__Status *st;
	struct mc_error err;
	int rc = ctl_rpc_open(c, &client);

	if (rc)
		return rc;
	*reply = NULL;
	if (mc_rpc_call(client, method, req, type, reply, (int)c->timeout_ms, &err)) {
		rc = ctl_fail_store(c, &err);
	} else {
		st = ((struct any_reply *)*reply)->status;
		if (!st)
			rc = ctl_fail(c, MCT_EXIT_FAILED, "master %s: answer without status", c->master);
		else if (st->code)
			rc = ctl_fail(c, ctl_exit_of(st->code, 0), "%s (%d): %s", st->name, st->code,
				      st->message);
	}
	mc_rpc_client_free(client);
	if (rc && *reply)
		protobuf_c_message_free_unpacked(*reply, NULL);
	return rc;
}

static json_t *uuid_json(const ProtobufCBinaryData *b)
{
	return b->len == MC_UUID_LEN ? ctl_uuid(b->data) : json_string("");
}

static json_t *status_json(const Mooncake__V1__MasterStatusReply *r)
{
	json_t *counters = json_object();

	for (size_t i = 0; i < r->n_counters; i++)
		json_object_set_new(counters, r->counters[i]->name, json_integer((json_int_t)r->counters[i]->value));
	return json_pack("{ss sI so sI sI sI sI sI sI sI sI sI ss ss so sI sI sI so}", "version", r->version,
		"uptime_ms", (json_int_t)r->uptime_ms, "clock_epoch",
		json_sprintf("%llu", (unsigned long long)r->clock_epoch), "now_ns", (json_int_t)r->now_ns,
		"objects", (json_int_t)r->objects, "writes_in_progress", (json_int_t)r->writes_in_progress,
		"leases", (json_int_t)r->leases, "segments", (json_int_t)r->segments, "nodes", (json_int_t)r->nodes,
		"capacity", (json_int_t)r->capacity, "used", (json_int_t)r->used, "waiting", (json_int_t)r->waiting,
		"journal",
		r->journal, "auth", r->auth, "cluster_uuid", uuid_json(&r->cluster_uuid), "lease_ttl_ms",
		(json_int_t)r->lease_ttl_ms, "discard_timeout_ms", (json_int_t)r->discard_timeout_ms,
		"release_timeout_ms", (json_int_t)r->release_timeout_ms, "counters", counters);
}

static int master_status(struct ctl *c)
{
	Mooncake__V1__MasterStatusRequest req = MOONCAKE__V1__MASTER_STATUS_REQUEST__INIT;
	ProtobufCMessage *reply;
	json_t *o;
	int rc = call(c, "MasterStatus", &req.base, &mooncake__v1__master_status_reply__descriptor, &reply);

	if (rc)
		return rc;
	o = status_json((Mooncake__V1__MasterStatusReply *)reply);
	protobuf_c_message_free_unpacked(reply, NULL);
	return ctl_print(c, o);
}

static json_t *rails_json(const Mooncake__V1__Node *node)
{
	json_t *list = json_array();

	for (size_t i = 0; node && i < node->n_rails; i++) {
		const Mooncake__V1__Rail *r = node->rails[i];
		char addr[INET6_ADDRSTRLEN] = "?";
		bool v6 = r->addr.len == 16;

		if (v6 || r->addr.len == 4)
			inet_ntop(v6 ? AF_INET6 : AF_INET, r->addr.data, addr, sizeof(addr));
		json_array_append_new(list, json_sprintf(v6 ? "%u@[%s]:%u" : "%u@%s:%u", r->id, addr, r->port));
	}
	return list;
}

static int master_nodes(struct ctl *c)
{
	Mooncake__V1__ListNodesRequest req = MOONCAKE__V1__LIST_NODES_REQUEST__INIT;
	Mooncake__V1__ListNodesReply *r;
	ProtobufCMessage *reply;
	json_t *list = json_array();
	int rc = call(c, "ListNodes", &req.base, &mooncake__v1__list_nodes_reply__descriptor, &reply);

	if (rc) {
		json_decref(list);
		return rc;
	}
	r = (Mooncake__V1__ListNodesReply *)reply;
	for (size_t i = 0; i < r->n_nodes; i++) {
		const Mooncake__V1__NodeInfo *n = r->nodes[i];
		static const ProtobufCBinaryData none;

		json_array_append_new(list, json_pack("{ss so ss sI so}", "name", n->node ? n->node->name : "",
			"node_uuid", uuid_json(n->node ? &n->node->node_uuid : &none), "state", n->state,
			"last_ping_ms", (json_int_t)n->last_ping_ms, "rails", rails_json(n->node)));
	}
	protobuf_c_message_free_unpacked(reply, NULL);
	return ctl_print(c, list);
}

static int master_segments(struct ctl *c)
{
	Mooncake__V1__ListSegmentsRequest req = MOONCAKE__V1__LIST_SEGMENTS_REQUEST__INIT;
	Mooncake__V1__ListSegmentsReply *r;
	ProtobufCMessage *reply;
	json_t *list = json_array();
	int rc;

	if (c->argc)
		req.name = c->argv[0];
	rc = call(c, "ListSegments", &req.base, &mooncake__v1__list_segments_reply__descriptor, &reply);
	if (rc) {
		json_decref(list);
		return rc;
	}
	r = (Mooncake__V1__ListSegmentsReply *)reply;
	for (size_t i = 0; i < r->n_segments; i++) {
		const Mooncake__V1__SegmentInfo *s = r->segments[i];

		json_array_append_new(list, json_pack("{ss so ss so sI sI sI sI ss}", "name", s->name, "segment_uuid",
			uuid_json(&s->segment_uuid), "node", s->node_name, "node_uuid", uuid_json(&s->node_uuid),
			"bytes", (json_int_t)s->size, "used", (json_int_t)s->used, "waiting", (json_int_t)s->waiting,
			"objects", (json_int_t)s->objects, "state", s->state));
	}
	protobuf_c_message_free_unpacked(reply, NULL);
	return ctl_print(c, list);
}

const struct ctl_cmd ctl_master_cmds[] = {
	{ "master", "status", "", 0, 0, "state and counters of the master", NULL, master_status },
	{ "master", "nodes", "", 0, 0, "nodes that the master knows", NULL, master_nodes },
	{ "master", "segments", "[NAME]", 0, 1, "segments that are mounted", NULL, master_segments },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
