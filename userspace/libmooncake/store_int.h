/* SPDX-License-Identifier: MIT */
/*
 * Inside the store half. A call is cut into waves of items; each wave asks the master, moves its bytes in one
 * submission and tells the master the outcome before the next wave begins, so that leases and write attempts are
 * short.
 *
 * Locks: mc_store.lock protects the cache of opened segments. Nothing else of a store changes after it was opened.
 */
#ifndef MC_STORE_INT_H
#define MC_STORE_INT_H

#include <pthread.h>
#include <sys/queue.h>

#include "dev_int.h"
#include "health.h"
#include "include/mooncake/store.h"
#include "mooncake.pb-c.h"
#include "util.h"

#define MC_WAVE_ITEMS		1024u
#define MC_WAVE_XFERS		65536u
#define MC_WAVE_BYTES		(4ull << 30)
#define MC_XFER_BYTES		(32ull << 20)
#define MC_OLD_GRANTS		8192u	/* kept by one batch, of the 65536 of an open file */
#define MC_KEYS_PER_CALL	4096u
#define MC_SEG_OPEN_MS		5000u
#define MC_SEG_BUCKETS		64u

/*
 * What an attempt to fetch may take while other replicas could be asked: a path that is fine moves more than 10 MB in a
 * second, and one that is not costs a second.
 */
#define MC_TRY_NS		(1000 * 1000000ull)
#define MC_TRIAL_NS		(50 * 1000000ull)	/* of a node that failed when it was asked last */
#define MC_TRY_NS_BYTE		100u

/* After the deadline: how long the kernel may take to end what it has, and the master to hear of it. */
#define MC_GRACE_WAIT_NS	(250 * 1000000ull)
#define MC_GRACE_CALL_NS	(450 * 1000000ull)

/**
 * struct mc_master_ops - the master, or what stands in for it
 * @call: as mc_rpc_call()
 * @address: for messages
 * @free: end of use
 */
struct mc_master_ops {
	int (*call)(void *ctx, const char *method, const ProtobufCMessage *req, const ProtobufCMessageDescriptor *type,
		    ProtobufCMessage **reply, int timeout_ms, struct mc_error *err);
	const char *(*address)(void *ctx);
	void (*free)(void *ctx);
};

/**
 * struct mc_segref - an opened segment in the cache
 * @link: place in its bucket
 * @node_uuid: node
 * @seg_uuid: segment
 * @seg: the handle
 * @refs: users, and the cache while @cached
 * @cached: found by others
 */
struct mc_segref {
	LIST_ENTRY(mc_segref) link;
	uint8_t node_uuid[MC_UUID_LEN];
	uint8_t seg_uuid[MC_UUID_LEN];
	struct mc_seg *seg;
	int refs;
	bool cached;
};

/**
 * struct mc_store - a store handle
 * @dev: device, NULL without
 * @own_dev: close it with the store
 * @master: the master
 * @master_ctx: its first argument
 * @client_uuid: random, names this handle in PutStart, PutEnd and PutRevoke
 * @reader: the same for what it reads: empty unless the kernel tells the master when the process ends
 * @tenant: tenant
 * @timeout_ms: deadline of calls that name none
 * @replica_num: replicas of puts that name none
 * @preferred: names of preferred segments
 * @n_preferred: how many
 * @lock: protects @segs
 * @segs: opened segments by the first byte of their UUID
 * @health: nodes that failed lately, with a lock of its own
 */
struct mc_store {
	struct mc_dev *dev;
	bool own_dev;
	const struct mc_master_ops *master;
	void *master_ctx;
	uint8_t client_uuid[MC_UUID_LEN];
	ProtobufCBinaryData reader;
	char *tenant;
	uint32_t timeout_ms;
	uint32_t replica_num;
	char **preferred;
	uint32_t n_preferred;
	pthread_mutex_t lock;
	LIST_HEAD(, mc_segref) segs[MC_SEG_BUCKETS];
	struct mc_health health;
};

/**
 * mc_store_open_with() - mc_store_open() with a given device and master
 * @cfg: the rest
 * @dev: device or NULL; not closed by mc_store_close()
 * @master: operations
 * @master_ctx: their first argument; freed by mc_store_close(), and when this fails
 * @out: the handle
 * @err: why not
 *
 * Return: as mc_store_open().
 */
