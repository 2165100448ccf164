/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "knee.h"

#define USEC_PER_SEC       UINT64_C(1000000)
#define WINDOW_USEC        4000
#define WINDOW_CHUNKS      2
#define CLEAR_WINDOWS      2 /* so many that agree decide */
#define NOISY_WINDOWS      6 /* so many decide whether they agree or not */
#define BAD_BASES_MAX      2
#define STEADY_WINDOWS     64
#define STEADY_WINDOWS_MAX 1024
#define RECENT_WINDOWS     4 /* the last steady ones are what a trial is compared with */

static struct knee_kind *current_kind(struct knee *knee)
{
	return &knee->kinds[knee->current];
}

static void kind_reset(struct knee_kind *kind, const struct knee_key *key, unsigned nr_members_max)
{
	*kind = (struct knee_kind){
		.key = *key,
		.mode = KNEE_BASE,
		.nr_members_max = nr_members_max,
		.nr_active = 1,
		.base = 1,
		.nr_steady_windows = STEADY_WINDOWS,
	};
}

static void kind_forget_windows(struct knee_kind *kind)
{
	kind->nr_windows = 0;
	kind->best_rate = 0;
	kind->worst_rate = UINT64_MAX;
}

static void kind_enter(struct knee_kind *kind, enum knee_mode mode)
{
	kind->mode = mode;
	kind->nr_active = kind->base;
	if (mode == KNEE_TRIAL)
		kind->nr_active = kind->is_downwards ? kind->base - 1 : kind->base + 1;
	kind_forget_windows(kind);
}

/* From a base that is measured: on in the direction of the trials as far as it goes. */
static void kind_try(struct knee_kind *kind)
{
	bool is_last = kind->is_downwards ? kind->base == 1 : kind->base == kind->nr_members_max;

	if (is_last)
		kind->is_found = true;
	kind_enter(kind, is_last ? KNEE_STEADY : KNEE_TRIAL);
}

/* By a tenth. */
static bool is_grown(uint64_t from_rate, uint64_t to_rate)
{
	return (unsigned __int128) to_rate * 10 >= (unsigned __int128) from_rate * 11;
}

/* More than a member can have brought about by coming or going, with a quarter to spare. */
static bool is_base_bad(const struct knee_kind *kind)
{
	unsigned more = kind->is_downwards ? kind->base : kind->base + 1;

	return (unsigned __int128) kind->best_rate * 4 * (more - 1) >
	       (unsigned __int128) kind->base_rate * 5 * more;
}

/* The windows with this number say what it is good for. */
static bool is_clear(const struct knee_kind *kind)
{
	return kind->nr_windows >= NOISY_WINDOWS ||
	       (kind->nr_windows >= CLEAR_WINDOWS && kind->best_rate / 3 <= kind->worst_rate / 2);
}

static void kind_accept(struct knee_kind *kind)
{
	kind->base = kind->nr_active;
	kind->base_rate = kind->best_rate;
	kind->nr_bad_bases = 0;
	kind->nr_steady_windows = STEADY_WINDOWS;
	kind->has_moved = true;
	kind_try(kind);
}

static void kind_refuse(struct knee_kind *kind)
{
	/* Found before, so it is examined again: what does not grow may do as well with less. */
	if (kind->is_found && !kind->is_downwards && !kind->has_moved) {
		kind->is_downwards = true;
		kind->nr_bad_bases = 0;
		kind_try(kind);
		return;
	}
	kind->is_found = true;
	kind_enter(kind, KNEE_STEADY);
}

static void kind_judge_trial(struct knee_kind *kind)
{
	if (kind->nr_bad_bases < BAD_BASES_MAX && is_base_bad(kind)) {
		kind->nr_bad_bases++;
		kind_enter(kind, KNEE_BASE);
		return;
	}
	if (kind->is_downwards) {
		if (!is_clear(kind))
			return;
		if (is_grown(kind->best_rate, kind->base_rate))
			kind_refuse(kind);
		else
			kind_accept(kind);
	} else if (is_grown(kind->base_rate, kind->best_rate)) {
		kind_accept(kind);
	} else if (is_clear(kind)) {
		kind_refuse(kind);
	}
}

static void kind_count_steady(struct knee_kind *kind)
{
	/* A rate of long ago is no measure for one of now. */
	if (kind->nr_windows + RECENT_WINDOWS == kind->nr_steady_windows)
		kind->best_rate = 0;
	if (kind->nr_windows < kind->nr_steady_windows)
		return;
	kind->base_rate = kind->best_rate;
	kind->nr_bad_bases = 0;
	if (kind->nr_steady_windows < STEADY_WINDOWS_MAX)
		kind->nr_steady_windows *= 2;
	kind->has_moved = false;
	kind->is_downwards = kind->base == kind->nr_members_max;
	kind_try(kind);
}

