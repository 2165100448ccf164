/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines: comments, continuation, long ones, and bytes that are no text. */
#include <string.h>

#include "../../daemon/config/text.h"
#include "config-tree.h"
#include "suite.h"

#define FILE_ "pools.d/guests.pool"

/* The pool of this file; it has to be good and without notes. */
static const struct pool_config *good(const char *text)
{
	const struct pool_config *pool = config_pool(tree_pool(text), "guests");

	tree_expect_notes("");
	ck_assert_ptr_nonnull(pool);
	return pool;
}

/* These bytes in the place of line 4 of a good pool. */
static void refused(const void *line, size_t line_bytes, const char *notes)
{
	static const char head[] = "[Pool]\nKind=region\nSize=64G\n";
	scoped(freep) char *text = malloc(strlen(head) + line_bytes);

	memcpy(text, head, strlen(head));
	memcpy(text + strlen(head), line, line_bytes);
	tree_bytes(FILE_, text, strlen(head) + line_bytes);
	ck_assert(config_is_pool_refused(tree_load(), "guests"));
	tree_expect_notes(notes);
}

START_TEST(test_a_blank_and_a_sign_begin_a_comment_in_a_line)
{
	const struct pool_config *pool = good("# about\n"
	                                      "; and more \\\n"
	                                      "[Pool]           # the pool\n"
	                                      "Kind=region      # hugetlb | region\n"
	                                      "\n"
	                                      "  Size = 75%\t; of each node\n"
	                                      "Early= # back to the default\n");

	ck_assert_int_eq(pool->size.amount.unit, AMOUNT_PERCENT);
	ck_assert_uint_eq(pool->size.amount.value, 7500);
	ck_assert_int_eq(pool->early, POOL_EARLY_AUTO);
}
END_TEST

START_TEST(test_a_sign_without_a_blank_belongs_to_the_value)
{
	refused("Early=all#", 10,
	        "refused " FILE_ ":4: Early=all# is not accepted; accepted: auto, none, all, or "
	        "bytes as 2G\n");
	refused("Early=;all", 10,
	        "refused " FILE_ ":4: Early=;all is not accepted; accepted: auto, none, all, or "
	        "bytes as 2G\n");
}
END_TEST

START_TEST(test_crlf_a_byte_order_mark_and_no_end_of_line_are_fine)
{
	const struct pool_config *pool =
		good("\xEF\xBB\xBF[Pool]\r\nKind=region\r\nRequired=no\r\nSize=64G");

	ck_assert(!pool->is_required);
	ck_assert_uint_eq(pool->size.amount.value, 64 * GIB);
}
END_TEST

START_TEST(test_a_backslash_joins_lines_across_comments)
{
	const struct pool_config *pool = good("[Pool]\nKind=region\nSize=64G\n[Region]\n"
	                                      "Users=alice\\\n"
	                                      "# not carol \\\n"
	                                      "  bob \\\r\n"
	                                      "dave # the last\n"
	                                      "Lock=no\\");

	ck_assert_str_eq(pool->users[0], "alice");
	ck_assert_str_eq(pool->users[1], "bob");
	ck_assert_str_eq(pool->users[2], "dave");
	ck_assert_ptr_null(pool->users[3]);
}
END_TEST

START_TEST(test_a_backslash_alone_adds_nothing_in_front_of_a_line)
{
	static const char nothing[] = "\\\n  \\\n\t= 1\n";

	ck_assert(!good("[Pool]\nKind=region\nSize=64G\n\\\n\\\n Required=no\n")->is_required);
	good("\\\n[Pool]\n\\\nKind=region\n\\\n[X-Other]\n\\\n[Pool]\nSize=64G\n");
	refused(nothing, strlen(nothing),
	        "refused " FILE_ ":4: '= 1' is neither Key=value nor a [Section]\n");
}
END_TEST

START_TEST(test_lines_are_counted_through_continuations)
{
	tree_pool("[Pool]\nKind=\\\n\\\n  region\n\nSize=1G\nEarly= \\\n  soon\nRequired=maybe\n");
	tree_expect_notes("refused " FILE_ ":9: Required=maybe is not accepted; accepted: yes, "
	                  "no\n"
	                  "refused " FILE_ ":7: Early=soon is not accepted; accepted: auto, none, "
	                  "all, or bytes as 2G\n");
}
END_TEST

