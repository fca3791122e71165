// SPDX-License-Identifier: MIT
/* /dev/mooncake: open, buffers, segments. Transfers are in batch.c and ring.c. */
#include "dev_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

struct kernel {
	int fd;
};

static int kernel_ioctl(void *ctx, unsigned long cmd, void *arg)
{
	struct kernel *k = ctx;

	return ioctl(k->fd, cmd, arg) ? -errno : 0;
}

static void *kernel_map(void *ctx, uint64_t off, size_t len, bool writable)
{
	struct kernel *k = ctx;
	void *p = mmap(NULL, len, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, k->fd, off);

	return p == MAP_FAILED ? NULL : p;
}

static void kernel_unmap(void *ctx, void *addr, size_t len)
{
	(void)ctx;
	munmap(addr, len);
}

static void kernel_close(void *ctx)
{
	struct kernel *k = ctx;

	close(k->fd);
	free(k);
}

static const struct mc_dev_ops kernel_ops = {
	.ioctl = kernel_ioctl,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.close = kernel_close,
};

static int open_failed(const char *path, int sys, struct mc_error *err)
{
	if (sys == ENOENT || sys == ENXIO || sys == ENODEV)
		return mc_error_set(err, -sys, sys, "device %s: %s: is the module mooncake loaded?", path,
				    strerror(sys));
	if (sys == EACCES || sys == EPERM)
		return mc_error_set(err, -sys, sys, "device %s: %s: members of group mooncake may open it", path,
				    strerror(sys));
	return mc_error_set(err, -sys, sys, "device %s: %s", path, strerror(sys));
}

int mc_dev_open(const char *path, uint32_t ring_entries, struct mc_dev **out, struct mc_error *err)
{
	struct kernel *k = malloc(sizeof(*k));

	if (!path)
		path = MC_DEV_PATH;
	if (!k)
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory", path);
	k->fd = open(path, O_RDWR | O_CLOEXEC);
	if (k->fd < 0) {
		int sys = errno;

		free(k);
		return open_failed(path, sys, err);
	}
	return mc_dev_open_ops(&kernel_ops, k, k->fd, path, ring_entries, out, err);
}

static int check_abi(struct mc_dev *dev, uint32_t *entries, struct mc_error *err)
{
	struct mc_info info;
	int rc = mc_dev_info(dev, &info, err);

	if (rc == -ENOTTY)
		return mc_error_set(err, rc, ENOTTY, "device %s is not mooncake's", dev->path);
	if (rc)
		return rc;
	if (info.abi_major != MC_ABI_MAJOR)
		return mc_error_set(err, -EPROTO, EPROTO,
				    "device %s: the module's ABI is %u.%u, this library needs %u.x", dev->path,
				    info.abi_major, info.abi_minor, MC_ABI_MAJOR);
	if (*entries > info.max_ring_entries)
		return mc_error_set(err, -EINVAL, EINVAL, "device %s: ring of %u entries is above its limit of %u",
				    dev->path, *entries, info.max_ring_entries);
	return 0;
}

/* The areas must be large enough for what the kernel says is in them, or this library and the kernel disagree. */
static int check_areas(struct mc_dev *dev, const struct mc_ring_setup *s, struct mc_error *err)
{
	if (s->out_sqe_off >= sizeof(struct mc_sq_head) && s->out_cqe_off >= sizeof(struct mc_cq_head) &&
	    (uint64_t)s->out_sqe_off + (uint64_t)s->sq_entries * sizeof(struct mc_sqe) <= s->out_sq_bytes &&
	    (uint64_t)s->out_cqe_off + (uint64_t)s->cq_entries * sizeof(struct mc_cqe) <= s->out_cq_bytes)
		return 0;
	return mc_error_set(err, -EPROTO, EPROTO,
			    "device %s: ring areas of %u and %u bytes don't hold %u and %u entries", dev->path,
			    s->out_sq_bytes, s->out_cq_bytes, s->sq_entries, s->cq_entries);
}

static int map_ring(struct mc_dev *dev, const struct mc_ring_setup *s, struct mc_error *err)
{
	char *sq = dev->ops->map(dev->ctx, MC_OFF_SQ, s->out_sq_bytes, true);
	char *cq;

	if (!sq)
		return mc_error_set(err, -errno, errno, "device %s: mapping its submission ring (%u bytes): %s",
				    dev->path, s->out_sq_bytes, strerror(errno));
	dev->sq = (struct mc_sq_head *)sq;
	dev->sq_bytes = s->out_sq_bytes;
	cq = dev->ops->map(dev->ctx, MC_OFF_CQ, s->out_cq_bytes, false);
	if (!cq)
		return mc_error_set(err, -errno, errno, "device %s: mapping its completion ring (%u bytes): %s",
				    dev->path, s->out_cq_bytes, strerror(errno));
	dev->cq = (struct mc_cq_head *)cq;
	dev->cq_bytes = s->out_cq_bytes;
	dev->sqes = (struct mc_sqe *)(sq + s->out_sqe_off);
	dev->cqes = (struct mc_cqe *)(cq + s->out_cqe_off);
	dev->sq_entries = s->sq_entries;
	dev->cq_entries = s->cq_entries;
	/* The rings may not begin at 0. */
	dev->sq_tail = dev->sq->tail;
	dev->cq_head = dev->sq->cq_head;
	return 0;
}

