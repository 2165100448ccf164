/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* status: read once, print, say by the exit status how it is. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "boot-log.h"
#include "json.h"
#include "model.h"
#include "paint.h"
#include "report.h"
#include "scoped.h"
#include "sentence.h"
#include "tables.h"
#include "text.h"

#define STATUS_PART_MAX (TEXT_MAX + 16)

static int state_status(const char *state)
{
	if (model_is_reached(state))
		return CLIENT_REACHED;
	return model_is_failed(state) ? CLIENT_FAILED : CLIENT_NOT_READY;
}

static void print_state(const struct client *client, const char *object, const char *state,
                        const char *more)
{
	scoped(freep) char *object_text = text_escape(object);
	scoped(freep) char *state_text = text_escape(state);

	printf("%s%s %s: %s%s%s\n", paint_begin(client->has_out_color, state),
	       paint_icon(client, state), object_text ? object_text : "?",
	       state_text ? state_text : "?", paint_end(client->has_out_color), more);
}

static void print_amounts(const struct client *client, uint64_t total_bytes, uint64_t done_bytes,
                          uint64_t short_bytes, uint64_t rate_bytes)
{
	uint64_t left_bytes = model_left_bytes(total_bytes, done_bytes, short_bytes);
	bool is_exact = client->is_bytes;
	char part[TEXT_MAX];

	printf("  Memory: %s", text_size(done_bytes, is_exact, part));
	printf(" of %s (%u %%)", text_size(total_bytes, is_exact, part),
	       text_percent(done_bytes, total_bytes));
	printf(", %s short", text_size(short_bytes, is_exact, part));
	if (rate_bytes && left_bytes) {
		printf(", %s/s", text_size(rate_bytes, is_exact, part));
		printf(", %s left", text_time_left(left_bytes, rate_bytes, part));
	}
	putchar('\n');
}

