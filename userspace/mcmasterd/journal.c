// SPDX-License-Identifier: MIT
#include "journal.h"

static int none_append(struct mc_journal *j, const struct mc_op *op)
{
	(void)j;
	(void)op;
	return 0;
}

void mc_journal_none(struct mc_journal *j)
{
	j->name = "none";
	j->promise = "objects do not survive a restart";
	j->all = false;
	j->append = none_append;
}

int mc_journal_append(struct mc_journal *j, const struct mc_op *op)
{
	return j->all || mc_op_journaled(op->type) ? j->append(j, op) : 0;
}