static int new_slots(struct mc_dev *dev, struct mc_error *err)
{
	uint32_t i;

	dev->slots = calloc(dev->cq_entries, sizeof(*dev->slots));
	if (!dev->slots)
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory for %u entries", dev->path,
				    dev->cq_entries);
	for (i = 0; i < dev->cq_entries; i++)
		dev->slots[i].next_free = i + 1 < dev->cq_entries ? i + 1 : UINT32_MAX;
	return 0;
}

static int setup_ring(struct mc_dev *dev, uint32_t entries, struct mc_error *err)
{
	struct mc_ring_setup s = { .size = sizeof(s) };
	uint32_t n = 1;
	int rc;

	rc = check_abi(dev, &entries, err);
	if (rc)
		return rc;
	while (n < entries)
		n *= 2;
	s.sq_entries = n;
	s.cq_entries = n;
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_RING_SETUP, &s);
	if (rc)
		return mc_error_set(err, rc, -rc, "device %s: setting up a ring of %u entries: %s", dev->path, n,
				    strerror(-rc));
	rc = check_areas(dev, &s, err);
	if (!rc)
		rc = map_ring(dev, &s, err);
	if (!rc)
		rc = new_slots(dev, err);
	return rc;
}

int mc_dev_open_ops(const struct mc_dev_ops *ops, void *ctx, int fd, const char *path, uint32_t ring_entries,
		    struct mc_dev **out, struct mc_error *err)
{
	struct mc_dev *dev = calloc(1, sizeof(*dev));
	pthread_condattr_t attr;
	int rc;

	if (!dev) {
		ops->close(ctx);
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory", path);
	}
	dev->ops = ops;
	dev->ctx = ctx;
	dev->fd = fd;
	TAILQ_INIT(&dev->unsent);
	LIST_INIT(&dev->bufs);
	LIST_INIT(&dev->segs);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dev->cond, &attr);
	pthread_condattr_destroy(&attr);
	dev->path = strdup(path);
	if (!dev->path)
		rc = mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory", path);
	else
		rc = setup_ring(dev, ring_entries ? ring_entries : MC_DEV_RING_ENTRIES, err);
	if (rc) {
		mc_dev_close(dev);
		return rc;
	}
	*out = dev;
	return 0;
}

static void free_handles(struct mc_dev *dev)
{
	struct mc_buf *buf;
	struct mc_seg *seg;

	while ((buf = LIST_FIRST(&dev->bufs))) {
		LIST_REMOVE(buf, link);
		free(buf);
	}
	while ((seg = LIST_FIRST(&dev->segs))) {
		LIST_REMOVE(seg, link);
		free(seg);
	}
}

void mc_dev_close(struct mc_dev *dev)
{
	if (!dev)
		return;
	if (dev->cq)
		dev->ops->unmap(dev->ctx, (void *)dev->cq, dev->cq_bytes);
	if (dev->sq)
		dev->ops->unmap(dev->ctx, dev->sq, dev->sq_bytes);
	dev->ops->close(dev->ctx);
	mc_ring_forget(dev);
	free_handles(dev);
	pthread_cond_destroy(&dev->cond);
	pthread_mutex_destroy(&dev->lock);
	free(dev->slots);
	free(dev->path);
	free(dev);
}

int mc_dev_fd(const struct mc_dev *dev)
{
	return dev->fd;
}

const char *mc_dev_path(const struct mc_dev *dev)
{
	return dev->path;
}

int mc_dev_info(struct mc_dev *dev, struct mc_info *info, struct mc_error *err)
{
	int rc;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_INFO, info);
	if (rc)
		return mc_error_set(err, rc, -rc, "device %s: asking what it is: %s", dev->path, strerror(-rc));
	return 0;
}

int mc_dev_eventfd(struct mc_dev *dev, int fd, struct mc_error *err)
{
	struct mc_eventfd e = { .size = sizeof(e), .fd = fd };
	int rc = dev->ops->ioctl(dev->ctx, MC_IOC_EVENTFD, &e);

	if (rc)
		return mc_error_set(err, rc, -rc, "device %s: setting eventfd %d: %s", dev->path, fd, strerror(-rc));
	return 0;
}

static const char *why_not_registered(int rc)
{
	switch (rc) {
	case -ENOMEM:
		return " (ulimit -l, or memory)";
	case -EFAULT:
		return " (not mapped, or not writable)";
	case -EOPNOTSUPP:
		return " (a file or device mapping)";
	case -ENOSPC:
		return " (too many buffers)";
	}
	return "";
}

