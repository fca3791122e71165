// SPDX-License-Identifier: MIT
/*
 * C-65: connect, begin transfers, disconnect while they are in flight, over and over.
 *
 *	prog_cycles COUNT NODE ADDR SEGMENT SEED
 *
 * What READs bring is compared with what was written before the first cycle. The last line has the counts; the status
 * is 0 when no request was lost and no byte was wrong.
 */
#include <arpa/inet.h>
#include <time.h>

#include "mcdev.h"
#include "mcnl.h"

#define REQUESTS	4
#define LEN		(256u << 10)

/**
 * struct job - everything that lives as long as the program
 * @d: device
 * @node: of the peer
 * @seg: its segment
 * @addr: IPv4 address of its rail
 * @mem: REQUESTS times LEN
 * @want: what the segment holds
 * @buf: handle of @mem
 * @good: requests that ended well
 * @cut: requests that ended with an error
 * @wrong: READs that brought other bytes
 * @errors: the same by errno
 */
struct job {
	struct mcdev d;
	uint8_t node[16];
	uint8_t seg[16];
	struct in_addr addr;
	uint8_t *mem;
	uint8_t *want;
	uint32_t buf;
	unsigned int good;
	unsigned int cut;
	unsigned int wrong;
	unsigned int errors[256];
};

static int connect_peer(struct job *j)
{
	static struct mcnl_msg m;
	int all, one;

	mcnl_begin(&m, MC_CMD_PEER_SET);
	mcnl_put(&m, MC_ATTR_NODE_UUID, j->node, 16);
	all = mcnl_nest(&m, MC_ATTR_RAILS);
	one = mcnl_nest(&m, MC_ATTR_RAIL);
	mcnl_put_u32(&m, MC_ATTR_RAIL_ID, 1);
	mcnl_put(&m, MC_ATTR_ADDR, &j->addr, 4);
	mcnl_nest_end(&m, one);
	mcnl_nest_end(&m, all);
	return mcnl_call(&m);
}

static int disconnect_peer(struct job *j)
{
	static struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_PEER_DEL);
	mcnl_put(&m, MC_ATTR_NODE_UUID, j->node, 16);
	return mcnl_call(&m);
}

/* Even ones read what is there, odd ones write the same again. */
static void begin(struct job *j, uint32_t seg)
{
	struct mc_sqe e;
	uint32_t i;

	for (i = 0; i < REQUESTS; i++) {
		if (i % 2)
			memcpy(j->mem + i * LEN, j->want + i * LEN, LEN);
		else
			memset(j->mem + i * LEN, 0x5a, LEN);
		e = mcdev_sqe(i % 2 ? MC_OP_WRITE : MC_OP_READ, j->buf, i * LEN, seg, i * LEN, LEN, i);
		mcdev_push(&j->d, &e);
	}
}

/* -ETIME: a completion is missing. */
static int reap(struct job *j)
{
	struct mc_cqe c;
	uint32_t n;
	int ret;

	for (n = 0; n < REQUESTS; n++) {
		ret = mcdev_enter(&j->d, 0, 1, 60 * SEC, NULL);
		if (ret || !mcdev_pop(&j->d, &c))
			return ret ? ret : -ETIME;
		if (c.result) {
			j->cut++;
			j->errors[-c.result & 255]++;
		} else {
			j->good++;
			j->wrong += memcmp(j->mem + c.cookie * LEN, j->want + c.cookie * LEN, LEN) != 0;
		}
	}
	return 0;
}

static int cycle(struct job *j, unsigned int wait_us)
{
	uint32_t seg;
	int ret = connect_peer(j), end;

	if (ret)
		return ret;
	ret = mcdev_seg_open(j->d.fd, j->node, j->seg, 60 * SEC, &seg, NULL);
	if (ret)
		return ret;
	begin(j, seg);
	ret = mcdev_enter(&j->d, REQUESTS, 0, SEC, NULL);
	usleep(wait_us);
	end = disconnect_peer(j);
	if (!ret)
		ret = reap(j);
	mcdev_seg_close(j->d.fd, seg);
	return ret ? ret : end;
}

static int start(struct job *j, char **v)
{
	uint8_t *mem = mmap(NULL, 2 * REQUESTS * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mc_sqe e;
	uint32_t seg;
	int ret;

	if (mem == MAP_FAILED || !mc_uuid_parse(v[2], j->node) || inet_pton(AF_INET, v[3], &j->addr) != 1 ||
	    !mc_uuid_parse(v[4], j->seg))
		return -EINVAL;
	j->mem = mem;
	j->want = mem + REQUESTS * LEN;
	mc_fill(j->want, REQUESTS * LEN, strtoull(v[5], NULL, 0));
	memcpy(j->mem, j->want, REQUESTS * LEN);
	ret = mcdev_open(&j->d, 16, 16);
	if (!ret)
		ret = mcdev_reg(j->d.fd, j->mem, REQUESTS * LEN, &j->buf);
	if (!ret)
		ret = connect_peer(j);
	if (!ret)
		ret = mcdev_seg_open(j->d.fd, j->node, j->seg, 60 * SEC, &seg, NULL);
	if (ret)
		return ret;
	e = mcdev_sqe(MC_OP_WRITE, j->buf, 0, seg, 0, REQUESTS * LEN, 0);
	ret = mcdev_do(&j->d, &e, 60 * SEC, NULL);
	mcdev_seg_close(j->d.fd, seg);
	return ret ? ret : disconnect_peer(j);
}

int main(int argc, char **argv)
{
	static struct job j;
	unsigned int i, count;
	uint64_t seed;
	int ret;

	if (argc != 6)
		return 2;
	count = (unsigned int)atoi(argv[1]);
	seed = strtoull(argv[5], NULL, 0);
	ret = start(&j, argv);
	for (i = 0; !ret && i < count; i++)
		ret = cycle(&j, (unsigned int)(mc_rand(&seed) % 60000));
	for (unsigned int e = 0; e < 256; e++)
		if (j.errors[e])
			printf("# %u times %s\n", j.errors[e], strerrorname_np((int)e));
	printf("cycles=%u good=%u cut=%u wrong=%u result=%d %s\n", i, j.good, j.cut, j.wrong, ret, mcnl_error);
	return ret || j.wrong || j.good + j.cut != REQUESTS * count;
}
