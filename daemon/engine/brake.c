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

/*
 * Cost against the best, in percent of it. Between good and bad nothing is done. Whoever wants the
 * bandwidth loses as much as we do: once the brake is on, no more than a tenth.
 */
#define COST_GOOD  105
#define COST_BAD   110
#define COST_FIRST 115
#define COST_WORSE 150

/* How fast the best follows what nobody else can have slowed: a part of the difference. */
#define BEST_DRIFT 16

/* What a period says. The worst of several counts. */
enum verdict { VERDICT_GOOD, VERDICT_UNCLEAR, VERDICT_BAD, VERDICT_WORSE };

static unsigned lost_percent(const struct pressure_total *now, const struct pressure_total *last,
                             uint64_t period_usec)
{
	uint64_t host_usec = bytes_left(now->host_usec, last->host_usec);
	uint64_t own_usec =
		now->has_own && last->has_own ? bytes_left(now->own_usec, last->own_usec) : 0;

	return (unsigned) bytes_min(100,
	                            bytes_mul(bytes_left(host_usec, own_usec), 100) / period_usec);
}

/*
 * Our own threads wait for CPUs whenever others use them, at nice 19, and the host's pressure tells
 * of that. Without our own part nobody knows whether others wait, too.
 */
static bool is_usable(enum pressure_kind kind, const struct pressure_total *now,
                      const struct pressure_total *last)
{
	if (kind == PRESSURE_CPU && !(now->has_own && last->has_own))
		return false;
	return now->has_host && last->has_host;
}

void brake_host_look(struct brake_host *host, const struct brake_sample *sample)
{
	const struct pressure_sample *now = &sample->pressure, *last = &host->last.pressure;
	uint64_t period_usec = bytes_left(sample->at_usec, host->last.at_usec);

	host->is_known = host->has_last && period_usec > 0;
	host->percent = 0;
	host->are_others_busy = false;
	for (unsigned kind = 0; host->is_known && kind < NR_PRESSURES; kind++) {
		unsigned percent;

		if (!is_usable(kind, &now->totals[kind], &last->totals[kind]))
			continue;
		percent = lost_percent(&now->totals[kind], &last->totals[kind], period_usec);
		if (percent > host->percent) {
			host->percent = percent;
			host->kind = kind;
		}
	}
	if (host->is_known && now->has_busy && last->has_busy) {
		uint64_t busy_usec = bytes_left(now->busy_usec, last->busy_usec);
		uint64_t own_usec = bytes_left(sample->own_cpu_usec, host->last.own_cpu_usec);

		host->are_others_busy = bytes_left(busy_usec, own_usec) >= period_usec / 10;
	}
	host->last = *sample;
	host->has_last = true;
}

void brake_host_forget(struct brake_host *host)
{
	*host = (struct brake_host){ 0 };
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
static uint64_t best_cost(const struct brake *brake, uint64_t kind, unsigned nr_active)
{
	uint64_t cost = UINT64_MAX;

	for (unsigned i = 0; i < brake->nr_bests; i++)
		if (brake->bests[i].kind == kind && brake->bests[i].nr_active >= nr_active)
			cost = bytes_min(cost, brake->bests[i].best_cost);
	return cost;
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
		.best_cost = UINT64_MAX,
		.last_cost = UINT64_MAX,
	};
	return oldest;
}

/*
 * One lucky period is not the best: it takes two in a row. What is slower while nobody else is
 * there is what the machine gives by now.
 */
static void learn(struct brake *brake, const struct brake_work *work, uint64_t cost,
                  bool are_others_busy)
{
	struct brake_best *best = find_best(brake, work->kind, work->nr_active);
	uint64_t steady_cost = bytes_max(cost, best->last_cost);

	if (steady_cost < best->best_cost)
		best->best_cost = steady_cost;
	else if (!are_others_busy && best->best_cost != UINT64_MAX && cost > best->best_cost &&
	         cost / BRAKE_PLAUSIBLE <= best->best_cost)
		best->best_cost += (cost - best->best_cost) / BEST_DRIFT;
	best->last_cost = cost;
	best->used = ++brake->clock;
}

static enum verdict judge_cost(const struct brake *brake, uint64_t cost, uint64_t best)
{
	uint64_t bad_percent = brake->step > 0 || brake->is_trying ? COST_BAD : COST_FIRST;
	uint64_t percent;

