// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One function for each message names its members in wire order; the cursor decides whether they are written or read,
 * so that encoder and decoder can't drift apart.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#endif
#include "mc_wire.h"

#define REQ_MAGIC	0x516b634dU	/* "MckQ" */
#define MSG_MAGIC	0x4d43U

struct cursor {
	__u8 *at;
	__u8 *end;
	bool writing;
	bool bad;
};

static bool room(struct cursor *c, __u32 n)
{
	if (c->bad || (__u32)(c->end - c->at) < n)
		c->bad = true;
	return !c->bad;
}

static void number(struct cursor *c, __u64 *v, int n)
{
	int i;

	if (!room(c, n))
		return;
	if (!c->writing)
		*v = 0;
	for (i = 0; i < n; i++) {
		if (c->writing)
			c->at[i] = *v >> (8 * i);
		else
			*v |= (__u64)c->at[i] << (8 * i);
	}
	c->at += n;
}

static void u8v(struct cursor *c, __u8 *v)
{
	__u64 x = *v;

	number(c, &x, 1);
	*v = x;
}

static void u16v(struct cursor *c, __u16 *v)
{
	__u64 x = *v;

	number(c, &x, 2);
	*v = x;
}

static void u32v(struct cursor *c, __u32 *v)
{
	__u64 x = *v;

	number(c, &x, 4);
	*v = x;
}

static void u64v(struct cursor *c, __u64 *v)
{
	number(c, v, 8);
}

static void bytes(struct cursor *c, __u8 *v, __u32 n)
{
	if (!room(c, n))
		return;
	if (c->writing)
		memcpy(c->at, v, n);
	else
		memcpy(v, c->at, n);
	c->at += n;
}

/* offset 0: magic 4, length 1, major 1, minor 1, index 1; 8: node; 24: instance; 32: rail; 36: epoch; 40: tag */
static void req_members(struct cursor *c, struct mc_wire_req *req, __u32 *magic, __u8 *len)
{
	u32v(c, magic);
	u8v(c, len);
	u8v(c, &req->major);
	u8v(c, &req->minor);
	u8v(c, &req->index);
	bytes(c, req->node, MC_WIRE_UUID);
	u64v(c, &req->instance);
	u32v(c, &req->rail);
	u32v(c, &req->epoch);
	bytes(c, req->tag, MC_WIRE_REQ_TAG);
}

void mc_wire_req_encode(const struct mc_wire_req *req, __u8 *buf)
{
	struct cursor c = { .at = buf, .end = buf + MC_WIRE_REQ_LEN, .writing = true };
	struct mc_wire_req copy = *req;
	__u32 magic = REQ_MAGIC;
	__u8 len = MC_WIRE_REQ_LEN;

	req_members(&c, &copy, &magic, &len);
}

int mc_wire_req_decode(struct mc_wire_req *req, const __u8 *buf, __u32 len)
{
	struct cursor c = { .at = (__u8 *)buf, .end = (__u8 *)buf + len };
	__u32 magic = 0;
	__u8 said = 0;

	memset(req, 0, sizeof(*req));
	req_members(&c, req, &magic, &said);
	if (c.bad || magic != REQ_MAGIC || said < MC_WIRE_REQ_LEN)
		return -EINVAL;
	return req->major == MC_WIRE_MAJOR ? 0 : -EPROTO;
}

static void hello_members(struct cursor *c, struct mc_wire_hello *h)
{
	u8v(c, &h->major);
	u8v(c, &h->minor);
	u8v(c, &h->auth);
	u32v(c, &h->key_gen);
	bytes(c, h->node, MC_WIRE_UUID);
	bytes(c, h->cluster, MC_WIRE_UUID);
	u64v(c, &h->instance);
	u64v(c, &h->features);
	u32v(c, &h->epoch);
	u32v(c, &h->rail);
	bytes(c, h->nonce, MC_WIRE_NONCE);
	bytes(c, h->tag, MC_WIRE_TAG);
	u32v(c, &h->mtu);
}

static void keys_members(struct cursor *c, struct mc_wire_msg *m)
{
	__u32 i;

	u32v(c, &m->lease);
	u32v(c, &m->first);
	u32v(c, &m->count);
	if (m->count > MC_WIRE_KEYS_MAX)
		c->bad = true;
	if (m->type == MC_WIRE_SEG_KEYS_REQ)
		return;
	for (i = 0; i < m->count && !c->bad; i++)
		u32v(c, &m->keys[i]);
}

