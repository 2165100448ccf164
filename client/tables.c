/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "paint.h"
#include "scoped.h"
#include "sentence.h"
#include "tables.h"
#include "text.h"
#include "times.h"

struct column {
	const char *title;
	int flags;
};

#define NUMBER SCOLS_FL_RIGHT
#define LONG   SCOLS_FL_TRUNC

static void table_closep(struct libscols_table **table)
{
	scols_unref_table(*table);
}

static int table_new(const struct client *client, const struct column *columns, size_t nr_columns,
                     struct libscols_table **ret)
{
	struct libscols_table *table = scols_new_table();
	size_t i;

	if (!table)
		return -ENOMEM;
	(void) scols_table_enable_noheadings(table, !client->has_legend);
	/* cell() has escaped already; twice would double the backslashes. */
	(void) scols_table_enable_noencoding(table, 1);
	(void) scols_table_enable_colors(table, client->has_out_color);
	for (i = 0; i < nr_columns; i++)
		if (!scols_table_new_column(table, columns[i].title, 0, columns[i].flags)) {
			scols_unref_table(table);
			return -ENOMEM;
		}
	*ret = table;
	return 0;
}

/* A cell; @text is escaped here, and NULL is out of memory, too. */
static int cell(struct libscols_line *line, size_t column, const char *text)
{
	scoped(freep) char *safe = text ? text_escape(text) : NULL;

	if (!safe)
		return -ENOMEM;
	return scols_line_set_data(line, column, *safe ? safe : "-");
}

static int cell_size(const struct client *client, struct libscols_line *line, size_t column,
                     uint64_t bytes)
{
	char buffer[TEXT_MAX];

	return cell(line, column, text_size(bytes, client->is_bytes, buffer));
}

/* What mostly is nothing. */
static int cell_size_or_dash(const struct client *client, struct libscols_line *line, size_t column,
                             uint64_t bytes)
{
	if (!bytes && !client->is_bytes)
		return cell(line, column, "");
	return cell_size(client, line, column, bytes);
}

/* What a pool of its kind may not have at all. */
static int cell_size_if(const struct client *client, struct libscols_line *line, size_t column,
                        bool is_there, uint64_t bytes)
{
	return is_there ? cell_size(client, line, column, bytes) : cell(line, column, "");
}

static int cell_number(struct libscols_line *line, size_t column, uint64_t number)
{
	char buffer[TEXT_MAX];

	(void) snprintf(buffer, sizeof(buffer), "%" PRIu64, number);
	return cell(line, column, buffer);
}

static int cell_state(struct libscols_line *line, size_t column, const char *state)
{
	int r = cell(line, column, state);

	if (r < 0)
		return r;
	return scols_cell_set_color(scols_line_get_cell(line, column), paint_color(state));
}

static int cell_rate(const struct client *client, struct libscols_line *line, size_t column,
                     uint64_t rate_bytes)
{
	char buffer[TEXT_MAX], rate[TEXT_MAX + 2];

	if (client->is_bytes)
		return cell_number(line, column, rate_bytes);
	(void) snprintf(rate, sizeof(rate), "%s/s", text_size(rate_bytes, false, buffer));
	return cell(line, column, rate_bytes ? rate : "");
}

static int cell_span_if(struct libscols_line *line, size_t column, bool is_there, uint64_t usec)
{
	char buffer[TEXT_MAX];

	return cell(line, column, is_there ? text_span(usec, buffer) : "");
}

static int cell_node_state(struct libscols_line *line, size_t column, const struct node *node)
{
	scoped(freep) char *braked = NULL;

	if (!node->is_braked)
		return cell_state(line, column, node->state);
	if (asprintf(&braked, "%s (braked)", node->state) < 0)
		return -ENOMEM;
	if (cell(line, column, braked) < 0)
		return -ENOMEM;
	return scols_cell_set_color(scols_line_get_cell(line, column), paint_color(node->state));
}

