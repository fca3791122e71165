/* SPDX-License-Identifier: MIT */
/*
 * The master: state, journal, time and chance put together. mc_master_submit() is the one way in for a mutation.
 */
#ifndef MC_MASTER_MASTER_H
#define MC_MASTER_MASTER_H

#include <event2/event.h>

#include "journal.h"
#include "mint.h"
#include "place.h"
#include "state.h"

#ifndef MC_VERSION
#define MC_VERSION	"0.0.0-unknown"	/* the build gives the real one */
#endif

/* Two clocks may each be off by this much before they are refused; both ends of a lease count. */
#define MC_MAX_SKEW_MS		((unsigned int)(MC_CLOCK_SKEW_NS / 1000000))

/**
 * struct mc_master_config - settings
 * @lease_ttl_ms: how long a read protects
 * @discard_ms: after that an unfinished write's name may be taken
 * @release_ms: after that its ranges may be reused, though not before its grant and the margin are over; above
 *	@discard_ms
 * @client_ttl_ms: a node not heard of for that long is gone
 * @retry_bound_ms: how long a transport may go on delivering what was posted before
 * @restart_rest_ms: how long a segment rests that an earlier master may have handed out
 * @cluster_uuid: this cluster's, if @has_cluster_uuid
 * @has_cluster_uuid: one was given
 * @key: cluster key, all zero without one
 * @key_gen: its generation, 0 without one
 * @clock_ns: monotonic clock, NULL: CLOCK_BOOTTIME; tests bring their own
 */
struct mc_master_config {
	uint64_t lease_ttl_ms, discard_ms, release_ms, client_ttl_ms, retry_bound_ms, restart_rest_ms;
	uint8_t cluster_uuid[MC_UUID_LEN];
	bool has_cluster_uuid;
	uint8_t key[MC_GRANT_KEY];
	uint32_t key_gen;
	uint64_t (*clock_ns)(void);
};

/**
 * enum mc_counted - operations that are counted, one for one item
 */
enum mc_counted {
	MC_COUNT_PING,
	MC_COUNT_MOUNT,
	MC_COUNT_UNMOUNT,
	MC_COUNT_CLIENTS_GONE,
	MC_COUNT_EXIST,
	MC_COUNT_GET,
	MC_COUNT_PUT_START,
	MC_COUNT_PUT_EXTEND,
	MC_COUNT_PUT_END,
	MC_COUNT_PUT_REVOKE,
	MC_COUNT_REMOVE,
	MC_COUNT_LIST,
	MC_COUNT_ABANDONED,
	MC_COUNT_EXPIRED,
	MC_COUNTED
};

/**
 * struct mc_counter - one operation's
 * @calls: items asked for
 * @failures: of these, answered with an error
 */
struct mc_counter {
	uint64_t calls, failures;
};

/**
 * struct mc_master - a running master
 * @cfg: settings
 * @state: what it knows
 * @journal: where records go
 * @rng: for decisions
 * @minter: signs grants
 * @clock_epoch: names this run's clock
 * @start_ns: CLOCK_BOOTTIME at time 0 of that clock
 * @next_replica_id: next replica's number
 * @timer: fires when something is due
 * @timer_at: when it will fire, UINT64_MAX: not armed
 * @counters: by enum mc_counted
 */
struct mc_master {
	struct mc_master_config cfg;
	struct mc_state state;
	struct mc_journal journal;
	struct mc_rng rng;
	struct mc_minter minter;
	uint64_t clock_epoch, start_ns, next_replica_id;
	struct event *timer;
	uint64_t timer_at;
	struct mc_counter counters[MC_COUNTED];
};

/**
 * mc_master_new() - start one
 * @cfg: settings
 * @base: event loop for its timer
 * @res: why not
 *
 * Return: the master or NULL.
 */
struct mc_master *mc_master_new(const struct mc_master_config *cfg, struct event_base *base, struct mc_result *res);

/**
 * mc_master_free() - end it
 * @m: master; NULL is fine
 */
void mc_master_free(struct mc_master *m);

/**
 * mc_master_now() - master time
 * @m: master
 *
 * Return: nanoseconds on the clock named by @clock_epoch; monotonic, runs on while the machine is suspended.
 */
uint64_t mc_master_now(const struct mc_master *m);

/**
 * mc_master_submit() - validate, decide, journal, apply
 * @m: master
 * @op: record with the caller's inputs; time and decisions are filled in
 * @res: how it went
 *
 * Return: @res->code.
 */
int mc_master_submit(struct mc_master *m, struct mc_op *op, struct mc_result *res);

/**
 * mc_master_sweep() - do everything that is due, and arm the timer for what comes next
 * @m: master
 */
void mc_master_sweep(struct mc_master *m);

/**
 * mc_master_count() - count one item
 * @m: master
 * @what: operation
 * @code: how it went
 */
void mc_master_count(struct mc_master *m, enum mc_counted what, int code);

/**
 * mc_counted_name() - "PutStart"
 * @what: operation
 *
 * Return: a constant string.
 */
const char *mc_counted_name(enum mc_counted what);

#endif
