/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths: a peer's ways, one for each rail of this node.
 *
 * A path has a work item that owns its life: it chooses a partner among the peer's rails, opens a connection set (a
 * *link*), pings, takes a broken link down and opens the next one. Paths of a peer live and fail on their own.
 *
 *   DOWN -> CONNECTING -> HELLO -> LIVE -> BROKEN -> CONNECTING ...
 *              |            |
 *              +--> PAUSED <+   (back-off 100 ms to 5 s with jitter; a port that comes up ends it at once)
 *
 * Partners. Each (local rail, remote rail) is a *pair*. Pairs of one subnet come first, then those of one rail number,
 * and among equals a remote rail that no other path uses. A pair that fails while the peer is reached through another
 * one and that never worked is taken for unreachable: it is left alone for 10 s, doubling up to 10 minutes.
 *
 * Fence. A WRITE on a link that broke may still be executed until the owner has destroyed its end. Its slices wait in
 * the peer's retry list with the link's epoch in slice->fence, and the link's structure waits in peer->fences, until
 * the owner said so: in the HELLO_ACK of a newer link of the same pair, in a FENCE_ACK over any other live link, or by
 * being another load of the module.
 *
 * References: a path is held by the peer's list and by each of its links; a link by whoever destroys it, by
 * peer->fences, and by those who use it. A link holds its path, a path its peer and its rail.
 *
 * Everything marked (L) is protected by peer->lock.
 */
#ifndef MC_PATH_H
#define MC_PATH_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/workqueue.h>

#include "cset.h"
#include "mc_score.h"

#define MC_PEER_ADDRS	8
#define MC_PATHS_MAX	16	/* of a peer: as many as there can be rails */

struct mc_peer;
struct mc_rail;
struct seq_file;

/**
 * struct mc_peer_addr - one of a peer's rails
 * @rail: its number there
 * @addr: address and port
 */
struct mc_peer_addr {
	u32 rail;
	struct sockaddr_storage addr;
};

/**
 * enum mc_path_state - see the top of this file
 */
enum mc_path_state {
	MC_PATH_DOWN, MC_PATH_PAUSED, MC_PATH_CONNECTING, MC_PATH_HELLO, MC_PATH_BROKEN, MC_PATH_LIVE,
};

/**
 * struct mc_link - a set that this node opened
 * @set: the set
 * @path: the path, with a reference
 * @fence_link: in peer->fences (L)
 * @remote: index of its partner among the peer's addresses when it was opened
 * @to: the partner itself: addresses may be replaced while the link lives
 * @live: the path's work item is to be woken when it breaks
 * @carried: a slice ended well on it
 * @since: jiffies when it became live
 * @revokes: revocations of leases that no segment had yet (L)
 * @overtaken: answers in a row that were older than what the owner had said before (work item)
 * @outrun: segments in a row that had grown before their keys were there (work item)
 */
struct mc_link {
	struct mc_cset set;
	struct mc_path *path;
	struct list_head fence_link;
	u32 remote;
	struct mc_peer_addr to;
	bool live;
	bool carried;
	unsigned long since;
	u32 revokes;
	u32 overtaken;
	u32 outrun;
};

/**
 * struct mc_pair - what a path knows about one of the peer's rails
 * @fails: attempts that failed since the last one that was good
 * @proven: it was live once
 * @retry_at: jiffies before which it is not tried again, if @fails
 * @err: how the last attempt ended, -errno
 */
struct mc_pair {
	u32 fails;
	bool proven;
	unsigned long retry_at;
	int err;
};

/**
 * struct mc_path - see the top of this file
 * @kref: the peer's list, links
 * @link: in peer->paths (L)
 * @peer: with a reference
 * @rail: local rail, with a reference
 * @state: (L)
 * @cur: link to post on, NULL unless LIVE (L)
 * @trying: link that is being connected or taken down (L)
 * @gone: it is being ended: no new link (L)
 * @score: for the scheduler (L)
 * @pairs: by index of the peer's addresses (L)
 * @remote: index of the partner in use or used last (L)
 * @quick: links in a row that broke before they carried anything
 * @missed: pings without answer
 * @attempts: attempts to connect that have ended
 * @last_err: how the last attempt or the last link ended
 * @why: the same for people (L)
 * @work: see the top of this file
 */
struct mc_path {
	struct kref kref;
	struct list_head link;
	struct mc_peer *peer;
	struct mc_rail *rail;
	enum mc_path_state state;
	struct mc_link *cur;
	struct mc_link *trying;
	bool gone;
	struct mc_score score;
	struct mc_pair pairs[MC_PEER_ADDRS];
	u32 remote;
	u32 quick;
	u32 missed;
	u32 attempts;
	int last_err;
	char why[MC_WHY_LEN];
	struct delayed_work work;
};

/**
 * mc_path_add - a path for a rail
 * @peer: peer, its lock is held
 * @rail: rail; takes a reference
 *
 * Return: 0 or -ENOMEM.
 */
int mc_path_add(struct mc_peer *peer, struct mc_rail *rail);

/**
 * mc_path_end - close a path and take it off its peer's list
 * @path: path, already marked gone by the caller; its list's reference is dropped
 *
 * The owner is told goodbye. Bounded: a set that is being connected is broken, which ends the step it is in.
 */
void mc_path_end(struct mc_path *path);

void mc_path_kick(struct mc_path *path);	/* peer->lock held: forget the back-off and try now */
bool mc_path_unreachable(const struct mc_path *path, u32 remote);	/* peer->lock held: learned and excluded */
const char *mc_path_state_name(enum mc_path_state state);
void mc_path_show(struct seq_file *m, struct mc_path *path);	/* peer->lock held; debugfs */

static inline struct mc_link *mc_to_link(struct mc_cset *set)
{
	return container_of(set, struct mc_link, set);
}

/* peer->lock held: the link that slices may be posted on, or NULL. */
static inline struct mc_link *mc_path_live(struct mc_path *path)
{
	return path->cur && !mc_cset_broken(&path->cur->set) ? path->cur : NULL;
}

#endif /* MC_PATH_H */
