/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rate rule on a clock of our own. */
#include <stdlib.h>

#include "../../daemon/bus/emitter.h"
#include "suite.h"

#define SECOND_USEC UINT64_C(1000000)
#define NR_SIGNALS  2000

START_TEST(test_the_first_signal_waits_for_nothing)
{
	struct emitter emitter = {};

	ck_assert_uint_eq(emitter_due_usec(&emitter, false), 0);
	ck_assert_uint_eq(emitter_due_usec(&emitter, true), 0);
}
END_TEST

START_TEST(test_an_amount_waits_250_ms_and_a_state_does_not)
{
	struct emitter emitter = {};

	emitter_note_sent(&emitter, 5000);
	ck_assert_uint_eq(emitter_due_usec(&emitter, false), 255000);
	ck_assert_uint_eq(emitter_due_usec(&emitter, true), 0);
}
END_TEST

START_TEST(test_the_fifth_signal_of_a_second_waits_even_for_a_state)
{
	struct emitter emitter = {};

	for (uint64_t i = 0; i < 4; i++)
		emitter_note_sent(&emitter, 5000 + i);
	ck_assert_uint_eq(emitter_due_usec(&emitter, true), 5000 + EMITTER_WINDOW_USEC);
	ck_assert_uint_eq(emitter_due_usec(&emitter, false), 5000 + EMITTER_WINDOW_USEC);
}
END_TEST

START_TEST(test_no_second_ever_has_more_than_four_signals)
{
	struct emitter emitter = {};
	uint64_t sent_usec[NR_SIGNALS];
	uint64_t now_usec = 1;

	srand(1);
	for (unsigned i = 0; i < NR_SIGNALS; i++) {
		uint64_t due_usec = emitter_due_usec(&emitter, rand() % 2);

		now_usec += (uint64_t) rand() % 400000;
		now_usec = due_usec > now_usec ? due_usec : now_usec;
		emitter_note_sent(&emitter, now_usec);
		sent_usec[i] = now_usec;
		if (i >= 4)
			ck_assert_uint_gt(sent_usec[i] - sent_usec[i - 4], SECOND_USEC);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-emitter");
	TCase *tcase = tcase_create("clock of our own");

	tcase_add_test(tcase, test_the_first_signal_waits_for_nothing);
	tcase_add_test(tcase, test_an_amount_waits_250_ms_and_a_state_does_not);
	tcase_add_test(tcase, test_the_fifth_signal_of_a_second_waits_even_for_a_state);
	tcase_add_test(tcase, test_no_second_ever_has_more_than_four_signals);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
