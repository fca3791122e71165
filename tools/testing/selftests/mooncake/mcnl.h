/* SPDX-License-Identifier: MIT */
/*
 * Netlink for the kernel selftests: the family "mooncake" spoken directly, so that a test depends on nothing but the
 * kernel.
 *
 *   struct mcnl_msg m;
 *   mcnl_begin(&m, MC_CMD_POOL_CREATE);
 *   mcnl_put(&m, MC_ATTR_NAME, "p", 2);
 *   err = mcnl_call(&m);          0 or -errno; mcnl_error is the kernel's message
 *   mcnl_attr(&m, MC_ATTR_SEG_UUID, buf, 16);
 */
#ifndef MCNL_H
#define MCNL_H

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/mooncake_netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct mcnl_msg {
	char buf[16384];
	int len;
	int answer_len;	/* of the first answer, header included; 0: none */
	char answer[16384];
};

static char mcnl_error[256];
static int mcnl_family;

static inline void mcnl_put(struct mcnl_msg *m, int type, const void *data, int len)
{
	struct nlattr *a = (struct nlattr *)(m->buf + m->len);

	a->nla_type = (uint16_t)type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	memset((char *)a + NLA_HDRLEN, 0, (size_t)NLA_ALIGN(len));
	memcpy((char *)a + NLA_HDRLEN, data, (size_t)len);
	m->len += NLA_HDRLEN + NLA_ALIGN(len);
}

static inline void mcnl_put_str(struct mcnl_msg *m, int type, const char *s)
{
	mcnl_put(m, type, s, (int)strlen(s) + 1);
}

static inline void mcnl_put_u16(struct mcnl_msg *m, int type, uint16_t v) { mcnl_put(m, type, &v, 2); }
static inline void mcnl_put_u32(struct mcnl_msg *m, int type, uint32_t v) { mcnl_put(m, type, &v, 4); }
static inline void mcnl_put_u64(struct mcnl_msg *m, int type, uint64_t v) { mcnl_put(m, type, &v, 8); }

/* Returns a mark for mcnl_nest_end(). */
static inline int mcnl_nest(struct mcnl_msg *m, int type)
{
	int mark = m->len;

	mcnl_put(m, type | NLA_F_NESTED, "", 0);
	return mark;
}

static inline void mcnl_nest_end(struct mcnl_msg *m, int mark)
{
	((struct nlattr *)(m->buf + mark))->nla_len = (uint16_t)(m->len - mark);
}

static inline void mcnl_begin(struct mcnl_msg *m, int cmd)
{
	struct nlmsghdr *h = (struct nlmsghdr *)m->buf;
	struct genlmsghdr *g = NLMSG_DATA(h);

	memset(m->buf, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	g->cmd = (uint8_t)cmd;
	g->version = MC_GENL_VERSION;
	m->len = NLMSG_HDRLEN + GENL_HDRLEN;
	m->answer_len = 0;
}

static inline void mcnl_take_error(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	int off = NLMSG_HDRLEN + (int)sizeof(*e), end = (int)h->nlmsg_len;

	mcnl_error[0] = 0;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		off += (int)NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
	while (off + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const struct nlattr *)((const char *)h + off);

		if (a->nla_len < NLA_HDRLEN)
			return;
		if ((a->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG)
			snprintf(mcnl_error, sizeof(mcnl_error), "%.*s", a->nla_len - NLA_HDRLEN,
				 (const char *)a + NLA_HDRLEN);
		off += NLA_ALIGN(a->nla_len);
	}
}

/* Send and read until the ack or the end of the dump; each answer goes to cb (the first also to m->answer). */
static inline int mcnl_exchange(struct mcnl_msg *m, int family, int flags,
				void (*cb)(const struct nlmsghdr *, void *), void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)m->buf;
	struct timeval tv = { .tv_sec = 60 };
	int one = 1, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), ret = -EIO;
	char buf[32768];

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	h->nlmsg_len = (uint32_t)m->len;
	h->nlmsg_type = (uint16_t)family;
	h->nlmsg_flags |= (uint16_t)flags;
	h->nlmsg_seq = 1;
	if (send(fd, m->buf, (size_t)m->len, 0) < 0) {
		ret = -errno;
		goto out;
	}
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		int left = (int)n;

		if (n <= 0) {
			ret = n ? -errno : -EIO;
			goto out;
		}
		for (h = (struct nlmsghdr *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
				ret = h->nlmsg_type == NLMSG_ERROR ? ((struct nlmsgerr *)NLMSG_DATA(h))->error : 0;
				if (h->nlmsg_type == NLMSG_ERROR)
					mcnl_take_error(h);
				goto out;
			}
			if (!m->answer_len && h->nlmsg_len <= sizeof(m->answer)) {
				memcpy(m->answer, h, h->nlmsg_len);
				m->answer_len = (int)h->nlmsg_len;
			}
			if (cb)
				cb(h, arg);
		}
	}
