/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink handlers of rails and peers; the caller has checked the capability. */
#ifndef MC_GENL_NET_H
#define MC_GENL_NET_H

struct genl_info;
struct netlink_callback;
struct sk_buff;

int mc_genl_rail_add(struct sk_buff *skb, struct genl_info *info);
int mc_genl_rail_del(struct sk_buff *skb, struct genl_info *info);
int mc_genl_rail_set(struct sk_buff *skb, struct genl_info *info);
int mc_genl_rail_dump(struct sk_buff *skb, struct netlink_callback *cb);
int mc_genl_peer_set(struct sk_buff *skb, struct genl_info *info);
int mc_genl_peer_del(struct sk_buff *skb, struct genl_info *info);
int mc_genl_peer_dump(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* MC_GENL_NET_H */