int mc_buf_register(struct mc_dev *dev, void *addr, uint64_t len, struct mc_buf **out, struct mc_error *err)
{
	struct mc_buf_reg r = { .size = sizeof(r), .addr = (uintptr_t)addr, .len = len };
	struct mc_buf *buf = calloc(1, sizeof(*buf));
	int rc;

	if (!buf)
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory for a buffer", dev->path);
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_BUF_REG, &r);
	if (rc) {
		free(buf);
		return mc_error_set(err, rc, -rc, "device %s: registering %" PRIu64 " bytes at %p: %s%s", dev->path,
				    len, addr, strerror(-rc), why_not_registered(rc));
	}
	buf->dev = dev;
	buf->id = r.out_id;
	buf->addr = addr;
	buf->len = len;
	buf->refs = 1;
	pthread_mutex_lock(&dev->lock);
	LIST_INSERT_HEAD(&dev->bufs, buf, link);
	pthread_mutex_unlock(&dev->lock);
	*out = buf;
	return 0;
}

void mc_buf_put_locked(struct mc_buf *buf)
{
	if (--buf->refs)
		return;
	LIST_REMOVE(buf, link);
	free(buf);
}

int mc_buf_unregister(struct mc_buf *buf, struct mc_error *err)
{
	struct mc_handle h = { .size = sizeof(h) };
	struct mc_dev *dev;
	uint64_t len;
	void *addr;
	bool busy;
	int rc;

	if (!buf)
		return 0;
	dev = buf->dev;
	h.id = buf->id;
	addr = buf->addr;
	len = buf->len;
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_BUF_UNREG, &h);
	pthread_mutex_lock(&dev->lock);
	busy = mc_buf_busy(buf);
	mc_buf_put_locked(buf);
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return mc_error_set(err, -EBUSY, EBUSY,
				    "device %s: buffer %u (%" PRIu64
				    " bytes at %p) may still be written: don't reuse it",
				    dev->path, h.id, len, addr);
	if (rc)
		return mc_error_set(err, rc, -rc, "device %s: unregistering buffer %u: %s", dev->path, h.id,
				    strerror(-rc));
	return 0;
}

bool mc_buf_busy(const struct mc_buf *buf)
{
	return atomic_load(&buf->late) != 0;
}

void *mc_buf_addr(const struct mc_buf *buf)
{
	return buf->addr;
}

uint64_t mc_buf_len(const struct mc_buf *buf)
{
	return buf->len;
}

int mc_seg_open(struct mc_dev *dev, const uint8_t *node_uuid, const uint8_t *seg_uuid, uint32_t timeout_ms,
		struct mc_seg **out, struct mc_error *err)
{
	struct mc_seg_open o = { .size = sizeof(o), .timeout_ns = timeout_ms * 1000000ull };
	struct mc_seg *seg = calloc(1, sizeof(*seg));
	char node[MC_UUID_TEXT], name[MC_UUID_TEXT];
	int rc;

	if (!seg)
		return mc_error_set(err, -ENOMEM, ENOMEM, "device %s: no memory for a segment", dev->path);
	memcpy(o.node_uuid, node_uuid, MC_UUID_LEN);
	memcpy(o.seg_uuid, seg_uuid, MC_UUID_LEN);
	do
		rc = dev->ops->ioctl(dev->ctx, MC_IOC_SEG_OPEN, &o);
	while (rc == -EINTR);
	if (rc) {
		free(seg);
		return mc_error_set(err, rc, -rc, "device %s: opening segment %s of node %s: %s", dev->path,
				    mc_uuid_text(seg_uuid, name), mc_uuid_text(node_uuid, node), strerror(-rc));
	}
	seg->dev = dev;
	seg->id = o.out_id;
	seg->len = o.out_len;
	seg->local = o.out_flags & MC_SEG_LOCAL;
	pthread_mutex_lock(&dev->lock);
	LIST_INSERT_HEAD(&dev->segs, seg, link);
	pthread_mutex_unlock(&dev->lock);
	*out = seg;
	return 0;
}

void mc_seg_close(struct mc_seg *seg)
{
	struct mc_handle h = { .size = sizeof(h) };

	if (!seg)
		return;
	h.id = seg->id;
	/* The only failure is a handle the kernel has forgotten already, which is what closing is for. */
	(void)seg->dev->ops->ioctl(seg->dev->ctx, MC_IOC_SEG_CLOSE, &h);
	pthread_mutex_lock(&seg->dev->lock);
	LIST_REMOVE(seg, link);
	pthread_mutex_unlock(&seg->dev->lock);
	free(seg);
}

uint64_t mc_seg_len(const struct mc_seg *seg)
{
	return seg->len;
}

bool mc_seg_local(const struct mc_seg *seg)
{
	return seg->local;
}
