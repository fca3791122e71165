// SPDX-License-Identifier: GPL-2.0-only
#include <linux/in.h>
#include <linux/in6.h>
#include <net/genetlink.h>

#include "auth.h"
#include "genl.h"
#include "genl_net.h"
#include "ibdev.h"
#include "peer.h"
#include "rail.h"

static int get_addr(struct nlattr *addr, struct nlattr *port, struct sockaddr_storage *ss,
		    struct netlink_ext_ack *extack)
{
	__be16 p = htons(port ? nla_get_u16(port) : MC_DEFAULT_PORT);
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (!p) {
		mc_ext_err(extack, "port 0 is none");
		return -EINVAL;
	}
	in->sin_port = p;	/* at the same place in both families */
	if (!addr)
		return 0;
	if (nla_len(addr) == sizeof(in->sin_addr)) {
		in->sin_family = AF_INET;
		in->sin_port = p;
		memcpy(&in->sin_addr, nla_data(addr), sizeof(in->sin_addr));
	} else if (nla_len(addr) == sizeof(in6->sin6_addr)) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = p;
		memcpy(&in6->sin6_addr, nla_data(addr), sizeof(in6->sin6_addr));
	} else {
		mc_ext_err(extack, "an address of %d bytes is neither IPv4 nor IPv6", nla_len(addr));
		return -EINVAL;
	}
	if (!memchr_inv(nla_data(addr), 0, nla_len(addr))) {
		mc_ext_err(extack, "the wildcard address is no rail");
		return -EINVAL;
	}
	return 0;
}

static int check_identity(struct genl_info *info)
{
	if (!mc_node.set) {
		mc_ext_err(info->extack, "the node has no identity yet: set it first");
		return -EINVAL;
	}
	return 0;
}

