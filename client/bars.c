/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bars.h"
#include "paint.h"
#include "scoped.h"
#include "sentence.h"
#include "text.h"

#define BAR_MIN 8
#define BAR_MAX 40

/* What stands in a line beside the bar: "node 1023 " before; " 100 %  1023.9 GiB/s  12:34:56 "
 * after. */
#define FRONT_COLUMNS 10
#define AFTER_COLUMNS 30

static void screen(unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size = { 0 };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col) {
		size.ws_row = 24;
		size.ws_col = 80;
	}
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
}

/* Print @text in at most @columns columns. Continuation bytes of UTF-8 take none. */
static void print_cut(const char *text, unsigned columns)
{
	for (; *text; text++) {
		bool begins = ((unsigned char) *text & 0xc0) != 0x80;

		if (begins && !columns)
			break;
		if (begins)
			columns--;
		fputc(*text, stderr);
	}
}

/* Done is solid, known to be missing is marked, the rest is open. */
static void print_bar(const struct client *client, const struct node *node, unsigned width)
{
	double whole = node->total_bytes ? (double) node->total_bytes : 1;
	unsigned nr_done = (unsigned) ((double) node->done_bytes / whole * width);
	unsigned nr_short = (unsigned) ((double) node->short_bytes / whole * width + 0.999), i;

	nr_done = nr_done > width || !node->total_bytes ? width : nr_done;
	nr_short = nr_short > width - nr_done ? width - nr_done : nr_short;
	fputs(paint_begin(client->has_err_color, node->state), stderr);
	for (i = 0; i < width; i++) {
		if (i < nr_done)
			fputs(client->is_utf8 ? "█" : "#", stderr);
		else if (i >= width - nr_short)
			fputs(client->is_utf8 ? "╳" : "x", stderr);
		else
			fputs(client->is_utf8 ? "░" : "-", stderr);
	}
	fputs(paint_end(client->has_err_color), stderr);
}

static void draw_node(const struct client *client, const struct node *node, unsigned columns)
{
	uint64_t left_bytes =
		model_left_bytes(node->total_bytes, node->done_bytes, node->short_bytes);
	scoped(freep) char *pool = text_escape(node->current_pool);
	scoped(freep) char *state = text_escape(node->state);
	scoped(freep) char *last = NULL;
	char rate[TEXT_MAX], speed[TEXT_MAX + 2], eta[TEXT_MAX], front[64], after[96];
	unsigned width = BAR_MIN, fixed = FRONT_COLUMNS + AFTER_COLUMNS + 20;

	if (columns > fixed + BAR_MIN)
		width = columns - fixed > BAR_MAX ? BAR_MAX : columns - fixed;
	(void) snprintf(front, sizeof(front), "node %-4" PRIu32 " ", node->node_id);
	(void) snprintf(speed, sizeof(speed), "%s/s", text_size(node->rate_bytes, false, rate));
	(void) snprintf(after, sizeof(after), " %3u %%  %12s  %8s  ",
	                text_percent(node->done_bytes, node->total_bytes),
	                node->rate_bytes ? speed : "-",
	                text_time_left(left_bytes, node->rate_bytes, eta));
	if (asprintf(&last, "%s%s%s%s", state ? state : "?", node->is_braked ? " (braked)" : "",
	             pool && *pool ? " " : "", pool ? pool : "") < 0)
		last = NULL;
	fputs("\r\033[K", stderr);
	fputs(front, stderr);
	print_bar(client, node, width);
	columns = columns > FRONT_COLUMNS + width ? columns - FRONT_COLUMNS - width : 0;
	print_cut(after, columns);
	/* The last column stays free: some terminals wrap when it is written. */
	if (columns > strlen(after) + 1)
		print_cut(last ? last : "", columns - (unsigned) strlen(after) - 1);
	fputc('\n', stderr);
}

/* Nodes that work come first where there is no room for all. */
static bool is_shown(const struct node *node, unsigned pass)
{
	bool is_working = node->rate_bytes || *node->current_pool;
	unsigned rank = is_working ? 0 : model_is_failed(node->state) ? 1 : 2;

	return rank == pass;
}

/* Mark in @marks the @room nodes that are worth a line, most interesting first. */
static unsigned choose(const struct model *model, unsigned room, bool *marks)
{
	unsigned nr_chosen = 0, pass;
	size_t i;

	for (pass = 0; pass < 3; pass++)
		for (i = 0; i < model->nr_nodes && nr_chosen < room; i++)
			if (is_shown(&model->nodes[i], pass)) {
				marks[i] = true;
				nr_chosen++;
			}
	return nr_chosen;
}

static void draw_rest(const struct model *model, const bool *marks, unsigned columns)
{
	unsigned nr_settled = 0, nr_working = 0, nr_waiting = 0, nr_rest;
	char line[128];
	size_t i;

	for (i = 0; i < model->nr_nodes; i++) {
		const struct node *node = &model->nodes[i];

		if (marks[i])
			continue;
		if (model_is_settled(node->state))
			nr_settled++;
		else if (node->rate_bytes || *node->current_pool)
			nr_working++;
		else
			nr_waiting++;
	}
	nr_rest = nr_settled + nr_working + nr_waiting;
	(void) snprintf(line, sizeof(line), "and %u more %s: %u working, %u waiting, %u settled",
	                nr_rest, nr_rest == 1 ? "node" : "nodes", nr_working, nr_waiting,
	                nr_settled);
	fputs("\r\033[K", stderr);
	print_cut(line, columns - 1);
	fputc('\n', stderr);
}

void bars_draw(struct bars *bars, const struct client *client, const struct model *model)
{
	scoped(freep) char *progress = sentence_progress(model, NULL);
	scoped(freep) bool *marks = calloc(model->nr_nodes + 1, sizeof(*marks));
	unsigned rows, columns, nr_lines, room;
	size_t i;

	screen(&rows, &columns);
	if (!marks || rows < 4 || columns < 20)
		return;
	/* One line for the sum, one below for the cursor, one for what did not fit. */
	room = model->nr_nodes + 2 <= rows ? (unsigned) model->nr_nodes : rows - 3;
	if (bars->nr_lines)
		fprintf(stderr, "\033[%uA", bars->nr_lines < rows ? bars->nr_lines : rows - 1);
	nr_lines = choose(model, room, marks);
	for (i = 0; i < model->nr_nodes; i++)
		if (marks[i])
			draw_node(client, &model->nodes[i], columns);
	if (room < model->nr_nodes) {
		draw_rest(model, marks, columns);
		nr_lines++;
	}
	fputs("\r\033[K", stderr);
	fputs(paint_begin(client->has_err_color, model->host.state), stderr);
	print_cut(progress ? progress : "?", columns - 1);
	fputs(paint_end(client->has_err_color), stderr);
	/* What a longer picture left below. */
	fputs("\n\033[J", stderr);
	(void) fflush(stderr);
	bars->nr_lines = nr_lines + 1;
}