/* The columns of status, and the times behind them. */
static int fill_node(const struct client *client, struct libscols_line *line,
                     const struct node *node, bool has_times)
{
	uint64_t left_bytes =
		model_left_bytes(node->total_bytes, node->done_bytes, node->short_bytes);
	uint64_t spent_usec = 0;
	bool is_spent = times_spent_usec(node, &spent_usec);
	char eta[TEXT_MAX];

	if (cell_number(line, 0, node->node_id) < 0 || cell_node_state(line, 1, node) < 0 ||
	    cell_size(client, line, 2, node->done_bytes) < 0 ||
	    cell_size(client, line, 3, node->total_bytes) < 0 ||
	    cell_rate(client, line, 4, node->rate_bytes) < 0 ||
	    cell(line, 5, text_time_left(left_bytes, node->rate_bytes, eta)) < 0 ||
	    cell_number(line, 6, node->nr_threads) < 0 || cell(line, 7, node->cpus) < 0 ||
	    cell(line, 8, node->current_pool) < 0)
		return -ENOMEM;
	if (!has_times)
		return 0;
	if (cell_span_if(line, 9, node->has_boot, node->boot_usec) < 0)
		return -ENOMEM;
	return cell_span_if(line, 10, is_spent, spent_usec);
}

int tables_nodes(const struct client *client, const struct model *model, bool has_times)
{
	static const struct column columns[] = {
		{ "NODE", NUMBER }, { "STATE", 0 },     { "DONE", NUMBER },    { "TOTAL", NUMBER },
		{ "RATE", NUMBER }, { "ETA", NUMBER },  { "THREADS", NUMBER }, { "CPUS", LONG },
		{ "POOL", LONG },   { "BOOT", NUMBER }, { "TIME", NUMBER },
	};
	scoped(table_closep) struct libscols_table *table = NULL;
	size_t i;
	int r;

	r = table_new(client, columns, ELEMENTS(columns) - (has_times ? 0 : 2), &table);
	for (i = 0; r >= 0 && i < model->nr_nodes; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		r = line ? fill_node(client, line, &model->nodes[i], has_times) : -ENOMEM;
	}
	return r < 0 ? r : scols_print_table(table);
}

static int fill_pool(const struct client *client, struct libscols_line *line,
                     const struct pool *pool)
{
	scoped(freep) char *reasons = sentence_reasons(pool, client->is_bytes);

	if (cell(line, 0, pool->name) < 0 || cell(line, 1, pool->kind) < 0 ||
	    cell_size_if(client, line, 2, model_has_pages(pool), pool->page_bytes) < 0 ||
	    cell_size_if(client, line, 3, pool->region_bytes, pool->region_bytes) < 0 ||
	    cell_state(line, 4, pool->state) < 0 ||
	    cell_size(client, line, 5, pool->done_bytes) < 0 ||
	    cell_size(client, line, 6, pool->total_bytes) < 0 ||
	    cell_size(client, line, 7, pool->short_bytes) < 0 ||
	    cell_size_if(client, line, 8, model_has_leases(pool), model_free_bytes(pool)) < 0 ||
	    cell_size_or_dash(client, line, 9, pool->leased_bytes) < 0 ||
	    cell_size_or_dash(client, line, 10, pool->draining_bytes) < 0 ||
	    cell(line, 11, reasons) < 0)
		return -ENOMEM;
	return 0;
}

static bool is_wanted(const struct pool *pool, char *const *names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, pool->name) == 0)
			return true;
	return false;
}

int tables_pools(const struct client *client, const struct model *model, char *const *names)
{
	static const struct column columns[] = {
		{ "POOL", 0 },        { "KIND", 0 },          { "PAGE", NUMBER },
		{ "REGION", NUMBER }, { "STATE", 0 },         { "DONE", NUMBER },
		{ "TOTAL", NUMBER },  { "SHORT", NUMBER },    { "FREE", NUMBER },
		{ "LEASED", NUMBER }, { "DRAINING", NUMBER }, { "REASON", LONG },
	};
	scoped(table_closep) struct libscols_table *table = NULL;
	size_t i;
	int r;

	r = table_new(client, columns, ELEMENTS(columns), &table);
	for (i = 0; r >= 0 && i < model->nr_pools; i++) {
		struct libscols_line *line;

		if (!is_wanted(&model->pools[i], names))
			continue;
		line = scols_table_new_line(table, NULL);
		r = line ? fill_pool(client, line, &model->pools[i]) : -ENOMEM;
	}
	return r < 0 ? r : scols_print_table(table);
}

