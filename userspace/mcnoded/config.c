// SPDX-License-Identifier: MIT
/*
 * The configuration file is YAML: a mapping of the settings in the tables below. Every bad place is reported with
 * its line and value, not only the first; unknown and repeated settings are bad.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "addr.h"
#include "mctext.h"

struct reader {
	const char *path;
	yaml_document_t doc;
	struct nd_config *cfg;
	nd_complain_fn complain;
	void *arg;
	int bad;
	bool has_cluster;
};

/* A setting: its name and what to do with its value; @to is the object the mapping describes. */
struct setting {
	const char *name;
	void (*set)(struct reader *r, yaml_node_t *v, void *to);
};

static void __attribute__((format(printf, 3, 4)))
bad(struct reader *r, const yaml_node_t *at, const char *fmt, ...)
{
	char words[512], line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (at)
		snprintf(line, sizeof(line), "%s:%zu: %s", r->path, at->start_mark.line + 1, words);
	else
		snprintf(line, sizeof(line), "%s: %s", r->path, words);
	r->complain(line, r->arg);
	r->bad++;
}

/* The text of a scalar, or NULL after a complaint. A NUL inside would hide what follows it. */
static const char *text_of(struct reader *r, yaml_node_t *v, const char *what)
{
	if (v->type != YAML_SCALAR_NODE) {
		bad(r, v, "%s: expected one value", what);
		return NULL;
	}
	if (strlen((char *)v->data.scalar.value) != v->data.scalar.length) {
		bad(r, v, "%s: value holds a NUL byte", what);
		return NULL;
	}
	return (char *)v->data.scalar.value;
}

static void copy_text(struct reader *r, yaml_node_t *v, const char *what, char *to, size_t size)
{
	const char *s = text_of(r, v, what);

	if (!s)
		return;
	if (!*s)
		bad(r, v, "%s: is empty", what);
	else if (strlen(s) >= size)
		bad(r, v, "%s: %zu bytes, at most %zu are allowed", what, strlen(s), size - 1);
	else
		strcpy(to, s);
}

static void number(struct reader *r, yaml_node_t *v, const char *what, uint64_t min, uint64_t max,
		   uint64_t *to)
{
	const char *s = text_of(r, v, what);

	if (s && !mct_u64_parse(s, min, max, to))
		bad(r, v, "%s: '%s' is not a number from %llu to %llu", what, s, (unsigned long long)min,
		    (unsigned long long)max);
}

static void walk(struct reader *r, yaml_node_t *map, const char *what, const struct setting *table,
		 size_t n, void *to)
{
	uint64_t seen = 0;

	if (map->type != YAML_MAPPING_NODE) {
		bad(r, map, "%s: expected settings (name: value)", what);
		return;
	}
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(&r->doc, p->key);
		const char *name = text_of(r, k, what);
		size_t i = 0;

		if (!name)
			continue;
		while (i < n && strcmp(table[i].name, name))
			i++;
		if (i == n)
			bad(r, k, "%s: unknown setting '%s'", what, name);
		else if (seen & 1ULL << i)
			bad(r, k, "%s: setting '%s' is given twice", what, name);
		else
			table[i].set(r, yaml_document_get_node(&r->doc, p->value), to);
		if (i < n)
			seen |= 1ULL << i;
	}
}

/* ---- rails ---- */

static void rail_device(struct reader *r, yaml_node_t *v, void *to)
{
	struct nd_rail_config *rail = to;

	copy_text(r, v, "rail device", rail->device, sizeof(rail->device));
}

static void rail_address(struct reader *r, yaml_node_t *v, void *to)
{
	struct nd_rail_config *rail = to;
	const char *s = text_of(r, v, "rail address");

	if (s && !mct_addr_parse(s, &rail->addr))
		bad(r, v, "rail address: '%s' is neither an IPv4 nor an IPv6 address", s);
}

static void rail_port(struct reader *r, yaml_node_t *v, void *to)
{
	struct nd_rail_config *rail = to;
	uint64_t port = rail->port;

	number(r, v, "rail port", 1, 65535, &port);
	rail->port = (uint16_t)port;
}

static const struct setting rail_settings[] = {
	{ "device", rail_device },
	{ "address", rail_address },
	{ "port", rail_port },
};

