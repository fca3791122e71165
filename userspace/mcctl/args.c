// SPDX-License-Identifier: MIT
/* Command line: global options may stand anywhere; help is made from the same tables. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

static const struct ctl_cmd *const tables[] = {
	ctl_node_cmds, ctl_kernel_cmds, ctl_see_cmds, ctl_object_cmds, ctl_master_cmds, ctl_trace_cmds,
};

#define N_TABLES (sizeof(tables) / sizeof(*tables))

static const struct ctl_opt global_opts[] = {
	{ "json", NULL, "print JSON" },
	{ "master", "ADDR", "the master, host:port (default $MC_MASTER, else 127.0.0.1:50051)" },
	{ "tenant", "NAME", "whose objects (default $MC_TENANT, else 'default')" },
	{ "timeout", "TIME", "deadline of calls: 5s, 500ms, 2m (default 30s)" },
	{ "device", "PATH", "device node (default /dev/mooncake)" },
	{ "help", NULL, "what the command does and takes" },
	{ NULL, NULL, NULL },
};

enum { G_JSON, G_MASTER, G_TENANT, G_TIMEOUT, G_DEVICE, G_HELP, G_COUNT };

static const struct ctl_cmd *find(const char *group, const char *verb, bool *known_group)
{
	for (size_t t = 0; t < N_TABLES; t++)
		for (const struct ctl_cmd *cmd = tables[t]; cmd->group; cmd++) {
			if (strcmp(cmd->group, group))
				continue;
			*known_group = true;
			if (!cmd->verb || (verb && !strcmp(cmd->verb, verb)))
				return cmd;
		}
	return NULL;
}

static void print_opts(const char *title, const struct ctl_opt *o)
{
	if (!o || !o->name)
		return;
	printf("\n%s:\n", title);
	for (; o->name; o++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
}

/* Help for everything, for a group, or for one command. */
static int help(const char *group, const struct ctl_cmd *one)
{
	if (one) {
		printf("Usage: mcctl %s%s%s%s%s\n%s\n", one->group, one->verb ? " " : "",
		       one->verb ? one->verb : "", *one->args ? " " : "", one->args, one->help);
		print_opts("Options", one->opts);
	} else {
		printf("Usage: mcctl GROUP VERB [ARGUMENTS] [OPTIONS]\n\n");
		for (size_t t = 0; t < N_TABLES; t++)
			for (const struct ctl_cmd *cmd = tables[t]; cmd->group; cmd++) {
				char left[80];

				if (group && strcmp(group, cmd->group))
					continue;
				snprintf(left, sizeof(left), "%s %s %s", cmd->group, cmd->verb ? cmd->verb : "",
					 cmd->args);
				printf("  %-44s %s\n", left, cmd->help);
			}
	}
	print_opts("Options of every command", global_opts);
	printf("\nExit status: 0 done, 1 failed, 2 usage, 3 not found, 4 exists already, 5 nobody answers or too\n"
	       "late, 6 no permission, 7 module or device missing, 8 wrong bytes. See mcctl(8).\n");
	return MCT_EXIT_OK;
}

static int lookup_opt(const struct ctl_opt *table, const char *name, size_t len)
{
	for (int i = 0; table && table[i].name; i++)
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len))
			return i;
	return -1;
}

struct parse {
	struct ctl *c;
	int argc;
	char **argv;
	int at;
	const char *global[G_COUNT];
	char **words;
	int n_words;
};

/* One "--name", "--name=value" or "--name value"; -1 to go on. */
static int take_option(struct parse *p)
{
	const char *name = p->argv[p->at] + 2, *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	const struct ctl_opt *table = global_opts;
	const char **slot;
	int i = lookup_opt(table, name, len);

	slot = p->global;
	if (i < 0 && p->c->cmd) {
		table = p->c->cmd->opts;
		i = lookup_opt(table, name, len);
		slot = p->c->val;
	}
	if (i < 0)
		return ctl_fail(p->c, MCT_EXIT_USAGE, "unknown option '--%.*s' (see --help)", (int)len, name);
	if (slot[i])
		return ctl_fail(p->c, MCT_EXIT_USAGE, "option '--%s' is given twice", table[i].name);
	if (!table[i].arg && value)
		return ctl_fail(p->c, MCT_EXIT_USAGE, "option '--%s' takes no value", table[i].name);
	if (table[i].arg && !value && p->at + 1 == p->argc)
		return ctl_fail(p->c, MCT_EXIT_USAGE, "option '--%s' needs a value (%s)", table[i].name,
				table[i].arg);
	slot[i] = !table[i].arg ? "" : value ? value + 1 : p->argv[++p->at];
	return -1;
}