/* Columns from @first on; the first ones are the caller's. */
static int fill_share(const struct client *client, struct libscols_line *line, size_t first,
                      const struct share *share)
{
	if (cell_state(line, first, share->state) < 0 ||
	    cell_size(client, line, first + 1, share->done_bytes) < 0 ||
	    cell_size(client, line, first + 2, share->total_bytes) < 0 ||
	    cell_size(client, line, first + 3, share->early_bytes) < 0 ||
	    cell_size(client, line, first + 4, share->short_bytes) < 0 ||
	    cell(line, first + 5, share->reason) < 0)
		return -ENOMEM;
	return 0;
}

#define SHARE_COLUMNS                                                                 \
	{ "STATE", 0 }, { "DONE", NUMBER }, { "TOTAL", NUMBER }, { "EARLY", NUMBER }, \
		{ "SHORT", NUMBER },                                                  \
	{                                                                             \
		"REASON", LONG                                                        \
	}

int tables_shares(const struct client *client, const struct pool *pool)
{
	static const struct column columns[] = { { "NODE", NUMBER }, SHARE_COLUMNS };
	scoped(table_closep) struct libscols_table *table = NULL;
	size_t i;
	int r;

	r = table_new(client, columns, ELEMENTS(columns), &table);
	for (i = 0; r >= 0 && i < pool->nr_shares; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		r = line ? cell_number(line, 0, pool->shares[i].node_id) : -ENOMEM;
		if (r >= 0)
			r = fill_share(client, line, 1, &pool->shares[i]);
	}
	return r < 0 ? r : scols_print_table(table);
}

int tables_node_shares(const struct client *client, const struct model *model, uint32_t node_id)
{
	static const struct column columns[] = { { "POOL", 0 }, SHARE_COLUMNS };
	scoped(table_closep) struct libscols_table *table = NULL;
	size_t i, j;
	int r;

	r = table_new(client, columns, ELEMENTS(columns), &table);
	for (i = 0; i < model->nr_pools; i++) {
		const struct pool *pool = &model->pools[i];

		for (j = 0; r >= 0 && j < pool->nr_shares; j++) {
			struct libscols_line *line;

			if (pool->shares[j].node_id != node_id)
				continue;
			line = scols_table_new_line(table, NULL);
			r = line ? cell(line, 0, pool->name) : -ENOMEM;
			if (r >= 0)
				r = fill_share(client, line, 1, &pool->shares[j]);
		}
	}
	return r < 0 ? r : scols_print_table(table);
}

/* The numbers of another host are not the names of this one. */
static int cell_user(const struct client *client, struct libscols_line *line, size_t column,
                     uint32_t uid)
{
	const struct passwd *user = client->host || client->machine ? NULL : getpwuid(uid);

	return user ? cell(line, column, user->pw_name) : cell_number(line, column, uid);
}

static int cell_date(struct libscols_line *line, size_t column, uint64_t realtime_usec)
{
	time_t seconds = (time_t) (realtime_usec / 1000000);
	char date[64] = "";
	struct tm broken;

	if (realtime_usec && localtime_r(&seconds, &broken))
		(void) strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %Z", &broken);
	return cell(line, column, date);
}

static int fill_lease(const struct client *client, struct libscols_line *line,
                      const struct lease_entry *lease)
{
	if (cell(line, 0, lease->id) < 0 || cell(line, 1, lease->pool) < 0 ||
	    cell_number(line, 2, lease->node_id) < 0 ||
	    cell_size(client, line, 3, lease->bytes) < 0 || cell_state(line, 4, lease->state) < 0 ||
	    cell_user(client, line, 5, lease->uid) < 0 || cell_number(line, 6, lease->pid) < 0 ||
	    cell(line, 7, lease->unit) < 0 || cell_date(line, 8, lease->since_realtime_usec) < 0)
		return -ENOMEM;
	return 0;
}

int tables_leases(const struct client *client, const struct leases *leases)
{
	static const struct column columns[] = {
		{ "ID", NUMBER },    { "POOL", 0 },    { "NODE", NUMBER },
		{ "BYTES", NUMBER }, { "STATE", 0 },   { "UID", 0 },
		{ "PID", NUMBER },   { "UNIT", LONG }, { "SINCE", 0 },
	};
	scoped(table_closep) struct libscols_table *table = NULL;
	size_t i;
	int r;

	r = table_new(client, columns, ELEMENTS(columns), &table);
	for (i = 0; r >= 0 && i < leases->nr_entries; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		r = line ? fill_lease(client, line, &leases->entries[i]) : -ENOMEM;
	}
	return r < 0 ? r : scols_print_table(table);
}
