// SPDX-License-Identifier: MIT
/* Calls about nodes, segments and the master itself. */
#include "service.h"

#include <arpa/inet.h>
#include <string.h>

#include "log.h"
#include "node.h"
#include "segment.h"
#include "server.h"

#define CLIENTS_MAX	1024u

struct mc_master *mc_service_master(V1(Master_Service) *base)
{
	return ((struct mc_service *)base)->master;
}

V1(Status) *mc_service_status(struct mc_arena *a, const struct mc_result *res)
{
	V1(Status) *st = mc_arena_alloc(a, 1, sizeof(*st));

	if (!st)
		return NULL;
	mooncake__v1__status__init(st);
	st->code = res->code;
	st->name = (char *)mc_code_name(res->code);
	if (res->code)
		st->message = mc_arena_printf(a, "%s", res->text);
	return st;
}

static ProtobufCBinaryData uuid_field(const uint8_t *uuid)
{
	return (ProtobufCBinaryData){ .len = MC_UUID_LEN, .data = (uint8_t *)uuid };
}

static ProtobufCBinaryData cluster_field(const struct mc_master *m)
{
	return (ProtobufCBinaryData){
		.len = m->cfg.has_cluster_uuid ? MC_UUID_LEN : 0,
		.data = (uint8_t *)m->cfg.cluster_uuid,
	};
}

static void service_ready(V1(Master_Service) *base, const V1(ServiceReadyRequest) *in,
			  V1(ServiceReadyReply_Closure) done, void *call)
{
	struct mc_master *m = mc_service_master(base);
	struct mc_result ok = { 0 };
	V1(ServiceReadyReply) out;

	(void)in;
	mooncake__v1__service_ready_reply__init(&out);
	out.status = mc_service_status(mc_rpc_call_arena(call), &ok);
	out.version = MC_VERSION;
	out.clock_epoch = m->clock_epoch;
	out.now_ns = mc_master_now(m);
	out.cluster_uuid = cluster_field(m);
	done(out.status ? &out : NULL, call);
}

/* ---- nodes ---- */

static int read_rail(struct mc_node_info *info, const V1(Rail) *in, struct mc_result *res)
{
	struct mc_rail *r = &info->rails[info->nrails];
	uint32_t i;

	for (i = 0; i < info->nrails; i++)
		if (info->rails[i].id == in->id)
			return mc_fail(res, MC_E(INVALID_PARAMS), "two rails have the number %u", in->id);
	if (!in->id)
		return mc_fail(res, MC_E(INVALID_PARAMS), "a rail has the number 0; they count from 1");
	if (in->addr.len != 4 && in->addr.len != 16)
		return mc_fail(res, MC_E(INVALID_PARAMS), "rail %u: address of %zu bytes; IPv4 has 4, IPv6 16", in->id,
			       in->addr.len);
	if (!in->port || in->port > UINT16_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "rail %u: port %u; 1 to 65535 are taken", in->id, in->port);
	if (strlen(in->device) >= sizeof(r->device))
		return mc_fail(res, MC_E(INVALID_PARAMS), "rail %u: device name of %zu bytes; at most %zu are taken",
			       in->id, strlen(in->device), sizeof(r->device) - 1);
	if (mc_label_check("rail's device", in->device, true, res))
		return res->code;
	r->id = in->id;
	r->port = in->port;
	r->addr_len = in->addr.len;
	memcpy(r->addr, in->addr.data, in->addr.len);
	strcpy(r->device, in->device);
	info->nrails++;
	return 0;
}

static int read_node(struct mc_op *op, struct mc_node_info *info, const V1(Node) *in, const char *peer,
		     struct mc_result *res)
{
	size_t i;

	if (!in)
		return mc_fail(res, MC_E(INVALID_PARAMS), "the ping names no node");
	if (mc_uuid_check("node_uuid", &in->node_uuid, res) || mc_label_check("node's name", in->name, true, res))
		return res->code;
	if (in->n_rails > MC_RAILS_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "node '%s' with %zu rails; at most %u are taken", in->name,
			       in->n_rails, MC_RAILS_MAX);
	memset(info, 0, sizeof(*info));
	strcpy(info->name, in->name);
	strncpy(info->peer, peer, sizeof(info->peer) - 1);
	for (i = 0; i < in->n_rails; i++)
		if (read_rail(info, in->rails[i], res))
			return res->code;
	memcpy(op->node, in->node_uuid.data, MC_UUID_LEN);
	op->info = info;
	return 0;
}

