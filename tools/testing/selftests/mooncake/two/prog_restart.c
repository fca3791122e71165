// SPDX-License-Identifier: MIT
/*
 * C-53: a client that others read from, and a reader that never gives up.
 *
 *	prog_restart serve NAME NUMBER		export a buffer whose bytes tell NUMBER, say so, and stay
 *	prog_restart watch NODE NAME LOG	read it forever: a line "good NUMBER" for each new number in LOG, and at
 *						SIGTERM "reads=N failed=N lie=MS wrong=N"
 *
 * "lie" is the longest time for which the peer was shown as live while reads failed for want of a connection; that a
 * segment is not there, or not any more, is an answer over a connection that works.
 */
#include <signal.h>
#include <time.h>

#include "mcdev.h"

#define LEN	65536u

/**
 * struct watch - the reader
 * @d: device
 * @buf: buffer
 * @seg: handle of the segment, if @open
 * @open: it is
 * @mem: the buffer's bytes
 * @node: peer
 * @name: of the segment
 * @state: the peer's file in sysfs
 * @seen: number of the client that was read last
 */
struct watch {
	struct mcdev d;
	uint32_t buf;
	uint32_t seg;
	bool open;
	uint8_t *mem;
	uint8_t node[16];
	const char *name;
	char state[128];
	uint64_t seen;
};

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *room(void)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	return p;
}

/* The number, then bytes that follow from it. */
static void fill(uint8_t *p, uint64_t number)
{
	memcpy(p, &number, sizeof(number));
	mc_fill(p + sizeof(number), LEN - sizeof(number), number);
}

static int serve(char **v)
{
	struct mcdev d;
	uint8_t *mem = room();
	uint32_t buf;
	int ret;

	fill(mem, strtoull(v[1], NULL, 0));
	ret = mcdev_open(&d, 4, 4);
	if (!ret)
		ret = mcdev_reg(d.fd, mem, LEN, &buf);
	if (!ret)
		ret = mcdev_export(d.fd, buf, v[0], MC_RIGHT_READ, NULL);
	printf("%s\n", ret ? strerrorname_np(-ret) : "serving");
	fflush(stdout);
	while (!ret && !ended)
		pause();
	return ret != 0;
}

static bool shown_live(struct watch *w)
{
	char text[16] = "";
	int fd = open(w->state, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && !strncmp(text, "live", 4);
}

static int look(struct watch *w)
{
	struct mc_sqe e;
	int ret = 0;

	if (!w->open)
		ret = mcdev_seg_open_name(w->d.fd, w->node, w->name, &w->seg, NULL);
	if (ret)
		return ret;
	w->open = true;
	memset(w->mem, 0x5a, LEN);
	e = mcdev_sqe(MC_OP_READ, w->buf, 0, w->seg, 0, LEN, 1);
	e.timeout_ns = SEC;
	ret = mcdev_do(&w->d, &e, 60 * SEC, NULL);
	if (ret)
		mcdev_seg_close(w->d.fd, w->seg);
	w->open = !ret;
	return ret;
}

/* Returns false when the bytes are of no client, or of an older one than has been seen. */
static bool judge(struct watch *w, FILE *log)
{
	static uint8_t want[LEN];
	uint64_t number;

	memcpy(&number, w->mem, sizeof(number));
	fill(want, number);
	if (memcmp(w->mem, want, LEN) || number < w->seen)
		return false;
	if (number != w->seen) {
		fprintf(log, "good %llu\n", (unsigned long long)number);
		fflush(log);
	}
	w->seen = number;
	return true;
}

static int start(struct watch *w, char **v)
{
	int ret;

	if (!mc_uuid_parse(v[0], w->node))
		return -EINVAL;
	snprintf(w->state, sizeof(w->state), MC_SYSFS "peers/%s/state", v[0]);
	w->name = v[1];
	w->mem = room();
	ret = mcdev_open(&w->d, 4, 4);
	return ret ? ret : mcdev_reg(w->d.fd, w->mem, LEN, &w->buf);
}

static int watch(char **v)
{
	uint64_t reads = 0, failed = 0, wrong = 0, lie = 0, since = 0;
	FILE *log = fopen(v[2], "w");
	struct watch w = { 0 };
	int ret = log ? start(&w, v) : -EIO;

	while (!ret && !ended) {
		int err = look(&w);

		reads++;
		failed += err != 0;
		if (!err)
			wrong += !judge(&w, log);
		if (!err || err == -ENOENT || err == -ESTALE || !shown_live(&w))
			since = 0;
		else if (!since)
			since = now_ms();
		if (since && now_ms() - since > lie)
			lie = now_ms() - since;
		usleep(err ? 20000 : 5000);
	}
	if (log)
		fprintf(log, "reads=%llu failed=%llu lie=%llu wrong=%llu\n", (unsigned long long)reads,
			(unsigned long long)failed, (unsigned long long)lie, (unsigned long long)wrong);
	return ret || !log || fclose(log);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };

	sigaction(SIGTERM, &act, NULL);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "watch"))
		return watch(argv + 2);
	fprintf(stderr, "prog_restart serve NAME NUMBER | watch NODE NAME LOG\n");
	return 2;
}
