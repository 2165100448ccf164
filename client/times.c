/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "times.h"
#include "text.h"

#define PERCENT_LEAST -1000000

bool times_spent_usec(const struct node *node, uint64_t *ret_usec)
{
	/* The early part has an end, too; it is not the node's. */
	if (!model_is_settled(node->state) || !node->started_monotonic_usec ||
	    node->finished_monotonic_usec < node->started_monotonic_usec)
		return false;
	*ret_usec = node->finished_monotonic_usec - node->started_monotonic_usec;
	return true;
}

static void add(struct times *times, uint64_t usec)
{
	times->nr_nodes++;
	if (__builtin_add_overflow(times->sum_usec, usec, &times->sum_usec))
		times->sum_usec = UINT64_MAX;
}

/* Whether @node was at work at @usec, or just ended then. */
static bool is_spent_until(const struct node *node, uint64_t usec)
{
	uint64_t spent_usec;

	return times_spent_usec(node, &spent_usec) && node->started_monotonic_usec <= usec &&
	       node->finished_monotonic_usec > usec;
}

/* From @usec on, how long some node was at work without a gap. */
static uint64_t stretch_usec(const struct model *model, uint64_t usec)
{
	uint64_t end_usec = usec;
	bool has_grown = true;
	size_t i;

	while (has_grown) {
		has_grown = false;
		for (i = 0; i < model->nr_nodes; i++)
			if (is_spent_until(&model->nodes[i], end_usec)) {
				end_usec = model->nodes[i].finished_monotonic_usec;
				has_grown = true;
			}
	}
	return end_usec - usec;
}

/* Whether nobody was at work right before @node began, and no node before it began then. */
static bool begins_stretch(const struct model *model, size_t node)
{
	uint64_t began_usec = model->nodes[node].started_monotonic_usec, usec;
	size_t i;

	for (i = 0; i < model->nr_nodes; i++) {
		const struct node *other = &model->nodes[i];

		if (!times_spent_usec(other, &usec) || i == node)
			continue;
		if (other->started_monotonic_usec < began_usec &&
		    other->finished_monotonic_usec >= began_usec)
			return false;
		if (other->started_monotonic_usec == began_usec && i < node)
			return false;
	}
	return true;
}

void times_of_nodes(const struct model *model, struct times *ret)
{
	uint64_t usec;
	size_t i;

	*ret = (struct times){ 0 };
	for (i = 0; i < model->nr_nodes; i++) {
		if (!times_spent_usec(&model->nodes[i], &usec))
			continue;
		add(ret, usec);
		if (begins_stretch(model, i))
			ret->wall_usec +=
				stretch_usec(model, model->nodes[i].started_monotonic_usec);
	}
}

void times_of_boot(const struct model *model, struct times *ret)
{
	size_t i;

	*ret = (struct times){ 0 };
	for (i = 0; i < model->nr_nodes; i++) {
		const struct node *node = &model->nodes[i];

		if (!node->has_boot)
			continue;
		add(ret, node->boot_usec);
		if (node->boot_usec > ret->wall_usec)
			ret->wall_usec = node->boot_usec;
	}
}

int times_saved_percent(uint64_t old_usec, uint64_t new_usec)
{
	double percent;

	if (!old_usec)
		return 0;
	percent = ((double) old_usec - (double) new_usec) / (double) old_usec * 100;
	return percent < PERCENT_LEAST ? PERCENT_LEAST : (int) percent;
}

/* Nodes that began one after another did not save anything, and are said so. */
static void print_saved(const struct times *times, FILE *out)
{
	int percent = times_saved_percent(times->sum_usec, times->wall_usec);

	if (percent > 0)
		fprintf(out, ": %d %% less\n", percent);
	else if (percent < 0)
		fprintf(out, ": %d %% more\n", -percent);
	else
		fprintf(out, ": nothing saved\n");
}

static bool is_at_work(const struct model *model)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		if (!model_is_settled(model->nodes[i].state))
			return true;
	return false;
}

void times_print(const struct model *model, FILE *out)
{
	char sum[TEXT_MAX], wall[TEXT_MAX];
	struct times times;

	times_of_nodes(model, &times);
	if (times.nr_nodes) {
		fprintf(out, "%sone after another %s, together %s",
		        is_at_work(model) ? "so far, " : "", text_span(times.sum_usec, sum),
		        text_span(times.wall_usec, wall));
		print_saved(&times, out);
	}
	times_of_boot(model, &times);
	if (times.nr_nodes) {
		fprintf(out, "boot: one after another %s, together %s (the longest)",
		        text_span(times.sum_usec, sum), text_span(times.wall_usec, wall));
		print_saved(&times, out);
	}
}
