// SPDX-License-Identifier: MIT
/* Keyed BLAKE2s for programs: OpenSSL's. */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mc_grant.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MAC *blake2s;

static void fetch(void)
{
	blake2s = EVP_MAC_fetch(NULL, "BLAKE2SMAC", NULL);
}

/* Without memory or the algorithm no tag would be right: better to end than to hand out or accept a wrong one. */
static void need(int ok)
{
	if (ok)
		return;
	fprintf(stderr, "keyed BLAKE2s: OpenSSL failed\n");
	abort();
}

void mc_mac(const __u8 *key, const char *label, const void *data, __u32 len, __u8 *out, __u32 out_len)
{
	OSSL_PARAM params[2];
	size_t n = out_len;
	EVP_MAC_CTX *ctx;

	pthread_once(&once, fetch);
	need(!!blake2s);
	ctx = EVP_MAC_CTX_new(blake2s);
	need(!!ctx);
	params[0] = OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &n);
	params[1] = OSSL_PARAM_construct_end();
	need(EVP_MAC_init(ctx, key, MC_GRANT_KEY, params));
	need(EVP_MAC_update(ctx, (const unsigned char *)label, strlen(label) + 1));
	need(EVP_MAC_update(ctx, data, len));
	need(EVP_MAC_final(ctx, out, &n, out_len));
	EVP_MAC_CTX_free(ctx);
}
