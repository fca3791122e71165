// SPDX-License-Identifier: GPL-2.0-only
/* Generic netlink family "mooncake": see uapi/linux/mooncake_netlink.h. Rails and peers are in genl_net.c. */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <net/genetlink.h>

#include "auth.h"
#include "buf.h"
#include "compat.h"
#include "ctx.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "genl.h"
#include "genl_net.h"
#include "map.h"
#include "node.h"
#include "pool.h"
#include "stats.h"
#include "useg.h"

/* Sender and opener of the socket must both have it: else a privileged program could be made to send for another. */
static int need_admin(const struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	mc_ext_err(info->extack, "CAP_SYS_ADMIN in the initial user namespace is needed");
	return -EPERM;
}

#define NEED(attr) do { if (!info->attrs[MC_ATTR_##attr]) return mc_genl_missing(info, #attr); } while (0)

static int fill_info(struct sk_buff *skb)
{
	u64 local = mc_stat_read(MC_STAT_LOCAL_READ_BYTES) + mc_stat_read(MC_STAT_LOCAL_WRITE_BYTES);
	u8 node[MC_UUID_LEN], cluster[MC_UUID_LEN];
	struct mc_clock clock;
	u32 auth;

	mc_clock_get(&clock);
	spin_lock(&mc_node.lock);
	memcpy(node, mc_node.uuid, MC_UUID_LEN);
	memcpy(cluster, mc_node.cluster, MC_UUID_LEN);
	auth = mc_node.auth;
	spin_unlock(&mc_node.lock);
	if (nla_put(skb, MC_ATTR_NODE_UUID, MC_UUID_LEN, node) ||
	    nla_put(skb, MC_ATTR_CLUSTER_UUID, MC_UUID_LEN, cluster) ||
	    mc_put_u64(skb, MC_ATTR_INSTANCE, mc_node.instance) || nla_put_u32(skb, MC_ATTR_AUTH, auth) ||
	    nla_put_u32(skb, MC_ATTR_KEY_GEN, mc_key_gen()) ||
	    nla_put_u32(skb, MC_ATTR_KEY_GEN_OLD, mc_auth_older()) || mc_put_u64(skb, MC_ATTR_LOCAL_BYTES, local))
		return -EMSGSIZE;
	if (!clock.set)
		return 0;
	return mc_put_u64(skb, MC_ATTR_CLOCK_EPOCH, clock.epoch) ||
	       mc_put_u64(skb, MC_ATTR_CLOCK_OFFSET, (u64)clock.offset) ||
	       mc_put_u64(skb, MC_ATTR_CLOCK_ERROR, clock.error) ||
	       mc_put_u64(skb, MC_ATTR_CLOCK_AGE, ktime_get_boottime_ns() - clock.set_at);
}

static int info_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;
	void *hdr;

	reply = mc_reply_new(info, MC_CMD_INFO_GET, &hdr);
	return reply ? mc_reply_send(reply, hdr, info, fill_info(reply)) : -ENOMEM;
}

static int identity_set(struct sk_buff *skb, struct genl_info *info)
{
	u32 auth = MC_AUTH_KEY;
	int ret = need_admin(skb, info);

	if (ret)
		return ret;
	NEED(NODE_UUID);
	NEED(CLUSTER_UUID);
	if (info->attrs[MC_ATTR_AUTH])
		auth = nla_get_u32(info->attrs[MC_ATTR_AUTH]);
	ret = mc_node_set(nla_data(info->attrs[MC_ATTR_NODE_UUID]), nla_data(info->attrs[MC_ATTR_CLUSTER_UUID]), auth,
			  mc_net_busy() || mc_pool_count());
	if (ret == -EBUSY)
		mc_ext_err(info->extack, "identity can't change while rails, peers or pools exist; it is node %pUb",
			   mc_node.uuid);
	if (ret == -EINVAL)
		mc_ext_err(info->extack, "node UUID must not be all zero");
	return ret;
}

