// SPDX-License-Identifier: MIT
/* UUIDs, sizes, addresses and key files as administrators write them. */
#include "mctext.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int mct_exit_of_errno(int rc)
{
	switch (rc < 0 ? -rc : rc) {
	case 0:
		return MCT_EXIT_OK;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return MCT_EXIT_NOT_FOUND;
	case EEXIST:
		return MCT_EXIT_EXISTS;
	case ETIMEDOUT:
	case ETIME:
	case EHOSTUNREACH:
	case ECONNREFUSED:
	case ECONNRESET:
	case ENETUNREACH:
		return MCT_EXIT_UNREACHABLE;
	case EPERM:
	case EACCES:
		return MCT_EXIT_PERMISSION;
	default:
		return MCT_EXIT_FAILED;
	}
}

const char *mct_uuid_text(const uint8_t *u, char *to)
{
	snprintf(to, MCT_UUID_TEXT,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
	return to;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool hex_bytes(const char *text, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(text[2 * i]);
		int lo = hi < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (lo < 0)
			return false;
		to[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

bool mct_uuid_parse(const char *text, uint8_t *uuid)
{
	static const uint8_t group[] = { 4, 2, 2, 2, 6 };
	size_t at = 0;

	if (strlen(text) != MCT_UUID_TEXT - 1)
		return false;
	for (size_t g = 0; g < sizeof(group); g++) {
		if (g && *text++ != '-')
			return false;
		if (!hex_bytes(text, uuid + at, group[g]))
			return false;
		at += group[g];
		text += 2 * group[g];
	}
	return true;
}

bool mct_uuid_is_zero(const uint8_t *uuid)
{
	static const uint8_t zero[MC_UUID_LEN];

	return memcmp(uuid, zero, MC_UUID_LEN) == 0;
}

static int random_bytes(void *to, size_t n)
{
	ssize_t got = getrandom(to, n, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EIO;
}

int mct_uuid_random(uint8_t *uuid)
{
	int rc = random_bytes(uuid, MC_UUID_LEN);

	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return rc;
}

const char *mct_addr_text(const struct mcnl_addr *a, char *to)
{
	if (!inet_ntop(a->len == 4 ? AF_INET : AF_INET6, a->bytes, to, MCT_ADDR_TEXT))
		snprintf(to, MCT_ADDR_TEXT, "?");
	return to;
}

const char *mct_rail_text(const struct mcnl_event *ev, char *to)
{
	char uuid[MCT_UUID_TEXT], addr[MCT_ADDR_TEXT];

	mct_uuid_text(ev->node_uuid, uuid);
	if (mct_uuid_is_zero(ev->node_uuid))
		snprintf(to, MCT_RAIL_TEXT, "rail %u (%s)", ev->rail_id, ev->dev);
	else if (!ev->remote_rail || !ev->remote_addr.len)
		snprintf(to, MCT_RAIL_TEXT, "path over rail %u (%s) to %s", ev->rail_id, ev->dev, uuid);
	else
		snprintf(to, MCT_RAIL_TEXT, "path over rail %u (%s) to rail %u (%s) of %s", ev->rail_id, ev->dev,
			 ev->remote_rail, mct_addr_text(&ev->remote_addr, addr), uuid);
	return to;
}

bool mct_addr_parse(const char *text, struct mcnl_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, a->bytes) == 1)
		a->len = 4;
	else if (inet_pton(AF_INET6, text, a->bytes) == 1)
		a->len = 16;
	return a->len != 0;
}

bool mct_u64_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	uint64_t v;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*out = v;
	return true;
}

bool mct_size_parse(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *u;
	char *end;
	uint64_t v;
	unsigned int shift = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end) {
		u = strchr(units, toupper((unsigned char)*end));
		if (!u || !*u)
			return false;
		shift = 10 * (unsigned int)(u - units + 1);
		if (strcmp(end + 1, "") && strcmp(end + 1, "B") && strcmp(end + 1, "iB"))
			return false;
	}
	if (shift && v >> (64 - shift))
		return false;
	*out = v << shift;
	return true;
}

bool mct_ms_parse(const char *text, uint32_t *ms)
{
	static const struct { const char *unit; uint64_t ms; } units[] = {
		{ "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 },
	};
	char digits[16];
	uint64_t v;
	size_t n = strspn(text, "0123456789");

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(text + n, units[i].unit))
			continue;
		if (!mct_u64_parse(digits, 1, 3600000, &v) || v * units[i].ms > 3600000)
			return false;
		*ms = (uint32_t)(v * units[i].ms);
		return true;
	}
	return false;
}

const char *mct_size_text(uint64_t bytes, char *to, size_t size)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int u = 0;
	double v = (double)bytes;

	while (v >= 1024 && u < 4) {
		v /= 1024;
		u++;
	}
	if (v == (double)(uint64_t)v)
		snprintf(to, size, "%.0f %s", v, unit[u]);
	else
		snprintf(to, size, "%.1f %s", v, unit[u]);
	return to;
}

static int fail_path(char *err, size_t errlen, const char *what, const char *path, int rc)
{
	snprintf(err, errlen, "%s '%s': %s", what, path, strerror(-rc));
	return rc;
}

