// SPDX-License-Identifier: MIT
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "include/mooncake/device.h"

uint64_t mc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

const char *mc_uuid_text(const uint8_t *uuid, char out[MC_UUID_TEXT])
{
	char *p = out;
	int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		p += sprintf(p, "%02x", uuid[i]);
	}
	return out;
}

const char *mc_key_text(const void *key, size_t len, char out[MC_KEY_TEXT])
{
	const unsigned char *k = key;
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		if (n + 8 > MC_KEY_TEXT) {
			strcpy(out + n, "...");
			return out;
		}
		if (k[i] >= 0x20 && k[i] < 0x7f && k[i] != '\\')
			out[n++] = k[i];
		else
			n += sprintf(out + n, "\\x%02x", k[i]);
	}
	out[n] = 0;
	return out;
}

int mc_random_uuid(uint8_t out[16])
{
	ssize_t n;

	do
		n = getrandom(out, 16, 0);
	while (n < 0 && errno == EINTR);
	if (n != 16)
		return n < 0 ? -errno : -EIO;
	out[6] = (out[6] & 0x0f) | 0x40;
	out[8] = (out[8] & 0x3f) | 0x80;
	return 0;
}
