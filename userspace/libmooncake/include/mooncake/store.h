/* SPDX-License-Identifier: MIT */
/*
 * The store half of libmooncake: put and get whole objects by key, from and into registered memory, without a copy.
 *
 *	struct mc_store_config cfg;
 *	struct mc_error err;
 *	struct mc_store *store;
 *	struct mc_buf *buf;
 *	struct mc_result res;
 *
 *	mc_store_config_init(&cfg);
 *	cfg.master = "10.0.0.1:50051";
 *	if (mc_store_open(&cfg, &store, &err) ||
 *	    mc_store_register(store, mem, mem_len, &buf, &err) ||
 *	    mc_store_put(store, "key", 3, buf, 0, len, NULL, &res, &err) ||
 *	    mc_store_get(store, "key", 3, buf, 0, mem_len, NULL, &res, &err))
 *		fprintf(stderr, "%s: %s\n", mc_strerror(err.code), err.text);
 *
 * What holds for every call
 *   - It returns 0 or a negative enum mc_code, and fills in a struct mc_error.
 *   - It ends by its deadline plus half a second: RPC_TIMEOUT when the master did not answer, TRANSFER_FAIL with
 *     sys_errno ETIMEDOUT when bytes did not move.
 *   - When it has returned, its memory is the caller's again, unless the result says busy.
 *   - Leases and write attempts are renewed at half of their time, so that a batch may take longer than the master's
 *     timeouts. What the kernel has been given already goes on under the older lease: one request of at most
 *     32 MiB, or as many as move in an eighth of its time. When that is too slow, or the master does not answer,
 *     what the lease ended before is LEASE_EXPIRED (get) or TRANSFER_FAIL with ETIME (put), never wrong bytes.
 *   - A store handle may be used from many threads. After fork() the child must not use a handle of its parent.
 *   - Each item of a batch has its own result, which depends on that item alone. The same key may appear twice.
 *
 * Limits: keys 1 to 4096 bytes of any value; objects 1 byte to the size of the largest free range of a segment, at
 * most 1 TiB; MC_STORE_MAX_BATCH items a batch; MC_STORE_MAX_PIECES pieces an item.
 */
#ifndef MOONCAKE_STORE_H
#define MOONCAKE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MC_STORE_MAX_KEY	4096u
#define MC_STORE_MAX_VALUE	(1ull << 40)
#define MC_STORE_MAX_BATCH	65536u
#define MC_STORE_MAX_PIECES	4096u
#define MC_STORE_MAX_REPLICAS	16u
#define MC_STORE_TIMEOUT_MS	60000u
#define MC_STORE_MAX_TIMEOUT_MS	3600000u	/* longer deadlines count as this */
#define MC_MASTER_PORT		50051u

struct mc_store;

/**
 * struct mc_store_config - how to open a store; start with mc_store_config_init()
 * @size: sizeof(struct mc_store_config) as the caller knows it
 * @timeout_ms: deadline of calls that name none; 0 for MC_STORE_TIMEOUT_MS
 * @master: "host:port", "host" (port 50051), "[::1]:50051"; NULL for 127.0.0.1:50051
 * @device: device node; NULL for MC_DEV_PATH, "" for none: such a handle can't put or get, all else works
 * @tenant: NULL or "" for the default tenant
 * @ring_entries: size of the device's ring; 0 for the default
 * @replica_num: replicas of a put that names no number; 0 for 1
 * @preferred_segments: names of segments to put into, in order; a full one falls through to the master's strategy
 * @preferred_count: how many
 *
 * All strings are copied.
 */
struct mc_store_config {
	uint32_t size;
	uint32_t timeout_ms;
	const char *master;
	const char *device;
	const char *tenant;
	uint32_t ring_entries;
	uint32_t replica_num;
	const char * const *preferred_segments;
	uint32_t preferred_count;
};

/**
 * struct mc_opts - options of one call; NULL stands for a zeroed one
 * @timeout_ms: deadline of this call; 0 for the handle's
 * @replica_num: put only: replicas; 0 for the handle's
 */
struct mc_opts {
	uint32_t timeout_ms;
	uint32_t replica_num;
};

/**
 * struct mc_piece - a part of an object's bytes in registered memory
 * @buf: buffer of this store's device
 * @off: first byte in it
 * @len: bytes; 0 only when the piece is to be skipped
 *
 * The pieces of an item, in order, are the object's bytes.
 */
struct mc_piece {
	struct mc_buf *buf;
	uint64_t off;
	uint64_t len;
};

