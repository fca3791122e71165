// SPDX-License-Identifier: MIT
/*
 * Everything that whoever may open /dev/mooncake can do to it, with valid, boundary and broken values: a process of no
 * privilege runs two threads of operations over the same files, rings and memory and a third that writes into the rings
 * at random; it is killed or ends; another process makes and destroys pools meanwhile. After each such process the
 * counts must be what they were, and a well-behaved client is served.
 */
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "fuzz.h"
#include "mcdev.h"
#include "mcnl.h"

#define SLICE	1500		/* operations of one process */
#define FDS	6
#define BUFS	32
#define SEGS	16
#define GRANTS	16
#define AREAS	8
#define AREA	(1ull << 20)
#define POOLS	3
#define EXPORTS	8

static const uint8_t node_uuid[16] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 1, 2, 3, 4, 5, 6, 7 };
static const uint8_t cluster[16] = { 9 };

struct board {
	volatile uint64_t op[2];
	uint8_t pool[POOLS][16];
	volatile int stop;
	volatile int rest;		/* the administrator is to end */
	volatile uint64_t done[256];	/* by ioctl number: successes */
};

struct ring {
	int fd;
	uintptr_t sq, cq;
	uint32_t sq_bytes, cq_bytes, sq_entries, cq_entries;
};

static struct fuzz_opt opt;
static struct board *board;
static volatile struct ring rings[FDS];
static volatile uint32_t bufs[BUFS], segs[SEGS], grants[GRANTS];
static uint8_t exported[EXPORTS][16];	/* torn when two threads write one: a UUID as good as another */
static uint8_t *areas[AREAS];

/* ---- arguments ---- */

enum kind { ZERO, ADDR, LEN, BUF, SEG, NODE, UUID, COUNT, POW2, TIME, EFD, OP, OUT, OFF, GRANT, SMALL, RIGHTS, NAME,
	    EXPORTED, END };

struct field {
	uint16_t off;
	uint8_t size;
	uint8_t kind;
};

struct call {
	unsigned long cmd;
	struct field f[12];
};

#define F(type, member, k) { offsetof(struct type, member), sizeof(((struct type *)0)->member), k }

