// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/algapi.h>
#include <linux/errno.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "auth.h"
#include "engine.h"
#include "mc_grant.h"

struct cluster_key {
	u32 gen;	/* 0: none */
	u8 key[MC_KEY_LEN];
};

static DEFINE_SPINLOCK(keys_lock);
static struct cluster_key keys[2];	/* newest first */

int mc_key_set(u32 gen, const u8 *key)
{
	int ret = 0;

	if (!gen)
		return -EINVAL;
	spin_lock(&keys_lock);
	if (keys[0].gen == gen || keys[1].gen == gen) {
		memcpy(keys[0].gen == gen ? keys[0].key : keys[1].key, key, MC_KEY_LEN);
	} else if (gen > keys[0].gen) {
		keys[1] = keys[0];
		keys[0].gen = gen;
		memcpy(keys[0].key, key, MC_KEY_LEN);
	} else if (gen > keys[1].gen) {
		keys[1].gen = gen;
		memcpy(keys[1].key, key, MC_KEY_LEN);
	} else {
		ret = -ESTALE;
	}
	spin_unlock(&keys_lock);
	return ret;
}

void mc_auth_forget(void)
{
	memzero_explicit(keys, sizeof(keys));
}

u32 mc_auth_newest(void)
{
	return READ_ONCE(keys[0].gen);
}

u32 mc_auth_older(void)
{
	return READ_ONCE(keys[1].gen);
}

u32 mc_auth_mode(void)
{
	if (mc_node.auth == MC_AUTH_NONE)
		return MC_AUTH_NONE;
	return mc_auth_newest() ? MC_AUTH_KEY : MC_AUTH_UNSET;
}

u32 mc_auth_choose(u32 proposed)
{
	u32 gen = 0;
	int i;

	spin_lock(&keys_lock);
	for (i = 1; i >= 0; i--)
		if (keys[i].gen && keys[i].gen <= proposed)
			gen = keys[i].gen;
	spin_unlock(&keys_lock);
	return gen;
}

bool mc_auth_has(u32 gen)
{
	if (READ_ONCE(mc_node.auth) == MC_AUTH_NONE)
		return !gen;
	return gen && (READ_ONCE(keys[0].gen) == gen || READ_ONCE(keys[1].gen) == gen);
}

int mc_auth_grant_key(const u8 *seg, u32 gen, u8 *out)
{
	static const u8 zero[MC_KEY_LEN];
	int i, ret = -EACCES;

	BUILD_BUG_ON(MC_GRANT_KEY != MC_KEY_LEN);
	if (READ_ONCE(mc_node.auth) == MC_AUTH_NONE) {
		if (gen)
			return -EACCES;
		mc_grant_key(zero, seg, 0, out);
		return 0;
	}
	spin_lock(&keys_lock);
	for (i = 0; i < 2 && ret; i++) {
		if (!gen || keys[i].gen != gen)
			continue;
		mc_grant_key(keys[i].key, seg, gen, out);
		ret = 0;
	}
	spin_unlock(&keys_lock);
	return ret;
}

static int derive(u32 gen, u8 *out)
{
	u8 context[MC_UUID_LEN + 4];
	int i, ret = -EACCES;

	memcpy(context, mc_node.cluster, MC_UUID_LEN);
	for (i = 0; i < 4; i++)
		context[MC_UUID_LEN + i] = gen >> (8 * i);
	spin_lock(&keys_lock);
	for (i = 0; i < 2 && ret; i++) {
		if (!gen || keys[i].gen != gen)
			continue;
		mc_mac(keys[i].key, "mooncake connect", context, sizeof(context), out, MC_KEY_LEN);
		ret = 0;
	}
	spin_unlock(&keys_lock);
	return ret;
}

static void append(struct mc_auth_talk *talk, u8 type, const struct mc_wire_hello *hello)
{
	struct mc_wire_msg msg = { .type = type, .hello = *hello };
	u8 buf[256];
	int n;

	BUILD_BUG_ON(sizeof(struct mc_wire_hello) > sizeof(buf) - MC_WIRE_HDR_LEN - 32);
	memset(msg.hello.tag, 0, sizeof(msg.hello.tag));
	n = mc_wire_encode(&msg, buf);
	memcpy(talk->text + talk->len, buf, n);
	talk->len += n;
}

int mc_auth_begin(struct mc_auth_talk *talk, const struct mc_wire_hello *hello, const struct mc_wire_hello *challenge)
{
	u32 mode = mc_auth_mode();

	memset(talk, 0, sizeof(*talk));
	if (mode == MC_AUTH_UNSET || hello->auth != mode || challenge->auth != mode)
		return -EACCES;
	append(talk, MC_WIRE_HELLO, hello);
	append(talk, MC_WIRE_CHALLENGE, challenge);
	return mode == MC_AUTH_NONE ? 0 : derive(challenge->key_gen, talk->key);
}

void mc_auth_tag(const struct mc_auth_talk *talk, const char *label, u8 tag[MC_WIRE_TAG])
{
	mc_mac(talk->key, label, talk->text, talk->len, tag, MC_WIRE_TAG);
}

int mc_auth_check(const struct mc_auth_talk *talk, const char *label, const u8 tag[MC_WIRE_TAG])
{
	u8 want[MC_WIRE_TAG];

	mc_auth_tag(talk, label, want);
	return crypto_memneq(want, tag, MC_WIRE_TAG) ? -EACCES : 0;
}

void mc_auth_session(const struct mc_auth_talk *talk, u8 session[MC_SESSION_LEN])
{
	BUILD_BUG_ON(MC_SESSION_LEN != MC_KEY_LEN);
	mc_mac(talk->key, "session", talk->text, talk->len, session, MC_SESSION_LEN);
}

void mc_auth_sign_req(const u8 session[MC_SESSION_LEN], const u8 *bytes, u8 tag[MC_WIRE_REQ_TAG])
{
	mc_mac(session, "request", bytes, MC_WIRE_REQ_SIGNED, tag, MC_WIRE_REQ_TAG);
}
