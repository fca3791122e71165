// SPDX-License-Identifier: MIT
#include "opts.h"

#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mctext.h"

#define DAY_MS	86400000ull

/* Settings in milliseconds: one table for defaults, ranges, --help and parsing. */
static const struct ms_flag {
	const char *name;
	size_t at;
	uint64_t value, min, max;
	const char *help;
} ms_flags[] = {
	{ "lease-ttl-ms", offsetof(struct mc_master_config, lease_ttl_ms), 10000, 1, DAY_MS,
	  "how long a look-up protects an object for its reader" },
	{ "put-discard-timeout-ms", offsetof(struct mc_master_config, discard_ms), 30000, 1, DAY_MS,
	  "after that another writer may take an unfinished write's key" },
	{ "put-release-timeout-ms", offsetof(struct mc_master_config, release_ms), 600000, 1, DAY_MS,
	  "after that an unfinished write's space is used again" },
	{ "client-ttl-ms", offsetof(struct mc_master_config, client_ttl_ms), 10000, 100, DAY_MS,
	  "a node not heard of for that long is gone with its segments" },
	{ "retry-bound-ms", offsetof(struct mc_master_config, retry_bound_ms), 2000, 0, DAY_MS,
	  "how long a transport may still deliver what was posted before" },
	{ "restart-rest-ms", offsetof(struct mc_master_config, restart_rest_ms), 33000, 0, DAY_MS,
	  "how long a segment rests that an earlier master may have handed out" },
};

#define NMS (sizeof(ms_flags) / sizeof(ms_flags[0]))

enum { OPT_LISTEN = 256, OPT_CLUSTER, OPT_LOG, OPT_PIDFILE, OPT_KEY, OPT_KEYGEN, OPT_HELP, OPT_VERSION, OPT_MS };

static const struct option plain[] = {
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "cluster-uuid", required_argument, NULL, OPT_CLUSTER },
	{ "log-level", required_argument, NULL, OPT_LOG },
	{ "pidfile", required_argument, NULL, OPT_PIDFILE },
	{ "key-file", required_argument, NULL, OPT_KEY },
	{ "key-generation", required_argument, NULL, OPT_KEYGEN },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
};

#define NPLAIN (sizeof(plain) / sizeof(plain[0]))

static void usage(void)
{
	size_t i;

	printf("Usage: mcmasterd [FLAGS]\n"
	       "The metadata master of Mooncake: gRPC, contract mooncake.proto.\n\n"
	       "  --listen ADDR[:PORT]            address to listen on: IPv4, [IPv6], or a network interface;\n"
	       "                                  may be given up to %u times (default 0.0.0.0:%u)\n"
	       "  --cluster-uuid UUID             refuse nodes of another cluster\n"
	       "  --log-level LEVEL               error, warn, info or debug (default info)\n"
	       "  --pidfile FILE                  write the process number there\n"
	       "  --key-file FILE                 cluster key: signs the grants under which pools are reached; read\n"
	       "                                  again on SIGHUP. Without it only nodes with auth none accept them\n"
	       "  --key-generation N              generation of the key when the file does not name it (default 1)\n",
	       MC_LISTEN_MAX, MC_MASTER_PORT);
	for (i = 0; i < NMS; i++)
		printf("  --%-29s %s\n                                  (%llu to %llu, default %llu)\n",
		       ms_flags[i].name, ms_flags[i].help, (unsigned long long)ms_flags[i].min,
		       (unsigned long long)ms_flags[i].max, (unsigned long long)ms_flags[i].value);
	printf("  --help                          show this\n"
	       "  --version                       show the version\n\n"
	       "Exit status: 0 after SIGTERM or SIGINT, %d when it can't run, %d for a wrong flag or address.\n",
	       MC_EXIT_RUN, MC_EXIT_USAGE);
}

static int bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "mcmasterd: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	return MC_EXIT_USAGE;
}

static uint64_t *ms_value(struct mc_opts *o, const struct ms_flag *f)
{
	return (uint64_t *)((char *)&o->master + f->at);
}

static int set_ms(struct mc_opts *o, const struct ms_flag *f, const char *text)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < f->min || v > f->max)
		return bad("--%s '%s': not a whole number of milliseconds from %llu to %llu", f->name, text,
			   (unsigned long long)f->min, (unsigned long long)f->max);
	*ms_value(o, f) = v;
	return -1;
}

