/* SPDX-License-Identifier: MIT */
/*
 * Seeing what the module does: events, rates, histograms. The files see_*.c compute and draw and are tested alone;
 * cmd_see.c asks the kernel and waits.
 */
#ifndef CTL_SEE_H
#define CTL_SEE_H

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include "ctl.h"
#include "mcnl.h"

/* see_wait.c */

/** see_signals() - SIGINT and SIGTERM set the flag that is returned, and are taken only in see_wait() */
const volatile sig_atomic_t *see_signals(void);

/**
 * see_wait() - wait for a descriptor, a time or a signal
 * @fd: descriptor to read from, -1: none
 * @until_ms: see_now_ms() at which to stop, UINT64_MAX: never
 *
 * Return: true when @fd can be read.
 */
bool see_wait(int fd, uint64_t until_ms);

/** see_now_ms() - CLOCK_MONOTONIC in ms */
uint64_t see_now_ms(void);

/* see_event.c */

/** see_event_name() - "buffer-gone" for MC_CMD_EVENT_BUF_GONE; "event-N" for one of a newer kernel */
const char *see_event_name(int cmd, char *to, size_t size);

/** see_reason_name() - the word for an enum mc_reason, "" for none */
const char *see_reason_name(uint32_t reason);

/** see_event_json() - an event with what it is about */
json_t *see_event_json(const struct mcnl_event *ev);

/** see_event_text() - the same as a line for people, without newline, into @to; returns @to */
const char *see_event_text(const struct mcnl_event *ev, char *to, size_t size);

/** see_lost() - events missing between two sequence numbers; @last 0: this is the first one */
uint64_t see_lost(uint64_t last, uint64_t seq);

/* see_rate.c */

/**
 * struct see_sample - the module's counters at one moment
 * @time_ns: CLOCK_MONOTONIC
 * @instance: module load: another one counts from 0
 * @stats: by transport and operation
 * @n_stats: how many
 * @rails: rails of this node
 * @n_rails: how many
 * @hists: latencies of rails
 * @n_hists: how many
 * @peers: other nodes
 * @n_peers: how many
 */
struct see_sample {
	uint64_t time_ns;
	uint64_t instance;
	struct mcnl_stat *stats;
	size_t n_stats;
	struct mcnl_rail *rails;
	size_t n_rails;
	struct mcnl_rail_hist *hists;
	size_t n_hists;
	struct mcnl_peer *peers;
	size_t n_peers;
};

/** see_hist_of() - latencies of a rail; all 0 when the sample has none */
const struct mcnl_rail_hist *see_hist_of(const struct see_sample *s, uint32_t rail);

/** see_sample_free() - free the lists */
void see_sample_free(struct see_sample *s);

/** see_delta() - how much a counter grew; one that is smaller than before began anew from 0 */
uint64_t see_delta(uint64_t before, uint64_t now);

/** see_rate() - per second, rounded; 0 when no time has passed */
uint64_t see_rate(uint64_t delta, uint64_t ns);

/** see_hist_delta() - a histogram of what came in between; all buckets begin anew when one of them did */
void see_hist_delta(const uint64_t *before, const uint64_t *now, uint64_t *out);

/** see_rates() - what happened between two samples, per second: {"transports": [], "rails": [], "peers": []} */
json_t *see_rates(const struct see_sample *before, const struct see_sample *now);

/* see_top.c */

/** see_top_print() - what see_rates() says, as three tables */
void see_top_print(FILE *out, const json_t *rates);

/* see_hist.c */

#define SEE_BAR		40	/* columns of the longest bar */

/** see_transport_name() - "rdma" for MC_TRANSPORT_RDMA */
const char *see_transport_name(uint32_t transport);

/** see_ns_text() - a time for people, "1.5 us", into @to; returns @to */
const char *see_ns_text(uint64_t ns, char *to, size_t size);

/** see_bar() - a bar as long as @value is of @max, at least one mark for what is not 0, into @to; returns @to */
const char *see_bar(uint64_t value, uint64_t max, int width, char *to);

/** see_stat_json() - one transport and operation, with percentiles and the buckets that are not 0 */
json_t *see_stat_json(const struct mcnl_stat *s);

/** see_hist_print() - a histogram as a picture: a line for each bucket from the first to the last that is not 0 */
void see_hist_print(FILE *out, const uint64_t *hist);

#endif /* CTL_SEE_H */
