/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * brake-world.h - a made-up machine for the brake: memory of a given bandwidth that a worker and a
 * foreground share. Whoever wants more of it than there is gets his part, and a byte takes him that
 * much longer. On demand it has a number of CPUs as well, which are shared by weight. One world,
 * one thread.
 */
#pragma once

#include "../../daemon/engine/brake.h"

#define PERIOD_USEC UINT64_C(250000)
#define LIMIT       20
#define COST        40000.0 /* ns a MiB and member, undisturbed */
#define SECONDS(n)  (4 * (n))
#define NR_FULL     8

/* In members' worth of bandwidth: what one asks for that does nothing else. */
#define BANDWIDTH 10.0

struct world {
	struct brake brake;
	struct brake_host host;
	struct brake_sample now;
	struct brake_work work;
	unsigned nr_full;
	unsigned limit;
	double foreground;         /* members' worth of bandwidth that others want */
	double other_cpus;         /* CPUs that others use */
	double slower;             /* times: memory that the hypervisor has to find first */
	double noise;              /* part of the cost, up and down */
	double lost[NR_PRESSURES]; /* part of the time that others lose by waiting */
	double own_lost;           /* the same for us, in all three */
	unsigned seed;
	bool has_no_chunk; /* ended in the next periods */
	double factor;     /* of the last period: times slower than alone */
	unsigned last_members;

	unsigned nr_cpus;  /* 0: more than anybody wants, and nobody knows who waits */
	double computing;  /* threads of others that compute without end */
	double weight;     /* ours against each of theirs */
	double others_got; /* CPUs, of the last period */
};

extern struct world w;

/* Checked fixture of every test: nobody else is there. */
void brake_world_setup(void);

/* Let one period pass, or several. */
void period(void);
void periods(unsigned nr);

/* Others come who use @cpus CPUs and want @bandwidth. */
void others(double cpus, double bandwidth);

/* From now on there are @nr_cpus for @nr_full of our threads of that @weight and others' threads.
 */
void cpus(unsigned nr_cpus, unsigned nr_full, double weight);

/* Let @nr periods pass. Return: in how many the step rose after a fall, or fell after a rise. */
unsigned nr_turns(unsigned nr);

/* Percent of its own speed that the foreground had over the next @nr periods. */
double foreground_percent(unsigned nr);

/* The same of the CPU time that those who compute would have alone. */
double computing_percent(unsigned nr);