static const struct call calls[] = {
	{ MC_IOC_INFO, { F(mc_info, resv, ZERO), { 0, 0, END } } },
	{ MC_IOC_BUF_REG, { F(mc_buf_reg, flags, ZERO), F(mc_buf_reg, addr, ADDR), F(mc_buf_reg, len, LEN),
			    F(mc_buf_reg, resv, ZERO), { 0, 0, END } } },
	{ MC_IOC_BUF_UNREG, { F(mc_handle, id, BUF), { 0, 0, END } } },
	{ MC_IOC_SEG_OPEN, { F(mc_seg_open, flags, ZERO), F(mc_seg_open, node_uuid, NODE),
			     F(mc_seg_open, seg_uuid, UUID), F(mc_seg_open, timeout_ns, TIME), { 0, 0, END } } },
	{ MC_IOC_SEG_CLOSE, { F(mc_handle, id, SEG), { 0, 0, END } } },
	{ MC_IOC_RING_SETUP, { F(mc_ring_setup, flags, ZERO), F(mc_ring_setup, sq_entries, POW2),
			       F(mc_ring_setup, cq_entries, POW2), F(mc_ring_setup, resv, ZERO), { 0, 0, END } } },
	{ MC_IOC_ENTER, { F(mc_enter, flags, ZERO), F(mc_enter, to_submit, COUNT), F(mc_enter, min_complete, COUNT),
			  F(mc_enter, timeout_ns, TIME), { 0, 0, END } } },
	{ MC_IOC_GRANT_ADD, { F(mc_grant_add, flags, ZERO), F(mc_grant_add, count, COUNT), F(mc_grant_add, items, ADDR),
			      { 0, 0, END } } },
	{ MC_IOC_GRANT_DEL, { F(mc_grant_del, flags, ZERO), F(mc_grant_del, count, COUNT), F(mc_grant_del, ids, ADDR),
			      { 0, 0, END } } },
	{ MC_IOC_BUF_REG_BATCH, { F(mc_buf_reg_batch, flags, ZERO), F(mc_buf_reg_batch, count, COUNT),
				  F(mc_buf_reg_batch, items, ADDR), { 0, 0, END } } },
	{ MC_IOC_SEG_EXPORT, { F(mc_seg_export, flags, ZERO), F(mc_seg_export, buf_id, BUF),
			       F(mc_seg_export, rights, RIGHTS), F(mc_seg_export, name, NAME),
			       F(mc_seg_export, resv, ZERO), { 0, 0, END } } },
	{ MC_IOC_SEG_UNEXPORT, { F(mc_seg_unexport, flags, ZERO), F(mc_seg_unexport, seg_uuid, EXPORTED),
				 { 0, 0, END } } },
	{ MC_IOC_CANCEL, { F(mc_cancel, flags, SMALL), F(mc_cancel, cookie, SMALL), F(mc_cancel, resv, ZERO),
			   { 0, 0, END } } },
	{ MC_IOC_BATCH, { F(mc_batch_info, flags, ZERO), F(mc_batch_info, batch, SMALL), F(mc_batch_info, resv, ZERO),
			  { 0, 0, END } } },
	{ MC_IOC_CLIENT, { F(mc_client, flags, ZERO), F(mc_client, uuid, NODE), { 0, 0, END } } },
	{ MC_IOC_EVENTFD, { F(mc_eventfd, fd, EFD), F(mc_eventfd, flags, ZERO), F(mc_eventfd, resv, ZERO),
			    { 0, 0, END } } },
};

static const struct field sqe_fields[] = {
	F(mc_sqe, opcode, OP), F(mc_sqe, priority, ZERO), F(mc_sqe, flags, ZERO), F(mc_sqe, buf_id, BUF),
	F(mc_sqe, buf_off, OFF), F(mc_sqe, target_id, SEG), F(mc_sqe, batch, SMALL), F(mc_sqe, target_off, OFF),
	F(mc_sqe, len, LEN), F(mc_sqe, cookie, SMALL), F(mc_sqe, timeout_ns, TIME), F(mc_sqe, grant_id, GRANT),
	F(mc_sqe, crc32c, ZERO), F(mc_sqe, spans, ZERO), F(mc_sqe, span_count, ZERO), F(mc_sqe, list_id, ZERO),
	F(mc_sqe, list_first, ZERO), F(mc_sqe, list_count, ZERO), F(mc_sqe, resv, ZERO), { 0, 0, END }
};

static uint64_t good(struct fuzz_rng *r, enum kind kind)
{
	switch (kind) {
	case ADDR: return (uintptr_t)areas[pick(r, AREAS)] + pick(r, 3) * 4096 + (chance(r, 30) ? pick(r, 4096) : 0);
	case LEN: return 1 + pick(r, chance(r, 50) ? 8192 : 300000);
	case OFF: return chance(r, 50) ? 0 : pick(r, 65536);
	case BUF: return bufs[pick(r, BUFS)];
	case SEG: return segs[pick(r, SEGS)];
	case GRANT: return grants[pick(r, GRANTS)];
	case COUNT: return pick(r, 9);
	case POW2: return 1ull << pick(r, 7);
	case TIME: return chance(r, 50) ? 0 : 1 + pick(r, 20000000);
	case EFD: return chance(r, 20) ? ~0ull : 3 + pick(r, 40);
	case OP: return pick(r, 3);
	case SMALL: return pick(r, 4);
	case RIGHTS: return pick(r, 3) ? MC_RIGHT_READ | MC_RIGHT_WRITE : pick(r, 3);
	default: return 0;
	}
}