/**
 * struct mc_result - how one put or get ended
 * @code: 0 or a negative enum mc_code
 * @sys_errno: errno behind a TRANSFER_FAIL, else 0
 * @bytes: get: size of the object, all of which is in the caller's memory; put: bytes stored. 0 after an error
 * @node_uuid: node that served the bytes (get), or holds the first replica (put); valid after success, and after an
 *	error when @located
 * @seg_uuid: segment on that node
 * @offset: where in it
 * @rail: rail of the first slice, 0 for a local copy
 * @local: the bytes came from, or went to, this node
 * @located: @node_uuid, @seg_uuid and @offset are known
 * @busy: the device may still touch the item's memory: don't reuse it before mc_buf_busy() is false
 * @retries: get: replicas that failed before this one
 * @why: after an error: one line that names what, where and the value
 */
struct mc_result {
	int code;
	int sys_errno;
	uint64_t bytes;
	uint8_t node_uuid[16];
	uint8_t seg_uuid[16];
	uint64_t offset;
	uint32_t rail;
	bool local;
	bool located;
	bool busy;
	uint8_t retries;
	char why[192];
};

/**
 * struct mc_item - one object of a batch
 * @key: its key
 * @key_len: bytes of @key
 * @pieces: put: the bytes; get: where they go, at least as long as the object
 * @n_pieces: how many
 * @res: result, written by the call
 */
struct mc_item {
	const void *key;
	size_t key_len;
	const struct mc_piece *pieces;
	uint32_t n_pieces;
	struct mc_result res;
};

/* The two directions use the same item. */
#define mc_put_item mc_item
#define mc_get_item mc_item

/**
 * mc_store_config_init() - the defaults
 * @cfg: result
 */
void mc_store_config_init(struct mc_store_config *cfg);

/**
 * mc_store_open() - open the device and get ready to talk to the master
 * @cfg: how
 * @out: the handle
 * @err: why not
 *
 * The master is asked for nothing: an unreachable one shows with the first call. The handle has a random client UUID.
 *
 * Return: 0, INVALID_PARAMS (the address), UNAVAILABLE_IN_CURRENT_MODE (the device; sys_errno says why),
 * INTERNAL_ERROR.
 */
int mc_store_open(const struct mc_store_config *cfg, struct mc_store **out, struct mc_error *err);

/**
 * mc_store_close() - give the handle back, with its buffers
 * @store: handle or NULL
 *
 * No call may be running.
 */
void mc_store_close(struct mc_store *store);

/**
 * mc_store_device() - the device of a store, for mc_dev_* calls
 * @store: handle
 *
 * Return: owned by @store; NULL when it was opened with none.
 */
struct mc_dev *mc_store_device(const struct mc_store *store);

/**
 * mc_store_ready() - ask the master whether it serves
 * @store: handle
 * @version: the master's version, or NULL
 * @version_len: size of @version
 * @opts: options or NULL
 * @err: why not
 *
 * Return: 0, RPC_FAIL, RPC_TIMEOUT, or what the master said.
 */
int mc_store_ready(struct mc_store *store, char *version, size_t version_len, const struct mc_opts *opts,
		   struct mc_error *err);

/**
 * mc_store_register() - pin memory and make it usable for put and get
 * @store: handle
 * @addr: start, any alignment
 * @len: bytes
 * @out: the buffer; give it back with mc_store_unregister()
 * @err: why not; sys_errno is mc_buf_register()'s
 *
 * Return: 0, INVALID_PARAMS (address, length), UNAVAILABLE_IN_CURRENT_MODE (no device), BUFFER_OVERFLOW (limits:
 * memlock, number of buffers), INTERNAL_ERROR.
 */
int mc_store_register(struct mc_store *store, void *addr, uint64_t len, struct mc_buf **out, struct mc_error *err);

/**
 * mc_store_unregister() - give a buffer back
 * @store: handle
 * @buf: buffer or NULL
 * @err: why not
 *
 * Return: 0, or UNAVAILABLE_IN_CURRENT_STATUS when the buffer is busy: see mc_buf_unregister().
 */
int mc_store_unregister(struct mc_store *store, struct mc_buf *buf, struct mc_error *err);

/**
 * mc_store_put() - store an object
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @buf: memory that holds it
 * @off: first byte
 * @len: bytes, at least 1
 * @opts: options or NULL
 * @res: result, or NULL
 * @err: why not
 *
 * Success means: every byte of every replica has arrived and the master has made the object readable. A key that
 * exists, or that someone is writing, is OBJECT_ALREADY_EXISTS, and nothing was stored. After RPC_FAIL or RPC_TIMEOUT
 * from finishing the put the text says that the outcome is unknown; after every other error the object is not there.
 *
 * Return: 0, OBJECT_ALREADY_EXISTS, NO_AVAILABLE_HANDLE (no room), TRANSFER_FAIL, INVALID_PARAMS, INVALID_KEY,
 * RPC_FAIL, RPC_TIMEOUT, or what the master said.
 */
