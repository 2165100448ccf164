/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "../base/scoped.h"
#include "../base/size.h"
#include "brake.h"

/* Of the time that a chunk took; what follows after one member is left. */
static const unsigned rests_percent[] = { 100, 300, 700, 1500 };

/*
 * One member that rests 700 % takes an eighth of what a thread can: 3 GiB/s where 89 were measured.
 * Less would not be missed by anybody, and the work has to end.
 */
#define NR_BANDWIDTH_RESTS 3

/* What a period says. The worst of several counts. */
enum verdict { VERDICT_GOOD, VERDICT_UNCLEAR, VERDICT_BAD, VERDICT_WORSE, VERDICT_WORST };

static unsigned nr_rested_wanted(const struct brake *brake)
{
	return brake->nr_rested_wanted ? brake->nr_rested_wanted : BRAKE_REST_MIN;
}

/* Halvings until one member is left. */
static unsigned nr_halvings(const struct brake *brake)
{
	return brake->full_members > 1 ? (unsigned) (31 - __builtin_clz(brake->full_members)) : 0;
}

static unsigned last_step(const struct brake *brake, enum brake_reason reason)
{
	return nr_halvings(brake) + (reason == BRAKE_BANDWIDTH
	                                     ? NR_BANDWIDTH_RESTS
	                                     : (unsigned) ELEMENTS(rests_percent));
}

/* The best of the same work that was seen with as many members or more: fewer are never slower. */
static uint64_t least_nsec_per_mib(const struct brake *brake, uint64_t kind, unsigned nr_active)
{
	uint64_t nsec_per_mib = UINT64_MAX;

	for (unsigned i = 0; i < brake->nr_bests; i++)
		if (brake->bests[i].kind == kind && brake->bests[i].nr_active >= nr_active)
			nsec_per_mib = bytes_min(nsec_per_mib, brake->bests[i].best_nsec_per_mib);
	return nsec_per_mib;
}

static struct brake_best *find_best(struct brake *brake, uint64_t kind, unsigned nr_active)
{
	struct brake_best *oldest = NULL;

	for (unsigned i = 0; i < brake->nr_bests; i++) {
		struct brake_best *best = &brake->bests[i];

		if (best->kind == kind && best->nr_active == nr_active)
			return best;
		if (!oldest || best->used < oldest->used)
			oldest = best;
	}
	if (brake->nr_bests < BRAKE_BESTS_MAX)
		oldest = &brake->bests[brake->nr_bests++];
	*oldest = (struct brake_best){
		.kind = kind,
		.nr_active = nr_active,
		.best_nsec_per_mib = UINT64_MAX,
		.last_nsec_per_mib = UINT64_MAX,
	};
	return oldest;
}

/*
 * One lucky period is not the best: it takes two in a row. What is slower while nobody else is
 * there is what the machine gives by now.
 */
static void learn(struct brake *brake, const struct brake_work *work, uint64_t nsec_per_mib,
                  bool are_others_busy)
{
	struct brake_best *best = find_best(brake, work->kind, work->nr_active);
	uint64_t steady_nsec_per_mib = bytes_max(nsec_per_mib, best->last_nsec_per_mib);

	if (steady_nsec_per_mib < best->best_nsec_per_mib)
		best->best_nsec_per_mib = steady_nsec_per_mib;
	else if (!are_others_busy && best->best_nsec_per_mib != UINT64_MAX &&
	         nsec_per_mib > best->best_nsec_per_mib &&
	         nsec_per_mib / BRAKE_PLAUSIBLE <= best->best_nsec_per_mib)
		best->best_nsec_per_mib +=
			(nsec_per_mib - best->best_nsec_per_mib) / BRAKE_BEST_DRIFT;
	best->last_nsec_per_mib = nsec_per_mib;
	best->used = ++brake->clock;
}

/*
 * The attempt without rests at hand fails, as all before it for long: either others want the
 * bandwidth without end, or the best is of a machine that nobody else warmed, whose clock was
 * higher. From here that looks the same. One member is not what they lose much by: what more of
 * them take is held against what this one took.
 */