int mc_store_open_with(const struct mc_store_config *cfg, struct mc_dev *dev, const struct mc_master_ops *master,
		       void *master_ctx, struct mc_store **out, struct mc_error *err);

/**
 * mc_store_open_dev() - mc_store_open() with a given device and the master that @cfg names
 * @cfg: the rest
 * @dev: device or NULL; not closed by mc_store_close()
 * @out: the handle
 * @err: why not
 *
 * Return: as mc_store_open().
 */
int mc_store_open_dev(const struct mc_store_config *cfg, struct mc_dev *dev, struct mc_store **out,
		      struct mc_error *err);

/**
 * mc_deadline() - when a call has to end
 * @s: store
 * @opts: options or NULL
 *
 * Return: on the clock of mc_now_ns().
 */
uint64_t mc_deadline(const struct mc_store *s, const struct mc_opts *opts);

/**
 * mc_left_ns() - time left
 * @until: on the clock of mc_now_ns()
 *
 * Return: 0 when it has passed.
 */
uint64_t mc_left_ns(uint64_t until);

/**
 * mc_ask() - call the master
 * @s: store
 * @method: method
 * @req: request
 * @type: type of the reply
 * @until: when to give up
 * @err: why not
 *
 * Return: the reply, to be freed, or NULL.
 */
void *mc_ask(struct mc_store *s, const char *method, const ProtobufCMessage *req,
	     const ProtobufCMessageDescriptor *type, uint64_t until, struct mc_error *err);

/**
 * mc_drop_reply() - free what mc_ask() returned
 * @reply: reply or NULL
 */
void mc_drop_reply(void *reply);

/**
 * mc_key_check() - may this be a key?
 * @key: key
 * @key_len: its bytes
 * @err: why not
 *
 * Return: 0 or INVALID_KEY.
 */
int mc_key_check(const void *key, size_t key_len, struct mc_error *err);

/**
 * mc_ask_replicas() - GetReplicaList
 * @s: store
 * @key: its key
 * @key_len: bytes of @key
 * @until: when to give up
 * @err: why not
 *
 * Return: the reply, to be judged and freed, or NULL.
 */
Mooncake__V1__GetReplicaListReply *mc_ask_replicas(struct mc_store *s, const void *key, size_t key_len, uint64_t until,
						   struct mc_error *err);

/**
 * mc_lease_end() - how long an answer protects its object
 * @reply: the answer
 * @asked_ns: from before it was asked for
 *
 * Return: on the clock of mc_now_ns().
 */
uint64_t mc_lease_end(const Mooncake__V1__GetReplicaListReply *reply, uint64_t asked_ns);

/**
 * mc_judge() - what the master said about one item
 * @st: its status
 * @what: operation and key, for the message
 * @err: filled in when the answer is an error
 *
 * Return: 0 or the code; RPC_FAIL when there is no status or an impossible one.
 */
int mc_judge(const Mooncake__V1__Status *st, const char *what, struct mc_error *err);

/**
 * mc_count_matches() - did the master answer for each item?
 * @s: store
 * @method: method
 * @have: answers
 * @want: items
 * @err: filled in when not
 *
 * Return: 0 or RPC_FAIL.
 */
int mc_count_matches(const struct mc_store *s, const char *method, size_t have, size_t want, struct mc_error *err);

/**
 * mc_segref_get() - open a segment, or find it open
 * @s: store
 * @node_uuid: node
 * @seg_uuid: segment
 * @until: when to give up
 * @out: the segment, to be given back with mc_segref_put()
 * @err: why not
 *
 * Return: 0 or -errno.
 */
int mc_segref_get(struct mc_store *s, const uint8_t *node_uuid, const uint8_t *seg_uuid, uint64_t until,
		  struct mc_segref **out, struct mc_error *err);

/**
 * mc_segref_put() - give a segment back to the cache
 * @s: store
 * @ref: segment or NULL
 */
void mc_segref_put(struct mc_store *s, struct mc_segref *ref);

/**
 * mc_segref_forget() - the handle leads nowhere any more: the next user opens the segment anew
 * @s: store
 * @ref: segment, still held by the caller
 */
void mc_segref_forget(struct mc_store *s, struct mc_segref *ref);

