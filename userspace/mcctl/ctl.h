/* SPDX-License-Identifier: MIT */
/*
 * mcctl: a table of commands. A command gets its words and options, builds its answer as JSON and returns an exit
 * status (enum mct_exit); the answer is printed, as JSON or as a table, only when there was no error.
 */
#ifndef CTL_H
#define CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "mctext.h"
#include "mooncake/store.h"

#define CTL_MAX_OPTS	16

/**
 * struct ctl_opt - an option of a command
 * @name: without the dashes
 * @arg: what its value is called in the help text; NULL for a switch
 * @help: one line
 */
struct ctl_opt {
	const char *name;
	const char *arg;
	const char *help;
};

/**
 * struct ctl - one run of mcctl
 * @cmd: the command
 * @json: print JSON
 * @master: address
 * @tenant: tenant or NULL
 * @device: device node or NULL
 * @timeout_ms: deadline of calls
 * @timeout_given: it was on the command line
 * @argc: number of words behind the command
 * @argv: these words
 * @val: values of the command's options, in the order of its table: NULL when not given, "" for a switch that was
 */
struct ctl {
	const struct ctl_cmd *cmd;
	bool json;
	const char *master;
	const char *tenant;
	const char *device;
	uint32_t timeout_ms;
	bool timeout_given;
	int argc;
	char **argv;
	const char *val[CTL_MAX_OPTS];
};

/**
 * struct ctl_cmd - a command
 * @group: first word
 * @verb: second word, NULL when there is none
 * @args: what follows, for the help text
 * @min_args: fewest words
 * @max_args: most words
 * @help: one line
 * @opts: its own options, ended by one without name; or NULL
 * @run: does it; returns an exit status
 */
struct ctl_cmd {
	const char *group;
	const char *verb;
	const char *args;
	int min_args;
	int max_args;
	const char *help;
	const struct ctl_opt *opts;
	int (*run)(struct ctl *c);
};

/* Tables of the cmd_ files, ended by an entry without group. */
extern const struct ctl_cmd ctl_node_cmds[], ctl_kernel_cmds[], ctl_see_cmds[], ctl_object_cmds[], ctl_master_cmds[],
	ctl_trace_cmds[];

/* args.c */

/**
 * ctl_parse() - find the command and take the options out of the words
 * @c: result
 * @argc: from main()
 * @argv: from main(); reordered
 *
 * Return: -1 to run @c->cmd, else the exit status to end with (help was printed, or an error was).
 */
int ctl_parse(struct ctl *c, int argc, char **argv);

/* fail.c */

/** ctl_fail() - one line on standard error, "mcctl: group verb: ..."; returns @status */
int ctl_fail(const struct ctl *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** ctl_fail_store() - the same for an error of libmooncake; chooses the exit status */
int ctl_fail_store(const struct ctl *c, const struct mc_error *err);

/** ctl_exit_of() - exit status of an error of libmooncake */
int ctl_exit_of(int code, int sys_errno);

/* out.c */

/** ctl_print() - print an answer and drop the reference: JSON, or one "name: value" a line, or for a list a table */
int ctl_print(const struct ctl *c, json_t *answer);

/** ctl_text() - any bytes as a JSON string: UTF-8 as it is, other bytes as \xNN */
json_t *ctl_text(const void *bytes, size_t len);

/** ctl_uuid() - a UUID as a JSON string */
json_t *ctl_uuid(const uint8_t *uuid);

/* rpc.c */

struct mc_rpc_client;

/** ctl_rpc_open() - a client for the master; exit status */
int ctl_rpc_open(const struct ctl *c, struct mc_rpc_client **out);

/** ctl_store_config() - the run's settings; @need_device when bytes are to move */
void ctl_store_config(const struct ctl *c, bool need_device, struct mc_store_config *cfg);

/** ctl_store_open() - libmooncake with the run's settings; @need_device when bytes are to move; exit status */
int ctl_store_open(const struct ctl *c, bool need_device, struct mc_store **out);

/* copy.c */

/**
 * ctl_copy_until() - copy bytes out of a mapping that may end
 * @to: destination
 * @from: mapping
 * @len: bytes
 * @until_ns: on the clock of mc_now_ns(): when the bytes stop being what they are
 *
 * Return: 0, -ETIME when they were not all read before @until_ns, -EFAULT when the mapping ended earlier (SIGBUS, which
 * is this function's meanwhile).
 */
int ctl_copy_until(void *to, const void *from, size_t len, uint64_t until_ns);

#endif /* CTL_H */
