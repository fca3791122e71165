// SPDX-License-Identifier: MIT
/* Events in words and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mctext.h"
#include "see.h"

static const struct {
	int cmd;
	const char *name;
} events[] = {
	{ MC_CMD_EVENT_SEG_GONE, "segment-gone" },   { MC_CMD_EVENT_BUF_GONE, "buffer-gone" },
	{ MC_CMD_EVENT_PEER_UP, "peer-up" },	     { MC_CMD_EVENT_PEER_DOWN, "peer-down" },
	{ MC_CMD_EVENT_RAIL_UP, "rail-up" },	     { MC_CMD_EVENT_RAIL_PAUSED, "rail-paused" },
	{ MC_CMD_EVENT_RAIL_DOWN, "rail-down" },     { MC_CMD_EVENT_CLIENT_GONE, "client-gone" },
};

const char *see_event_name(int cmd, char *to, size_t size)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i].cmd == cmd)
			return events[i].name;
	snprintf(to, size, "event-%d", cmd);
	return to;
}

const char *see_reason_name(uint32_t reason)
{
	static const char *const names[] = {
		[MC_REASON_NONE] = "", [MC_REASON_ASKED] = "asked", [MC_REASON_EXIT] = "exit",
		[MC_REASON_DEVICE] = "device", [MC_REASON_SILENT] = "silent", [MC_REASON_BROKEN] = "broken",
		[MC_REASON_OWNER] = "owner",
	};

	return reason < sizeof(names) / sizeof(*names) ? names[reason] : "other";
}

static void add_uuid(json_t *o, const char *key, const uint8_t *uuid)
{
	if (!mct_uuid_is_zero(uuid))
		json_object_set_new(o, key, ctl_uuid(uuid));
}

static void add_text(json_t *o, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(o, key, ctl_text(text, strlen(text)));
}

static void add_number(json_t *o, const char *key, uint64_t value)
{
	if (value)
		json_object_set_new(o, key, json_integer((json_int_t)value));
}

json_t *see_event_json(const struct mcnl_event *ev)
{
	char name[24], addr[MCT_ADDR_TEXT];
	json_t *o = json_pack("{ss sI sI}", "event", see_event_name(ev->cmd, name, sizeof(name)), "seq",
			      (json_int_t)ev->seq, "time_ns", (json_int_t)ev->time_ns);

	if (!o)
		return NULL;
	add_uuid(o, "segment_uuid", ev->seg_uuid);
	add_text(o, "name", ev->name);
	add_number(o, "buffer", ev->buf_id);
	add_number(o, "bytes", ev->len);
	add_number(o, "rail", ev->rail_id);
	add_text(o, "device", ev->dev);
	add_uuid(o, "node_uuid", ev->node_uuid);
	add_number(o, "remote_rail", ev->remote_rail);
	if (ev->remote_addr.len)
		add_text(o, "remote_address", mct_addr_text(&ev->remote_addr, addr));
	add_number(o, "remote_port", ev->remote_port);
	add_uuid(o, "client_uuid", ev->client);
	add_number(o, "pid", ev->pid);
	if (ev->cmd == MC_CMD_EVENT_BUF_GONE)
		json_object_set_new(o, "uid", json_integer((json_int_t)ev->uid));
	add_text(o, "reason", see_reason_name(ev->reason));
	add_text(o, "text", ev->text);
	return o;
}

const char *see_event_text(const struct mcnl_event *ev, char *to, size_t size)
{
	json_t *o = see_event_json(ev), *v;
	const char *key;
	size_t n;

	n = (size_t)snprintf(to, size, "[%5" PRIu64 ".%06" PRIu64 "]", ev->time_ns / 1000000000,
			     ev->time_ns / 1000 % 1000000);
	json_object_foreach(o, key, v) {
		if (n >= size || !strcmp(key, "seq") || !strcmp(key, "time_ns"))
			continue;
		if (!strcmp(key, "event") || !strcmp(key, "text"))
			n += (size_t)snprintf(to + n, size - n, "%s %s", !strcmp(key, "text") ? ":" : "",
					      json_string_value(v));
		else if (json_is_string(v))
			n += (size_t)snprintf(to + n, size - n, " %s %s", key, json_string_value(v));
		else
			n += (size_t)snprintf(to + n, size - n, " %s %" JSON_INTEGER_FORMAT, key,
					      json_integer_value(v));
	}
	json_decref(o);
	for (char *p = to; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	return to;
}

/* Numbers that begin anew are another module's. */
uint64_t see_lost(uint64_t last, uint64_t seq)
{
	return last && seq > last + 1 ? seq - last - 1 : 0;
}
