/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <numa.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/machine/binding.h"
#include "suite.h"

/* Small machines have no CPU of that id, and cpu_set_t has no room for it. */
#define FAR_CPU 5000

/* What is handed to the kernel (linked with --wrap): it passes over CPUs that it has not. */
int __real_numa_sched_setaffinity(pid_t pid, struct bitmask *mask);
int __wrap_numa_sched_setaffinity(pid_t pid, struct bitmask *mask);

static bool was_far_cpu_asked_for;

int __wrap_numa_sched_setaffinity(pid_t pid, struct bitmask *mask)
{
	was_far_cpu_asked_for = numa_bitmask_isbitset(mask, FAR_CPU);
	return __real_numa_sched_setaffinity(pid, mask);
}

static unsigned first_allowed_cpu(void)
{
	cpu_set_t cpus;
	unsigned cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	return cpu;
}

START_TEST(test_a_thread_runs_on_the_given_cpus_only)
{
	scoped(idset_clear) struct idset one = { 0 };
	unsigned cpu = first_allowed_cpu();
	cpu_set_t cpus;

	ck_assert_int_eq(idset_add(&one, cpu), 0);
	ck_assert_int_eq(binding_run_on(&one), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	ck_assert_int_eq(CPU_COUNT(&cpus), 1);
	ck_assert(CPU_ISSET(cpu, &cpus));
	ck_assert_int_eq(sched_getcpu(), (int) cpu);
}
END_TEST

START_TEST(test_cpus_that_are_gone_do_not_count)
{
	scoped(idset_clear) struct idset set = { 0 };
	unsigned cpu = first_allowed_cpu();
	cpu_set_t cpus;

	ck_assert_int_eq(idset_add(&set, FAR_CPU), 0);
	ck_assert_int_eq(idset_add(&set, cpu), 0);
	ck_assert_int_eq(binding_run_on(&set), 0);
	ck_assert(was_far_cpu_asked_for);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	ck_assert_int_eq(CPU_COUNT(&cpus), 1);
	ck_assert(CPU_ISSET(cpu, &cpus));
}
END_TEST

START_TEST(test_none_usable_is_an_error_and_changes_nothing)
{
	scoped(idset_clear) struct idset set = { 0 };
	cpu_set_t before, after;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(idset_add(&set, FAR_CPU), 0);
	ck_assert_int_eq(binding_run_on(&set), -EINVAL);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

START_TEST(test_an_empty_set_is_left_alone)
{
	scoped(idset_clear) struct idset set = { 0 };
	cpu_set_t before, after;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(binding_run_on(&set), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

/* What a thread found out about itself; asserted by the main thread. */
struct outcome {
	int result_down, policy_down, nice_down;
	int result_up, policy_up, nice_up;
};

static void *go_down_and_up(void *arg)
{
	struct outcome *outcome = arg;

	outcome->result_down = binding_set_priority(BINDING_BACKGROUND);
	outcome->policy_down = sched_getscheduler(0);
	outcome->nice_down = getpriority(PRIO_PROCESS, 0);
	outcome->result_up = binding_set_priority(BINDING_NORMAL);
	outcome->policy_up = sched_getscheduler(0);
	outcome->nice_up = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

static void run_thread(struct outcome *ret)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, go_down_and_up, ret), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(test_background_is_batch_at_nice_19_for_one_thread)
{
	int nice_before = getpriority(PRIO_PROCESS, 0);
	struct outcome outcome = { 0 };

	run_thread(&outcome);
	ck_assert_int_eq(outcome.result_down, 0);
	ck_assert_int_eq(outcome.policy_down, SCHED_BATCH);
	ck_assert_int_eq(outcome.nice_down, 19);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), nice_before);
}
END_TEST

START_TEST(test_normal_is_the_nice_value_of_the_daemon)
{
	struct outcome outcome = { 0 };

	/* The main thread, as Nice= of the unit would have it. */
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 3), 0);
	run_thread(&outcome);
	ck_assert_int_eq(outcome.result_up, 0);
	ck_assert_int_eq(outcome.policy_up, SCHED_OTHER);
	ck_assert_int_eq(outcome.nice_up, 3);
}
END_TEST

START_TEST(test_without_the_right_to_lower_nice_a_thread_stays_in_the_background)
{
	const struct rlimit none = { 0 };
	struct outcome outcome = { 0 };
	uid_t euid = geteuid();

	ck_assert_int_eq(setrlimit(RLIMIT_NICE, &none), 0);
	if (euid == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	run_thread(&outcome);
	ck_assert_int_eq(seteuid(euid), 0);
	ck_assert_int_eq(outcome.result_down, 0);
	ck_assert_int_eq(outcome.result_up, -EPERM);
	ck_assert_int_eq(outcome.policy_up, SCHED_OTHER);
	ck_assert_int_eq(outcome.nice_up, 19);
}
END_TEST

static bool may_raise_priority(void)
{
	struct rlimit limit;

	return geteuid() == 0 || (getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur >= 20);
}

int main(void)
{
	Suite *suite = suite_create("binding");
	TCase *tcase = tcase_create("binding");

	tcase_add_test(tcase, test_a_thread_runs_on_the_given_cpus_only);
	tcase_add_test(tcase, test_cpus_that_are_gone_do_not_count);
	tcase_add_test(tcase, test_none_usable_is_an_error_and_changes_nothing);
	tcase_add_test(tcase, test_an_empty_set_is_left_alone);
	tcase_add_test(tcase, test_background_is_batch_at_nice_19_for_one_thread);
	if (may_raise_priority())
		tcase_add_test(tcase, test_normal_is_the_nice_value_of_the_daemon);
	else
		puts("skipped: test_normal_is_the_nice_value_of_the_daemon needs CAP_SYS_NICE");
	tcase_add_test(tcase,
	               test_without_the_right_to_lower_nice_a_thread_stays_in_the_background);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