static void one_rail(struct reader *r, yaml_node_t *v)
{
	struct nd_config *cfg = r->cfg;
	struct nd_rail_config *rail;
	int before = r->bad;

	if (cfg->n_rails == ND_MAX_RAILS) {
		bad(r, v, "rails: more than %d", ND_MAX_RAILS);
		return;
	}
	rail = &cfg->rails[cfg->n_rails];
	rail->port = MC_DEFAULT_PORT;
	walk(r, v, "rail", rail_settings, sizeof(rail_settings) / sizeof(*rail_settings), rail);
	if (r->bad == before && !rail->device[0])
		bad(r, v, "rail: 'device' is missing");
	if (r->bad == before && !rail->addr.len)
		bad(r, v, "rail: 'address' is missing");
	for (size_t i = 0; i < cfg->n_rails && r->bad == before; i++)
		if (!strcmp(cfg->rails[i].device, rail->device) && cfg->rails[i].port == rail->port &&
		    !memcmp(&cfg->rails[i].addr, &rail->addr, sizeof(rail->addr)))
			bad(r, v, "rail: device '%s' is listed twice with the same address", rail->device);
	cfg->n_rails++;
}

static void set_rails(struct reader *r, yaml_node_t *v, void *to)
{
	(void)to;
	if (v->type != YAML_SEQUENCE_NODE) {
		bad(r, v, "rails: expected a list (- device: ...)");
		return;
	}
	for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++)
		one_rail(r, yaml_document_get_node(&r->doc, *i));
}

/* ---- pool ---- */

static void pool_name(struct reader *r, yaml_node_t *v, void *to)
{
	struct mcnl_pool *p = to;

	copy_text(r, v, "pool name", p->name, sizeof(p->name));
}

static void size_value(struct reader *r, yaml_node_t *v, const char *what, uint64_t *to)
{
	const char *s = text_of(r, v, what);

	if (s && !mct_size_parse(s, to))
		bad(r, v, "%s: '%s' is not a size (a number, with K, M, G or T behind it)", what, s);
}

static void pool_page_size(struct reader *r, yaml_node_t *v, void *to)
{
	struct mcnl_pool *p = to;
	uint64_t size = 4096;

	size_value(r, v, "pool page_size", &size);
	if (size != 4096 && size != 2097152)
		bad(r, v, "pool page_size: %llu, only 4K and 2M are possible", (unsigned long long)size);
	p->page_size = (uint32_t)size;
}

static void pool_size(struct reader *r, yaml_node_t *v, void *to)
{
	struct mcnl_pool *p = to;
	int before = r->bad;

	size_value(r, v, "pool size", &p->len);
	if (r->bad == before && !p->len)
		bad(r, v, "pool size: is 0");
}

static void pool_numa(struct reader *r, yaml_node_t *v, void *to)
{
	struct mcnl_pool *p = to;
	const char *s = text_of(r, v, "pool numa");
	uint64_t node;

	if (!s || !strcmp(s, "any") || !strcmp(s, "-1"))
		return;
	if (mct_u64_parse(s, 0, 1023, &node))
		p->numa = (int32_t)node;
	else
		bad(r, v, "pool numa: '%s' is neither 'any' nor a number from 0 to 1023", s);
}

static void pool_destroy(struct reader *r, yaml_node_t *v, void *to)
{
	const char *s = text_of(r, v, "pool destroy_on_exit");

	(void)to;
	if (!s)
		return;
	if (strcmp(s, "true") && strcmp(s, "false"))
		bad(r, v, "pool destroy_on_exit: '%s' is neither true nor false", s);
	r->cfg->destroy_pool = !strcmp(s, "true");
}

static const struct setting pool_settings[] = {
	{ "name", pool_name },
	{ "size", pool_size },
	{ "numa", pool_numa },
	{ "page_size", pool_page_size },
	{ "destroy_on_exit", pool_destroy },
};

static void set_pool(struct reader *r, yaml_node_t *v, void *to)
{
	struct mcnl_pool *p = &r->cfg->pool;
	int before = r->bad;

	(void)to;
	p->numa = -1;
	p->page_size = 4096;
	r->cfg->has_pool = true;
	walk(r, v, "pool", pool_settings, sizeof(pool_settings) / sizeof(*pool_settings), p);
	if (r->bad == before && !p->name[0])
		bad(r, v, "pool: 'name' is missing");
	if (r->bad == before && !p->len)
		bad(r, v, "pool: 'size' is missing");
	if (r->bad == before && p->len % p->page_size)
		bad(r, v, "pool size: %llu is not a multiple of the page size %u",
		    (unsigned long long)p->len, p->page_size);
}

/* ---- the node ---- */

