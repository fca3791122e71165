// SPDX-License-Identifier: MIT
/* Opening a store, its buffers, and talking to its master. */
#include "store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/client.h"

#define SERVICE	"mooncake.v1.Master"

static int rpc_call(void *ctx, const char *method, const ProtobufCMessage *req, const ProtobufCMessageDescriptor *type,
		    ProtobufCMessage **reply, int timeout_ms, struct mc_error *err)
{
	return mc_rpc_call(ctx, method, req, type, reply, timeout_ms, err);
}

static const char *rpc_address(void *ctx)
{
	return mc_rpc_address(ctx);
}

static void rpc_free(void *ctx)
{
	mc_rpc_client_free(ctx);
}

static const struct mc_master_ops rpc_ops = {
	.call = rpc_call,
	.address = rpc_address,
	.free = rpc_free,
};

void mc_store_config_init(struct mc_store_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->size = sizeof(*cfg);
}

static int check_config(const struct mc_store_config *cfg, struct mc_error *err)
{
	uint32_t i;

	if (cfg->size != sizeof(*cfg))
		return mc_error_set(err, MC_EINVALID_PARAMS, 0, "store configuration of %u bytes, not %zu: start with "
				    "mc_store_config_init()", cfg->size, sizeof(*cfg));
	if (cfg->replica_num > MC_STORE_MAX_REPLICAS)
		return mc_error_set(err, MC_EINVALID_PARAMS, 0, "replica_num %u is above %u", cfg->replica_num,
				    MC_STORE_MAX_REPLICAS);
	for (i = 0; i < cfg->preferred_count; i++)
		if (!cfg->preferred_segments || !cfg->preferred_segments[i])
			return mc_error_set(err, MC_EINVALID_PARAMS, 0, "preferred segment %u has no name", i);
	return 0;
}

static int copy_config(struct mc_store *s, const struct mc_store_config *cfg)
{
	uint32_t i;

	s->timeout_ms = cfg->timeout_ms ? cfg->timeout_ms : MC_STORE_TIMEOUT_MS;
	s->replica_num = cfg->replica_num ? cfg->replica_num : 1;
	s->tenant = strdup(cfg->tenant ? cfg->tenant : "");
	s->preferred = calloc(cfg->preferred_count + 1, sizeof(*s->preferred));
	if (!s->tenant || !s->preferred)
		return -ENOMEM;
	for (i = 0; i < cfg->preferred_count; i++) {
		s->preferred[i] = strdup(cfg->preferred_segments[i]);
		if (!s->preferred[i])
			return -ENOMEM;
		s->n_preferred++;
	}
	return 0;
}

/*
 * The kernel says when the process has ended, so that its leases need not run out. A device whose kernel can't, or that
 * another store has named: this one's leases are nobody's in particular.
 */
static void name_client(struct mc_store *s)
{
	struct mc_client arg = { .size = sizeof(arg) };

	memcpy(arg.uuid, s->client_uuid, MC_UUID_LEN);
	if (!s->dev || s->dev->ops->ioctl(s->dev->ctx, MC_IOC_CLIENT, &arg))
		return;
	s->reader.data = s->client_uuid;
	s->reader.len = MC_UUID_LEN;
}

int mc_store_open_with(const struct mc_store_config *cfg, struct mc_dev *dev, const struct mc_master_ops *master,
		       void *master_ctx, struct mc_store **out, struct mc_error *err)
{
	struct mc_store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		master->free(master_ctx);
		return mc_error_set(err, MC_EINTERNAL, ENOMEM, "no memory for a store");
	}
	s->dev = dev;
	s->master = master;
	s->master_ctx = master_ctx;
	pthread_mutex_init(&s->lock, NULL);
	mc_health_init(&s->health);
	rc = copy_config(s, cfg);
	if (!rc)
		rc = mc_random_uuid(s->client_uuid);
	if (rc) {
		mc_store_close(s);
		return mc_error_set(err, MC_EINTERNAL, -rc, "opening a store: %s", strerror(-rc));
	}
	name_client(s);
	*out = s;
	return 0;
}

static int open_device(const struct mc_store_config *cfg, struct mc_dev **dev, struct mc_error *err)
{
	*dev = NULL;
	if (cfg->device && !*cfg->device)
		return 0;
	if (!mc_dev_open(cfg->device, cfg->ring_entries, dev, err))
		return 0;
	if (err)
		err->code = MC_EUNAVAILABLE_IN_CURRENT_MODE;
	return MC_EUNAVAILABLE_IN_CURRENT_MODE;
}