/* Options and words may be mixed; the words in front are the command, which says what options there are. */
static int take_word(struct parse *p)
{
	bool known = false;

	p->words[p->n_words++] = p->argv[p->at];
	if (p->c->cmd || p->n_words > 2)
		return -1;
	p->c->cmd = find(p->words[0], p->n_words > 1 ? p->words[1] : NULL, &known);
	if (!known)
		return ctl_fail(NULL, MCT_EXIT_USAGE, "unknown command '%s' (see mcctl --help)", p->words[0]);
	if (!p->c->cmd && p->n_words == 2)
		return ctl_fail(NULL, MCT_EXIT_USAGE, "unknown command '%s %s' (see mcctl %s --help)",
				p->words[0], p->words[1], p->words[0]);
	return -1;
}

static int scan(struct parse *p)
{
	bool only_words = false;
	int rc = -1;

	for (p->at = 1; p->at < p->argc && rc < 0; p->at++) {
		const char *a = p->argv[p->at];

		if (!only_words && !strcmp(a, "--"))
			only_words = true;
		else if (!only_words && !strcmp(a, "-h"))
			p->global[G_HELP] = "";
		else if (!only_words && a[0] == '-' && a[1] == '-')
			rc = take_option(p);
		else if (!only_words && a[0] == '-' && a[1])
			rc = ctl_fail(p->c, MCT_EXIT_USAGE, "unknown option '%s' (see --help)", a);
		else
			rc = take_word(p);
	}
	return rc;
}

static int apply_globals(struct ctl *c, struct parse *p)
{
	const char *env = getenv("MC_MASTER");

	c->json = p->global[G_JSON];
	c->master = p->global[G_MASTER] ? p->global[G_MASTER] : env && *env ? env : "127.0.0.1:50051";
	c->tenant = p->global[G_TENANT] ? p->global[G_TENANT] : getenv("MC_TENANT");
	c->device = p->global[G_DEVICE];
	c->timeout_ms = 30000;
	c->timeout_given = p->global[G_TIMEOUT];
	if (p->global[G_TIMEOUT] && !mct_ms_parse(p->global[G_TIMEOUT], &c->timeout_ms))
		return ctl_fail(c, MCT_EXIT_USAGE, "--timeout '%s' is not a time from 1ms to 1h",
				p->global[G_TIMEOUT]);
	return -1;
}

static int finish(struct ctl *c, struct parse *p)
{
	int skip;

	if (p->global[G_HELP])
		return help(p->n_words ? p->words[0] : NULL, c->cmd);
	if (!p->n_words)
		return ctl_fail(NULL, MCT_EXIT_USAGE, "no command (see mcctl --help)");
	if (!c->cmd)
		return ctl_fail(NULL, MCT_EXIT_USAGE, "'%s' needs a verb (see mcctl %s --help)", p->words[0],
				p->words[0]);
	skip = c->cmd->verb ? 2 : 1;
	c->argc = p->n_words - skip;
	c->argv = p->words + skip;
	if (c->argc < c->cmd->min_args)
		return ctl_fail(c, MCT_EXIT_USAGE, "too few arguments, expected: %s", c->cmd->args);
	if (c->argc > c->cmd->max_args)
		return ctl_fail(c, MCT_EXIT_USAGE, "unexpected argument '%s'", c->argv[c->cmd->max_args]);
	return apply_globals(c, p);
}

int ctl_parse(struct ctl *c, int argc, char **argv)
{
	/* words are collected in argv itself: there are never more of them than have been read */
	struct parse p = { .c = c, .argc = argc, .argv = argv, .words = argv };
	int rc;

	memset(c, 0, sizeof(*c));
	rc = scan(&p);
	return rc < 0 ? finish(c, &p) : rc;
}
