// SPDX-License-Identifier: MIT
/*
 * A process that exports segments or uses those of others, for segment.sh: it reads commands from a FIFO and answers
 * each with one line that begins with the command's number.
 *
 *	export NAME none|read|all LEN SEED	a buffer with the bytes of SEED -> result off len gen uuid
 *	unexport				what was exported last -> result
 *	bytes OFF LEN SEED			are those in what was exported last? -> same|wrong at N
 *	open NODE NAME				as a handle, numbered from 0 -> result len rights gen uuid
 *	open-uuid NODE UUID			-> the same
 *	open-within NODE NAME MS		-> result, ms=how many it took
 *	put|get HANDLE OFF LEN SEED		-> result, get: with every byte compared
 *	loop HANDLE				gets a page until that fails -> result
 */
#include <sys/stat.h>

#include "mcdev.h"
#include "mcnl.h"

#define MAX 16
#define ROOM (16u << 20)

static struct mcdev dev;
static uint8_t *exported;	/* all buffers, one after the other */
static uint64_t used;
static struct mc_seg_export last;
static uint64_t first;		/* of the last segment in @exported */
static uint32_t seg[MAX], nsegs, own;
static uint8_t *mine;

static const char *name_of(int err)
{
	return err ? strerrorname_np(-err) : "OK";
}

static void print_uuid(const uint8_t *u)
{
	int i;

	for (i = 0; i < 16; i++)
		printf("%02x", u[i]);
	printf("\n");
}

static void do_export(char **v)
{
	uint32_t rights = !strcmp(v[1], "none") ? 0 : !strcmp(v[1], "read") ? MC_RIGHT_READ :
			  MC_RIGHT_READ | MC_RIGHT_WRITE;
	uint64_t len = strtoull(v[2], NULL, 0);
	uint8_t *p = exported + used;
	struct mc_seg_export e;
	uint32_t buf;
	int ret;

	mc_fill(p, len, strtoull(v[3], NULL, 0));
	ret = mcdev_reg(dev.fd, p, len, &buf);
	if (!ret) {
		ret = mcdev_export(dev.fd, buf, strcmp(v[0], "-") ? v[0] : "", rights, &e);
		if (ret)
			mcdev_unreg(dev.fd, buf);
	}
	printf("%s ", name_of(ret));
	if (ret) {
		printf("\n");
		return;
	}
	if (e.out_gen == 1)
		first = used;
	last = e;
	used += len;
	printf("off=%llu len=%llu gen=%u uuid=", (unsigned long long)e.out_off, (unsigned long long)e.out_len,
	       e.out_gen);
	print_uuid(e.out_seg_uuid);
}

static void compare(const uint8_t *p, uint64_t len, uint64_t seed)
{
	uint8_t *want = malloc(len);
	uint64_t i;

	mc_fill(want, len, seed);
	for (i = 0; i < len && p[i] == want[i]; i++)
		;
	if (i < len)
		printf("wrong at %llu\n", (unsigned long long)i);
	else
		printf("same\n");
	free(want);
}

static void do_open(char **v, bool by_uuid)
{
	uint8_t node[16];
	struct mc_seg_open o = { .size = sizeof(o), .timeout_ns = 20 * SEC };
	int ret;

	mc_uuid_parse(v[0], node);
	if (by_uuid) {
		memcpy(o.node_uuid, node, 16);
		mc_uuid_parse(v[1], o.seg_uuid);
		ret = mc_ioctl(dev.fd, MC_IOC_SEG_OPEN, &o);
	} else {
		ret = mcdev_seg_open_name(dev.fd, node, strcmp(v[1], "-") ? v[1] : "", &o.out_id, &o);
	}
	printf("%s ", name_of(ret));
	if (ret) {
		printf("\n");
		return;
	}
	seg[nsegs++ % MAX] = o.out_id;
	printf("handle=%u len=%llu rights=%u gen=%u uuid=", nsegs - 1, (unsigned long long)o.out_len, o.out_rights,
	       o.out_gen);
	print_uuid(o.out_seg_uuid);
}

