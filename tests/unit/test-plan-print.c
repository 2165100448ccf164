/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as people and as programs read it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "../../daemon/plan/plan-print.h"
#include "plan-world.h"
#include "suite.h"

static struct world world;
static char *text;
static struct json_object *document;

static void setup(void)
{
	world_init(&world);
}

static void teardown(void)
{
	json_object_put(take(document));
	free(take(text));
	world_clear(&world);
}

static void print(int (*print_plan)(const struct plan *, FILE *))
{
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(print_plan(world.plan, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

/* Two alike, one helped by node 0, one without memory, one that is not there. */
static void build(void)
{
	struct machine_node *helped;

	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	helped = world_add_node(&world, 4, 16 * GIB);
	idset_clear(&helped->usable_cpus);
	helped->helper_node_id = 0;
	helped->spanned_bytes = 20 * GIB;
	world_add_node(&world, 5, 0);
	world_set_page(world_add_pool(&world, "dpdk", POOL_HUGETLB, "512p"), POOL_PAGE_HUGE, 0);
	world.pools[0].is_required = false;
	world_add_pool(&world, "guests", POOL_REGION, "50%");
	world_set_minimum(&world.pools[1], "25%");
	world_set_node_list(world_add_pool(&world, "lost", POOL_REGION, "3G"), "9");
	world_set_page(world_add_pool(&world, "tail", POOL_REGION, "7G"), POOL_PAGE_THP, 0);
	world_plan(&world);
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	ck_assert_msg(json_object_object_get_ex(object, key, &value), "no key \"%s\"", key);
	return value;
}

static void expect_bytes(struct json_object *object, const char *key, uint64_t bytes)
{
	ck_assert_int_eq(json_object_get_type(get(object, key)), json_type_int);
	ck_assert_uint_eq(json_object_get_uint64(get(object, key)), bytes);
}

static void expect_text(struct json_object *object, const char *key, const char *value)
{
	ck_assert_int_eq(json_object_get_type(get(object, key)), json_type_string);
	ck_assert_str_eq(json_object_get_string(get(object, key)), value);
}

/* The keys of @object are these, in this order, separated by blanks. */
static void expect_keys(struct json_object *object, const char *keys)
{
	char found[256] = "";

	json_object_object_foreach(object, key, value)
	{
		(void) value;
		if (found[0])
			strcat(found, " ");
		strcat(found, key);
	}
	ck_assert_str_eq(found, keys);
}

static void expect_share(struct json_object *object, const struct plan_share *share)
{
	expect_keys(object,
	            share->pool->kind == POOL_REPLICA
	                    ? "pool kind page_size declared early deferred refused reason files "
	                      "linked"
	                    : "pool kind page_size declared early deferred refused reason");
	expect_text(object, "pool", share->pool->name);
	expect_text(object, "kind", pool_kind_text(share->pool->kind));
	expect_bytes(object, "page_size", share->pool->page_bytes);
	expect_bytes(object, "declared", share->declared_bytes);
	expect_bytes(object, "early", share->early_bytes);
	expect_bytes(object, "deferred", share->deferred_bytes);
	expect_bytes(object, "refused", share->refused_bytes);
	expect_text(object, "reason", plan_refusal_text(share->refusal));
	if (share->pool->kind == POOL_REPLICA) {
		expect_bytes(object, "files", share->nr_copies);
		expect_bytes(object, "linked", plan_share_nr_linked(share));
	}
}

static void expect_node(struct json_object *object, const struct plan_node *node)
{
	scoped(freep) char *cpus = idset_text(&node->cpus);
	struct json_object *shares = get(object, "shares");

	expect_keys(object, "id cpus helper_node memory spanned early_budget declared early "
	                    "deferred refused reserved unclaimed shares offline coming");
	expect_bytes(object, "id", node->node_id);
	expect_text(object, "cpus", cpus);
	if (node->helper_node_id < 0)
		ck_assert_ptr_null(get(object, "helper_node"));
	else
		expect_bytes(object, "helper_node", (uint64_t) node->helper_node_id);
	expect_bytes(object, "memory", node->memory_bytes);
	expect_bytes(object, "spanned", node->spanned_bytes);
	expect_bytes(object, "early_budget", node->early_budget_bytes);
	expect_bytes(object, "declared", node->declared_bytes);
	expect_bytes(object, "early", node->early_bytes);
	expect_bytes(object, "deferred", node->deferred_bytes);
	expect_bytes(object, "refused", node->refused_bytes);
	expect_bytes(object, "reserved", node->reserved_bytes);
	expect_bytes(object, "unclaimed", node->unclaimed_bytes);
	expect_bytes(object, "offline", node->offline_bytes);
	expect_bytes(object, "coming", node->coming_bytes);
	ck_assert_uint_eq(json_object_array_length(shares), node->nr_shares);
	for (size_t i = 0; i < node->nr_shares; i++)
		expect_share(json_object_array_get_idx(shares, i), &node->shares[i]);
}

static void expect_pool(struct json_object *object, const struct plan_pool *pool)
{
	expect_keys(object, "name kind page_size required minimum declared refused reason source");
	expect_text(object, "name", pool->name);
	expect_text(object, "kind", pool_kind_text(pool->kind));
	expect_bytes(object, "page_size", pool->page_bytes);
	ck_assert_int_eq(json_object_get_type(get(object, "required")), json_type_boolean);
	ck_assert_int_eq(json_object_get_boolean(get(object, "required")), pool->is_required);
	expect_bytes(object, "minimum", pool->minimum_bytes);
	expect_bytes(object, "declared", pool->declared_bytes);
	expect_bytes(object, "refused", pool->refused_bytes);
	expect_text(object, "reason", plan_refusal_text(pool->refusal));
	expect_text(object, "source", pool->source);
}

static void expect_document(const struct plan *plan)
{
	struct json_object *totals = get(document, "totals");
	struct json_object *nodes = get(document, "nodes");
	struct json_object *pools = get(document, "pools");
	struct json_object *warnings = get(document, "warnings");

	expect_keys(document, "totals nodes pools warnings");
	expect_keys(totals, "declared early deferred refused");
	expect_bytes(totals, "declared", plan->declared_bytes);
	expect_bytes(totals, "early", plan->early_bytes);
	expect_bytes(totals, "deferred", plan->deferred_bytes);
	expect_bytes(totals, "refused", plan->refused_bytes);
	ck_assert_uint_eq(json_object_array_length(nodes), plan->nr_nodes);
	for (size_t i = 0; i < plan->nr_nodes; i++)
		expect_node(json_object_array_get_idx(nodes, i), &plan->nodes[i]);
	ck_assert_uint_eq(json_object_array_length(pools), plan->nr_pools);
	for (size_t i = 0; i < plan->nr_pools; i++)
		expect_pool(json_object_array_get_idx(pools, i), &plan->pools[i]);
	ck_assert_uint_eq(json_object_array_length(warnings), plan->nr_warnings);
	for (size_t i = 0; i < plan->nr_warnings; i++)
		ck_assert_str_eq(json_object_get_string(json_object_array_get_idx(warnings, i)),
		                 plan->warnings[i]);
}

/* Blocks on two nodes, and files that do not all fit on one of them. */
static void build_blocks_and_files(void)
{
	struct pool_config *files;

	world_add_node(&world, 0, 16 * GIB);
	world_add_node(&world, 1, GIB);
	world_add_blocks(&world, 0, 32);
	world_add_blocks(&world, 1, 8);
	world_set_size_on(world_add_pool(&world, "dimm", POOL_BLOCK, NULL), 1, "1280M");
	world_set_size_on(&world.pools[0], 0, "2G");
	files = world_add_pool(&world, "files", POOL_REPLICA, NULL);
	world_add_file(files, "/srv/a", GIB);
	world_add_file(files, "/srv/b", GIB);
	world_add_file(files, "/srv/c", 3 * GIB);
	world_add_refused(files, "/srv/d", ORIGINAL_DIRECTORY);
	world_plan(&world);
}

START_TEST(test_the_json_document_has_what_is_offline_and_what_is_linked)
{
	struct json_object *node;

	build_blocks_and_files();
	print(plan_print_json);
	document = json_tokener_parse(text);
	ck_assert_ptr_nonnull(document);
	expect_document(world.plan);
	node = json_object_array_get_idx(get(document, "nodes"), 0);
	expect_bytes(node, "offline", 4 * GIB);
	expect_bytes(node, "coming", 2 * GIB);
	expect_bytes(node, "memory", 18 * GIB);
	node = json_object_array_get_idx(get(document, "nodes"), 1);
	expect_bytes(json_object_array_get_idx(get(node, "shares"), 1), "files", 3);
	expect_bytes(json_object_array_get_idx(get(node, "shares"), 1), "linked", 2);
}
END_TEST

START_TEST(test_the_text_has_what_is_offline_and_what_is_linked)
{
	build_blocks_and_files();
	print(plan_print_text);
	ck_assert_str_eq(
		text,
		"What the nodes bring into service (amounts are for each node):\n"
		"\n"
		" NODE POOL  KIND    PAGE SIZE   EARLY DEFERRED REFUSED\n"
		"    0 dimm  block       4 KiB 640 MiB  1.3 GiB -\n"
		"    0 files replica     4 KiB 1.4 GiB  3.5 GiB -\n"
		"    1 dimm  block       4 KiB   1 GiB        - 256 MiB no-offline-memory\n"
		"    1 files replica     4 KiB   1 GiB        - 4 GiB exceeds-reserve, 2 of 3 "
		"files linked to the original\n"
		"total                           4 GiB  4.9 GiB 4.2 GiB\n"
		"\n"
		"Where the memory goes (for each node; MEMORY with what is COMING of what is "
		"OFFLINE):\n"
		"\n"
		" NODE MEMORY COMING OFFLINE POOLS  RESERVED UNCLAIMED EARLY BUDGET WORKER CPUS\n"
		"    0 18 GiB  2 GiB   4 GiB 5 GiB 921.5 MiB  12.1 GiB        2 GiB 0-1\n"
		"    1  2 GiB  1 GiB   1 GiB 1 GiB   256 MiB   768 MiB        2 GiB 2-3\n"
		"total 20 GiB  3 GiB   5 GiB 6 GiB   1.1 GiB  12.8 GiB        4 GiB \n"
		"\n"
		"warning: pool dimm: 256 MiB refused on node 1: more than the memory blocks that "
		"are offline there and in no other pool\n"
		"warning: pool dimm: will fail: Minimum= is 1.2 GiB on node 1, and 1 GiB can be "
		"had there\n"
		"warning: /etc/nodeinit/pools.d/a.pool:7: Paths=/srv/d is a directory; accepted: "
		"regular files\n"
		"warning: pool files: 4 GiB refused on node 1: Reserve= keeps it for the rest of "
		"the system\n"
		"warning: node 0: 2 GiB offline, no pool of kind block takes them\n");
}
END_TEST

START_TEST(test_the_json_document_read_back_is_the_plan)
{
	build();
	print(plan_print_json);
	document = json_tokener_parse(text);
	ck_assert_ptr_nonnull(document);
	expect_document(world.plan);
}
END_TEST

START_TEST(test_an_empty_plan_is_a_document_too)
{
	world_add_node(&world, 0, 64 * GIB);
	world_plan(&world);
	print(plan_print_json);
	document = json_tokener_parse(text);
	ck_assert_ptr_nonnull(document);
	expect_document(world.plan);
}
END_TEST

START_TEST(test_bytes_above_63_bits_are_printed_as_they_are)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "16383P");
	world_plan(&world);
	print(plan_print_json);
	document = json_tokener_parse(text);
	ck_assert_ptr_nonnull(document);
	expect_document(world.plan);
}
END_TEST

START_TEST(test_the_json_document_is_for_eyes_too)
{
	build();
	print(plan_print_json);
	ck_assert_ptr_nonnull(strstr(text, "\"source\": \"/etc/nodeinit/pools.d/dpdk.pool\""));
	ck_assert_ptr_nonnull(strstr(text, "\n  \"totals\": {\n"));
	ck_assert_str_eq(text + strlen(text) - 3, "\n}\n");
}
END_TEST

START_TEST(test_the_text_is_a_table_an_account_and_sentences)
{
	build();
	print(plan_print_text);
	ck_assert_str_eq(text,
	                 "What the nodes bring into service (amounts are for each node):\n"
	                 "\n"
	                 " NODE POOL   KIND    PAGE SIZE   EARLY DEFERRED REFUSED\n"
	                 "  0-1 dpdk   hugetlb     2 MiB  52 MiB  972 MiB -\n"
	                 "  0-1 guests region      4 KiB   2 GiB   30 GiB -\n"
	                 "  0-1 tail   region      2 MiB   1 GiB    6 GiB -\n"
	                 "    4 dpdk   hugetlb     2 MiB  28 MiB  176 MiB 820 MiB exceeds-reserve\n"
	                 "    4 guests region      4 KiB   2 GiB    6 GiB -\n"
	                 "    4 tail   region      2 MiB   1 GiB    6 GiB -\n"
	                 "    9 lost   region      4 KiB       -        - 3 GiB no-such-node\n"
	                 "total                          9.1 GiB   86 GiB 3.8 GiB\n"
	                 "\n"
	                 "Where the memory goes (for each node):\n"
	                 "\n"
	                 " NODE  MEMORY    POOLS  RESERVED UNCLAIMED EARLY BUDGET WORKER CPUS\n"
	                 "  0-1  64 GiB   40 GiB   3.1 GiB  20.8 GiB        2 GiB 0-3\n"
	                 "    4  16 GiB 15.1 GiB 819.1 MiB 819.2 KiB        2 GiB 0-1\n"
	                 "    5       -        -         -         -            - 6-7\n"
	                 "total 144 GiB 95.1 GiB   7.1 GiB  41.6 GiB        6 GiB \n"
	                 "\n"
	                 "CPUs of node 0 also work for 4: no CPUs there may be used.\n"
	                 "warning: pool dpdk: 820 MiB refused on node 4: Reserve= keeps it for the "
	                 "rest of the system\n"
	                 "warning: pool dpdk: will fail: Minimum= is 1 GiB on node 4, and 204 MiB "
	                 "can be had there\n"
	                 "warning: pool lost: this machine has no node 9\n"
	                 "warning: pool lost: will fail: Minimum= is 3 GiB on node 9, and 0 B can "
	                 "be had there\n");
}
END_TEST

static size_t count_groups(void)
{
	size_t nr_groups = 0;

	free(take(text));
	print(plan_print_text);
	for (const char *at = text; (at = strstr(at, " 0-1 ")); at++)
		nr_groups++;
	return nr_groups;
}

/* Change one amount of node 1, look, and change it back. */
static size_t groups_with_other(uint64_t *bytes)
{
	size_t nr_groups;

	*bytes += GIB;
	nr_groups = count_groups();
	*bytes -= GIB;
	return nr_groups;
}

START_TEST(test_nodes_that_differ_in_anything_have_lines_of_their_own)
{
	struct plan_node *node;
	struct plan_share *share;

	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan(&world);
	node = &world.plan->nodes[1];
	share = &node->shares[0];
	ck_assert_uint_eq(count_groups(), 2); /* one in each table */
	ck_assert_uint_eq(groups_with_other(&node->memory_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->coming_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->offline_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->early_budget_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->early_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->deferred_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->reserved_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&node->unclaimed_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&share->early_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&share->deferred_bytes), 1);
	ck_assert_uint_eq(groups_with_other(&share->refused_bytes), 1);
	node->helper_node_id = 0;
	ck_assert_uint_eq(count_groups(), 1);
	node->helper_node_id = -1;
	share->refusal = PLAN_CGROUP_LIMIT;
	ck_assert_uint_eq(count_groups(), 1);
	share->refusal = PLAN_ACCEPTED;
	node->nr_shares = 0;
	ck_assert_uint_eq(count_groups(), 1);
}
END_TEST

START_TEST(test_nodes_with_other_links_have_lines_of_their_own)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_file(world_add_pool(&world, "a", POOL_REPLICA, NULL), "/srv/a", 0);
	world_plan(&world);
	ck_assert_uint_eq(count_groups(), 2);
	world.plan->nodes[1].shares[0].copies[0].is_linked = true;
	ck_assert_uint_eq(count_groups(), 1);
}
END_TEST