static int key_set(struct sk_buff *skb, struct genl_info *info)
{
	int ret = need_admin(skb, info);
	u32 gen;

	if (ret)
		return ret;
	NEED(KEY_GEN);
	NEED(KEY);
	gen = nla_get_u32(info->attrs[MC_ATTR_KEY_GEN]);
	ret = gen ? mc_key_set(gen, nla_data(info->attrs[MC_ATTR_KEY])) : -EINVAL;
	/* The message belongs to the sender's skb: don't leave the key in it. */
	memzero_explicit(nla_data(info->attrs[MC_ATTR_KEY]), MC_KEY_LEN);
	if (ret)
		mc_ext_err(info->extack, "key generation %u is not usable: generations begin at 1 and only grow", gen);
	return ret;
}

static int clock_set(struct sk_buff *skb, struct genl_info *info)
{
	u64 now = ktime_get_boottime_ns(), at = now;
	int ret = need_admin(skb, info);

	if (ret)
		return ret;
	NEED(CLOCK_EPOCH);
	NEED(CLOCK_OFFSET);
	NEED(CLOCK_ERROR);
	if (info->attrs[MC_ATTR_CLOCK_AT])
		at = nla_get_u64(info->attrs[MC_ATTR_CLOCK_AT]);
	if (at > now) {
		mc_ext_err(info->extack, "the clock was measured %llu ns from now", at - now);
		return -EINVAL;
	}
	mc_clock_set(nla_get_u64(info->attrs[MC_ATTR_CLOCK_EPOCH]), (s64)nla_get_u64(info->attrs[MC_ATTR_CLOCK_OFFSET]),
		     nla_get_u64(info->attrs[MC_ATTR_CLOCK_ERROR]), at);
	mc_map_end_epoch(nla_get_u64(info->attrs[MC_ATTR_CLOCK_EPOCH]));
	return 0;
}

/* Rails and live pools hold the module: rmmod is refused while they exist. */
static int rail_add(struct sk_buff *skb, struct genl_info *info)
{
	int ret = need_admin(skb, info);

	if (ret)
		return ret;
	/* First: fails while the module is being removed, and a rail made then would never be deleted. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	ret = mc_genl_rail_add(skb, info);
	if (ret)
		module_put(THIS_MODULE);
	return ret;
}

static int rail_del(struct sk_buff *skb, struct genl_info *info)
{
	int ret = need_admin(skb, info) ?: mc_genl_rail_del(skb, info);

	if (!ret)
		module_put(THIS_MODULE);
	return ret;
}

static int rail_set(struct sk_buff *skb, struct genl_info *info)
{
	return need_admin(skb, info) ?: mc_genl_rail_set(skb, info);
}

static int peer_set(struct sk_buff *skb, struct genl_info *info)
{
	return need_admin(skb, info) ?: mc_genl_peer_set(skb, info);
}

static int peer_del(struct sk_buff *skb, struct genl_info *info)
{
	return need_admin(skb, info) ?: mc_genl_peer_del(skb, info);
}

static int pool_create(struct sk_buff *skb, struct genl_info *info)
{
	char name[MC_NAME_LEN];
	u8 uuid[MC_UUID_LEN];
	struct sk_buff *reply;
	int numa = NUMA_NO_NODE, ret = need_admin(skb, info);
	u32 page_size = MC_PAGE_4K;
	void *hdr;

	if (ret)
		return ret;
	NEED(NAME);
	NEED(LEN);
	nla_strscpy(name, info->attrs[MC_ATTR_NAME], sizeof(name));
	if (info->attrs[MC_ATTR_NUMA_NODE])
		numa = nla_get_s32(info->attrs[MC_ATTR_NUMA_NODE]);
	if (info->attrs[MC_ATTR_PAGE_SIZE])
		page_size = nla_get_u32(info->attrs[MC_ATTR_PAGE_SIZE]);
	/* The reply first: after the pool exists nothing may fail. */
	reply = mc_reply_new(info, MC_CMD_POOL_CREATE, &hdr);
	if (!reply)
		return -ENOMEM;
	/* Fails while the module is being removed: a pool made then would never be destroyed. */
	ret = try_module_get(THIS_MODULE) ? 0 : -ENODEV;
	if (ret)
		goto err_free;
	ret = mc_pool_create(name, nla_get_u64(info->attrs[MC_ATTR_LEN]), numa, page_size, uuid, info->extack);
	if (ret)
		goto err_module;
	return mc_reply_send(reply, hdr, info, nla_put(reply, MC_ATTR_SEG_UUID, MC_UUID_LEN, uuid));

err_module:
	module_put(THIS_MODULE);
err_free:
	nlmsg_free(reply);
	return ret;
}

