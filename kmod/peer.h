/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: other nodes, as mcnoded installed them, and this node's ways to their segments.
 *
 * A peer has a path for each rail of this node (path.h); requests, slices to be posted again and open segments are the
 * peer's. pump_work posts slices on whichever live path is best. The peer's own work item asks for fences, and ends
 * requests when there has been no live path for too long.
 *
 * Locks: peer->lock (mutex) protects everything marked (L) and is held while slices are posted. Under it:
 * set->post_lock, mem->mr_lock for a look-up, the lock of the list of rails. Nothing that waits for the network, for a
 * completion or for peer->lock's other holders' work runs under it; mc_slice_done(), mc_req_stop() and
 * mc_req_cut_end() are called after it was dropped.
 */
#ifndef MC_PEER_H
#define MC_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "net.h"
#include "path.h"

#define MC_PEERS_MAX	4096
#define MC_TRIES_MAX	3	/* failures of a slice's own before its request fails */

struct mc_net_dir;
struct mc_rail;
struct mc_rseg;
struct seq_file;

/**
 * struct mc_peer - one peer
 * @kref: list, paths, segments
 * @link: in the list of peers
 * @node: its UUID
 * @lock: see the top of this file
 * @addrs: where it listens (L)
 * @naddrs: entries of @addrs (L)
 * @gone: it was removed (L)
 * @wanted: somebody needs it: connect (L)
 * @paths: ways to it (L)
 * @npaths: entries of @paths (L)
 * @nlive: live ones (L)
 * @fences: links whose WRITEs may still be executed (L)
 * @instance: its module load, as of the last HELLO (L)
 * @attempts: attempts to connect that have ended
 * @down_since: jiffies of the last moment a path was live or it became wanted
 * @used_at: jiffies when something was asked of it
 * @last_err: how the last attempt ended, or the last link
 * @why: the same for people (L)
 * @logged_at: jiffies when the log last told about it
 * @work: see the top of this file
 * @pump_work: posts slices
 * @wait: an attempt has ended
 * @fifo: requests with bytes to cut (L)
 * @posted: slices on the wire (L)
 * @retry: slices whose link broke (L)
 * @nposted: entries of @posted (L)
 * @window: bytes of @posted (L)
 * @picks: slices that the scheduler has placed (L)
 * @rsegs: segments (L)
 * @counters: what this node moved to and from it
 * @dir: its directory in sysfs
 */
struct mc_peer {
	struct kref kref;
	struct list_head link;
	u8 node[MC_UUID_LEN];
	struct mutex lock;
	struct mc_peer_addr addrs[MC_PEER_ADDRS];
	u32 naddrs;
	bool gone;
	bool wanted;
	struct list_head paths;
	u32 npaths;
	u32 nlive;
	struct list_head fences;
	u64 instance;
	u32 attempts;
	unsigned long down_since;
	unsigned long used_at;
	int last_err;
	char why[MC_WHY_LEN];
	unsigned long logged_at;
	struct delayed_work work;
	struct work_struct pump_work;
	wait_queue_head_t wait;
	struct list_head fifo;
	struct list_head posted;
	struct list_head retry;
	u32 nposted;
	u64 window;
	u64 picks;
	struct list_head rsegs;
	struct mc_counters counters;
	struct mc_net_dir *dir;
};

/**
 * mc_peer_set - add a peer or replace its addresses
 * @node: peer
 * @addrs: where it listens
 * @n: how many, 1 to MC_PEER_ADDRS
 *
 * Return: 0, -EINVAL (this node itself), -ENOSPC, -ENOMEM.
 */
int mc_peer_set(const u8 *node, const struct mc_peer_addr *addrs, u32 n);

int mc_peer_del(const u8 *node);	/* -ENOENT; its requests have ended when it returns 0 */
void mc_peer_del_all(void);
struct mc_peer *mc_peer_find(const u8 *node);	/* with a reference, or NULL */
struct mc_peer *mc_peer_nth(u32 n);		/* with a reference, or NULL */
void mc_peer_get(struct mc_peer *peer);
void mc_peer_put(struct mc_peer *peer);
bool mc_peer_any(void);
const char *mc_peer_state(struct mc_peer *peer);	/* peer->lock held: state of its best path */
u32 mc_peer_epoch(struct mc_peer *peer);	/* peer->lock held: of the newest live link, 0 without one */

void mc_peer_want(struct mc_peer *peer);	/* connect now, if it isn't connected */
void mc_peer_kick_all(void);			/* a rail appeared: those who wait may try again */
void mc_peer_drop_rail(struct mc_rail *rail);	/* no path uses it when this returns */
void mc_peer_break_rail(struct mc_rail *rail, const char *why);	/* its links are no good any more */
void mc_peer_attempt_over(struct mc_peer *peer, int err);	/* an attempt of a path ended */
void mc_peer_changed(void);			/* a link or a path is gone */
void mc_peer_show(struct seq_file *m);		/* debugfs */

/**
 * mc_peer_link - wait for a live link
 * @peer: peer
 * @deadline: jiffies
 *
 * Return: link with a reference; ERR_PTR: -EACCES, -EPROTO, -ENOENT (another cluster), -EHOSTUNREACH, -ETIMEDOUT,
 * -EINTR (killed).
 */
struct mc_link *mc_peer_link(struct mc_peer *peer, unsigned long deadline);

#endif /* MC_PEER_H */
