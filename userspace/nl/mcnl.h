/* SPDX-License-Identifier: MIT */
/*
 * Client of the generic netlink family "mooncake": one typed function for each command of
 * uapi/linux/mooncake_netlink.h.
 *
 * Every function returns 0 or -errno. After an error mcnl_errmsg() holds one sentence with the kernel's own
 * words (extended ack) when it gave any. Every call ends: the kernel has MCNL_TIMEOUT_MS to answer, then the
 * result is -ETIMEDOUT. A handle belongs to one thread.
 */
#ifndef MCNL_H
#define MCNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "linux/mooncake.h"
#include "linux/mooncake_netlink.h"

#define MCNL_TIMEOUT_MS		10000
#define MCNL_MAX_RAILS		16	/* rails of one peer that a dump reports */
#define MCNL_STATE_LEN		32
#define MCNL_TEXT_LEN		128

struct mcnl;

/**
 * struct mcnl_addr - an IP address as netlink carries it
 * @len: 4 or 16
 * @bytes: network order
 */
struct mcnl_addr {
	uint8_t len;
	uint8_t bytes[16];
};

/**
 * struct mcnl_counters - transfer counters of a rail or a peer
 * @read_bytes: payload this node read from the other side
 * @write_bytes: payload this node wrote to the other side
 * @read_ops: slices read
 * @write_ops: slices written
 * @errors: slices that failed
 * @retries: slices posted again
 * @inflight: slices posted now
 * @reconnects: connections made again
 */
struct mcnl_counters {
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint64_t read_ops;
	uint64_t write_ops;
	uint64_t errors;
	uint64_t retries;
	uint64_t inflight;
	uint64_t reconnects;
};

/**
 * struct mcnl_stat - requests of one transport and operation since the module was loaded
 * @transport: enum mc_transport
 * @op: MC_OP_READ or MC_OP_WRITE
 * @reqs: ended well
 * @errors: ended with an error
 * @bytes: payload of those that ended well
 * @hist: their latency, see MC_HIST_BUCKETS
 */
struct mcnl_stat {
	uint32_t transport;
	uint32_t op;
	uint64_t reqs;
	uint64_t errors;
	uint64_t bytes;
	uint64_t hist[MC_HIST_BUCKETS];
};

/**
 * struct mcnl_info - answer of INFO_GET
 * @node_uuid: zero until set
 * @cluster_uuid: zero until set
 * @instance: random number of this module load
 * @auth: enum mc_auth
 * @key_gen: newest key generation, 0 without a key
 * @key_gen_old: the other generation that is accepted, 0: none
 * @clock_epoch: epoch of the last CLOCK_SET
 * @clock_offset: master time minus CLOCK_BOOTTIME, ns
 * @clock_error: bound of the error, ns
 * @clock_age: ns since the last CLOCK_SET
 * @local_bytes: bytes moved by the local copy engine
 */
struct mcnl_info {
	uint8_t node_uuid[MC_UUID_LEN];
	uint8_t cluster_uuid[MC_UUID_LEN];
	uint64_t instance;
	uint32_t auth;
	uint32_t key_gen;
	uint32_t key_gen_old;
	uint64_t clock_epoch;
	int64_t clock_offset;
	uint64_t clock_error;
	uint64_t clock_age;
	uint64_t local_bytes;
};

/**
 * struct mcnl_rail - one rail of this node, or one of a peer's rails
 * @id: number on its own node
 * @local_id: peers only: the rail of this node that leads there, 0 when none does
 * @dev: RDMA device; empty for a peer's rail
 * @addr: address it listens on
 * @port: port it listens on
 * @state: word for people
 * @last_error: why the last connection failed or ended
 * @slice_bytes: bytes of a slice; this and what follows for rails of this node only
 * @tail_bytes: a rest of so many bytes joins the last slice
 * @tos: type of service, MC_RAIL_DEFAULT: not set
 * @service_level: likewise
 * @numa: NUMA node of the device, -1: none
 * @gid_index: entry in the port's GID table, -1: none
 * @gid_reason: why that one
 * @c: counters
 */