static void fill_bytes(struct fuzz_rng *r, uint8_t *p, size_t n, enum kind kind)
{
	if (chance(r, 6))
		mutate(r, p, n);
	else if (kind == NODE)
		memcpy(p, node_uuid, 16);
	else if (kind == UUID)
		memcpy(p, chance(r, 80) ? board->pool[pick(r, POOLS)] : exported[pick(r, EXPORTS)], 16);
	else if (kind == EXPORTED)
		memcpy(p, exported[pick(r, EXPORTS)], 16);
	else if (kind == NAME)
		snprintf((char *)p, n, "%sfuzz-export-%u", chance(r, 10) ? "//" : "", pick(r, 6));
}

/* Each field alone is valid nineteen times of twenty, so that whole structures often are. */
static void fill(struct fuzz_rng *r, uint8_t *p, const struct field *f)
{
	for (; f->kind != END; f++) {
		uint64_t v = chance(r, 5) ? edge(r) : good(r, f->kind);

		if (f->size > 8)
			fill_bytes(r, p + f->off, f->size, f->kind);
		else
			memcpy(p + f->off, &v, f->size);
	}
}

static int a_fd(struct fuzz_rng *r) { return rings[pick(r, FDS)].fd; }

static void keep_results(struct fuzz_rng *r, volatile struct ring *ring, unsigned long cmd, const uint8_t *arg)
{
	const struct mc_ring_setup *s = (const void *)arg;

	if (cmd == MC_IOC_BUF_REG)
		bufs[pick(r, BUFS)] = ((const struct mc_buf_reg *)arg)->out_id;
	if (cmd == MC_IOC_SEG_OPEN)
		segs[pick(r, SEGS)] = ((const struct mc_seg_open *)arg)->out_id;
	if (cmd == MC_IOC_SEG_EXPORT)
		memcpy(exported[pick(r, EXPORTS)], ((const struct mc_seg_export *)arg)->out_seg_uuid, 16);
	if (cmd != MC_IOC_RING_SETUP)
		return;
	ring->sq_bytes = s->out_sq_bytes;
	ring->cq_bytes = s->out_cq_bytes;
	ring->sq_entries = s->sq_entries;
	ring->cq_entries = s->cq_entries;
}

static void map_ring(volatile struct ring *ring)
{
	void *sq = mmap(NULL, ring->sq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, MC_OFF_SQ);
	void *cq = mmap(NULL, ring->cq_bytes, PROT_READ, MAP_SHARED, ring->fd, MC_OFF_CQ);

	ring->sq = sq == MAP_FAILED ? 0 : (uintptr_t)sq;
	ring->cq = cq == MAP_FAILED ? 0 : (uintptr_t)cq;
}

/* ---- operations ---- */

static void op_call(struct fuzz_rng *r)
{
	const struct call *c = &calls[pick(r, sizeof(calls) / sizeof(calls[0]))];
	volatile struct ring *ring = &rings[pick(r, FDS)];
	uint32_t size = (uint32_t)_IOC_SIZE(c->cmd);
	uint8_t arg[4096 + 64] = { 0 };
	unsigned long cmd = c->cmd;

	fill(r, arg, c->f);
	if (chance(r, 4))
		mutate(r, arg, size);
	if (chance(r, 4))
		size = (uint32_t)edge(r);
	memcpy(arg, &size, 4);
	if (chance(r, 2))
		cmd ^= 1ul << pick(r, 32);
	if (ioctl(ring->fd, cmd, chance(r, 2) ? (void *)(uintptr_t)edge(r) : arg))
		return;
	board->done[_IOC_NR(cmd)]++;
	keep_results(r, ring, cmd, arg);
	if (cmd == MC_IOC_RING_SETUP)
		map_ring(ring);
}

