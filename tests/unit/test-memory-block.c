/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../daemon/machine/memory-block.h"
#include "kernel-model.h"
#include "suite.h"

#define BLOCKS "/sys/devices/system/memory"
#define NODES  "/sys/devices/system/node"
#define BOTH   (MACHINE_ZONE_KERNEL | MACHINE_ZONE_MOVABLE)

static struct kernel_model *model;

static void model_setup(void)
{
	model = kernel_model_new();
}

static void model_teardown(void)
{
	model = kernel_model_free(model);
}

static void put(const char *path, const char *text)
{
	kernel_model_set_file(model, path, "%s", text);
}

static int read_7(struct memory_block *ret)
{
	return memory_block_read(kernel_model_kernel(model), 7, ret);
}

static void expect_7(const char *state_text, const char *zones_text, enum memory_block_state state,
                     unsigned zones, bool is_movable_by_default)
{
	struct memory_block block = { .state = 99, .zones = 99 };

	put(BLOCKS "/memory7/state", state_text);
	put(BLOCKS "/memory7/valid_zones", zones_text);
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, state);
	ck_assert_uint_eq(block.zones, zones);
	ck_assert_int_eq(block.is_movable_by_default, is_movable_by_default);
}

START_TEST(test_an_offline_block_can_go_where_valid_zones_says)
{
	expect_7("offline\n", "Normal Movable\n", MEMORY_BLOCK_OFFLINE, BOTH, false);
	expect_7("offline\n", "Movable Normal\n", MEMORY_BLOCK_OFFLINE, BOTH, true);
	expect_7("offline\n", "Normal\n", MEMORY_BLOCK_OFFLINE, MACHINE_ZONE_KERNEL, false);
	expect_7("offline\n", "Movable\n", MEMORY_BLOCK_OFFLINE, MACHINE_ZONE_MOVABLE, true);
	expect_7("offline\n", "DMA32 Movable\n", MEMORY_BLOCK_OFFLINE, BOTH, false);
	expect_7("offline\n", "HighMem\n", MEMORY_BLOCK_OFFLINE, MACHINE_ZONE_KERNEL, false);
	expect_7("offline\n", "none\n", MEMORY_BLOCK_OFFLINE, 0, false);
	expect_7("offline\n", "\n", MEMORY_BLOCK_OFFLINE, 0, false);
}
END_TEST

START_TEST(test_an_online_block_is_in_one_zone_or_the_kernel_does_not_say)
{
	expect_7("online\n", "Normal\n", MEMORY_BLOCK_ONLINE, MACHINE_ZONE_KERNEL, false);
	expect_7("online\n", "Movable\n", MEMORY_BLOCK_ONLINE, MACHINE_ZONE_MOVABLE, false);
	expect_7("online\n", "DMA\n", MEMORY_BLOCK_ONLINE, MACHINE_ZONE_KERNEL, false);
	expect_7("online\n", "none\n", MEMORY_BLOCK_ONLINE, 0, false);
}
END_TEST

START_TEST(test_a_block_that_is_going_offline_is_neither)
{
	expect_7("going-offline\n", "Movable Normal\n", MEMORY_BLOCK_GOING, BOTH, true);
}
END_TEST

START_TEST(test_only_whole_words_are_states_and_zones)
{
	struct memory_block block;

	expect_7("offline\n", "Mov\n", MEMORY_BLOCK_OFFLINE, MACHINE_ZONE_KERNEL, false);
	expect_7("offline\n", "non\n", MEMORY_BLOCK_OFFLINE, MACHINE_ZONE_KERNEL, false);
	for (size_t i = 0; i < 6; i++) {
		put(BLOCKS "/memory7/state", (const char *[]){ "on\n", "onlines\n", "", "\n",
		                                               "ERROR-UNKNOWN-3\n", "10\n" }[i]);
		ck_assert_int_eq(read_7(&block), -EINVAL);
	}
}
END_TEST