static int pool_destroy(struct sk_buff *skb, struct genl_info *info)
{
	int ret = need_admin(skb, info);

	if (ret)
		return ret;
	NEED(SEG_UUID);
	ret = mc_pool_destroy(nla_data(info->attrs[MC_ATTR_SEG_UUID]));
	if (ret)
		mc_ext_err(info->extack, "no pool has UUID %pUb", nla_data(info->attrs[MC_ATTR_SEG_UUID]));
	else
		module_put(THIS_MODULE);
	return ret;
}

static int fault_set(struct sk_buff *skb, struct genl_info *info)
{
	char name[MC_NAME_LEN];
	int ret = need_admin(skb, info);

	if (ret)
		return ret;
	NEED(NAME);
	NEED(VALUE);
	nla_strscpy(name, info->attrs[MC_ATTR_NAME], sizeof(name));
	ret = mc_fault_set(name, nla_get_u64(info->attrs[MC_ATTR_VALUE]));
	if (ret == -ENOENT)
		mc_ext_err(info->extack, "there is no fault hook named '%s'", name);
	if (ret == -EOPNOTSUPP)
		mc_ext_err(info->extack, "this module was built without fault hooks (MC_FAULT=1)");
	return ret;
}

static int fill_pool(struct sk_buff *skb, struct mc_pool *pool)
{
	return nla_put(skb, MC_ATTR_SEG_UUID, MC_UUID_LEN, pool->seg.target.seg_uuid) ||
	       nla_put_string(skb, MC_ATTR_NAME, pool->seg.name) ||
	       mc_put_u64(skb, MC_ATTR_LEN, pool->seg.target.len) ||
	       nla_put_s32(skb, MC_ATTR_NUMA_NODE, pool->numa_node) ||
	       nla_put_u32(skb, MC_ATTR_PAGE_SIZE, pool->page_size) ||
	       nla_put_string(skb, MC_ATTR_STATE, MC_STATE_LIVE) ||
	       nla_put_u32(skb, MC_ATTR_LEASES, atomic_read(&pool->seg.leases));
}

static int fill_seg(struct sk_buff *skb, struct mc_seg *seg)
{
	struct mc_useg *us = mc_seg_useg(seg);

	if (nla_put(skb, MC_ATTR_SEG_UUID, MC_UUID_LEN, seg->target.seg_uuid) ||
	    nla_put_string(skb, MC_ATTR_NAME, seg->name) ||
	    mc_put_u64(skb, MC_ATTR_LEN, READ_ONCE(seg->target.len)) ||
	    nla_put_u32(skb, MC_ATTR_RIGHTS, seg->target.rights) ||
	    nla_put_u32(skb, MC_ATTR_GEN, READ_ONCE(seg->target.gen)) ||
	    nla_put_string(skb, MC_ATTR_STATE, MC_STATE_LIVE) ||
	    nla_put_u32(skb, MC_ATTR_LEASES, atomic_read(&seg->leases)))
		return -EMSGSIZE;
	return us ? nla_put_u32(skb, MC_ATTR_PID, us->pid) || nla_put_u32(skb, MC_ATTR_UID, us->uid) : 0;
}