static void kind_add_window(struct knee_kind *kind, uint64_t rate)
{
	kind->nr_windows++;
	if (rate > kind->best_rate)
		kind->best_rate = rate;
	if (rate < kind->worst_rate)
		kind->worst_rate = rate;
	switch (kind->mode) {
	case KNEE_BASE:
		if (rate > kind->base_rate)
			kind->base_rate = rate;
		kind_try(kind);
		return;
	case KNEE_TRIAL:
		kind_judge_trial(kind);
		return;
	case KNEE_STEADY:
		kind_count_steady(kind);
		return;
	}
}

static bool have_all_done(const struct knee *knee, unsigned nr_active,
                          const struct knee_sample *samples, uint64_t nr_chunks)
{
	for (unsigned i = 0; i < nr_active; i++) {
		if (samples[i].nr_chunks - knee->starts[i].nr_chunks < nr_chunks)
			return false;
	}
	return true;
}

static uint64_t window_rate(const struct knee *knee, unsigned nr_active,
                            const struct knee_sample *samples)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < nr_active; i++) {
		uint64_t bytes = samples[i].bytes - knee->starts[i].bytes;
		uint64_t usec = samples[i].busy_usec - knee->starts[i].busy_usec;
		unsigned __int128 rate =
			(unsigned __int128) bytes * USEC_PER_SEC / (usec > 0 ? usec : 1);

		sum = rate > UINT64_MAX - sum ? UINT64_MAX : sum + (uint64_t) rate;
	}
	return sum;
}

static void window_begin(struct knee *knee, uint64_t now_usec, const struct knee_sample *samples,
                         bool is_settling)
{
	knee->is_settling = is_settling;
	knee->start_usec = now_usec;
	memcpy(knee->starts, samples, knee->nr_members_max * sizeof(*samples));
}

void knee_set_members(struct knee *knee, unsigned nr_members_max)
{
	knee->nr_members_max =
		nr_members_max < KNEE_MEMBERS_MAX ? nr_members_max : KNEE_MEMBERS_MAX;
}

static bool is_key_equal(const struct knee_key *a, const struct knee_key *b)
{
	return a->ops == b->ops && a->page == b->page && a->page_bytes == b->page_bytes;
}

static unsigned find_kind(struct knee *knee, const struct knee_key *key)
{
	unsigned i;

	for (i = 0; i < KNEE_KINDS_MAX; i++) {
		if (is_key_equal(&knee->kinds[i].key, key))
			return i;
	}
	i = knee->next;
	knee->next = (i + 1) % KNEE_KINDS_MAX;
	knee->kinds[i].nr_members_max = 0;
	return i;
}

unsigned knee_begin(struct knee *knee, const struct knee_key *key, uint64_t now_usec,
                    const struct knee_sample *samples)
{
	unsigned i = find_kind(knee, key);
	struct knee_kind *kind = &knee->kinds[i];
	bool is_new = kind->nr_members_max != knee->nr_members_max;

	if (is_new)
		kind_reset(kind, key, knee->nr_members_max);
	/* A window goes on from one part to the next of its kind. */
	if (is_new || i != knee->current)
		window_begin(knee, now_usec, samples, false);
	knee->current = i;
	return kind->nr_active;
}

unsigned knee_look(struct knee *knee, uint64_t now_usec, const struct knee_sample *samples,
                   bool is_spoiled)
{
	struct knee_kind *kind = current_kind(knee);
	unsigned nr_active = kind->nr_active;

	if (is_spoiled) {
		window_begin(knee, now_usec, samples, true);
	} else if (knee->is_settling) {
		if (have_all_done(knee, nr_active, samples, 1))
			window_begin(knee, now_usec, samples, false);
	} else if (now_usec - knee->start_usec >= WINDOW_USEC &&
	           have_all_done(knee, nr_active, samples, WINDOW_CHUNKS)) {
		kind_add_window(kind, window_rate(knee, nr_active, samples));
		window_begin(knee, now_usec, samples, kind->nr_active != nr_active);
	}
	return kind->nr_active;
}

unsigned knee_found(const struct knee *knee)
{
	const struct knee_kind *kind = &knee->kinds[knee->current];

	return kind->is_found ? kind->base : 0;
}
