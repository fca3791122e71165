/* SPDX-License-Identifier: GPL-2.0-only */
/* The netlink family, and what its files share (genl_util.c). */
#ifndef MC_GENL_H
#define MC_GENL_H

#include <linux/types.h>

struct genl_info;
struct mc_counters;
struct netlink_callback;
struct netlink_ext_ack;
struct sk_buff;

extern struct genl_family mc_genl_family;

int mc_genl_init(void);
void mc_genl_exit(void);

/**
 * mc_ext_err - tell a netlink caller what is wrong, with values
 * @extack: may be NULL
 * @fmt: format
 *
 * The text lives in a small ring of static buffers until netlink has copied it into the answer; 6.1 has no formatted
 * messages of its own.
 */
__printf(2, 3) void mc_ext_err(struct netlink_ext_ack *extack, const char *fmt, ...);

int mc_genl_missing(struct genl_info *info, const char *name);	/* says that an attribute is; -EINVAL */

/**
 * mc_reply_new - begin the answer of a command
 * @info: command
 * @cmd: the answer's command
 * @hdr: result: for mc_reply_send()
 *
 * Return: message, or NULL: no memory.
 */
struct sk_buff *mc_reply_new(struct genl_info *info, u8 cmd, void **hdr);

/**
 * mc_reply_send - send it, or free it when filling it has failed
 * @skb: message
 * @hdr: from mc_reply_new()
 * @info: command
 * @fill_err: not 0: it has
 *
 * Return: 0, -EMSGSIZE, or what sending it came to.
 */
int mc_reply_send(struct sk_buff *skb, void *hdr, struct genl_info *info, int fill_err);

/* One entry of a dump: begin it (NULL: no room), end it or take it back (not 0: no room, go on in the next message). */
void *mc_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int mc_dump_end(struct sk_buff *skb, void *hdr, int fill_err);

int mc_put_u64(struct sk_buff *skb, int attr, u64 value);
int mc_put_addr(struct sk_buff *skb, const struct sockaddr_storage *ss);	/* ADDR and PORT */
int mc_put_hist(struct sk_buff *skb, int attr, const u64 *hist);	/* MC_HIST_BUCKETS numbers */
int mc_put_counters(struct sk_buff *skb, const struct mc_counters *c);	/* with histograms, if it has some */

#endif /* MC_GENL_H */
