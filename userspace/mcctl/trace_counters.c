// SPDX-License-Identifier: MIT
/* The node's own counters: the module's, and the RDMA devices'. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcnl.h"
#include "trace.h"

static bool read_nic(const char *dev, const char *name, uint64_t *sum)
{
	char path[256], text[32] = "";
	uint64_t v;
	bool ok = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", dev, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		ok = mct_u64_parse(text, 0, UINT64_MAX, &v);
		if (ok)
			*sum += v;
	}
	fclose(f);
	return ok;
}

/* Two rails may share a device: its packets count once. */
static bool first_of_device(const struct mcnl_rail *rails, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(rails[j].dev, rails[i].dev))
			return false;
	return true;
}

static void add_rails(struct tr_counters *c, const struct mcnl_rail *rails, size_t n)
{
	c->nic = n > 0;
	for (size_t i = 0; i < n; i++) {
		c->read_bytes += rails[i].c.read_bytes;
		c->write_bytes += rails[i].c.write_bytes;
		c->ops += rails[i].c.read_ops + rails[i].c.write_ops;
		c->errors += rails[i].c.errors;
		c->retries += rails[i].c.retries;
		if (!first_of_device(rails, i))
			continue;
		c->nic &= read_nic(rails[i].dev, "sent_pkts", &c->nic_sent);
		c->nic &= read_nic(rails[i].dev, "rcvd_pkts", &c->nic_rcvd);
	}
}

bool tr_counters_read(struct tr_counters *c, char *err, size_t errlen)
{
	struct mcnl_rail *rails = NULL;
	struct mcnl_info info;
	struct mcnl *nl;
	size_t n = 0;
	int rc = mcnl_open(&nl);

	memset(c, 0, sizeof(*c));
	if (!rc)
		rc = mcnl_info(nl, &info);
	if (!rc)
		rc = mcnl_rails(nl, &rails, &n);
	if (rc) {
		snprintf(err, errlen, "%s", mcnl_errmsg(nl));
	} else {
		c->valid = true;
		c->local_bytes = info.local_bytes;
		add_rails(c, rails, n);
	}
	free(rails);
	mcnl_close(nl);
	return !rc;
}

void tr_counters_sub(struct tr_counters *to, const struct tr_counters *before)
{
	to->local_bytes -= before->local_bytes;
	to->read_bytes -= before->read_bytes;
	to->write_bytes -= before->write_bytes;
	to->ops -= before->ops;
	to->errors -= before->errors;
	to->retries -= before->retries;
	to->nic_sent -= before->nic_sent;
	to->nic_rcvd -= before->nic_rcvd;
	to->nic &= before->nic;
}

json_t *tr_counters_json(const struct tr_counters *c)
{
	return json_pack("{sI sI sI sI sI sI sb sI sI}", "local_bytes", (json_int_t)c->local_bytes, "rdma_read_bytes",
			 (json_int_t)c->read_bytes, "rdma_write_bytes", (json_int_t)c->write_bytes, "slices",
			 (json_int_t)c->ops, "errors", (json_int_t)c->errors, "retries", (json_int_t)c->retries, "nic",
			 c->nic, "nic_sent_packets", (json_int_t)c->nic_sent, "nic_received_packets",
			 (json_int_t)c->nic_rcvd);
}

bool tr_counters_parse(const json_t *o, struct tr_counters *c)
{
	json_int_t v[8];
	int nic;

	memset(c, 0, sizeof(*c));
	if (json_unpack((json_t *)o, "{sI sI sI sI sI sI sb sI sI}", "local_bytes", &v[0], "rdma_read_bytes", &v[1],
			"rdma_write_bytes", &v[2], "slices", &v[3], "errors", &v[4], "retries", &v[5], "nic", &nic,
			"nic_sent_packets", &v[6], "nic_received_packets", &v[7]))
		return false;
	c->local_bytes = (uint64_t)v[0];
	c->read_bytes = (uint64_t)v[1];
	c->write_bytes = (uint64_t)v[2];
	c->ops = (uint64_t)v[3];
	c->errors = (uint64_t)v[4];
	c->retries = (uint64_t)v[5];
	c->nic = nic;
	c->nic_sent = (uint64_t)v[6];
	c->nic_rcvd = (uint64_t)v[7];
	c->valid = true;
	return true;
}