static int check_cluster(const struct mc_master *m, const ProtobufCBinaryData *theirs, struct mc_result *res)
{
	char a[MC_UUID_TEXT], b[MC_UUID_TEXT];

	if (!theirs->len)
		return 0;
	if (mc_uuid_check("cluster_uuid", theirs, res))
		return res->code;
	if (!m->cfg.has_cluster_uuid || !memcmp(theirs->data, m->cfg.cluster_uuid, MC_UUID_LEN))
		return 0;
	return mc_fail(res, MC_E(INVALID_PARAMS), "this is cluster %s, the caller belongs to %s",
		       mc_uuid_text(m->cfg.cluster_uuid, a), mc_uuid_text(theirs->data, b));
}

static int do_ping(struct mc_master *m, const V1(PingRequest) *in, const char *peer, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_PING, .seen_version = in->nodes_version };
	char uuid[MC_UUID_TEXT], addr[MC_ADDR_TEXT];
	struct mc_node_info info;

	if (mc_uuid_check("client_uuid", &in->client_uuid, res) || check_cluster(m, &in->cluster_uuid, res) ||
	    read_node(&op, &info, in->node, peer, res))
		return res->code;
	memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
	if (mc_master_submit(m, &op, res))
		return res->code;
	if (op.type == MC_OP_REGISTER)
		mc_log(MC_LOG_INFO, "node %s '%s' at %s", mc_uuid_text(op.node, uuid), info.name,
		       mc_node_addresses(&info, addr));
	return 0;
}

static V1(Node) *write_node(struct mc_arena *a, const struct mc_node *n)
{
	V1(Node) *out = mc_arena_alloc(a, 1, sizeof(*out));
	V1(Rail) *rails = mc_arena_alloc(a, n->info.nrails, sizeof(*rails));
	uint32_t i;

	if (!out || !rails)
		return NULL;
	mooncake__v1__node__init(out);
	out->node_uuid = uuid_field(n->uuid);
	out->name = (char *)n->info.name;
	out->rails = mc_arena_alloc(a, n->info.nrails, sizeof(*out->rails));
	if (!out->rails)
		return NULL;
	for (i = 0; i < n->info.nrails; i++) {
		const struct mc_rail *r = &n->info.rails[i];

		mooncake__v1__rail__init(&rails[i]);
		rails[i].id = r->id;
		rails[i].port = r->port;
		rails[i].addr = (ProtobufCBinaryData){ .len = r->addr_len, .data = (uint8_t *)r->addr };
		rails[i].device = (char *)r->device;
		out->rails[out->n_rails++] = &rails[i];
	}
	return out;
}

static bool write_nodes(struct mc_arena *a, const struct mc_state *s, V1(PingReply) *out)
{
	uint32_t i;

	out->nodes = mc_arena_alloc(a, s->nnodes, sizeof(*out->nodes));
	if (!out->nodes)
		return false;
	for (i = 0; i < s->nnodes; i++) {
		out->nodes[i] = write_node(a, s->nodes[i]);
		if (!out->nodes[i])
			return false;
		out->n_nodes++;
	}
	return true;
}

static V1(ClientState) client_state(const struct mc_node *n)
{
	return n && n->state == MC_NODE_OK ? MOONCAKE__V1__CLIENT_STATE__CLIENT_OK :
	       MOONCAKE__V1__CLIENT_STATE__CLIENT_NEED_REMOUNT;
}

static void ping(V1(Master_Service) *base, const V1(PingRequest) *in, V1(PingReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };
	V1(PingReply) out;
	bool ok = true;

	mooncake__v1__ping_reply__init(&out);
	do_ping(m, in, mc_rpc_call_peer(call), &res);
	mc_master_count(m, MC_COUNT_PING, res.code);
	if (!res.code) {
		out.state = client_state(mc_state_node(&m->state, in->node->node_uuid.data));
		if (in->nodes_version != m->state.nodes_version)
			ok = write_nodes(a, &m->state, &out);
	}
	out.nodes_version = m->state.nodes_version;
	out.clock_epoch = m->clock_epoch;
	out.now_ns = mc_master_now(m);
	out.status = mc_service_status(a, &res);
	done(ok && out.status ? &out : NULL, call);
}

static V1(NodeInfo) *write_node_info(struct mc_arena *a, const struct mc_node *n, uint64_t now)
{
	V1(NodeInfo) *out = mc_arena_alloc(a, 1, sizeof(*out));

	if (!out)
		return NULL;
	mooncake__v1__node_info__init(out);
	out->node = write_node(a, n);
	out->state = (char *)mc_node_state_name(n->state);
	out->last_ping_ms = (now - n->last_ping) / MC_NS_PER_MS;
	out->client_uuid = uuid_field(n->client);
	return out->node ? out : NULL;
}