static int fill_buf(struct sk_buff *skb, const struct mc_buf_info *b)
{
	return nla_put_u32(skb, MC_ATTR_BUF_ID, b->id) || nla_put_u32(skb, MC_ATTR_PID, b->pid) ||
	       nla_put_u32(skb, MC_ATTR_UID, b->uid) || mc_put_u64(skb, MC_ATTR_LEN, b->len) ||
	       mc_put_u64(skb, MC_ATTR_PINNED, b->pinned) ||
	       nla_put_string(skb, MC_ATTR_STATE, b->gone ? MC_STATE_QUARANTINE : MC_STATE_LIVE);
}

static int pool_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_pool *pool;
	void *hdr;
	int err = 0;

	while (!err && (pool = mc_pool_nth(cb->args[0]))) {
		hdr = mc_dump_put(skb, cb, MC_CMD_POOL_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_pool(skb, pool)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
		mc_pool_put(pool);
	}
	return skb->len;
}

static int seg_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_seg *seg;
	void *hdr;
	int err = 0;

	while (!err && (seg = mc_seg_nth(cb->args[0], NULL))) {
		hdr = mc_dump_put(skb, cb, MC_CMD_SEG_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_seg(skb, seg)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
		mc_seg_put(seg);
	}
	return skb->len;
}

static int buf_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_buf_info b;
	void *hdr;
	int err = 0;

	while (!err && mc_buf_nth(cb->args[0], &b)) {
		hdr = mc_dump_put(skb, cb, MC_CMD_BUF_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_buf(skb, &b)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
	}
	return skb->len;
}

static int fill_client(struct sk_buff *skb, const struct mc_ctx_info *c)
{
	return nla_put_u32(skb, MC_ATTR_PID, c->pid) || nla_put_u32(skb, MC_ATTR_UID, c->uid) ||
	       nla_put_string(skb, MC_ATTR_NAME, c->comm) ||
	       nla_put_string(skb, MC_ATTR_STATE, c->closing ? MC_STATE_CLOSING : MC_STATE_LIVE) ||
	       nla_put_u32(skb, MC_ATTR_BUFFERS, c->buffers) || mc_put_u64(skb, MC_ATTR_PINNED, c->pinned);
}

static int client_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_ctx_info c;
	void *hdr;
	int err = 0;

	while (!err && mc_ctx_nth(cb->args[0], &c)) {
		hdr = mc_dump_put(skb, cb, MC_CMD_CLIENT_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_client(skb, &c)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
	}
	return skb->len;
}

static int fill_stat(struct sk_buff *skb, u32 transport, bool write)
{
	struct mc_xfer_stat s;

	mc_stat_xfer(transport, write, &s);
	return nla_put_u32(skb, MC_ATTR_TRANSPORT, transport) ||
	       nla_put_u32(skb, MC_ATTR_OP, write ? MC_OP_WRITE : MC_OP_READ) ||
	       mc_put_u64(skb, MC_ATTR_REQS, s.reqs) || mc_put_u64(skb, MC_ATTR_ERRORS, s.errors) ||
	       mc_put_u64(skb, MC_ATTR_BYTES, s.bytes) || mc_put_hist(skb, MC_ATTR_HIST, s.hist);
}

static int stat_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	void *hdr;
	int err = 0;

	while (!err && cb->args[0] < 2 * MC_TRANSPORTS) {
		hdr = mc_dump_put(skb, cb, MC_CMD_STAT_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_stat(skb, cb->args[0] / 2, cb->args[0] % 2)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
	}
	return skb->len;
}

