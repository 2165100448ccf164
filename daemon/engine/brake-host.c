/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../base/size.h"
#include "brake.h"

/* What others lost by waiting, as PSI has it. */
static unsigned lost_percent(const struct pressure_total *now, const struct pressure_total *last,
                             uint64_t period_usec)
{
	uint64_t host_usec = bytes_left(now->host_usec, last->host_usec);
	uint64_t own_usec =
		now->has_own && last->has_own ? bytes_left(now->own_usec, last->own_usec) : 0;

	return (unsigned) bytes_min(100,
	                            bytes_mul(bytes_left(host_usec, own_usec), 100) / period_usec);
}

/* @part_usec of both together, rounded up: limits are passed by what is above them. */
static unsigned part_percent(uint64_t part_usec, uint64_t rest_usec)
{
	uint64_t whole_usec = bytes_add(part_usec, rest_usec);

	if (whole_usec == 0)
		return 0;
	return (unsigned) bytes_min(100, bytes_mul(part_usec, 100) / whole_usec +
	                                         (bytes_mul(part_usec, 100) % whole_usec > 0));
}

/* One crew may end in the period in which another one begins. */
static bool is_thread_gone(const struct pressure_waits *now, const struct pressure_waits *last)
{
	for (unsigned i = 0; i < last->nr_own_threads; i++) {
		bool is_there = false;

		for (unsigned k = 0; k < now->nr_own_threads && !is_there; k++)
			is_there = now->own_threads[k] == last->own_threads[i];
		if (!is_there)
			return true;
	}
	return false;
}

/* Counters that go when what they count goes: see pressure.h. */
static bool is_gap(const struct pressure_waits *now, const struct pressure_waits *last)
{
	return now->nr_cpus != last->nr_cpus || is_thread_gone(now, last) ||
	       now->host_nsec < last->host_nsec || now->own_nsec < last->own_nsec;
}

/*
 * What others lost of CPU time, see the head of brake.h. Whoever neither ran nor waited for a tenth
 * of one CPU is not computing, and less than that is within the ticks of /proc/stat.
 */
static void look_at_cpus(struct brake_host *host, const struct brake_sample *sample,
                         uint64_t period_usec)
{
	const struct pressure_sample *now = &sample->pressure, *last = &host->last.pressure;
	uint64_t ran_usec, own_usec, waited_usec;

	host->has_cpu_loss =
		now->has_busy && last->has_busy && now->waits.is_known && last->waits.is_known;
	if (!host->has_cpu_loss)
		return;
	host->is_cpu_loss_unclear = is_gap(&now->waits, &last->waits);
	if (host->is_cpu_loss_unclear)
		return;
	own_usec = bytes_left(sample->own_cpu_usec, host->last.own_cpu_usec);
	ran_usec = bytes_left(bytes_left(now->busy_usec, last->busy_usec), own_usec);
	waited_usec = bytes_left(now->waits.host_nsec - last->waits.host_nsec,
	                         now->waits.own_nsec - last->waits.own_nsec) /
	              1000;
	host->is_loss_of_whole_cpu = bytes_add(ran_usec, waited_usec) >= period_usec;
	if (bytes_add(ran_usec, waited_usec) >= period_usec / 10)
		host->cpu_loss_percent = (unsigned) bytes_min(part_percent(waited_usec, ran_usec),
		                                              part_percent(own_usec, ran_usec));
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
	host->percent = host->cpu_loss_percent = 0;
	host->are_others_busy = host->has_cpu_loss = host->is_cpu_loss_unclear = false;
	host->is_loss_of_whole_cpu = false;
	if (host->is_known)
		look_at_cpus(host, sample, period_usec);
	for (unsigned kind = 0; host->is_known && kind < NR_PRESSURES; kind++) {
		unsigned percent;

		if (kind == PRESSURE_CPU && host->has_cpu_loss)
			percent = host->cpu_loss_percent;
		else if (is_usable(kind, &now->totals[kind], &last->totals[kind]))
			percent =
				lost_percent(&now->totals[kind], &last->totals[kind], period_usec);
		else
			continue;
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
