/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share. Every operation has a number and its own random numbers, made of the seed and that number:
 * the same seed gives the same operations, whatever came before, and a part of a run can be done again (--replay).
 *
 * The number of the operation under way is in shared memory and in the kernel log (every FUZZ_MARK operations), so that
 * a report on a console can be laid beside it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FUZZ_MARK 2000

/**
 * struct fuzz_opt - what a run is to do
 * @seed: of all random numbers
 * @seconds: ends after so long
 * @from: first operation that is done
 * @to: last one; all are made up in any case
 */
struct fuzz_opt {
	uint64_t seed;
	uint64_t seconds;
	uint64_t from;
	uint64_t to;
};

struct fuzz_rng { uint64_t s; };

static inline uint64_t fuzz_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* The numbers of one operation of one stream (a thread). */
static inline struct fuzz_rng fuzz_op(const struct fuzz_opt *o, uint64_t stream, uint64_t op)
{
	return (struct fuzz_rng){ fuzz_mix(o->seed * 0x9e3779b97f4a7c15ull + fuzz_mix(stream) + op) };
}

static inline uint64_t rnd(struct fuzz_rng *r)
{
	return fuzz_mix(r->s += 0x9e3779b97f4a7c15ull);
}

static inline uint32_t pick(struct fuzz_rng *r, uint32_t n) { return n ? (uint32_t)(rnd(r) % n) : 0; }
static inline bool chance(struct fuzz_rng *r, uint32_t percent) { return pick(r, 100) < percent; }

/* Numbers at which code tends to be wrong. */
static inline uint64_t edge(struct fuzz_rng *r)
{
	static const uint64_t near[] = { 0, 1, 2, 8, 16, 64, 4096, 8192, 32768, 65536, 1ull << 20, 1ull << 21,
		1ull << 30, 1ull << 31, 1ull << 32, 1ull << 40, 1ull << 47, 1ull << 52, 1ull << 62, 1ull << 63 };
	uint64_t v = near[pick(r, sizeof(near) / sizeof(near[0]))];

	switch (pick(r, 6)) {
	case 0: return v - 1;
	case 1: return v + 1;
	case 2: return ~v;
	case 3: return rnd(r);
	default: return v;
	}
}

/* Flip bits or overwrite bytes somewhere. */
static inline void mutate(struct fuzz_rng *r, void *p, size_t len)
{
	uint8_t *b = p;
	uint32_t n = 1 + pick(r, 4);

	while (n-- && len) {
		size_t at = rnd(r) % len;

		if (chance(r, 50))
			b[at] ^= (uint8_t)(1u << pick(r, 8));
		else
			b[at] = (uint8_t)edge(r);
	}
}

static inline uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* How much slower than fast this machine is (mcvm measures it). */
static inline uint64_t time_scale(void)
{
	const char *s = getenv("MC_TIME_SCALE");
	int n = s ? atoi(s) : 1;

	return n > 0 ? (uint64_t)n : 1;
}

static inline void kmsg(const char *text)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		perror("/dev/kmsg");
	if (fd >= 0)
		close(fd);
}

static inline void mark(const char *what, const struct fuzz_opt *o, uint64_t op)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: seed %llu op %llu\n", what, (unsigned long long)o->seed,
		 (unsigned long long)op);
	kmsg(text);
}

/* --seed S --seconds N --replay FROM-TO; the rest is left to the caller (returns its index). */
static inline int fuzz_args(int argc, char **argv, struct fuzz_opt *o)
{
	unsigned long long a, b;
	int i;

	*o = (struct fuzz_opt){ .seed = 7, .seconds = 5, .to = ~0ull };
	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			o->seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seconds"))
			o->seconds = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--replay") && sscanf(argv[i + 1], "%llu-%llu", &a, &b) == 2)
			o->from = a, o->to = b;
		else
			break;
	}
	return i;
}

static inline void *shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

#endif /* FUZZ_H */
