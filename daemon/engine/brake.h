/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * brake.h - how far the background work of a node is to be held back, by what others lose
 *
 * Layer: engine. Threads: main; pure: time and samples are passed in, nothing is read and nobody
 * is told. A period is the time between two samples, a quarter of a second in the daemon.
 *
 * Three things speak for the brake. The pressure (PSI) of the host less that of our own cgroup:
 * more than the limit, and something else waits. For CPUs, what others lose to us: the part of
 * their time that they waited for one, but no more than our part of the time that all CPUs were
 * used. Of W, the time that they waited, R, the time that they ran, and O, the time that we ran, it
 * is the lesser of W / (W + R) and O / (O + R). Where nice 19 ranks our threads behind theirs O is
 * next to nothing; in a session or a cgroup of its own it does not, and both get the same. Who has
 * CPUs enough does not wait, and who waits for his own threads loses no more of it than we took.
 * PSI, which tells whether anybody waits and not how many, counts for CPUs where that is not known.
 *
 * And, as neither sees memory bandwidth, our own CPU time per byte: when it rises above the best
 * that was seen of the same work with as many members, or more, while others use CPUs, they want
 * the bandwidth too. What was never seen undisturbed cannot be compared. Nobody else's load makes
 * memory more than BRAKE_PLAUSIBLE times slower: that is memory which a hypervisor has to find
 * first.
 *
 * The brake goes on in steps: half of the members, a quarter, … one, then rests of 100, 300, 700
 * and 1500 percent; never to a stand-still. Bandwidth alone does not ask for the last step. It goes
 * back step by step after good periods: where all that counts is good. A bad one is one in which
 * something is bad, in all others nothing is done. A step back is an attempt; the first bad period
 * ends it, takes it back, and makes the next one wait twice as long.
 *
 * The limit says what makes it go on. Once it is on for CPUs, others get nearly all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../machine/pressure.h"
#include "worker.h"

#define BRAKE_GOOD_MIN  2   /* good periods before a step back */
#define BRAKE_GOOD_MAX  64  /* the same, after attempts that failed */
#define BRAKE_TRY       4   /* good periods within which an attempt can still fail */
#define BRAKE_TRY_MAX   40  /* periods after which it is over though it showed nothing */
#define BRAKE_REST_MIN  64  /* not good periods with rests before one is tried without */
#define BRAKE_REST_MAX  512 /* the same, after attempts that failed */
#define BRAKE_BESTS_MAX 32

/*
 * Bandwidth: CPU time a byte against the best, in percent of it. Off, it takes two periods in a row
 * above FIRST; once it is on or tried without, one above BAD. Above WORSE: two steps at once. Up
 * to GOOD is good. Whoever wants the bandwidth loses as much as we do.
 */
#define BRAKE_SLOWER_GOOD  105
#define BRAKE_SLOWER_BAD   110
#define BRAKE_SLOWER_FIRST 115
#define BRAKE_SLOWER_WORSE 150
#define BRAKE_PLAUSIBLE    8 /* times the best; above, it is good */

/*
 * How fast the best follows what nobody else can have slowed, and what an attempt without rests
 * sees that fails when BRAKE_REST_MAX periods were before it: a part of the difference.
 */
#define BRAKE_BEST_DRIFT 16

/*
 * CPU time: what others may go on losing once the brake is on for that, in percent: above BAD a
 * step, up to GOOD is good. Before, and for all other pressure, it is @limit_percent: above it a
 * step, from twice that on two, up to three quarters of it is good. One member with the longest
 * rests takes 6 % of one CPU, 3 % of two.
 *
 * Who loses more than WORST gets hardly more than we do. Then fewer members do not help before
 * there is one, and that one only by long rests: it goes to the last step but one at once, as steps
 * in between would cost others a period each. Of others who ran and waited for less than one CPU's
 * time a single period may be noise: it takes two in a row.
 */
