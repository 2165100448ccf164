/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <ev.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/log.h"
#include "../../daemon/manager-state.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "memory-model.h"
#include "suite.h"

#include "manager-scene.h"

START_TEST(test_a_reload_that_shrinks_gives_back_what_is_ours_and_nothing_else)
{
	struct hugepages_count foreign = { .nr_pages = 40, .free_pages = 40 };

	kernel_model_set_pages(model, 0, HUGE_BYTES, foreign);
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 100);

	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=60p\nNodes=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "shrunk");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 60);

	/* 40 were there before us: they stay, whatever is declared */
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=10p\nNodes=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "shrunk again");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 40);
	ck_assert(manager->is_ready);

	/* grown in a second piece, then gone: both pieces are ours */
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=90p\nNodes=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_ready, "grown");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 90);
	ck_assert_uint_eq(manager->inventory.done_bytes, 90 * HUGE_BYTES);

	daemon_remove_pool(&d, "pages");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "gone");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 40);
	ck_assert_str_eq(manager_state_text(manager), "idle");
}
END_TEST

/* What joins later begins behind what is there: no page of the kernel's counts twice. */
START_TEST(test_a_pool_that_comes_with_a_reload_gets_pages_of_its_own)
{
	daemon_write_pool(&d, "first", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	start();
	run_until(is_ready, "ready");
	daemon_write_pool(&d, "second", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=20p\nNodes=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_ready, "both");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 120);
	ck_assert_uint_eq(manager->inventory.done_bytes, 120 * HUGE_BYTES);

	/* the first one goes: what is left belongs to the second */
	daemon_remove_pool(&d, "first");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "one");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 20);
	ck_assert_uint_eq(manager->inventory.done_bytes, 20 * HUGE_BYTES);
}
END_TEST

START_TEST(test_new_settings_count_unless_their_own_file_is_refused)
{
	char *sentence = NULL;

	daemon_write_conf(&d, "[Daemon]\nRetry=2\n");
	start();
	run_until(is_ready, "idle");
	ck_assert_uint_eq(manager->context.nr_retries, 2);

	/* a broken pool is another matter */
	daemon_write_conf(&d, "[Daemon]\nRetry=7\n");
	daemon_write_pool(&d, "broken", "[Pool]\nKind=hugetlb\nSize=8192\n");
	ck_assert_int_eq(manager_reload(manager, NULL), -EBADMSG);
	ck_assert_uint_eq(manager->context.nr_retries, 7);

	daemon_write_conf(&d, "[Daemon]\nRetry=9\nStallTimeout=soon\n");
	daemon_remove_pool(&d, "broken");
	ck_assert_int_eq(manager_reload(manager, &sentence), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(sentence, "nodeinitd.conf:3: "));
	free(sentence);
	ck_assert_uint_eq(manager->context.nr_retries, 7);
}
END_TEST

/* Each generation is told in its own numbers. */
START_TEST(test_what_grew_is_logged_as_what_was_added)
{
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(nr_lines_with("pool pages, node 0: ready, 200 MiB in"), 1);
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=120p\nNodes=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_ready, "grown");
	ck_assert_uint_eq(nr_lines_with("pool pages, node 0: ready, 40 MiB in"), 1);
	ck_assert_uint_eq(manager->completion.generation, 2);
}
END_TEST

START_TEST(test_work_that_is_over_before_the_next_look_is_told_all_the_same)
{
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(nr_lines_with("pool pages, node 0: ready"), 1);
	managed_share_begin(share_of("pages", 0));
	manager_look(manager);
	ck_assert_uint_eq(nr_lines_with("pool pages, node 0: ready"), 2);
	manager_look(manager);
	ck_assert_uint_eq(nr_lines_with("pool pages, node 0: ready"), 2);
}
END_TEST

START_TEST(test_a_pool_that_shrinks_and_grows_at_once_is_never_called_failed)
{
	daemon_write_pool(&d, "guests", region_pool);
	start();
	run_until(is_ready, "ready");
	for (unsigned i = 0; i < 20; i++) {
		daemon_write_pool(&d, "guests",
		                  "[Pool]\nKind=region\nPageSize=base\nSize=512M\n[Region]\n"
		                  "RegionSize=128M\n");
		ck_assert_int_eq(manager_reload(manager, NULL), 0);
		daemon_write_pool(&d, "guests", region_pool);
		ck_assert_int_eq(manager_reload(manager, NULL), 0);
		run_until(is_settled, "settled");
	}
	run_until(is_ready, "ready again");
	ck_assert_uint_eq(nr_lines_with("failed"), 0);
	ck_assert_uint_eq(manager->inventory.done_bytes, 2 * GIB);
	ck_assert_uint_le(share_of("guests", 0)->nr_pieces, 2); /* emptied ones are gone */
}
END_TEST

