/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan when memory runs out: each allocation is made to fail once, and -ENOMEM must come back
 * with nothing lost. The allocator is replaced by one that counts; sanitizers bring their own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <libsmartcols.h>

#include "../../daemon/plan/plan-print.h"
#include "plan-world.h"
#include "suite.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void __libc_free(void *pointer);

static bool is_counting;
static unsigned long nr_left; /* allocations until one fails */
static long nr_live;
static bool is_spared;

static bool must_fail(void)
{
	return is_counting && !is_spared && nr_left-- == 0;
}

static void *counted(void *pointer)
{
	if (is_counting && pointer)
		nr_live++;
	return pointer;
}

void *malloc(size_t bytes)
{
	return must_fail() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
	return must_fail() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *pointer, size_t bytes)
{
	if (must_fail())
		return NULL;
	return pointer ? __libc_realloc(pointer, bytes) : counted(__libc_realloc(NULL, bytes));
}

void free(void *pointer)
{
	if (is_counting && pointer)
		nr_live--;
	__libc_free(pointer);
}

/* Where both libraries write, they go on without what they could not have, and say nothing. */
static int (*real_print)(struct libscols_table *);
static const char *(*real_string)(struct json_object *, int);

int scols_print_table(struct libscols_table *table)
{
	int r;

	is_spared = true;
	r = real_print(table);
	is_spared = false;
	return r;
}

const char *json_object_to_json_string_ext(struct json_object *object, int flags)
{
	const char *string;

	is_spared = true;
	string = real_string(object, flags);
	is_spared = false;
	return string;
}

static struct world world;
static FILE *out; /* writes to printed */
static char printed[64 * 1024];
static char expected[sizeof(printed)]; /* what is printed with enough memory */

static void setup(void)
{
	static struct config_note note = { CONFIG_WARNING, (char *) "a.pool:1: a note", NULL };

	out = fmemopen(printed, sizeof(printed), "w");
	ck_assert_ptr_nonnull(out);
	expected[0] = '\0';
	*(void **) &real_print = dlsym(RTLD_NEXT, "scols_print_table");
	*(void **) &real_string = dlsym(RTLD_NEXT, "json_object_to_json_string_ext");
	world_init(&world);
	world.machine.has_swap = true;
	world.machine.cgroup_room_bytes = 12 * GIB;
	world.machine.cgroup_limit_bytes = 12 * GIB;
	world_add_node(&world, 0, 8 * GIB)->mem_total_bytes = GIB;
	world_add_node(&world, 1, 8 * GIB)->is_allowed = false;
	world_add_node(&world, 2, 0)->helper_node_id = 0;
	world_add_pool(&world, "a", POOL_REGION, "6G");
	world_set_node_list(&world.pools[0], "0-3,70");
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "4G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "c", POOL_HUGETLB, "4G"), POOL_PAGE_SIZE, 8 * MIB);
	world_add_pool(&world, "d", POOL_REGION, "1K");
	world_add_pool(&world, "e", POOL_REGION, "16G");
	world_add_pool(&world, "f", POOL_REGION, NULL);
	world_add_pool(&world, "g", POOL_BLOCK, "512M")->zone = POOL_ZONE_MOVABLE;
	world_add_pool(&world, "h", POOL_BLOCK, "512M");
	world_set_minimum(world_add_pool(&world, "i", POOL_REPLICA, NULL), "1G");
	for (size_t i = 0; i < 25; i++)
		(void) world_add_refused(&world.pools[8], "/srv/a", ORIGINAL_HIDDEN);
	world_add_file(&world.pools[8], "/srv/b", GIB);
	world_add_file(&world.pools[8], "/srv/c", 9 * GIB);
	world_add_blocks(&world, 0, 8)->zones = MACHINE_ZONE_KERNEL;
	world_add_blocks(&world, 1, 2);
	world_add_blocks(&world, 2, 1)->zones = 0;
	world.config.notes = &note;
	world.config.nr_notes = 1;
	world_plan(&world);
}

static void teardown(void)
{
	(void) fclose(out);
	world_clear(&world);
}

static int make(void)
{
	struct plan *plan = NULL;
	int r = plan_make(&world.machine, &world.config, &plan);

	/* No assertion here: it would be counted. */
	if ((r == 0) != (plan != NULL) || (plan && plan->nr_warnings != world.plan->nr_warnings))
		r = -EPROTO;
	plan_free(plan);
	return r;
}

/* Who prints something else than the first time must not call it a success. */
static int print(int (*print_plan)(const struct plan *, FILE *))
{
	int r;

	rewind(out);
	r = print_plan(world.plan, out);
	(void) fflush(out);
	if (r == 0 && expected[0] == '\0')
		strcpy(expected, printed);
	return r == 0 && strcmp(printed, expected) != 0 ? -EPROTO : r;
}

static int print_json(void)
{
	return print(plan_print_json);
}

static int print_text(void)
{
	return print(plan_print_text);
}

/*
 * Run @act again and again, each time failing the next of its allocations, until there is none
 * left to fail. What can be done without (the buffer of a sort) may be missed without an error.
 */
static void run_short_of_memory(int (*act)(void), unsigned long nr_expected,
                                long nr_lost_by_library)
{
	unsigned long nr_runs = 0;
	unsigned long nr_errors = 0;
	bool has_failed_one;

	ck_assert_int_eq(act(), 0); /* what is set up once and for all is, from here on */
	do {
		int r;

		nr_live = 0;
		nr_left = nr_runs++;
		is_counting = true;
		r = act();
		is_counting = false;
		has_failed_one = nr_left > nr_runs; /* it went below zero */
		ck_assert_msg(r == 0 || r == -ENOMEM, "allocation %lu: %d", nr_runs, r);
		ck_assert_msg(nr_live <= nr_lost_by_library, "allocation %lu: %ld lost", nr_runs,
		              nr_live);
		nr_errors += r == -ENOMEM;
	} while (has_failed_one);
	ck_assert_uint_gt(nr_errors, nr_expected);
}

START_TEST(test_a_plan_that_runs_out_of_memory_is_no_plan_and_loses_nothing)
{
	run_short_of_memory(make, 60, 0);
}
END_TEST

START_TEST(test_a_document_that_runs_out_of_memory_is_an_error_and_loses_nothing)
{
	/* json-c forgets a key that its table has no room for. */
	run_short_of_memory(print_json, 300, 1);
}
END_TEST

START_TEST(test_a_text_that_runs_out_of_memory_is_an_error_and_loses_nothing)
{
	run_short_of_memory(print_text, 100, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-memory");
	TCase *cases = tcase_create("memory");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_a_plan_that_runs_out_of_memory_is_no_plan_and_loses_nothing);
	tcase_add_test(cases,
	               test_a_document_that_runs_out_of_memory_is_an_error_and_loses_nothing);
	tcase_add_test(cases, test_a_text_that_runs_out_of_memory_is_an_error_and_loses_nothing);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}

#else

int main(void)
{
	suite_skip("the sanitizer has an allocator of its own");
}

#endif
