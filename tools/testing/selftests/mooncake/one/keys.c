// SPDX-License-Identifier: MIT
/* Generations of the cluster key: two are accepted, under load too. */
#include "kselftest_harness.h"
#include "mcone.h"

#include <pthread.h>

#define POOL_LEN (2u << 20)

static void key_of(uint32_t gen, uint8_t *key)
{
	memset(key, (int)gen * 7, MC_KEY_LEN);
}

static int set_key(uint32_t gen)
{
	uint8_t key[MC_KEY_LEN];

	key_of(gen, key);
	return mcnl_key_set(gen, key);
}

static int load(int fd, const uint8_t *seg, uint32_t gen, uint32_t *id)
{
	uint8_t key[MC_KEY_LEN], bytes[MC_GRANT_LEN];
	struct mc_grant g;

	if (mcgrant_make(&g, seg, POOL_LEN, MC_GRANT_R | MC_GRANT_W))
		return -EIO;
	g.key_gen = gen;
	key_of(gen, key);
	mcgrant_sign(&g, key, bytes);
	return mcgrant_load(fd, bytes, id);
}

struct worker {
	const uint8_t *pool;
	volatile uint32_t gen;
	volatile bool stop;
	int err;
	unsigned long rounds;
};

/* Loads a grant of the generation that is current, uses it, and gives it back. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint8_t *mem = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t buf, seg, id;
	struct mcdev d;

	w->err = mcdev_open(&d, 16, 16);
	if (!w->err)
		w->err = mcdev_reg(d.fd, mem, 1 << 20, &buf);
	if (!w->err)
		w->err = mcdev_seg_open(d.fd, node_uuid, w->pool, 0, &seg, NULL);
	while (!w->err && !w->stop) {
		struct mc_sqe e = mcdev_sqe(MC_OP_WRITE, buf, 0, seg, 0, 1 << 20, 1);

		w->err = load(d.fd, w->pool, w->gen, &id);
		e.grant_id = id;
		if (!w->err)
			w->err = mcdev_do(&d, &e, 20 * SEC, NULL);
		if (!w->err)
			w->err = mcgrant_del(d.fd, id);
		w->rounds++;
	}
	mcdev_close(&d);
	return NULL;
}

/* Generations only grow as long as the module is loaded, and programs before this one may have loaded keys. */
static int load_afresh(void)
{
	int i;

	if (system("rmmod mooncake && insmod $MC_KO $MC_KO_PARAMS"))
		return -EBUSY;
	for (i = 0; access("/dev/mooncake", R_OK | W_OK) && i < 100; i++)
		usleep(50000);
	return access("/dev/mooncake", R_OK | W_OK) ? -ENODEV : 0;
}

TEST(two_generations_are_accepted_under_load)
{
	uint32_t ids[16] = { 0 }, seg, buf, first, i, x;
	struct mcdev d;
	struct worker w = { .rounds = 0 };
	uint8_t pool[16], *mem;
	struct mcgrant_node n;
	pthread_t thread;

	ASSERT_EQ(0, load_afresh());
	mcdev_grants(false);
	ASSERT_EQ(0, mcgrant_clock(&n));
	ASSERT_EQ(0, mcnl_node_set(node_uuid, cluster, MC_AUTH_KEY));
	ASSERT_EQ(0, mcnl_pool_create("keys", POOL_LEN, 0, pool));
	ASSERT_EQ(0, mcdev_open(&d, 16, 16));
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, mcdev_reg(d.fd, mem, 4096, &buf));
	ASSERT_EQ(0, mcdev_seg_open(d.fd, node_uuid, pool, 0, &seg, NULL));
	first = 1;
	ASSERT_EQ(0, set_key(first));
	/* Without a key, or with none of the test's, nothing is accepted: also not what needs none elsewhere. */
	EXPECT_EQ(-EACCES, load(d.fd, pool, 0, &x));
	EXPECT_EQ(-EACCES, load(d.fd, pool, first + 1, &x));
	w.pool = pool;
	w.gen = first;
	ASSERT_EQ(0, pthread_create(&thread, NULL, work, &w));
	for (i = 0; i < 16; i++) {
		struct mc_sqe e = mcdev_sqe(MC_OP_READ, buf, 0, seg, 0, 4096, 1);
		uint32_t back;

		ASSERT_EQ(0, set_key(first + i));
		ASSERT_EQ(0, load(d.fd, pool, first + i, &ids[i]));
		w.gen = first + i;
		for (back = 0; back <= i; back++) {
			e.grant_id = ids[i - back];
			EXPECT_EQ(back < 2 ? 0 : -EACCES, mcdev_do(&d, &e, 5 * SEC, NULL));
			EXPECT_EQ(back < 2 ? 0 : -EACCES, load(d.fd, pool, first + i - back, &x));
		}
		usleep(20000);
	}
	w.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, w.err);
	EXPECT_TRUE(w.rounds >= 16);
	/* An old generation does not come back. */
	EXPECT_NE(0, set_key(first + 1));
	mcdev_close(&d);
	EXPECT_EQ(0, mcnl_pool_destroy(pool));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "pools_quarantined", 0, 5000));
	EXPECT_EQ(0, mc_wait_number(MC_SYSFS "grants", 0, 5000));
}

TEST_HARNESS_MAIN
