// SPDX-License-Identifier: MIT
/*
 * C-49 on the wire: connect, open, register and move bytes with the n-th allocation of the module failing, for each n.
 * Each failure is a documented error or is got over; what is read is what was written; nothing stays.
 *
 *	prog_failnth NODE ADDR SEG FIRST LAST	set the hook any_alloc on this node to FIRST, ... LAST
 *	prog_failnth NODE ADDR SEG		once without: the hook was set on the other node
 */
#include <arpa/inet.h>
#include <stdbool.h>

#include "mcdev.h"
#include "mcnl.h"

#define LEN 65536

static uint8_t out[LEN], in[LEN];

/* The peer anew, so that the next open connects again. */
static int peer_again(const uint8_t *node, const char *addr)
{
	static struct mcnl_msg m;
	struct in_addr a;
	int all, one;

	inet_pton(AF_INET, addr, &a);
	mcnl_begin(&m, MC_CMD_PEER_DEL);
	mcnl_put(&m, MC_ATTR_NODE_UUID, node, 16);
	mcnl_call(&m);
	mcnl_begin(&m, MC_CMD_PEER_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, node, 16);
	all = mcnl_nest(&m, MC_ATTR_RAILS);
	one = mcnl_nest(&m, MC_ATTR_RAIL);
	mcnl_put(&m, MC_ATTR_ADDR, &a, sizeof(a));
	mcnl_nest_end(&m, one);
	mcnl_nest_end(&m, all);
	return mcnl_call(&m);
}

static bool documented(int err)
{
	return err == -ENOMEM || err == -ETIMEDOUT || err == -EIO || err == -EHOSTUNREACH;
}

/* 0, or the first error of the way. */
static int once(const uint8_t *node, const uint8_t *seg)
{
	uint32_t a, b, s;
	struct mc_sqe e;
	struct mcdev d;
	int ret;

	ret = mcdev_open(&d, 4, 4);
	if (ret) {
		if (d.fd >= 0)
			close(d.fd);
		return ret;
	}
	memset(in, 0, LEN);
	ret = mcdev_reg(d.fd, out, LEN, &a);
	ret = ret ? ret : mcdev_reg(d.fd, in, LEN, &b);
	ret = ret ? ret : mcdev_seg_open(d.fd, node, seg, 20 * SEC, &s, NULL);
	if (!ret) {
		e = mcdev_sqe(MC_OP_WRITE, a, 0, s, 0, LEN, 1);
		ret = mcdev_do(&d, &e, 70 * SEC, NULL);
	}
	if (!ret) {
		e = mcdev_sqe(MC_OP_READ, b, 0, s, 0, LEN, 2);
		ret = mcdev_do(&d, &e, 70 * SEC, NULL);
	}
	if (!ret && memcmp(in, out, LEN))
		ret = -EILSEQ;
	mcdev_close(&d);
	return ret;
}

static int nothing_left(void)
{
	return mc_wait_number(MC_SYSFS "buffers", 0, 30000) || mc_wait_number(MC_SYSFS "requests", 0, 30000) ||
	       mc_wait_number(MC_SYSFS "pinned_bytes", 0, 30000);
}

int main(int argc, char **argv)
{
	int n, first = argc == 6 ? atoi(argv[4]) : 0, last = argc == 6 ? atoi(argv[5]) : 0, ret, failures = 0;
	uint8_t node[16], seg[16];

	if ((argc != 4 && argc != 6) || !mc_uuid_parse(argv[1], node) || !mc_uuid_parse(argv[3], seg))
		return 2;
	for (n = first; n <= last; n++) {
		mc_fill(out, LEN, (uint64_t)n + 1);
		if (peer_again(node, argv[2])) {
			fprintf(stderr, "peer: %s\n", mcnl_error);
			return 1;
		}
		if (n && mcnl_fault_set("any_alloc", (uint64_t)n))
			return 1;
		ret = once(node, seg);
		if (n && mcnl_fault_set("any_alloc", 0))
			return 1;
		if (ret && !documented(ret)) {
			fprintf(stderr, "allocation %d: error %d\n", n, ret);
			return 1;
		}
		failures += !!ret;
		if (nothing_left()) {
			fprintf(stderr, "allocation %d: error %d: not all came back\n", n, ret);
			return 1;
		}
	}
	/* Whatever happened, now it works. */
	ret = once(node, seg);
	printf("%d of %d failed, the last try %d\n", failures, last - first + 1, ret);
	return ret ? 1 : 0;
}