static int add_listen(struct mc_opts *o, const char *text)
{
	struct mc_error err = { 0 };

	if (o->nlisten == MC_LISTEN_MAX)
		return bad("--listen '%s': more than %u addresses", text, MC_LISTEN_MAX);
	if (mc_addr_parse(text, MC_MASTER_PORT, MC_ADDR_LISTEN, &o->listen[o->nlisten], &err))
		return bad("--listen: %s", err.text);
	/* Where to listen is never a question for a resolver. */
	if (!o->listen[o->nlisten].numeric && !if_nametoindex(o->listen[o->nlisten].host))
		return bad("--listen '%s': '%s' is neither an IP address nor a network interface", text,
			   o->listen[o->nlisten].host);
	o->nlisten++;
	return -1;
}

static int set_cluster(struct mc_opts *o, const char *text)
{
	if (mc_uuid_parse(text, o->master.cluster_uuid))
		return bad("--cluster-uuid '%s': not a UUID of 32 hex digits", text);
	o->master.has_cluster_uuid = true;
	return -1;
}

static int set_key_generation(struct mc_opts *o, const char *text)
{
	uint64_t v;

	if (!mct_u64_parse(text, 1, UINT32_MAX, &v))
		return bad("--key-generation '%s': not a number from 1 to %u", text, UINT32_MAX);
	o->key_gen = v;
	return -1;
}

int mc_opts_key(const struct mc_opts *o, uint8_t *key, uint32_t *gen, char *err, size_t errlen)
{
	uint8_t fresh[MC_GRANT_KEY] = { 0 };
	uint32_t number = o->key_file ? o->key_gen : 0;
	int rc = o->key_file ? mct_key_load(o->key_file, fresh, &number, err, errlen) : 0;

	if (!rc) {
		memcpy(key, fresh, sizeof(fresh));
		*gen = number;
	}
	explicit_bzero(fresh, sizeof(fresh));
	return rc;
}

static int set(struct mc_opts *o, int opt, const char *text)
{
	switch (opt) {
	case OPT_LISTEN:
		return add_listen(o, text);
	case OPT_CLUSTER:
		return set_cluster(o, text);
	case OPT_LOG:
		if (mc_log_set(text))
			return bad("--log-level '%s': not error, warn, info or debug", text);
		return -1;
	case OPT_PIDFILE:
		o->pidfile = text;
		return -1;
	case OPT_KEY:
		o->key_file = text;
		return -1;
	case OPT_KEYGEN:
		return set_key_generation(o, text);
	case OPT_HELP:
		usage();
		return 0;
	case OPT_VERSION:
		printf("mcmasterd %s\n", MC_VERSION);
		return 0;
	}
	return set_ms(o, &ms_flags[opt - OPT_MS], text);
}

static void build_options(struct option *all)
{
	size_t i;

	memset(all, 0, (NPLAIN + NMS + 1) * sizeof(*all));
	memcpy(all, plain, sizeof(plain));
	for (i = 0; i < NMS; i++) {
		all[NPLAIN + i].name = ms_flags[i].name;
		all[NPLAIN + i].has_arg = required_argument;
		all[NPLAIN + i].val = OPT_MS + i;
	}
}

static int check(struct mc_opts *o)
{
	if (o->master.release_ms <= o->master.discard_ms)
		return bad("--put-release-timeout-ms %llu must be above --put-discard-timeout-ms %llu",
			   (unsigned long long)o->master.release_ms, (unsigned long long)o->master.discard_ms);
	return o->nlisten ? -1 : add_listen(o, "0.0.0.0");
}

int mc_opts_parse(struct mc_opts *o, int argc, char **argv)
{
	struct option all[NPLAIN + NMS + 1];
	bool seen[OPT_MS - OPT_LISTEN + NMS] = { false };
	int opt, status;
	size_t i;

	memset(o, 0, sizeof(*o));
	o->key_gen = 1;
	for (i = 0; i < NMS; i++)
		*ms_value(o, &ms_flags[i]) = ms_flags[i].value;
	build_options(all);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", all, NULL)) != -1) {
		if (opt == ':')
			return bad("%s needs a value", argv[optind - 1]);
		if (opt == '?')
			return bad("unknown flag '%s'; --help lists all", argv[optind - 1]);
		if (seen[opt - OPT_LISTEN] && opt != OPT_LISTEN)
			return bad("%s is given twice", argv[optind - 1]);
		seen[opt - OPT_LISTEN] = true;
		status = set(o, opt, optarg);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return bad("unexpected argument '%s'; --help lists all flags", argv[optind]);
	return check(o);
}
