/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* On a made-up machine: what a chunk takes follows from how many are at work. */
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/engine/knee.h"
#include "../../daemon/kinds/kind.h"
#include "suite.h"

#define CHUNK_BYTES (64 * MIB)

static const struct knee_key key = { .ops = &region_ops, .page_bytes = 2 * MIB };

/* How fast all are together, in ‰ of one member alone. */
typedef uint64_t (*speed_fn)(unsigned nr_active);

struct world {
	struct knee knee;
	speed_fn speed;
	uint64_t alone_usec; /* a chunk, with one member at work */
	uint64_t now_usec;
	unsigned nr_members;
	unsigned nr_active;
	uint64_t end_usec[KNEE_MEMBERS_MAX]; /* of the chunk at hand; 0: none */
	uint64_t chunk_usec[KNEE_MEMBERS_MAX];
	struct knee_sample samples[KNEE_MEMBERS_MAX];
	unsigned slow_percent; /* so many of the chunks take 45 times as long */
	uint64_t slow_until_usec;
	uint32_t seed;
	bool is_spoiled;
	uint64_t nr_looks_with[KNEE_MEMBERS_MAX + 1];
};

static uint32_t next_random(struct world *world)
{
	world->seed = world->seed * 1664525 + 1013904223;
	return world->seed >> 8;
}

static void world_begin(struct world *world, const struct knee_key *kind)
{
	world->nr_active = knee_begin(&world->knee, kind, world->now_usec, world->samples);
}

static void world_init(struct world *world, unsigned nr_members, speed_fn speed)
{
	*world = (struct world){
		.speed = speed,
		.alone_usec = 3000,
		.now_usec = 1000000,
		.nr_members = nr_members,
		.seed = 12345,
	};
	knee_set_members(&world->knee, nr_members);
	world_begin(world, &key);
}

static void begin_chunk(struct world *world, unsigned i)
{
	uint64_t usec =
		world->alone_usec * world->nr_active * 1000 / world->speed(world->nr_active);

	/* No two are alike. */
	usec += usec * (next_random(world) % 5) / 100;
	if (world->now_usec < world->slow_until_usec ||
	    next_random(world) % 100 < world->slow_percent)
		usec *= 45;
	world->chunk_usec[i] = usec;
	world->end_usec[i] = world->now_usec + usec;
}

/* Up to the next end of a chunk. */
static void world_step(struct world *world)
{
	unsigned first = 0;

	for (unsigned i = 0; i < world->nr_active; i++) {
		if (world->end_usec[i] == 0)
			begin_chunk(world, i);
	}
	for (unsigned i = 1; i < world->nr_members; i++) {
		if (world->end_usec[i] != 0 && world->end_usec[i] < world->end_usec[first])
			first = i;
	}
	world->now_usec = world->end_usec[first];
	world->end_usec[first] = 0;
	world->samples[first].nr_chunks++;
	world->samples[first].bytes += CHUNK_BYTES;
	world->samples[first].busy_usec += world->chunk_usec[first];
	if (first != 0)
		return;
	world->nr_active =
		knee_look(&world->knee, world->now_usec, world->samples, world->is_spoiled);
	ck_assert_uint_ge(world->nr_active, 1);
	ck_assert_uint_le(world->nr_active, world->nr_members);
	world->nr_looks_with[world->nr_active]++;
}

static void world_run(struct world *world, uint64_t usec)
{
	uint64_t end_usec = world->now_usec + usec;

	while (world->now_usec < end_usec)
		world_step(world);
}

/* Return: µs until it was found. */
static uint64_t world_find(struct world *world)
{
	uint64_t start_usec = world->now_usec;

	while (knee_found(&world->knee) == 0) {
		world_step(world);
		ck_assert_uint_lt(world->now_usec - start_usec, 100000000);
	}
	return world->now_usec - start_usec;
}

static uint64_t interpolate(const uint64_t (*points)[2], unsigned nr_points, unsigned nr_active)
{
	unsigned i = 1;

	while (i + 1 < nr_points && points[i][0] < nr_active)
		i++;
	return points[i - 1][1] + (points[i][1] - points[i - 1][1]) *
	                                  (nr_active - points[i - 1][0]) /
	                                  (points[i][0] - points[i - 1][0]);
}

static uint64_t speed_flat(unsigned nr_active)
{
	(void) nr_active;
	return 1000;
}