/**
 * mc_segcache_flush() - close all segments that nobody uses
 * @s: store
 */
void mc_segcache_flush(struct mc_store *s);

/**
 * struct mc_noseg - segments that could not be opened in this wave: not tried again for every item
 * @n: how many
 * @seg: which, and why
 */
struct mc_noseg {
	unsigned int n;
	struct {
		uint8_t node_uuid[MC_UUID_LEN];
		uint8_t seg_uuid[MC_UUID_LEN];
		struct mc_error err;
	} seg[8];
};

/**
 * mc_segref_get_once() - mc_segref_get(), failing at once where it has failed before
 * @s: store
 * @no: what has failed before
 * @r: replica that names the segment
 * @until: when to give up
 * @out: the segment
 * @err: why not
 *
 * Return: 0 or -errno.
 */
int mc_segref_get_once(struct mc_store *s, struct mc_noseg *no, const Mooncake__V1__Replica *r, uint64_t until,
		       struct mc_segref **out, struct mc_error *err);

/**
 * mc_item_len() - bytes of all pieces
 * @item: checked item
 *
 * Return: bytes.
 */
uint64_t mc_item_len(const struct mc_item *item);

/**
 * mc_item_check() - empty an item's result, and refuse what can't be right
 * @s: store
 * @what: "put" or "get"
 * @item: item; its result says why when it is refused
 */
void mc_item_check(const struct mc_store *s, const char *what, struct mc_item *item);

/**
 * mc_item_fail() - write an item's failure
 * @item: item
 * @code: enum mc_code
 * @sys_errno: errno behind it, or 0
 * @fmt: sentence
 */
