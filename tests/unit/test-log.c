/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/log.h"
#include "../../daemon/base/scoped.h"
#include "suite.h"

static struct {
	unsigned nr_lines;
	enum log_level level;
	char message[4096];
	char first_field[64];
	size_t nr_fields;
} seen;

static void keep(enum log_level level, const char *message, const char *const *fields,
                 size_t nr_fields)
{
	seen.nr_lines++;
	seen.level = level;
	seen.nr_fields = nr_fields;
	(void) snprintf(seen.message, sizeof(seen.message), "%s", message);
	(void) snprintf(seen.first_field, sizeof(seen.first_field), "%s",
	                nr_fields ? fields[0] : "");
	errno = EDOM;
}

/* Make standard error a pipe. Return: its other end. */
static int capture_stderr(void)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	(void) close(ends[1]);
	return ends[0];
}

static void say_where_the_journal_is(const struct stat *status)
{
	char stream[64];

	(void) snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long) status->st_dev,
	                (unsigned long long) status->st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
}

static void expect_read(int fd, const char *expected)
{
	char text[8192];
	ssize_t nr_bytes = read(fd, text, sizeof(text) - 1);

	ck_assert_int_ge(nr_bytes, 0);
	text[nr_bytes] = '\0';
	ck_assert_str_eq(text, expected);
}

START_TEST(test_levels_have_the_words_of_syslog)
{
	static const char *const words[] = { "err", "warning", "notice", "info", "debug" };
	enum log_level level = LOG_LEVEL_ERR;

	for (size_t i = 0; i < ELEMENTS(words); i++) {
		ck_assert_int_eq(log_level_from_text(words[i], &level), 0);
		ck_assert_int_eq(level, 3 + (int) i);
		ck_assert_str_eq(log_level_text(level), words[i]);
	}
	level = LOG_LEVEL_NOTICE;
	ck_assert_int_eq(log_level_from_text("loud", &level), -EINVAL);
	ck_assert_int_eq(level, LOG_LEVEL_NOTICE);
}
END_TEST

START_TEST(test_lines_above_the_level_are_dropped)
{
	log_set_sink(keep);
	ck_assert_int_eq(log_level(), LOG_LEVEL_INFO);
	log_debug("dropped");
	ck_assert_uint_eq(seen.nr_lines, 0);
	log_info("kept %d", 7);
	ck_assert_uint_eq(seen.nr_lines, 1);
	ck_assert_str_eq(seen.message, "kept 7");
	log_set_level(LOG_LEVEL_ERR);
	log_warning("dropped");
	ck_assert_uint_eq(seen.nr_lines, 1);
	log_error("kept");
	ck_assert_uint_eq(seen.nr_lines, 2);
	ck_assert_int_eq(seen.level, LOG_LEVEL_ERR);
}
END_TEST

START_TEST(test_a_sink_gets_the_fields_of_an_event)
{
	static const char *const fields[LOG_FIELDS_MAX + 3] = { "NODEINIT_POOL=guests" };

	log_set_sink(keep);
	log_event(LOG_LEVEL_NOTICE, fields, 1, "pool %s", "guests");
	ck_assert_int_eq(seen.level, LOG_LEVEL_NOTICE);
	ck_assert_str_eq(seen.message, "pool guests");
	ck_assert_uint_eq(seen.nr_fields, 1);
	ck_assert_str_eq(seen.first_field, "NODEINIT_POOL=guests");
	log_event(LOG_LEVEL_NOTICE, fields, ELEMENTS(fields), "many");
	ck_assert_uint_eq(seen.nr_fields, LOG_FIELDS_MAX);
}
END_TEST

START_TEST(test_errno_is_as_before_after_a_line)
{
	log_set_sink(keep);
	errno = ENOSPC;
	log_info("%m");
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_str_eq(seen.message, strerror(ENOSPC));
}
END_TEST

START_TEST(test_one_event_stays_one_line)
{
	log_set_sink(keep);
	log_info("a\nb\tc\033[31m\177");
	ck_assert_str_eq(seen.message, "a b c [31m ");
}
END_TEST

START_TEST(test_a_long_message_is_cut_and_says_so)
{
	char text[4000];
	size_t nr_chars;

	log_set_sink(keep);
	/* One byte, then only characters of two: the cut falls inside one, or between two. */
	for (size_t shift = 0; shift < 2; shift++) {
		memset(text, 'x', shift);
		for (size_t i = shift; i + 2 < sizeof(text); i += 2)
			memcpy(text + i, "\xc3\xbc", 3);
		log_info("%s", text);
		nr_chars = strlen(seen.message);
		ck_assert_uint_lt(nr_chars, 2048);
		ck_assert_uint_gt(nr_chars, 2040);
		ck_assert_str_eq(seen.message + nr_chars - 3, "...");
		ck_assert_int_eq((unsigned char) seen.message[nr_chars - 4], 0xbc);
	}
}
END_TEST

