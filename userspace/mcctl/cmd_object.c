// SPDX-License-Identifier: MIT
/* object: put, get and look at objects by hand. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

/* Memory that can be pinned: pages of its own, not a piece of the heap. */
struct mem {
	void *p;
	size_t size;
};

static int mem_alloc(const struct ctl *c, struct mem *m, size_t size)
{
	m->size = size ? size : 1;
	m->p = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->p != MAP_FAILED)
		return MCT_EXIT_OK;
	m->p = NULL;
	return ctl_fail(c, MCT_EXIT_FAILED, "no memory for %zu bytes", size);
}

static void mem_free(struct mem *m)
{
	if (m->p)
		munmap(m->p, m->size);
	m->p = NULL;
}

static int mem_grow(const struct ctl *c, struct mem *m)
{
	void *p = mremap(m->p, m->size, 2 * m->size, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return ctl_fail(c, MCT_EXIT_FAILED, "no memory for %zu bytes", 2 * m->size);
	m->p = p;
	m->size *= 2;
	return MCT_EXIT_OK;
}

static int read_all(const struct ctl *c, int fd, const char *path, struct mem *m, size_t *len)
{
	*len = 0;
	for (;;) {
		ssize_t n;

		if (*len == m->size && mem_grow(c, m))
			return MCT_EXIT_FAILED;
		n = read(fd, (char *)m->p + *len, m->size - *len);
		if (n == 0)
			return MCT_EXIT_OK;
		if (n < 0)
			return ctl_fail(c, MCT_EXIT_FAILED, "'%s': %s", path, strerror(errno));
		*len += (size_t)n;
	}
}

static int check_value(const struct ctl *c, const char *path, uint64_t len)
{
	if (!len)
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is empty; a value has at least 1 byte", path);
	if (len > MC_STORE_MAX_VALUE)
		return ctl_fail(c, MCT_EXIT_USAGE, "'%s' has %llu bytes; a value has at most %llu", path,
				(unsigned long long)len, (unsigned long long)MC_STORE_MAX_VALUE);
	return MCT_EXIT_OK;
}

/* A file, or standard input for "-", into memory of its own. */
static int load_value(const struct ctl *c, const char *path, struct mem *m, size_t *len)
{
	bool in = !strcmp(path, "-");
	int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	int rc = MCT_EXIT_OK;

	if (fd < 0 || fstat(fd, &st))
		return ctl_fail(c, mct_exit_of_errno(errno), "'%s': %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		rc = check_value(c, path, (uint64_t)st.st_size);
	if (!rc)
		rc = mem_alloc(c, m, S_ISREG(st.st_mode) ? (size_t)st.st_size + 1 : 1 << 16);
	if (!rc)
		rc = read_all(c, fd, path, m, len);
	if (!rc)
		rc = check_value(c, path, *len);
	if (!in)
		close(fd);
	return rc;
}

static json_t *result_json(const char *key, const struct mc_result *res)
{
	json_t *o = json_pack("{so si ss sI}", "key", ctl_text(key, strlen(key)), "code", res->code, "name",
			      mc_strerror(res->code), "bytes", (json_int_t)res->bytes);

	if (!res->code) {
		json_object_set_new(o, "node_uuid", ctl_uuid(res->node_uuid));
		json_object_set_new(o, "segment_uuid", ctl_uuid(res->seg_uuid));
		json_object_set_new(o, "offset", json_integer((json_int_t)res->offset));
		json_object_set_new(o, "path", json_string(res->local ? "local" : "rdma"));
	}
	return o;
}

enum { P_SEGMENT, P_REPLICAS };

static const struct ctl_opt put_opts[] = {
	{ "segment", "NAME", "put into this segment while it has room" },
	{ "replicas", "N", "copies, each on a node of its own (default 1)" },
	{ NULL, NULL, NULL },
};

static int put_open(struct ctl *c, struct mc_store **out)
{
	const char *n = c->val[P_REPLICAS];
	struct mc_store_config cfg;
	struct mc_error err;
	char *end;

	ctl_store_config(c, true, &cfg);
	cfg.preferred_segments = &c->val[P_SEGMENT];
	cfg.preferred_count = c->val[P_SEGMENT] ? 1 : 0;
	if (n) {
		cfg.replica_num = strtoul(n, &end, 10);
		if (*end || !isdigit((unsigned char)*n) || !cfg.replica_num || cfg.replica_num > MC_STORE_MAX_REPLICAS)
			return ctl_fail(c, MCT_EXIT_USAGE, "--replicas '%s' is not a number from 1 to %u", n,
					MC_STORE_MAX_REPLICAS);
	}
	if (mc_store_open(&cfg, out, &err))
		return ctl_fail_store(c, &err);
	return MCT_EXIT_OK;
}

static int object_put(struct ctl *c)
{
	struct mem m = { 0 };
	struct mc_store *store = NULL;
	struct mc_result res = { 0 };
	struct mc_error err;
	struct mc_buf *buf;
	size_t len;
	int rc = load_value(c, c->argv[1], &m, &len);

	if (!rc)
		rc = put_open(c, &store);
	if (!rc && mc_store_register(store, m.p, len, &buf, &err))
		rc = ctl_fail_store(c, &err);
	if (!rc && mc_store_put(store, c->argv[0], strlen(c->argv[0]), buf, 0, len, NULL, &res, &err))
		rc = ctl_fail_store(c, &err);
	mc_store_close(store);
	mem_free(&m);
	return rc ? rc : ctl_print(c, result_json(c->argv[0], &res));
}

/* ---- batch ---- */

struct batch {
	int n;
	struct mem *mem;
	struct mc_item *items;
	struct mc_piece *pieces;
};

static int batch_load(struct ctl *c, struct batch *b)
{
	int rc = MCT_EXIT_OK;

	b->n = c->argc;
	b->mem = calloc((size_t)b->n, sizeof(*b->mem));
	b->items = calloc((size_t)b->n, sizeof(*b->items));
	b->pieces = calloc((size_t)b->n, sizeof(*b->pieces));
	if (!b->mem || !b->items || !b->pieces)
		return ctl_fail(c, MCT_EXIT_FAILED, "no memory for %d items", b->n);
	for (int i = 0; i < b->n && !rc; i++) {
		char *eq = strrchr(c->argv[i], '=');
		size_t len;

		if (!eq || eq == c->argv[i])
			return ctl_fail(c, MCT_EXIT_USAGE, "'%s' is not of the form KEY=FILE", c->argv[i]);
		*eq = '\0';
		rc = load_value(c, eq + 1, &b->mem[i], &len);
		b->pieces[i].len = len;
		b->items[i].key = c->argv[i];
		b->items[i].key_len = strlen(c->argv[i]);
		b->items[i].pieces = &b->pieces[i];
		b->items[i].n_pieces = 1;
	}
	return rc;
}

static int batch_run(struct ctl *c, struct batch *b, struct mc_store *store)
{
	struct mc_error err;

	for (int i = 0; i < b->n; i++)
		if (mc_store_register(store, b->mem[i].p, b->pieces[i].len, &b->pieces[i].buf, &err))
			return ctl_fail_store(c, &err);
	if (mc_store_put_batch(store, b->items, (size_t)b->n, NULL, &err))
		return ctl_fail_store(c, &err);
	return MCT_EXIT_OK;
}

/* The results of the items are the answer, also when some of them failed. */
static int object_put_batch(struct ctl *c)
{
	struct mc_store *store = NULL;
	struct batch b = { 0 };
	json_t *list = json_array();
	bool ran = false;
	int rc = batch_load(c, &b);

	if (!rc)
		rc = put_open(c, &store);
	if (!rc) {
		rc = batch_run(c, &b, store);
		ran = true;
	}
	for (int i = 0; i < b.n && ran; i++) {
		ran = b.items[i].res.code || b.items[i].res.located;
		json_array_append_new(list, result_json(b.items[i].key, &b.items[i].res));
	}
	mc_store_close(store);
	for (int i = 0; i < b.n && b.mem; i++)
		mem_free(&b.mem[i]);
	free(b.mem);
	free(b.items);
	free(b.pieces);
	if (ran)
		ctl_print(c, list);
	else
		json_decref(list);
	return rc;
}

/* ---- reading ---- */

static int write_file(const struct ctl *c, const char *path, const void *p, size_t len)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;

	if (!f)
		return ctl_fail(c, mct_exit_of_errno(errno), "'%s': %s", path, strerror(errno));
	if (fwrite(p, 1, len, f) != len || fflush(f)) {
		ctl_fail(c, 0, "'%s': %s", path, strerror(errno));
		if (f != stdout)
			fclose(f);
		return MCT_EXIT_FAILED;
	}
	if (f != stdout && fclose(f))
		return ctl_fail(c, MCT_EXIT_FAILED, "'%s': %s", path, strerror(errno));
	return MCT_EXIT_OK;
}

static int fetch(struct ctl *c, struct mc_store *store, struct mem *m, struct mc_result *res)
{
	const char *key = c->argv[0];
	struct mc_object_stat st;
	struct mc_error err;
	struct mc_buf *buf;

	if (mc_store_stat(store, key, strlen(key), &st, NULL, &err))
		return ctl_fail_store(c, &err);
	if (mem_alloc(c, m, st.size))
		return MCT_EXIT_FAILED;
	if (mc_store_register(store, m->p, m->size, &buf, &err) ||
	    mc_store_get(store, key, strlen(key), buf, 0, m->size, NULL, res, &err))
		return ctl_fail_store(c, &err);
	return MCT_EXIT_OK;
}

static int map_ended(const struct ctl *c, int error)
{
	struct mc_error err;

	if (error == -ETIME)
		mc_error_set(&err, MC_ELEASE_EXPIRED, 0, "map '%s': its lease ended while it was read", c->argv[0]);
	else
		mc_error_set(&err, MC_ETRANSFER_FAIL, -error, "map '%s': its pool went away while it was read",
			     c->argv[0]);
	return ctl_fail_store(c, &err);
}

/* Through a mapping of the pool's pages; the copy counts if the lease lasted. */
static int fetch_map(struct ctl *c, struct mc_store *store, struct mem *m, struct mc_result *res)
{
	const char *key = c->argv[0];
	struct mc_error err;
	struct mc_map map;
	int rc;

	if (mc_store_map(store, key, strlen(key), &map, NULL, &err))
		return ctl_fail_store(c, &err);
	rc = mem_alloc(c, m, map.len);
	if (!rc) {
		res->bytes = map.len;
		rc = ctl_copy_until(m->p, map.addr, map.len, map.until_ns);
		if (rc)
			rc = map_ended(c, rc);
	}
	mc_store_unmap(store, &map);
	return rc;
}

enum { G_MAP };

static const struct ctl_opt get_opts[] = {
	{ "map", NULL, "map the pool's own pages; fails when no replica is on this node" },
	{ NULL, NULL, NULL },
};

/* Nothing is written before all bytes are here and valid. */
static int object_get(struct ctl *c)
{
	const char *path = c->argc > 1 ? c->argv[1] : "-";
	struct mc_result res = { 0 };
	struct mc_store *store;
	struct mem m = { 0 };
	int rc = ctl_store_open(c, true, &store);

	if (rc)
		return rc;
	rc = c->val[G_MAP] ? fetch_map(c, store, &m, &res) : fetch(c, store, &m, &res);
	mc_store_close(store);
	if (!rc)
		rc = write_file(c, path, m.p, res.bytes);
	mem_free(&m);
	if (rc || !strcmp(path, "-"))
		return rc;
	if (c->val[G_MAP])
		return ctl_print(c, json_pack("{so sI ss}", "key", ctl_text(c->argv[0], strlen(c->argv[0])), "bytes",
					      (json_int_t)res.bytes, "path", "map"));
	return ctl_print(c, result_json(c->argv[0], &res));
}

static const char *replica_state(int state)
{
	static const char *const names[] = {
		"undefined", "initialized", "processing", "complete", "removed", "failed",
	};

	return state >= 0 && state <= MC_REPLICA_FAILED ? names[state] : "unknown";
}

static int object_stat(struct ctl *c)
{
	struct mc_object_stat st;
	struct mc_store *store;
	struct mc_error err;
	json_t *list;
	int rc = ctl_store_open(c, false, &store);

	if (rc)
		return rc;
	if (mc_store_stat(store, c->argv[0], strlen(c->argv[0]), &st, NULL, &err))
		rc = ctl_fail_store(c, &err);
	mc_store_close(store);
	if (rc)
		return rc;
	list = json_array();
	for (uint32_t i = 0; i < st.n_replicas; i++) {
		const struct mc_replica *r = &st.replicas[i];

		json_array_append_new(list, json_pack("{sI ss so so ss sI sI}", "id", (json_int_t)r->id, "state",
			replica_state(r->state), "node_uuid", ctl_uuid(r->node_uuid), "segment_uuid",
			ctl_uuid(r->seg_uuid), "segment", r->segment_name, "offset", (json_int_t)r->offset, "length",
			(json_int_t)r->length));
	}
	return ctl_print(c, json_pack("{so sI sI so}", "key", ctl_text(c->argv[0], strlen(c->argv[0])), "size",
		(json_int_t)st.size, "lease_ttl_ms", (json_int_t)st.lease_ttl_ms, "replicas", list));
}

static const struct ctl_opt ls_opts[] = {
	{ "limit", "N", "at most so many" },
	{ NULL, NULL, NULL },
};

static int list_one(void *arg, const struct mc_object_info *o)
{
	return json_array_append_new(arg, json_pack("{so sI si sb}", "key", ctl_text(o->key, o->key_len), "size",
		(json_int_t)o->size, "replicas", (int)o->replicas, "complete", o->complete));
}

static int object_ls(struct ctl *c)
{
	const char *prefix = c->argc ? c->argv[0] : "";
	struct mc_store *store;
	struct mc_error err;
	uint64_t limit = 0;
	json_t *list;
	int rc;

	if (c->val[0] && !mct_u64_parse(c->val[0], 1, UINT64_MAX, &limit))
		return ctl_fail(c, MCT_EXIT_USAGE, "--limit '%s' is not a number from 1 on", c->val[0]);
	rc = ctl_store_open(c, false, &store);
	if (rc)
		return rc;
	list = json_array();
	if (mc_store_list(store, prefix, strlen(prefix), limit, list_one, list, NULL, &err))
		rc = ctl_fail_store(c, &err);
	mc_store_close(store);
	if (!rc)
		return ctl_print(c, list);
	json_decref(list);
	return rc;
}

static const struct ctl_opt rm_opts[] = {
	{ "force", NULL, "even while readers hold a lease" },
	{ NULL, NULL, NULL },
};

static int object_rm(struct ctl *c)
{
	struct mc_store *store;
	struct mc_error err;
	int rc = ctl_store_open(c, false, &store), one;

	if (rc)
		return rc;
	for (int i = 0; i < c->argc; i++) {
		if (!mc_store_remove(store, c->argv[i], strlen(c->argv[i]), c->val[0], NULL, &err))
			continue;
		one = ctl_fail_store(c, &err);
		rc = rc ? rc : one;
		if (one == MCT_EXIT_UNREACHABLE)
			break;
	}
	mc_store_close(store);
	return rc;
}

static int object_exist(struct ctl *c)
{
	struct mc_store *store;
	struct mc_error err;
	bool exists = false;
	int rc = ctl_store_open(c, false, &store);

	if (rc)
		return rc;
	if (mc_store_exist(store, c->argv[0], strlen(c->argv[0]), &exists, NULL, &err))
		rc = ctl_fail_store(c, &err);
	mc_store_close(store);
	if (rc)
		return rc;
	ctl_print(c, json_pack("{so sb}", "key", ctl_text(c->argv[0], strlen(c->argv[0])), "exists", exists));
	return exists ? MCT_EXIT_OK : MCT_EXIT_NOT_FOUND;
}

const struct ctl_cmd ctl_object_cmds[] = {
	{ "object", "put", "KEY FILE|-", 2, 2, "store a file's bytes under a key", put_opts, object_put },
	{ "object", "put-batch", "KEY=FILE...", 1, 65536, "store several files; prints one result for each", put_opts,
	  object_put_batch },
	{ "object", "get", "KEY [FILE|-]", 1, 2, "read an object (default: to standard output)", get_opts, object_get },
	{ "object", "stat", "KEY", 1, 1, "size and replicas of an object", NULL, object_stat },
	{ "object", "ls", "[PREFIX]", 0, 1, "keys of the tenant, in order", ls_opts, object_ls },
	{ "object", "rm", "KEY...", 1, 65536, "remove objects", rm_opts, object_rm },
	{ "object", "exist", "KEY", 1, 1, "is there such an object? (exit status 0 or 3)", NULL, object_exist },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
