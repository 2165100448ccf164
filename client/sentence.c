/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scoped.h"
#include "sentence.h"
#include "text.h"

struct amounts {
	const char *state;
	bool is_paused;
	uint64_t total_bytes, done_bytes, short_bytes, rate_bytes, refill_bytes, draining_bytes;
};

static void add_pools(const struct model *model, char *const *names, struct amounts *sum)
{
	for (; *names; names++) {
		const struct pool *pool = model_pool(model, *names);

		if (!pool)
			continue;
		sum->total_bytes += pool->total_bytes;
		sum->done_bytes += pool->done_bytes;
		sum->short_bytes += pool->short_bytes;
		sum->refill_bytes += model_refill_bytes(pool);
		sum->draining_bytes += pool->draining_bytes;
		/* The first one that still works speaks for all. */
		if (!sum->state || model_is_settled(sum->state))
			sum->state = pool->state;
	}
}

static void add_host(const struct model *model, struct amounts *sum)
{
	uint64_t total_bytes = 0, done_bytes = 0;
	size_t i;

	sum->state = model->host.state;
	sum->total_bytes = model->host.total_bytes;
	sum->done_bytes = model->host.done_bytes;
	sum->short_bytes = model->host.short_bytes;
	sum->refill_bytes = model_refill_bytes_of_all(model);
	for (i = 0; i < model->nr_pools; i++) {
		total_bytes += model->pools[i].total_bytes;
		done_bytes += model->pools[i].done_bytes;
		sum->draining_bytes += model->pools[i].draining_bytes;
	}
	/* Pools speak before the host: its own sum may be one signal behind theirs. */
	if (total_bytes == sum->total_bytes)
		sum->done_bytes = done_bytes;
	for (i = 0; i < model->nr_nodes; i++)
		sum->rate_bytes += model->nodes[i].rate_bytes;
}

static void print_amounts(const struct amounts *sum, FILE *out)
{
	uint64_t left_bytes = model_left_bytes(sum->total_bytes, sum->done_bytes, sum->short_bytes);
	char done[TEXT_MAX], total[TEXT_MAX], part[TEXT_MAX];

	fprintf(out, ", %u %%, %s of %s", text_percent(sum->done_bytes, sum->total_bytes),
	        text_size(sum->done_bytes, false, done), text_size(sum->total_bytes, false, total));
	if (sum->short_bytes)
		fprintf(out, ", %s short", text_size(sum->short_bytes, false, part));
	if (sum->refill_bytes)
		fprintf(out, ", refilling %s", text_size(sum->refill_bytes, false, part));
	if (sum->draining_bytes)
		fprintf(out, ", %s draining", text_size(sum->draining_bytes, false, part));
	if (sum->rate_bytes && left_bytes) {
		fprintf(out, ", %s/s", text_size(sum->rate_bytes, false, part));
		fprintf(out, ", %s left", text_time_left(left_bytes, sum->rate_bytes, part));
	}
}