int mc_store_put(struct mc_store *store, const void *key, size_t key_len, struct mc_buf *buf, uint64_t off,
		 uint64_t len, const struct mc_opts *opts, struct mc_result *res, struct mc_error *err);

/**
 * mc_store_get() - read an object
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @buf: destination
 * @off: first byte
 * @len: room; more than the object's size is fine, the rest is not touched
 * @opts: options or NULL
 * @res: result (bytes, where from), or NULL
 * @err: why not
 *
 * Success means: exactly the bytes of one complete put. After an error nothing in the destination is valid.
 *
 * Return: 0, OBJECT_NOT_FOUND, REPLICA_IS_NOT_READY, LEASE_EXPIRED (the object was not protected until the last byte
 * came), INVALID_PARAMS (destination smaller than the object), INVALID_REPLICA (none is complete), TRANSFER_FAIL,
 * RPC_FAIL, RPC_TIMEOUT, or what the master said.
 */
int mc_store_get(struct mc_store *store, const void *key, size_t key_len, struct mc_buf *buf, uint64_t off,
		 uint64_t len, const struct mc_opts *opts, struct mc_result *res, struct mc_error *err);

/**
 * struct mc_map - an object's bytes where they are, from mc_store_map()
 * @addr: first byte; reading only
 * @len: bytes of the object
 * @until_ns: on the clock of mc_now_ns(): the bytes are the object's at least that long; half a second less than the
 *	lease, as the kernel's clock may be off by that. Touching them about a second later is SIGBUS
 * @grant_id: for mc_store_unmap()
 */
struct mc_map {
	const void *addr;
	uint64_t len;
	uint64_t until_ns;
	uint32_t grant_id;
};

/**
 * mc_store_map() - read an object of this node without copying it
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @map: result; end it with mc_store_unmap()
 * @opts: options or NULL
 * @err: why not
 *
 * The mapping is of the pool's own pages, read-only, and ends with the lease that this call took (@map->until_ns), with
 * the pool, and with the store: a byte read later is SIGBUS, never another object's. What was computed from the bytes
 * counts only if mc_now_ns() was below @map->until_ns afterwards. SIGBUS earlier than that means that the pool is gone.
 * It can't be registered as a buffer.
 *
 * Return: 0, NOT_SUPPORTED with sys_errno EREMOTE (no replica is on this node) or EINVAL (its bytes can't be mapped):
 * mc_store_get() does what this can't; OBJECT_NOT_FOUND, REPLICA_IS_NOT_READY, LEASE_EXPIRED, INVALID_KEY,
 * TRANSFER_FAIL (the grant is refused, the pool is gone), UNAVAILABLE_IN_CURRENT_STATUS (this node does not know the
 * master's time), UNAVAILABLE_IN_CURRENT_MODE (no device), RPC_FAIL, RPC_TIMEOUT, or what the master said.
 */
int mc_store_map(struct mc_store *store, const void *key, size_t key_len, struct mc_map *map,
		 const struct mc_opts *opts, struct mc_error *err);

/**
 * mc_store_unmap() - give a mapping back
 * @store: handle that made it
 * @map: mapping, or one that failed: then nothing happens
 *
 * The lease runs out by itself.
 */
void mc_store_unmap(struct mc_store *store, struct mc_map *map);

/**
 * mc_store_put_batch() - store many objects
 * @store: handle
 * @items: objects; each gets its own result
 * @n: how many, up to MC_STORE_MAX_BATCH
 * @opts: options or NULL
 * @err: the first item that failed, or why the batch was refused
 *
 * Return: 0 when every item has code 0, else the code of the first that has not. Every item's result is written
 * whatever the return value is.
 */
int mc_store_put_batch(struct mc_store *store, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err);

/**
 * mc_store_get_batch() - read many objects
 * @store: handle
 * @items: objects; each gets its own result
 * @n: how many, up to MC_STORE_MAX_BATCH
 * @opts: options or NULL
 * @err: the first item that failed, or why the batch was refused
 *
 * Return: as mc_store_put_batch().
 */
int mc_store_get_batch(struct mc_store *store, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err);

/**
 * struct mc_key_item - one key of a batch that moves no bytes
 * @key: the key
 * @key_len: its bytes
 * @code: result: 0 or a negative enum mc_code
 * @exists: result of mc_store_exist_batch()
 */
struct mc_key_item {
	const void *key;
	size_t key_len;
	int code;
	bool exists;
};

/**
 * mc_store_exist() - is there a readable object?
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @exists: the answer; false after an error
 * @opts: options or NULL
 * @err: why there is no answer
 *
 * Takes no lease.
 *
 * Return: 0 when there is an answer.
 */
