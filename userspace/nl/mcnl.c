// SPDX-License-Identifier: MIT
/* Netlink client: open, request, answers, errors with the kernel's words, events. */
#include "mcnl_priv.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

struct call_ctx {
	struct mcnl *nl;
	const char *what;
	mcnl_reply_fn fn;
	void *arg;
	int rc;
	bool done;
};

static const struct nla_policy policy[MC_ATTR_MAX + 1] = {
	[MC_ATTR_NODE_UUID] = { .minlen = MC_UUID_LEN, .maxlen = MC_UUID_LEN },
	[MC_ATTR_INSTANCE] = { .type = NLA_U64 },
	[MC_ATTR_CLUSTER_UUID] = { .minlen = MC_UUID_LEN, .maxlen = MC_UUID_LEN },
	[MC_ATTR_AUTH] = { .type = NLA_U32 },
	[MC_ATTR_KEY_GEN] = { .type = NLA_U32 },
	[MC_ATTR_KEY_GEN_OLD] = { .type = NLA_U32 },
	[MC_ATTR_CLOCK_EPOCH] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_OFFSET] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_ERROR] = { .type = NLA_U64 },
	[MC_ATTR_CLOCK_AGE] = { .type = NLA_U64 },
	[MC_ATTR_RAIL_ID] = { .type = NLA_U32 },
	[MC_ATTR_DEV_NAME] = { .type = NLA_STRING },
	[MC_ATTR_ADDR] = { .minlen = 4, .maxlen = 16 },
	[MC_ATTR_PORT] = { .type = NLA_U16 },
	[MC_ATTR_STATE] = { .type = NLA_STRING },
	[MC_ATTR_RAILS] = { .type = NLA_NESTED },
	[MC_ATTR_RAIL] = { .type = NLA_NESTED },
	[MC_ATTR_EPOCH] = { .type = NLA_U64 },
	[MC_ATTR_SEG_UUID] = { .minlen = MC_UUID_LEN, .maxlen = MC_UUID_LEN },
	[MC_ATTR_CLIENT_UUID] = { .minlen = MC_UUID_LEN, .maxlen = MC_UUID_LEN },
	[MC_ATTR_NAME] = { .type = NLA_STRING },
	[MC_ATTR_LEN] = { .type = NLA_U64 },
	[MC_ATTR_NUMA_NODE] = { .type = NLA_U32 },
	[MC_ATTR_PAGE_SIZE] = { .type = NLA_U32 },
	[MC_ATTR_LEASES] = { .type = NLA_U32 },
	[MC_ATTR_BUFFERS] = { .type = NLA_U32 },
	[MC_ATTR_BUF_ID] = { .type = NLA_U32 },
	[MC_ATTR_PID] = { .type = NLA_U32 },
	[MC_ATTR_UID] = { .type = NLA_U32 },
	[MC_ATTR_PINNED] = { .type = NLA_U64 },
	[MC_ATTR_READ_BYTES] = { .type = NLA_U64 },
	[MC_ATTR_WRITE_BYTES] = { .type = NLA_U64 },
	[MC_ATTR_READ_OPS] = { .type = NLA_U64 },
	[MC_ATTR_WRITE_OPS] = { .type = NLA_U64 },
	[MC_ATTR_ERRORS] = { .type = NLA_U64 },
	[MC_ATTR_RETRIES] = { .type = NLA_U64 },
	[MC_ATTR_INFLIGHT] = { .type = NLA_U64 },
	[MC_ATTR_RECONNECTS] = { .type = NLA_U64 },
	[MC_ATTR_LAST_ERROR] = { .type = NLA_STRING },
	[MC_ATTR_VALUE] = { .type = NLA_U64 },
	[MC_ATTR_LOCAL_BYTES] = { .type = NLA_U64 },
	[MC_ATTR_LOCAL_RAIL_ID] = { .type = NLA_U32 },
	[MC_ATTR_REMOTE_RAIL_ID] = { .type = NLA_U32 },
	[MC_ATTR_SLICE_BYTES] = { .type = NLA_U32 },
	[MC_ATTR_TAIL_BYTES] = { .type = NLA_U32 },
	[MC_ATTR_SERVICE_LEVEL] = { .type = NLA_U32 },
	[MC_ATTR_GID_INDEX] = { .type = NLA_U32 },
	[MC_ATTR_GID_REASON] = { .type = NLA_STRING },
	[MC_ATTR_PCI_DEVICE] = { .type = NLA_STRING },
	[MC_ATTR_TOS] = { .type = NLA_U32 },
	[MC_ATTR_RIGHTS] = { .type = NLA_U32 },
	[MC_ATTR_GEN] = { .type = NLA_U32 },
	[MC_ATTR_SEQ] = { .type = NLA_U64 },
	[MC_ATTR_TIME] = { .type = NLA_U64 },
	[MC_ATTR_REASON] = { .type = NLA_U32 },
	[MC_ATTR_TRANSPORT] = { .type = NLA_U32 },
	[MC_ATTR_OP] = { .type = NLA_U32 },
	[MC_ATTR_REQS] = { .type = NLA_U64 },
	[MC_ATTR_BYTES] = { .type = NLA_U64 },
};

