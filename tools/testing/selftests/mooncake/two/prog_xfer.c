// SPDX-License-Identifier: MIT
/*
 * What the two-node tests do on a node, one verb a call; see usage(). Exit status: 0, or 1 with the reason on stderr.
 * Results of requests are printed, so that a test can compare them.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>

#include "mcdev.h"
#include "mcmem.h"
#include "mcnl.h"

static int usage(void)
{
	fprintf(stderr,
		"prog_xfer node UUID CLUSTER none|key\n"
		"prog_xfer key GEN HEX\n"
		"prog_xfer rail DEV ADDR [PORT]             prints the rail's id\n"
		"prog_xfer rail-auto DEV [INDEX]            the device's best address\n"
		"prog_xfer rail-gid DEV ADDR INDEX          insist on an entry of the GID table\n"
		"prog_xfer rail-set ID slice|tail|tos|sl VALUE, or ID NODE|PCI WEIGHT\n"
		"prog_xfer rail-del ID\n"
		"prog_xfer peer UUID ADDR [PORT]\n"
		"prog_xfer peer-rails UUID ID=ADDR...       a peer with several rails\n"
		"prog_xfer peer-del UUID\n"
		"prog_xfer pool NAME LEN                    prints the segment's UUID\n"
		"prog_xfer pool-destroy UUID\n"
		"prog_xfer fault NAME VALUE\n"
		"prog_xfer peers | rails | pools            one line each, name=value\n"
		"prog_xfer paths                            one line for each path of each peer\n"
		"prog_xfer open NODE SEG [MS]               prints result and length\n"
		"prog_xfer put|get NODE SEG OFF LEN SEED [MS [MISALIGN]]   one request; get verifies every byte\n"
		"prog_xfer now put|get NODE SEG LEN SEED MS COMMAND   open, run the command, then one request\n"
		"prog_xfer zero NODE SEG OFF LEN            reads and verifies that all bytes are 0\n"
		"prog_xfer under put|get NODE SEG LEN GRANT_LEN GRANT_MS RIGHTS   one request under a grant made for\n"
		"                                           it; RIGHTS is of r and w, or - for no grant at all\n"
		"prog_xfer load NODE SEG LEN SECONDS SEED   writes and reads back until an error or the time is over\n"
		"prog_xfer stream NODE SEG LEN COUNT SEED [RATE [MS]]   COUNT times write and read back, verified;\n"
		"                                           prints the slowest; RATE a second, MS deadline\n"
		"prog_xfer hold NODE SEG LEN                keeps a large READ in flight until it is killed\n");
	return 2;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "prog_xfer: %s: %s%s%s\n", what, strerror(-err), mcnl_error[0] ? ": " : "", mcnl_error);
	return 1;
}

static void uuid_print(const uint8_t *u)
{
	int i;

	for (i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static const char *err_name(int err)
{
	return err ? strerrorname_np(-err) : "OK";
}

static void put_addr(struct mcnl_msg *m, const char *addr, const char *port)
{
	uint8_t a[16];

	if (strchr(addr, ':')) {
		inet_pton(AF_INET6, addr, a);
		mcnl_put(m, MC_ATTR_ADDR, a, 16);
	} else {
		inet_pton(AF_INET, addr, a);
		mcnl_put(m, MC_ATTR_ADDR, a, 4);
	}
	if (port)
		mcnl_put_u16(m, MC_ATTR_PORT, (uint16_t)atoi(port));
}

static int do_node(char **v)
{
	struct mcnl_msg m;
	uint8_t u[16];

	mcnl_begin(&m, MC_CMD_NODE_SET);
	mc_uuid_parse(v[0], u);
	mcnl_put(&m, MC_ATTR_NODE_UUID, u, 16);
	mc_uuid_parse(v[1], u);
	mcnl_put(&m, MC_ATTR_CLUSTER_UUID, u, 16);
	mcnl_put_u32(&m, MC_ATTR_AUTH, strcmp(v[2], "none") ? MC_AUTH_KEY : MC_AUTH_NONE);
	return mcnl_call(&m);
}

static int do_key(char **v)
{
	struct mcnl_msg m;
	uint8_t key[MC_KEY_LEN];
	int i;

	memset(key, 0, sizeof(key));
	for (i = 0; i < MC_KEY_LEN && v[1][2 * i]; i++)
		if (sscanf(v[1] + 2 * i, "%2hhx", &key[i]) != 1)
			return -EINVAL;
	mcnl_begin(&m, MC_CMD_KEY_SET);
	mcnl_put_u32(&m, MC_ATTR_KEY_GEN, (uint32_t)atoi(v[0]));
	mcnl_put(&m, MC_ATTR_KEY, key, sizeof(key));
	return mcnl_call(&m);
}

static int do_rail(char **v)
{
	struct mcnl_msg m;
	uint32_t id = 0;
	int ret;

	mcnl_begin(&m, MC_CMD_RAIL_ADD);
	mcnl_put_str(&m, MC_ATTR_DEV_NAME, v[0]);
	put_addr(&m, v[1], v[2]);
	ret = mcnl_call(&m);
	if (!ret && mcnl_attr(&m, MC_ATTR_RAIL_ID, &id, 4) == 4)
		printf("%u\n", id);
	return ret;
}

static int rail_added(struct mcnl_msg *m)
{
	uint32_t id = 0;
	int ret = mcnl_call(m);

	if (!ret && mcnl_attr(m, MC_ATTR_RAIL_ID, &id, 4) == 4)
		printf("%u\n", id);
	return ret;
}

static int do_rail_auto(char **v)
{
	struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_RAIL_ADD);
	mcnl_put_str(&m, MC_ATTR_DEV_NAME, v[0]);
	if (v[1])
		mcnl_put_u32(&m, MC_ATTR_GID_INDEX, (uint32_t)atoi(v[1]));
	return rail_added(&m);
}

static int do_rail_gid(char **v)
{
	struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_RAIL_ADD);
	mcnl_put_str(&m, MC_ATTR_DEV_NAME, v[0]);
	put_addr(&m, v[1], NULL);
	mcnl_put_u32(&m, MC_ATTR_GID_INDEX, (uint32_t)atoi(v[2]));
	return rail_added(&m);
}

static int do_rail_set(char **v)
{
	static const struct { const char *name; int attr; } names[] = {
		{ "slice", MC_ATTR_SLICE_BYTES }, { "tail", MC_ATTR_TAIL_BYTES }, { "tos", MC_ATTR_TOS },
		{ "sl", MC_ATTR_SERVICE_LEVEL },
	};
	struct mcnl_msg m;
	unsigned int i;

	mcnl_begin(&m, MC_CMD_RAIL_SET);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, (uint32_t)atoi(v[0]));
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && strcmp(v[1], names[i].name); i++)
		;
	if (i < sizeof(names) / sizeof(names[0])) {
		mcnl_put_u32(&m, names[i].attr, (uint32_t)strtoul(v[2], NULL, 0));
	} else if (strchr(v[1], ':')) {
		mcnl_put_str(&m, MC_ATTR_PCI_DEVICE, v[1]);
		mcnl_put_u32(&m, MC_ATTR_WEIGHT, (uint32_t)atoi(v[2]));
	} else {
		mcnl_put_u32(&m, MC_ATTR_NUMA_NODE, (uint32_t)atoi(v[1]));
		mcnl_put_u32(&m, MC_ATTR_WEIGHT, (uint32_t)atoi(v[2]));
	}
	return mcnl_call(&m);
}

static int do_rail_del(char **v)
{
	struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_RAIL_DEL);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, (uint32_t)atoi(v[0]));
	return mcnl_call(&m);
}

static int do_peer(char **v)
{
	struct mcnl_msg m;
	uint8_t u[16];
	int all, one;

	mc_uuid_parse(v[0], u);
	mcnl_begin(&m, MC_CMD_PEER_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, u, 16);
	all = mcnl_nest(&m, MC_ATTR_RAILS);
	one = mcnl_nest(&m, MC_ATTR_RAIL);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, 1);
	put_addr(&m, v[1], v[2]);
	mcnl_nest_end(&m, one);
	mcnl_nest_end(&m, all);
	return mcnl_call(&m);
}

static int do_peer_rails(char **v)
{
	struct mcnl_msg m;
	uint8_t u[16];
	int all, one;
	char *eq;

	mc_uuid_parse(v[0], u);
	mcnl_begin(&m, MC_CMD_PEER_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, u, 16);
	all = mcnl_nest(&m, MC_ATTR_RAILS);
	while (*++v) {
		eq = strchr(*v, '=');
		if (!eq)
			return -EINVAL;
		one = mcnl_nest(&m, MC_ATTR_RAIL);
		mcnl_put_u32(&m, MC_ATTR_RAIL_ID, (uint32_t)atoi(*v));
		put_addr(&m, eq + 1, NULL);
		mcnl_nest_end(&m, one);
	}
	mcnl_nest_end(&m, all);
	return mcnl_call(&m);
}

static int do_uuid_cmd(int cmd, int attr, char **v)
{
	struct mcnl_msg m;
	uint8_t u[16];

	mc_uuid_parse(v[0], u);
	mcnl_begin(&m, cmd);
	mcnl_put(&m, attr, u, 16);
	return mcnl_call(&m);
}

static int do_peer_del(char **v)
{
	return do_uuid_cmd(MC_CMD_PEER_DEL, MC_ATTR_NODE_UUID, v);
}

static int do_pool_destroy(char **v)
{
	return do_uuid_cmd(MC_CMD_POOL_DESTROY, MC_ATTR_SEG_UUID, v);
}

static int do_pool(char **v)
{
	struct mcnl_msg m;
	uint8_t u[16];
	int ret;

	mcnl_begin(&m, MC_CMD_POOL_CREATE);
	mcnl_put_str(&m, MC_ATTR_NAME, v[0]);
	mcnl_put_u64(&m, MC_ATTR_LEN, strtoull(v[1], NULL, 0));
	ret = mcnl_call(&m);
	if (!ret && mcnl_attr(&m, MC_ATTR_SEG_UUID, u, 16) == 16) {
		uuid_print(u);
		printf("\n");
	}
	return ret;
}

static int do_fault(char **v)
{
	struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_FAULT_SET);
	mcnl_put_str(&m, MC_ATTR_NAME, v[0]);
	mcnl_put_u64(&m, MC_ATTR_VALUE, strtoull(v[1], NULL, 0));
	return mcnl_call(&m);
}

static void show(const struct nlmsghdr *h, void *arg)
{
	static const struct { int attr; const char *name; } nums[] = {
		{ MC_ATTR_RAIL_ID, "rail" }, { MC_ATTR_LEASES, "leases" }, { MC_ATTR_EPOCH, "epoch" },
		{ MC_ATTR_READ_BYTES, "read_bytes" }, { MC_ATTR_WRITE_BYTES, "write_bytes" },
		{ MC_ATTR_READ_OPS, "read_ops" },
		{ MC_ATTR_WRITE_OPS, "write_ops" }, { MC_ATTR_ERRORS, "errors" }, { MC_ATTR_RETRIES, "retries" },
		{ MC_ATTR_INFLIGHT, "inflight" }, { MC_ATTR_RECONNECTS, "reconnects" },
	};
	char text[256] = "";
	uint8_t u[16];
	unsigned int i;

	(void)arg;
	if (mcnl_get(h, MC_ATTR_NODE_UUID, u, 16) == 16) {
		printf("node=");
		uuid_print(u);
	}
	for (i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		uint64_t v = 0;

		if (mcnl_get(h, nums[i].attr, &v, 8) > 0)
			printf(" %s=%llu", nums[i].name, (unsigned long long)v);
	}
	if (mcnl_get(h, MC_ATTR_STATE, text, sizeof(text) - 1) > 0)
		printf(" state=%s", text);
	memset(text, 0, sizeof(text));
	if (mcnl_get(h, MC_ATTR_LAST_ERROR, text, sizeof(text) - 1) > 0)
		printf(" why=%s", text);
	printf("\n");
}

static int do_dump(int cmd)
{
	struct mcnl_msg m;
	int ret = mcnl_resolve();

	if (ret)
		return ret;
	mcnl_begin(&m, cmd);
	return mcnl_exchange(&m, mcnl_family, NLM_F_DUMP, show, NULL);
}

static uint64_t number_in(const struct nlattr *a, int type)
{
	const struct nlattr *n = mcnl_find_in((const char *)a + NLA_HDRLEN, a->nla_len - NLA_HDRLEN, type);
	uint64_t v = 0;

	if (n)
		memcpy(&v, (const char *)n + NLA_HDRLEN, (size_t)(n->nla_len - NLA_HDRLEN) & 15);
	return v;
}

static const char *text_in(const struct nlattr *a, int type)
{
	const struct nlattr *n = mcnl_find_in((const char *)a + NLA_HDRLEN, a->nla_len - NLA_HDRLEN, type);

	return n ? (const char *)n + NLA_HDRLEN : "";
}

static void show_path(const uint8_t *node, const struct nlattr *a)
{
	printf("node=");
	uuid_print(node);
	printf(" local=%u remote=%u state=%s epoch=%u attempts=%u unreachable=%u bw=%llu tos=%u mtu=%u depth=%u"
	       " retries=%u rnr_retries=%u why=%s\n", (unsigned int)number_in(a, MC_ATTR_LOCAL_RAIL_ID),
	       (unsigned int)number_in(a, MC_ATTR_RAIL_ID), text_in(a, MC_ATTR_STATE),
	       (unsigned int)number_in(a, MC_ATTR_EPOCH), (unsigned int)number_in(a, MC_ATTR_ATTEMPTS),
	       (unsigned int)number_in(a, MC_ATTR_UNREACHABLE),
	       (unsigned long long)number_in(a, MC_ATTR_BANDWIDTH), (unsigned int)number_in(a, MC_ATTR_TOS),
	       (unsigned int)number_in(a, MC_ATTR_MTU), (unsigned int)number_in(a, MC_ATTR_READ_DEPTH),
	       (unsigned int)number_in(a, MC_ATTR_RETRY_COUNT), (unsigned int)number_in(a, MC_ATTR_RNR_RETRY_COUNT),
	       text_in(a, MC_ATTR_LAST_ERROR));
}

static void show_paths(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *all = mcnl_find(h, MC_ATTR_PATHS), *a;
	uint8_t node[16] = { 0 };
	int left;

	(void)arg;
	mcnl_get(h, MC_ATTR_NODE_UUID, node, 16);
	if (!all)
		return;
	left = all->nla_len - NLA_HDRLEN;
	for (a = (const void *)((const char *)all + NLA_HDRLEN); left >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN;
	     left -= NLA_ALIGN(a->nla_len), a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len)))
		show_path(node, a);
}

static int do_paths(char **v)
{
	struct mcnl_msg m;
	int ret = mcnl_resolve();

	(void)v;
	if (ret)
		return ret;
	mcnl_begin(&m, MC_CMD_PEER_GET);
	return mcnl_exchange(&m, mcnl_family, NLM_F_DUMP, show_paths, NULL);
}

static int do_peers(char **v)
{
	(void)v;
	return do_dump(MC_CMD_PEER_GET);
}

static int do_rails(char **v)
{
	(void)v;
	return do_dump(MC_CMD_RAIL_GET);
}

static int do_pools(char **v)
{
	(void)v;
	return do_dump(MC_CMD_POOL_GET);
}

/**
 * struct job - an open device with a segment and a buffer
 * @d: device
 * @seg: handle
 * @mem: whole allocation
 * @p: the buffer in it
 * @len: its bytes
 * @buf: handle
 */
