// SPDX-License-Identifier: MIT
/* Netlink client: commands that ask for or change one thing. */
#include "mcnl_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mctext.h"

/* Sends what fitted; a request that did not fit is -ENOMEM without being sent. */
static int send_if(struct mcnl *nl, struct nl_msg *msg, int put_rc, const char *what,
		   mcnl_reply_fn fn, void *arg)
{
	if (msg && put_rc < 0) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return mcnl_call(nl, msg, what, fn, arg);
}

static uint64_t get_u64(struct nlattr **tb, int attr)
{
	return tb[attr] ? nla_get_u64(tb[attr]) : 0;
}

static uint32_t get_u32(struct nlattr **tb, int attr)
{
	return tb[attr] ? nla_get_u32(tb[attr]) : 0;
}

static int reply_info(struct nlattr **tb, void *arg)
{
	struct mcnl_info *i = arg;

	if (tb[MC_ATTR_NODE_UUID])
		memcpy(i->node_uuid, nla_data(tb[MC_ATTR_NODE_UUID]), MC_UUID_LEN);
	if (tb[MC_ATTR_CLUSTER_UUID])
		memcpy(i->cluster_uuid, nla_data(tb[MC_ATTR_CLUSTER_UUID]), MC_UUID_LEN);
	i->instance = get_u64(tb, MC_ATTR_INSTANCE);
	i->auth = get_u32(tb, MC_ATTR_AUTH);
	i->key_gen = get_u32(tb, MC_ATTR_KEY_GEN);
	i->key_gen_old = get_u32(tb, MC_ATTR_KEY_GEN_OLD);
	i->clock_epoch = get_u64(tb, MC_ATTR_CLOCK_EPOCH);
	i->clock_offset = (int64_t)get_u64(tb, MC_ATTR_CLOCK_OFFSET);
	i->clock_error = get_u64(tb, MC_ATTR_CLOCK_ERROR);
	i->clock_age = get_u64(tb, MC_ATTR_CLOCK_AGE);
	i->local_bytes = get_u64(tb, MC_ATTR_LOCAL_BYTES);
	return 0;
}

int mcnl_info(struct mcnl *nl, struct mcnl_info *info)
{
	memset(info, 0, sizeof(*info));
	return mcnl_call(nl, mcnl_req(nl, MC_CMD_INFO_GET, 0), "info", reply_info, info);
}

int mcnl_node_set(struct mcnl *nl, const uint8_t *node_uuid, const uint8_t *cluster_uuid,
		  uint32_t auth)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_NODE_SET, 0);
	char uuid[MCT_UUID_TEXT], what[80];
	int rc = 0;

	if (msg) {
		rc |= nla_put(msg, MC_ATTR_NODE_UUID, MC_UUID_LEN, node_uuid);
		rc |= nla_put(msg, MC_ATTR_CLUSTER_UUID, MC_UUID_LEN, cluster_uuid);
		/* UNSET is the kernel's own state "no key yet": asking for it means naming nothing */
		if (auth != MC_AUTH_UNSET)
			rc |= nla_put_u32(msg, MC_ATTR_AUTH, auth);
	}
	snprintf(what, sizeof(what), "node set: %s", mct_uuid_text(node_uuid, uuid));
	return send_if(nl, msg, rc, what, NULL, NULL);
}

int mcnl_key_set(struct mcnl *nl, uint32_t gen, const uint8_t *key)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_KEY_SET, 0);
	char what[48];
	int rc = 0;

	if (msg) {
		rc |= nla_put_u32(msg, MC_ATTR_KEY_GEN, gen);
		rc |= nla_put(msg, MC_ATTR_KEY, MC_KEY_LEN, key);
	}
	snprintf(what, sizeof(what), "key load: generation %u", gen);
	return send_if(nl, msg, rc, what, NULL, NULL);
}

int mcnl_clock_set(struct mcnl *nl, uint64_t epoch, int64_t offset, uint64_t error, uint64_t at)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_CLOCK_SET, 0);
	int rc = 0;

	if (msg) {
		rc |= nla_put_u64(msg, MC_ATTR_CLOCK_EPOCH, epoch);
		rc |= nla_put_u64(msg, MC_ATTR_CLOCK_OFFSET, (uint64_t)offset);
		rc |= nla_put_u64(msg, MC_ATTR_CLOCK_ERROR, error);
		rc |= nla_put_u64(msg, MC_ATTR_CLOCK_AT, at);
	}
	return send_if(nl, msg, rc, "clock set", NULL, NULL);
}

static int reply_rail_id(struct nlattr **tb, void *arg)
{
	uint32_t *id = arg;

	*id = get_u32(tb, MC_ATTR_RAIL_ID);
	return *id ? 0 : -EBADMSG;
}

int mcnl_rail_add(struct mcnl *nl, const char *dev, const struct mcnl_addr *addr, uint16_t port,
		  uint32_t *out_id)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_RAIL_ADD, 0);
	char text[MCT_ADDR_TEXT], what[200];
	uint32_t id = 0;
	int rc = 0;

	if (msg) {
		rc |= nla_put_string(msg, MC_ATTR_DEV_NAME, dev);
		rc |= nla_put(msg, MC_ATTR_ADDR, addr->len, addr->bytes);
		rc |= nla_put_u16(msg, MC_ATTR_PORT, port);
	}
	snprintf(what, sizeof(what), "rail add: device '%.63s' address %s port %u", dev,
		 mct_addr_text(addr, text), port);
	rc = send_if(nl, msg, rc, what, reply_rail_id, &id);
	if (!rc && out_id)
		*out_id = id;
	return rc;
}