static int __attribute__((format(printf, 3, 4)))
fail(struct mcnl *nl, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(nl->errmsg, sizeof(nl->errmsg), fmt, ap);
	va_end(ap);
	return rc;
}

/* libnl has numbers of its own; only those that a caller can act upon are told apart. */
static int from_nle(int nle)
{
	switch (nle < 0 ? -nle : nle) {
	case NLE_SUCCESS:
		return 0;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_AGAIN:
	case NLE_MSG_TRUNC:
		return nle == -NLE_AGAIN ? -ETIMEDOUT : -EMSGSIZE;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_INTR:
		return -EINTR;
	case NLE_DUMP_INTR:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

int mcnl_parse(struct nlmsghdr *nlh, struct nlattr **tb)
{
	if (genlmsg_parse(nlh, 0, tb, MC_ATTR_MAX, (struct nla_policy *)policy) < 0)
		return -EBADMSG;
	return 0;
}

/* The extended ack follows the echoed request: the whole of it, or only its header when it was capped. */
static const char *ext_ack(const struct nlmsgerr *e)
{
	const struct nlmsghdr *h = (const void *)((const char *)e - NLMSG_HDRLEN);
	size_t off = sizeof(*e), end = h->nlmsg_len - NLMSG_HDRLEN;
	const struct nlattr *a;

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || h->nlmsg_len < NLMSG_HDRLEN + sizeof(*e))
		return NULL;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		off += NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
	while (off + sizeof(*a) <= end) {
		a = (const void *)((const char *)e + off);
		if (a->nla_len < sizeof(*a) || off + a->nla_len > end)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG &&
		    a->nla_len > sizeof(*a) && ((const char *)a)[a->nla_len - 1] == '\0')
			return (const char *)a + sizeof(*a);
		off += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static int on_error(struct sockaddr_nl *sa, struct nlmsgerr *e, void *arg)
{
	struct call_ctx *c = arg;
	const char *words = ext_ack(e);

	(void)sa;
	c->done = true;
	c->rc = e->error;
	if (words)
		fail(c->nl, 0, "%s: %s (%s)", c->what, words, strerror(-e->error));
	else
		fail(c->nl, 0, "%s: %s", c->what, strerror(-e->error));
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct call_ctx *c = arg;

	(void)msg;
	c->done = true;
	return NL_STOP;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MC_ATTR_MAX + 1];
	struct call_ctx *c = arg;
	int rc;

	if (!c->fn || c->rc)
		return NL_OK;
	rc = mcnl_parse(nlmsg_hdr(msg), tb);
	if (!rc)
		rc = c->fn(tb, c->arg);
	if (rc)
		c->rc = fail(c->nl, rc, "%s: unusable answer: %s", c->what, strerror(-rc));
	return NL_OK;
}

struct nl_msg *mcnl_req(struct mcnl *nl, int cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0,
				NLM_F_REQUEST | NLM_F_ACK | flags, cmd, MC_GENL_VERSION)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static int receive(struct mcnl *nl, struct call_ctx *c)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int rc;

	if (!cb)
		return fail(nl, -ENOMEM, "%s: out of memory", c->what);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, c);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, c);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_ack, c);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, c);
	while (!c->done) {
		rc = nl_recvmsgs(nl->sk, cb);
		if (rc < 0 && !c->done) {
			c->rc = from_nle(rc);
			fail(nl, 0, "%s: the kernel's answer did not arrive: %s", c->what,
			     nl_geterror(rc));
			break;
		}
	}
	nl_cb_put(cb);
	return c->rc;
}