static const struct nla_policy mc_policy[MC_ATTR_MAX + 1] = {
	[MC_ATTR_NODE_UUID] = NLA_POLICY_EXACT_LEN(MC_UUID_LEN),
	[MC_ATTR_CLUSTER_UUID] = NLA_POLICY_EXACT_LEN(MC_UUID_LEN),
	[MC_ATTR_AUTH] = NLA_POLICY_MAX(NLA_U32, MC_AUTH_KEY),
	[MC_ATTR_KEY_GEN] = { .type = NLA_U32 },
	[MC_ATTR_KEY] = NLA_POLICY_EXACT_LEN(MC_KEY_LEN),
	[MC_ATTR_CLOCK_EPOCH] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_OFFSET] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_ERROR] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_AT] = { .type = NLA_U64 },
	[MC_ATTR_RAIL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[MC_ATTR_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63 },
	[MC_ATTR_ADDR] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[MC_ATTR_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MC_ATTR_RAILS] = { .type = NLA_NESTED },
	[MC_ATTR_SEG_UUID] = NLA_POLICY_EXACT_LEN(MC_UUID_LEN),
	[MC_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = MC_NAME_LEN - 1 },
	[MC_ATTR_LEN] = { .type = NLA_U64 },
	[MC_ATTR_NUMA_NODE] = { .type = NLA_S32 },
	[MC_ATTR_PAGE_SIZE] = { .type = NLA_U32 },
	[MC_ATTR_VALUE] = { .type = NLA_U64 },
	[MC_ATTR_TOS] = { .type = NLA_U32 },
	[MC_ATTR_SERVICE_LEVEL] = { .type = NLA_U32 },
	[MC_ATTR_SLICE_BYTES] = { .type = NLA_U32 },
	[MC_ATTR_TAIL_BYTES] = { .type = NLA_U32 },
	[MC_ATTR_WEIGHT] = NLA_POLICY_MAX(NLA_U32, 255),
	[MC_ATTR_PCI_DEVICE] = { .type = NLA_NUL_STRING, .len = 31 },
	[MC_ATTR_GID_INDEX] = NLA_POLICY_MIN(NLA_S32, 0),
};

static const struct genl_ops mc_ops[] = {
	{ .cmd = MC_CMD_INFO_GET, .doit = info_get },
	{ .cmd = MC_CMD_NODE_SET, .doit = identity_set },
	{ .cmd = MC_CMD_KEY_SET, .doit = key_set },
	{ .cmd = MC_CMD_CLOCK_SET, .doit = clock_set },
	{ .cmd = MC_CMD_RAIL_ADD, .doit = rail_add },
	{ .cmd = MC_CMD_RAIL_DEL, .doit = rail_del },
	{ .cmd = MC_CMD_RAIL_SET, .doit = rail_set },
	{ .cmd = MC_CMD_RAIL_GET, .dumpit = mc_genl_rail_dump },
	{ .cmd = MC_CMD_PEER_SET, .doit = peer_set },
	{ .cmd = MC_CMD_PEER_DEL, .doit = peer_del },
	{ .cmd = MC_CMD_PEER_GET, .dumpit = mc_genl_peer_dump },
	{ .cmd = MC_CMD_POOL_CREATE, .doit = pool_create },
	{ .cmd = MC_CMD_POOL_DESTROY, .doit = pool_destroy },
	{ .cmd = MC_CMD_POOL_GET, .dumpit = pool_dump },
	{ .cmd = MC_CMD_SEG_GET, .dumpit = seg_dump },
	{ .cmd = MC_CMD_BUF_GET, .dumpit = buf_dump },
	{ .cmd = MC_CMD_CLIENT_GET, .dumpit = client_dump },
	{ .cmd = MC_CMD_FAULT_SET, .doit = fault_set },
	{ .cmd = MC_CMD_STAT_GET, .dumpit = stat_dump },
};

static const struct genl_multicast_group mc_groups[] = {
	{ .name = MC_GENL_GROUP_EVENTS },
};

struct genl_family mc_genl_family = {
	.name = MC_GENL_NAME,
	.version = MC_GENL_VERSION,
	.maxattr = MC_ATTR_MAX,
	.policy = mc_policy,
	.module = THIS_MODULE,
	.ops = mc_ops,
	.n_ops = ARRAY_SIZE(mc_ops),
	.resv_start_op = __MC_CMD_MAX,
	.mcgrps = mc_groups,
	.n_mcgrps = ARRAY_SIZE(mc_groups),
};

int mc_genl_init(void)
{
	int ret = genl_register_family(&mc_genl_family);

	if (!ret)
		mc_events_start();
	return ret;
}

void mc_genl_exit(void)
{
	mc_events_stop();
	genl_unregister_family(&mc_genl_family);
}
