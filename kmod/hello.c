// SPDX-License-Identifier: GPL-2.0-only
/* The first words of a set: who are you, prove it, and are we of one cluster. */
#include <linux/random.h>
#include <linux/slab.h>

#include "cset.h"
#include "ibdev.h"
#include "net.h"

static u32 own_mtu(struct mc_cset *set)
{
	struct rdma_cm_id *id = set->conn[0].id;
	struct ib_port_attr attr;

	if (!id || ib_query_port(set->dev->ib, id->port_num, &attr))
		return ib_mtu_enum_to_int(IB_MTU_1024);
	return ib_mtu_enum_to_int(attr.active_mtu);
}

static void fill_hello(struct mc_cset *set, struct mc_wire_hello *h, u32 key_gen)
{
	memset(h, 0, sizeof(*h));
	h->major = mc_net_wire_major();
	h->minor = MC_WIRE_MINOR;
	h->auth = mc_auth_mode();
	h->key_gen = key_gen;
	memcpy(h->node, mc_node.uuid, MC_UUID_LEN);
	memcpy(h->cluster, mc_node.cluster, MC_UUID_LEN);
	h->instance = mc_node.instance;
	h->epoch = set->epoch;
	h->rail = set->rail;
	h->mtu = own_mtu(set);
	get_random_bytes(h->nonce, sizeof(h->nonce));
}

static int check_hello(const struct mc_wire_hello *h)
{
	if (h->major != MC_WIRE_MAJOR || !memcmp(h->node, mc_node.uuid, MC_UUID_LEN))
		return -EPROTO;
	if (memcmp(h->cluster, mc_node.cluster, MC_UUID_LEN))
		return -ENOENT;
	return h->auth == mc_auth_mode() ? 0 : -EACCES;
}

/* HELLO out, CHALLENGE back: is this the node, and does it know the key? */
static int ask(struct mc_cset *set, const u8 *node, struct mc_wire_msg *msg, struct mc_auth_talk *talk, u32 timeout_ms)
{
	struct mc_wire_hello mine;
	int ret;

	fill_hello(set, &mine, mc_auth_newest());
	memset(msg, 0, sizeof(*msg));
	msg->type = MC_WIRE_HELLO;
	msg->hello = mine;
	ret = mc_ctrl_call(set, msg, timeout_ms);
	if (ret)
		return ret;
	if (msg->type != MC_WIRE_CHALLENGE || memcmp(msg->hello.node, node, MC_UUID_LEN))
		return -EPROTO;
	ret = check_hello(&msg->hello);
	if (ret)
		return ret;
	ret = mc_auth_begin(talk, &mine, &msg->hello);
	return ret ?: mc_auth_check(talk, "owner", msg->hello.tag);
}

int mc_hello_initiate(struct mc_cset *set, const u8 *node, u32 timeout_ms)
{
	struct mc_auth_talk *talk = kzalloc(sizeof(*talk), GFP_KERNEL);
	struct mc_wire_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!talk || !msg)
		goto out;
	ret = ask(set, node, msg, talk, timeout_ms);
	if (ret)
		goto out;
	set->instance = msg->hello.instance;
	set->peer_rail = msg->hello.rail;
	set->mtu = min(own_mtu(set), msg->hello.mtu);
	memset(msg, 0, sizeof(*msg));
	msg->type = MC_WIRE_RESPONSE;
	mc_auth_tag(talk, "initiator", msg->tag);
	ret = mc_ctrl_call(set, msg, timeout_ms);
	if (!ret && (msg->type != MC_WIRE_HELLO_ACK || msg->epoch != set->epoch))
		ret = -EPROTO;
	if (!ret)
		mc_auth_session(talk, set->session);
out:
	kfree_sensitive(talk);
	kfree(msg);
	return ret;
}

static int serve_hello(struct mc_cset *set, struct mc_hello_state *st, struct mc_wire_msg *msg)
{
	struct mc_wire_hello theirs = msg->hello;
	int ret = check_hello(&theirs);

	if (ret)
		return ret;
	/* The set was made for whoever the connection request named. */
	if (memcmp(theirs.node, set->node, MC_UUID_LEN) || theirs.instance != set->instance ||
	    theirs.epoch != set->epoch || theirs.rail != set->peer_rail)
		return -EPROTO;
	set->mtu = min(own_mtu(set), theirs.mtu);
	msg->type = MC_WIRE_CHALLENGE;
	fill_hello(set, &msg->hello, mc_auth_choose(theirs.key_gen));
	ret = mc_auth_begin(&st->talk, &theirs, &msg->hello);
	if (ret)
		return ret;
	mc_auth_tag(&st->talk, "owner", msg->hello.tag);
	st->step = 1;
	return 0;
}

int mc_hello_serve(struct mc_cset *set, struct mc_hello_state *st, struct mc_wire_msg *msg)
{
	int ret;

	if (st->step == 0 && msg->type == MC_WIRE_HELLO)
		return serve_hello(set, st, msg);
	if (st->step != 1 || msg->type != MC_WIRE_RESPONSE)
		return -EPROTO;
	ret = mc_auth_check(&st->talk, "initiator", msg->tag);
	if (ret)
		return ret;
	mc_auth_session(&st->talk, set->session);
	memzero_explicit(&st->talk, sizeof(st->talk));
	st->step = 2;
	return 0;
}
