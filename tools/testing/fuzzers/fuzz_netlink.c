// SPDX-License-Identifier: MIT
/*
 * Every command of the netlink family with every attribute: valid, missing, twice, too short, too long, of another
 * type, nested wrongly, in messages that are cut off or lie about their length; as root and as nobody, who must not
 * change anything. Afterwards everything that was made is taken away and the counts are zero.
 */
#include <dirent.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>

#include "fuzz.h"
#include "mcdev.h"
#include "mcnl.h"

#define SLICE 1000

static const uint8_t node_uuid[16] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 1, 2, 3, 4, 5, 6, 7 };
static const uint8_t cluster[16] = { 9 };

enum kind { NONE, U16, U32, S32, U64, UUID, BIN32, NAME, DEV, ADDR, NEST_RAILS, RAILID, SEGID, SIZE, HOOK, ZERO64,
	    SMALL, SLICE_SIZE, PCI };

/* What a valid value of each attribute looks like; others are numbers or bytes. */
static const uint8_t kinds[MC_ATTR_MAX + 1] = {
	[MC_ATTR_NODE_UUID] = UUID, [MC_ATTR_INSTANCE] = U64, [MC_ATTR_CLUSTER_UUID] = UUID, [MC_ATTR_AUTH] = U32,
	[MC_ATTR_KEY_GEN] = U32, [MC_ATTR_KEY] = BIN32, [MC_ATTR_CLOCK_EPOCH] = U64, [MC_ATTR_CLOCK_OFFSET] = U64,
	[MC_ATTR_CLOCK_ERROR] = U64, [MC_ATTR_CLOCK_AGE] = U64, [MC_ATTR_RAIL_ID] = RAILID, [MC_ATTR_DEV_NAME] = DEV,
	[MC_ATTR_ADDR] = ADDR, [MC_ATTR_PORT] = U16, [MC_ATTR_STATE] = NAME, [MC_ATTR_RAILS] = NEST_RAILS,
	[MC_ATTR_RAIL] = NEST_RAILS, [MC_ATTR_EPOCH] = U64, [MC_ATTR_SEG_UUID] = SEGID, [MC_ATTR_NAME] = NAME,
	[MC_ATTR_LEN] = SIZE, [MC_ATTR_NUMA_NODE] = S32, [MC_ATTR_PAGE_SIZE] = U32, [MC_ATTR_VALUE] = ZERO64,
	[MC_ATTR_SLICE_BYTES] = SLICE_SIZE, [MC_ATTR_TAIL_BYTES] = SLICE_SIZE, [MC_ATTR_TOS] = SMALL,
	[MC_ATTR_SERVICE_LEVEL] = SMALL, [MC_ATTR_WEIGHT] = SMALL, [MC_ATTR_PCI_DEVICE] = PCI,
};

struct command {
	uint8_t cmd;
	uint8_t attrs[8];
	bool dump;
	bool harmless;	/* anybody may */
};