static void doubt_best(struct brake *brake, uint64_t kind, uint64_t nsec_per_mib)
{
	for (unsigned i = 0; i < brake->nr_bests; i++) {
		uint64_t *best_nsec_per_mib = &brake->bests[i].best_nsec_per_mib;
		uint64_t more_nsec = bytes_left(nsec_per_mib, *best_nsec_per_mib);

		if (brake->bests[i].kind != kind)
			continue;
		/* the last part at once: what is neither good nor bad would not be tried any more
		 */
		if (more_nsec > *best_nsec_per_mib / 100 * (BRAKE_SLOWER_FIRST - 100))
			more_nsec /= BRAKE_BEST_DRIFT;
		*best_nsec_per_mib += more_nsec;
	}
}

static enum verdict judge_cost(const struct brake *brake, uint64_t nsec_per_mib,
                               uint64_t best_nsec_per_mib)
{
	uint64_t bad_percent =
		brake->step > 0 || brake->is_trying ? BRAKE_SLOWER_BAD : BRAKE_SLOWER_FIRST;
	uint64_t percent;

	if (best_nsec_per_mib == UINT64_MAX || nsec_per_mib / BRAKE_PLAUSIBLE > best_nsec_per_mib)
		return VERDICT_GOOD;
	percent = bytes_mul(nsec_per_mib, 100) / bytes_max(best_nsec_per_mib, 1);
	if (percent > BRAKE_SLOWER_WORSE)
		return VERDICT_WORSE;
	if (percent > bad_percent)
		return VERDICT_BAD;
	return percent > BRAKE_SLOWER_GOOD ? VERDICT_UNCLEAR : VERDICT_GOOD;
}

/* Whether it is on for the bandwidth of the work at hand, an attempt to let go included. */
static bool is_on_for_bandwidth_of(const struct brake *brake, uint64_t kind)
{
	return brake->reason == BRAKE_BANDWIDTH && brake->bandwidth_kind == kind &&
	       (brake->step > 0 || brake->is_trying);
}

/*
 * A period in which nothing was brought says nothing of the bandwidth. Work that never brings
 * anything, or other work than it went on for, is not held by it.
 *
 * In a period in which the number of members changed, both took part: the best of the larger is
 * what such a period can be held against, and nothing is learned of it.
 */
static enum verdict judge_bandwidth(struct brake *brake, const struct brake_host *host,
                                    const struct brake_work *work)
{
	const struct brake_work *last = &brake->last;
	unsigned nr_active = work->nr_active;
	uint64_t bytes = bytes_left(work->background_bytes, last->background_bytes);
	uint64_t cpu_nsec = bytes_left(work->background_cpu_nsec, last->background_cpu_nsec);
	enum verdict verdict;
	uint64_t nsec_per_mib;

	if (bytes == 0 || work->kind != last->kind)
		return host->are_others_busy && is_on_for_bandwidth_of(brake, work->kind)
		               ? VERDICT_UNCLEAR
		               : VERDICT_GOOD;
	nsec_per_mib = (uint64_t) ((unsigned __int128) cpu_nsec * MIB / bytes);
	if (last->nr_active > nr_active)
		nr_active = last->nr_active;
	verdict = host->are_others_busy
	                  ? judge_cost(brake, nsec_per_mib,
	                               least_nsec_per_mib(brake, work->kind, nr_active))
	                  : VERDICT_GOOD;
	if (brake->is_trying && brake->is_unrested && verdict >= VERDICT_BAD &&
	    nr_rested_wanted(brake) == BRAKE_REST_MAX)
		doubt_best(brake, work->kind, nsec_per_mib);
	if (last->nr_active == work->nr_active)
		learn(brake, work, nsec_per_mib, host->are_others_busy);
	return verdict;
}

static unsigned good_percent(unsigned limit_percent)
{
	return limit_percent - limit_percent / 4;
}

static enum verdict judge_pressure(const struct brake_host *host, unsigned limit_percent)
{
	if (host->percent >= bytes_min(2 * limit_percent, 100) && host->percent > limit_percent)
		return VERDICT_WORSE;
	if (host->percent > limit_percent)
		return VERDICT_BAD;
	return host->percent > good_percent(limit_percent) ? VERDICT_UNCLEAR : VERDICT_GOOD;
}