static void list_nodes(V1(Master_Service) *base, const V1(ListNodesRequest) *in, V1(ListNodesReply_Closure) done,
		       void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };
	V1(ListNodesReply) out;
	bool ok;
	uint32_t i;

	(void)in;
	mooncake__v1__list_nodes_reply__init(&out);
	out.status = mc_service_status(a, &res);
	out.nodes_version = m->state.nodes_version;
	out.nodes = mc_arena_alloc(a, m->state.nnodes, sizeof(*out.nodes));
	ok = out.status && out.nodes;
	for (i = 0; ok && i < m->state.nnodes; i++) {
		out.nodes[i] = write_node_info(a, m->state.nodes[i], mc_master_now(m));
		ok = out.nodes[i];
		out.n_nodes++;
	}
	done(ok ? &out : NULL, call);
}

/* ---- segments ---- */

static int do_mount(struct mc_master *m, const V1(MountSegmentRequest) *in, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_MOUNT, .label = in->name, .size = in->size,
			    .inherited = in->inherited };
	char uuid[MC_UUID_TEXT], node[MC_UUID_TEXT];

	if (mc_uuid_check("client_uuid", &in->client_uuid, res) || mc_uuid_check("node_uuid", &in->node_uuid, res) ||
	    mc_uuid_check("segment_uuid", &in->segment_uuid, res) ||
	    mc_label_check("segment's name", in->name, false, res))
		return res->code;
	memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
	memcpy(op.node, in->node_uuid.data, MC_UUID_LEN);
	memcpy(op.segment, in->segment_uuid.data, MC_UUID_LEN);
	if (mc_master_submit(m, &op, res))
		return res->code;
	mc_log(MC_LOG_INFO, "segment %s '%s' of %llu bytes mounted by node %s", mc_uuid_text(op.segment, uuid),
	       in->name, (unsigned long long)in->size, mc_uuid_text(op.node, node));
	return 0;
}

static void answer_status(V1(StatusReply_Closure) done, void *call, const struct mc_result *res)
{
	V1(StatusReply) out;

	mooncake__v1__status_reply__init(&out);
	out.status = mc_service_status(mc_rpc_call_arena(call), res);
	done(out.status ? &out : NULL, call);
}

static void mount_segment(V1(Master_Service) *base, const V1(MountSegmentRequest) *in, V1(StatusReply_Closure) done,
			  void *call)
{
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };

	if (do_mount(m, in, &res))
		mc_log(MC_LOG_WARN, "mount refused: %s", res.text);
	mc_master_count(m, MC_COUNT_MOUNT, res.code);
	answer_status(done, call, &res);
}

static int do_unmount(struct mc_master *m, const V1(UnmountSegmentRequest) *in, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_UNMOUNT };
	char uuid[MC_UUID_TEXT];

	if (mc_uuid_check("client_uuid", &in->client_uuid, res) ||
	    mc_uuid_check("segment_uuid", &in->segment_uuid, res))
		return res->code;
	memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
	memcpy(op.segment, in->segment_uuid.data, MC_UUID_LEN);
	if (mc_master_submit(m, &op, res))
		return res->code;
	mc_log(MC_LOG_INFO, "segment %s unmounted", mc_uuid_text(op.segment, uuid));
	return 0;
}

static void unmount_segment(V1(Master_Service) *base, const V1(UnmountSegmentRequest) *in,
			    V1(StatusReply_Closure) done, void *call)
{
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };

	if (do_unmount(m, in, &res))
		mc_log(MC_LOG_WARN, "unmount refused: %s", res.text);
	mc_master_count(m, MC_COUNT_UNMOUNT, res.code);
	answer_status(done, call, &res);
}

static int do_clients_gone(struct mc_master *m, const V1(ClientsGoneRequest) *in, struct mc_result *res)
{
	struct mc_op op = { .type = MC_OP_CLIENT_GONE };
	size_t i;

	if (in->n_clients > CLIENTS_MAX)
		return mc_fail(res, MC_E(INVALID_PARAMS), "%zu clients; at most %u are taken", in->n_clients,
			       CLIENTS_MAX);
	if (mc_uuid_check("client_uuid", &in->client_uuid, res))
		return res->code;
	memcpy(op.client, in->client_uuid.data, MC_UUID_LEN);
	for (i = 0; i < in->n_clients; i++) {
		if (mc_uuid_check("client", &in->clients[i], res))
			return res->code;
		memcpy(op.reader, in->clients[i].data, MC_UUID_LEN);
		if (mc_master_submit(m, &op, res))
			return res->code;
	}
	return 0;
}

static void clients_gone(V1(Master_Service) *base, const V1(ClientsGoneRequest) *in, V1(StatusReply_Closure) done,
			 void *call)
{
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };

	do_clients_gone(m, in, &res);
	mc_master_count(m, MC_COUNT_CLIENTS_GONE, res.code);
	answer_status(done, call, &res);
}

