/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan for people: what will be done, what a node's memory goes to, then sentences. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "plan-print.h"

static struct libscols_table *table_free(struct libscols_table *table)
{
	scols_unref_table(table);
	return NULL;
}
DEFINE_SCOPED(struct libscols_table *, table_free)

struct column {
	const char *title;
	bool is_number;
	bool is_hidden;
};

static int table_new(FILE *out, const struct column *columns, size_t nr_columns,
                     struct libscols_table **ret)
{
	scoped(table_freep) struct libscols_table *table = scols_new_table();

	if (!table || scols_table_set_stream(table, out) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr_columns; i++)
		if (!scols_table_new_column(table, columns[i].title, 0,
		                            (columns[i].is_number ? SCOLS_FL_RIGHT : 0) |
		                                    (columns[i].is_hidden ? SCOLS_FL_HIDDEN : 0)))
			return -ENOMEM;
	*ret = take(table);
	return 0;
}

static int table_print(struct libscols_table *table)
{
	int r = scols_print_table(table);

	return r < 0 && r != -ENOMEM ? -EIO : r;
}

static int set_size(struct libscols_line *line, size_t column, uint64_t bytes)
{
	char text[SIZE_TEXT_MAX];

	return scols_line_set_data(line, column, bytes ? size_text(bytes, text) : "-");
}

/* Nodes that are alike share the lines of a table; amounts are those of each of them. */
typedef bool (*is_alike_fn)(const struct plan_node *a, const struct plan_node *b);

static bool are_shares_alike(const struct plan_node *a, const struct plan_node *b)
{
	if (a->nr_shares != b->nr_shares)
		return false;
	for (size_t i = 0; i < a->nr_shares; i++) {
		const struct plan_share *x = &a->shares[i];
		const struct plan_share *y = &b->shares[i];

		if (x->pool != y->pool || x->early_bytes != y->early_bytes ||
		    x->deferred_bytes != y->deferred_bytes ||
		    x->refused_bytes != y->refused_bytes || x->refusal != y->refusal ||
		    plan_share_nr_linked(x) != plan_share_nr_linked(y))
			return false;
	}
	return true;
}

static bool are_accounts_alike(const struct plan_node *a, const struct plan_node *b)
{
	return a->exists == b->exists && a->helper_node_id == b->helper_node_id &&
	       a->memory_bytes == b->memory_bytes && a->coming_bytes == b->coming_bytes &&
	       a->offline_bytes == b->offline_bytes &&
	       a->early_budget_bytes == b->early_budget_bytes && a->early_bytes == b->early_bytes &&
	       a->deferred_bytes == b->deferred_bytes && a->reserved_bytes == b->reserved_bytes &&
	       a->unclaimed_bytes == b->unclaimed_bytes;
}

/* The nodes that are like @first, which is the lowest of them: their ids, and all their CPUs. */
static int group_of(const struct plan *plan, const struct plan_node *first, is_alike_fn is_alike,
                    struct idset *ret_nodes, struct idset *ret_cpus)
{
	for (const struct plan_node *node = first; node < plan->nodes + plan->nr_nodes; node++) {
		int r;

		if (!is_alike(first, node))
			continue;
		r = idset_add(ret_nodes, node->node_id);
		for (int cpu = idset_next(&node->cpus, 0); cpu >= 0 && r == 0;
		     cpu = idset_next(&node->cpus, (unsigned) cpu + 1))
			r = idset_add(ret_cpus, (unsigned) cpu);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_first_of_group(const struct plan *plan, const struct plan_node *node,
                              is_alike_fn is_alike)
{
	for (const struct plan_node *before = plan->nodes; before < node; before++)
		if (is_alike(before, node))
			return false;
	return true;
}

enum { SHARE_NODE, SHARE_POOL, SHARE_KIND, SHARE_PAGE, SHARE_EARLY, SHARE_DEFERRED, SHARE_REFUSED };

/* "-", "2 GiB exceeds-reserve", "2 GiB exceeds-reserve, 3 of 5 files linked to the original". */
static void refused_text(const struct plan_share *share, char *text, size_t text_bytes)
{
	size_t nr_linked = plan_share_nr_linked(share);
	char size[SIZE_TEXT_MAX];
	int used_bytes;

	snprintf(text, text_bytes, "-");
	if (share->refusal == PLAN_ACCEPTED)
		return;
	used_bytes = snprintf(text, text_bytes, "%s %s", size_text(share->refused_bytes, size),
	                      plan_refusal_text(share->refusal));
	if (nr_linked > 0)
		snprintf(text + used_bytes, text_bytes - (size_t) used_bytes,
		         ", %zu of %zu files linked to the original", nr_linked, share->nr_copies);
}

static int add_share(struct libscols_table *table, const char *nodes,
                     const struct plan_share *share)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char refused[SIZE_TEXT_MAX + 128];

	if (!line)
		return -ENOMEM;
	refused_text(share, refused, sizeof(refused));
	if (scols_line_set_data(line, SHARE_NODE, nodes) < 0 ||
	    scols_line_set_data(line, SHARE_POOL, share->pool->name) < 0 ||
	    scols_line_set_data(line, SHARE_KIND, pool_kind_text(share->pool->kind)) < 0 ||
	    set_size(line, SHARE_PAGE, share->pool->page_bytes) < 0 ||
	    set_size(line, SHARE_EARLY, share->early_bytes) < 0 ||
	    set_size(line, SHARE_DEFERRED, share->deferred_bytes) < 0 ||
	    scols_line_set_data(line, SHARE_REFUSED, refused) < 0)
		return -ENOMEM;
	return 0;
}

static int add_share_totals(struct libscols_table *table, const struct plan *plan)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	if (!line || scols_line_set_data(line, SHARE_NODE, "total") < 0 ||
	    set_size(line, SHARE_EARLY, plan->early_bytes) < 0 ||
	    set_size(line, SHARE_DEFERRED, plan->deferred_bytes) < 0 ||
	    set_size(line, SHARE_REFUSED, plan->refused_bytes) < 0)
		return -ENOMEM;
	return 0;
}