static const struct command commands[] = {
	{ MC_CMD_INFO_GET, { 0 }, false, true },
	{ MC_CMD_NODE_SET, { MC_ATTR_NODE_UUID, MC_ATTR_CLUSTER_UUID, MC_ATTR_AUTH }, false, false },
	{ MC_CMD_KEY_SET, { MC_ATTR_KEY_GEN, MC_ATTR_KEY }, false, false },
	{ MC_CMD_CLOCK_SET, { MC_ATTR_CLOCK_EPOCH, MC_ATTR_CLOCK_OFFSET, MC_ATTR_CLOCK_ERROR }, false, false },
	{ MC_CMD_RAIL_ADD, { MC_ATTR_DEV_NAME, MC_ATTR_ADDR, MC_ATTR_PORT }, false, false },
	{ MC_CMD_RAIL_DEL, { MC_ATTR_RAIL_ID }, false, false },
	{ MC_CMD_RAIL_GET, { 0 }, true, true },
	{ MC_CMD_PEER_SET, { MC_ATTR_NODE_UUID, MC_ATTR_RAILS }, false, false },
	{ MC_CMD_PEER_DEL, { MC_ATTR_NODE_UUID }, false, false },
	{ MC_CMD_PEER_GET, { 0 }, true, true },
	{ MC_CMD_POOL_CREATE, { MC_ATTR_NAME, MC_ATTR_LEN, MC_ATTR_NUMA_NODE, MC_ATTR_PAGE_SIZE }, false, false },
	{ MC_CMD_POOL_DESTROY, { MC_ATTR_SEG_UUID }, false, false },
	{ MC_CMD_POOL_GET, { 0 }, true, true },
	{ MC_CMD_BUF_GET, { 0 }, true, true },
	{ MC_CMD_CLIENT_GET, { 0 }, true, true },
	{ MC_CMD_FAULT_SET, { MC_ATTR_NAME, MC_ATTR_VALUE }, false, false },
	{ MC_CMD_STAT_GET, { 0 }, true, true },
	{ MC_CMD_RAIL_SET, { MC_ATTR_RAIL_ID, MC_ATTR_SLICE_BYTES, MC_ATTR_TAIL_BYTES, MC_ATTR_TOS,
			     MC_ATTR_SERVICE_LEVEL, MC_ATTR_WEIGHT, MC_ATTR_NUMA_NODE }, false, false },
	{ MC_CMD_RAIL_SET, { MC_ATTR_RAIL_ID, MC_ATTR_PCI_DEVICE, MC_ATTR_WEIGHT }, false, false },
	{ MC_CMD_SEG_GET, { 0 }, true, true },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

struct board {
	volatile uint64_t op;
	uint8_t pools[8][16];
	volatile uint32_t rail;		/* the last one that was added */
	volatile uint64_t done[256];
	volatile int privilege;	/* a command that nobody got through, 0: none */
};

static struct fuzz_opt opt;
static struct board *board;
static bool root;
static struct mcnl_msg msg;

/* ---- values ---- */

static int number(struct fuzz_rng *r, uint8_t *out, int size, uint64_t valid)
{
	uint64_t v = chance(r, 15) ? edge(r) : valid;

	memcpy(out, &v, (size_t)size);
	return size;
}

static int bytes(struct fuzz_rng *r, uint8_t *out, const void *data, int len)
{
	memcpy(out, data, (size_t)len);
	if (chance(r, 10))
		mutate(r, out, (size_t)len);
	return len;
}

static int an_address(struct fuzz_rng *r, uint8_t *out)
{
	uint8_t a[16] = { 10, 77, 0, 1 };

	if (chance(r, 40))
		a[3] = (uint8_t)(200 + pick(r, 50));
	if (chance(r, 80))
		return bytes(r, out, a, 4);
	memset(a, 0, sizeof(a));
	a[0] = 0xfd;
	a[1] = 0x77;
	a[15] = (uint8_t)pick(r, 4);
	return bytes(r, out, a, 16);
}

static int a_name(struct fuzz_rng *r, uint8_t *out)
{
	int len = chance(r, 80) ? 2 : (int)pick(r, 300);

	memset(out, 'a', (size_t)len + 1);
	out[0] = (uint8_t)(chance(r, 90) ? 'a' + pick(r, 8) : rnd(r));
	if (chance(r, 10))
		mutate(r, out, (size_t)len + 1);
	else
		out[len] = 0;
	return len + 1;
}

/* Small enough that a thousand of them don't fill the machine, or absurd. */
static uint64_t a_size(struct fuzz_rng *r)
{
	uint64_t v = chance(r, 80) ? 4096ull * (1 + pick(r, 64)) : edge(r);

	return v > 16ull << 20 && v < 1ull << 40 ? v | 1ull << 40 : v;
}

static int an_uuid(struct fuzz_rng *r, uint8_t *out)
{
	uint8_t u[16] = { 0x44, 0, 1 };

	u[1] = (uint8_t)pick(r, 6);
	return bytes(r, out, chance(r, 20) ? node_uuid : u, 16);
}

/* Names of hooks that exist would change what the machine does from here on; with value 0 they are harmless. */
static int value(struct fuzz_rng *r, enum kind kind, uint8_t *out)
{
	static const uint8_t key[32] = "fuzz";

	switch (kind) {
	case U16: return number(r, out, 2, 50060 + pick(r, 3));
	case U32: return number(r, out, 4, chance(r, 50) ? pick(r, 4) : 4096);
	case S32: return number(r, out, 4, pick(r, 3) - 1);
	case RAILID: return number(r, out, 4, chance(r, 60) ? board->rail : 1 + pick(r, 40));
	case U64: return number(r, out, 8, pick(r, 1000));
	case SMALL: return number(r, out, 4, pick(r, 20));
	case SLICE_SIZE: return number(r, out, 4, 4096u * (1 + pick(r, 4096)));
	case ZERO64: return number(r, out, 8, 0);
	case SIZE: memcpy(out, &(uint64_t){ a_size(r) }, 8); return 8;
	case UUID: return an_uuid(r, out);
	case SEGID: return bytes(r, out, board->pools[pick(r, 8)], 16);
	case BIN32: return bytes(r, out, key, 32);
	case DEV: return bytes(r, out, "rxe0", 5);
	case ADDR: return an_address(r, out);
	case PCI: return bytes(r, out, pick(r, 2) ? "0000:00:00.0" : "0000:00:01.0", 13);
	case NAME: return a_name(r, out);
	default: return number(r, out, 4, rnd(r));
	}
}

static bool room(int len) { return msg.len + len + 64 < (int)sizeof(msg.buf); }

/* The attribute that is put last may get a wrong length or type. */
static void spoil(struct fuzz_rng *r, int at)
{
	struct nlattr *a = (struct nlattr *)(msg.buf + at);

	switch (pick(r, 5)) {
	case 0: a->nla_len = (uint16_t)edge(r); break;
	case 1: a->nla_len = (uint16_t)(a->nla_len + pick(r, 5) - 2); break;
	case 2: a->nla_type = (uint16_t)edge(r); break;
	case 3: a->nla_type ^= NLA_F_NESTED; break;
	default: a->nla_type ^= NLA_F_NET_BYTEORDER; break;
	}
}

static void put(struct fuzz_rng *r, int attr, int depth);

static void put_nest(struct fuzz_rng *r, int attr, int depth)
{
	int mark, n = (int)pick(r, chance(r, 90) ? 4 : 40);

	mark = mcnl_nest(&msg, attr);
	while (n-- && room(512) && depth < 20) {
		if (attr == MC_ATTR_RAILS || chance(r, 5)) {
			put(r, MC_ATTR_RAIL, depth + 1);
		} else {
			put(r, MC_ATTR_ADDR, depth + 1);
			put(r, chance(r, 50) ? MC_ATTR_PORT : MC_ATTR_RAIL_ID, depth + 1);
			break;
		}
	}
	mcnl_nest_end(&msg, mark);
}

static void put(struct fuzz_rng *r, int attr, int depth)
{
	uint8_t data[4096] = { 0 };
	int at = msg.len, len;
	enum kind kind = attr <= MC_ATTR_MAX ? kinds[attr] : NONE;

	if (!room(sizeof(data)))
		return;
	if (kind == NEST_RAILS) {
		put_nest(r, attr, depth);
	} else {
		len = value(r, kind, data);
		if (chance(r, 4))
			len = (int)pick(r, chance(r, 50) ? 8 : sizeof(data));
		mcnl_put(&msg, attr, data, len);
	}
	if (chance(r, 3))
		spoil(r, at);
}

/* ---- messages ---- */

static bool names_a_hook(const struct command *c) { return c->cmd == MC_CMD_FAULT_SET; }

static void make(struct fuzz_rng *r, const struct command *c)
{
	struct nlmsghdr *h = (struct nlmsghdr *)msg.buf;
	struct genlmsghdr *g = NLMSG_DATA(h);
	size_t i;

	mcnl_begin(&msg, c->cmd);
	for (i = 0; i < sizeof(c->attrs) && c->attrs[i]; i++) {
		uint32_t times = chance(r, 4) ? 0 : chance(r, 4) ? 2 : 1;

		while (times--)
			put(r, c->attrs[i], 0);
	}
	while (chance(r, 10))
		put(r, 1 + (int)pick(r, MC_ATTR_MAX + 4), 0);
	if (chance(r, 3) && !names_a_hook(c))
		g->cmd = (uint8_t)rnd(r);
	if (chance(r, 3))
		g->version = (uint8_t)rnd(r);
	if (chance(r, 3))
		g->reserved = (uint16_t)rnd(r);
	if (chance(r, 3))
		h->nlmsg_flags = (uint16_t)rnd(r) | NLM_F_REQUEST;
	if (c->dump || chance(r, 3))
		h->nlmsg_flags |= NLM_F_DUMP;
	if (chance(r, 3) && !names_a_hook(c))
		mutate(r, msg.buf + NLMSG_HDRLEN, (size_t)msg.len - NLMSG_HDRLEN);
	h->nlmsg_len = (uint32_t)(chance(r, 3) ? edge(r) : (uint64_t)msg.len);
	if (chance(r, 3) && msg.len > 24)
		msg.len = 1 + (int)pick(r, (uint32_t)msg.len);
}

static bool changes_something(uint8_t cmd)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (commands[i].cmd == cmd)
			return !commands[i].harmless;
	return true;
}