/* Until the last attempt to let go has gone well. */
static bool is_on_for_cpus(const struct brake *brake)
{
	return brake->is_for_cpus && (brake->step > 0 || brake->is_trying);
}

static bool is_worst_loss(const struct brake_host *host, unsigned limit_percent)
{
	return host->cpu_loss_percent > bytes_max(limit_percent, BRAKE_CPU_LOSS_WORST);
}

/*
 * What judge_pressure() does not know: that CPU time is counted, and what for the brake is on. The
 * limit, where it is less than what others may go on losing, is left to it.
 */
static enum verdict judge_cpus(const struct brake *brake, const struct brake_host *host,
                               unsigned limit_percent)
{
	unsigned bad_percent = limit_percent, low_percent = good_percent(limit_percent);

	if (!host->has_cpu_loss)
		return VERDICT_GOOD;
	if (host->is_cpu_loss_unclear)
		return VERDICT_UNCLEAR;
	if (is_worst_loss(host, limit_percent) && (host->is_loss_of_whole_cpu || brake->was_worst))
		return VERDICT_WORST;
	if (is_on_for_cpus(brake)) {
		bad_percent = BRAKE_CPU_LOSS_BAD;
		low_percent = BRAKE_CPU_LOSS_GOOD;
	}
	if (host->cpu_loss_percent > bad_percent)
		return VERDICT_BAD;
	return host->cpu_loss_percent > low_percent ? VERDICT_UNCLEAR : VERDICT_GOOD;
}

static void try_step(struct brake *brake, unsigned step, bool is_unrested)
{
	brake->back_step = brake->step;
	brake->step = step;
	brake->is_trying = true;
	brake->is_unrested = is_unrested;
	brake->nr_tried = brake->nr_tried_good = 0;
	brake->nr_good = brake->nr_bad = brake->nr_rested = 0;
}

static unsigned nr_good_wanted(const struct brake *brake)
{
	return brake->nr_good_wanted ? brake->nr_good_wanted : BRAKE_GOOD_MIN;
}

static void fail_try(struct brake *brake)
{
	brake->step = brake->back_step;
	brake->is_trying = false;
	brake->is_settling = true;
	if (brake->is_unrested)
		brake->nr_rested_wanted =
			(unsigned) bytes_min(2 * nr_rested_wanted(brake), BRAKE_REST_MAX);
	else
		brake->nr_good_wanted =
			(unsigned) bytes_min(2 * nr_good_wanted(brake), BRAKE_GOOD_MAX);
}

/*
 * A CPU that rests may clock down, and its time per byte then says nothing of others: now and then
 * one member works without rests for a moment.
 */
static void try_unrested(struct brake *brake)
{
	if (brake->reason == BRAKE_BANDWIDTH && brake->step > nr_halvings(brake) &&
	    ++brake->nr_rested >= nr_rested_wanted(brake))
		try_step(brake, nr_halvings(brake), true);
}

static unsigned next_step(const struct brake *brake, enum verdict verdict, unsigned last)
{
	unsigned step = brake->step + (verdict >= VERDICT_WORSE ? 2 : 1);

	if (verdict == VERDICT_WORST && step < last - 1)
		step = last - 1;
	return (unsigned) bytes_min(step, last);
}

static void go_on(struct brake *brake, const struct brake_work *work, enum verdict verdict,
                  enum brake_reason reason)
{
	unsigned last;

	brake->nr_good = 0;
	brake->nr_bad++;
	/* a single period may be noise; pressure is what somebody has lost, whatever the reason */
	if (brake->step == 0 && !brake->is_trying && reason == BRAKE_BANDWIDTH && brake->nr_bad < 2)
		return;
	brake->reason = reason;
	brake->bandwidth_kind = reason == BRAKE_BANDWIDTH ? work->kind : 0;
	if (brake->is_trying) {
		fail_try(brake);
		return;
	}
	if (brake->step == 0)
		brake->full_members = work->nr_active ? work->nr_active : 1;
	last = last_step(brake, reason);
	if (brake->step < last)
		brake->step = next_step(brake, verdict, last);
	try_unrested(brake);
}

