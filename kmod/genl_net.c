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
	return mc_rail_add(dev, &ss, id, info->extack);
}

int mc_genl_rail_add(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;
	void *hdr;
	u32 id;
	int ret;

	if (!info->attrs[MC_ATTR_DEV_NAME])
		return mc_genl_missing(info, "DEV_NAME");
	if (!info->attrs[MC_ATTR_ADDR])
		return mc_genl_missing(info, "ADDR");
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

static int put_addr(struct sk_buff *skb, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET)
		return nla_put(skb, MC_ATTR_ADDR, sizeof(in->sin_addr), &in->sin_addr) ||
		       nla_put_u16(skb, MC_ATTR_PORT, ntohs(in->sin_port));
	return nla_put(skb, MC_ATTR_ADDR, sizeof(in6->sin6_addr), &in6->sin6_addr) ||
	       nla_put_u16(skb, MC_ATTR_PORT, ntohs(in6->sin6_port));
}

static int fill_rail(struct sk_buff *skb, struct mc_rail *rail)
{
	return nla_put_u32(skb, MC_ATTR_RAIL_ID, rail->id) ||
	       nla_put_string(skb, MC_ATTR_DEV_NAME, rail->dev->name) || put_addr(skb, &rail->addr) ||
	       nla_put_string(skb, MC_ATTR_STATE, MC_STATE_UP) || mc_put_counters(skb, &rail->counters);
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
		    put_addr(skb, &peer->addrs[i].addr))
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