/* What cannot be read says nothing of what is in it. */
START_TEST(test_a_pools_directory_that_cannot_be_read_takes_nothing_away)
{
	char from[128], to[128];

	(void) snprintf(from, sizeof(from), "%s/pools.d", d.directory);
	(void) snprintf(to, sizeof(to), "%s/aside", d.directory);
	daemon_write_pool(&d, "guests", region_pool);
	start();
	run_until(is_ready, "ready");
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_int_eq(symlink(from, from), 0);
	ck_assert_int_eq(manager_reload(manager, NULL), -EBADMSG);
	run_until(is_settled, "settled");
	ck_assert_uint_eq(manager->inventory.done_bytes, 2 * GIB);
	ck_assert(manager->is_ready);

	/* and at the start nobody knows what is declared: not ready */
	manager_freep(&manager);
	start();
	run_until(is_failed, "failed");
	ck_assert(!manager->is_ready);
	ck_assert_int_eq(unlink(from), 0);
	ck_assert_int_eq(rename(to, from), 0);
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_ready, "ready once it can be read");
}
END_TEST

/* CASES 8: what somebody takes away later is seen at the next Reload, and brought back. */
START_TEST(test_pages_that_somebody_took_away_since_are_brought_back_by_a_reload)
{
	struct hugepages_count count = { .nr_pages = 30, .free_pages = 30 };

	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	start();
	run_until(is_ready, "ready");
	kernel_model_set_pages(model, 0, HUGE_BYTES, count);
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "settled");
	run_until(is_ready, "ready again");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 100);
	ck_assert_uint_eq(nr_lines_with("changed the number of huge pages from 100 to 30"), 1);
	ck_assert_uint_eq(manager->completion.generation, 2);
}
END_TEST

static bool is_ready_and_started(void)
{
	return is_ready() && is_ready_notified();
}

/* What the host waits for is what is declared now: shares that have left do not hold it back. */
START_TEST(test_a_pool_that_changes_its_shape_while_it_is_filled_does_not_hold_back_the_host)
{
	static const char form[] = "[Pool]\nKind=region\nPageSize=base\nSize=1G\nEarly=all\n"
				   "[Region]\nRegionSize=%s\n";
	char text[160];

	memory_model_gate_close();
	(void) snprintf(text, sizeof(text), form, "64M");
	daemon_write_pool(&d, "guests", text);
	start();
	run_until(is_a_chunk_at_the_gate, "at work");
	(void) snprintf(text, sizeof(text), form, "128M");
	daemon_write_pool(&d, "guests", text);
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	ck_assert(!manager->is_ready);
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready_and_started, "ready in its new shape");
	ck_assert_uint_eq(manager->inventory.done_bytes, 2 * GIB);
}
END_TEST

START_TEST(test_a_pool_that_is_removed_while_it_is_filled_does_not_hold_back_the_host)
{
	memory_model_gate_close();
	daemon_write_pool(&d, "guests", region_pool);
	start();
	run_until(is_a_chunk_at_the_gate, "at work");
	daemon_remove_pool(&d, "guests");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready_and_started, "ready with nothing");
	ck_assert_str_eq(manager_state_text(manager), "idle");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-reload");
	TCase *tc = tcase_create("manager-reload");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_reload_that_shrinks_gives_back_what_is_ours_and_nothing_else);
	tcase_add_test(tc, test_a_pool_that_comes_with_a_reload_gets_pages_of_its_own);
	tcase_add_test(tc, test_new_settings_count_unless_their_own_file_is_refused);
	tcase_add_test(tc, test_what_grew_is_logged_as_what_was_added);
	tcase_add_test(tc, test_work_that_is_over_before_the_next_look_is_told_all_the_same);
	tcase_add_test(tc, test_a_pool_that_shrinks_and_grows_at_once_is_never_called_failed);
	tcase_add_test(tc, test_a_pools_directory_that_cannot_be_read_takes_nothing_away);
	tcase_add_test(tc, test_pages_that_somebody_took_away_since_are_brought_back_by_a_reload);
	tcase_add_test(
		tc,
		test_a_pool_that_changes_its_shape_while_it_is_filled_does_not_hold_back_the_host);
	tcase_add_test(tc,
	               test_a_pool_that_is_removed_while_it_is_filled_does_not_hold_back_the_host);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