/* Numbers that mean nothing now, or will: bytes of no grammar. */
static void op_any_ioctl(struct fuzz_rng *r)
{
	uint32_t arg[1100], i, size = chance(r, 80) ? 8 + pick(r, 128) : (uint32_t)edge(r);
	uint32_t said = chance(r, 80) ? size & 0x3ff : pick(r, 0x4000);
	unsigned long cmd = _IOC(pick(r, 4), MC_IOC_MAGIC, pick(r, 0x20), said);

	for (i = 0; i < 1100; i++)
		arg[i] = i < 64 && chance(r, 30) ? (uint32_t)edge(r) : 0;
	arg[0] = size;
	if (!ioctl(a_fd(r), cmd, arg))
		board->done[_IOC_NR(cmd)]++;
}

static void op_open(struct fuzz_rng *r)
{
	volatile struct ring *ring = &rings[pick(r, FDS)];
	int old = ring->fd;

	ring->fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	ring->sq = 0;
	if (old > 2)
		close(old);
}

static void op_dup(struct fuzz_rng *r)
{
	int a = (int)pick(r, FDS), b = (int)pick(r, FDS), old = rings[b].fd;

	if (a == b)
		return;
	rings[b].fd = fcntl(rings[a].fd, F_DUPFD_CLOEXEC, 3);
	rings[b].sq = 0;
	if (old > 2)
		close(old);
}

