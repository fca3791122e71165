// SPDX-License-Identifier: MIT
/* The master through gRPC. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "mooncake.pb-c.h"
#include "node.h"

#define CALL_MS		3000	/* a ping that takes longer says nothing about the clock */

static ProtobufCBinaryData bytes(const uint8_t *p, size_t len)
{
	return (ProtobufCBinaryData){ .len = len, .data = (uint8_t *)p };
}

/* The call's own failure, or what the master said. */
static int outcome(int rc, const struct mc_error *e, const Mooncake__V1__Status *st, char *err)
{
	if (rc)
		snprintf(err, ND_TEXT, "%s", e->text);
	else if (!st)
		snprintf(err, ND_TEXT, "answer without status");
	else if (st->code)
		snprintf(err, ND_TEXT, "%s (%d): %s", st->name, st->code, st->message);
	return rc ? rc : !st ? -900 : st->code;
}

static void copy_rails(struct nd_remote *to, const Mooncake__V1__Node *from)
{
	for (size_t i = 0; i < from->n_rails && to->n_rails < ND_MAX_RAILS; i++) {
		const Mooncake__V1__Rail *in = from->rails[i];
		struct mcnl_rail *out = &to->rails[to->n_rails];

		if ((in->addr.len != 4 && in->addr.len != 16) || !in->port || in->port > UINT16_MAX)
			continue;
		out->id = in->id;
		out->port = (uint16_t)in->port;
		out->addr.len = (uint8_t)in->addr.len;
		memcpy(out->addr.bytes, in->addr.data, in->addr.len);
		to->n_rails++;
	}
}

static int copy_nodes(struct nd_ping *p, const Mooncake__V1__PingReply *r)
{
	p->nodes = calloc(r->n_nodes ? r->n_nodes : 1, sizeof(*p->nodes));
	if (!p->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_nodes; i++) {
		struct nd_remote *to = &p->nodes[p->n_nodes];

		if (r->nodes[i]->node_uuid.len != MC_UUID_LEN)
			continue;
		memcpy(to->uuid, r->nodes[i]->node_uuid.data, MC_UUID_LEN);
		snprintf(to->name, sizeof(to->name), "%s", r->nodes[i]->name);
		copy_rails(to, r->nodes[i]);
		p->n_nodes++;
	}
	p->has_nodes = true;
	return 0;
}

static int copy_answer(struct nd_ping *p, const Mooncake__V1__PingReply *r, char *err)
{
	p->need_remount = r->state == MOONCAKE__V1__CLIENT_STATE__CLIENT_NEED_REMOUNT;
	p->version = r->nodes_version;
	p->epoch = r->clock_epoch;
	p->now_ns = r->now_ns;
	if (p->version == p->have_version)
		return 0;
	if (copy_nodes(p, r)) {
		snprintf(err, ND_TEXT, "out of memory for %zu nodes", r->n_nodes);
		return -1;
	}
	return 0;
}

static int call_ping(struct mc_rpc_client *c, Mooncake__V1__Node *node, struct nd_ping *p, char *err)
{
	Mooncake__V1__PingRequest req = MOONCAKE__V1__PING_REQUEST__INIT;
	Mooncake__V1__PingReply *r;
	ProtobufCMessage *reply = NULL;
	struct mc_error e;
	int rc;

	req.client_uuid = bytes(p->client, MC_UUID_LEN);
	req.node = node;
	req.nodes_version = p->have_version;
	req.cluster_uuid = bytes(p->cluster, MC_UUID_LEN);
	rc = mc_rpc_call(c, "Ping", &req.base, &mooncake__v1__ping_reply__descriptor, &reply, CALL_MS, &e);
	r = (Mooncake__V1__PingReply *)reply;
	rc = outcome(rc, &e, r ? r->status : NULL, err);
	if (!rc)
		rc = copy_answer(p, r, err);
	if (reply)
		protobuf_c_message_free_unpacked(reply, NULL);
	return rc;
}

static int m_ping(void *m, struct nd_ping *p, char *err)
{
	Mooncake__V1__Rail rails[ND_MAX_RAILS], *ptrs[ND_MAX_RAILS];
	Mooncake__V1__Node node = MOONCAKE__V1__NODE__INIT;
	const struct nd_remote *self = p->self;

	for (size_t i = 0; i < self->n_rails; i++) {
		mooncake__v1__rail__init(&rails[i]);
		rails[i].id = self->rails[i].id;
		rails[i].addr = bytes(self->rails[i].addr.bytes, self->rails[i].addr.len);
		rails[i].port = self->rails[i].port;
		rails[i].device = (char *)self->rails[i].dev;
		ptrs[i] = &rails[i];
	}
	node.node_uuid = bytes(self->uuid, MC_UUID_LEN);
	node.name = (char *)self->name;
	node.rails = ptrs;
	node.n_rails = self->n_rails;
	return call_ping(m, &node, p, err);
}

static int call_status(struct mc_rpc_client *c, const char *method, const ProtobufCMessage *req, char *err)
{
	Mooncake__V1__StatusReply *r;
	ProtobufCMessage *reply = NULL;
	struct mc_error e;
	int rc;

	rc = mc_rpc_call(c, method, req, &mooncake__v1__status_reply__descriptor, &reply, CALL_MS, &e);
	r = (Mooncake__V1__StatusReply *)reply;
	rc = outcome(rc, &e, r ? r->status : NULL, err);
	if (reply)
		protobuf_c_message_free_unpacked(reply, NULL);
	return rc;
}

static int m_mount(void *m, const uint8_t *client, const uint8_t *node, const struct mcnl_pool *pool, bool inherited,
		   char *err)
{
	Mooncake__V1__MountSegmentRequest req = MOONCAKE__V1__MOUNT_SEGMENT_REQUEST__INIT;

	req.client_uuid = bytes(client, MC_UUID_LEN);
	req.node_uuid = bytes(node, MC_UUID_LEN);
	req.segment_uuid = bytes(pool->seg_uuid, MC_UUID_LEN);
	req.name = (char *)pool->name;
	req.size = pool->len;
	req.inherited = inherited;
	return call_status(m, "MountSegment", &req.base, err);
}

static int m_unmount(void *m, const uint8_t *client, const uint8_t *seg, char *err)
{
	Mooncake__V1__UnmountSegmentRequest req = MOONCAKE__V1__UNMOUNT_SEGMENT_REQUEST__INIT;

	req.client_uuid = bytes(client, MC_UUID_LEN);
	req.segment_uuid = bytes(seg, MC_UUID_LEN);
	return call_status(m, "UnmountSegment", &req.base, err);
}

static int m_clients_gone(void *m, const uint8_t *client, const uint8_t (*gone)[MC_UUID_LEN], size_t n, char *err)
{
	Mooncake__V1__ClientsGoneRequest req = MOONCAKE__V1__CLIENTS_GONE_REQUEST__INIT;
	ProtobufCBinaryData clients[ND_GONE_MAX];

	for (size_t i = 0; i < n; i++)
		clients[i] = bytes(gone[i], MC_UUID_LEN);
	req.client_uuid = bytes(client, MC_UUID_LEN);
	req.clients = clients;
	req.n_clients = n;
	return call_status(m, "ClientsGone", &req.base, err);
}

const struct nd_master_ops nd_master_grpc = {
	.ping = m_ping,
	.mount = m_mount,
	.unmount = m_unmount,
	.clients_gone = m_clients_gone,
};
