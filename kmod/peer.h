/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: other nodes, as mcnoded installed them, and this node's way to their segments.
 *
 * A work item per peer (conn_work) owns the connection set: it connects when somebody needs the peer, pings, takes a
 * broken set down and builds the next one. While a set is live, pump_work posts slices on it.
 *
 *   DOWN -> CONNECTING -> HELLO -> LIVE -> BROKEN -> CONNECTING ...       (BROKEN or DOWN: back-off 100 ms to 5 s)
 *
 * Locks: peer->lock (mutex) protects everything marked (L) and is held while slices are posted. Under it:
 * set->post_lock, mem->mr_lock for a look-up. Nothing that waits for the network, for a completion or for
 * peer->lock's other holders' work runs under it; mc_slice_done(), mc_req_stop() and mc_req_cut_end() are called
 * after it was dropped.
 */
#ifndef MC_PEER_H
#define MC_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cset.h"
#include "net.h"

#define MC_PEER_ADDRS	8
#define MC_PEERS_MAX	4096
#define MC_TRIES_MAX	3	/* failures of a slice's own before its request fails */

struct mc_net_dir;
struct mc_rail;
struct mc_rseg;
struct seq_file;

/**
 * enum mc_peer_state - see the top of this file
 */
enum mc_peer_state { MC_PEER_DOWN, MC_PEER_CONNECTING, MC_PEER_HELLO, MC_PEER_LIVE, MC_PEER_BROKEN };

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
 * struct mc_path - a set that this node opened
 * @set: the set
 * @peer: the peer, with a reference
 * @rail: local rail, with a reference
 * @live: the peer's work item is to be woken when it breaks
 * @revokes: revocations of leases that no segment had yet (L)
 */
struct mc_path {
	struct mc_cset set;
	struct mc_peer *peer;
	struct mc_rail *rail;
	bool live;
	u32 revokes;
};

/**
 * struct mc_peer - one peer
 * @kref: list, paths, segments
 * @link: in the list of peers
 * @node: its UUID
 * @lock: see the top of this file
 * @addrs: where it listens (L)
 * @naddrs: entries of @addrs (L)
 * @next_addr: the attempt after this one starts here
 * @gone: it was removed (L)
 * @wanted: somebody needs it: connect (L)
 * @state: see enum mc_peer_state (L)
 * @path: set to post on, NULL unless LIVE (L)
 * @trying: set that is being connected or taken down (L)
 * @instance: its module load, as of the last HELLO (L)
 * @attempts: attempts to connect that have ended
 * @backoff_ms: pause after the next failure
 * @down_since: jiffies of the last moment it was LIVE or became wanted
 * @last_err: how the last attempt ended, or the last set
 * @why: the same for people (L)
 * @missed: pings without answer
 * @conn_work: see the top of this file
 * @pump_work: posts slices
 * @wait: an attempt has ended
 * @fifo: requests with bytes to cut (L)
 * @posted: slices on the wire (L)
 * @retry: slices whose set broke (L)
 * @nposted: entries of @posted (L)
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
	u32 next_addr;
	bool gone;
	bool wanted;
	enum mc_peer_state state;
	struct mc_path *path;
	struct mc_path *trying;
	u64 instance;
	u32 attempts;
	u32 backoff_ms;
	unsigned long down_since;
	int last_err;
	char why[MC_WHY_LEN];
	u32 missed;
	struct delayed_work conn_work;
	struct work_struct pump_work;
	wait_queue_head_t wait;
	struct list_head fifo;
	struct list_head posted;
	struct list_head retry;
	u32 nposted;
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
const char *mc_peer_state_name(enum mc_peer_state state);

void mc_peer_want(struct mc_peer *peer);	/* connect now, if it isn't connected */
void mc_peer_kick_all(void);			/* a rail appeared: those who wait may try again */
void mc_peer_drop_rail(struct mc_rail *rail);	/* no path uses it when this returns */
void mc_peer_show(struct seq_file *m);		/* debugfs */

/**
 * mc_peer_path - wait for a live path
 * @peer: peer
 * @deadline: jiffies
 *
 * Return: path with a reference on its set; ERR_PTR: -EACCES, -EPROTO, -EHOSTUNREACH, -ETIMEDOUT, -EINTR (killed).
 */
struct mc_path *mc_peer_path(struct mc_peer *peer, unsigned long deadline);

static inline struct mc_path *mc_to_path(struct mc_cset *set)
{
	return container_of(set, struct mc_path, set);
}

#endif /* MC_PEER_H */
