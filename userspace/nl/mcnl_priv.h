/* SPDX-License-Identifier: MIT */
/* Inside of the netlink client: sockets, requests and answers. */
#ifndef MCNL_PRIV_H
#define MCNL_PRIV_H

#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "mcnl.h"

/**
 * struct mcnl - one netlink socket
 * @sk: libnl's socket
 * @family: number of the family
 * @errmsg: sentence about the last error
 */
struct mcnl {
	struct nl_sock *sk;
	int family;
	char errmsg[512];
};

/**
 * typedef mcnl_reply_fn - called for each answer of a request
 * @tb: attributes, indexed by enum mc_genl_attr
 * @arg: caller's
 *
 * Return: 0 or -errno, which ends the request.
 */
typedef int (*mcnl_reply_fn)(struct nlattr **tb, void *arg);

/** mcnl_req() - begin a request; NULL without memory */
struct nl_msg *mcnl_req(struct mcnl *nl, int cmd, int flags);

/**
 * mcnl_call() - send @msg (always freed), hand every answer to @fn and wait for the end
 * @nl: handle
 * @msg: from mcnl_req(), NULL is -ENOMEM
 * @what: words for the error sentence, for example "rail add: device 'rxe0'"
 * @fn: may be NULL
 * @arg: for @fn
 */
int mcnl_call(struct mcnl *nl, struct nl_msg *msg, const char *what, mcnl_reply_fn fn, void *arg);

/** mcnl_parse() - check and index the attributes of a message; -EBADMSG when one has a wrong size */
int mcnl_parse(struct nlmsghdr *nlh, struct nlattr **tb);

/** mcnl_get_rail() - fill @r from the attributes of a rail */
void mcnl_get_rail(struct nlattr **tb, struct mcnl_rail *r);

/** mcnl_get_peer() - fill @p from the attributes of a peer; -EBADMSG when its nest is damaged */
int mcnl_get_peer(struct nlattr **tb, struct mcnl_peer *p);

/** mcnl_get_event() - fill @ev from a multicast message */
void mcnl_get_event(int cmd, struct nlattr **tb, struct mcnl_event *ev);

#endif /* MCNL_PRIV_H */