/* A list of @nr_bytes bytes, of names of @name_bytes each. */
static char *long_users(size_t nr_bytes, size_t name_bytes)
{
	char *text = malloc(nr_bytes + 1);

	for (size_t i = 0; i < nr_bytes; i++)
		text[i] = i % (name_bytes + 1) == name_bytes ? ' ' : (char) ('a' + i % 26);
	text[nr_bytes] = '\0';
	return text;
}

START_TEST(test_a_value_longer_than_the_librarys_buffer_is_whole)
{
	/* Every length of a name puts the cuts between pieces at other places. */
	for (size_t name_bytes = 1; name_bytes <= 256; name_bytes += 1 + name_bytes / 16) {
		scoped(freep) char *users = long_users(2000, name_bytes);
		scoped(freep) char *text = NULL;
		const struct pool_config *pool;
		const char *rest = users;

		ck_assert_int_gt(asprintf(&text,
		                          "[Pool]\nKind=region\nSize=64G\n[Region]\nUsers=%s\n",
		                          users),
		                 0);
		pool = good(text);
		for (char **user = pool->users; *user; user++) {
			ck_assert_uint_eq(strcspn(rest, " "), strlen(*user));
			ck_assert_int_eq(strncmp(rest, *user, strlen(*user)), 0);
			rest += strlen(*user);
			rest += strspn(rest, " ");
		}
		ck_assert_str_eq(rest, "");
	}
}
END_TEST

START_TEST(test_a_value_of_many_blanks_is_whole)
{
	scoped(freep) char *text = NULL;
	const struct pool_config *pool;

	ck_assert_int_gt(
		asprintf(&text, "[Pool]\nKind=region\nSize=64G\n[Region]\nUsers=a%500sb\n", ""), 0);
	pool = good(text);
	ck_assert_str_eq(pool->users[0], "a");
	ck_assert_str_eq(pool->users[1], "b");
	ck_assert_ptr_null(pool->users[2]);
}
END_TEST

START_TEST(test_a_line_has_a_limit_and_is_never_cut)
{
	scoped(freep) char *users = long_users(CONFIG_LINE_BYTES_MAX + 1 - strlen("Users="), 8);
	scoped(freep) char *text = NULL;

	ck_assert_int_gt(asprintf(&text, "[Region]\nUsers=%s\n", users), 0);
	refused(text, strlen(text),
	        "refused " FILE_ ":5: this line is longer than 4096 bytes, the most a line may "
	        "have\n");
	free(take(text));
	users[strlen(users) - 1] = '\0';
	ck_assert_int_gt(
		asprintf(&text, "[Pool]\nKind=region\nSize=64G\n[Region]\nUsers=%s\n", users), 0);
	good(text);
}
END_TEST

START_TEST(test_lines_that_continue_count_together)
{
	scoped(freep) char *users = long_users(3000, 8);
	scoped(freep) char *text = NULL;

	ck_assert_int_gt(asprintf(&text, "[Region]\nUsers=%s\\\n%s\nLock=x\n", users, users), 0);
	refused(text, strlen(text),
	        "refused " FILE_ ":5: this line is longer than 4096 bytes with the lines that "
	        "continue it, the most a line may have\n"
	        "refused " FILE_ ":7: Lock=x is not accepted; accepted: yes, no\n");
}
END_TEST

START_TEST(test_a_line_of_a_megabyte_is_refused_and_the_next_one_read)
{
	const size_t line_bytes = 1024 * 1024 - 100;
	scoped(freep) char *line = malloc(line_bytes + 16);

	memset(line, 'x', line_bytes);
	memcpy(line, "Users=", 6);
	memcpy(line + line_bytes, "\nEarly=soon\n", 12);
	refused(line, line_bytes + 12,
	        "refused " FILE_ ":4: this line is longer than 4096 bytes, the most a line may "
	        "have\n"
	        "refused " FILE_ ":5: Early=soon is not accepted; accepted: auto, none, all, or "
	        "bytes as 2G\n");
}
END_TEST

START_TEST(test_a_nul_byte_ends_the_reading)
{
	refused("Early=all\0more\nRequired=maybe\n", 30,
	        "refused " FILE_ ":4: this line holds a NUL byte; the rest of the file is not "
	        "read\n");
	refused("# comment \0\n", 12,
	        "refused " FILE_ ":4: this line holds a NUL byte; the rest of the file is not "
	        "read\n");
}
END_TEST