/* Version 1.0 ends here; what was appended since has a meaning when it is missing. */
static bool at_end(struct cursor *c)
{
	return !c->writing && !c->bad && c->at == c->end;
}

static void info_members(struct cursor *c, struct mc_wire_msg *m)
{
	u32v(c, &m->lease);
	u64v(c, &m->len);
	u8v(c, &m->chunk_shift);
	if (at_end(c)) {
		m->rights = MC_WIRE_RIGHT_READ | MC_WIRE_RIGHT_WRITE;
		return;
	}
	u8v(c, &m->rights);
	u32v(c, &m->gen);
	if (m->rights & ~(MC_WIRE_RIGHT_READ | MC_WIRE_RIGHT_WRITE | MC_WIRE_NO_GRANT))
		c->bad = true;
}

static void name_member(struct cursor *c, char *name)
{
	bytes(c, (__u8 *)name, MC_WIRE_NAME);
	if (!c->bad && (!name[0] || name[MC_WIRE_NAME - 1]))
		c->bad = true;
}

static bool body_members(struct cursor *c, struct mc_wire_msg *m)
{
	switch (m->type) {
	case MC_WIRE_HELLO:
	case MC_WIRE_CHALLENGE:
		hello_members(c, &m->hello);
		break;
	case MC_WIRE_RESPONSE:
		bytes(c, m->tag, MC_WIRE_TAG);
		break;
	case MC_WIRE_HELLO_ACK:
	case MC_WIRE_FENCE:
	case MC_WIRE_FENCE_ACK:
		u32v(c, &m->epoch);
		break;
	case MC_WIRE_SEG_OPEN:
		bytes(c, m->seg, MC_WIRE_UUID);
		break;
	case MC_WIRE_SEG_INFO:
		info_members(c, m);
		break;
	case MC_WIRE_SEG_LOOKUP:
		name_member(c, m->name);
		break;
	case MC_WIRE_SEG_FOUND:
		bytes(c, m->seg, MC_WIRE_UUID);
		break;
	case MC_WIRE_SEG_KEYS_REQ:
	case MC_WIRE_SEG_KEYS:
		keys_members(c, m);
		break;
	case MC_WIRE_REVOKE:
	case MC_WIRE_SEG_CHANGED:
		bytes(c, m->seg, MC_WIRE_UUID);
		u32v(c, &m->lease);
		break;
	case MC_WIRE_SEG_CLOSE:
	case MC_WIRE_REVOKE_ACK:
		u32v(c, &m->lease);
		break;
	case MC_WIRE_PING:
	case MC_WIRE_PONG:
	case MC_WIRE_ERROR:
	case MC_WIRE_BYE:
		break;
	default:
		return false;
	}
	return true;
}

/* magic 2, type 1, reserved 1, length 2, reserved 2, id 4, status 4 */
static void header(struct cursor *c, struct mc_wire_msg *m, __u16 *magic, __u16 *len)
{
	__u32 status = m->status;
	__u16 zero = 0;
	__u8 none = 0;

	u16v(c, magic);
	u8v(c, &m->type);
	u8v(c, &none);
	u16v(c, len);
	u16v(c, &zero);
	u32v(c, &m->id);
	u32v(c, &status);
	m->status = (__s32)status;
}

int mc_wire_encode(const struct mc_wire_msg *msg, __u8 *buf)
{
	struct cursor c = { .at = buf + MC_WIRE_HDR_LEN, .end = buf + MC_WIRE_MSG_MAX, .writing = true };
	/*
	 * The members are only read while writing; the functions take a pointer to what is not const for the other
	 * way.
	 */
	struct mc_wire_msg *m = (struct mc_wire_msg *)msg;
	__u16 magic = MSG_MAGIC, len;

	if (!body_members(&c, m) || c.bad)
		return -EINVAL;
	len = c.at - buf;
	c.at = buf;
	header(&c, m, &magic, &len);
	return len;
}

int mc_wire_decode(struct mc_wire_msg *msg, const __u8 *buf, __u32 len)
{
	struct cursor c = { .at = (__u8 *)buf, .end = (__u8 *)buf + len };
	__u16 magic = 0, said = 0;

	memset(msg, 0, sizeof(*msg));
	header(&c, msg, &magic, &said);
	if (c.bad || magic != MSG_MAGIC || said != len || len > MC_WIRE_MSG_MAX)
		return -EINVAL;
	if (!body_members(&c, msg))
		return -EOPNOTSUPP;
	return c.bad || msg->status > 0 || msg->status < -4095 ? -EINVAL : 0;
}