static int add(struct genl_info *info, u32 *id)
{
	struct nlattr **tb = info->attrs;
	struct sockaddr_storage ss;
	struct mc_ibdev *dev;
	char name[IB_DEVICE_NAME_MAX];
	int ret;

	ret = get_addr(tb[MC_ATTR_ADDR], tb[MC_ATTR_PORT], &ss, info->extack);
	if (ret)
		return ret;
	if (nla_strscpy(name, tb[MC_ATTR_DEV_NAME], sizeof(name)) < 0)
		name[0] = '\0';
	dev = mc_ibdev_find(name, info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (mc_auth_mode() == MC_AUTH_UNSET) {
		mc_ext_err(info->extack, "no cluster key is loaded and auth none was not asked for");
		mc_ibdev_put(dev);
		return -ENOKEY;
	}
	ret = tb[MC_ATTR_ADDR] ? 0 : mc_gid_addr(dev, &ss, info->extack);
	if (ret) {
		mc_ibdev_put(dev);
		return ret;
	}
	return mc_rail_add(dev, &ss, tb[MC_ATTR_GID_INDEX] ? nla_get_s32(tb[MC_ATTR_GID_INDEX]) : -1, id,
			   info->extack);
}

int mc_genl_rail_add(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;
	void *hdr;
	u32 id;
	int ret;

	if (!info->attrs[MC_ATTR_DEV_NAME])
		return mc_genl_missing(info, "DEV_NAME");
	ret = check_identity(info);
	if (ret)
		return ret;
	reply = mc_reply_new(info, MC_CMD_RAIL_ADD, &hdr);
	if (!reply)
		return -ENOMEM;
	ret = add(info, &id);
	if (ret) {
		nlmsg_free(reply);
		return ret;
	}
	mc_reply_send(reply, hdr, info, nla_put_u32(reply, MC_ATTR_RAIL_ID, id));
	return 0;
}

int mc_genl_rail_del(struct sk_buff *skb, struct genl_info *info)
{
	u32 id;
	int ret;

	if (!info->attrs[MC_ATTR_RAIL_ID])
		return mc_genl_missing(info, "RAIL_ID");
	id = nla_get_u32(info->attrs[MC_ATTR_RAIL_ID]);
	ret = mc_rail_del(id);
	if (ret)
		mc_ext_err(info->extack, "there is no rail %u", id);
	return ret;
}

/* A setting of the network class: a number up to @max, or the default. */
static int get_class(struct genl_info *info, int type, u32 max, const char *name, int *out)
{
	u32 v;

	*out = -2;
	if (!info->attrs[type])
		return 0;
	v = nla_get_u32(info->attrs[type]);
	if (v > max && v != MC_RAIL_DEFAULT) {
		mc_ext_err(info->extack, "%s %u is not in 0..%u", name, v, max);
		return -EINVAL;
	}
	*out = v == MC_RAIL_DEFAULT ? -1 : v;
	return 0;
}

static int set_pci_weight(struct genl_info *info, struct mc_rail *rail)
{
	const char *name = nla_data(info->attrs[MC_ATTR_PCI_DEVICE]);
	int ret = mc_topo_override_pci(rail, name, nla_get_u32(info->attrs[MC_ATTR_WEIGHT]));

	if (ret == -ENOSPC)
		mc_ext_err(info->extack, "rail %u has weights for %u PCI devices already", rail->id, MC_TOPO_PCI_OVER);
	else if (ret)
		mc_ext_err(info->extack, "there is no PCI device '%s'", name);
	return ret;
}

static int set_weight(struct genl_info *info, struct mc_rail *rail)
{
	s32 node;

	if (!info->attrs[MC_ATTR_WEIGHT])
		return 0;
	if (info->attrs[MC_ATTR_PCI_DEVICE])
		return set_pci_weight(info, rail);
	if (!info->attrs[MC_ATTR_NUMA_NODE])
		return mc_genl_missing(info, "NUMA_NODE or PCI_DEVICE");
	node = nla_get_s32(info->attrs[MC_ATTR_NUMA_NODE]);
	if (!mc_topo_override(rail, node, nla_get_u32(info->attrs[MC_ATTR_WEIGHT])))
		return 0;
	mc_ext_err(info->extack, "there is no NUMA node %d", node);
	return -EINVAL;
}

static int set(struct genl_info *info, struct mc_rail *rail)
{
	struct mc_rail_set set = { .tail_bytes = -1 };
	int ret;

	ret = get_class(info, MC_ATTR_TOS, 255, "type of service", &set.tos) ?:
	      get_class(info, MC_ATTR_SERVICE_LEVEL, 15, "service level", &set.sl) ?: set_weight(info, rail);
	if (ret)
		return ret;
	if (info->attrs[MC_ATTR_SLICE_BYTES])
		set.slice_bytes = nla_get_u32(info->attrs[MC_ATTR_SLICE_BYTES]);
	if (info->attrs[MC_ATTR_TAIL_BYTES])
		set.tail_bytes = nla_get_u32(info->attrs[MC_ATTR_TAIL_BYTES]);
	ret = mc_rail_set(rail, &set);
	if (ret)
		mc_ext_err(info->extack, "a slice has %u to %u bytes, a rest that joins it no more than a slice",
			   MC_SLICE_MIN, MC_SLICE_MAX);
	return ret;
}

int mc_genl_rail_set(struct sk_buff *skb, struct genl_info *info)
{
	struct mc_rail *rail;
	int ret;

	if (!info->attrs[MC_ATTR_RAIL_ID])
		return mc_genl_missing(info, "RAIL_ID");
	rail = mc_rail_find(nla_get_u32(info->attrs[MC_ATTR_RAIL_ID]));
	if (!rail) {
		mc_ext_err(info->extack, "there is no rail %u", nla_get_u32(info->attrs[MC_ATTR_RAIL_ID]));
		return -ENOENT;
	}
	ret = set(info, rail);
	mc_rail_put(rail);
	return ret;
}

static int fill_settings(struct sk_buff *skb, struct mc_rail *rail)
{
	return nla_put_u32(skb, MC_ATTR_SLICE_BYTES, rail->slice_bytes) ||
	       nla_put_u32(skb, MC_ATTR_TAIL_BYTES, rail->tail_bytes) || nla_put_u32(skb, MC_ATTR_TOS, rail->tos) ||
	       nla_put_u32(skb, MC_ATTR_SERVICE_LEVEL, rail->sl) || nla_put_s32(skb, MC_ATTR_NUMA_NODE, rail->numa) ||
	       nla_put_s32(skb, MC_ATTR_GID_INDEX, max(rail->gid, -1)) ||
	       nla_put_string(skb, MC_ATTR_GID_REASON, mc_gid_reason(rail->gid_why));
}

static int fill_rail(struct sk_buff *skb, struct mc_rail *rail)
{
	char pci[MC_TOPO_NAME];

	if (mc_topo_name(rail, pci) && nla_put_string(skb, MC_ATTR_PCI_DEVICE, pci))
		return -EMSGSIZE;
	return nla_put_u32(skb, MC_ATTR_RAIL_ID, rail->id) ||
	       nla_put_string(skb, MC_ATTR_DEV_NAME, rail->dev_name) || mc_put_addr(skb, &rail->addr) ||
	       nla_put_string(skb, MC_ATTR_STATE, mc_rail_state_name(rail)) || fill_settings(skb, rail) ||
	       mc_put_counters(skb, &rail->counters);
}

int mc_genl_rail_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_rail *rail;
	void *hdr;
	int err = 0;

	while (!err && (rail = mc_rail_nth(AF_UNSPEC, cb->args[0]))) {
		hdr = mc_dump_put(skb, cb, MC_CMD_RAIL_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_rail(skb, rail)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
		mc_rail_put(rail);
	}
	return skb->len;
}

static const struct nla_policy rail_policy[MC_ATTR_MAX + 1] = {
	[MC_ATTR_RAIL_ID] = { .type = NLA_U32 },
	[MC_ATTR_ADDR] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[MC_ATTR_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
};

static int parse_addrs(struct genl_info *info, struct mc_peer_addr *addrs, u32 *n)
{
	struct nlattr *tb[MC_ATTR_MAX + 1], *one;
	int rem, ret;

	*n = 0;
	nla_for_each_nested(one, info->attrs[MC_ATTR_RAILS], rem) {
		if (nla_type(one) != MC_ATTR_RAIL || *n == MC_PEER_ADDRS) {
			mc_ext_err(info->extack, "RAILS holds more than %u rails or something else", MC_PEER_ADDRS);
			return -EINVAL;
		}
		ret = nla_parse_nested(tb, MC_ATTR_MAX, one, rail_policy, info->extack);
		if (ret)
			return ret;
		if (!tb[MC_ATTR_ADDR])
			return mc_genl_missing(info, "ADDR of a rail");
		addrs[*n].rail = tb[MC_ATTR_RAIL_ID] ? nla_get_u32(tb[MC_ATTR_RAIL_ID]) : 0;
		ret = get_addr(tb[MC_ATTR_ADDR], tb[MC_ATTR_PORT], &addrs[*n].addr, info->extack);
		if (ret)
			return ret;
		++*n;
	}
	return *n ? 0 : mc_genl_missing(info, "RAIL in RAILS");
}

int mc_genl_peer_set(struct sk_buff *skb, struct genl_info *info)
{
	struct mc_peer_addr *addrs;
	const u8 *node;
	u32 n;
	int ret;

	if (!info->attrs[MC_ATTR_NODE_UUID])
		return mc_genl_missing(info, "NODE_UUID");
	if (!info->attrs[MC_ATTR_RAILS])
		return mc_genl_missing(info, "RAILS");
	ret = check_identity(info);
	if (ret)
		return ret;
	addrs = kcalloc(MC_PEER_ADDRS, sizeof(*addrs), GFP_KERNEL);
	if (!addrs)
		return -ENOMEM;
	node = nla_data(info->attrs[MC_ATTR_NODE_UUID]);
	ret = parse_addrs(info, addrs, &n);
	if (!ret) {
		ret = mc_peer_set(node, addrs, n);
		if (ret == -EINVAL)
			mc_ext_err(info->extack, "%pUb is this node itself", node);
		if (ret == -ENOSPC)
			mc_ext_err(info->extack, "there are %u peers already, the most there can be", MC_PEERS_MAX);
	}
	kfree(addrs);
	return ret;
}

int mc_genl_peer_del(struct sk_buff *skb, struct genl_info *info)
{
	int ret;

	if (!info->attrs[MC_ATTR_NODE_UUID])
		return mc_genl_missing(info, "NODE_UUID");
	ret = mc_peer_del(nla_data(info->attrs[MC_ATTR_NODE_UUID]));
	if (ret)
		mc_ext_err(info->extack, "%pUb is no peer", nla_data(info->attrs[MC_ATTR_NODE_UUID]));
	return ret;
}

/* The local end of a peer's rail, if a path over it is live. */
static int put_local_end(struct sk_buff *skb, struct mc_peer *peer, u32 remote)
{
	struct mc_path *path;

	list_for_each_entry(path, &peer->paths, link)
		if (path->cur && path->remote == remote)
			return nla_put_u32(skb, MC_ATTR_LOCAL_RAIL_ID, path->rail->id);
	return 0;
}

static int fill_path(struct sk_buff *skb, struct mc_path *path)
{
	struct mc_peer *peer = path->peer;
	struct nlattr *nest = nla_nest_start(skb, MC_ATTR_PATH);
	u32 i;

	if (!nest || nla_put_u32(skb, MC_ATTR_LOCAL_RAIL_ID, path->rail->id) ||
	    (path->remote < peer->naddrs && nla_put_u32(skb, MC_ATTR_RAIL_ID, peer->addrs[path->remote].rail)) ||
	    nla_put_string(skb, MC_ATTR_STATE, mc_path_state_name(path->state)) ||
	    mc_put_u64(skb, MC_ATTR_EPOCH, path->cur ? path->cur->set.epoch : 0) ||
	    mc_put_u64(skb, MC_ATTR_BANDWIDTH, path->score.bw * 1000) ||
	    nla_put_u32(skb, MC_ATTR_ATTEMPTS, path->attempts) || nla_put_string(skb, MC_ATTR_LAST_ERROR, path->why))
		return -EMSGSIZE;
	if (nla_put_u32(skb, MC_ATTR_RETRY_COUNT, MC_RETRIES) ||
	    nla_put_u32(skb, MC_ATTR_RNR_RETRY_COUNT, MC_RNR_RETRIES) ||
	    nla_put_u32(skb, MC_ATTR_ACK_TIMEOUT, mc_ack_timeout))
		return -EMSGSIZE;
	if (path->cur && (nla_put_u32(skb, MC_ATTR_MTU, path->cur->set.mtu) ||
			  nla_put_u32(skb, MC_ATTR_READ_DEPTH, path->cur->set.read_depth) ||
			  nla_put_u32(skb, MC_ATTR_TOS, path->cur->set.tos_used)))
		return -EMSGSIZE;
	for (i = 0; i < peer->naddrs; i++)
		if (mc_path_unreachable(path, i) && nla_put_u32(skb, MC_ATTR_UNREACHABLE, peer->addrs[i].rail))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_paths(struct sk_buff *skb, struct mc_peer *peer)
{
	struct nlattr *all = nla_nest_start(skb, MC_ATTR_PATHS);
	struct mc_path *path;

	if (!all)
		return -EMSGSIZE;
	list_for_each_entry(path, &peer->paths, link)
		if (fill_path(skb, path))
			return -EMSGSIZE;
	nla_nest_end(skb, all);
	return 0;
}

static int fill_addrs(struct sk_buff *skb, struct mc_peer *peer)
{
	struct nlattr *all = nla_nest_start(skb, MC_ATTR_RAILS), *one;
	u32 i;

	if (!all)
		return -EMSGSIZE;
	for (i = 0; i < peer->naddrs; i++) {
		one = nla_nest_start(skb, MC_ATTR_RAIL);
		if (!one || nla_put_u32(skb, MC_ATTR_RAIL_ID, peer->addrs[i].rail) ||
		    mc_put_addr(skb, &peer->addrs[i].addr))
			return -EMSGSIZE;
		if (put_local_end(skb, peer, i))
			return -EMSGSIZE;
		nla_nest_end(skb, one);
	}
	nla_nest_end(skb, all);
	return 0;
}

static int fill_peer(struct sk_buff *skb, struct mc_peer *peer)
{
	int ret;

	mutex_lock(&peer->lock);
	ret = nla_put(skb, MC_ATTR_NODE_UUID, MC_UUID_LEN, peer->node) ||
	      mc_put_u64(skb, MC_ATTR_INSTANCE, peer->instance) ||
	      mc_put_u64(skb, MC_ATTR_EPOCH, mc_peer_epoch(peer)) ||
	      nla_put_string(skb, MC_ATTR_STATE, mc_peer_state(peer)) ||
	      nla_put_string(skb, MC_ATTR_LAST_ERROR, peer->why) || mc_put_counters(skb, &peer->counters) ||
	      fill_addrs(skb, peer) || fill_paths(skb, peer);
	mutex_unlock(&peer->lock);
	return ret;
}

int mc_genl_peer_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mc_peer *peer;
	void *hdr;
	int err = 0;

	while (!err && (peer = mc_peer_nth(cb->args[0]))) {
		hdr = mc_dump_put(skb, cb, MC_CMD_PEER_GET);
		err = hdr ? mc_dump_end(skb, hdr, fill_peer(skb, peer)) : -EMSGSIZE;
		if (!err)
			cb->args[0]++;
		mc_peer_put(peer);
	}
	return skb->len;
}
