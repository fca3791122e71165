/* SPDX-License-Identifier: MIT */
/*
 * What mcnoded does, apart from where it does it: kernel and master are reached through two tables of functions,
 * so that tests can put other ones in their place.
 *
 * A node is driven from one loop: nd_setup() once, then nd_tick() again and again, as soon after the time it returns as
 * the loop likes, and nd_stop() at the end. No function waits longer than a call to the kernel or master may.
 */
#ifndef ND_NODE_H
#define ND_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

#define ND_PING_NS		1000000000ULL	/* between two pings */
#define ND_BACKOFF_MAX_NS	2000000000ULL	/* longest pause without the master; a clock is good for 5 s */
#define ND_PEER_GRACE_NS	30000000000ULL	/* a peer that the master does not name is kept so long */
#define ND_GONE_MAX		256	/* clients told of in one call */
#define ND_TEXT			512

/**
 * struct nd_kernel_ops - the local kernel; each returns 0 or -errno, as the mcnl_ function of the same name
 */
struct nd_kernel_ops {
	int (*reopen)(void *k);
	const char *(*errmsg)(void *k);
	int (*info)(void *k, struct mcnl_info *info);
	int (*node_set)(void *k, const uint8_t *uuid, const uint8_t *cluster, uint32_t auth);
	int (*key_set)(void *k, uint32_t gen, const uint8_t *key);
	int (*clock_set)(void *k, uint64_t epoch, int64_t offset, uint64_t error, uint64_t at);
	int (*rail_add)(void *k, const char *dev, const struct mcnl_addr *addr, uint16_t port);
	int (*rails)(void *k, struct mcnl_rail **out, size_t *n);
	int (*peer_set)(void *k, const uint8_t *uuid, const struct mcnl_rail *rails, size_t n);
	int (*peer_del)(void *k, const uint8_t *uuid);
	int (*peers)(void *k, struct mcnl_peer **out, size_t *n);
	int (*pool_create)(void *k, const struct mcnl_pool *want, uint8_t *seg_uuid);
	int (*pool_destroy)(void *k, const uint8_t *seg_uuid);
	int (*pools)(void *k, struct mcnl_pool **out, size_t *n);
};

/**
 * struct nd_remote - a node as the master names it
 * @uuid: identity
 * @name: for people
 * @n_rails: valid members of @rails
 * @rails: id, addr, port
 */
struct nd_remote {
	uint8_t uuid[MC_UUID_LEN];
	char name[MC_NAME_LEN];
	size_t n_rails;
	struct mcnl_rail rails[ND_MAX_RAILS];
};

/**
 * struct nd_ping - one ping and its answer
 * @client: this run of mcnoded
 * @self: this node
 * @cluster: cluster UUID
 * @have_version: list of nodes that the caller has, 0 none
 * @need_remount: answer: mount again
 * @version: answer: version of the list
 * @has_nodes: answer: @nodes is the list
 * @nodes: answer, free()
 * @n_nodes: answer
 * @epoch: answer: the master's clock
 * @now_ns: answer: its time
 */
struct nd_ping {
	const uint8_t *client;
	const struct nd_remote *self;
	const uint8_t *cluster;
	uint64_t have_version;
	bool need_remount;
	uint64_t version;
	bool has_nodes;
	struct nd_remote *nodes;
	size_t n_nodes;
	uint64_t epoch;
	uint64_t now_ns;
};

/**
 * struct nd_master_ops - the master; each returns 0, or a negative code with @err (ND_TEXT bytes) filled in
 */
struct nd_master_ops {
	int (*ping)(void *m, struct nd_ping *p, char *err);
	int (*mount)(void *m, const uint8_t *client, const uint8_t *node, const struct mcnl_pool *pool,
		     bool inherited, char *err);
	int (*unmount)(void *m, const uint8_t *client, const uint8_t *seg, char *err);
	int (*clients_gone)(void *m, const uint8_t *client, const uint8_t (*gone)[MC_UUID_LEN], size_t n, char *err);
};

/**
 * struct nd_peer - a peer that was installed
 * @r: as installed
 * @missing_since: when the master stopped naming it, 0 while it does
 * @wanted: scratch of nd_peers_update()
 * @complained: its refusal by the kernel was logged
 */
struct nd_peer {
	struct nd_remote r;
	uint64_t missing_since;
	bool wanted;
	bool complained;
};

/** enum nd_link - what mcnoded last said about the master */
enum nd_link { ND_LINK_NEW, ND_LINK_UP, ND_LINK_DOWN };

