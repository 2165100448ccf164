/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "../../daemon/base/size.h"
#include "brake-world.h"

struct world w;

void brake_world_setup(void)
{
	memset(&w, 0, sizeof(w));
	w.nr_full = NR_FULL;
	w.limit = LIMIT;
	w.slower = 1;
	w.now.at_usec = 1000;
	w.work.kind = 1;
	for (unsigned i = 0; i < NR_PRESSURES; i++)
		w.now.pressure.totals[i].has_host = w.now.pressure.totals[i].has_own = true;
	w.now.pressure.has_busy = true;
}

/* From -1 to 1, the same in every run. */
static double random_part(void)
{
	w.seed = w.seed * 1103515245u + 12345u;
	return (double) (w.seed >> 16 & 0x7fff) / 16383.5 - 1;
}

static unsigned nr_members(void)
{
	unsigned nr = brake_setting(&w.brake).nr_members;

	return nr < w.nr_full ? nr : w.nr_full;
}

static double duty(void)
{
	return 100.0 / (100 + brake_setting(&w.brake).rest_percent);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/*
 * CPU time of a period goes to all by weight, what one side does not want to the other. Who wants
 * more than he gets waits the rest of the time. Return: the CPUs that we get of @wanted.
 */
static double share_cpus(double wanted)
{
	struct pressure_waits *waits = &w.now.pressure.waits;
	double part, got;

	w.others_got = w.computing;
	if (w.nr_cpus == 0)
		return wanted;
	part = w.nr_cpus * w.weight * wanted / (w.weight * wanted + w.computing);
	/* whoever rests is there for a part of the time, and is as strong as anybody then */
	if (wanted < 1)
		part = w.nr_cpus * w.weight / (w.weight + w.computing);
	got = least(wanted, part > w.nr_cpus - w.computing ? part : w.nr_cpus - w.computing);
	w.others_got = least(w.computing, w.nr_cpus - got);
	waits->own_nsec += (uint64_t) ((wanted - got) * PERIOD_USEC * 1000);
	waits->host_nsec +=
		(uint64_t) ((wanted - got + w.computing - w.others_got) * PERIOD_USEC * 1000);
	return got;
}

/* Let one period pass. */
void period(void)
{
	double wanted = nr_members() * duty() + w.foreground;
	double cost, bytes, own_usec, mixed;

	mixed = w.factor;
	w.factor = wanted > BANDWIDTH ? wanted / BANDWIDTH : 1;
	/* where the number of members changed, half of the chunks were done by either */
	mixed = nr_members() == w.last_members || mixed == 0 ? w.factor : (mixed + w.factor) / 2;
	w.last_members = nr_members();
	cost = COST * mixed * w.slower * (1 + w.noise * random_part());
	own_usec = share_cpus(nr_members() * duty()) * PERIOD_USEC;
	bytes = own_usec * 1000 / cost * MIB;
	w.now.at_usec += PERIOD_USEC;
	w.now.own_cpu_usec += (uint64_t) own_usec;
	w.now.pressure.busy_usec +=
		(uint64_t) (own_usec + (w.other_cpus + w.others_got) * PERIOD_USEC);
	for (unsigned i = 0; i < NR_PRESSURES; i++) {
		struct pressure_total *total = &w.now.pressure.totals[i];

		total->own_usec += (uint64_t) (w.own_lost * PERIOD_USEC);
		total->host_usec += (uint64_t) ((w.own_lost + w.lost[i]) * PERIOD_USEC);
	}
	w.work.nr_active = nr_members();
	if (!w.has_no_chunk) {
		w.work.background_bytes += (uint64_t) bytes;
		w.work.background_cpu_nsec += (uint64_t) (own_usec * 1000);
	}
	brake_host_look(&w.host, &w.now);
	brake_look(&w.brake, &w.host, &w.work, w.limit);
}

void periods(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		period();
}

/* Others come who use @cpus CPUs and want @bandwidth. */
void others(double cpus, double bandwidth)
{
	w.other_cpus = cpus;
	w.foreground = bandwidth;
}

void cpus(unsigned nr_cpus, unsigned nr_full, double weight)
{
	w.nr_cpus = nr_cpus;
	w.nr_full = nr_full;
	w.weight = weight;
	w.now.pressure.waits.is_known = true;
	w.now.pressure.waits.nr_cpus = nr_cpus;
	w.now.pressure.waits.nr_own_threads = nr_full + 1;
	for (unsigned i = 0; i <= nr_full; i++)
		w.now.pressure.waits.own_threads[i] = 100 + i;
}

/* Let @nr periods pass. Return: in how many the step rose after a fall, or fell after a rise. */
unsigned nr_turns(unsigned nr)
{
	unsigned turns = 0, step = w.brake.step;
	int way = 0;

	for (unsigned i = 0; i < nr; i++) {
		period();
		if (w.brake.step != step) {
			int now = w.brake.step > step ? 1 : -1;

			turns += way && now != way;
			way = now;
			step = w.brake.step;
		}
	}
	return turns;
}

/* Percent of its own speed that the foreground had over the next @nr periods. */
double foreground_percent(unsigned nr)
{
	double sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		/* what it loses to itself is not ours */
		double alone = w.foreground > BANDWIDTH ? w.foreground / BANDWIDTH : 1;

		period();
		sum += alone / w.factor;
	}
	return 100 * sum / nr;
}

double computing_percent(unsigned nr)
{
	double sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		period();
		sum += w.others_got / least(w.computing, w.nr_cpus);
	}
	return 100 * sum / nr;
}