static uint64_t speed_linear(unsigned nr_active)
{
	return 1000 * nr_active;
}

/* 358, 215, 157, 134, 126 ms with 1 to 5, no better with more. */
static uint64_t speed_flattening(unsigned nr_active)
{
	static const uint64_t msec[] = { 358, 215, 157, 134, 126 };

	return 358000 / msec[nr_active < 5 ? nr_active - 1 : 4];
}

/* Grows to four times with 8, and comes down to a half with 16. */
static uint64_t speed_turning(unsigned nr_active)
{
	static const uint64_t points[][2] = { { 1, 1000 }, { 8, 8000 }, { 9, 8200 }, { 16, 4000 } };

	if (nr_active > 9)
		return 8200 - (nr_active - 9) * 600;
	return interpolate(points, 4, nr_active);
}

/* 44, 22, 16, 19, 20 s with 8, 16, 32, 64, 128. */
static uint64_t speed_kernel(unsigned nr_active)
{
	static const uint64_t seconds[][2] = {
		{ 8, 44 }, { 16, 22 }, { 32, 16 }, { 64, 19 }, { 128, 20 }
	};

	for (unsigned i = 1; i < 5; i++) {
		uint64_t at = seconds[i - 1][0], to = seconds[i][0];
		uint64_t from_speed = 352000 / seconds[i - 1][1], to_speed = 352000 / seconds[i][1];

		if (nr_active <= 8)
			return 1000 * nr_active;
		if (nr_active <= to && to_speed >= from_speed)
			return from_speed + (to_speed - from_speed) * (nr_active - at) / (to - at);
		if (nr_active <= to)
			return from_speed - (from_speed - to_speed) * (nr_active - at) / (to - at);
	}
	return 17600;
}

/* Another machine from one moment to the next. */
static unsigned changing_knee;

static uint64_t speed_changing(unsigned nr_active)
{
	return 1000 * (nr_active < changing_knee ? nr_active : changing_knee);
}

/* Slower and slower with each that is more than that. */
static uint64_t speed_falling(unsigned nr_active)
{
	if (nr_active <= changing_knee)
		return 1000 * nr_active;
	return 1000 * changing_knee * changing_knee / nr_active;
}

START_TEST(test_it_begins_with_one_and_nothing_is_known)
{
	struct world world;

	world_init(&world, 16, speed_linear);
	ck_assert_uint_eq(world.nr_active, 1);
	ck_assert_uint_eq(knee_found(&world.knee), 0);
}
END_TEST

START_TEST(test_where_more_do_not_help_one_stays_alone)
{
	struct world world;

	world_init(&world, 16, speed_flat);
	ck_assert_uint_lt(world_find(&world), 50000);
	ck_assert_uint_eq(knee_found(&world.knee), 1);
	ck_assert_uint_eq(world.nr_active, 1);
	ck_assert_uint_eq(world.nr_looks_with[3], 0);
}
END_TEST

START_TEST(test_it_stops_where_one_more_brings_less_than_a_tenth)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	ck_assert_uint_lt(world_find(&world), 200000);
	ck_assert_uint_eq(knee_found(&world.knee), 4);
	ck_assert_uint_eq(world.nr_active, 4);
	ck_assert_uint_gt(world.nr_looks_with[5], 0);
	ck_assert_uint_eq(world.nr_looks_with[6], 0);
}
END_TEST

START_TEST(test_it_stops_before_the_rate_turns_round)
{
	struct world world;

	world_init(&world, 16, speed_turning);
	ck_assert_uint_lt(world_find(&world), 400000);
	ck_assert_uint_eq(knee_found(&world.knee), 8);

	/* From 10 to 11, of 11 even members, is the last that is a tenth. */
	world_init(&world, 128, speed_kernel);
	ck_assert_uint_lt(world_find(&world), 600000);
	ck_assert_uint_ge(knee_found(&world.knee), 8);
	ck_assert_uint_le(knee_found(&world.knee), 16);
}
END_TEST

START_TEST(test_two_members_that_are_both_worth_it_are_at_work_after_a_window)
{
	struct world world;

	world_init(&world, 2, speed_linear);
	world_run(&world, 7000);
	ck_assert_uint_eq(world.nr_active, 2);
	(void) world_find(&world);
	ck_assert_uint_eq(knee_found(&world.knee), 2);
}
END_TEST

