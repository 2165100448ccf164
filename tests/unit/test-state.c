/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../../daemon/base/scoped.h"
#include "../../daemon/engine/state.h"
#include "suite.h"

START_TEST(test_every_state_has_its_word)
{
	ck_assert_str_eq(share_state_text(SHARE_WAITING), "waiting");
	ck_assert_str_eq(share_state_text(SHARE_EARLY), "early");
	ck_assert_str_eq(share_state_text(SHARE_DEFERRED), "deferred");
	ck_assert_str_eq(share_state_text(SHARE_READY), "ready");
	ck_assert_str_eq(share_state_text(SHARE_DEGRADED), "degraded");
	ck_assert_str_eq(share_state_text(SHARE_FAILED), "failed");
	ck_assert_str_eq(share_state_text(SHARE_CANCELLED), "cancelled");
}
END_TEST

START_TEST(test_what_still_works_is_not_settled)
{
	ck_assert(!share_state_is_settled(SHARE_WAITING));
	ck_assert(!share_state_is_settled(SHARE_EARLY));
	ck_assert(!share_state_is_settled(SHARE_DEFERRED));
	ck_assert(share_state_is_settled(SHARE_READY));
	ck_assert(share_state_is_settled(SHARE_DEGRADED));
	ck_assert(share_state_is_settled(SHARE_FAILED));
	ck_assert(share_state_is_settled(SHARE_CANCELLED));
}
END_TEST

START_TEST(test_the_worse_of_two_decides_whichever_comes_first)
{
	static const enum share_state worst_first[] = {
		SHARE_FAILED,   SHARE_CANCELLED, SHARE_WAITING, SHARE_EARLY,
		SHARE_DEFERRED, SHARE_DEGRADED,  SHARE_READY,
	};

	for (size_t i = 0; i < ELEMENTS(worst_first); i++) {
		for (size_t k = i; k < ELEMENTS(worst_first); k++) {
			ck_assert_int_eq(share_state_worse(worst_first[i], worst_first[k]),
			                 worst_first[i]);
			ck_assert_int_eq(share_state_worse(worst_first[k], worst_first[i]),
			                 worst_first[i]);
		}
	}
}
END_TEST

START_TEST(test_declared_and_minimum_decide_what_a_share_becomes)
{
	ck_assert_int_eq(share_state_outcome(100, 50, 100, false), SHARE_READY);
	ck_assert_int_eq(share_state_outcome(100, 50, 101, false), SHARE_READY);
	ck_assert_int_eq(share_state_outcome(100, 50, 99, false), SHARE_DEGRADED);
	ck_assert_int_eq(share_state_outcome(100, 50, 50, false), SHARE_DEGRADED);
	ck_assert_int_eq(share_state_outcome(100, 50, 49, false), SHARE_FAILED);
	ck_assert_int_eq(share_state_outcome(100, 100, 0, false), SHARE_FAILED);
	ck_assert_int_eq(share_state_outcome(100, 0, 0, false), SHARE_DEGRADED);
	ck_assert_int_eq(share_state_outcome(0, 0, 0, false), SHARE_READY);
}
END_TEST

START_TEST(test_cancelled_with_something_missing_is_cancelled_and_with_nothing_missing_ready)
{
	ck_assert_int_eq(share_state_outcome(100, 50, 99, true), SHARE_CANCELLED);
	ck_assert_int_eq(share_state_outcome(100, 50, 0, true), SHARE_CANCELLED);
	ck_assert_int_eq(share_state_outcome(100, 50, 100, true), SHARE_READY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("state");
	TCase *states = tcase_create("states");

	tcase_add_test(states, test_every_state_has_its_word);
	tcase_add_test(states, test_what_still_works_is_not_settled);
	tcase_add_test(states, test_the_worse_of_two_decides_whichever_comes_first);
	tcase_add_test(states, test_declared_and_minimum_decide_what_a_share_becomes);
	tcase_add_test(
		states,
		test_cancelled_with_something_missing_is_cancelled_and_with_nothing_missing_ready);
	suite_add_tcase(suite, states);
	return suite_main(suite);
}
