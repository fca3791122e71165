/* SPDX-License-Identifier: MIT */
/*
 * Who protects what: leases of readers that named themselves. A lease ends with its time, with its object, and with its
 * reader, of whom mcnoded says that it is gone. What such a lease had protected can be removed from then on; its bytes
 * stay where they are until the last grant to read them has ended all the same (mc_object.lease_until): a grant is
 * nobody's in particular.
 */
#ifndef MC_MASTER_LEASE_H
#define MC_MASTER_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define MC_LEASES_MAX	(1u << 20)	/* beyond, leases are nobody's and end by time only */
#define MC_GONE_MAX	(1u << 16)	/* beyond, the late calls of the one that is gone longest protect again */

struct mc_object;
struct mc_lease;
struct mc_reader;
LIST_HEAD(mc_lease_list, mc_lease);

/**
 * struct mc_leases - all of them
 * @readers: tree by UUID
 * @by_end: leases, the one that ends first at the head
 * @gone: readers that are gone, oldest first; kept for a while, since a call of theirs may still be under way
 * @count: leases
 * @gone_count: readers that are gone
 */
struct mc_leases {
	void *readers;
	TAILQ_HEAD(mc_lease_tail, mc_lease) by_end;
	TAILQ_HEAD(, mc_reader) gone;
	uint64_t count;
	uint32_t gone_count;
};

void mc_leases_init(struct mc_leases *l);

/**
 * mc_lease_take() - a reader looks at an object
 * @l: leases
 * @held: the object's
 * @o: the object
 * @client: the reader, or all zero
 * @until: how long
 *
 * Return: true when the lease is this reader's, or it needs none because it is gone. False: it must be nobody's.
 */
bool mc_lease_take(struct mc_leases *l, struct mc_lease_list *held, const struct mc_object *o, const uint8_t *client,
		   uint64_t until);

/**
 * mc_lease_end() - how long do readers that have a name protect an object?
 * @held: the object's leases
 *
 * Return: master time, 0: nobody does.
 */
uint64_t mc_lease_end(const struct mc_lease_list *held);

/**
 * mc_leases_forget() - an object goes
 * @l: leases
 * @held: the object's
 */
void mc_leases_forget(struct mc_leases *l, struct mc_lease_list *held);

/**
 * mc_leases_reader_gone() - a reader has died
 * @l: leases
 * @client: the reader
 * @until: so long calls of it are taken for late ones; not before that of the reader that went last
 */
void mc_leases_reader_gone(struct mc_leases *l, const uint8_t *client, uint64_t until);

/**
 * mc_leases_expire() - drop what has ended
 * @l: leases
 * @now: master time
 */
void mc_leases_expire(struct mc_leases *l, uint64_t now);

/**
 * mc_leases_next() - when does something end?
 * @l: leases
 *
 * Return: master time, UINT64_MAX: nothing does.
 */
uint64_t mc_leases_next(const struct mc_leases *l);

void mc_leases_fini(struct mc_leases *l);	/* before the objects */

#endif