struct mcnl_rail {
	uint32_t id;
	uint32_t local_id;
	char dev[64];
	struct mcnl_addr addr;
	uint16_t port;
	char state[MCNL_STATE_LEN];
	char last_error[MCNL_TEXT_LEN];
	uint32_t slice_bytes;
	uint32_t tail_bytes;
	uint32_t tos;
	uint32_t service_level;
	int32_t numa;
	int32_t gid_index;
	char gid_reason[MCNL_TEXT_LEN];
	struct mcnl_counters c;
};

/**
 * struct mcnl_rail_set - settings of a rail; a member that is negative is left alone or not known
 * @slice: bytes of a slice
 * @tail: bytes of a rest that joins the last slice
 * @tos: type of service, MC_RAIL_DEFAULT: the node's default
 * @service_level: the same
 * @node: NUMA node that @weight is for
 * @weight: 0: by distance
 * @pci: PCI function that @weight is for, instead of a node; or NULL
 */
struct mcnl_rail_set {
	int64_t slice;
	int64_t tail;
	int64_t tos;
	int64_t service_level;
	int64_t node;
	int64_t weight;
	const char *pci;
};

/**
 * struct mcnl_path - one of this node's ways to a peer
 * @local_rail: rail of this node
 * @remote_rail: its partner
 * @state: word for people
 * @last_error: why the last connection failed or ended
 * @epoch: of the live connection, 0: none
 * @bandwidth: as measured, bytes a second
 * @attempts: attempts to connect that have ended
 * @mtu: bytes of a packet as agreed, 0: not connected
 * @read_depth: READs under way on one connection, as agreed
 * @tos: type of service in force
 * @retries: tries of a packet without acknowledgement
 * @rnr_retries: tries while the other side has no receive posted
 * @n_unreachable: valid members of @unreachable
 * @unreachable: rails of the peer that this one can't reach
 */
struct mcnl_path {
	uint32_t local_rail;
	uint32_t remote_rail;
	char state[MCNL_STATE_LEN];
	char last_error[MCNL_TEXT_LEN];
	uint64_t epoch;
	uint64_t bandwidth;
	uint32_t attempts;
	uint32_t mtu;
	uint32_t read_depth;
	uint32_t tos;
	uint32_t retries;
	uint32_t rnr_retries;
	size_t n_unreachable;
	uint32_t unreachable[8];
};

/**
 * struct mcnl_rail_hist - latencies of the slices of a rail of this node
 * @id: the rail
 * @read: READ slices, see MC_HIST_BUCKETS
 * @write: WRITE slices
 */
struct mcnl_rail_hist {
	uint32_t id;
	uint64_t read[MC_HIST_BUCKETS];
	uint64_t write[MC_HIST_BUCKETS];
};

/**
 * struct mcnl_peer - another node as this kernel knows it
 * @node_uuid: its identity
 * @instance: its module load, 0 before the first connection
 * @epoch: connection epoch
 * @state: word for people
 * @last_error: why the last connection failed or ended
 * @c: counters
 * @n_rails: valid members of @rails
 * @rails: its addresses
 * @n_paths: valid members of @paths
 * @paths: this node's ways there
 */
struct mcnl_peer {
	uint8_t node_uuid[MC_UUID_LEN];
	uint64_t instance;
	uint64_t epoch;
	char state[MCNL_STATE_LEN];
	char last_error[MCNL_TEXT_LEN];
	struct mcnl_counters c;
	size_t n_rails;
	struct mcnl_rail rails[MCNL_MAX_RAILS];
	size_t n_paths;
	struct mcnl_path paths[MCNL_MAX_RAILS];
};

/**
 * struct mcnl_pool - a pool of this node
 * @seg_uuid: chosen by the kernel when it was created
 * @name: for people
 * @len: bytes
 * @numa: node, -1 any
 * @page_size: bytes
 * @leases: peers that hold it open
 * @state: word for people
 */
struct mcnl_pool {
	uint8_t seg_uuid[MC_UUID_LEN];
	char name[MC_NAME_LEN];
	uint64_t len;
	int32_t numa;
	uint32_t page_size;
	uint32_t leases;
	char state[MCNL_STATE_LEN];
};