static int print_shares(const struct plan *plan, FILE *out)
{
	static const struct column columns[] = {
		[SHARE_NODE] = { "NODE", true },        [SHARE_POOL] = { "POOL", false },
		[SHARE_KIND] = { "KIND", false },       [SHARE_PAGE] = { "PAGE SIZE", true },
		[SHARE_EARLY] = { "EARLY", true },      [SHARE_DEFERRED] = { "DEFERRED", true },
		[SHARE_REFUSED] = { "REFUSED", false },
	};
	scoped(table_freep) struct libscols_table *table = NULL;
	int r = table_new(out, columns, ELEMENTS(columns), &table);

	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++) {
		const struct plan_node *node = &plan->nodes[i];
		scoped(idset_clear) struct idset ids = { .words = NULL };
		scoped(idset_clear) struct idset cpus = { .words = NULL };
		scoped(freep) char *nodes = NULL;

		if (!is_first_of_group(plan, node, are_shares_alike))
			continue;
		r = group_of(plan, node, are_shares_alike, &ids, &cpus);
		nodes = idset_text(&ids);
		if (!nodes)
			r = -ENOMEM;
		for (size_t j = 0; j < node->nr_shares && r == 0; j++)
			r = add_share(table, nodes, &node->shares[j]);
	}
	if (r == 0)
		r = add_share_totals(table, plan);
	if (r < 0)
		return r;
	fputs("What the nodes bring into service (amounts are for each node):\n\n", out);
	return table_print(table);
}

enum {
	ACCOUNT_NODE,
	ACCOUNT_MEMORY,
	ACCOUNT_COMING,
	ACCOUNT_OFFLINE,
	ACCOUNT_POOLS,
	ACCOUNT_RESERVED,
	ACCOUNT_UNCLAIMED,
	ACCOUNT_BUDGET,
	ACCOUNT_CPUS
};

/* By pools; those of kind block take nothing. */
static uint64_t taken_bytes(const struct plan_node *node)
{
	return node->memory_bytes - node->reserved_bytes - node->unclaimed_bytes;
}

static int add_account(struct libscols_table *table, const struct plan *plan,
                       const struct plan_node *node)
{
	scoped(idset_clear) struct idset ids = { .words = NULL };
	scoped(idset_clear) struct idset cpu_ids = { .words = NULL };
	scoped(freep) char *nodes = NULL;
	scoped(freep) char *cpus = NULL;
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int r = group_of(plan, node, are_accounts_alike, &ids, &cpu_ids);

	nodes = idset_text(&ids);
	cpus = idset_text(&cpu_ids);
	if (r < 0 || !line || !nodes || !cpus ||
	    scols_line_set_data(line, ACCOUNT_NODE, nodes) < 0 ||
	    set_size(line, ACCOUNT_MEMORY, node->memory_bytes) < 0 ||
	    set_size(line, ACCOUNT_COMING, node->coming_bytes) < 0 ||
	    set_size(line, ACCOUNT_OFFLINE, node->offline_bytes) < 0 ||
	    set_size(line, ACCOUNT_POOLS, taken_bytes(node)) < 0 ||
	    set_size(line, ACCOUNT_RESERVED, node->reserved_bytes) < 0 ||
	    set_size(line, ACCOUNT_UNCLAIMED, node->unclaimed_bytes) < 0 ||
	    set_size(line, ACCOUNT_BUDGET, node->early_budget_bytes) < 0 ||
	    scols_line_set_data(line, ACCOUNT_CPUS, cpus) < 0)
		return -ENOMEM;
	return 0;
}