static int check_private(int fd, const char *path, char *err, size_t errlen)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_path(err, errlen, "key file", path, -errno);
	if (!S_ISREG(st.st_mode)) {
		snprintf(err, errlen, "key file '%s': not a regular file", path);
		return -EINVAL;
	}
	if (st.st_mode & 077) {
		snprintf(err, errlen, "key file '%s': mode %04o lets group or others in; make it 0600",
			 path, (unsigned int)(st.st_mode & 07777));
		return -EACCES;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		snprintf(err, errlen, "key file '%s': belongs to user %u, expected root or %u", path,
			 (unsigned int)st.st_uid, (unsigned int)geteuid());
		return -EACCES;
	}
	return 0;
}

/* What may follow the digits: a blank and a generation, and a newline. */
static bool tail_of_key(const char *tail, uint32_t *gen)
{
	char number[16];
	size_t n = strcspn(tail, "\n");
	uint64_t v;

	if (tail[n] && tail[n + 1])
		return false;
	if (!n)
		return true;
	if (*tail != ' ' || n >= sizeof(number))
		return false;
	memcpy(number, tail + 1, n - 1);
	number[n - 1] = '\0';
	if (!mct_u64_parse(number, 1, UINT32_MAX, &v))
		return false;
	if (gen)
		*gen = (uint32_t)v;
	return true;
}

static int decode_key(const char *buf, ssize_t n, const char *path, uint8_t *key, uint32_t *gen, char *err,
		      size_t errlen)
{
	if (n == MC_KEY_LEN) {
		memcpy(key, buf, MC_KEY_LEN);
		return 0;
	}
	if (n >= 2 * MC_KEY_LEN && strlen(buf) == (size_t)n && hex_bytes(buf, key, MC_KEY_LEN) &&
	    tail_of_key(buf + 2 * MC_KEY_LEN, gen))
		return 0;
	snprintf(err, errlen, "key file '%s': %zd bytes are neither 64 hexadecimal digits, perhaps with a "
		 "generation, nor a %d-byte key", path, n, MC_KEY_LEN);
	return -EINVAL;
}

int mct_key_load(const char *path, uint8_t *key, uint32_t *gen, char *err, size_t errlen)
{
	char buf[2 * MC_KEY_LEN + 16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	int rc;

	if (fd < 0)
		return fail_path(err, errlen, "key file", path, -errno);
	rc = check_private(fd, path, err, errlen);
	if (!rc) {
		n = read(fd, buf, sizeof(buf) - 1);
		rc = n < 0 ? fail_path(err, errlen, "key file", path, -errno) :
			     decode_key(buf, n, path, key, gen, err, errlen);
	}
	close(fd);
	explicit_bzero(buf, sizeof(buf));
	return rc;
}

/* Created with its final mode and synced: a crash leaves the whole file or none. */
static int write_new(const char *path, mode_t mode, const char *text, const char *what, char *err,
		     size_t errlen)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	size_t len = strlen(text);
	int rc = 0;

	if (fd < 0)
		return fail_path(err, errlen, what, path, -errno);
	errno = EIO;
	if (write(fd, text, len) != (ssize_t)len || fchmod(fd, mode) || fsync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (rc) {
		unlink(path);
		return fail_path(err, errlen, what, path, rc);
	}
	return 0;
}

/* A new key in a new file. */
static int write_key(const char *path, uint8_t *key, uint32_t gen, char *err, size_t errlen)
{
	char text[2 * MC_KEY_LEN + 16];
	int rc = random_bytes(key, MC_KEY_LEN);

	if (rc)
		return fail_path(err, errlen, "key file", path, rc);
	for (size_t i = 0; i < MC_KEY_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
	snprintf(text + 2 * MC_KEY_LEN, sizeof(text) - 2 * MC_KEY_LEN, " %u\n", gen);
	rc = write_new(path, 0600, text, "key file", err, errlen);
	explicit_bzero(text, sizeof(text));
	return rc;
}

int mct_key_generate(const char *path, char *err, size_t errlen)
{
	uint8_t key[MC_KEY_LEN];
	int rc = write_key(path, key, 1, err, errlen);

	explicit_bzero(key, sizeof(key));
	return rc;
}

int mct_key_rotate(const char *path, uint8_t *key, uint32_t *gen, char *err, size_t errlen)
{
	char fresh[PATH_MAX];
	int rc = mct_key_load(path, key, gen, err, errlen);

	if (rc)
		return rc;
	if (*gen == UINT32_MAX || snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return fail_path(err, errlen, "key file", path, *gen == UINT32_MAX ? -ERANGE : -ENAMETOOLONG);
	unlink(fresh);	/* of a rotation that did not end */
	rc = write_key(fresh, key, ++*gen, err, errlen);
	if (!rc && rename(fresh, path)) {
		rc = fail_path(err, errlen, "key file", path, -errno);
		unlink(fresh);
	}
	return rc;
}

int mct_uuid_file_load(const char *path, uint8_t *uuid, char *err, size_t errlen)
{
	char buf[MCT_UUID_TEXT + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return fail_path(err, errlen, "uuid file", path, -errno);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n < 0)
		return fail_path(err, errlen, "uuid file", path, -EIO);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	if (!mct_uuid_parse(buf, uuid) || mct_uuid_is_zero(uuid)) {
		snprintf(err, errlen, "uuid file '%s': '%.40s' is not a UUID", path, buf);
		return -EINVAL;
	}
	return 0;
}

int mct_uuid_file_create(const char *path, uint8_t *uuid, char *err, size_t errlen)
{
	char text[MCT_UUID_TEXT + 1];
	int rc = mct_uuid_random(uuid);

	if (rc)
		return fail_path(err, errlen, "uuid file", path, rc);
	mct_uuid_text(uuid, text);
	strcat(text, "\n");
	return write_new(path, 0644, text, "uuid file", err, errlen);
}
