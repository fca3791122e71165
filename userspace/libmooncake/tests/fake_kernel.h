/* SPDX-License-Identifier: MIT */
/*
 * A mooncake.ko made of memcpy, behind struct mc_dev_ops: rings as the manual describes them, segments that are
 * arrays, and knobs for what can go wrong. It checks the rules of the ABI itself and aborts when the library breaks
 * one.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include "dev_int.h"
#include "mc_grant.h"

#define FK_SEGS		8
#define FK_HELD		8192
#define FK_GRANTS	4096

struct fk_seg {
	uint8_t node_uuid[MC_UUID_LEN];
	uint8_t uuid[MC_UUID_LEN];
	uint8_t *data;
	uint64_t len;
	bool local;
	bool withdrawn;		/* transfers end with ESTALE, opening with ENOENT */
	bool silent;		/* transfers end at their deadline */
	int open_err;		/* opening ends with this */
	unsigned int opens;
};

struct fk_held {
	struct mc_sqe sqe;
	uint64_t until;
	bool gone;		/* its first completion was BUSY */
	bool paced;		/* ends well at @until... */
	bool grant_over;	/* ...or its grant does */
};

struct fake_kernel {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct fk_seg segs[FK_SEGS];
	unsigned int n_segs;
	struct {
		uint64_t addr;
		uint64_t len;
		bool used;
	} bufs[64];
	int handles[256];	/* segment index + 1 */
	uint32_t handle_limit;
	struct mc_grant grants[FK_GRANTS];	/* index + 1 is the handle */
	bool grant_used[FK_GRANTS];
	bool need_grants;		/* transfers without one end with EACCES */
	int grant_err;			/* loading a grant ends with this... */
	unsigned int grant_errs;	/* ...so many times */
	unsigned int grant_calls;
	unsigned int grants_now, grants_most;	/* loaded */
	int map_err;			/* mapping an extent ends with this */
	unsigned int maps;		/* mapped extents */
	struct mc_sq_head *sq;
	struct mc_cq_head *cq;
	size_t area;
	uint32_t entries;
	uint32_t sq_head;
	uint32_t cq_tail;
	struct fk_held held[FK_HELD];
	unsigned int n_held;
	int client_err;			/* naming a client ends with this */
	uint8_t client[MC_UUID_LEN];
	/* what it reports */
	uint8_t node_uuid[MC_UUID_LEN];
	uint16_t abi_major;
	bool small_area;
	/* knobs for transfers; counted from the last fk_arm() */
	uint32_t start_index;
	unsigned int count;
	unsigned int fail_nth;
	int fail_result;
	uint32_t fail_flags;
	unsigned int hold_nth;	/* UINT_MAX: all */
	uint32_t late_flags;	/* of a held one that times out */
	uint64_t late_ns;	/* what ending a held one takes, beyond its deadline */
	bool never_late;	/* held ones ignore their deadline */
	uint64_t ns_per_kib;	/* transfers take so long, one after the other */
	uint64_t free_at;
	bool lie_bytes;		/* the one that fails reports success, but a byte less */
	uint32_t ok_flags;
	unsigned int consume_limit;
	int enter_err;
	unsigned int eintr;
	/* what happened */
	unsigned int enters;
	unsigned int max_in_flight;
	unsigned int in_flight;
	unsigned int opens;
	unsigned int closes;
	uint64_t last_timeout_ns;
	bool closed;
};

extern const struct mc_dev_ops fk_ops;

/* Makes a kernel with @n_segs segments of @len bytes on nodes 1..n_segs; node 1 is this one. */
struct fake_kernel *fk_new(unsigned int n_segs, uint64_t len);
void fk_free(struct fake_kernel *fk);

/* Opens it. */
struct mc_dev *fk_open(struct fake_kernel *fk, uint32_t entries);

/* Forgets earlier knobs and counts anew. */
void fk_arm(struct fake_kernel *fk);

/* How many grants are loaded. */
unsigned int fk_grants(struct fake_kernel *fk);

/* Carries out what is held. With BUSY before: publishes RELEASED. */
void fk_release(struct fake_kernel *fk);

/* Publishes a completion nobody asked for. */
void fk_stray(struct fake_kernel *fk, uint64_t cookie);

#endif
