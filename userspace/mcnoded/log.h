/* SPDX-License-Identifier: MIT */
/* Lines on standard error, each with a level word that systemd understands. */
#ifndef ND_LOG_H
#define ND_LOG_H

/** enum nd_level - how important a line is */
enum nd_level { ND_ERROR, ND_WARN, ND_INFO };

/** nd_log() - write one line; never blocks on more than standard error */
void nd_log(enum nd_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** nd_log_capture() - for tests: hand lines to @fn instead of standard error; NULL ends that */
void nd_log_capture(void (*fn)(enum nd_level level, const char *line));

#endif /* ND_LOG_H */
