/* SPDX-License-Identifier: MIT */
/*
 * The journal: every record that changes objects or segments passes through before it is applied, and its caller is
 * answered only when the journal has kept its promise.
 */
#ifndef MC_MASTER_JOURNAL_H
#define MC_MASTER_JOURNAL_H

#include "op.h"

/**
 * struct mc_journal - a backend
 * @name: as MasterStatus shows it
 * @promise: what an acknowledged PutEnd may rely on, for the start-up line
 * @all: wants the records, too, that need no journal (leases, pings)
 * @append: takes a record; 0 once the promise holds for it, or a negative errno, and then the record is not applied
 */
struct mc_journal {
	const char *name;
	const char *promise;
	bool all;
	int (*append)(struct mc_journal *j, const struct mc_op *op);
};

/**
 * mc_journal_none() - keeps nothing, and says so
 * @j: backend to fill in
 */
void mc_journal_none(struct mc_journal *j);

/**
 * mc_journal_append() - pass a record through
 * @j: backend
 * @op: validated and decided record
 *
 * Return: 0, also for records that are not journaled, or a negative errno.
 */
int mc_journal_append(struct mc_journal *j, const struct mc_op *op);

#endif