char *sentence_progress(const struct model *model, char *const *names)
{
	struct amounts sum = { .is_paused = model->host.is_paused };
	scoped(freep) char *state = NULL;
	char *text = NULL;
	size_t text_bytes;
	FILE *out;

	if (names && *names)
		add_pools(model, names, &sum);
	else
		add_host(model, &sum);
	state = text_escape(sum.state ? sum.state : "");
	out = open_memstream(&text, &text_bytes);
	if (!out || !state) {
		if (out)
			(void) fclose(out);
		free(text);
		return NULL;
	}
	fprintf(out, "%s%s", state, sum.is_paused ? " (paused)" : "");
	if (sum.total_bytes)
		print_amounts(&sum, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* What a reason says to who has not read of it; of kinds whose reasons are all their own. */
static const char *meaning(const char *kind, const char *reason)
{
	static const struct {
		const char *kind, *reason, *words;
	} meanings[] = {
		{ "block", "busy", "the kernel had no time for it; meminitctl retry asks again" },
		{ "block", "refused", "the kernel does not bring it online" },
		{ "block", "zone-mismatch", "online in another zone than Zone= says" },
		{ "block", "unsupported-zone", "it cannot go into the zone of Zone=" },
		{ "block", "no-offline-memory", "the node has not so much to bring online" },
		{ "block", "gone", "unplugged" },
		{ "block", "offlined", "somebody took it offline" },
		{ "block", "unreadable", "the kernel does not say how it is" },
		{ "replica", "exceeds-reserve",
		  "the node keeps its Reserve=; linked to the original" },
		{ "replica", "exceeds-size",
		  "the pool keeps to its Size=; linked to the original" },
		{ "replica", "gone", "the original was removed" },
		{ "replica", "changing", "the original does not stand still" },
		{ "replica", "unreadable", "the original cannot be read" },
		{ "replica", "no-mount",
		  "the node has no tmpfs for it; nodeinitd --prepare mounts it" },
	};
	size_t i;

	for (i = 0; i < ELEMENTS(meanings); i++)
		if (strcmp(kind, meanings[i].kind) == 0 && strcmp(reason, meanings[i].reason) == 0)
			return meanings[i].words;
	return NULL;
}

/* What memory of a kind is not, when it is not in service. */
static const char *lack(const char *kind)
{
	if (strcmp(kind, "block") == 0)
		return "not online";
	return strcmp(kind, "replica") == 0 ? "not copied" : "missing";
}

static bool is_missing(const struct share *share)
{
	return share->short_bytes || model_is_failed(share->state);
}

static void print_share(const struct pool *pool, const struct share *share, FILE *out)
{
	scoped(freep) char *name = text_escape(pool->name);
	scoped(freep) char *state = text_escape(share->state);
	scoped(freep) char *reason = text_escape(share->reason);
	char missing[TEXT_MAX], total[TEXT_MAX];
	const char *words = meaning(pool->kind, share->reason);
	uint64_t missing_bytes = share->short_bytes;

	if (!name || !state || !reason)
		return;
	/* A cancelled share is not short: nobody has found out what is missing. */
	if (!missing_bytes)
		missing_bytes = model_left_bytes(share->total_bytes, share->done_bytes, 0);
	fprintf(out, "pool %s, node %" PRIu32 ": %s, %s of %s %s", name, share->node_id, state,
	        text_size(missing_bytes, false, missing),
	        text_size(share->total_bytes, false, total), lack(pool->kind));
	if (*reason)
		fprintf(out, " (%s%s%s)", reason, words ? ": " : "", words ? words : "");
	fputc('\n', out);
}

bool sentence_has_refused_paths(const struct pool *pool)
{
	size_t i;

	if (strcmp(pool->kind, "replica") != 0 ||
	    (strcmp(pool->state, "degraded") != 0 && strcmp(pool->state, "failed") != 0))
		return false;
	/* A share that is ready and has a reason names the sort of one of these paths. */
	for (i = 0; i < pool->nr_shares; i++)
		if (is_missing(&pool->shares[i]) ||
		    (*pool->shares[i].reason && strcmp(pool->shares[i].state, "ready") != 0))
			return false;
	return true;
}

char *sentence_missing(const struct pool *pool)
{
	scoped(freep) char *name = text_escape(pool->name);
	scoped(freep) char *state = text_escape(pool->state);
	char *text = NULL;
	size_t text_bytes, nr_missing = 0, i;
	FILE *out;

	out = open_memstream(&text, &text_bytes);
	if (!out)
		return NULL;
	for (i = 0; i < pool->nr_shares; i++)
		if (is_missing(&pool->shares[i])) {
			print_share(pool, &pool->shares[i], out);
			nr_missing++;
		}
	if (!nr_missing)
		fprintf(out, "pool %s: %s%s\n", name ? name : "?", state ? state : "?",
		        sentence_has_refused_paths(pool) ? ", " SENTENCE_REFUSED_PATHS : "");
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The nodes of all shares from @first on with its reason, as "0,2-3"; shares come by node. */
static void print_nodes(const struct pool *pool, size_t first, FILE *out)
{
	const char *separator = "";
	size_t i, last;

	for (i = first; i < pool->nr_shares; i = last + 1) {
		last = i;
		if (strcmp(pool->shares[i].reason, pool->shares[first].reason) != 0)
			continue;
		while (last + 1 < pool->nr_shares &&
		       pool->shares[last + 1].node_id == pool->shares[last].node_id + 1 &&
		       strcmp(pool->shares[last + 1].reason, pool->shares[first].reason) == 0)
			last++;
		fprintf(out, "%s%" PRIu32, separator, pool->shares[i].node_id);
		if (last > i)
			fprintf(out, "-%" PRIu32, pool->shares[last].node_id);
		separator = ",";
	}
}

static bool was_seen(const struct pool *pool, size_t at)
{
	size_t i;

	for (i = 0; i < at; i++)
		if (strcmp(pool->shares[i].reason, pool->shares[at].reason) == 0)
			return true;
	return false;
}

char *sentence_reasons(const struct pool *pool, bool is_exact)
{
	const char *separator = "";
	char part[TEXT_MAX], *text = NULL;
	size_t text_bytes, i;
	FILE *out;

	out = open_memstream(&text, &text_bytes);
	if (!out)
		return NULL;
	for (i = 0; i < pool->nr_shares; i++) {
		scoped(freep) char *reason = NULL;

		if (!*pool->shares[i].reason || was_seen(pool, i))
			continue;
		reason = text_escape(pool->shares[i].reason);
		fprintf(out, "%s%s on ", separator, reason ? reason : "?");
		print_nodes(pool, i, out);
		separator = "; ";
	}
	if (model_refill_bytes(pool))
		fprintf(out, "%srefilling %s", separator,
		        text_size(model_refill_bytes(pool), is_exact, part));
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