int mc_store_exist(struct mc_store *store, const void *key, size_t key_len, bool *exists, const struct mc_opts *opts,
		   struct mc_error *err);

/**
 * mc_store_exist_batch() - which of these are readable objects?
 * @store: handle
 * @items: keys; each gets its own answer
 * @n: how many, up to MC_STORE_MAX_BATCH
 * @opts: options or NULL
 * @err: the first item that failed
 *
 * Return: 0, or the code of the first item that has none.
 */
int mc_store_exist_batch(struct mc_store *store, struct mc_key_item *items, size_t n, const struct mc_opts *opts,
			 struct mc_error *err);

/**
 * mc_store_remove() - remove an object
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @force: even while readers hold a lease
 * @opts: options or NULL
 * @err: why not
 *
 * Return: 0, OBJECT_NOT_FOUND, OBJECT_HAS_LEASE, or what the master said.
 */
int mc_store_remove(struct mc_store *store, const void *key, size_t key_len, bool force, const struct mc_opts *opts,
		    struct mc_error *err);

/**
 * mc_store_remove_batch() - remove many objects
 * @store: handle
 * @items: keys; each gets its own code
 * @n: how many, up to MC_STORE_MAX_BATCH
 * @force: even while readers hold a lease
 * @opts: options or NULL
 * @err: the first item that failed
 *
 * Return: 0, or the code of the first item that has one.
 */
int mc_store_remove_batch(struct mc_store *store, struct mc_key_item *items, size_t n, bool force,
			  const struct mc_opts *opts, struct mc_error *err);

/* State of a replica, as the master numbers it. */
enum mc_replica_state {
	MC_REPLICA_UNDEFINED = 0,
	MC_REPLICA_INITIALIZED = 1,
	MC_REPLICA_PROCESSING = 2,
	MC_REPLICA_COMPLETE = 3,
	MC_REPLICA_REMOVED = 4,
	MC_REPLICA_FAILED = 5,
};

/**
 * struct mc_replica - where an object's bytes are
 * @id: number of the replica
 * @state: enum mc_replica_state
 * @node_uuid: node
 * @seg_uuid: segment on it
 * @offset: first byte in the segment
 * @length: bytes
 * @segment_name: name of the segment, for people; cut when longer
 */
struct mc_replica {
	uint64_t id;
	int state;
	uint8_t node_uuid[16];
	uint8_t seg_uuid[16];
	uint64_t offset;
	uint64_t length;
	char segment_name[64];
};

/**
 * struct mc_object_stat - what the master knows of an object
 * @size: bytes
 * @lease_ttl_ms: how long this look protects the object
 * @n_replicas: how many are in @replicas
 * @replicas: them
 */
struct mc_object_stat {
	uint64_t size;
	uint64_t lease_ttl_ms;
	uint32_t n_replicas;
	struct mc_replica replicas[MC_STORE_MAX_REPLICAS];
};

/**
 * mc_store_stat() - size and replicas of an object
 * @store: handle
 * @key: its key
 * @key_len: bytes of @key
 * @st: result
 * @opts: options or NULL
 * @err: why not
 *
 * Takes a read lease, like a get.
 *
 * Return: 0, OBJECT_NOT_FOUND, or what the master said.
 */
int mc_store_stat(struct mc_store *store, const void *key, size_t key_len, struct mc_object_stat *st,
		  const struct mc_opts *opts, struct mc_error *err);

/**
 * struct mc_object_info - one line of a listing
 * @key: key, not terminated
 * @key_len: its bytes
 * @size: bytes of the object
 * @replicas: how many
 * @complete: readable
 */
struct mc_object_info {
	const void *key;
	size_t key_len;
	uint64_t size;
	uint32_t replicas;
	bool complete;
};

/**
 * mc_store_list() - walk over the objects of the tenant, in the order of their keys
 * @store: handle
 * @prefix: only keys that begin so; NULL for all
 * @prefix_len: bytes of @prefix
 * @limit: at most so many; 0 for all
 * @fn: called for each; another value than 0 ends the walk
 * @arg: its first argument
 * @opts: options or NULL: the deadline is for the whole walk
 * @err: why not
 *
 * The listing is read in pages: objects put or removed meanwhile may or may not appear.
 *
 * Return: 0, what @fn returned, or a negative enum mc_code.
 */
int mc_store_list(struct mc_store *store, const void *prefix, size_t prefix_len, uint64_t limit,
		  int (*fn)(void *arg, const struct mc_object_info *obj), void *arg, const struct mc_opts *opts,
		  struct mc_error *err);

#ifdef __cplusplus
}
#endif

#endif