#define BRAKE_CPU_LOSS_GOOD  3
#define BRAKE_CPU_LOSS_BAD   5
#define BRAKE_CPU_LOSS_WORST 40

/* What the host looked like at one moment; all of it counts up. */
struct brake_sample {
	uint64_t at_usec; /* monotonic */
	struct pressure_sample pressure;
	uint64_t own_cpu_usec; /* CPU time of this process */
};

/* The host between the last two samples. All zero is the beginning. */
struct brake_host {
	bool has_last;
	struct brake_sample last;

	bool is_known;           /* there were two, and time passed between them */
	unsigned percent;        /* of the period in which others lost most by waiting */
	enum pressure_kind kind; /* for this */
	bool are_others_busy;    /* at least a tenth of one CPU is used by others */

	bool has_cpu_loss;        /* what others lost of CPU time is counted; else PSI has it */
	bool is_cpu_loss_unclear; /* but not for this period: CPUs or threads of ours have gone */
	unsigned cpu_loss_percent;
	bool is_loss_of_whole_cpu; /* they ran and waited for as long as one CPU has, or longer */
};

/* Take a sample. */
void brake_host_look(struct brake_host *host, const struct brake_sample *sample);

/* The next sample is the first: nobody looked for a while. */
void brake_host_forget(struct brake_host *host);

/* What the node's worker did so far, of worker_status, and how many are at it now. */
struct brake_work {
	unsigned nr_active;
	uint64_t kind; /* the same number: a chunk is the same work */
	uint64_t background_bytes;
	uint64_t background_cpu_nsec;
};

enum brake_reason { BRAKE_NO_REASON, BRAKE_PRESSURE, BRAKE_BANDWIDTH };

/* The least CPU time that a byte took, by kind of work and members. */
struct brake_best {
	uint64_t kind;
	unsigned nr_active;
	uint64_t best_nsec_per_mib; /* UINT64_MAX: seen once */
	uint64_t last_nsec_per_mib;
	uint64_t used; /* for giving up the one that was not seen for longest */
};

/* Embedded by value; all zero: off, and nothing seen. */
struct brake {
	unsigned step;            /* 0: off */
	enum brake_reason reason; /* for the last step that it went on by */
	enum pressure_kind kind;  /* where pressure was above the limit: of what, how much */
	unsigned percent;
	uint64_t bandwidth_kind; /* for this reason: the kind of work that became slower */
	bool is_for_cpus;        /* others had lost more CPU time than the limit */
	unsigned full_members;   /* at work when it went on */

	bool has_last;
	struct brake_work last;

	unsigned nr_bad;  /* periods in a row */
	unsigned nr_good; /* since the last bad one, step or attempt; others in between do not count
	                   */
	unsigned nr_good_wanted; /* 0: BRAKE_GOOD_MIN */
	bool is_trying;          /* a step back was taken a moment ago */
	bool is_unrested;        /* of one member without rests, not of one step */
	unsigned nr_tried;       /* periods since then, of which so many were good */
	unsigned nr_tried_good;
	unsigned back_step; /* where it goes when that was wrong */
	bool is_settling;   /* it was, in the last period */
	bool was_worst;     /* others had lost more than two fifths of their CPU time in it */
	unsigned nr_rested; /* periods with rests that were not good */
	unsigned nr_rested_wanted; /* 0: BRAKE_REST_MIN */

	struct brake_best bests[BRAKE_BESTS_MAX];
	unsigned nr_bests;
	uint64_t clock;
};

/*
 * One period of background work has passed. @limit_percent as BrakePressure=; 0 lets go at once.
 */
void brake_look(struct brake *brake, const struct brake_host *host, const struct brake_work *work,
                unsigned limit_percent);

/* There was other work, or none: the next look is the first. What was seen and the step stay. */
void brake_skip(struct brake *brake);

/* Let go at once. What was seen stays. */
void brake_release(struct brake *brake);

bool brake_is_on(const struct brake *brake);

/* What follows for the worker. */
struct worker_brake brake_setting(const struct brake *brake);
