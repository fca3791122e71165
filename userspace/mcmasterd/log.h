/* SPDX-License-Identifier: MIT */
/* One line per event on stderr. */
#ifndef MC_MASTER_LOG_H
#define MC_MASTER_LOG_H

/** enum mc_log_level - how important a line is; MC_LOG_START is always written */
enum mc_log_level { MC_LOG_START, MC_LOG_ERROR, MC_LOG_WARN, MC_LOG_INFO, MC_LOG_DEBUG };

/**
 * mc_log_set() - choose what is written
 * @name: "error", "warn", "info" or "debug"; lines less important are dropped
 *
 * Return: 0 or -EINVAL.
 */
int mc_log_set(const char *name);

/**
 * mc_log() - write one line
 * @level: how important
 * @fmt: as for printf, without newline
 */
void mc_log(enum mc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