START_TEST(test_a_kernel_without_valid_zones_lets_a_block_go_anywhere)
{
	struct memory_block block;

	put(BLOCKS "/memory7/state", "offline\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_OFFLINE);
	ck_assert_uint_eq(block.zones, BOTH);
	ck_assert(!block.is_movable_by_default);
	put(BLOCKS "/memory7/state", "online\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_ONLINE);
	ck_assert_uint_eq(block.zones, 0);
}
END_TEST

START_TEST(test_a_block_that_is_not_there_is_no_block)
{
	struct memory_block block = { .zones = 99 };

	put(BLOCKS "/memory70/state", "offline\n");
	put(NODES "/node0/memory70/state", "offline\n");
	ck_assert_int_eq(read_7(&block), -ENOENT);
	ck_assert_uint_eq(block.zones, 99);
	ck_assert_int_eq(memory_block_online(kernel_model_kernel(model), 7, MEMORY_BLOCK_ANY),
	                 -ENOENT);
}
END_TEST

START_TEST(test_a_block_that_only_its_node_shows_is_found_there)
{
	struct memory_block block;

	put(NODES "/online", "0,12\n");
	put(NODES "/node0/memory1/state", "online\n");
	put(NODES "/node12/memory7/state", "offline\n");
	put(NODES "/node12/memory7/valid_zones", "Movable Normal\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_OFFLINE);
	ck_assert_uint_eq(block.zones, BOTH);
	ck_assert(block.is_movable_by_default);
}
END_TEST

START_TEST(test_state_and_zones_may_be_shown_in_two_places)
{
	struct memory_block block;

	put(BLOCKS "/memory7/state", "offline\n");
	put(NODES "/node0/memory7/valid_zones", "Movable\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_uint_eq(block.zones, MACHINE_ZONE_MOVABLE);
}
END_TEST

START_TEST(test_online_alone_tells_the_state_as_well)
{
	struct memory_block block;

	put(BLOCKS "/memory7/online", "0\n");
	put(BLOCKS "/memory7/valid_zones", "Movable\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_OFFLINE);
	ck_assert_uint_eq(block.zones, MACHINE_ZONE_MOVABLE);
	put(BLOCKS "/memory7/online", "1\n");
	ck_assert_int_eq(read_7(&block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_ONLINE);
}
END_TEST

static void expect_state_file(const char *expected)
{
	scoped(freep) char *text = kernel_model_file(model, BLOCKS "/memory7/state");

	ck_assert_str_eq(text, expected);
}

START_TEST(test_each_zone_is_asked_for_by_its_word)
{
	struct kernel *kernel = kernel_model_kernel(model);

	put(BLOCKS "/memory7/state", "offline\n");
	ck_assert_int_eq(memory_block_online(kernel, 7, MEMORY_BLOCK_ANY), 0);
	expect_state_file("online");
	ck_assert_int_eq(memory_block_online(kernel, 7, MEMORY_BLOCK_KERNEL), 0);
	expect_state_file("online_kernel");
	ck_assert_int_eq(memory_block_online(kernel, 7, MEMORY_BLOCK_MOVABLE), 0);
	expect_state_file("online_movable");
	ck_assert_uint_eq(kernel_model_nr_writes(model, BLOCKS "/memory7/state"), 3);
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), 3);
}
END_TEST

START_TEST(test_what_the_kernel_answers_is_handed_on)
{
	static const int errors[] = { EINVAL, EBUSY, EAGAIN, EACCES, EPERM, EROFS, EHWPOISON };

	put(BLOCKS "/memory7/state", "offline\n");
	for (size_t i = 0; i < ELEMENTS(errors); i++) {
		kernel_model_refuse(model, BLOCKS "/memory7/state", errors[i]);
		ck_assert_int_eq(
			memory_block_online(kernel_model_kernel(model), 7, MEMORY_BLOCK_KERNEL),
			-errors[i]);
	}
	expect_state_file("offline\n");
}
END_TEST

START_TEST(test_names_of_blocks_are_told_from_their_neighbours)
{
	static const char *const others[] = { "memory",
		                              "memory_failure",
		                              "memoryx",
		                              "memory1x",
		                              "memory-1",
		                              "memory 1",
		                              "memory01",
		                              "memory00",
		                              "meminfo",
		                              "xmemory1",
		                              "Memory1",
		                              "memory1 ",
		                              "memory+1",
		                              "node1",
		                              "",
		                              "memory0x10",
		                              "memory18446744073709551615",
		                              "memory18446744073709551616",
		                              "memory184467440737095516150" };
	uint64_t block = 99;

	for (size_t i = 0; i < ELEMENTS(others); i++) {
		ck_assert_msg(!memory_block_parse(others[i], &block), "%s", others[i]);
		ck_assert_uint_eq(block, 99);
	}
	ck_assert(memory_block_parse("memory0", &block));
	ck_assert_uint_eq(block, 0);
	ck_assert(memory_block_parse("memory1070", &block));
	ck_assert_uint_eq(block, 1070);
	ck_assert(memory_block_parse("memory18446744073709551614", &block));
	ck_assert_uint_eq(block, UINT64_MAX - 1);
}
END_TEST

static int sum_blocks(uint64_t block, void *arg)
{
	uint64_t *sum = arg;

	*sum += block;
	return 0;
}

static int stop_at_first(uint64_t block, void *arg)
{
	unsigned *nr_calls = arg;

	(void) block;
	++*nr_calls;
	return -EXDEV;
}

START_TEST(test_every_block_of_a_node_is_visited_and_no_other)
{
	struct kernel *kernel = kernel_model_kernel(model);
	uint64_t sum = 0;
	unsigned nr_calls = 0;

	put(NODES "/node1/memory1/state", "online\n");
	put(NODES "/node1/memory20/state", "online\n");
	put(NODES "/node1/memory300/state", "offline\n");
	put(NODES "/node1/memory_failure/total", "0\n");
	put(NODES "/node1/meminfo", "\n");
	put(NODES "/node10/memory4000/state", "online\n");
	ck_assert_int_eq(memory_blocks_each(kernel, 1, sum_blocks, &sum), 0);
	ck_assert_uint_eq(sum, 321);
	ck_assert_int_eq(memory_blocks_each(kernel, 1, stop_at_first, &nr_calls), -EXDEV);
	ck_assert_uint_eq(nr_calls, 1);
	ck_assert_int_eq(memory_blocks_each(kernel, 2, sum_blocks, &sum), -ENOENT);
}
END_TEST

/* A kernel with one block, whose files change from one read to the next. */
struct changing {
	struct kernel kernel;
	const char *const *states; /* the last one stays */
	const char *const *zones;
	unsigned nr_state_reads;
	unsigned nr_zone_reads;
	unsigned nr_reads_max; /* then the block is gone */
};

static int changing_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	struct changing *changing = (struct changing *) kernel;
	const char *const **texts;
	int nr_chars;

	if (strcmp(path, BLOCKS "/memory7/state") == 0) {
		texts = &changing->states;
		changing->nr_state_reads++;
	} else if (strcmp(path, BLOCKS "/memory7/valid_zones") == 0) {
		texts = &changing->zones;
		changing->nr_zone_reads++;
	} else {
		return -ENOENT;
	}
	if (changing->nr_state_reads + changing->nr_zone_reads > changing->nr_reads_max)
		return -ENOENT;
	nr_chars = snprintf(buffer, buffer_bytes, "%s\n", **texts);
	if ((*texts)[1])
		++*texts;
	return nr_chars;
}

static const struct kernel_ops changing_ops = { .read = changing_read };

static int read_changing(struct changing *changing, struct memory_block *ret)
{
	changing->kernel = (struct kernel){ .ops = &changing_ops, .is_live = true };
	if (!changing->nr_reads_max)
		changing->nr_reads_max = 100;
	return memory_block_read(&changing->kernel, 7, ret);
}

START_TEST(test_a_block_that_comes_online_between_two_reads_is_not_taken_for_one_of_a_single_zone)
{
	struct changing changing = {
		.states = (const char *const[]){ "offline", "online", NULL },
		.zones = (const char *const[]){ "Movable", NULL },
	};
	struct memory_block block;

	ck_assert_int_eq(read_changing(&changing, &block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_ONLINE);
	ck_assert_uint_eq(block.zones, MACHINE_ZONE_MOVABLE);
	ck_assert(!block.is_movable_by_default);
}
END_TEST

START_TEST(test_a_block_that_goes_offline_between_two_reads_is_not_in_two_zones)
{
	struct changing changing = {
		.states = (const char *const[]){ "online", "offline", NULL },
		.zones = (const char *const[]){ "Movable Normal", NULL },
	};
	struct memory_block block;

	ck_assert_int_eq(read_changing(&changing, &block), 0);
	ck_assert_int_eq(block.state, MEMORY_BLOCK_OFFLINE);
	ck_assert_uint_eq(block.zones, BOTH);
	ck_assert(block.is_movable_by_default);
}
END_TEST

START_TEST(test_a_block_that_is_unplugged_between_two_reads_is_gone)
{
	struct changing changing = {
		.states = (const char *const[]){ "offline", NULL },
		.zones = (const char *const[]){ "Normal", NULL },
		.nr_reads_max = 1,
	};
	struct memory_block block;

	/* A kernel that does not say would let it go anywhere. */
	ck_assert_int_eq(read_changing(&changing, &block), -ENOENT);
}
END_TEST

START_TEST(test_a_block_that_never_rests_is_not_looked_at_for_ever)
{
	static const char *states[101];
	struct changing changing = {
		.states = states,
		.zones = (const char *const[]){ "Normal", NULL },
		.nr_reads_max = 40,
	};
	struct memory_block block;

	for (size_t i = 0; i < 100; i++)
		states[i] = i % 2 ? "offline" : "online";
	ck_assert_int_eq(read_changing(&changing, &block), 0);
	ck_assert_uint_le(changing.nr_state_reads + changing.nr_zone_reads, 10);
}
END_TEST

START_TEST(test_an_offline_block_for_both_zones_takes_two_reads)
{
	struct changing changing = {
		.states = (const char *const[]){ "offline", NULL },
		.zones = (const char *const[]){ "Normal Movable", NULL },
	};
	struct memory_block block;

	ck_assert_int_eq(read_changing(&changing, &block), 0);
	ck_assert_uint_eq(changing.nr_state_reads, 1);
	ck_assert_uint_eq(changing.nr_zone_reads, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory-block");
	TCase *tcase = tcase_create("memory-block");

	tcase_add_checked_fixture(tcase, model_setup, model_teardown);
	tcase_add_test(tcase, test_an_offline_block_can_go_where_valid_zones_says);
	tcase_add_test(tcase, test_an_online_block_is_in_one_zone_or_the_kernel_does_not_say);
	tcase_add_test(tcase, test_a_block_that_is_going_offline_is_neither);
	tcase_add_test(tcase, test_only_whole_words_are_states_and_zones);
	tcase_add_test(tcase, test_a_kernel_without_valid_zones_lets_a_block_go_anywhere);
	tcase_add_test(tcase, test_a_block_that_is_not_there_is_no_block);
	tcase_add_test(tcase, test_a_block_that_only_its_node_shows_is_found_there);
	tcase_add_test(tcase, test_state_and_zones_may_be_shown_in_two_places);
	tcase_add_test(tcase, test_online_alone_tells_the_state_as_well);
	tcase_add_test(tcase, test_each_zone_is_asked_for_by_its_word);
	tcase_add_test(tcase, test_what_the_kernel_answers_is_handed_on);
	tcase_add_test(tcase, test_names_of_blocks_are_told_from_their_neighbours);
	tcase_add_test(tcase, test_every_block_of_a_node_is_visited_and_no_other);
	tcase_add_test(
		tcase,
		test_a_block_that_comes_online_between_two_reads_is_not_taken_for_one_of_a_single_zone);
	tcase_add_test(tcase, test_a_block_that_goes_offline_between_two_reads_is_not_in_two_zones);
	tcase_add_test(tcase, test_a_block_that_is_unplugged_between_two_reads_is_gone);
	tcase_add_test(tcase, test_a_block_that_never_rests_is_not_looked_at_for_ever);
	tcase_add_test(tcase, test_an_offline_block_for_both_zones_takes_two_reads);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