int mcnl_rail_set(struct mcnl *nl, uint32_t id, const struct mcnl_rail_set *set)
{
	const struct { int attr; int64_t value; } values[] = {
		{ MC_ATTR_SLICE_BYTES, set->slice }, { MC_ATTR_TAIL_BYTES, set->tail }, { MC_ATTR_TOS, set->tos },
		{ MC_ATTR_SERVICE_LEVEL, set->service_level }, { MC_ATTR_NUMA_NODE, set->node },
		{ MC_ATTR_WEIGHT, set->weight },
	};
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_RAIL_SET, 0);
	int rc = msg ? nla_put_u32(msg, MC_ATTR_RAIL_ID, id) : 0;
	char what[48];

	for (size_t i = 0; msg && i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].value >= 0)
			rc |= nla_put_u32(msg, values[i].attr, (uint32_t)values[i].value);
	if (msg && set->pci)
		rc |= nla_put_string(msg, MC_ATTR_PCI_DEVICE, set->pci);
	snprintf(what, sizeof(what), "rail set: rail %u", id);
	return send_if(nl, msg, rc, what, NULL, NULL);
}

int mcnl_rail_del(struct mcnl *nl, uint32_t id)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_RAIL_DEL, 0);
	char what[48];
	int rc = msg ? nla_put_u32(msg, MC_ATTR_RAIL_ID, id) : 0;

	snprintf(what, sizeof(what), "rail del: rail %u", id);
	return send_if(nl, msg, rc, what, NULL, NULL);
}

static int put_rails(struct nl_msg *msg, const struct mcnl_rail *rails, size_t n)
{
	struct nlattr *all = nla_nest_start(msg, MC_ATTR_RAILS | NLA_F_NESTED), *one;
	int rc = all ? 0 : -NLE_NOMEM;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		one = nla_nest_start(msg, MC_ATTR_RAIL | NLA_F_NESTED);
		if (!one)
			return -NLE_NOMEM;
		rc |= nla_put_u32(msg, MC_ATTR_RAIL_ID, rails[i].id);
		rc |= nla_put(msg, MC_ATTR_ADDR, rails[i].addr.len, rails[i].addr.bytes);
		rc |= nla_put_u16(msg, MC_ATTR_PORT, rails[i].port);
		nla_nest_end(msg, one);
	}
	if (rc >= 0)
		nla_nest_end(msg, all);
	return rc;
}

int mcnl_peer_set(struct mcnl *nl, const uint8_t *node_uuid, const struct mcnl_rail *rails,
		  size_t n)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_PEER_SET, 0);
	char uuid[MCT_UUID_TEXT], what[80];
	int rc = 0;

	if (msg) {
		rc |= nla_put(msg, MC_ATTR_NODE_UUID, MC_UUID_LEN, node_uuid);
		rc |= put_rails(msg, rails, n);
	}
	snprintf(what, sizeof(what), "peer set: %s", mct_uuid_text(node_uuid, uuid));
	return send_if(nl, msg, rc, what, NULL, NULL);
}

int mcnl_peer_del(struct mcnl *nl, const uint8_t *node_uuid)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_PEER_DEL, 0);
	char uuid[MCT_UUID_TEXT], what[80];
	int rc = msg ? nla_put(msg, MC_ATTR_NODE_UUID, MC_UUID_LEN, node_uuid) : 0;

	snprintf(what, sizeof(what), "peer del: %s", mct_uuid_text(node_uuid, uuid));
	return send_if(nl, msg, rc, what, NULL, NULL);
}

static int reply_seg_uuid(struct nlattr **tb, void *arg)
{
	if (!tb[MC_ATTR_SEG_UUID])
		return -EBADMSG;
	memcpy(arg, nla_data(tb[MC_ATTR_SEG_UUID]), MC_UUID_LEN);
	return 0;
}

int mcnl_pool_create(struct mcnl *nl, const char *name, uint64_t len, int32_t numa,
		     uint32_t page_size, uint8_t *out_seg_uuid)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_POOL_CREATE, 0);
	char what[160];
	int rc = 0;

	if (msg) {
		rc |= nla_put_string(msg, MC_ATTR_NAME, name);
		rc |= nla_put_u64(msg, MC_ATTR_LEN, len);
		if (numa >= 0)
			rc |= nla_put_u32(msg, MC_ATTR_NUMA_NODE, (uint32_t)numa);
		if (page_size)
			rc |= nla_put_u32(msg, MC_ATTR_PAGE_SIZE, page_size);
	}
	snprintf(what, sizeof(what), "pool create: '%.63s' of %llu bytes", name,
		 (unsigned long long)len);
	return send_if(nl, msg, rc, what, reply_seg_uuid, out_seg_uuid);
}

int mcnl_pool_destroy(struct mcnl *nl, const uint8_t *seg_uuid)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_POOL_DESTROY, 0);
	char uuid[MCT_UUID_TEXT], what[80];
	int rc = msg ? nla_put(msg, MC_ATTR_SEG_UUID, MC_UUID_LEN, seg_uuid) : 0;

	snprintf(what, sizeof(what), "pool destroy: %s", mct_uuid_text(seg_uuid, uuid));
	return send_if(nl, msg, rc, what, NULL, NULL);
}

int mcnl_fault_set(struct mcnl *nl, const char *name, uint64_t value)
{
	struct nl_msg *msg = mcnl_req(nl, MC_CMD_FAULT_SET, 0);
	char what[160];
	int rc = 0;

	if (msg) {
		rc |= nla_put_string(msg, MC_ATTR_NAME, name);
		rc |= nla_put_u64(msg, MC_ATTR_VALUE, value);
	}
	snprintf(what, sizeof(what), "fault set: '%.63s' = %llu", name, (unsigned long long)value);
	return send_if(nl, msg, rc, what, NULL, NULL);
}