START_TEST(test_bytes_that_are_no_text_are_refused)
{
	static const char *const bad[] = { "Early=\xff",     "Early=\xc0\xaf", "Early=\xed\xa0\x80",
		                           "Early=\x1b[31m", "Early=\x7f",     "Early=\xc2\x9b",
		                           "Early=a\rb",     "Early=\xe2\x82" };

	for (size_t i = 0; i < ELEMENTS(bad); i++)
		refused(bad[i], strlen(bad[i]),
		        "refused " FILE_ ":4: this line holds control characters or bytes that are "
		        "not UTF-8\n");
}
END_TEST

START_TEST(test_a_comment_may_hold_any_bytes)
{
	good("# \xff\x1b[31m\n[Pool]\nKind=region # \xff\nSize=64G\n");
}
END_TEST

START_TEST(test_a_line_that_is_no_assignment_is_refused)
{
	refused("Size 64G\n", 9,
	        "refused " FILE_ ":4: 'Size 64G' is neither Key=value nor a [Section]\n");
	refused("Early: all\n", 11,
	        "refused " FILE_ ":4: 'Early: all' is neither Key=value nor a [Section]\n");
	refused("Early: a=b\n", 11,
	        "refused " FILE_ ":4: 'Early: a=b' is neither Key=value nor a [Section]\n");
	refused("=all\n", 5, "refused " FILE_ ":4: '=all' is neither Key=value nor a [Section]\n");
}
END_TEST

START_TEST(test_a_section_that_is_not_closed_or_not_alone_is_refused)
{
	refused("[Region\n", 8,
	        "refused " FILE_ ":4: '[Region' is neither Key=value nor a [Section]\n");
	refused("[Region] x\n", 11,
	        "refused " FILE_ ":4: '[Region] x' is neither Key=value nor a [Section]\n");
	refused("[]\n", 3, "refused " FILE_ ":4: '[]' is neither Key=value nor a [Section]\n");
	refused("[\n", 2, "refused " FILE_ ":4: '[' is neither Key=value nor a [Section]\n");
	refused("[Pool]]\n", 8,
	        "refused " FILE_ ":4: '[Pool]]' is neither Key=value nor a [Section]\n");
}
END_TEST

START_TEST(test_an_assignment_in_front_of_a_section_is_refused)
{
	tree_pool("Kind=region\n[Pool]\nSize=64G\nKind=region\n");
	tree_expect_notes("refused " FILE_ ":1: 'Kind=region' stands in front of any [Section]\n");
}
END_TEST

START_TEST(test_a_long_key_or_section_is_unknown_and_not_cut_to_a_known_one)
{
	scoped(freep) char *text = NULL;

	ck_assert_int_gt(asprintf(&text,
	                          "[Pool]\nKind=region\nSize=64G\nEarly%0300d=none\n"
	                          "[Region%0100d]\nLock=nonsense\n",
	                          0, 0),
	                 0);
	ck_assert_ptr_nonnull(config_pool(tree_pool(text), "guests"));
	tree_expect_notes("warning " FILE_ ":4: unknown key 'Early000000000000000000000000000000000"
	                  "0000000000000000000000000000000000…'; it is ignored\n"
	                  "warning " FILE_ ":5: unknown section [Region00000000000000000000000000"
	                  "0000000000000000000000000000000000000000…]; it is ignored\n");
}
END_TEST

START_TEST(test_a_long_value_is_cut_in_the_note_between_characters)
{
	refused("Early=\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x\xc3\xa4\n",
	        80,
	        "refused " FILE_ ":4: Early=äääääääääääääääääääääääääääääääääääx… is not accepted; "
	        "accepted: auto, none, all, or bytes as 2G\n");
}
END_TEST