int mcnl_call(struct mcnl *nl, struct nl_msg *msg, const char *what, mcnl_reply_fn fn, void *arg)
{
	struct call_ctx c = { .nl = nl, .what = what, .fn = fn, .arg = arg };
	int rc;

	if (!msg)
		return fail(nl, -ENOMEM, "%s: out of memory", what);
	rc = nl_send_auto(nl->sk, msg);
	nlmsg_free(msg);
	if (rc < 0)
		return fail(nl, from_nle(rc), "%s: cannot send: %s", what, nl_geterror(rc));
	return receive(nl, &c);
}

/* Answers that come late must end a call, not the program; the kernel's sentences are asked for once. */
static int configure(struct mcnl *nl)
{
	struct timeval tv = { .tv_sec = MCNL_TIMEOUT_MS / 1000 };
	int one = 1, fd = nl_socket_get_fd(nl->sk);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)))
		return fail(nl, -errno, "netlink socket: %s", strerror(errno));
	nl_socket_set_buffer_size(nl->sk, 1 << 20, 0);
	return 0;
}

static int connect_family(struct mcnl *nl)
{
	int rc;

	nl->sk = nl_socket_alloc();
	if (!nl->sk)
		return fail(nl, -ENOMEM, "netlink socket: out of memory");
	rc = genl_connect(nl->sk);
	if (rc < 0)
		return fail(nl, from_nle(rc), "netlink socket: %s", nl_geterror(rc));
	rc = configure(nl);
	if (rc)
		return rc;
	nl->family = genl_ctrl_resolve(nl->sk, MC_GENL_NAME);
	if (nl->family == -NLE_OBJ_NOTFOUND)
		return fail(nl, -ENOENT, "module mooncake is not loaded (netlink family '%s' does "
			    "not exist; try: modprobe mooncake)", MC_GENL_NAME);
	if (nl->family < 0)
		return fail(nl, from_nle(nl->family), "netlink family '%s': %s", MC_GENL_NAME,
			    nl_geterror(nl->family));
	return 0;
}

int mcnl_open(struct mcnl **out)
{
	struct mcnl *nl = calloc(1, sizeof(*nl));

	*out = nl;
	if (!nl)
		return -ENOMEM;
	return connect_family(nl);
}

void mcnl_close(struct mcnl *nl)
{
	if (!nl)
		return;
	if (nl->sk)
		nl_socket_free(nl->sk);
	free(nl);
}

const char *mcnl_errmsg(const struct mcnl *nl)
{
	return nl ? nl->errmsg : "out of memory";
}

int mcnl_fd(const struct mcnl *nl)
{
	return nl_socket_get_fd(nl->sk);
}

int mcnl_events_join(struct mcnl *nl)
{
	int group = genl_ctrl_resolve_grp(nl->sk, MC_GENL_NAME, MC_GENL_GROUP_EVENTS);
	int rc;

	if (group < 0)
		return fail(nl, from_nle(group), "netlink group '%s': %s", MC_GENL_GROUP_EVENTS,
			    nl_geterror(group));
	rc = nl_socket_add_membership(nl->sk, group);
	if (rc < 0)
		return fail(nl, from_nle(rc), "netlink group '%s': %s", MC_GENL_GROUP_EVENTS,
			    nl_geterror(rc));
	nl_socket_disable_seq_check(nl->sk);
	nl_socket_set_nonblocking(nl->sk);
	return 0;
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MC_ATTR_MAX + 1];
	struct mcnl_event *ev = arg;

	if (mcnl_parse(nlmsg_hdr(msg), tb) == 0)
		mcnl_get_event(genlmsg_hdr(nlmsg_hdr(msg))->cmd, tb, ev);
	return NL_STOP;
}

/* Events answer no request. The callbacks of the socket, where this is off already, are not those that are used. */
static int any_sequence(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

int mcnl_event_next(struct mcnl *nl, struct mcnl_event *ev)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int rc;

	memset(ev, 0, sizeof(*ev));
	if (!cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_event, ev);
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, any_sequence, NULL);
	rc = nl_recvmsgs(nl->sk, cb);
	nl_cb_put(cb);
	if (rc == -NLE_AGAIN || (rc >= 0 && !ev->cmd))
		return -EAGAIN;
	/* The kernel says ENOBUFS once for what did not fit into the socket; libnl calls it lack of memory. */
	if (rc == -NLE_NOMEM)
		return -ENOBUFS;
	return rc < 0 ? from_nle(rc) : 0;
}
