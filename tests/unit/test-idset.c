/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "../../daemon/base/idset.h"
#include "../../daemon/base/scoped.h"
#include "suite.h"

static void expect_printed(const struct idset *set, const char *expected)
{
	scoped(freep) char *text = idset_text(set);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, expected);
}

static void expect_parsed(const char *text, const char *expected)
{
	scoped(idset_clear) struct idset set = { 0 };

	ck_assert_msg(idset_parse(text, &set) == 0, "'%s' was refused", text);
	expect_printed(&set, expected);
}

static void expect_refused(const char *text, int error)
{
	scoped(idset_clear) struct idset set = { 0 };
	int r;

	ck_assert_int_eq(idset_add(&set, 7), 0);
	r = idset_parse(text, &set);
	ck_assert_msg(r == error, "'%s' gave %d, not %d", text, r, error);
	/* An error leaves what was there. */
	expect_printed(&set, "7");
}

START_TEST(test_lists_of_the_kernel_are_read)
{
	expect_parsed("0,2-3\n", "0,2-3");
	expect_parsed("0-1", "0-1");
	expect_parsed("3,1,2", "1-3");
	expect_parsed("8-15,0", "0,8-15");
	expect_parsed("0,8,252-255\n", "0,8,252-255");
	expect_parsed(" 1 , 5 ", "1,5");
	expect_parsed("0-7:2/4", "0-1,4-5");
	expect_parsed("1-10:1/3,20", "1,4,7,10,20");
}
END_TEST

START_TEST(test_an_empty_or_blank_text_is_the_empty_set)
{
	scoped(idset_clear) struct idset set = { 0 };

	ck_assert_int_eq(idset_add(&set, 7), 0);
	ck_assert_int_eq(idset_parse("\n", &set), 0);
	ck_assert(idset_is_empty(&set));
	expect_parsed("", "");
	expect_parsed(" \t", "");
}
END_TEST

START_TEST(test_what_is_no_list_is_refused)
{
	static const char *const texts[] = { "a",       "1-",      "-1",   "1,",    ",1",
		                             "1,,2",    "3-1",     "1 2",  "1-3x",  "0x1",
		                             "1-2-3",   "0-7:",    "+1",   "0-7:1", "0-7:0/4",
		                             "0-7:5/4", "0-7:1/0", "0:1/2" };

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		expect_refused(texts[i], -EINVAL);
}
END_TEST

START_TEST(test_ids_beyond_the_limit_are_out_of_range)
{
	scoped(idset_clear) struct idset set = { 0 };

	expect_parsed("65535", "65535");
	expect_refused("65536", -ERANGE);
	expect_refused("0-4294967296", -ERANGE);
	expect_refused("0-99999999999999999999999", -ERANGE);
	ck_assert_int_eq(idset_add(&set, IDSET_MAX), -ERANGE);
	ck_assert_int_eq(idset_add(&set, UINT32_MAX), -ERANGE);
	ck_assert(idset_is_empty(&set));
}
END_TEST

START_TEST(test_members_are_found_and_counted)
{
	scoped(idset_clear) struct idset set = { 0 };

	ck_assert(idset_is_empty(&set));
	ck_assert(!idset_has(&set, 0));
	ck_assert_int_eq(idset_add(&set, 0), 0);
	ck_assert_int_eq(idset_add(&set, 63), 0);
	ck_assert_int_eq(idset_add(&set, 64), 0);
	ck_assert_int_eq(idset_add(&set, 4096), 0);
	ck_assert_int_eq(idset_add(&set, 64), 0);
	ck_assert_uint_eq(idset_nr(&set), 4);
	ck_assert(idset_has(&set, 63) && idset_has(&set, 64) && idset_has(&set, 4096));
	ck_assert(!idset_has(&set, 62) && !idset_has(&set, 65) && !idset_has(&set, 5000));
	expect_printed(&set, "0,63-64,4096");
}
END_TEST

START_TEST(test_the_next_id_is_found_across_words)
{
	scoped(idset_clear) struct idset set = { 0 };

	ck_assert_int_eq(idset_next(&set, 0), -1);
	ck_assert_int_eq(idset_parse("3,63,64,1000", &set), 0);
	ck_assert_int_eq(idset_next(&set, 0), 3);
	ck_assert_int_eq(idset_next(&set, 3), 3);
	ck_assert_int_eq(idset_next(&set, 4), 63);
	ck_assert_int_eq(idset_next(&set, 64), 64);
	ck_assert_int_eq(idset_next(&set, 65), 1000);
	ck_assert_int_eq(idset_next(&set, 1001), -1);
	ck_assert_int_eq(idset_next(&set, 1000000), -1);
}
END_TEST

START_TEST(test_an_intersection_may_replace_its_operand)
{
	scoped(idset_clear) struct idset a = { 0 }, b = { 0 }, both = { 0 };

	ck_assert_int_eq(idset_parse("0-3,100,1000", &a), 0);
	ck_assert_int_eq(idset_parse("2-100", &b), 0);
	ck_assert_int_eq(idset_intersect(&a, &b, &both), 0);
	expect_printed(&both, "2-3,100");
	ck_assert_int_eq(idset_intersect(&a, &b, &a), 0);
	expect_printed(&a, "2-3,100");
	expect_printed(&b, "2-100");
}
END_TEST

START_TEST(test_a_copy_is_independent)
{
	scoped(idset_clear) struct idset set = { 0 }, copy = { 0 };

	ck_assert_int_eq(idset_parse("5", &set), 0);
	ck_assert_int_eq(idset_parse("9-12", &copy), 0);
	ck_assert_int_eq(idset_copy(&set, &copy), 0);
	ck_assert_int_eq(idset_add(&set, 6), 0);
	expect_printed(&copy, "5");
}
END_TEST

START_TEST(test_a_cleared_set_is_empty_and_can_be_used_again)
{
	struct idset set = { 0 };

	ck_assert_int_eq(idset_add(&set, 200), 0);
	idset_clear(&set);
	ck_assert(idset_is_empty(&set));
	ck_assert_uint_eq(set.nr_words, 0);
	ck_assert_int_eq(idset_add(&set, 1), 0);
	expect_printed(&set, "1");
	idset_clear(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("idset");
	TCase *tcase = tcase_create("idset");

	tcase_add_test(tcase, test_lists_of_the_kernel_are_read);
	tcase_add_test(tcase, test_an_empty_or_blank_text_is_the_empty_set);
	tcase_add_test(tcase, test_what_is_no_list_is_refused);
	tcase_add_test(tcase, test_ids_beyond_the_limit_are_out_of_range);
	tcase_add_test(tcase, test_members_are_found_and_counted);
	tcase_add_test(tcase, test_the_next_id_is_found_across_words);
	tcase_add_test(tcase, test_an_intersection_may_replace_its_operand);
	tcase_add_test(tcase, test_a_copy_is_independent);
	tcase_add_test(tcase, test_a_cleared_set_is_empty_and_can_be_used_again);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