struct job {
	struct mcdev d;
	uint32_t seg;
	uint8_t *mem;
	uint8_t *p;
	uint64_t len;
	uint32_t buf;
};

/* MC_MEM in the environment names a kind of mcmem.h. */
static void *buffer(uint64_t len)
{
	const char *kind = getenv("MC_MEM");
	void *p;

	if (!kind)
		return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mcmem_alloc(len, kind);
	return p ? p : MAP_FAILED;
}

static int job_start(struct job *j, char **v, uint64_t len, uint64_t ms, unsigned int misalign)
{
	uint8_t node[16], seg[16];
	uint64_t seg_len;
	int ret;

	mc_uuid_parse(v[0], node);
	mc_uuid_parse(v[1], seg);
	ret = mcdev_open(&j->d, 64, 64);
	if (ret)
		return fail("device", ret);
	ret = mcdev_seg_open(j->d.fd, node, seg, ms * 1000000, &j->seg, &seg_len);
	if (ret) {
		printf("open %s\n", err_name(ret));
		return fail("open", ret);
	}
	j->mem = buffer(len + 8192);
	if (j->mem == MAP_FAILED)
		return fail("mmap", -errno);
	j->p = j->mem + misalign;
	j->len = len;
	ret = mcdev_reg(j->d.fd, j->p, len, &j->buf);
	return ret ? fail("register", ret) : 0;
}