static int add_account_totals(struct libscols_table *table, const struct plan *plan)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	uint64_t memory_bytes = 0, reserved_bytes = 0, unclaimed_bytes = 0, budget_bytes = 0;
	uint64_t coming_bytes = 0, offline_bytes = 0, pools_bytes = 0;

	for (size_t i = 0; i < plan->nr_nodes; i++) {
		memory_bytes += plan->nodes[i].memory_bytes;
		coming_bytes += plan->nodes[i].coming_bytes;
		offline_bytes += plan->nodes[i].offline_bytes;
		pools_bytes += taken_bytes(&plan->nodes[i]);
		reserved_bytes += plan->nodes[i].reserved_bytes;
		unclaimed_bytes += plan->nodes[i].unclaimed_bytes;
		budget_bytes += plan->nodes[i].early_budget_bytes;
	}
	if (!line || scols_line_set_data(line, ACCOUNT_NODE, "total") < 0 ||
	    set_size(line, ACCOUNT_MEMORY, memory_bytes) < 0 ||
	    set_size(line, ACCOUNT_COMING, coming_bytes) < 0 ||
	    set_size(line, ACCOUNT_OFFLINE, offline_bytes) < 0 ||
	    set_size(line, ACCOUNT_POOLS, pools_bytes) < 0 ||
	    set_size(line, ACCOUNT_RESERVED, reserved_bytes) < 0 ||
	    set_size(line, ACCOUNT_UNCLAIMED, unclaimed_bytes) < 0 ||
	    set_size(line, ACCOUNT_BUDGET, budget_bytes) < 0)
		return -ENOMEM;
	return 0;
}

static bool has_offline(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_nodes; i++)
		if (plan->nodes[i].offline_bytes > 0)
			return true;
	return false;
}

static int print_accounts(const struct plan *plan, FILE *out)
{
	const bool is_all_online = !has_offline(plan);
	const struct column columns[] = {
		[ACCOUNT_NODE] = { "NODE", true },
		[ACCOUNT_MEMORY] = { "MEMORY", true },
		/* of MEMORY: what pools of kind block are going to bring online */
		[ACCOUNT_COMING] = { "COMING", true, is_all_online },
		[ACCOUNT_OFFLINE] = { "OFFLINE", true, is_all_online },
		[ACCOUNT_POOLS] = { "POOLS", true },
		[ACCOUNT_RESERVED] = { "RESERVED", true },
		[ACCOUNT_UNCLAIMED] = { "UNCLAIMED", true },
		[ACCOUNT_BUDGET] = { "EARLY BUDGET", true },
		[ACCOUNT_CPUS] = { "WORKER CPUS", false },
	};
	scoped(table_freep) struct libscols_table *table = NULL;
	int r = table_new(out, columns, ELEMENTS(columns), &table);

	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		if (plan->nodes[i].exists &&
		    is_first_of_group(plan, &plan->nodes[i], are_accounts_alike))
			r = add_account(table, plan, &plan->nodes[i]);
	if (r == 0)
		r = add_account_totals(table, plan);
	if (r < 0)
		return r;
	fprintf(out, "Where the memory goes (for each node%s):\n\n",
	        is_all_online ? "" : "; MEMORY with what is COMING of what is OFFLINE");
	return table_print(table);
}

static bool is_helped_alike(const struct plan_node *a, const struct plan_node *b)
{
	return a->helper_node_id == b->helper_node_id;
}

/* One line for each helper: "CPUs of node 0 also work for 252-255, …". */
static int print_helpers(const struct plan *plan, FILE *out)
{
	for (size_t i = 0; i < plan->nr_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];
		scoped(idset_clear) struct idset ids = { .words = NULL };
		scoped(idset_clear) struct idset cpus = { .words = NULL };
		scoped(freep) char *nodes = NULL;
		int r;

		if (node->helper_node_id < 0 || !is_first_of_group(plan, node, is_helped_alike))
			continue;
		r = group_of(plan, node, is_helped_alike, &ids, &cpus);
		nodes = idset_text(&ids);
		if (r < 0 || !nodes)
			return -ENOMEM;
		fprintf(out, "CPUs of node %d also work for %s: no CPUs there may be used.\n",
		        node->helper_node_id, nodes);
	}
	return 0;
}

int plan_print_text(const struct plan *plan, FILE *out)
{
	int r = 0;

	if (plan->nr_pools)
		r = print_shares(plan, out);
	else if (plan->is_anything_refused_by_file)
		fputs("No pool can be used: what is declared was refused, see below.\n", out);
	else
		fputs("No pool is declared: nothing will be taken.\n", out);
	if (r < 0)
		return r;
	fputs("\n", out);
	r = print_accounts(plan, out);
	if (r < 0)
		return r;
	fputs("\n", out);
	r = print_helpers(plan, out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->nr_warnings; i++)
		fprintf(out, "warning: %s\n", plan->warnings[i]);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