out:
	close(fd);
	return ret;
}

static inline const struct nlattr *mcnl_find_in(const char *p, int len, int type)
{
	while (len >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)p;
		int step = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > len)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		p += step;
		len -= step;
	}
	return NULL;
}

static inline const struct nlattr *mcnl_find(const struct nlmsghdr *h, int type)
{
	return mcnl_find_in((const char *)h + NLMSG_HDRLEN + GENL_HDRLEN,
			    (int)h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, type);
}

/* Copy an attribute of a message; returns its length or -1. */
static inline int mcnl_get(const struct nlmsghdr *h, int type, void *out, int max)
{
	const struct nlattr *a = mcnl_find(h, type);
	int len;

	if (!a)
		return -1;
	len = a->nla_len - NLA_HDRLEN;
	memcpy(out, (const char *)a + NLA_HDRLEN, (size_t)(len < max ? len : max));
	return len;
}

static inline int mcnl_attr(const struct mcnl_msg *m, int type, void *out, int max)
{
	return m->answer_len ? mcnl_get((const struct nlmsghdr *)m->answer, type, out, max) : -1;
}

static inline int mcnl_resolve(void)
{
	static struct mcnl_msg m;
	struct genlmsghdr *g;
	uint16_t id;
	int ret;

	if (mcnl_family)
		return 0;
	mcnl_begin(&m, CTRL_CMD_GETFAMILY);
	g = NLMSG_DATA((struct nlmsghdr *)m.buf);
	g->version = 1;
	mcnl_put_str(&m, CTRL_ATTR_FAMILY_NAME, MC_GENL_NAME);
	ret = mcnl_exchange(&m, GENL_ID_CTRL, 0, NULL, NULL);
	if (ret)
		return ret;
	if (mcnl_attr(&m, CTRL_ATTR_FAMILY_ID, &id, 2) != 2)
		return -ENOENT;
	mcnl_family = id;
	return 0;
}

static inline int mcnl_call(struct mcnl_msg *m)
{
	int ret = mcnl_resolve();

	return ret ? ret : mcnl_exchange(m, mcnl_family, 0, NULL, NULL);
}

static inline int mcnl_dump(int cmd, void (*cb)(const struct nlmsghdr *, void *), void *arg)
{
	static struct mcnl_msg m;
	int ret = mcnl_resolve();

	if (ret)
		return ret;
	mcnl_begin(&m, cmd);
	return mcnl_exchange(&m, mcnl_family, NLM_F_DUMP, cb, arg);
}

/* ---- the commands that tests use ---- */

static inline int mcnl_node_set(const uint8_t *node, const uint8_t *cluster, uint32_t auth)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_NODE_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, node, 16);
	mcnl_put(&m, MC_ATTR_CLUSTER_UUID, cluster, 16);
	mcnl_put_u32(&m, MC_ATTR_AUTH, auth);
	return mcnl_call(&m);
}

