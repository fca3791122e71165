/* SPDX-License-Identifier: MIT */
/*
 * A master for tests, behind struct mc_master_ops: a table of objects placed in the fake kernel's segments, a record
 * of what was asked, and knobs. Requests and replies are packed and unpacked as on the wire.
 */
#ifndef FAKE_MASTER_H
#define FAKE_MASTER_H

#include "fake_kernel.h"
#include "store_int.h"

#define FM_OBJECTS	4096
#define FM_REPLICAS	4

struct fm_object {
	uint8_t key[64];
	size_t key_len;
	uint64_t size;
	uint64_t token;
	uint64_t since;		/* begun or extended, on the clock of mc_now_ns() */
	bool used;
	bool complete;
	unsigned int n_replicas;
	struct {
		unsigned int seg;
		uint64_t offset;
		int status;		/* 0: as the object is */
	} replicas[FM_REPLICAS];
};

struct fake_master {
	struct fake_kernel *fk;
	struct fm_object objects[FM_OBJECTS];
	uint64_t next_off[FK_SEGS];
	uint64_t next_token;
	/* knobs */
	unsigned int first_seg;		/* of a new object; the following ones hold its further replicas */
	uint64_t lease_ms;
	uint64_t attempt_ms;
	uint64_t epoch;
	bool grants_end;		/* as they say; else never */
	bool no_extension;
	const char *hang;		/* this method never answers */
	const char *refuse;		/* this method fails with RPC_FAIL */
	int end_code;			/* status of every PutEnd */
	bool short_reply;		/* one result less than asked for */
	bool no_status;
	bool bad_uuid;
	bool bad_length;
	bool no_replicas;
	bool stuck_list;
	void (*before_list)(struct fake_master *fm);	/* called before GetReplicaList is answered */
	/* what happened */
	uint8_t reader[MC_UUID_LEN];				/* of the last look-up */
	size_t reader_len;
	unsigned int extensions;
	unsigned int late_ends;					/* PutEnd of attempts whose time was over */
	unsigned int starts, ends, revokes, queries, lists;	/* items */
	unsigned int quiesced;					/* revokes that said so */
	unsigned int calls;
	size_t largest_call;					/* items */
	char tenant[64];
	char preferred[64];
};

extern const struct mc_master_ops fm_ops;

struct fake_master *fm_new(struct fake_kernel *fk);
void fm_free(struct fake_master *fm);
struct fm_object *fm_find(struct fake_master *fm, const void *key, size_t len);

/* Puts an object of @size bytes into segments @first_seg.. of the fake kernel: byte i is fm_byte(key's first byte,
 * i). */
struct fm_object *fm_add(struct fake_master *fm, const char *key, uint64_t size, unsigned int replicas);
uint8_t fm_byte(uint8_t salt, uint64_t i);

#endif
