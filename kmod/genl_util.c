// SPDX-License-Identifier: GPL-2.0-only
/* What the files of the netlink family share: messages for people, answers, dumps, counters. */
#include <linux/atomic.h>
#include <net/genetlink.h>

#include "genl.h"
#include "stats.h"

#define EXT_TEXTS 32

void mc_ext_err(struct netlink_ext_ack *extack, const char *fmt, ...)
{
	static char texts[EXT_TEXTS][256];
	static atomic_t next;
	char *text = texts[(unsigned int)atomic_inc_return(&next) % EXT_TEXTS];
	va_list ap;

	if (!extack)
		return;
	va_start(ap, fmt);
	vscnprintf(text, sizeof(texts[0]), fmt, ap);
	va_end(ap);
	extack->_msg = text;
}

int mc_genl_missing(struct genl_info *info, const char *name)
{
	mc_ext_err(info->extack, "attribute %s is missing", name);
	return -EINVAL;
}

struct sk_buff *mc_reply_new(struct genl_info *info, u8 cmd, void **hdr)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb)
		return NULL;
	*hdr = genlmsg_put_reply(skb, info, &mc_genl_family, 0, cmd);
	if (!*hdr) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

int mc_reply_send(struct sk_buff *skb, void *hdr, struct genl_info *info, int fill_err)
{
	if (fill_err) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

void *mc_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &mc_genl_family, NLM_F_MULTI, cmd);
}

int mc_dump_end(struct sk_buff *skb, void *hdr, int fill_err)
{
	if (fill_err) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

int mc_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, MC_ATTR_PAD);
}

int mc_put_addr(struct sk_buff *skb, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET)
		return nla_put(skb, MC_ATTR_ADDR, sizeof(in->sin_addr), &in->sin_addr) ||
		       nla_put_u16(skb, MC_ATTR_PORT, ntohs(in->sin_port));
	return nla_put(skb, MC_ATTR_ADDR, sizeof(in6->sin6_addr), &in6->sin6_addr) ||
	       nla_put_u16(skb, MC_ATTR_PORT, ntohs(in6->sin6_port));
}

int mc_put_hist(struct sk_buff *skb, int attr, const u64 *hist)
{
	u32 used = mc_hist_used(hist);

	return used ? nla_put_64bit(skb, attr, used * sizeof(*hist), hist, MC_ATTR_PAD) : 0;
}

int mc_put_counters(struct sk_buff *skb, const struct mc_counters *c)
{
	static const u16 attrs[MC_COUNTS] = {
		[MC_COUNT_READ_BYTES] = MC_ATTR_READ_BYTES, [MC_COUNT_WRITE_BYTES] = MC_ATTR_WRITE_BYTES,
		[MC_COUNT_READ_OPS] = MC_ATTR_READ_OPS, [MC_COUNT_WRITE_OPS] = MC_ATTR_WRITE_OPS,
		[MC_COUNT_ERRORS] = MC_ATTR_ERRORS, [MC_COUNT_RETRIES] = MC_ATTR_RETRIES,
		[MC_COUNT_INFLIGHT] = MC_ATTR_INFLIGHT, [MC_COUNT_RECONNECTS] = MC_ATTR_RECONNECTS,
	};
	u64 hist[MC_HIST_BUCKETS];
	int i, ret = 0;

	for (i = 0; i < MC_COUNTS && !ret; i++)
		ret = mc_put_u64(skb, attrs[i], mc_count_read(c, i));
	for (i = 0; i < 2 && !ret && c->latency; i++) {
		mc_count_hist(c, i, hist);
		ret = mc_put_hist(skb, i ? MC_ATTR_WRITE_HIST : MC_ATTR_READ_HIST, hist);
	}
	return ret;
}