	if (best == UINT64_MAX || cost / BRAKE_PLAUSIBLE > best)
		return VERDICT_GOOD;
	percent = bytes_mul(cost, 100) / bytes_max(best, 1);
	if (percent > COST_WORSE)
		return VERDICT_WORSE;
	if (percent > bad_percent)
		return VERDICT_BAD;
	return percent > COST_GOOD ? VERDICT_UNCLEAR : VERDICT_GOOD;
}

/*
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
	uint64_t cost;

	if (bytes == 0 || work->kind != last->kind)
		return host->are_others_busy ? VERDICT_UNCLEAR : VERDICT_GOOD;
	cost = (uint64_t) ((unsigned __int128) cpu_nsec * MIB / bytes);
	if (last->nr_active > nr_active)
		nr_active = last->nr_active;
	verdict = host->are_others_busy
	                  ? judge_cost(brake, cost, best_cost(brake, work->kind, nr_active))
	                  : VERDICT_GOOD;
	if (last->nr_active == work->nr_active)
		learn(brake, work, cost, host->are_others_busy);
	return verdict;
}

static enum verdict judge_pressure(const struct brake_host *host, unsigned limit_percent)
{
	if (host->percent >= bytes_min(2 * limit_percent, 100) && host->percent > limit_percent)
		return VERDICT_WORSE;
	if (host->percent > limit_percent)
		return VERDICT_BAD;
	return host->percent > limit_percent - limit_percent / 4 ? VERDICT_UNCLEAR : VERDICT_GOOD;
}

static void try_step(struct brake *brake, unsigned step, bool is_unrested)
{
	brake->back_step = brake->step;
	brake->step = step;
	brake->is_trying = true;
	brake->is_unrested = is_unrested;
	brake->nr_tried = brake->nr_good = brake->nr_bad = brake->nr_rested = 0;
}

static unsigned nr_good_wanted(const struct brake *brake)
{
	return brake->nr_good_wanted ? brake->nr_good_wanted : BRAKE_GOOD_MIN;
}

static unsigned nr_rested_wanted(const struct brake *brake)
{
	return brake->nr_rested_wanted ? brake->nr_rested_wanted : BRAKE_REST_MIN;
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

static void go_on(struct brake *brake, const struct brake_work *work, enum verdict verdict,
                  enum brake_reason reason)
{
	unsigned nr_steps = verdict == VERDICT_WORSE ? 2 : 1;
	unsigned last;

	brake->nr_good = 0;
	brake->nr_bad++;
	/* a single period may be noise; pressure is what somebody has lost, whatever the reason */
	if (brake->step == 0 && !brake->is_trying && reason == BRAKE_BANDWIDTH && brake->nr_bad < 2)
		return;
	brake->reason = reason;
	if (brake->is_trying) {
		fail_try(brake);
		return;
	}
	if (brake->step == 0)
		brake->full_members = work->nr_active ? work->nr_active : 1;
	last = last_step(brake, reason);
	if (brake->step < last)
		brake->step = (unsigned) bytes_min(brake->step + nr_steps, last);
	try_unrested(brake);
}

static void let_go(struct brake *brake)
{
	brake->nr_bad = 0;
	brake->nr_good++;
	if (brake->is_trying && ++brake->nr_tried > BRAKE_TRY) {
		brake->is_trying = false;
		brake->nr_good_wanted = brake->nr_rested_wanted = 0;
	}
	if (brake->step > 0 && brake->nr_good >= nr_good_wanted(brake))
		try_step(brake, brake->step - 1, false);
}

void brake_look(struct brake *brake, const struct brake_host *host, const struct brake_work *work,
                unsigned limit_percent)
{
	enum verdict bandwidth, pressure;

	if (limit_percent == 0) {
		brake_release(brake);
		brake_skip(brake);
		return;
	}
	if (host->is_known && brake->has_last) {
		bandwidth = judge_bandwidth(brake, host, work);
		pressure = judge_pressure(host, limit_percent);
		/* chunks that the attempt began end in this period */
		if (brake->is_settling && bandwidth >= VERDICT_BAD)
			bandwidth = VERDICT_UNCLEAR;
		brake->is_settling = false;
		if (pressure >= VERDICT_BAD && pressure >= bandwidth)
			go_on(brake, work, pressure, BRAKE_PRESSURE);
		else if (bandwidth >= VERDICT_BAD)
			go_on(brake, work, bandwidth, BRAKE_BANDWIDTH);
		else if (bandwidth == VERDICT_GOOD && pressure == VERDICT_GOOD)
			let_go(brake);
		else
			brake->nr_bad = 0;
	}
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
	brake->is_trying = brake->is_settling = false;
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