/**
 * struct nd_node - one running mcnoded
 * @cfg: configuration
 * @k: kernel functions
 * @kctx: their first argument
 * @m: master functions
 * @mctx: their first argument
 * @now: CLOCK_BOOTTIME in ns
 * @client: this run
 * @self: this node as pings announce it
 * @key: cluster key, unless @cfg says none
 * @key_gen: its generation
 * @pool: the pool as the kernel has it
 * @pool_epoch: clock of the master that was last asked to mount the pool, 0: none was
 * @inherited: an earlier master had it, and the present one has not confirmed that it knows
 * @ready: the kernel is set up
 * @mounted: the master has the pool
 * @link: what was last said about the master
 * @last_code: code of the last failure that was logged
 * @backoff: pause before the next try
 * @version: list of nodes that is installed
 * @epoch: the master's clock epoch
 * @gone: clients that have ended, for the master
 * @n_gone: how many
 * @peers: installed peers
 * @n_peers: how many
 * @errmsg: why nd_setup() failed
 */
struct nd_node {
	const struct nd_config *cfg;
	const struct nd_kernel_ops *k;
	void *kctx;
	const struct nd_master_ops *m;
	void *mctx;
	uint64_t (*now)(void);
	uint8_t client[MC_UUID_LEN];
	struct nd_remote self;
	uint8_t key[MC_KEY_LEN];
	uint32_t key_gen;
	struct mcnl_pool pool;
	uint64_t pool_epoch;
	bool inherited;
	bool ready;
	bool mounted;
	enum nd_link link;
	int last_code;
	uint64_t backoff;
	uint64_t version;
	uint64_t epoch;
	uint8_t gone[ND_GONE_MAX][MC_UUID_LEN];
	size_t n_gone;
	struct nd_peer *peers;
	size_t n_peers;
	char errmsg[ND_TEXT];
};

/**
 * nd_init() - prepare a node
 * @nd: node; the caller has set cfg, k, kctx, m, mctx, now, key and key_gen
 * @uuid: the node's identity
 *
 * Return: 0 or -errno.
 */
int nd_init(struct nd_node *nd, const uint8_t *uuid);

/**
 * nd_setup() - bring the kernel into the configured state; what is there already is kept
 * @nd: node
 *
 * Return: 0 or -errno with @nd->errmsg.
 */
int nd_setup(struct nd_node *nd);

/**
 * nd_tick() - ping the master and do what follows from its answer
 * @nd: node
 *
 * Return: ns to wait before the next tick.
 */
uint64_t nd_tick(struct nd_node *nd);

/** nd_key_reload() - read the key file again and give the kernel what it holds; 0 or -errno with @nd->errmsg */
int nd_key_reload(struct nd_node *nd);

/** nd_refresh_rails() - announce with the next ping what rails the kernel has now */
int nd_refresh_rails(struct nd_node *nd);

/** nd_segment_gone() - the kernel withdrew a segment of this node; true when it was the pool, which is made anew */
bool nd_segment_gone(struct nd_node *nd, const uint8_t *seg_uuid);

/** nd_client_gone() - a client of the master on this node has ended; told with the next nd_clients_tell() */
void nd_client_gone(struct nd_node *nd, const uint8_t *client);

/** nd_clients_tell() - tell the master which clients have ended; one that does not hear it lets their leases run out */
void nd_clients_tell(struct nd_node *nd);

/** nd_stop() - unmount, and destroy the pool when configured so; 0, or -1 after logging what failed */
int nd_stop(struct nd_node *nd);

/** nd_fini() - free memory, wipe the key */
void nd_fini(struct nd_node *nd);

/** nd_peers_adopt() - begin with the peers that the kernel has from an earlier run */
int nd_peers_adopt(struct nd_node *nd);

/**
 * nd_peers_update() - install what the master names
 * @nd: node
 * @list: its list, which names this node too
 * @n: how many
 *
 * Return: 0, or -errno of the last refusal: the list should be asked for again.
 */
int nd_peers_update(struct nd_node *nd, const struct nd_remote *list, size_t n);

/** nd_peers_expire() - remove peers that were missing for longer than the grace time */
void nd_peers_expire(struct nd_node *nd);

/** nd_kernel_mcnl - the real kernel; its context is a struct mcnl ** */
extern const struct nd_kernel_ops nd_kernel_mcnl;

/** nd_master_grpc - the real master; its context is a struct mc_rpc_client * */
extern const struct nd_master_ops nd_master_grpc;

#endif /* ND_NODE_H */