static V1(SegmentInfo) *write_segment(struct mc_arena *a, const struct mc_state *s, const struct mc_segment *seg,
				      uint64_t now)
{
	const struct mc_node *n = mc_state_node(s, seg->node);
	V1(SegmentInfo) *out = mc_arena_alloc(a, 1, sizeof(*out));

	if (!out)
		return NULL;
	mooncake__v1__segment_info__init(out);
	out->segment_uuid = uuid_field(seg->uuid);
	out->node_uuid = uuid_field(seg->node);
	if (n)
		out->node_name = (char *)n->info.name;
	out->name = (char *)seg->name;
	out->size = seg->size;
	out->used = mc_segment_used(seg);
	out->waiting = (uint64_t)seg->waiting << MC_PAGE_SHIFT;
	out->objects = seg->nreplicas;
	out->state = (char *)mc_segment_state_name(seg, now);
	return out;
}

static void list_segments(V1(Master_Service) *base, const V1(ListSegmentsRequest) *in,
			  V1(ListSegmentsReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	const struct mc_master *m = mc_service_master(base);
	const struct mc_state *s = &m->state;
	struct mc_result res = { 0 };
	V1(ListSegmentsReply) out;
	bool ok;
	uint32_t i;

	mooncake__v1__list_segments_reply__init(&out);
	out.segments = mc_arena_alloc(a, s->nsegments, sizeof(*out.segments));
	ok = out.segments;
	for (i = 0; ok && i < s->nsegments; i++) {
		if (*in->name && strcmp(in->name, s->segments[i]->name))
			continue;
		out.segments[out.n_segments] = write_segment(a, s, s->segments[i], mc_master_now(m));
		ok = out.segments[out.n_segments++];
	}
	if (*in->name && !out.n_segments && !mc_label_check("segment's name", in->name, true, &res))
		mc_fail(&res, MC_E(SEGMENT_NOT_FOUND), "no segment has the name '%s'", in->name);
	out.status = mc_service_status(a, &res);
	done(ok && out.status ? &out : NULL, call);
}

/* ---- the master itself ---- */

static bool write_counters(struct mc_arena *a, const struct mc_master *m, V1(MasterStatusReply) *out)
{
	V1(Counter) *c = mc_arena_alloc(a, 2 * MC_COUNTED, sizeof(*c));
	uint32_t i;

	out->counters = mc_arena_alloc(a, 2 * MC_COUNTED, sizeof(*out->counters));
	if (!c || !out->counters)
		return false;
	for (i = 0; i < 2 * MC_COUNTED; i++) {
		const struct mc_counter *from = &m->counters[i / 2];

		mooncake__v1__counter__init(&c[i]);
		c[i].name = mc_arena_printf(a, "%s.%s", mc_counted_name(i / 2), i % 2 ? "failures" : "calls");
		c[i].value = i % 2 ? from->failures : from->calls;
		out->counters[out->n_counters++] = &c[i];
	}
	return true;
}

static void master_status(V1(Master_Service) *base, const V1(MasterStatusRequest) *in,
			  V1(MasterStatusReply_Closure) done, void *call)
{
	struct mc_arena *a = mc_rpc_call_arena(call);
	struct mc_master *m = mc_service_master(base);
	struct mc_result res = { 0 };
	V1(MasterStatusReply) out;
	struct mc_room room;

	(void)in;
	mooncake__v1__master_status_reply__init(&out);
	out.now_ns = mc_master_now(m);
	mc_room_of(&m->state, out.now_ns, &room);
	out.status = mc_service_status(a, &res);
	out.version = MC_VERSION;
	out.uptime_ms = out.now_ns / MC_NS_PER_MS - 1000;
	out.clock_epoch = m->clock_epoch;
	out.objects = m->state.nobjects;
	out.writes_in_progress = m->state.nwriting;
	out.segments = room.segments;
	out.nodes = m->state.nnodes;
	out.capacity = room.capacity;
	out.used = room.used;
	out.waiting = room.waiting;
	out.journal = (char *)m->journal.name;
	out.auth = m->minter.gen ? "key" : "none";
	out.key_generation = m->minter.gen;
	out.cluster_uuid = cluster_field(m);
	out.lease_ttl_ms = m->cfg.lease_ttl_ms;
	out.leases = m->state.leases.count;
	out.discard_timeout_ms = m->cfg.discard_ms;
	out.release_timeout_ms = m->cfg.release_ms;
	done(out.status && write_counters(a, m, &out) ? &out : NULL, call);
}

void mc_service_init(struct mc_service *svc, struct mc_master *m)
{
	V1(Master_Service) *s = &svc->base;

	mooncake__v1__master__init(s, NULL);
	s->service_ready = service_ready;
	s->ping = ping;
	s->mount_segment = mount_segment;
	s->unmount_segment = unmount_segment;
	s->clients_gone = clients_gone;
	s->list_segments = list_segments;
	s->list_nodes = list_nodes;
	s->master_status = master_status;
	mc_service_objects(s);
	svc->master = m;
}