/* Write without faulting, whatever became of the mapping. */
static void poke(uintptr_t at, const void *data, size_t len)
{
	struct iovec from = { (void *)(uintptr_t)data, len }, to = { (void *)at, len };

	if (at)
		process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

static uint32_t peek(uintptr_t at)
{
	uint32_t v = 0;
	struct iovec to = { &v, 4 }, from = { (void *)at, 4 };

	if (at)
		process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	return v;
}

static void op_push(struct fuzz_rng *r)
{
	volatile struct ring *ring = &rings[pick(r, FDS)];
	uint32_t n = 1 + pick(r, 6), tail = peek(ring->sq), mask = ring->sq_entries - 1;
	struct mc_sqe e;

	if (!ring->sq)
		return;
	while (n--) {
		memset(&e, 0, sizeof(e));
		fill(r, (uint8_t *)&e, sqe_fields);
		if (chance(r, 5))
			mutate(r, &e, sizeof(e));
		poke(ring->sq + sizeof(e) * (1 + (tail++ & mask)), &e, sizeof(e));
	}
	poke(ring->sq, &tail, 4);
}

static void op_pop(struct fuzz_rng *r)
{
	volatile struct ring *ring = &rings[pick(r, FDS)];
	uint32_t tail = peek(ring->cq);

	if (ring->sq && ring->cq)
		poke(ring->sq + 4, &tail, 4);
}

/* As the master signs it; a member is changed now and then, and a grant is given back. */
static void op_grant(struct fuzz_rng *r)
{
	static const uint32_t rights[] = { MC_GRANT_R, MC_GRANT_W, MC_GRANT_R | MC_GRANT_W,
					   MC_GRANT_R | MC_GRANT_WHOLE_PAGES };
	uint64_t len = 1 + pick(r, 65536);
	int fd = a_fd(r);
	struct mc_grant g;
	uint32_t id;

	if (chance(r, 20)) {
		mcgrant_del(fd, grants[pick(r, GRANTS)]);
		return;
	}
	if (mcgrant_make(&g, board->pool[pick(r, POOLS)], chance(r, 60) ? 1048576 : len, rights[pick(r, 4)]))
		return;
	if (chance(r, 10))
		g.not_after = mcgrant_boot() + pick(r, 50000000);
	if (chance(r, 5))
		mutate(r, &g, sizeof(g));
	if (!mcgrant_add(fd, &g, &id))
		grants[pick(r, GRANTS)] = id;
}

/* Ranges that are right one by one: beside each other, over each other, some of them in memory that can't be had. */
static void op_reg_batch(struct fuzz_rng *r)
{
	struct mc_buf_item items[5] = { 0 };
	uint32_t n = 1 + pick(r, 5), i, index;

	for (i = 0; i < n; i++) {
		items[i].addr = (uintptr_t)areas[chance(r, 80) ? 6 : pick(r, AREAS)] + 8192ull * pick(r, 64);
		items[i].len = 1 + pick(r, 8192);
	}
	if (mcdev_reg_batch(a_fd(r), items, n, &index))
		return;
	board->done[_IOC_NR(MC_IOC_BUF_REG_BATCH)]++;
	bufs[pick(r, BUFS)] = items[pick(r, n)].out_id;
}

/* Whole pages under one of few names: a new segment, more of one, or one of another file. Some end at once. */
static void op_export(struct fuzz_rng *r)
{
	int fd = a_fd(r);
	struct mc_seg_export out;
	char name[32];
	uint32_t id;

	if (mcdev_reg(fd, areas[7] + 4096 * pick(r, 200), 4096ull * (1 + pick(r, 4)), &id))
		return;
	bufs[pick(r, BUFS)] = id;
	snprintf(name, sizeof(name), "fuzz-export-%u", pick(r, 6));
	if (mcdev_export(fd, id, name, chance(r, 70) ? MC_RIGHT_READ | MC_RIGHT_WRITE : pick(r, 4), &out))
		return;
	board->done[_IOC_NR(MC_IOC_SEG_EXPORT)]++;
	memcpy(exported[pick(r, EXPORTS)], out.out_seg_uuid, 16);
	if (chance(r, 30) && !mcdev_unexport(fd, out.out_seg_uuid))
		board->done[_IOC_NR(MC_IOC_SEG_UNEXPORT)]++;
}

static void op_mmap(struct fuzz_rng *r)
{
	const uint64_t offs[] = { MC_OFF_SQ, MC_OFF_CQ, MC_OFF_CQ + 4096, 4096, 0x20000000ull,
				  MC_OFF_GRANT(grants[pick(r, GRANTS)]), MC_OFF_GRANT(grants[0]) + 4096 };
	uint64_t off = chance(r, 90) ? offs[pick(r, 7)] : edge(r) & ~0xfffull;
	size_t len = chance(r, 80) ? 4096u * (1 + pick(r, 4)) : edge(r) & 0xfffffff;
	void *p = mmap(NULL, len, (int)pick(r, 8), chance(r, 80) ? MAP_SHARED : MAP_PRIVATE, a_fd(r), (off_t)off);

	if (p == MAP_FAILED)
		return;
	peek((uintptr_t)p);
	mprotect(p, len, (int)pick(r, 8));
	if (chance(r, 30))
		p = mremap(p, len, len * 2, MREMAP_MAYMOVE) == MAP_FAILED ? p : NULL;
	if (p && chance(r, 80))
		munmap(p, len);
}

static void op_area(struct fuzz_rng *r)
{
	uint8_t *a = areas[pick(r, AREAS)] + 4096 * pick(r, AREA / 4096);
	size_t len = 4096u * (1 + pick(r, 16));

	if (a + len > areas[AREAS - 1] + AREA)
		return;
	switch (pick(r, 6)) {
	case 0: madvise(a, len, MADV_DONTNEED); break;
	case 1: munmap(a, len); break;
	case 2: mprotect(a, len, (int)pick(r, 4)); break;
	case 3: madvise(a, len, MADV_HUGEPAGE); break;
	case 4: madvise(a, len, MADV_FREE); break;
	default: mmap(a, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

static void op_poll(struct fuzz_rng *r)
{
	struct pollfd p[2] = { { .fd = a_fd(r), .events = (short)rnd(r) }, { .fd = a_fd(r), .events = POLLIN } };

	poll(p, 2, (int)pick(r, 3));
}

static void op_file(struct fuzz_rng *r)
{
	char buf[64] = "";
	int fd = a_fd(r);
	ssize_t n = 0;

	switch (pick(r, 5)) {
	case 0: n = read(fd, buf, sizeof(buf)); break;
	case 1: n = write(fd, buf, sizeof(buf)); break;
	case 2: n = lseek(fd, (off_t)edge(r), SEEK_SET); break;
	case 3: n = fcntl(fd, F_SETFL, pick(r, 2) ? O_NONBLOCK : 0); break;
	default: n = ftruncate(fd, 4096); break;
	}
	(void)n;
}

/* A descriptor goes through a socket, or waits in one that is closed: the last reference is dropped there. */
static void op_pass(struct fuzz_rng *r)
{
	union { struct cmsghdr h; char space[CMSG_SPACE(sizeof(int))]; } c = { .h = { .cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	int s[2], fd = a_fd(r), i = (int)pick(r, FDS), old;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, s))
		return;
	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	if (sendmsg(s[0], &m, MSG_DONTWAIT) == 1 && chance(r, 60) &&
	    recvmsg(s[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1) {
		memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
		old = rings[i].fd;
		rings[i].fd = fd;
		rings[i].sq = 0;
		if (old > 2)
			close(old);
	}
	close(s[0]);
	close(s[1]);
}

static void one_op(struct fuzz_rng *r, bool may_fork);

static void op_fork(struct fuzz_rng *r)
{
	pid_t worker = getpid(), pid = (pid_t)syscall(SYS_fork);
	int i;

	if (!pid) {
		/* The worker may be killed while this one waits for something that doesn't come. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != worker)
			_exit(0);
		for (i = 0; i < 8; i++)
			one_op(r, false);
		if (chance(r, 50))
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void one_op(struct fuzz_rng *r, bool may_fork)
{
	uint32_t x = pick(r, 100);

	if (x < 32)
		op_call(r);
	else if (x < 34)
		op_reg_batch(r);
	else if (x < 37)
		op_export(r);
	else if (x < 40)
		op_grant(r);
	else if (x < 58)
		op_push(r);
	else if (x < 66)
		op_pop(r);
	else if (x < 72)
		op_open(r);
	else if (x < 76)
		op_any_ioctl(r);
	else if (x < 82)
		op_mmap(r);
	else if (x < 88)
		op_area(r);
	else if (x < 91)
		op_poll(r);
	else if (x < 93)
		op_file(r);
	else if (x < 95)
		op_dup(r);
	else if (x < 98)
		op_pass(r);
	else if (may_fork && x == 99)
		op_fork(r);
}

/* ---- the process that does it ---- */

static uint64_t slice_start, run_end;

static void *stream(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg, op;

	for (op = slice_start; op < slice_start + SLICE && !board->stop; op++) {
		struct fuzz_rng r = fuzz_op(&opt, n, op);

		board->op[n] = op;
		if (op >= opt.from && op <= opt.to)
			one_op(&r, true);
	}
	board->stop = 1;
	return NULL;
}

static void *liar(void *arg)
{
	struct fuzz_rng r = fuzz_op(&opt, 9, slice_start);
	uint64_t pause = 200;

	(void)arg;
	while (!board->stop) {
		volatile struct ring *ring = &rings[pick(&r, FDS)];
		uint32_t v = chance(&r, 70) ? peek(ring->sq) + pick(&r, 5) - 2 : (uint32_t)edge(&r);

		/* Mostly the indices, now and then an entry that is being read. */
		if (ring->sq)
			poke(ring->sq + (chance(&r, 60) ? 4 * pick(&r, 2) : 4 * pick(&r, ring->sq_bytes / 4)), &v, 4);
		usleep((useconds_t)(chance(&r, 10) ? pause * 10 : pause));
	}
	return NULL;
}

static void on_alarm(int sig) { (void)sig; }

static void make_areas(void)
{
	uint8_t *base = mmap(NULL, (AREAS + 1) * AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, memfd = (int)syscall(SYS_memfd_create, "area", MFD_CLOEXEC), file;

	for (i = 0; i < AREAS; i++)
		areas[i] = base + AREA * (unsigned int)i;
	if (!ftruncate(memfd, AREA))
		mmap(areas[1], AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0);
	mmap(areas[2], AREA, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mmap(areas[3], AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	mmap(areas[4], AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
	munmap(areas[5] + AREA / 2, 4096);
}

static void worker(void)
{
	struct itimerval tick = { { 0, 50000 }, { 0, 50000 } };
	struct rlimit memlock = { 4 << 20, 4 << 20 };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct group *g = getgrnam("mooncake");
	pthread_t t[3];
	int i;

	setrlimit(RLIMIT_MEMLOCK, &memlock);
	if (setgroups(0, NULL) || setgid(g ? g->gr_gid : 65534) || setuid(65534))
		_exit(3);
	sigaction(SIGALRM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	setitimer(ITIMER_REAL, &tick, NULL);
	make_areas();
	for (i = 0; i < FDS; i++)
		rings[i].fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	if (rings[0].fd < 0)
		_exit(4);
	pthread_create(&t[0], NULL, stream, (void *)0);
	pthread_create(&t[1], NULL, stream, (void *)1);
	pthread_create(&t[2], NULL, liar, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	_exit(0);
}

/* ---- around it ---- */

static void renew_pool(int i)
{
	char name[16];

	snprintf(name, sizeof(name), "fuzz-%d", i);
	mcnl_pool_destroy(board->pool[i]);
	/* The name is free at once; memory may be short for a moment. */
	mcnl_pool_create(name, i ? 4096u << (4 * i) : 4096, 0, board->pool[i]);
}

static pid_t administrator(uint64_t slice)
{
	struct fuzz_rng r = fuzz_op(&opt, 8, slice);
	pid_t pid;

	board->rest = 0;
	pid = fork();
	if (pid)
		return pid;
	while (!board->rest) {
		usleep(20000 + pick(&r, 100000));
		mcgrant_clock_own();
		renew_pool((int)pick(&r, POOLS));
	}
	_exit(0);
}

static bool numbers_are_back(void)
{
	static const char *const files[] = { "buffers", "pinned_bytes", "requests" };
	char path[128];
	size_t i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), MC_SYSFS "%s", files[i]);
		if (mc_wait_number(path, 0, 20000)) {
			printf("# %s is %lld afterwards\n", files[i], mc_read_number(path));
			return false;
		}
	}
	return true;
}

/* What it wrote is what it reads. Returns the first error; *step says of what. */
static int serve(struct mcdev *d, const char **step)
{
	static uint8_t out[8192], in[8192];
	uint32_t a, b, seg;
	struct mc_sqe e;
	int ret;

	mc_fill(out, sizeof(out), slice_start + 1);
	*step = "the clock";
	ret = mcgrant_clock_own();
	*step = ret ? *step : "opening the device";
	ret = ret ?: mcdev_open(d, 4, 4);
	*step = ret ? *step : "registering";
	ret = ret ?: mcdev_reg(d->fd, out, sizeof(out), &a) ?: mcdev_reg(d->fd, in, sizeof(in), &b);
	*step = ret ? *step : "opening the segment";
	ret = ret ?: mcdev_seg_open(d->fd, node_uuid, board->pool[1], 0, &seg, NULL);
	if (ret)
		return ret;
	*step = "writing";
	e = mcdev_sqe(MC_OP_WRITE, a, 0, seg, 0, sizeof(out), 1);
	ret = mcdev_do(d, &e, 20 * SEC, NULL);
	if (ret)
		return ret;
	*step = "reading";
	e = mcdev_sqe(MC_OP_READ, b, 0, seg, 0, sizeof(in), 2);
	ret = mcdev_do(d, &e, 20 * SEC, NULL);
	return ret ?: memcmp(in, out, sizeof(in)) ? -EILSEQ : 0;
}

/* Where a second is 20 the clock it set may be too old, which is 5 s, when it is looked at: then once more. */
static bool good_client(void)
{
	const char *step = "";
	int ret = -ETIME, tries;

	for (tries = 0; ret == -ETIME && tries < 3; tries++) {
		struct mcdev d = { .fd = -1, .sq = MAP_FAILED, .cq = MAP_FAILED };

		ret = serve(&d, &step);
		if (d.sq != MAP_FAILED && d.cq != MAP_FAILED && d.sq && d.cq)
			mcdev_close(&d);
		else if (d.fd >= 0)
			close(d.fd);
		if (ret)
			printf("# a good client: %s: error %d\n", step, ret);
	}
	return !ret;
}

/* -1: it hung. */
static int run_slice(uint64_t slice)
{
	struct fuzz_rng r = fuzz_op(&opt, 7, slice);
	uint64_t end = now_ms() + 20000 * time_scale(), early = chance(&r, 30) ? now_ms() + pick(&r, 400) : ~0ull;
	pid_t admin = administrator(slice), pid;
	bool killed = false;
	int status;

	board->stop = 0;
	pid = fork();
	if (!pid)
		worker();
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (!killed && (now_ms() > early || now_ms() > end - 5000)) {
			kill(pid, SIGKILL);
			killed = true;
		}
		/* One slice is minutes on a slow kernel. */
		if (now_ms() > run_end)
			board->stop = 1;
		if (now_ms() > end) {
			kill(admin, SIGKILL);
			return -1;
		}
		usleep(2000);
	}
	/* Not killed: it would not have learned which pool it has just made, and nobody else can destroy that. */
	board->rest = 1;
	waitpid(admin, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static const char *one_slice(uint64_t slice)
{
	int i, ret = run_slice(slice);

	if (ret < 0)
		return "a process can't be killed";
	if (ret)
		return "the worker could not begin";
	if (!numbers_are_back())
		return "not all came back";
	/* One that could not be made, when memory was short. */
	for (i = 0; i < POOLS; i++)
		renew_pool(i);
	return good_client() ? NULL : "a good client is not served";
}

int main(int argc, char **argv)
{
	uint64_t slice, reached = 0;
	const char *bad = NULL;
	int i;

	if (fuzz_args(argc, argv, &opt) != argc)
		return 2;
	board = shared(sizeof(*board));
	if (mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE)) {
		printf("# the node's identity can't be set: %s\n", mcnl_error);
		return 2;
	}
	for (i = 0; i < POOLS; i++)
		renew_pool(i);
	run_end = now_ms() + opt.seconds * 1000;
	for (slice = 0; !bad && now_ms() < run_end && slice * SLICE <= opt.to; slice++) {
		slice_start = slice * SLICE;
		if (!(slice_start % FUZZ_MARK) || slice_start + SLICE < opt.from)
			mark("fuzz_ioctl", &opt, slice_start);
		if (slice_start + SLICE < opt.from)
			continue;
		bad = one_slice(slice);
		reached = slice_start;
	}
	for (i = 0; i < POOLS; i++)
		mcnl_pool_destroy(board->pool[i]);
	printf("# fuzz_ioctl: seed %llu, operations up to %llu in each of two threads; successes by number:",
	       (unsigned long long)opt.seed, (unsigned long long)(reached + SLICE));
	for (i = 0; i < 32; i++)
		if (board->done[i])
			printf(" 0x%02x %llu", i, (unsigned long long)board->done[i]);
	printf("\n");
	if (bad)
		printf("# fuzz_ioctl: %s: --seed %llu --replay %llu-%llu (was at %llu and %llu)\n", bad,
		       (unsigned long long)opt.seed, (unsigned long long)reached,
		       (unsigned long long)(reached + SLICE - 1), (unsigned long long)board->op[0],
		       (unsigned long long)board->op[1]);
	return bad ? 1 : 0;
}