static inline int mcnl_key_set(uint32_t gen, const uint8_t *key)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_KEY_SET);
	mcnl_put_u32(&m, MC_ATTR_KEY_GEN, gen);
	mcnl_put(&m, MC_ATTR_KEY, key, MC_KEY_LEN);
	return mcnl_call(&m);
}

static inline int mcnl_pool_create(const char *name, uint64_t len, uint32_t page_size, uint8_t *uuid)
{
	static struct mcnl_msg m;
	int ret;

	mcnl_begin(&m, MC_CMD_POOL_CREATE);
	mcnl_put_str(&m, MC_ATTR_NAME, name);
	mcnl_put_u64(&m, MC_ATTR_LEN, len);
	if (page_size)
		mcnl_put_u32(&m, MC_ATTR_PAGE_SIZE, page_size);
	ret = mcnl_call(&m);
	if (!ret && mcnl_attr(&m, MC_ATTR_SEG_UUID, uuid, 16) != 16)
		ret = -EPROTO;
	return ret;
}

static inline int mcnl_pool_destroy(const uint8_t *uuid)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_POOL_DESTROY);
	mcnl_put(&m, MC_ATTR_SEG_UUID, uuid, 16);
	return mcnl_call(&m);
}

static inline int mcnl_fault_set(const char *name, uint64_t value)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_FAULT_SET);
	mcnl_put_str(&m, MC_ATTR_NAME, name);
	mcnl_put_u64(&m, MC_ATTR_VALUE, value);
	return mcnl_call(&m);
}

/* ---- events ---- */

/* The number of the group "events", or -errno. */
static inline int mcnl_event_group(void)
{
	static struct mcnl_msg m;
	const struct nlattr *all, *one, *name, *id;
	int ret = mcnl_resolve(), left, step;
	const char *p;

	if (ret)
		return ret;
	mcnl_begin(&m, CTRL_CMD_GETFAMILY);
	((struct genlmsghdr *)NLMSG_DATA((struct nlmsghdr *)m.buf))->version = 1;
	mcnl_put_str(&m, CTRL_ATTR_FAMILY_NAME, MC_GENL_NAME);
	ret = mcnl_exchange(&m, GENL_ID_CTRL, 0, NULL, NULL);
	if (ret || !m.answer_len)
		return ret ? ret : -EPROTO;
	all = mcnl_find((const struct nlmsghdr *)m.answer, CTRL_ATTR_MCAST_GROUPS);
	if (!all)
		return -ENOENT;
	p = (const char *)all + NLA_HDRLEN;
	for (left = all->nla_len - NLA_HDRLEN; left >= NLA_HDRLEN; p += step, left -= step) {
		one = (const struct nlattr *)p;
		step = NLA_ALIGN(one->nla_len);
		name = mcnl_find_in(p + NLA_HDRLEN, one->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_NAME);
		id = mcnl_find_in(p + NLA_HDRLEN, one->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_ID);
		if (name && id && !strcmp((const char *)name + NLA_HDRLEN, MC_GENL_GROUP_EVENTS))
			return *(const int *)((const char *)id + NLA_HDRLEN);
	}
	return -ENOENT;
}

/* A socket that gets events; @rcvbuf 0: the usual room. One without an address would get nothing. */
static inline int mcnl_events_open(int rcvbuf)
{
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	int group = mcnl_event_group(), fd;

	if (group < 0)
		return group;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		return -errno;
	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (bind(fd, (struct sockaddr *)&self, sizeof(self)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		return -errno;
	return fd;
}

/* The next event within so many ms: its command, or -errno (ETIME, ENOBUFS). */
static inline int mcnl_event_next(int fd, int ms, void *buf, size_t size)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 + 1 };
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	n = recv(fd, buf, size, 0);
	if (n < 0)
		return errno == EAGAIN ? -ETIME : -errno;
	if (n < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN))
		return -EPROTO;
	return ((const struct genlmsghdr *)NLMSG_DATA((struct nlmsghdr *)buf))->cmd;
}

#endif /* MCNL_H */