START_TEST(test_the_only_member_is_never_measured_against_another)
{
	struct world world;

	world_init(&world, 1, speed_linear);
	world_run(&world, 10000000);
	ck_assert_uint_eq(world.nr_active, 1);
	ck_assert_uint_eq(knee_found(&world.knee), 1);
}
END_TEST

START_TEST(test_what_was_found_counts_for_the_next_part_of_the_kind_only)
{
	const struct knee_key other = { .ops = &region_ops, .page_bytes = 4096 };
	struct world world;

	world_init(&world, 16, speed_flattening);
	(void) world_find(&world);
	world_begin(&world, &key);
	ck_assert_uint_eq(world.nr_active, 4);
	world.speed = speed_flat;
	world_begin(&world, &other);
	ck_assert_uint_eq(world.nr_active, 1);
	ck_assert_uint_eq(knee_found(&world.knee), 0);
	(void) world_find(&world);
	ck_assert_uint_eq(knee_found(&world.knee), 1);
	world_begin(&world, &key);
	ck_assert_uint_eq(world.nr_active, 4);
	ck_assert_uint_eq(knee_found(&world.knee), 4);
}
END_TEST

START_TEST(test_a_part_that_ends_early_goes_on_where_the_last_one_stopped)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	for (unsigned i = 0; i < 400 && knee_found(&world.knee) == 0; i++) {
		for (unsigned k = 0; k < 3; k++)
			world_step(&world);
		world_begin(&world, &key);
	}
	ck_assert_uint_eq(knee_found(&world.knee), 4);
}
END_TEST

START_TEST(test_the_kind_that_was_seen_first_makes_way_when_there_are_too_many)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	(void) world_find(&world);
	for (unsigned i = 1; i < KNEE_KINDS_MAX; i++)
		world_begin(&world, &(struct knee_key){ .ops = &region_ops, .page_bytes = i });
	world_begin(&world, &key);
	ck_assert_uint_eq(world.nr_active, 4);
	world_begin(&world, &(struct knee_key){ .ops = &replica_ops, .page_bytes = 4096 });
	world_begin(&world, &key);
	ck_assert_uint_eq(world.nr_active, 1);
}
END_TEST

START_TEST(test_with_another_number_of_members_it_begins_anew)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	(void) world_find(&world);
	world.nr_members = 3;
	knee_set_members(&world.knee, 3);
	world_begin(&world, &key);
	ck_assert_uint_eq(world.nr_active, 1);
	memset(world.end_usec, 0, sizeof(world.end_usec));
	(void) world_find(&world);
	ck_assert_uint_eq(knee_found(&world.knee), 3);
}
END_TEST

START_TEST(test_spoiled_windows_say_nothing)
{
	struct world world;

	world_init(&world, 16, speed_linear);
	world.is_spoiled = true;
	world_run(&world, 3000000);
	ck_assert_uint_eq(world.nr_active, 1);
	world.is_spoiled = false;
	(void) world_find(&world);
	ck_assert_uint_gt(knee_found(&world.knee), 8);
}
END_TEST

START_TEST(test_a_machine_that_has_become_better_is_noticed)
{
	struct world world;

	changing_knee = 2;
	world_init(&world, 16, speed_changing);
	(void) world_find(&world);
	ck_assert_uint_eq(knee_found(&world.knee), 2);
	world_run(&world, 5000000);
	ck_assert_uint_eq(knee_found(&world.knee), 2);
	changing_knee = 6;
	world_run(&world, 30000000);
	ck_assert_uint_eq(knee_found(&world.knee), 6);
}
END_TEST

START_TEST(test_a_machine_that_has_become_worse_is_noticed)
{
	struct world world;

	changing_knee = 8;
	world_init(&world, 16, speed_falling);
	(void) world_find(&world);
	ck_assert_uint_eq(knee_found(&world.knee), 8);
	changing_knee = 3;
	world_run(&world, 30000000);
	ck_assert_uint_eq(knee_found(&world.knee), 3);
}
END_TEST