/* A message that lies about its length may hold a second one: only the answer to the first says what was done. */
static void take(const struct nlmsghdr *h, struct fuzz_rng *r)
{
	const struct nlmsghdr *sent = (const struct nlmsghdr *)msg.buf;
	const struct genlmsghdr *g = NLMSG_DATA(h);

	if (h->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = NLMSG_DATA(h);
		uint8_t cmd = ((const struct genlmsghdr *)(msg.buf + NLMSG_HDRLEN))->cmd;

		if (e->error || e->msg.nlmsg_seq != sent->nlmsg_seq || e->msg.nlmsg_type != mcnl_family)
			return;
		board->done[cmd]++;
		if (!root && changes_something(cmd))
			board->privilege = cmd;
		return;
	}
	if (g->cmd == MC_CMD_RAIL_ADD)
		mcnl_get(h, MC_ATTR_RAIL_ID, (void *)&board->rail, 4);
	if (g->cmd == MC_CMD_POOL_CREATE || g->cmd == MC_CMD_POOL_GET)
		mcnl_get(h, MC_ATTR_SEG_UUID, board->pools[pick(r, 8)], 16);
}

static void exchange(struct fuzz_rng *r, int fd)
{
	static char buf[65536];
	struct nlmsghdr *h = (struct nlmsghdr *)msg.buf;
	int left, turns = 0;

	h->nlmsg_type = (uint16_t)mcnl_family;
	h->nlmsg_seq = (uint32_t)rnd(r);
	if (send(fd, msg.buf, (size_t)msg.len, 0) < 0)
		return;
	/* Answers are there when send() returns; a dump is continued by reading. */
	while (turns++ < 100 && (left = (int)recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		for (h = (struct nlmsghdr *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
			take(h, r);
}

static void slice(uint64_t first)
{
	int one = 1, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	uint64_t op;

	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	for (op = first; op < first + SLICE; op++) {
		struct fuzz_rng r = fuzz_op(&opt, root, op);
		const struct command *c = &commands[pick(&r, N_COMMANDS)];

		board->op = op;
		if (op < opt.from || op > opt.to)
			continue;
		make(&r, c);
		exchange(&r, fd);
	}
	close(fd);
}

/* ---- around it ---- */

static void del_pool(const struct nlmsghdr *h, void *arg)
{
	uint8_t (*out)[16] = arg;

	mcnl_get(h, MC_ATTR_SEG_UUID, *out, 16);
}

static int last_rail;

static void del_rail(const struct nlmsghdr *h, void *arg)
{
	(void)arg;
	mcnl_get(h, MC_ATTR_RAIL_ID, &last_rail, 4);
}

static void del_peer(const struct nlmsghdr *h, void *arg)
{
	mcnl_get(h, MC_ATTR_NODE_UUID, arg, 16);
}

static int drop(int cmd, int attr, const void *data, int len)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, cmd);
	mcnl_put(&m, attr, data, len);
	return mcnl_call(&m);
}

/* One after the other until a listing is empty. */
static bool clean_up(void)
{
	static const uint8_t none[16];
	uint8_t u[16];
	int i;

	for (i = 0; i < 5000; i++) {
		memset(u, 0, sizeof(u));
		mcnl_dump(MC_CMD_POOL_GET, del_pool, u);
		if (!memcmp(u, none, 16) || drop(MC_CMD_POOL_DESTROY, MC_ATTR_SEG_UUID, u, 16))
			break;
	}
	for (i = 0; i < 100; i++) {
		last_rail = 0;
		mcnl_dump(MC_CMD_RAIL_GET, del_rail, NULL);
		if (!last_rail || drop(MC_CMD_RAIL_DEL, MC_ATTR_RAIL_ID, &last_rail, 4))
			break;
	}
	for (i = 0; i < 5000; i++) {
		memset(u, 0, sizeof(u));
		mcnl_dump(MC_CMD_PEER_GET, del_peer, u);
		if (!memcmp(u, none, 16) || drop(MC_CMD_PEER_DEL, MC_ATTR_NODE_UUID, u, 16))
			break;
	}
	if (mc_wait_number(MC_SYSFS "pools_quarantined", 0, 20000))
		return false;
	return !mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE);
}

/* By somebody who has no right to anything, in a process of its own. */
static bool as_nobody(uint64_t first)
{
	uint64_t end = now_ms() + 60000 * time_scale();
	pid_t pid = fork();

	if (!pid) {
		root = false;
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(1);
		slice(first);
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (now_ms() > end) {
			kill(pid, SIGKILL);
			return false;
		}
		usleep(1000);
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *bad = NULL;
	uint64_t first, end;
	size_t i;

	if (fuzz_args(argc, argv, &opt) != argc)
		return 2;
	board = shared(sizeof(*board));
	if (mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE) && mcnl_resolve()) {
		printf("# no family\n");
		return 2;
	}
	end = now_ms() + opt.seconds * 1000;
	for (first = 0; !bad && now_ms() < end && first <= opt.to; first += SLICE) {
		if (!(first % FUZZ_MARK))
			mark("fuzz_netlink", &opt, first);
		if (first + SLICE <= opt.from)
			continue;
		root = true;
		slice(first);
		if (!as_nobody(first))
			bad = "a process hangs";
		else if (board->privilege)
			bad = "nobody may change something";
		else if (first / SLICE % 8 == 7 && !clean_up())
			bad = "what was made can't be taken away";
	}
	if (!bad && !clean_up())
		bad = "what was made can't be taken away";
	printf("# fuzz_netlink: seed %llu, %llu operations as root and as nobody; done by command:",
	       (unsigned long long)opt.seed, (unsigned long long)first);
	for (i = 0; i < 64; i++)
		if (board->done[i])
			printf(" %zu:%llu", i, (unsigned long long)board->done[i]);
	printf("\n");
	if (bad)
		printf("# fuzz_netlink: %s (command %d): --seed %llu --replay %llu-%llu\n", bad, board->privilege,
		       (unsigned long long)opt.seed, (unsigned long long)(first - SLICE),
		       (unsigned long long)board->op);
	return bad ? 1 : 0;
}