static void let_go(struct brake *brake)
{
	brake->nr_bad = 0;
	brake->nr_good++;
	if (brake->is_trying && ++brake->nr_tried_good > BRAKE_TRY) {
		brake->is_trying = false;
		brake->nr_good_wanted = brake->nr_rested_wanted = 0;
	}
	if (brake->step > 0 && brake->nr_good >= nr_good_wanted(brake))
		try_step(brake, brake->step - 1, false);
	if (brake->step == 0 && !brake->is_trying)
		brake->is_for_cpus = false;
}

/* Neither good nor bad. What an attempt did not show after a while, it does not show. */
static void stay(struct brake *brake)
{
	brake->nr_bad = 0;
	if (brake->is_trying && brake->nr_tried >= BRAKE_TRY_MAX)
		brake->is_trying = false;
	try_unrested(brake);
	if (brake->step == 0 && !brake->is_trying)
		brake->is_for_cpus = false;
}

static enum verdict worse(enum verdict a, enum verdict b)
{
	return a > b ? a : b;
}

/* One period, after which there is something to judge by. */
static void judge(struct brake *brake, const struct brake_host *host, const struct brake_work *work,
                  unsigned limit_percent)
{
	enum verdict bandwidth = judge_bandwidth(brake, host, work);
	enum verdict cpus = judge_cpus(brake, host, limit_percent);
	enum verdict pressure = judge_pressure(host, limit_percent);

	brake->nr_tried += brake->is_trying;
	/* chunks that the attempt began end in this period */
	if (brake->is_settling && bandwidth >= VERDICT_BAD)
		bandwidth = VERDICT_UNCLEAR;
	if (brake->is_settling && cpus >= VERDICT_BAD)
		cpus = VERDICT_UNCLEAR;
	brake->was_worst = is_worst_loss(host, limit_percent);
	brake->is_settling = false;
	if (pressure >= VERDICT_BAD) {
		brake->kind = host->kind;
		brake->percent = host->percent;
	}
	if (cpus >= VERDICT_BAD)
		brake->is_for_cpus = true;
	pressure = worse(pressure, cpus);
	if (pressure >= VERDICT_BAD && pressure >= bandwidth)
		go_on(brake, work, pressure, BRAKE_PRESSURE);
	else if (bandwidth >= VERDICT_BAD)
		go_on(brake, work, bandwidth, BRAKE_BANDWIDTH);
	else if (bandwidth == VERDICT_GOOD && pressure == VERDICT_GOOD)
		let_go(brake);
	else
		stay(brake);
}

void brake_look(struct brake *brake, const struct brake_host *host, const struct brake_work *work,
                unsigned limit_percent)
{
	if (limit_percent == 0) {
		brake_release(brake);
		brake_skip(brake);
		return;
	}
	if (host->is_known && brake->has_last)
		judge(brake, host, work, limit_percent);
	else
		brake->was_worst = false;
	brake->last = *work;
	brake->has_last = true;
}

void brake_skip(struct brake *brake)
{
	brake->has_last = false;
}

void brake_release(struct brake *brake)
{
	brake->step = 0;
	brake->reason = BRAKE_NO_REASON;
	brake->nr_bad = brake->nr_good = brake->nr_rested = 0;
	brake->nr_good_wanted = brake->nr_rested_wanted = 0;
	brake->is_trying = brake->is_settling = brake->is_for_cpus = brake->was_worst = false;
}

bool brake_is_on(const struct brake *brake)
{
	/* the only member that is tried without rests is off for a moment, and nobody is told */
	return brake->step > 0 || (brake->is_trying && brake->is_unrested);
}

struct worker_brake brake_setting(const struct brake *brake)
{
	unsigned halvings = nr_halvings(brake);
	struct worker_brake setting = { .nr_members = UINT_MAX };

	if (brake->step == 0)
		return setting;
	setting.nr_members = 1;
	if (brake->step <= halvings)
		setting.nr_members = brake->full_members >> brake->step;
	else
		setting.rest_percent = rests_percent[brake->step - halvings - 1];
	return setting;
}
