/* SPDX-License-Identifier: MIT */
/* The subcommands of `mcctl trace`, and options they share. */
#ifndef CTL_TRACE_REPLAY_H
#define CTL_TRACE_REPLAY_H

#include "ctl.h"
#include "trace.h"

/** tr_opt_trace() - load the trace that --trace and --requests name; exit status */
int tr_opt_trace(struct ctl *c, const char *path, const char *requests, struct tr_trace *t);

/** tr_opt_number() - a number option with a default; exit status */
int tr_opt_number(struct ctl *c, const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *value);

/** tr_opt_block() - --block; exit status */
int tr_opt_block(struct ctl *c, const char *text, uint64_t *value);

/** tr_opt_ms() - a time option; exit status */
int tr_opt_ms(struct ctl *c, const char *name, const char *text, uint32_t *value);

/** tr_replay() - `mcctl trace replay` */
int tr_replay(struct ctl *c);

/** tr_conduct() - `mcctl trace conduct` */
int tr_conduct(struct ctl *c);

extern const struct ctl_opt tr_replay_opts[], tr_conduct_opts[];

#endif /* CTL_TRACE_REPLAY_H */