static void print_date(const char *label, uint64_t realtime_usec)
{
	time_t seconds = (time_t) (realtime_usec / 1000000);
	char date[64];
	struct tm broken;

	if (realtime_usec && localtime_r(&seconds, &broken) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %Z", &broken))
		printf("%s: %s\n", label, date);
}

/* A moment as time since the start: the monotonic clock does not jump. */
static void print_moment(const char *label, const struct host *host, uint64_t monotonic_usec)
{
	char span[TEXT_MAX];

	if (monotonic_usec >= host->started_monotonic_usec && monotonic_usec)
		printf("%s: after %s\n", label,
		       text_span(monotonic_usec - host->started_monotonic_usec, span));
	else
		printf("%s: not yet\n", label);
}

/* What is wrong, pool by pool; a screenful at most, the rest is in the tables. */
static void print_missing(const struct model *model)
{
	size_t i, nr_lines = 0;

	for (i = 0; i < model->nr_pools; i++) {
		const struct pool *pool = &model->pools[i];
		scoped(freep) char *lines = NULL;
		char *line, *rest;

		if (!pool->short_bytes && !model_is_failed(pool->state) &&
		    !sentence_has_refused_paths(pool))
			continue;
		lines = sentence_missing(pool);
		for (line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
		     line = strtok_r(NULL, "\n", &rest)) {
			if (nr_lines < 5)
				printf("%s: %s\n", nr_lines ? "        " : " Missing", line);
			nr_lines++;
		}
	}
	if (nr_lines > 5)
		printf("        : and %zu more\n", nr_lines - 5);
}

static uint64_t host_rate_bytes(const struct model *model)
{
	uint64_t rate_bytes = 0;
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		rate_bytes += model->nodes[i].rate_bytes;
	return rate_bytes;
}

/* ", refilling 1.8 GiB", or "". Return: @buffer, STATUS_PART_MAX bytes. */
static const char *refilling(const struct client *client, uint64_t refill_bytes, char *buffer)
{
	char part[TEXT_MAX];

	*buffer = '\0';
	if (refill_bytes)
		(void) snprintf(buffer, STATUS_PART_MAX, ", refilling %s",
		                text_size(refill_bytes, client->is_bytes, part));
	return buffer;
}

static int print_host(const struct client *client, const struct model *model)
{
	const struct host *host = &model->host;
	scoped(freep) char *version = text_escape(host->version);
	char title[64], part[STATUS_PART_MAX], more[STATUS_PART_MAX + 64];
	char *all[] = { NULL };
	int r = 0;

	(void) snprintf(title, sizeof(title), "nodeinitd %.40s", version ? version : "?");
	(void) snprintf(
		more, sizeof(more), "%s%s, generation %" PRIu64, host->is_paused ? " (paused)" : "",
		refilling(client, model_refill_bytes_of_all(model), part), host->generation);
	print_state(client, title, host->state, more);
	print_amounts(client, host->total_bytes, host->done_bytes, host->short_bytes,
	              host_rate_bytes(model));
	print_date(" Started", host->started_realtime_usec);
	print_moment("   Early", host, host->early_monotonic_usec);
	/* a later generation began at some Reload: the time since the start would say nothing */
	if (host->generation > 1)
		print_date("   Ready", host->ready_realtime_usec);
	else
		print_moment("   Ready", host, host->ready_monotonic_usec);
	if (model_has_refused(model))
		puts(" Refused: " SENTENCE_REFUSED);
	print_missing(model);
	if (model->nr_nodes) {
		putchar('\n');
		r = tables_nodes(client, model, false);
	}
	if (r >= 0 && model->nr_pools) {
		putchar('\n');
		r = tables_pools(client, model, all);
	}
	return r;
}

static int status_host(const struct client *client, const struct model *model)
{
	int status = state_status(model->host.state);

	if (client->is_json)
		return report_printed(json_print(json_model(model), false, stdout), status);
	if (client->is_quiet)
		return status;
	return report_printed(print_host(client, model), status);
}

static int print_node(const struct client *client, const struct model *model,
                      const struct node *node)
{
	scoped(freep) char *cpus = text_escape(node->cpus);
	char title[TEXT_MAX], part[TEXT_MAX];

	(void) snprintf(title, sizeof(title), "node %" PRIu32, node->node_id);
	print_state(client, title, node->state, node->is_braked ? " (braked)" : "");
	print_amounts(client, node->total_bytes, node->done_bytes, node->short_bytes,
	              node->rate_bytes);
	printf("    Node: %s", text_size(node->memory_bytes, client->is_bytes, part));
	printf(" of memory, %s spanned", text_size(node->spanned_bytes, client->is_bytes, part));
	printf(", early budget %s\n", text_size(node->early_budget_bytes, client->is_bytes, part));
	printf("    CPUs: %s", cpus ? cpus : "?");
	if (node->helper_node_id >= 0)
		printf(" of node %" PRId32, node->helper_node_id);
	printf(", %" PRIu32 " %s\n\n", node->nr_threads,
	       node->nr_threads == 1 ? "thread" : "threads");
	return tables_node_shares(client, model, node->node_id);
}

static int status_node(const struct client *client, const struct model *model,
                       const struct node *node)
{
	int status = state_status(node->state);

	if (client->is_json)
		return report_printed(json_print(json_node(node), false, stdout), status);
	if (client->is_quiet)
		return status;
	return report_printed(print_node(client, model, node), status);
}

static int print_pool(const struct client *client, const struct pool *pool)
{
	scoped(freep) char *name = NULL;
	scoped(freep) char *kind = text_escape(pool->kind);
	char part[STATUS_PART_MAX], more[STATUS_PART_MAX + 16];

	if (asprintf(&name, "pool %s", pool->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	(void) snprintf(more, sizeof(more), "%s%s",
	                refilling(client, model_refill_bytes(pool), part),
	                pool->is_required ? "" : ", not required");
	print_state(client, name, pool->state, more);
	print_amounts(client, pool->total_bytes, pool->done_bytes, pool->short_bytes, 0);
	printf("    Kind: %s", kind ? kind : "?");
	if (model_has_pages(pool))
		printf(", pages of %s", text_size(pool->page_bytes, client->is_bytes, part));
	if (pool->region_bytes)
		printf(", regions of %s", text_size(pool->region_bytes, client->is_bytes, part));
	if (model_has_leases(pool))
		printf(", %s free", text_size(model_free_bytes(pool), client->is_bytes, part));
	if (pool->leased_bytes)
		printf(", %s leased", text_size(pool->leased_bytes, client->is_bytes, part));
	if (pool->draining_bytes)
		printf(", %s draining", text_size(pool->draining_bytes, client->is_bytes, part));
	putchar('\n');
	if (sentence_has_refused_paths(pool))
		puts(" Refused: " SENTENCE_REFUSED_PATHS);
	putchar('\n');
	return tables_shares(client, pool);
}

static int status_pool(const struct client *client, const struct pool *pool)
{
	int status = state_status(pool->state);

	if (client->is_json)
		return report_printed(json_print(json_pool(pool), false, stdout), status);
	if (client->is_quiet)
		return status;
	return report_printed(print_pool(client, pool), status);
}

/* "3" and "node3" are nodes, unless a pool is called so and no such node is there. */
static struct node *named_node(const struct model *model, const char *name)
{
	uint32_t id;

	return text_parse_node(name, &id) < 0 ? NULL : model_node(model, id);
}

static int status_named(const struct client *client, const struct model *model, const char *name)
{
	struct node *node = named_node(model, name);
	struct pool *pool = model_pool(model, name);

	if (node)
		return status_node(client, model, node);
	if (pool)
		return status_pool(client, pool);
	return report_no_such("node or pool", name);
}

int verb_status(const struct client *client, char **operands)
{
	scoped(model_clear) struct model model = { 0 };
	int status = model_look(client, &model);

	if (status != CLIENT_REACHED)
		return status;
	if (client->is_json)
		boot_log_join(client, &model);
	return operands[0] ? status_named(client, &model, operands[0])
	                   : status_host(client, &model);
}