static void print_cqe(const char *what, const struct mc_cqe *c)
{
	printf("%s %s bytes=%llu fail_off=%lld flags=%u rail=%u\n", what, err_name(c->result),
	       (unsigned long long)c->bytes,
	       (long long)c->fail_off, c->flags, c->rail);
	fflush(stdout);
}

static int request(struct job *j, uint8_t op, uint64_t off, uint64_t len, uint64_t ms, const char *what)
{
	struct mc_sqe e = mcdev_sqe(op, j->buf, 0, j->seg, off, len, 1);
	struct timespec t0, t1;
	struct mc_cqe c = { 0 };
	int ret;

	e.timeout_ns = ms * 1000000;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	ret = mcdev_do(&j->d, &e, 600 * SEC, &c);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (what) {
		printf("ms=%lld ", (long long)(t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000);
		print_cqe(what, &c);
	}
	return ret;
}

static int64_t differs(const uint8_t *a, const uint8_t *b, uint64_t len)
{
	uint64_t i;

	if (!memcmp(a, b, len))
		return -1;
	for (i = 0; a[i] == b[i]; i++)
		;
	return (int64_t)i;
}

/* The guard bytes before and after the buffer must not change. */
static int check(struct job *j, uint64_t len, uint64_t seed, unsigned int misalign)
{
	uint8_t *want = malloc(len);
	int64_t at;
	uint64_t i;

	mc_fill(want, len, seed);
	at = differs(j->p, want, len);
	if (at >= 0) {
		printf("wrong byte at %lld: %02x instead of %02x\n", (long long)at, j->p[at], want[at]);
		return 1;
	}
	free(want);
	for (i = 0; i < misalign; i++)
		if (j->mem[i] != 0xa5) {
			printf("guard byte %llu before the buffer changed\n", (unsigned long long)i);
			return 1;
		}
	for (i = len + misalign; i < len + 8192; i++)
		if (j->mem[i] != 0xa5) {
			printf("guard byte %llu after the buffer changed\n", (unsigned long long)(i - len - misalign));
			return 1;
		}
	return 0;
}

static int transfer(char **v, bool put)
{
	uint64_t off = strtoull(v[2], NULL, 0), len = strtoull(v[3], NULL, 0), seed = strtoull(v[4], NULL, 0);
	uint64_t ms = v[5] ? strtoull(v[5], NULL, 0) : 30000ull * (uint64_t)mcdev_scale();
	unsigned int misalign = v[5] && v[6] ? (unsigned int)atoi(v[6]) : 0;
	struct job j;
	int ret = job_start(&j, v, len, ms, misalign);

	if (ret)
		return ret;
	memset(j.mem, 0xa5, len + 8192);
	if (put)
		mc_fill(j.p, len, seed);
	ret = request(&j, put ? MC_OP_WRITE : MC_OP_READ, off, len, ms, put ? "put" : "get");
	if (ret)
		return fail(put ? "put" : "get", ret);
	return put ? 0 : check(&j, len, seed, misalign);
}

static int do_put(char **v)
{
	return transfer(v, true);
}

static int do_get(char **v)
{
	return transfer(v, false);
}

static int do_open(char **v)
{
	uint8_t node[16], seg[16];
	uint64_t len = 0;
	uint32_t id;
	int fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return fail("device", -errno);
	mc_uuid_parse(v[0], node);
	mc_uuid_parse(v[1], seg);
	ret = mcdev_seg_open(fd, node, seg, (v[2] ? strtoull(v[2], NULL, 0) : 10000) * 1000000, &id, &len);
	printf("open %s len=%llu\n", err_name(ret), (unsigned long long)(ret ? 0 : len));
	return ret ? 1 : 0;
}

/* The command runs between opening and the request: it breaks the network, and what is tested is the request alone. */
static int do_now(char **v)
{
	bool put = !strcmp(v[0], "put");
	uint64_t len = strtoull(v[3], NULL, 0), ms = strtoull(v[5], NULL, 0);
	struct job j;
	int ret = job_start(&j, v + 1, len, 30000, 0);

	if (ret)
		return ret;
	if (put)
		mc_fill(j.p, len, strtoull(v[4], NULL, 0));
	if (system(v[6]))
		return fail(v[6], -EIO);
	ret = request(&j, put ? MC_OP_WRITE : MC_OP_READ, 0, len, ms, v[0]);
	return ret ? fail(v[0], ret) : 0;
}

static int do_zero(char **v)
{
	uint64_t off = strtoull(v[2], NULL, 0), len = strtoull(v[3], NULL, 0), i;
	struct job j;
	int ret = job_start(&j, v, len, 30000, 0);

	if (ret)
		return ret;
	memset(j.p, 0xa5, len);
	ret = request(&j, MC_OP_READ, off, len, 30000, "zero");
	for (i = 0; !ret && i < len; i++) {
		if (j.p[i]) {
			printf("byte %llu is %02x, not 0\n", (unsigned long long)i, j.p[i]);
			return 1;
		}
	}
	return ret ? fail("zero", ret) : 0;
}

static int do_under(char **v)
{
	bool put = !strcmp(v[0], "put");
	uint64_t len = strtoull(v[3], NULL, 0);
	struct mc_grant g;
	uint8_t seg[16];
	struct job j;
	struct mc_sqe e;
	struct mc_cqe c;
	int ret;

	mcdev_grants(false);
	ret = job_start(&j, v + 1, len, 30000, 0);
	if (ret)
		return ret;
	mc_uuid_parse(v[2], seg);
	e = mcdev_sqe(put ? MC_OP_WRITE : MC_OP_READ, j.buf, 0, j.seg, 0, len, 1);
	memset(j.p, 0xa5, len);
	ret = mcgrant_make(&g, seg, strtoull(v[4], NULL, 0), (strchr(v[6], 'r') ? MC_GRANT_R : 0) |
			   (strchr(v[6], 'w') ? MC_GRANT_W : 0));
	g.not_after += strtoull(v[5], NULL, 0) * 1000000 - MCGRANT_HOUR;
	if (!ret && *v[6] != '-')
		ret = mcgrant_add(j.d.fd, &g, &e.grant_id);
	if (ret) {
		printf("grant %s\n", err_name(ret));
		return 1;
	}
	ret = mcdev_do(&j.d, &e, 60 * SEC, &c);
	print_cqe(v[0], &c);
	return ret ? 1 : 0;
}

/* A job whose memory is marked; the test waits for the word. */
static int job_begin(struct job *j, char **v, uint64_t len)
{
	int ret = job_start(j, v, len, 30000, 0);

	if (ret)
		return ret;
	memset(j->mem, 0xa5, len + 8192);
	printf("started\n");
	fflush(stdout);
	return 0;
}

static int do_load(char **v)
{
	uint64_t len = strtoull(v[2], NULL, 0), seed = strtoull(v[4], NULL, 0);
	uint64_t end = mcgrant_boot() + (uint64_t)atoi(v[3]) * SEC;
	unsigned int rounds = 0;
	struct job j;
	int ret = job_begin(&j, v, len);

	if (ret)
		return ret;
	while (mcgrant_boot() < end) {
		mc_fill(j.p, len, seed + rounds);
		ret = request(&j, MC_OP_WRITE, 0, len, 300000, NULL);
		if (ret)
			break;
		memset(j.p, 0x5a, len);
		ret = request(&j, MC_OP_READ, 0, len, 300000, NULL);
		if (ret)
			break;
		if (check(&j, len, seed + rounds, 0))
			return 1;
		rounds++;
	}
	printf("rounds=%u end=%s\n", rounds, err_name(ret));
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* One WRITE and one READ of a round, both timed; every byte that comes back is looked at. */
static int round_trip(struct job *j, uint64_t off, uint64_t seed, uint64_t ms, uint64_t *slowest)
{
	uint64_t t0 = now_ms(), t1;
	int ret;

	mc_fill(j->p, j->len, seed);
	t0 = now_ms();
	ret = request(j, MC_OP_WRITE, off, j->len, ms, NULL);
	if (ret)
		return ret;
	t1 = now_ms();
	*slowest = t1 - t0 > *slowest ? t1 - t0 : *slowest;
	memset(j->p, 0x5a, j->len);
	t0 = now_ms();
	ret = request(j, MC_OP_READ, off, j->len, ms, NULL);
	t1 = now_ms();
	*slowest = t1 - t0 > *slowest ? t1 - t0 : *slowest;
	return ret;
}

static int do_stream(char **v)
{
	uint64_t len = strtoull(v[2], NULL, 0), count = strtoull(v[3], NULL, 0), seed = strtoull(v[4], NULL, 0);
	uint64_t rate = v[5] ? strtoull(v[5], NULL, 0) : 0, ms = v[5] && v[6] ? strtoull(v[6], NULL, 0) : 60000;
	uint64_t i, failed = 0, slowest = 0, start, due;
	struct job j;
	int ret = job_begin(&j, v, len);

	if (ret)
		return ret;
	start = now_ms();
	for (i = 0; i < count; i++) {
		due = start + (rate ? i * 1000 / rate : 0);
		if (due > now_ms())
			usleep((useconds_t)(due - now_ms()) * 1000);
		ret = round_trip(&j, 0, seed + i, ms, &slowest);
		if (ret) {
			printf("round %llu: %s\n", (unsigned long long)i, err_name(ret));
			failed++;
		} else if (check(&j, len, seed + i, 0)) {
			printf("round %llu: wrong bytes\n", (unsigned long long)i);
			return 1;
		}
		if (i % 10 == 0) {
			printf("at=%llu\n", (unsigned long long)i);
			fflush(stdout);
		}
	}
	printf("rounds=%llu failed=%llu slowest=%llu wrong=0\n", (unsigned long long)count, (unsigned long long)failed,
	       (unsigned long long)slowest);
	return failed ? 1 : 0;
}

static int do_hold(char **v)
{
	uint64_t len = strtoull(v[2], NULL, 0);
	struct job j;
	struct mc_sqe e;
	struct mc_cqe c;
	int ret = job_start(&j, v, len, 30000, 0);

	if (ret)
		return ret;
	printf("started\n");
	fflush(stdout);
	for (;;) {
		e = mcdev_sqe(MC_OP_READ, j.buf, 0, j.seg, 0, len, 1);
		mcdev_push(&j.d, &e);
		mcdev_enter(&j.d, 1, 1, 60 * SEC, NULL);
		mcdev_pop(&j.d, &c);
	}
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int args; int (*fn)(char **v); bool own_message; } verbs[] = {
		{ "node", 3, do_node, false }, { "key", 2, do_key, false }, { "rail", 2, do_rail, false },
		{ "rail-auto", 1, do_rail_auto, false }, { "rail-gid", 3, do_rail_gid, false },
		{ "rail-set", 3, do_rail_set, false }, { "rail-del", 1, do_rail_del, false },
		{ "peer", 2, do_peer, false },
		{ "peer-rails", 2, do_peer_rails, false }, { "paths", 0, do_paths, false },
		{ "stream", 5, do_stream, true },
		{ "peer-del", 1, do_peer_del, false },
		{ "pool", 2, do_pool, false }, { "pool-destroy", 1, do_pool_destroy, false },
		{ "fault", 2, do_fault, false },
		{ "peers", 0, do_peers, false }, { "rails", 0, do_rails, false }, { "pools", 0, do_pools, false },
		{ "open", 2, do_open, true }, { "put", 5, do_put, true }, { "get", 5, do_get, true },
		{ "now", 7, do_now, true }, { "under", 7, do_under, true },
		{ "zero", 4, do_zero, true }, { "load", 5, do_load, true }, { "hold", 3, do_hold, true },
	};
	unsigned int i;
	int ret;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		if (argc - 2 < verbs[i].args)
			return usage();
		ret = verbs[i].fn(argv + 2);
		return verbs[i].own_message || !ret ? ret : fail(argv[1], ret);
	}
	return usage();
}
