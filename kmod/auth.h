/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cluster key and what is derived from it. The key itself never leaves this file and no key crosses a wire: both
 * sides prove with a keyed BLAKE2s over everything they have said that they know it.
 */
#ifndef MC_AUTH_H
#define MC_AUTH_H

#include <linux/types.h>
#include <linux/mooncake_netlink.h>

#include "mc_wire.h"

#define MC_SESSION_LEN	32

/**
 * struct mc_auth_talk - what was said during one connect, as keys to come need it
 * @key: derived from the cluster key of the agreed generation; all zero without authentication
 * @text: encoded bodies of HELLO and CHALLENGE (without its tag), as sent
 * @len: bytes of @text
 */
struct mc_auth_talk {
	u8 key[MC_KEY_LEN];
	u8 text[512];
	u32 len;
};

/**
 * mc_auth_mode - the way this node authenticates now
 *
 * Return: enum mc_auth; MC_AUTH_UNSET means that nothing may connect.
 */
u32 mc_auth_mode(void);

/**
 * mc_auth_newest - generation of the newest key
 *
 * Return: 0 without a key.
 */
u32 mc_auth_newest(void);
u32 mc_auth_older(void);	/* the other one that is accepted, 0: none */

/**
 * mc_auth_choose - the newest generation that both have
 * @proposed: the other side's newest
 *
 * Return: @proposed if it is one of ours, else our newest one that is older, else 0.
 */
u32 mc_auth_choose(u32 proposed);

/**
 * mc_auth_has - is this generation of the cluster key one of the two that are accepted?
 * @gen: generation
 *
 * Return: without authentication true for 0 alone.
 */
bool mc_auth_has(u32 gen);

/**
 * mc_auth_grant_key - the key that signs grants of a segment
 * @seg: segment
 * @gen: generation of the cluster key; 0 without authentication, whose cluster key is all zero
 * @out: result, MC_KEY_LEN bytes
 *
 * Return: 0 or -EACCES (no such generation).
 */
int mc_auth_grant_key(const u8 *seg, u32 gen, u8 *out);

/**
 * mc_auth_begin - start a transcript
 * @talk: result
 * @hello: the initiator's
 * @challenge: the owner's; its auth and key_gen rule
 *
 * Return: 0, -EACCES (that key is not loaded, or the modes differ).
 */
int mc_auth_begin(struct mc_auth_talk *talk, const struct mc_wire_hello *hello, const struct mc_wire_hello *challenge);

/**
 * mc_auth_tag - prove knowledge of the key
 * @talk: transcript
 * @label: who speaks: "owner" or "initiator"
 * @tag: result
 */
void mc_auth_tag(const struct mc_auth_talk *talk, const char *label, u8 tag[MC_WIRE_TAG]);

/**
 * mc_auth_check - check the other side's proof, in constant time
 * @talk: transcript
 * @label: see mc_auth_tag()
 * @tag: what it sent
 *
 * Return: 0 or -EACCES.
 */
int mc_auth_check(const struct mc_auth_talk *talk, const char *label, const u8 tag[MC_WIRE_TAG]);

/**
 * mc_auth_session - key of the session: signs the requests of the data queue pairs
 * @talk: transcript
 * @session: result
 */
void mc_auth_session(const struct mc_auth_talk *talk, u8 session[MC_SESSION_LEN]);

/**
 * mc_auth_sign_req - tag of a connection request
 * @session: session key
 * @bytes: encoded request, its first MC_WIRE_REQ_SIGNED bytes count
 * @tag: result
 */
void mc_auth_sign_req(const u8 session[MC_SESSION_LEN], const u8 *bytes, u8 tag[MC_WIRE_REQ_TAG]);

void mc_auth_forget(void);	/* module exit: wipe the keys */

#endif /* MC_AUTH_H */
