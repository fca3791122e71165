/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what happened, told to whoever listens on the netlink group "events" (uapi/linux/mooncake_netlink.h).
 *
 * All functions may sleep for memory and for one another, take no locks of other files, never fail and cost next to
 * nothing when nobody listens. Call them without locks that a slow listener must not hold up; the order of events about
 * one object is the order of the calls. Between mc_events_stop() and the end of the module they do nothing.
 */
#ifndef MC_EVENT_H
#define MC_EVENT_H

#include <linux/socket.h>
#include <linux/types.h>
#include <linux/mooncake_netlink.h>

/**
 * enum mc_rail_event - what happened to a rail, or to its path to one peer
 * @MC_RAIL_EVENT_UP: carries slices (again)
 * @MC_RAIL_EVENT_PAUSED: failed, is tried again
 * @MC_RAIL_EVENT_DOWN: was taken away
 */
enum mc_rail_event { MC_RAIL_EVENT_UP, MC_RAIL_EVENT_PAUSED, MC_RAIL_EVENT_DOWN };

/**
 * mc_event_peer - the first path to a peer is live, or the last one is gone
 * @up: which of the two
 * @node: the peer
 * @reason: why it is down
 * @why: the same for people, NULL or "": nothing to say
 */
void mc_event_peer(bool up, const u8 *node, enum mc_reason reason, const char *why);

/**
 * mc_event_rail - a rail changed
 * @what: how
 * @rail: its id
 * @dev: name of its RDMA device
 * @reason: why
 * @why: the same for people, NULL or "": nothing to say
 */
void mc_event_rail(enum mc_rail_event what, u32 rail, const char *dev, enum mc_reason reason, const char *why);

/**
 * struct mc_event_ends - both ends of a path
 * @rail: this node's rail
 * @dev: name of its RDMA device
 * @node: the peer
 * @remote: the peer's rail
 * @addr: its address and port
 */
struct mc_event_ends {
	u32 rail;
	const char *dev;
	const u8 *node;
	u32 remote;
	const struct sockaddr_storage *addr;
};

/**
 * mc_event_path - a path changed
 * @what: how
 * @ends: which path
 * @reason: why
 * @why: the same for people, NULL or "": nothing to say
 */
void mc_event_path(enum mc_rail_event what, const struct mc_event_ends *ends, enum mc_reason reason, const char *why);

/**
 * mc_event_seg_gone - a segment can't be reached any more
 * @node: owner, NULL: this node
 * @seg: the segment
 * @name: its name, NULL: not known
 * @pid: process that owned it, 0: the node did, or not known
 * @reason: why
 *
 * For a segment of one's own: as soon as no new request finds it. Pages may be in quarantine for a while.
 */
void mc_event_seg_gone(const u8 *node, const u8 *seg, const char *name, u32 pid, enum mc_reason reason);

/**
 * mc_event_buf_gone - a buffer is unregistered
 * @id: its handle
 * @pid: process that opened the file
 * @uid: its user
 * @len: bytes
 * @reason: MC_REASON_ASKED or MC_REASON_EXIT
 */
void mc_event_buf_gone(u32 id, u32 pid, u32 uid, u64 len, enum mc_reason reason);

/**
 * mc_event_client_gone - the file of a client of the master was closed
 * @client: its UUID (MC_IOC_CLIENT)
 * @pid: process that opened the file
 */
void mc_event_client_gone(const u8 *client, u32 pid);

/* What kind of reason the error of a broken connection is. */
enum mc_reason mc_reason_of(int err);

void mc_events_start(void);	/* the netlink family is registered */
void mc_events_stop(void);	/* it is about to go; no event is being sent when this returns */

#endif /* MC_EVENT_H */