START_TEST(test_a_line_goes_to_standard_error)
{
	scoped(fd_closep) int fd = capture_stderr();

	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	ck_assert_str_eq(log_target(), "console");
	log_warning("going on without %s", "cpuset");
	expect_read(fd, "going on without cpuset\n");
}
END_TEST

START_TEST(test_a_line_to_the_journal_begins_with_its_level)
{
	scoped(fd_closep) int fd = capture_stderr();
	struct stat status;

	ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
	say_where_the_journal_is(&status);
	ck_assert_str_eq(log_target(), "journal");
	log_warning("going on");
	expect_read(fd, "<4>going on\n");
}
END_TEST

START_TEST(test_a_journal_variable_of_another_stream_is_passed_over)
{
	scoped(fd_closep) int fd = capture_stderr();
	struct stat status;

	/* Another file of the same device, and the same number on another device. */
	ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
	status.st_ino++;
	say_where_the_journal_is(&status);
	ck_assert_str_eq(log_target(), "console");
	status.st_ino--;
	status.st_dev++;
	say_where_the_journal_is(&status);
	ck_assert_str_eq(log_target(), "console");
	ck_assert_int_eq(setenv("JOURNAL_STREAM", "nonsense", 1), 0);
	ck_assert_str_eq(log_target(), "console");
	log_info("plain");
	expect_read(fd, "plain\n");
}
END_TEST

#define NR_THREADS 4
#define NR_LINES   200

static void *talk(void *arg)
{
	for (unsigned i = 0; i < NR_LINES; i++)
		log_info("%s", (const char *) arg);
	return NULL;
}

START_TEST(test_lines_of_threads_are_never_mixed)
{
	static char texts[NR_THREADS][100];
	scoped(fd_closep) int fd = capture_stderr();
	scoped(file_closep) FILE *file = NULL;
	pthread_t threads[NR_THREADS];
	char line[256];

	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
	/* Room for all lines: nobody reads before the last one is written. */
	ck_assert_int_ge(fcntl(fd, F_SETPIPE_SZ, NR_THREADS * NR_LINES * 128), 0);
	for (unsigned i = 0; i < NR_THREADS; i++) {
		memset(texts[i], 'a' + (int) i, sizeof(texts[i]) - 1);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, talk, texts[i]), 0);
	}
	for (unsigned i = 0; i < NR_THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	file = fdopen(fd, "r");
	ck_assert_ptr_nonnull(file);
	(void) take_fd(fd);
	for (unsigned i = 0; i < NR_THREADS * NR_LINES; i++) {
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
		ck_assert_uint_eq(strlen(line), sizeof(texts[0]));
		ck_assert_uint_eq(strspn(line, (char[]){ line[0], '\0' }), sizeof(texts[0]) - 1);
	}
}
END_TEST

START_TEST(test_the_monotonic_clock_does_not_run_backwards)
{
	uint64_t first_usec = clock_monotonic_usec(), then_usec = clock_monotonic_usec();

	ck_assert_uint_gt(first_usec, 0);
	ck_assert_uint_ge(then_usec, first_usec);
	/* The realtime clock counts from 1970: it is far ahead of any uptime. */
	ck_assert_uint_gt(clock_realtime_usec(), 1600000000ULL * 1000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");

	tcase_add_test(tcase, test_levels_have_the_words_of_syslog);
	tcase_add_test(tcase, test_lines_above_the_level_are_dropped);
	tcase_add_test(tcase, test_a_sink_gets_the_fields_of_an_event);
	tcase_add_test(tcase, test_errno_is_as_before_after_a_line);
	tcase_add_test(tcase, test_one_event_stays_one_line);
	tcase_add_test(tcase, test_a_long_message_is_cut_and_says_so);
	tcase_add_test(tcase, test_a_line_goes_to_standard_error);
	tcase_add_test(tcase, test_a_line_to_the_journal_begins_with_its_level);
	tcase_add_test(tcase, test_a_journal_variable_of_another_stream_is_passed_over);
	tcase_add_test(tcase, test_lines_of_threads_are_never_mixed);
	tcase_add_test(tcase, test_the_monotonic_clock_does_not_run_backwards);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
