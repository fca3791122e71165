// SPDX-License-Identifier: MIT
/*
 * C-79: callers that are killed while the peer, or the master, doesn't answer. Six processes each repeat one thing: get
 * and put through libmooncake, opening a segment of the peer by name, exporting and withdrawing one of their own
 * (mounting and unmounting), faults of a mapped object, and closing a descriptor with requests on their way.
 *
 *	prog_killable serve NODE           on the other node: exports a segment, uses what the callers on NODE export
 *	prog_killable peer MASTER SEED     kills all callers, in any order, once SIGUSR1 says that the peer is paused
 *	prog_killable master MASTER SEED GROUPS   stops the master at some moment, kills all callers, lets it go on
 *	prog_killable works MASTER         each thing three times, with success
 *
 * peer and master print "killed=N stuck=N slowest_ms=N", stuck being callers that had got nowhere for a tenth of a
 * second. Exit status 0 when each was gone in a second times MC_TIME_SCALE.
 */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "mcdev.h"
#include "userspace/libmooncake/include/mooncake/store.h"

#define BIG	(1u << 20)
#define FAR	"killable-far"
#define NEAR	"killable-near"
#define SERVED	"killable/served"
#define MOUNTED	"killable/mounted"
#define LAST_MS	60000	/* one that is late is waited for so long, for its stack */

static const char *master;
static uint64_t seed;
static uint8_t node[16], pool[16];	/* where FAR is */

static struct mc_store *store;
static struct mc_buf *buf;
static uint8_t *mem;
static struct mcdev dev;
static uint32_t dev_buf;
static bool patient;	/* a descriptor's requests end before it is closed */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "prog_killable: %s: %s\n", what, why);
	exit(1);
}

static void map_memory(void)
{
	mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap", strerror(errno));
}

static void open_store(const char *segment)
{
	struct mc_store_config cfg;
	struct mc_error err;

	if (store)
		return;
	mc_store_config_init(&cfg);
	cfg.master = master;
	cfg.preferred_segments = &segment;
	cfg.preferred_count = 1;
	if (mc_store_open(&cfg, &store, &err) || mc_store_register(store, mem, BIG, &buf, &err))
		die("store", err.text);
}

static int do_get(void)
{
	open_store("pool2");
	return mc_store_get(store, FAR, strlen(FAR), buf, 0, BIG, NULL, NULL, NULL);
}

static int do_put(void)
{
	static unsigned int n;
	char key[64];
	int len, ret;

	open_store("pool2");
	len = snprintf(key, sizeof(key), "killable-%d-%u", (int)getpid(), n++);
	ret = mc_store_put(store, key, (size_t)len, buf, 0, BIG / 4, NULL, NULL, NULL);
	return ret ? ret : mc_store_remove(store, key, (size_t)len, true, NULL, NULL);
}

static int do_fault(void)
{
	volatile const uint8_t *p;
	struct mc_map map;
	uint64_t at;
	int ret;

	open_store("pool1");
	ret = mc_store_map(store, NEAR, strlen(NEAR), &map, NULL, NULL);
	if (ret)
		return ret;
	for (p = map.addr, at = 0; at < map.len; at += 4096)
		(void)p[at];
	mc_store_unmap(store, &map);
	return 0;
}

static void open_dev(void)
{
	if (!dev.sq && (mcdev_open(&dev, 8, 8) || mcdev_reg(dev.fd, mem, BIG, &dev_buf)))
		die("device", strerror(errno));
}

static int do_open(void)
{
	uint32_t seg;
	int ret;

	open_dev();
	ret = mcdev_seg_open_name(dev.fd, node, SERVED, &seg, NULL);
	return ret ? ret : mcdev_seg_close(dev.fd, seg);
}

static int do_mount(void)
{
	struct mc_seg_export out;
	int ret;

	open_dev();
	ret = mcdev_export(dev.fd, dev_buf, MOUNTED, MC_RIGHT_READ, &out);
	if (ret)
		return ret;
	usleep(2000);	/* for the other node to open it */
	return mcdev_unexport(dev.fd, out.out_seg_uuid);
}

static int do_close(void)
{
	uint32_t b, seg, i;
	struct mcdev d;
	struct mc_cqe c;
	int ret;

	ret = mcdev_open(&d, 8, 8);
	if (ret)
		return ret;
	ret = mcdev_reg(d.fd, mem, BIG, &b);
	ret = ret ? ret : mcdev_seg_open(d.fd, node, pool, 5 * SEC, &seg, NULL);
	for (i = 0; i < 4 && !ret; i++) {
		struct mc_sqe e = mcdev_sqe(MC_OP_READ, b, i * (BIG / 4), seg, 0, BIG / 4, i);

		mcdev_push(&d, &e);
	}
	ret = ret ? ret : mcdev_enter(&d, 4, patient ? 4 : 0, 30 * SEC, NULL);
	while (patient && !ret && mcdev_pop(&d, &c))
		ret = c.result;
	mcdev_close(&d);
	return ret;
}

static const struct thing {
	const char *name;
	int (*fn)(void);
} things[] = {
	{ "get", do_get }, { "put", do_put }, { "open", do_open }, { "mount", do_mount }, { "fault", do_fault },
	{ "close", do_close },
};

#define N (sizeof(things) / sizeof(things[0]))

/* ---- callers ---- */

static atomic_uint *steps;	/* of each caller */
static pid_t pids[N];
static unsigned int killed, stuck;
static uint64_t slowest;

static void start_callers(void)
{
	size_t i;

	for (i = 0; i < N; i++) {
		atomic_store(&steps[i], 0);
		pids[i] = fork();
		if (pids[i])
			continue;
		signal(SIGUSR1, SIG_IGN);
		for (;;) {
			things[i].fn();
			atomic_fetch_add(&steps[i], 1);
		}
	}
}