START_TEST(test_visible_text_is_escaped_and_bounded)
{
	static const struct {
		const char *text;
		size_t max_bytes;
		const char *visible;
	} rows[] = {
		{ "plain ä €", 64, "plain ä €" },
		{ "a\tb\n", 64, "a\\x09b\\x0a" },
		{ "\xff\xc2\x9b[", 64, "\\xff\\xc2\\x9b[" },
		{ "12345678", 8, "12345678" },
		{ "123456789", 8, "12345678…" },
		{ "1234567ä", 8, "1234567…" },
		{ "12345\x01", 8, "12345…" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		scoped(freep) char *visible = text_visible(rows[i].text, rows[i].max_bytes);

		ck_assert_str_eq(visible, rows[i].visible);
	}
}
END_TEST

START_TEST(test_utf8_is_judged_as_the_standard_does)
{
	static const struct {
		const char *text;
		size_t nr_bytes;
	} rows[] = {
		{ "a", 1 },
		{ "\xc2\x80", 2 },
		{ "\xdf\xbf", 2 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xef\xbf\xbf", 3 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\x80", 0 },
		{ "\xc1\xbf", 0 },
		{ "\xc2", 0 },
		{ "\xc2\x41", 0 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xed\xa0\x80", 0 },
		{ "\xe1\x80", 0 },
		{ "\xe1\x80\x41", 0 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf1\x80\x80", 0 },
		{ "\xf1\x80\x80\x41", 0 },
		{ "\xf5\x80\x80\x80", 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		ck_assert_uint_eq(utf8_bytes(rows[i].text, strlen(rows[i].text)), rows[i].nr_bytes);
}
END_TEST

START_TEST(test_the_nearest_word_is_near)
{
	static const char *const words[] = { "Size", "Minimum", "Required", "RegionSize" };

	ck_assert_str_eq(text_nearest("minimum", words, 4), "Minimum");
	ck_assert_str_eq(text_nearest("Siez", words, 1) ? "near" : "far", "far");
	ck_assert_str_eq(text_nearest("Sizes", words, 4), "Size");
	ck_assert_str_eq(text_nearest("Requried", words, 4), "Required");
	ck_assert_str_eq(text_nearest("RegionSizes", words, 4), "RegionSize");
	ck_assert_ptr_null(text_nearest("Colour", words, 4));
	ck_assert_ptr_null(text_nearest("", words, 4));
	ck_assert_ptr_null(text_nearest("Minimum0000000000000000000000000000", words, 4));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-syntax");
	TCase *syntax = tcase_create("syntax");

	tcase_add_checked_fixture(syntax, tree_setup, tree_teardown);
	tcase_add_test(syntax, test_a_blank_and_a_sign_begin_a_comment_in_a_line);
	tcase_add_test(syntax, test_a_sign_without_a_blank_belongs_to_the_value);
	tcase_add_test(syntax, test_crlf_a_byte_order_mark_and_no_end_of_line_are_fine);
	tcase_add_test(syntax, test_a_backslash_joins_lines_across_comments);
	tcase_add_test(syntax, test_a_backslash_alone_adds_nothing_in_front_of_a_line);
	tcase_add_test(syntax, test_lines_are_counted_through_continuations);
	tcase_add_test(syntax, test_a_value_longer_than_the_librarys_buffer_is_whole);
	tcase_add_test(syntax, test_a_value_of_many_blanks_is_whole);
	tcase_add_test(syntax, test_a_line_has_a_limit_and_is_never_cut);
	tcase_add_test(syntax, test_lines_that_continue_count_together);
	tcase_add_test(syntax, test_a_line_of_a_megabyte_is_refused_and_the_next_one_read);
	tcase_add_test(syntax, test_a_nul_byte_ends_the_reading);
	tcase_add_test(syntax, test_bytes_that_are_no_text_are_refused);
	tcase_add_test(syntax, test_a_comment_may_hold_any_bytes);
	tcase_add_test(syntax, test_a_line_that_is_no_assignment_is_refused);
	tcase_add_test(syntax, test_a_section_that_is_not_closed_or_not_alone_is_refused);
	tcase_add_test(syntax, test_an_assignment_in_front_of_a_section_is_refused);
	tcase_add_test(syntax, test_a_long_key_or_section_is_unknown_and_not_cut_to_a_known_one);
	tcase_add_test(syntax, test_a_long_value_is_cut_in_the_note_between_characters);
	tcase_add_test(syntax, test_visible_text_is_escaped_and_bounded);
	tcase_add_test(syntax, test_utf8_is_judged_as_the_standard_does);
	tcase_add_test(syntax, test_the_nearest_word_is_near);
	suite_add_tcase(suite, syntax);
	return suite_main(suite);
}