int mc_store_open_dev(const struct mc_store_config *cfg, struct mc_dev *dev, struct mc_store **out,
		      struct mc_error *err)
{
	struct mc_rpc_client *client;
	int rc;

	rc = mc_rpc_client_new(cfg->master ? cfg->master : "127.0.0.1", SERVICE, MC_MASTER_PORT, &client, err);
	return rc ? rc : mc_store_open_with(cfg, dev, &rpc_ops, client, out, err);
}

int mc_store_open(const struct mc_store_config *cfg, struct mc_store **out, struct mc_error *err)
{
	struct mc_dev *dev;
	int rc;

	rc = check_config(cfg, err);
	if (rc)
		return rc;
	rc = open_device(cfg, &dev, err);
	if (rc)
		return rc;
	rc = mc_store_open_dev(cfg, dev, out, err);
	if (rc) {
		mc_dev_close(dev);
		return rc;
	}
	(*out)->own_dev = true;
	return 0;
}

void mc_store_close(struct mc_store *s)
{
	uint32_t i;

	if (!s)
		return;
	mc_segcache_flush(s);
	s->master->free(s->master_ctx);
	if (s->own_dev)
		mc_dev_close(s->dev);
	for (i = 0; i < s->n_preferred; i++)
		free(s->preferred[i]);
	free(s->preferred);
	free(s->tenant);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->health.lock);
	free(s);
}

struct mc_dev *mc_store_device(const struct mc_store *s)
{
	return s->dev;
}

int mc_store_register(struct mc_store *s, void *addr, uint64_t len, struct mc_buf **out, struct mc_error *err)
{
	int rc, code;

	if (!s->dev)
		return mc_error_set(err, MC_EUNAVAILABLE_IN_CURRENT_MODE, 0, "the store was opened without a device");
	rc = mc_buf_register(s->dev, addr, len, out, err);
	if (!rc)
		return 0;
	switch (rc) {
	case -EINVAL:
	case -EFAULT:
	case -EOPNOTSUPP:
		code = MC_EINVALID_PARAMS;
		break;
	case -ENOMEM:
	case -ENOSPC:
		code = MC_EBUFFER_OVERFLOW;
		break;
	default:
		code = MC_EINTERNAL;
	}
	if (err)
		err->code = code;
	return code;
}

int mc_store_unregister(struct mc_store *s, struct mc_buf *buf, struct mc_error *err)
{
	int rc, code;

	(void)s;
	rc = mc_buf_unregister(buf, err);
	if (!rc)
		return 0;
	code = rc == -EBUSY ? MC_EUNAVAILABLE_IN_CURRENT_STATUS : MC_EINTERNAL;
	if (err)
		err->code = code;
	return code;
}

uint64_t mc_deadline(const struct mc_store *s, const struct mc_opts *opts)
{
	uint32_t ms = opts && opts->timeout_ms ? opts->timeout_ms : s->timeout_ms;

	if (ms > MC_STORE_MAX_TIMEOUT_MS)
		ms = MC_STORE_MAX_TIMEOUT_MS;
	return mc_now_ns() + ms * 1000000ull;
}

uint64_t mc_left_ns(uint64_t until)
{
	uint64_t now = mc_now_ns();

	return now < until ? until - now : 0;
}

void *mc_ask(struct mc_store *s, const char *method, const ProtobufCMessage *req,
	     const ProtobufCMessageDescriptor *type, uint64_t until, struct mc_error *err)
{
	int timeout_ms = (mc_left_ns(until) + 999999) / 1000000;
	ProtobufCMessage *reply = NULL;

	if (timeout_ms > (int)MC_STORE_MAX_TIMEOUT_MS)
		timeout_ms = MC_STORE_MAX_TIMEOUT_MS;
	if (s->master->call(s->master_ctx, method, req, type, &reply, timeout_ms, err))
		return NULL;
	return reply;
}

void mc_drop_reply(void *reply)
{
	if (reply)
		protobuf_c_message_free_unpacked(reply, NULL);
}

int mc_judge(const Mooncake__V1__Status *st, const char *what, struct mc_error *err)
{
	if (!st || st->code > 0)
		return mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: the master's answer has %s", what,
				    st ? "an impossible status" : "no status");
	if (!st->code)
		return 0;
	return mc_error_set(err, st->code, 0, "%s (%s)", *st->message ? st->message : what, mc_strerror(st->code));
}

int mc_count_matches(const struct mc_store *s, const char *method, size_t have, size_t want, struct mc_error *err)
{
	if (have == want)
		return 0;
	return mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: %s answered %zu of %zu items", method,
			    s->master->address(s->master_ctx), have, want);
}