static void set_master(struct reader *r, yaml_node_t *v, void *to)
{
	const char *s = text_of(r, v, "master");
	struct mc_error err;
	struct mc_addr addr;

	(void)to;
	if (!s)
		return;
	if (mc_addr_parse(s, 50051, 0, &addr, &err))
		bad(r, v, "master: %s", err.text);
	else
		copy_text(r, v, "master", r->cfg->master, sizeof(r->cfg->master));
}

static void set_name(struct reader *r, yaml_node_t *v, void *to)
{
	(void)to;
	copy_text(r, v, "name", r->cfg->name, sizeof(r->cfg->name));
}

static void set_uuid_file(struct reader *r, yaml_node_t *v, void *to)
{
	(void)to;
	copy_text(r, v, "uuid_file", r->cfg->uuid_file, sizeof(r->cfg->uuid_file));
}

static void set_cluster(struct reader *r, yaml_node_t *v, void *to)
{
	const char *s = text_of(r, v, "cluster");

	(void)to;
	r->has_cluster = true;
	if (s && (!mct_uuid_parse(s, r->cfg->cluster) || mct_uuid_is_zero(r->cfg->cluster)))
		bad(r, v, "cluster: '%s' is not a UUID", s);
}

static void set_auth(struct reader *r, yaml_node_t *v, void *to)
{
	const char *s = text_of(r, v, "auth");

	(void)to;
	if (!s)
		return;
	if (strcmp(s, "none") && strcmp(s, "key"))
		bad(r, v, "auth: '%s' is neither 'key' nor 'none'", s);
	r->cfg->auth_none = !strcmp(s, "none");
}

static void set_key_file(struct reader *r, yaml_node_t *v, void *to)
{
	(void)to;
	copy_text(r, v, "key_file", r->cfg->key_file, sizeof(r->cfg->key_file));
}

static void set_key_generation(struct reader *r, yaml_node_t *v, void *to)
{
	uint64_t gen = r->cfg->key_gen;

	(void)to;
	number(r, v, "key_generation", 1, UINT32_MAX, &gen);
	r->cfg->key_gen = (uint32_t)gen;
}

static const struct setting node_settings[] = {
	{ "master", set_master },
	{ "name", set_name },
	{ "uuid_file", set_uuid_file },
	{ "cluster", set_cluster },
	{ "auth", set_auth },
	{ "key_file", set_key_file },
	{ "key_generation", set_key_generation },
	{ "rails", set_rails },
	{ "pool", set_pool },
};

static void read_document(struct reader *r)
{
	yaml_node_t *root = yaml_document_get_root_node(&r->doc);

	if (!root) {
		bad(r, NULL, "is empty; 'master' and 'cluster' are needed");
		return;
	}
	walk(r, root, "file", node_settings, sizeof(node_settings) / sizeof(*node_settings), NULL);
	if (!r->bad && !r->cfg->master[0])
		bad(r, NULL, "'master' is missing");
	if (!r->bad && !r->has_cluster)
		bad(r, NULL, "'cluster' is missing");
}

static void parse(struct reader *r, FILE *f)
{
	yaml_parser_t p;

	if (!yaml_parser_initialize(&p)) {
		bad(r, NULL, "out of memory");
		return;
	}
	yaml_parser_set_input_file(&p, f);
	if (yaml_parser_load(&p, &r->doc)) {
		read_document(r);
		yaml_document_delete(&r->doc);
	} else {
		yaml_node_t at = { .start_mark = p.problem_mark };

		bad(r, &at, "not YAML: %s%s%s", p.problem ? p.problem : "unreadable",
		    p.context ? ", " : "", p.context ? p.context : "");
	}
	yaml_parser_delete(&p);
}

int nd_config_load(const char *path, struct nd_config *cfg, nd_complain_fn complain, void *arg)
{
	struct reader r = { .path = path, .cfg = cfg, .complain = complain, .arg = arg };
	FILE *f = fopen(path, "re");

	memset(cfg, 0, sizeof(*cfg));
	strcpy(cfg->uuid_file, ND_UUID_PATH);
	strcpy(cfg->key_file, ND_KEY_PATH);
	cfg->key_gen = 1;
	if (gethostname(cfg->name, sizeof(cfg->name) - 1))
		strcpy(cfg->name, "node");
	if (!f) {
		bad(&r, NULL, "%s", strerror(errno));
		return r.bad;
	}
	parse(&r, f);
	fclose(f);
	return r.bad;
}
