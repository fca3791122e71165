/* SPDX-License-Identifier: MIT */
/*
 * /dev/mooncake for the kernel selftests: one open file with its rings, no library in between.
 *
 * A pool that is opened gets a grant for all of it, which mcdev_push() adds to entries that name none; a test that is
 * about grants turns that off with mcdev_grants(false).
 */
#ifndef MCDEV_H
#define MCDEV_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mooncake.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mcgrant.h"

#define SEC 1000000000ull

struct mcdev {
	int fd;
	uint32_t sq_entries, cq_entries, sq_bytes, cq_bytes;
	struct mc_sq_head *sq;
	struct mc_cq_head *cq;
	struct mc_sqe *sqes;
	struct mc_cqe *cqes;
};

static inline int mc_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

static inline int mcdev_open(struct mcdev *d, uint32_t sq, uint32_t cq)
{
	struct mc_ring_setup s = { .size = sizeof(s), .sq_entries = sq, .cq_entries = cq };
	int ret;

	memset(d, 0, sizeof(*d));
	d->fd = open("/dev/mooncake", O_RDWR | O_CLOEXEC);
	if (d->fd < 0)
		return -errno;
	ret = mc_ioctl(d->fd, MC_IOC_RING_SETUP, &s);
	if (ret)
		return ret;
	d->sq_entries = sq;
	d->cq_entries = cq;
	d->sq_bytes = s.out_sq_bytes;
	d->cq_bytes = s.out_cq_bytes;
	d->sq = mmap(NULL, s.out_sq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, MC_OFF_SQ);
	d->cq = mmap(NULL, s.out_cq_bytes, PROT_READ, MAP_SHARED, d->fd, MC_OFF_CQ);
	if (d->sq == MAP_FAILED || d->cq == MAP_FAILED)
		return -errno;
	d->sqes = (void *)((char *)d->sq + s.out_sqe_off);
	d->cqes = (void *)((char *)d->cq + s.out_cqe_off);
	return 0;
}

static inline void mcdev_close(struct mcdev *d)
{
	munmap(d->sq, d->sq_bytes);
	munmap(d->cq, d->cq_bytes);
	close(d->fd);
}

static inline int mcdev_reg(int fd, void *addr, uint64_t len, uint32_t *id)
{
	struct mc_buf_reg r = { .size = sizeof(r), .addr = (uintptr_t)addr, .len = len };
	int ret = mc_ioctl(fd, MC_IOC_BUF_REG, &r);

	*id = r.out_id;
	return ret;
}

static inline int mcdev_reg_batch(int fd, struct mc_buf_item *items, uint32_t n, uint32_t *index)
{
	struct mc_buf_reg_batch b = { .size = sizeof(b), .count = n, .items = (uintptr_t)items };
	int ret = mc_ioctl(fd, MC_IOC_BUF_REG_BATCH, &b);

	*index = b.out_index;
	return ret;
}

static inline int mcdev_unreg(int fd, uint32_t id)
{
	struct mc_handle h = { .size = sizeof(h), .id = id };

	return mc_ioctl(fd, MC_IOC_BUF_UNREG, &h);
}

#define MCDEV_GRANTS 1024

struct mcdev_grant {
	int fd;
	uint32_t seg, id;
};

static struct mcdev_grant mcdev_granted[MCDEV_GRANTS];
static unsigned int mcdev_ngranted;
static bool mcdev_grants_off;

static inline void mcdev_grants(bool on)
{
	mcdev_grants_off = !on;
}

static inline int mcdev_grant_all(int fd, const struct mc_seg_open *o)
{
	struct mcdev_grant *e = &mcdev_granted[mcdev_ngranted++ % MCDEV_GRANTS];
	struct mc_grant g;
	int ret = mcgrant_make(&g, o->seg_uuid, o->out_len, MC_GRANT_R | MC_GRANT_W);

	e->fd = -1;
	if (!ret)
		ret = mcgrant_add(fd, &g, &e->id);
	if (ret)
		return ret;
	e->seg = o->out_id;
	e->fd = fd;
	return 0;
}

static inline int mcdev_seg_close(int fd, uint32_t id)
{
	struct mc_handle h = { .size = sizeof(h), .id = id };

	return mc_ioctl(fd, MC_IOC_SEG_CLOSE, &h);
}

static inline uint32_t mcdev_grant_of(int fd, uint32_t seg)
{
	unsigned int i, n = mcdev_ngranted < MCDEV_GRANTS ? mcdev_ngranted : MCDEV_GRANTS;
	struct mcgrant_node node;

	for (i = 1; i <= n; i++) {
		const struct mcdev_grant *e = &mcdev_granted[(mcdev_ngranted - i) % MCDEV_GRANTS];

		if (e->fd != fd || e->seg != seg)
			continue;
		mcgrant_clock(&node);
		return e->id;
	}
	return 0;
}

static inline int mcdev_seg_open(int fd, const uint8_t *node, const uint8_t *seg, uint64_t timeout_ns, uint32_t *id,
				 uint64_t *len)
{
	struct mc_seg_open o = { .size = sizeof(o), .timeout_ns = timeout_ns };
	int ret;

	memcpy(o.node_uuid, node, 16);
	memcpy(o.seg_uuid, seg, 16);
	ret = mc_ioctl(fd, MC_IOC_SEG_OPEN, &o);
	*id = o.out_id;
	if (len)
		*len = o.out_len;
	if (ret || !(o.out_flags & MC_SEG_NEEDS_GRANT) || mcdev_grants_off)
		return ret;
	ret = mcdev_grant_all(fd, &o);
	if (ret)
		mcdev_seg_close(fd, o.out_id);
	return ret;
}

