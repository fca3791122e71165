/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which entry of a port's GID table a rail uses. Pure code for the module and for tests.
 *
 * Only RoCE v2 entries (IP over UDP) of the port's own interface count. Addresses that are good beyond the link come
 * first; a link-local one is the last resort and says so. Nothing is guessed: without a usable entry there is an error,
 * and an entry that somebody asked for is used or refused.
 */
#ifndef MC_GID_H
#define MC_GID_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
#endif

#define MC_GID_LEN	16

/**
 * enum mc_gid_type - what kind of entry it is
 * @MC_GID_NONE: empty
 * @MC_GID_IB: InfiniBand, or RoCE v1: no IP header
 * @MC_GID_ROCE_V2: RoCE v2
 */
enum mc_gid_type { MC_GID_NONE, MC_GID_IB, MC_GID_ROCE_V2 };

/**
 * enum mc_gid_why - why an entry is, or is not, the one
 * @MC_GID_EMPTY: nothing there
 * @MC_GID_OLD_TYPE: not RoCE v2
 * @MC_GID_FOREIGN: address of another interface
 * @MC_GID_OTHER: good, but not the address that was asked for, or not the best one
 * @MC_GID_ADDRESS: has the address that was asked for
 * @MC_GID_SUBNET: good beyond the link, in the peer's subnet
 * @MC_GID_GLOBAL: good beyond the link
 * @MC_GID_LINK_LOCAL: good on this link only, and there was no better one: a warning is due
 * @MC_GID_FORCED: was asked for
 */
enum mc_gid_why {
	MC_GID_EMPTY, MC_GID_OLD_TYPE, MC_GID_FOREIGN, MC_GID_OTHER, MC_GID_ADDRESS, MC_GID_SUBNET, MC_GID_GLOBAL,
	MC_GID_LINK_LOCAL, MC_GID_FORCED,
};

/**
 * struct mc_gid_entry - one entry of the table
 * @gid: IPv6 address, IPv4 as ::ffff:a.b.c.d
 * @type: kind
 * @own: its address is one of the port's own interface
 */
struct mc_gid_entry {
	u8 gid[MC_GID_LEN];
	enum mc_gid_type type;
	bool own;
};

/**
 * struct mc_gid_wish - what the entry is for
 * @addr: the rail's address in the same form, NULL: any
 * @peer: an address that should be reached, NULL: none in particular
 * @peer_bits: bits of the network that @peer shares with those in its subnet, as the table's form counts them (of 128)
 * @forced: index that somebody asked for, -1: nobody did
 */
struct mc_gid_wish {
	const u8 *addr;
	const u8 *peer;
	u32 peer_bits;
	int forced;
};

/**
 * mc_gid_check - can this entry be used at all?
 * @e: entry
 * @wish: what for; its @forced is not looked at
 *
 * Return: MC_GID_ADDRESS, MC_GID_SUBNET, MC_GID_GLOBAL or MC_GID_LINK_LOCAL if it can, else what speaks against it.
 */
enum mc_gid_why mc_gid_check(const struct mc_gid_entry *e, const struct mc_gid_wish *wish);

/**
 * mc_gid_choose - choose an entry
 * @table: the port's
 * @n: entries
 * @wish: what for
 * @why: result: why this one, or what speaks against the one that was asked for
 *
 * Return: index; -1: none is usable, or the one that was asked for is not.
 */
int mc_gid_choose(const struct mc_gid_entry *table, u32 n, const struct mc_gid_wish *wish, enum mc_gid_why *why);

const char *mc_gid_reason(enum mc_gid_why why);	/* in words */

#endif /* MC_GID_H */