/**
 * struct mcnl_seg - a segment of this node: a pool, or what a process exports
 * @seg_uuid: chosen by the kernel when it was created
 * @name: for people
 * @len: bytes
 * @rights: MC_RIGHT_*: what others may do without a grant
 * @gen: generation: grows when memory is added
 * @leases: peers that hold it open
 * @pid: process that opened the file which exports it, 0: a pool
 * @uid: its user
 * @state: word for people
 */
struct mcnl_seg {
	uint8_t seg_uuid[MC_UUID_LEN];
	char name[MC_NAME_LEN];
	uint64_t len;
	uint32_t rights;
	uint32_t gen;
	uint32_t leases;
	uint32_t pid;
	uint32_t uid;
	char state[MCNL_STATE_LEN];
};

/**
 * struct mcnl_buf - a registered buffer
 * @id: handle in its open file
 * @pid: process that registered it
 * @uid: its user
 * @len: bytes
 * @pinned: bytes of whole pages
 * @state: word for people
 */
struct mcnl_buf {
	uint32_t id;
	uint32_t pid;
	uint32_t uid;
	uint64_t len;
	uint64_t pinned;
	char state[MCNL_STATE_LEN];
};

/**
 * struct mcnl_client - an open file of /dev/mooncake
 * @pid: process that opened it
 * @uid: its user
 * @name: what the process was called then
 * @state: word for people
 * @buffers: registered buffers
 * @pinned: bytes pinned for it
 */
struct mcnl_client {
	uint32_t pid;
	uint32_t uid;
	char name[16];
	char state[MCNL_STATE_LEN];
	uint32_t buffers;
	uint64_t pinned;
};

/**
 * struct mcnl_event - one message of the multicast group
 * @cmd: MC_CMD_EVENT_*
 * @seq: counts events; a gap says that some were lost
 * @time_ns: CLOCK_BOOTTIME when it happened
 * @reason: enum mc_reason
 * @node_uuid: peer it is about, or owner of the segment, or zero
 * @seg_uuid: segment it is about, or zero
 * @rail_id: rail it is about, or 0; with @node_uuid it is this node's end of a path
 * @remote_rail: the peer's end of the path, or 0
 * @remote_addr: its address, with @remote_rail
 * @remote_port: its port
 * @buf_id: buffer it is about, or 0
 * @client: client of the master it is about, or zero
 * @pid: process that owned the buffer, the segment or the client's file, or 0
 * @uid: its user
 * @len: bytes of the buffer
 * @dev: RDMA device of the rail, or empty
 * @name: name of the segment, or empty
 * @text: the reason in the kernel's words, or empty
 */
struct mcnl_event {
	int cmd;
	uint64_t seq;
	uint64_t time_ns;
	uint32_t reason;
	uint8_t node_uuid[MC_UUID_LEN];
	uint8_t seg_uuid[MC_UUID_LEN];
	uint8_t client[MC_UUID_LEN];
	uint32_t rail_id;
	uint32_t remote_rail;
	struct mcnl_addr remote_addr;
	uint16_t remote_port;
	uint32_t buf_id;
	uint32_t pid;
	uint32_t uid;
	uint64_t len;
	char dev[64];
	char name[MC_NAME_LEN];
	char text[MCNL_TEXT_LEN];
};

/**
 * mcnl_open() - connect to the family
 * @out: set in every case but -ENOMEM, so that mcnl_errmsg() can be asked; close it
 *
 * Return: 0; -ENOENT when the module is not loaded; another -errno.
 */
int mcnl_open(struct mcnl **out);

/** mcnl_close() - let go of a handle; NULL is fine */
void mcnl_close(struct mcnl *nl);

/** mcnl_errmsg() - the sentence about the last error of this handle */
const char *mcnl_errmsg(const struct mcnl *nl);

/** mcnl_info() - INFO_GET */
int mcnl_info(struct mcnl *nl, struct mcnl_info *info);