/* As it is, 64 bytes and more without a closing NUL: what is refused must be sayable. */
static inline void mcdev_name(uint8_t *out, const char *name)
{
	size_t n = strlen(name);

	memcpy(out, name, n < MC_NAME_LEN ? n : MC_NAME_LEN);
}

static inline int mcdev_seg_open_name(int fd, const uint8_t *node, const char *name, uint32_t *id,
				      struct mc_seg_open *out)
{
	struct mc_seg_open o = { .size = sizeof(o), .timeout_ns = 10 * SEC };
	int ret;

	memcpy(o.node_uuid, node, 16);
	mcdev_name(o.name, name);
	ret = mc_ioctl(fd, MC_IOC_SEG_OPEN, &o);
	*id = o.out_id;
	if (out)
		*out = o;
	return ret;
}

static inline int mcdev_export(int fd, uint32_t buf, const char *name, uint32_t rights, struct mc_seg_export *out)
{
	struct mc_seg_export e = { .size = sizeof(e), .buf_id = buf, .rights = rights };
	int ret;

	mcdev_name(e.name, name);
	ret = mc_ioctl(fd, MC_IOC_SEG_EXPORT, &e);
	if (out)
		*out = e;
	return ret;
}

static inline int mcdev_unexport(int fd, const uint8_t *seg)
{
	struct mc_seg_unexport u = { .size = sizeof(u) };

	memcpy(u.seg_uuid, seg, 16);
	return mc_ioctl(fd, MC_IOC_SEG_UNEXPORT, &u);
}

static inline struct mc_sqe mcdev_sqe(uint8_t op, uint32_t buf, uint64_t buf_off, uint32_t seg, uint64_t seg_off,
				      uint64_t len, uint64_t cookie)
{
	struct mc_sqe e = { .opcode = op, .buf_id = buf, .buf_off = buf_off, .target_id = seg, .target_off = seg_off,
			    .len = len, .cookie = cookie };

	return e;
}

/* Put an entry into the ring; the caller knows that there is room. */
static inline void mcdev_push(struct mcdev *d, const struct mc_sqe *e)
{
	uint32_t tail = d->sq->tail;

	d->sqes[tail & (d->sq_entries - 1)] = *e;
	if (!e->grant_id && !mcdev_grants_off && (e->opcode == MC_OP_READ || e->opcode == MC_OP_WRITE))
		d->sqes[tail & (d->sq_entries - 1)].grant_id = mcdev_grant_of(d->fd, e->target_id);
	__atomic_store_n(&d->sq->tail, tail + 1, __ATOMIC_RELEASE);
}

static inline int mcdev_enter(struct mcdev *d, uint32_t submit, uint32_t complete, uint64_t timeout_ns,
			      struct mc_enter *out)
{
	struct mc_enter e = { .size = sizeof(e), .to_submit = submit, .min_complete = complete,
			      .timeout_ns = timeout_ns };
	int ret = mc_ioctl(d->fd, MC_IOC_ENTER, &e);

	if (out)
		*out = e;
	return ret;
}

/* Take one completion; 0 when none waits. */
static inline int mcdev_pop(struct mcdev *d, struct mc_cqe *out)
{
	uint32_t head = d->sq->cq_head;

	if (__atomic_load_n(&d->cq->tail, __ATOMIC_ACQUIRE) == head)
		return 0;
	*out = d->cqes[head & (d->cq_entries - 1)];
	__atomic_store_n(&d->sq->cq_head, head + 1, __ATOMIC_RELEASE);
	return 1;
}

/* One request from start to end: its result, or the error of waiting for it. */
static inline int mcdev_do(struct mcdev *d, const struct mc_sqe *e, uint64_t timeout_ns, struct mc_cqe *out)
{
	struct mc_cqe cqe;
	int ret;

	mcdev_push(d, e);
	ret = mcdev_enter(d, 1, 1, timeout_ns, NULL);
	if (ret)
		return ret;
	if (!mcdev_pop(d, &cqe))
		return -ENODATA;
	if (out)
		*out = cqe;
	return cqe.result;
}

/* "11111111-0000-4000-8000-000000000001" or without the dashes; false when it is none. */
static inline bool mc_uuid_parse(const char *s, uint8_t *uuid)
{
	int i;

	for (i = 0; i < 16; i++, s += 2) {
		if (*s == '-')
			s++;
		if (sscanf(s, "%2hhx", &uuid[i]) != 1)
			return false;
	}
	return true;
}

static inline uint64_t mc_rand(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline void mc_fill(uint8_t *p, uint64_t len, uint64_t seed)
{
	uint64_t i;

	for (i = 0; i < len; i++) {
		if (!(i & 7))
			mc_rand(&seed);
		p[i] = (uint8_t)(seed >> (8 * (i & 7))) ^ (uint8_t)(i >> 12);
	}
}

/* A number from a one-value file (sysfs), -1 when it can't be read. */
static inline long long mc_read_number(const char *path)
{
	char buf[64];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	buf[n] = 0;
	return strtoll(buf, NULL, 10);
}

#define MC_SYSFS "/sys/class/misc/mooncake/"

/* How many times slower than a current machine this one is. */
static inline int mcdev_scale(void)
{
	const char *s = getenv("MC_TIME_SCALE");
	int scale = s ? atoi(s) : 1;

	return scale < 1 ? 1 : scale > 100 ? 100 : scale;
}

/* Wait up to limit_ms x scale for a sysfs number to become want. */
static inline int mc_wait_number(const char *path, long long want, int limit_ms)
{
	long long left = (long long)limit_ms * mcdev_scale();

	while (left > 0 && mc_read_number(path) != want) {
		usleep(10000);
		left -= 10;
	}
	return mc_read_number(path) == want ? 0 : -ETIME;
}

#endif /* MCDEV_H */