static void show(pid_t pid, const char *name)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strcmp(name, "status") || !strncmp(line, "State", 5))
			fprintf(stderr, "prog_killable: %s", line);
	if (f)
		fclose(f);
}

/* How long a killed process takes to go. */
static int kill_one(size_t i)
{
	uint64_t limit = 1000ull * (uint64_t)mcdev_scale(), t0, ms;
	bool late = false;

	t0 = mc_now_ns();
	kill(pids[i], SIGKILL);
	while (waitpid(pids[i], NULL, WNOHANG) != pids[i]) {
		ms = (mc_now_ns() - t0) / 1000000;
		if (ms > limit && !late) {
			late = true;
			fprintf(stderr, "prog_killable: %s is there %" PRIu64 " ms after SIGKILL\n",
				things[i].name, ms);
			show(pids[i], "status");
			show(pids[i], "stack");
		}
		if (ms > LAST_MS)
			die(things[i].name, "can't be killed");
		usleep(1000);
	}
	ms = (mc_now_ns() - t0) / 1000000;
	slowest = ms > slowest ? ms : slowest;
	killed++;
	return late;
}

static int kill_callers(void)
{
	unsigned int left = (1u << N) - 1, before[N];
	int late = 0;
	size_t i;

	while (left) {
		i = mc_rand(&seed) % N;
		if (!(left & 1u << i))
			continue;
		left &= ~(1u << i);
		before[i] = atomic_load(&steps[i]);
		usleep(100000 + mc_rand(&seed) % 50000);
		stuck += atomic_load(&steps[i]) == before[i];
		late |= kill_one(i);
	}
	return late;
}

static int report(int late)
{
	printf("killed=%u stuck=%u slowest_ms=%" PRIu64 "\n", killed, stuck, slowest);
	return late;
}

static int with_peer(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	start_callers();
	sigwait(&set, &sig);
	usleep(mc_rand(&seed) % 200000);
	return report(kill_callers());
}

static pid_t pid_of(const char *name)
{
	DIR *dir = opendir("/proc");
	char path[280], comm[32];
	struct dirent *d;
	pid_t pid = 0;
	FILE *f;

	while (!pid && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%31s", comm) == 1 && !strcmp(comm, name))
			pid = atoi(d->d_name);
		if (f)
			fclose(f);
	}
	closedir(dir);
	if (!pid)
		die(name, "there is none");
	return pid;
}

static int with_master(int groups)
{
	pid_t pid = pid_of("mcmasterd");
	int late = 0;

	while (groups--) {
		start_callers();
		usleep(mc_rand(&seed) % 1000000);
		kill(pid, SIGSTOP);
		late |= kill_callers();
		kill(pid, SIGCONT);
	}
	return report(late);
}

/* ---- the rest ---- */

/* Another node's: a caller's segment comes and goes under it. */
static _Noreturn void serve(void)
{
	struct mc_seg_export out;
	struct mc_sqe e;
	uint32_t seg;
	int ret;

	open_dev();
	ret = mcdev_export(dev.fd, dev_buf, SERVED, MC_RIGHT_READ, &out);
	if (ret)
		die("export", strerror(-ret));
	for (;;) {
		usleep(1000);
		if (mcdev_seg_open_name(dev.fd, node, MOUNTED, &seg, NULL))
			continue;
		e = mcdev_sqe(MC_OP_READ, dev_buf, 0, seg, 0, 4096, 1);
		e.timeout_ns = SEC;
		mcdev_do(&dev, &e, 2 * SEC, NULL);
		mcdev_seg_close(dev.fd, seg);
	}
}

static void close_store(void)
{
	mc_store_close(store);
	store = NULL;
}

/*
 * What is read is put when it is not there: a node that was paused for long was given up by the master, its objects
 * with it, and mounts its pool anew.
 */
static void prepare(const char *key, const char *segment, struct mc_result *res)
{
	uint64_t end = mc_now_ns() + 20 * SEC * (uint64_t)mcdev_scale();
	struct mc_error err;
	size_t len = strlen(key);

	open_store(segment);
	while (mc_store_get(store, key, len, buf, 0, BIG, NULL, res, &err)) {
		if (mc_now_ns() > end)
			die(key, err.text);
		if (mc_store_put(store, key, len, buf, 0, BIG, NULL, NULL, NULL))
			usleep(200000);
	}
	close_store();
}

static void find(void)
{
	struct mc_result res;

	prepare(NEAR, "pool1", &res);
	prepare(FAR, "pool2", &res);
	memcpy(node, res.node_uuid, 16);
	memcpy(pool, res.seg_uuid, 16);
}

static int works(void)
{
	size_t i, k;
	int ret;

	patient = true;
	for (k = 0; k < 3; k++)
		for (i = 0; i < N; i++) {
			ret = things[i].fn();
			if (store)
				close_store();
			if (ret) {
				fprintf(stderr, "prog_killable: %s: %d\n", things[i].name, ret);
				return 1;
			}
		}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	map_memory();
	if (!strcmp(argv[1], "serve")) {
		if (!mc_uuid_parse(argv[2], node))
			return 2;
		serve();
	}
	master = argv[2];
	find();
	if (!strcmp(argv[1], "works"))
		return works();
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (steps == MAP_FAILED)
		die("mmap", strerror(errno));
	if (!strcmp(argv[1], "peer"))
		return with_peer();
	return argc > 4 && !strcmp(argv[1], "master") ? with_master(atoi(argv[4])) : 2;
}