/** mcnl_node_set() - NODE_SET; the same values again are fine, others -EBUSY while in use */
int mcnl_node_set(struct mcnl *nl, const uint8_t *node_uuid, const uint8_t *cluster_uuid,
		  uint32_t auth);

/** mcnl_key_set() - KEY_SET with MC_KEY_LEN bytes; @gen counts from 1 */
int mcnl_key_set(struct mcnl *nl, uint32_t gen, const uint8_t *key);

/** mcnl_clock_set() - CLOCK_SET: at @at master time was CLOCK_BOOTTIME plus @offset, give or take @error */
int mcnl_clock_set(struct mcnl *nl, uint64_t epoch, int64_t offset, uint64_t error, uint64_t at);

/** mcnl_rail_add() - RAIL_ADD; @out_id may be NULL; -ENODEV comes with the list of usable devices */
int mcnl_rail_add(struct mcnl *nl, const char *dev, const struct mcnl_addr *addr, uint16_t port,
		  uint32_t *out_id);

/** mcnl_rail_del() - RAIL_DEL */
int mcnl_rail_del(struct mcnl *nl, uint32_t id);

/** mcnl_rails() - all rails of this node; free(*out) */
int mcnl_rails(struct mcnl *nl, struct mcnl_rail **out, size_t *n);

/** mcnl_rail_set() - RAIL_SET */
int mcnl_rail_set(struct mcnl *nl, uint32_t id, const struct mcnl_rail_set *set);

/** mcnl_peer_set() - PEER_SET: @rails with id, addr and port replace what was known of this node */
int mcnl_peer_set(struct mcnl *nl, const uint8_t *node_uuid, const struct mcnl_rail *rails,
		  size_t n);

/** mcnl_peer_del() - PEER_DEL */
int mcnl_peer_del(struct mcnl *nl, const uint8_t *node_uuid);

/** mcnl_peers() - all peers; free(*out) */
int mcnl_peers(struct mcnl *nl, struct mcnl_peer **out, size_t *n);

/** mcnl_pool_create() - POOL_CREATE; @numa -1 any, @page_size 0 the kernel's default */
int mcnl_pool_create(struct mcnl *nl, const char *name, uint64_t len, int32_t numa,
		     uint32_t page_size, uint8_t *out_seg_uuid);

/** mcnl_pool_destroy() - POOL_DESTROY; returns before the memory is back */
int mcnl_pool_destroy(struct mcnl *nl, const uint8_t *seg_uuid);

/** mcnl_pools() - all pools; free(*out) */
int mcnl_pools(struct mcnl *nl, struct mcnl_pool **out, size_t *n);

/** mcnl_segs() - all segments of this node; free(*out) */
int mcnl_segs(struct mcnl *nl, struct mcnl_seg **out, size_t *n);

/** mcnl_bufs() - all registered buffers; free(*out) */
int mcnl_bufs(struct mcnl *nl, struct mcnl_buf **out, size_t *n);

/** mcnl_clients() - all open files of the device; free(*out) */
int mcnl_clients(struct mcnl *nl, struct mcnl_client **out, size_t *n);

/** mcnl_rail_hists() - latencies of all rails of this node; free(*out) */
int mcnl_rail_hists(struct mcnl *nl, struct mcnl_rail_hist **out, size_t *n);

/** mcnl_stats() - what moved, by transport and operation; free(*out) */
int mcnl_stats(struct mcnl *nl, struct mcnl_stat **out, size_t *n);

/** mcnl_fault_set() - FAULT_SET; -EOPNOTSUPP in builds without fault hooks */
int mcnl_fault_set(struct mcnl *nl, const char *name, uint64_t value);

/** mcnl_events_join() - subscribe; afterwards this handle is for mcnl_event_next() only */
int mcnl_events_join(struct mcnl *nl);

/** mcnl_fd() - descriptor to poll for events */
int mcnl_fd(const struct mcnl *nl);

/** mcnl_event_next() - take one event without waiting; -EAGAIN: there is none, -ENOBUFS: some were lost, go on */
int mcnl_event_next(struct mcnl *nl, struct mcnl_event *ev);

#endif /* MCNL_H */
