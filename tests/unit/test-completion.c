/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../../daemon/engine/completion.h"
#include "suite.h"

START_TEST(test_with_nothing_declared_both_gates_open_at_once_and_once)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 0, 0);
	ck_assert_uint_eq(completion.generation, 1);
	ck_assert(completion_take_early(&completion));
	ck_assert(completion_take_full(&completion));
	ck_assert(!completion_take_early(&completion));
	ck_assert(!completion_take_full(&completion));
}
END_TEST

START_TEST(test_the_full_gate_waits_for_the_last_required_share)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 2, 0);
	ck_assert(!completion_take_full(&completion));
	completion_settle_required(&completion);
	ck_assert(!completion_take_full(&completion));
	completion_settle_required(&completion);
	ck_assert(completion_take_full(&completion));
	ck_assert(!completion_take_full(&completion));
}
END_TEST

START_TEST(test_the_early_gate_waits_for_early_parts_only)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 1, 2);
	completion_settle_early(&completion);
	ck_assert(!completion_take_early(&completion));
	completion_settle_early(&completion);
	ck_assert(completion_take_early(&completion));
	ck_assert(!completion_take_full(&completion));
}
END_TEST

START_TEST(test_work_added_before_the_gate_opened_belongs_to_the_same_generation)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 1, 1);
	completion_add(&completion, 1, 1);
	ck_assert_uint_eq(completion.generation, 1);
	completion_settle_required(&completion);
	completion_settle_early(&completion);
	ck_assert(!completion_take_full(&completion));
	ck_assert(!completion_take_early(&completion));
	completion_settle_required(&completion);
	completion_settle_early(&completion);
	ck_assert(completion_take_full(&completion));
	ck_assert(completion_take_early(&completion));
}
END_TEST

START_TEST(test_work_added_afterwards_is_a_new_generation_that_opens_once_more)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 1, 0);
	completion_settle_required(&completion);
	ck_assert(completion_take_full(&completion));
	completion_add(&completion, 2, 0);
	ck_assert_uint_eq(completion.generation, 2);
	ck_assert(!completion_take_full(&completion));
	completion_settle_required(&completion);
	ck_assert(!completion_take_full(&completion));
	completion_settle_required(&completion);
	ck_assert(completion_take_full(&completion));
	ck_assert(!completion_take_full(&completion));
}
END_TEST

START_TEST(test_adding_nothing_is_no_new_generation)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 0, 0);
	ck_assert(completion_take_full(&completion));
	completion_add(&completion, 0, 0);
	ck_assert_uint_eq(completion.generation, 1);
	ck_assert(!completion_take_full(&completion));
}
END_TEST

START_TEST(test_the_early_gate_opens_once_in_the_life_of_the_process)
{
	struct completion completion = { 0 };

	completion_arm(&completion, 0, 1);
	completion_settle_early(&completion);
	ck_assert(completion_take_early(&completion));
	completion_add(&completion, 1, 1);
	completion_settle_early(&completion);
	ck_assert(!completion_take_early(&completion));
	completion_arm(&completion, 1, 0);
	ck_assert(!completion_take_early(&completion));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("completion");
	TCase *gates = tcase_create("gates");

	tcase_add_test(gates, test_with_nothing_declared_both_gates_open_at_once_and_once);
	tcase_add_test(gates, test_the_full_gate_waits_for_the_last_required_share);
	tcase_add_test(gates, test_the_early_gate_waits_for_early_parts_only);
	tcase_add_test(gates,
	               test_work_added_before_the_gate_opened_belongs_to_the_same_generation);
	tcase_add_test(gates, test_work_added_afterwards_is_a_new_generation_that_opens_once_more);
	tcase_add_test(gates, test_adding_nothing_is_no_new_generation);
	tcase_add_test(gates, test_the_early_gate_opens_once_in_the_life_of_the_process);
	suite_add_tcase(suite, gates);
	return suite_main(suite);
}
