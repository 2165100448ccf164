/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch: show what changes until everything has settled. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "bars.h"
#include "follow.h"
#include "json.h"
#include "report.h"
#include "scoped.h"
#include "sentence.h"
#include "text.h"

#define REDRAW_USEC UINT64_C(250000)
#define LINE_USEC   UINT64_C(1000000) /* a node, pool or the host speaks at most so often */

struct viewer {
	const struct client *client;
	struct bars bars;
	uint64_t drawn_usec;
	uint64_t host_shown_usec;
	bool is_out_of_memory;
};

static bool is_over(const struct model *model)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		if (!model_is_settled(model->nodes[i].state))
			return false;
	for (i = 0; i < model->nr_pools; i++)
		if (!model_is_settled(model->pools[i].state))
			return false;
	if (model_refill_bytes_of_all(model))
		return false;
	return model->host.is_ready || model_is_settled(model->host.state);
}

/*
 * May an object that was last shown at @shown_usec be shown now? If not, wake up when it may. The
 * last look shows everything, whenever the one before it was.
 */
static bool is_due(uint64_t shown_usec, uint64_t now_usec, bool is_last, uint64_t *wake_usec)
{
	if (is_last || !shown_usec || now_usec - shown_usec >= LINE_USEC)
		return true;
	if (shown_usec + LINE_USEC < *wake_usec)
		*wake_usec = shown_usec + LINE_USEC;
	return false;
}

static void print_node_line(const struct node *node)
{
	uint64_t left_bytes =
		model_left_bytes(node->total_bytes, node->done_bytes, node->short_bytes);
	scoped(freep) char *state = text_escape(node->state);
	scoped(freep) char *pool = text_escape(node->current_pool);
	char done[TEXT_MAX], total[TEXT_MAX], part[TEXT_MAX];

	fprintf(stderr, "node %" PRIu32 ": %s, %u %%, %s of %s", node->node_id, state ? state : "?",
	        text_percent(node->done_bytes, node->total_bytes),
	        text_size(node->done_bytes, false, done),
	        text_size(node->total_bytes, false, total));
	if (node->short_bytes)
		fprintf(stderr, ", %s short", text_size(node->short_bytes, false, part));
	if (node->rate_bytes && left_bytes) {
		fprintf(stderr, ", %s/s", text_size(node->rate_bytes, false, part));
		fprintf(stderr, ", %s left", text_time_left(left_bytes, node->rate_bytes, part));
	}
	fprintf(stderr, "%s%s\n", pool && *pool ? ", pool " : "", pool ? pool : "");
}

static void show_lines(struct model *model, uint64_t now_usec, bool is_last, uint64_t *wake_usec)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++) {
		struct node *node = &model->nodes[i];

		if (!node->has_changed || !is_due(node->shown_usec, now_usec, is_last, wake_usec))
			continue;
		print_node_line(node);
		node->has_changed = false;
		node->shown_usec = now_usec;
	}
}

/* One object a line, with its sort in "object" in front of its members. */
static void print_object(struct viewer *viewer, const char *sort, struct json_object *object)
{
	struct json_object *line = json_object_new_object();
	struct json_object *name = json_object_new_string(sort);

	if (!object || !line || !name || json_object_object_add(line, "object", name) < 0) {
		json_object_put(line);
		json_object_put(object);
		viewer->is_out_of_memory = true;
		return;
	}
	json_object_object_foreach(
		object, key, value) if (json_object_object_add(line, key, json_object_get(value)) <
	                                0) viewer->is_out_of_memory = true;
	json_object_put(object);
	if (json_print(line, true, stdout) < 0)
		viewer->is_out_of_memory = true;
}

static void show_json(struct viewer *viewer, struct model *model, uint64_t now_usec, bool is_last,
                      uint64_t *wake_usec)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++) {
		struct node *node = &model->nodes[i];

		if (!node->has_changed || !is_due(node->shown_usec, now_usec, is_last, wake_usec))
			continue;
		print_object(viewer, "node", json_node(node));
		node->has_changed = false;
		node->shown_usec = now_usec;
	}
	for (i = 0; i < model->nr_pools; i++) {
		struct pool *pool = &model->pools[i];

		if (!pool->has_changed || !is_due(pool->shown_usec, now_usec, is_last, wake_usec))
			continue;
		print_object(viewer, "pool", json_pool(pool));
		pool->has_changed = false;
		pool->shown_usec = now_usec;
	}
	if (model->has_host_changed &&
	    is_due(viewer->host_shown_usec, now_usec, is_last, wake_usec)) {
		print_object(viewer, "host", json_host(&model->host));
		model->has_host_changed = false;
		viewer->host_shown_usec = now_usec;
	}
}

static void show_bars(struct viewer *viewer, struct model *model, uint64_t now_usec, bool is_last,
                      uint64_t *wake_usec)
{
	bool has_changed = model->has_host_changed;
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		has_changed |= model->nodes[i].has_changed;
	if (!has_changed)
		return;
	if (!is_last && viewer->drawn_usec && now_usec - viewer->drawn_usec < REDRAW_USEC) {
		*wake_usec = viewer->drawn_usec + REDRAW_USEC;
		return;
	}
	bars_draw(&viewer->bars, viewer->client, model);
	viewer->drawn_usec = now_usec;
	model->has_host_changed = false;
	for (i = 0; i < model->nr_nodes; i++)
		model->nodes[i].has_changed = false;
}

/* The end: what became of it, and what is missing. */
static int conclude(const struct viewer *viewer, const struct model *model)
{
	bool has_failed = !model->host.is_ready && model_is_failed(model->host.state);
	scoped(freep) char *progress = sentence_progress(model, NULL);
	size_t i;

	if (!viewer->bars.nr_lines && !viewer->client->is_quiet)
		fprintf(stderr, "%s\n", progress ? progress : "?");
	if (model_has_refused(model))
		fputs(SENTENCE_REFUSED "\n", stderr);
	for (i = 0; i < model->nr_pools; i++) {
		const struct pool *pool = &model->pools[i];
		scoped(freep) char *missing = NULL;

		if (!pool->short_bytes && !model_is_failed(pool->state))
			continue;
		missing = sentence_missing(pool);
		fputs(missing ? missing : "", stderr);
	}
	return has_failed ? CLIENT_FAILED : CLIENT_REACHED;
}

static int look(struct model *model, uint64_t now_usec, uint64_t *wake_usec, void *arg)
{
	struct viewer *viewer = arg;
	const struct client *client = viewer->client;
	bool is_last;

	if (!model) {
		/* Something was said in between: the next picture stands below it. */
		viewer->bars.nr_lines = 0;
		return FOLLOW_ON;
	}
	is_last = is_over(model);
	if (client->is_json) {
		show_json(viewer, model, now_usec, is_last, wake_usec);
		if (report_flush(CLIENT_REACHED) != CLIENT_REACHED)
			return CLIENT_FAILED;
	} else if (client->has_err_terminal && !client->is_quiet) {
		show_bars(viewer, model, now_usec, is_last, wake_usec);
	} else if (!client->is_quiet) {
		show_lines(model, now_usec, is_last, wake_usec);
	}
	if (viewer->is_out_of_memory)
		return report_no_memory();
	return is_last ? conclude(viewer, model) : FOLLOW_ON;
}

int verb_watch(const struct client *client, char **operands)
{
	struct viewer viewer = { .client = client };

	(void) operands;
	return follow(client, client->timeout_usec, false, look, &viewer);
}