START_TEST(test_without_a_pool_the_text_says_so)
{
	world_add_node(&world, 0, 64 * GIB);
	world_plan(&world);
	print(plan_print_text);
	ck_assert_str_eq(text, "No pool is declared: nothing will be taken.\n"
	                       "\n"
	                       "Where the memory goes (for each node):\n"
	                       "\n"
	                       " NODE MEMORY POOLS RESERVED UNCLAIMED EARLY BUDGET WORKER CPUS\n"
	                       "    0 64 GiB     -  3.1 GiB  60.8 GiB        2 GiB 0-1\n"
	                       "total 64 GiB     -  3.1 GiB  60.8 GiB        2 GiB \n"
	                       "\n");
}
END_TEST

START_TEST(test_output_that_cannot_be_written_is_an_error)
{
	FILE *full = fopen("/dev/full", "we");

	ck_assert_ptr_nonnull(full);
	build();
	ck_assert_int_eq(plan_print_json(world.plan, full), -EIO);
	(void) fclose(full);
	full = fopen("/dev/full", "we");
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(plan_print_text(world.plan, full), -EIO);
	(void) fclose(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-print");
	TCase *cases = tcase_create("print");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_the_json_document_read_back_is_the_plan);
	tcase_add_test(cases, test_the_json_document_has_what_is_offline_and_what_is_linked);
	tcase_add_test(cases, test_the_text_has_what_is_offline_and_what_is_linked);
	tcase_add_test(cases, test_nodes_with_other_links_have_lines_of_their_own);
	tcase_add_test(cases, test_an_empty_plan_is_a_document_too);
	tcase_add_test(cases, test_bytes_above_63_bits_are_printed_as_they_are);
	tcase_add_test(cases, test_the_json_document_is_for_eyes_too);
	tcase_add_test(cases, test_the_text_is_a_table_an_account_and_sentences);
	tcase_add_test(cases, test_nodes_that_differ_in_anything_have_lines_of_their_own);
	tcase_add_test(cases, test_without_a_pool_the_text_says_so);
	tcase_add_test(cases, test_output_that_cannot_be_written_is_an_error);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