START_TEST(test_examining_again_costs_little_where_nothing_has_changed)
{
	uint64_t nr_all = 0, nr_with_knee;
	struct world world;

	world_init(&world, 16, speed_flattening);
	(void) world_find(&world);
	memset(world.nr_looks_with, 0, sizeof(world.nr_looks_with));
	world_run(&world, 60000000);
	for (unsigned i = 1; i <= 16; i++)
		nr_all += world.nr_looks_with[i];
	nr_with_knee = world.nr_looks_with[4];
	ck_assert_uint_eq(knee_found(&world.knee), 4);
	ck_assert_uint_ge(nr_with_knee * 100, nr_all * 97);
	/* And yet it was done: one more, and one less. */
	ck_assert_uint_gt(world.nr_looks_with[5], 0);
	ck_assert_uint_gt(world.nr_looks_with[3], 0);
}
END_TEST

/* Loop test: another run of luck each time. */
START_TEST(test_memory_that_the_host_took_back_does_not_spoil_the_knee_for_long)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	world.seed = (uint32_t) _i * 7919 + 1;
	world.slow_percent = 5;
	world_run(&world, 5000000);
	world.slow_percent = 0;
	world_run(&world, 20000000);
	ck_assert_uint_eq(knee_found(&world.knee), 4);
}
END_TEST

/* Loop test: the first so many chunks are slow. */
START_TEST(test_a_slow_beginning_is_forgotten)
{
	struct world world;

	world_init(&world, 16, speed_flattening);
	world.slow_until_usec = world.now_usec + 100000 * (uint64_t) (_i + 1);
	world_run(&world, 20000000);
	ck_assert_uint_eq(knee_found(&world.knee), 4);
}
END_TEST

START_TEST(test_one_slow_window_decides_nothing)
{
	struct world world;

	world_init(&world, 16, speed_linear);
	while (world.nr_active < 2)
		world_step(&world);
	/* Settled with two, the first window with them is slow. */
	world_run(&world, 4000);
	world.slow_until_usec = world.now_usec + 5000;
	(void) world_find(&world);
	ck_assert_uint_gt(knee_found(&world.knee), 8);
}
END_TEST

START_TEST(test_numbers_of_any_size_are_fine)
{
	struct knee_sample samples[2] = { 0 };
	struct knee knee = { 0 };
	uint64_t now_usec = 0;

	knee_set_members(&knee, 2);
	ck_assert_uint_eq(knee_begin(&knee, &key, 0, samples), 1);
	/* As much as there can be in no time at all, and nothing. */
	for (unsigned i = 0; i < 1000; i++) {
		samples[i % 2].nr_chunks += 2;
		samples[i % 2].bytes += i % 3 == 0 ? UINT64_MAX / 2 : 0;
		now_usec += 5000;
		ck_assert_uint_le(knee_look(&knee, now_usec, samples, false), 2);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("knee");
	TCase *rise = tcase_create("rise");
	TCase *again = tcase_create("again");

	tcase_add_test(rise, test_it_begins_with_one_and_nothing_is_known);
	tcase_add_test(rise, test_where_more_do_not_help_one_stays_alone);
	tcase_add_test(rise, test_it_stops_where_one_more_brings_less_than_a_tenth);
	tcase_add_test(rise, test_it_stops_before_the_rate_turns_round);
	tcase_add_test(rise, test_two_members_that_are_both_worth_it_are_at_work_after_a_window);
	tcase_add_test(rise, test_the_only_member_is_never_measured_against_another);
	tcase_add_test(rise, test_what_was_found_counts_for_the_next_part_of_the_kind_only);
	tcase_add_test(rise, test_a_part_that_ends_early_goes_on_where_the_last_one_stopped);
	tcase_add_test(rise, test_the_kind_that_was_seen_first_makes_way_when_there_are_too_many);
	tcase_add_test(rise, test_with_another_number_of_members_it_begins_anew);
	tcase_add_test(rise, test_spoiled_windows_say_nothing);
	suite_add_tcase(suite, rise);
	tcase_add_test(again, test_a_machine_that_has_become_better_is_noticed);
	tcase_add_test(again, test_a_machine_that_has_become_worse_is_noticed);
	tcase_add_test(again, test_examining_again_costs_little_where_nothing_has_changed);
	tcase_add_loop_test(
		again, test_memory_that_the_host_took_back_does_not_spoil_the_knee_for_long, 0, 20);
	tcase_add_loop_test(again, test_a_slow_beginning_is_forgotten, 0, 10);
	tcase_add_test(again, test_one_slow_window_decides_nothing);
	tcase_add_test(again, test_numbers_of_any_size_are_fine);
	suite_add_tcase(suite, again);
	return suite_main(suite);
}
