/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "../../client/times.h"
#include "../lib/suite.h"

static char ready[] = "ready", failed[] = "failed", deferred[] = "deferred", idle[] = "idle";

static struct node nodes[4];
static struct model model = { .nodes = nodes };

static void add_node(char *state, uint64_t started_usec, uint64_t finished_usec)
{
	ck_assert_uint_lt(model.nr_nodes, 4);
	nodes[model.nr_nodes] = (struct node){ .node_id = (uint32_t) model.nr_nodes,
		                               .state = state,
		                               .started_monotonic_usec = started_usec,
		                               .finished_monotonic_usec = finished_usec };
	model.nr_nodes++;
}

static void is_times(const struct times *times, size_t nr_nodes, uint64_t sum_usec,
                     uint64_t wall_usec)
{
	ck_assert_uint_eq(times->nr_nodes, nr_nodes);
	ck_assert_uint_eq(times->sum_usec, sum_usec);
	ck_assert_uint_eq(times->wall_usec, wall_usec);
}

/* The lines of times_print() are @expected. */
static void is_printed(const char *expected)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(out);
	times_print(&model, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(test_a_node_has_a_time_once_all_of_it_has_settled)
{
	uint64_t usec = 7;

	add_node(ready, 5000000, 8400000);
	ck_assert(times_spent_usec(&nodes[0], &usec));
	ck_assert_uint_eq(usec, 3400000);
	add_node(failed, 5000000, 5000000);
	ck_assert(times_spent_usec(&nodes[1], &usec));
	ck_assert_uint_eq(usec, 0);
	usec = 7;
	nodes[1].state = deferred; /* its early part has an end, too */
	ck_assert(!times_spent_usec(&nodes[1], &usec));
	add_node(idle, 0, 0);
	ck_assert(!times_spent_usec(&nodes[2], &usec));
	add_node(ready, 5000000, 4999999);
	ck_assert(!times_spent_usec(&nodes[3], &usec));
	ck_assert_uint_eq(usec, 7);
}
END_TEST

START_TEST(test_the_sum_is_of_all_and_the_wall_time_from_first_start_to_last_end)
{
	struct times times;

	times_of_nodes(&model, &times);
	is_times(&times, 0, 0, 0);
	add_node(ready, 2000000, 6000000);
	add_node(ready, 1500000, 4500000);
	add_node(ready, 1000000, 4000000);
	add_node(idle, 0, 0);
	times_of_nodes(&model, &times);
	is_times(&times, 3, 10000000, 5000000);
	is_printed("one after another 10.0 s, together 5.0 s: 50 % less\n");
}
END_TEST

START_TEST(test_nodes_at_work_are_left_out_and_said_so)
{
	add_node(ready, 1000000, 3000000);
	add_node(deferred, 1000000, 2000000);
	is_printed("so far, one after another 2.0 s, together 2.0 s: nothing saved\n");
	nodes[0].state = deferred;
	is_printed("");
}
END_TEST

START_TEST(test_one_node_saves_nothing_and_time_between_is_nobodys)
{
	add_node(ready, 1000000, 3000000);
	is_printed("one after another 2.0 s, together 2.0 s: "
	           "nothing saved\n");
	add_node(ready, 4000000, 6000000);
	is_printed("one after another 4.0 s, together 4.0 s: "
	           "nothing saved\n");
	add_node(ready, 4000000, 5000000);
	add_node(ready, 3000000, 3500000);
	is_printed("one after another 5.5 s, together 4.5 s: "
	           "18 % less\n");
}
END_TEST

START_TEST(test_the_kernel_begins_with_all_nodes_at_once)
{
	struct times times;

	add_node(idle, 0, 0);
	add_node(idle, 0, 0);
	add_node(idle, 0, 0);
	nodes[0].has_boot = nodes[2].has_boot = true;
	nodes[0].boot_usec = 96000;
	nodes[1].boot_usec = 500000; /* not known */
	nodes[2].boot_usec = 104000;
	times_of_boot(&model, &times);
	is_times(&times, 2, 200000, 104000);
	is_printed("boot: one after another 200 ms, together 104 ms (the longest): 48 % less\n");
}
END_TEST

START_TEST(test_sums_do_not_wrap_around)
{
	struct times times;

	add_node(ready, 1, UINT64_MAX);
	add_node(ready, 1, UINT64_MAX);
	times_of_nodes(&model, &times);
	is_times(&times, 2, UINT64_MAX, UINT64_MAX - 1);
}
END_TEST

START_TEST(test_saved_is_old_less_new_by_old)
{
	ck_assert_int_eq(times_saved_percent(12300000, 3400000), 72);
	ck_assert_int_eq(times_saved_percent(100, 0), 100);
	ck_assert_int_eq(times_saved_percent(100, 100), 0);
	ck_assert_int_eq(times_saved_percent(1000, 999), 0);
	ck_assert_int_eq(times_saved_percent(100, 150), -50);
	ck_assert_int_eq(times_saved_percent(0, 150), 0);
	ck_assert_int_eq(times_saved_percent(1, UINT64_MAX), -1000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("times");
	TCase *tcase = tcase_create("times");

	tcase_add_test(tcase, test_a_node_has_a_time_once_all_of_it_has_settled);
	tcase_add_test(tcase,
	               test_the_sum_is_of_all_and_the_wall_time_from_first_start_to_last_end);
	tcase_add_test(tcase, test_nodes_at_work_are_left_out_and_said_so);
	tcase_add_test(tcase, test_one_node_saves_nothing_and_time_between_is_nobodys);
	tcase_add_test(tcase, test_the_kernel_begins_with_all_nodes_at_once);
	tcase_add_test(tcase, test_sums_do_not_wrap_around);
	tcase_add_test(tcase, test_saved_is_old_less_new_by_old);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