static void do_open_within(char **v)
{
	struct mc_seg_open o = { .size = sizeof(o), .timeout_ns = strtoull(v[2], NULL, 0) * 1000000 };
	struct timespec a, b;
	int ret;

	mc_uuid_parse(v[0], o.node_uuid);
	mcdev_name(o.name, v[1]);
	clock_gettime(CLOCK_MONOTONIC, &a);
	ret = mc_ioctl(dev.fd, MC_IOC_SEG_OPEN, &o);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%s ms=%lld\n", name_of(ret),
	       (long long)(b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
}

static int request(uint8_t op, uint32_t handle, uint64_t off, uint64_t len)
{
	struct mc_sqe e = mcdev_sqe(op, own, 0, seg[handle % MAX], off, len, 1);

	e.timeout_ns = 30 * SEC;
	return mcdev_do(&dev, &e, 60 * SEC, NULL);
}

static void do_move(char **v, bool put)
{
	uint32_t handle = (uint32_t)atoi(v[0]);
	uint64_t off = strtoull(v[1], NULL, 0), len = strtoull(v[2], NULL, 0), seed = strtoull(v[3], NULL, 0);
	int ret;

	if (put)
		mc_fill(mine, len, seed);
	else
		memset(mine, 0x5a, len);
	ret = request(put ? MC_OP_WRITE : MC_OP_READ, handle, off, len);
	printf("%s ", name_of(ret));
	if (put || ret)
		printf("\n");
	else
		compare(mine, len, seed);
}

static void do_loop(char **v)
{
	unsigned int n = 0;
	int ret;

	do {
		ret = request(MC_OP_READ, (uint32_t)atoi(v[0]), 0, 4096);
		if (!n++) {
			printf("begun\n");
			fflush(stdout);
		}
	} while (!ret);
	printf("ended %s after %s\n", name_of(ret), n > 1 ? "some" : "none");
}

static void run(char *line)
{
	char *v[8] = { "", "", "", "", "", "", "", "" };
	int n = 0;

	for (char *w = strtok(line, " \n"); w && n < 8; w = strtok(NULL, " \n"))
		v[n++] = w;
	if (!strcmp(v[0], "export"))
		do_export(v + 1);
	else if (!strcmp(v[0], "unexport"))
		printf("%s\n", name_of(mcdev_unexport(dev.fd, last.out_seg_uuid)));
	else if (!strcmp(v[0], "bytes"))
		compare(exported + first + strtoull(v[1], NULL, 0), strtoull(v[2], NULL, 0), strtoull(v[3], NULL, 0));
	else if (!strcmp(v[0], "open") || !strcmp(v[0], "open-uuid"))
		do_open(v + 1, v[0][4] == '-');
	else if (!strcmp(v[0], "open-within"))
		do_open_within(v + 1);
	else if (!strcmp(v[0], "put") || !strcmp(v[0], "get"))
		do_move(v + 1, v[0][0] == 'p');
	else if (!strcmp(v[0], "loop"))
		do_loop(v + 1);
	else
		printf("what?\n");
}

int main(int argc, char **argv)
{
	unsigned int number = 0;
	char line[256];
	FILE *in;

	if (argc != 2)
		return 2;
	if (mcdev_open(&dev, 8, 8))
		return 1;
	exported = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mine = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unlink(argv[1]);
	if (mcdev_reg(dev.fd, mine, ROOM / 2, &own) || mkfifo(argv[1], 0600))
		return 1;
	printf("ready\n");
	fflush(stdout);
	in = fopen(argv[1], "r+");	/* for writing too: it never ends */
	while (in && fgets(line, sizeof(line), in)) {
		printf("%u ", ++number);
		run(line);
		fflush(stdout);
	}
	return 1;
}