void mc_item_fail(struct mc_item *item, int code, int sys_errno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * mc_item_fail_err() - write an item's failure from an error
 * @item: item
 * @code: enum mc_code
 * @what: "put" or "get"
 * @err: the error
 */
void mc_item_fail_err(struct mc_item *item, int code, const char *what, const struct mc_error *err);

/**
 * mc_item_place() - note where an item's bytes are
 * @item: item
 * @r: replica
 */
void mc_item_place(struct mc_item *item, const Mooncake__V1__Replica *r);

/**
 * mc_item_xfers() - how many transfers the first bytes of an item need
 * @item: item
 * @len: bytes
 *
 * Return: transfers.
 */
uint32_t mc_item_xfers(const struct mc_item *item, uint64_t len);

/**
 * mc_item_add() - add the transfers of an item to a batch
 * @b: batch with room
 * @item: item
 * @len: bytes: the first of its pieces
 * @seg: segment
 * @seg_off: first byte there
 * @write: into the segment
 *
 * Return: 0 or -errno of mc_batch_read().
 */
int mc_item_add(struct mc_batch *b, const struct mc_item *item, uint64_t len, struct mc_seg *seg, uint64_t seg_off,
		bool write);

/**
 * mc_wave() - how many items go together
 * @items: checked items
 * @n: how many there are
 * @copies: transfers of each piece
 *
 * Return: at least 1.
 */
size_t mc_wave(const struct mc_item *items, size_t n, uint32_t copies);

/**
 * mc_item_single() - a batch of one
 * @s: store
 * @batch: mc_store_get_batch() or mc_store_put_batch()
 * @key: its key
 * @key_len: bytes of @key
 * @piece: all its bytes
 * @opts: options or NULL
 * @res: result, or NULL
 * @err: why not
 *
 * Return: as @batch.
 */
int mc_item_single(struct mc_store *s,
		   int (*batch)(struct mc_store *s, struct mc_item *items, size_t n, const struct mc_opts *opts,
				struct mc_error *err),
		   const void *key, size_t key_len, const struct mc_piece *piece, const struct mc_opts *opts,
		   struct mc_result *res, struct mc_error *err);

/**
 * mc_items_verdict() - the return value of a batch
 * @items: items with results
 * @n: how many
 * @err: the first failure
 *
 * Return: 0 or the first item's code that is not 0.
 */
int mc_items_verdict(const struct mc_item *items, size_t n, struct mc_error *err);

/**
 * mc_grants_load_until() - mc_grants_load(), tried again while this node may not know the master's time yet
 * @dev: device
 * @grants: the grants
 * @n: how many
 * @until: when to give up, on the clock of mc_now_ns(); some seconds at most are waited
 */
void mc_grants_load_until(struct mc_dev *dev, struct mc_grant_use *grants, size_t n, uint64_t until);

/**
 * struct mc_sum - how the transfers of an item ended, together
 * @result: 0, or the first -errno
 * @quiesced: none of them can reach a segment any more
 * @busy: one may still touch the caller's memory
 * @fail_at: bytes of the item before the one that failed
 * @rail: rail of the first
 * @done_ns: when the last ended
 */
struct mc_sum {
	int result;
	bool quiesced;
	bool busy;
	uint64_t fail_at;
	uint32_t rail;
	uint64_t done_ns;
};

/**
 * mc_sum_up() - judge the transfers of an item
 * @b: batch, all ended or frozen
 * @first: number of the first transfer
 * @count: how many
 * @sum: result
 */
void mc_sum_up(const struct mc_batch *b, uint32_t first, uint32_t count, struct mc_sum *sum);

/**
 * struct mc_renewal - grants that may end before the transfers they allow
 * @life_ns: how long one lasts from its beginning
 * @at: when new ones are to be asked for, on the clock of mc_now_ns(); UINT64_MAX: never
 * @ask: asks for new ones, and gives them to what has not been handed to the kernel. Returns the next @at
 * @arg: its argument
 */
struct mc_renewal {
	uint64_t life_ns;
	uint64_t at;
	uint64_t (*ask)(void *arg);
	void *arg;
};

/**
 * mc_renewal_init() - grants last so long from then on; half of that later new ones are asked for
 * @renew: result
 * @from: when the grants began, on the clock of mc_now_ns()
 * @life_ms: as the master said; 0: it didn't
 * @ask: see struct mc_renewal
 * @arg: its argument
 */
void mc_renewal_init(struct mc_renewal *renew, uint64_t from, uint64_t life_ms, uint64_t (*ask)(void *arg), void *arg);

/**
 * mc_renewal_limit() - how long new ones are waited for: nothing is handed to the kernel meanwhile
 * @renew: they
 * @asked_ns: when they are asked for
 * @deadline: of the call
 */
uint64_t mc_renewal_limit(const struct mc_renewal *renew, uint64_t asked_ns, uint64_t deadline);

/**
 * struct mc_old_grants - grants that newer ones have replaced, until the batch has ended
 * @use: them
 * @n: how many, at most MC_OLD_GRANTS
 */
struct mc_old_grants {
	struct mc_grant_use *use;
	size_t n;
};

/**
 * mc_grant_replace() - a newer grant for transfers that have not been handed to the kernel
 * @b: batch
 * @first: number of the first transfer
 * @count: how many
 * @grant: their grant; replaced when the newer one is accepted
 * @bytes: the newer one
 * @len: its bytes
 * @old: takes the older one when something was handed over under it; else it is given back at once
 *
 * Return: true when the newer one is in use.
 */
bool mc_grant_replace(struct mc_batch *b, uint32_t first, uint32_t count, struct mc_grant_use *grant,
		      const void *bytes, size_t len, struct mc_old_grants *old);

/**
 * mc_old_grants_drop() - give them back
 * @dev: device
 * @old: may be empty
 */
void mc_old_grants_drop(struct mc_dev *dev, struct mc_old_grants *old);

/**
 * mc_move() - submit a batch and wait for it, or give up
 * @b: batch, may be empty or NULL
 * @timeout_ns: what the kernel may take for the transfers; then it ends them, which takes it some time too
 * @deadline: of the call: so long, and some grace, the end of those is waited for: until then the device may touch
 *	their memory, and nothing else can be tried with it
 * @renew: the grants of its transfers
 *
 * Afterwards the results don't change any more. Errors are in the results.
 */
void mc_move(struct mc_batch *b, uint64_t timeout_ns, uint64_t deadline, struct mc_renewal *renew);

/**
 * mc_check_call() - can this handle move these items?
 * @s: store
 * @what: "put" or "get"
 * @items: items; all get the failure when not
 * @n: how many
 *
 * Return: true when it can.
 */
bool mc_check_call(const struct mc_store *s, const char *what, struct mc_item *items, size_t n);

#endif
