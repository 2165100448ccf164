/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/originals-watch.h"
#include "suite.h"

static char directory[] = "/tmp/nodeinit-watch-XXXXXX";
static struct ev_loop *loop;
static struct originals_watch *watch;
static struct original_pattern patterns[1];
static struct pool_config pool;
static struct config config;
static unsigned nr_told;

static void on_change(void *arg)
{
	(void) arg;
	nr_told++;
}

static const char *path_of(const char *name)
{
	static char path[128];

	(void) snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
	(void) strcpy(strrchr(directory, '-') + 1, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chmod(directory, 0755), 0);
	put("a", "first");
	nr_told = 0;
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_int_eq(originals_watch_new(loop, on_change, NULL, &watch), 0);
	patterns[0] = (struct original_pattern){
		.text = strdup(path_of("*")),
		.position = strdup("files.pool:4"),
	};
	pool = (struct pool_config){ .kind = POOL_REPLICA, .paths = patterns, .nr_paths = 1 };
	config = (struct config){ .pools = &pool, .nr_pools = 1 };
	ck_assert_int_eq(config_find_originals(&config, ""), 0);
	ck_assert_uint_eq(pool.originals.nr, 1);
}

static void teardown(void)
{
	originals_watch_freep(&watch);
	originals_clear(&pool.originals);
	free(patterns[0].text);
	free(patterns[0].position);
	ev_loop_destroy(loop);
	(void) unlink(path_of("a"));
	(void) unlink(path_of("b"));
	ck_assert_int_eq(rmdir(directory), 0);
}

static void on_end(struct ev_loop *on_loop, ev_timer *timer, int revents)
{
	(void) timer, (void) revents;
	ev_break(on_loop, EVBREAK_ALL);
}

/* Let the loop turn for so long. */
static void turn(double seconds)
{
	ev_timer end;

	ev_timer_init(&end, on_end, seconds, 0.);
	ev_now_update(loop);
	ev_timer_start(loop, &end);
	ev_run(loop, 0);
	ev_timer_stop(loop, &end);
}

/* Until it was told, or the limit. */
static void turn_until_told(unsigned nr)
{
	uint64_t end_usec = clock_monotonic_usec() + 20 * UINT64_C(1000000);

	while (nr_told < nr && clock_monotonic_usec() < end_usec)
		turn(0.05);
	ck_assert_uint_eq(nr_told, nr);
}

START_TEST(test_a_file_that_is_written_is_told_once_it_stands_still)
{
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	for (unsigned i = 0; i < 10; i++)
		put("a", "written again and again");
	turn_until_told(1);
	turn(0.5);
	ck_assert_uint_eq(nr_told, 1);
}
END_TEST

START_TEST(test_what_is_replaced_deleted_or_new_is_told)
{
	char other[128];

	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	put("b", "new");
	turn_until_told(1);
	(void) snprintf(other, sizeof(other), "%s", path_of("b"));
	ck_assert_int_eq(rename(other, path_of("a")), 0);
	turn_until_told(2);
	ck_assert_int_eq(unlink(path_of("a")), 0);
	turn_until_told(3);
}
END_TEST

START_TEST(test_a_file_that_becomes_readable_is_told)
{
	ck_assert_int_eq(chmod(path_of("a"), 0), 0);
	ck_assert_int_eq(config_find_originals(&config, ""), 0);
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	ck_assert_int_eq(chmod(path_of("a"), 0644), 0);
	turn_until_told(1);
}
END_TEST

/* Who may not pass a directory far above could go on reading the copy. */
START_TEST(test_a_directory_above_that_is_closed_is_told)
{
	char above[64], below[128];

	(void) snprintf(above, sizeof(above), "%s/d", directory);
	(void) snprintf(below, sizeof(below), "%s/e", above);
	ck_assert_int_eq(mkdir(above, 0755), 0);
	ck_assert_int_eq(mkdir(below, 0755), 0);
	put("d/e/a", "deep");
	free(patterns[0].text);
	patterns[0].text = strdup(path_of("d/e/a"));
	ck_assert_int_eq(config_find_originals(&config, ""), 0);
	ck_assert_uint_eq(pool.originals.nr, 1);
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	/* what is beside it is nobody's affair */
	put("d/other", "beside");
	ck_assert_int_eq(chmod(path_of("d/other"), 0600), 0);
	turn(0.6);
	ck_assert_uint_eq(nr_told, 0);
	ck_assert_int_eq(chmod(above, 0700), 0);
	turn_until_told(1);
	ck_assert_int_eq(rename(above, path_of("moved")), 0);
	turn_until_told(2);
	ck_assert_int_eq(unlink(path_of("moved/e/a")), 0);
	ck_assert_int_eq(unlink(path_of("moved/other")), 0);
	ck_assert_int_eq(rmdir(path_of("moved/e")), 0);
	ck_assert_int_eq(rmdir(path_of("moved")), 0);
}
END_TEST

/* Between the look at the files and the watch nothing is lost. */
START_TEST(test_what_changed_before_it_was_watched_is_told)
{
	put("a", "changed in between");
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	turn_until_told(1);
}
END_TEST

START_TEST(test_as_long_as_nothing_happens_nothing_is_told)
{
	scoped(freep) char *text = NULL;
	FILE *file;

	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	/* reading is no change */
	file = fopen(path_of("a"), "r");
	ck_assert_ptr_nonnull(file);
	text = calloc(1, 64);
	ck_assert_uint_eq(fread(text, 1, 63, file), 5);
	ck_assert_int_eq(fclose(file), 0);
	turn(0.6);
	ck_assert_uint_eq(nr_told, 0);
}
END_TEST

START_TEST(test_without_replicas_nothing_is_watched)
{
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	pool.kind = POOL_REGION;
	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	put("a", "of no pool");
	turn(0.6);
	ck_assert_uint_eq(nr_told, 0);
}
END_TEST

/* A log that is written all the time is told all the same. */
START_TEST(test_what_never_stands_still_is_told_after_a_while)
{
	uint64_t began_usec = clock_monotonic_usec();

	ck_assert_int_eq(originals_watch_set(watch, &config), 0);
	while (nr_told == 0 && clock_monotonic_usec() < began_usec + 20 * UINT64_C(1000000)) {
		put("a", "and again");
		turn(0.1);
	}
	ck_assert_uint_eq(nr_told, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("originals-watch");
	TCase *tcase = tcase_create("originals-watch");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_a_file_that_is_written_is_told_once_it_stands_still);
	tcase_add_test(tcase, test_what_is_replaced_deleted_or_new_is_told);
	tcase_add_test(tcase, test_a_file_that_becomes_readable_is_told);
	tcase_add_test(tcase, test_a_directory_above_that_is_closed_is_told);
	tcase_add_test(tcase, test_what_changed_before_it_was_watched_is_told);
	tcase_add_test(tcase, test_as_long_as_nothing_happens_nothing_is_told);
	tcase_add_test(tcase, test_without_replicas_nothing_is_watched);
	tcase_add_test(tcase, test_what_never_stands_still_is_told_after_a_while);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
