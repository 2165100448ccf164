/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../daemon/base/idmap.h"
#include "fake-regions.h"

enum place_state { PLACE_FREE, PLACE_FILLING, PLACE_READY, PLACE_LENT, PLACE_SPENT };

struct place {
	enum place_state state;
	uint64_t id;
	uint64_t bytes;
	int fd;
	bool is_abandoned;
	bool is_aside;     /* goes with its region */
	bool is_made_told; /* or nobody wants to know */
	bool is_ready_told;
};

#define GONE_MAX 256

struct fake_share {
	struct share share;
	struct place *places;
	size_t nr_places;
	struct region_news gone[GONE_MAX]; /* that are to be told */
	size_t nr_gone;
	bool keeps_memory;
};

struct piece {
	uint64_t id;
	int nr_users;
	struct fake_memory_state state;
};

static struct {
	_Atomic uint64_t last_id;
	struct kind_context context;
	struct piece *pieces;
	size_t nr_pieces;
	size_t pieces_max;
	struct idmap by_id;    /* -> piece */
	struct idmap by_inode; /* -> piece */
	int open_error, adopt_error, probe_error, discard_error;
	unsigned nr_open_errors, nr_adopt_errors;
	unsigned nr_steps_left;
	bool has_ended;
	bool is_fd_mute;
} fake;

void fake_regions_reset(void)
{
	free(fake.pieces);
	idmap_clear(&fake.by_id);
	idmap_clear(&fake.by_inode);
	fake = (__typeof__(fake)){ .nr_steps_left = UINT_MAX };
	fake.context.last_region_id = &fake.last_id;
	fake.context.memory = &fake_memory;
}

void fake_regions_set_kernel(struct kernel *kernel)
{
	fake.context.kernel = kernel;
}

void fake_regions_set_last_id(uint64_t id)
{
	atomic_store(&fake.last_id, id);
}

void fake_regions_fail_open(int error, unsigned nr_times)
{
	fake.open_error = error;
	fake.nr_open_errors = nr_times;
}

void fake_regions_fail_adopt(int error, unsigned nr_times)
{
	fake.adopt_error = error;
	fake.nr_adopt_errors = nr_times;
}

void fake_regions_mute_fd(bool is_mute)
{
	fake.is_fd_mute = is_mute;
}

void fake_end_after(unsigned nr)
{
	fake.nr_steps_left = nr;
	fake.has_ended = false;
}

bool fake_step(void)
{
	if (fake.nr_steps_left == 0)
		fake.has_ended = true;
	else if (fake.nr_steps_left != UINT_MAX)
		fake.nr_steps_left--;
	return !fake.has_ended;
}

bool fake_has_ended(void)
{
	return fake.has_ended;
}

/* --- memory --- */

static uint64_t inode_of(int fd)
{
	struct stat st;

	must(fstat(fd, &st) == 0);
	return st.st_ino;
}

static struct piece *piece_of_fd(int fd)
{
	uint64_t at;

	must(idmap_get(&fake.by_inode, inode_of(fd), &at));
	return &fake.pieces[at];
}

static struct piece *piece_of_id(uint64_t id)
{
	uint64_t at;

	must(idmap_get(&fake.by_id, id, &at));
	return &fake.pieces[at];
}

static int piece_make(uint64_t id)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	must(fd >= 0);
	if (fake.nr_pieces == fake.pieces_max) {
		fake.pieces_max = fake.pieces_max ? 2 * fake.pieces_max : 64;
		fake.pieces = reallocarray(fake.pieces, fake.pieces_max, sizeof(*fake.pieces));
		must(fake.pieces);
	}
	/* What never got as far as the record may be given again; but not what somebody has had. */
	must(!idmap_get(&fake.by_id, id, NULL) || !piece_of_id(id)->state.was_lent);
	must(idmap_put(&fake.by_id, id, fake.nr_pieces) == 0);
	must(idmap_put(&fake.by_inode, inode_of(fd), fake.nr_pieces) == 0);
	fake.pieces[fake.nr_pieces++] = (struct piece){ .id = id, .state.exists = true };
	return fd;
}

static void fake_memory_destroy(struct memory *memory)
{
	if (memory->fd < 0)
		return;
	if (fake_step())
		piece_of_fd(memory->fd)->state.exists = false;
	memory->fd = fd_close(memory->fd);
}

static void fake_memory_release(struct memory *memory)
{
	memory->fd = fd_close(memory->fd);
}

static int probe(struct piece *piece)
{
	piece->state.nr_probes++;
	return fake.probe_error ? -fake.probe_error : piece->nr_users > 0;
}

static int fake_memory_is_in_use(const struct memory *memory)
{
	return probe(piece_of_fd(memory->fd));
}

static int fake_memory_discard(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	struct piece *piece = piece_of_fd(memory->fd);

	if (fake.discard_error)
		return -fake.discard_error;
	must(bytes > 0);
	must(offset_bytes % memory->page_bytes == 0);
	must(bytes % memory->page_bytes == 0);
	must(offset_bytes + bytes <= memory->bytes);
	if (!fake_step())
		return 0;
	/* Without a gap; what an earlier process had begun with is done once more. */
	must(piece->state.discarded_bytes >= offset_bytes);
	if (piece->state.discarded_bytes < offset_bytes + bytes)
		piece->state.discarded_bytes = offset_bytes + bytes;
	return 0;
}

const struct memory_ops fake_memory = {
	.destroy = fake_memory_destroy,
	.release = fake_memory_release,
	.is_in_use = fake_memory_is_in_use,
	.discard = fake_memory_discard,
};

void fake_memory_use(uint64_t id, int more)
{
	struct piece *piece = piece_of_id(id);

	piece->nr_users += more;
	must(piece->nr_users >= 0);
}

void fake_memory_fail_probe(int error)
{
	fake.probe_error = error;
}

void fake_memory_fail_discard(int error)
{
	fake.discard_error = error;
}

void fake_memory_look(uint64_t id, struct fake_memory_state *ret)
{
	*ret = piece_of_id(id)->state;
}

size_t fake_memory_nr(void)
{
	size_t nr = 0;

	for (size_t i = 0; i < fake.nr_pieces; i++)
		nr += fake.pieces[i].state.exists;
	return nr;
}

/* --- shares --- */

struct share *fake_share_new(unsigned node_id, enum plan_page page, uint64_t page_bytes,
                             uint64_t region_bytes, size_t nr_regions)
{
	struct fake_share *fake_share = calloc(1, sizeof(*fake_share));

	must(fake_share);
	fake_share->share.context = &fake.context;
	fake_share->share.node_id = node_id;
	fake_share->share.page = page;
	fake_share->share.page_bytes = page_bytes;
	fake_share->share.region_bytes = region_bytes;
	fake_share->places = calloc(nr_regions + 1, sizeof(*fake_share->places));
	must(fake_share->places);
	fake_share->nr_places = nr_regions;
	for (size_t i = 0; i < nr_regions; i++) {
		fake_share->places[i].bytes = region_bytes;
		fake_share->places[i].fd = -1;
	}
	return &fake_share->share;
}

static struct fake_share *fake_of(const struct share *share)
{
	return (struct fake_share *) share;
}

static struct place *find_state(struct share *share, enum place_state state)
{
	struct fake_share *fake_share = fake_of(share);

	for (size_t i = 0; i < fake_share->nr_places; i++)
		if (fake_share->places[i].state == state)
			return &fake_share->places[i];
	return NULL;
}

static struct place *find_lent(struct share *share, uint64_t id)
{
	struct fake_share *fake_share = fake_of(share);

	for (size_t i = 0; i < fake_share->nr_places; i++)
		if (fake_share->places[i].state == PLACE_LENT && fake_share->places[i].id == id)
			return &fake_share->places[i];
	return NULL;
}

static void empty(struct fake_share *fake_share, struct place *place)
{
	if (fake_step() && !place->is_abandoned)
		piece_of_fd(place->fd)->state.exists = false;
	if (place->is_made_told) {
		must(fake_share->nr_gone < GONE_MAX);
		fake_share->gone[fake_share->nr_gone++] =
			(struct region_news){ REGION_IS_GONE, place->id, place->bytes, -1 };
	}
	place->fd = fd_close(place->fd);
	place->state = PLACE_FREE;
	place->id = 0;
	place->is_abandoned = place->is_made_told = place->is_ready_told = false;
	if (place->is_aside)
		*place = fake_share->places[--fake_share->nr_places];
}

struct share *fake_share_free(struct share *share)
{
	struct fake_share *fake_share = fake_of(share);

	if (!share)
		return NULL;
	for (size_t i = 0; i < fake_share->nr_places; i++) {
		struct place *place = &fake_share->places[i];

		if (place->fd >= 0 && !fake_share->keeps_memory && !place->is_abandoned &&
		    fake_step())
			piece_of_fd(place->fd)->state.exists = false;
		place->fd = fd_close(place->fd);
	}
	free(fake_share->places);
	free(fake_share);
	return NULL;
}

uint64_t fake_share_make(struct share *share)
{
	struct place *place = find_state(share, PLACE_FREE);

	if (!place)
		return 0;
	place->id = atomic_fetch_add(&fake.last_id, 1) + 1;
	place->fd = piece_make(place->id);
	place->state = PLACE_FILLING;
	return place->id;
}

uint64_t fake_share_fill(struct share *share)
{
	struct place *place = find_state(share, PLACE_FILLING);

	if (!place)
		return 0;
	place->state = PLACE_READY;
	return place->id;
}

uint64_t fake_share_destroy(struct share *share)
{
	struct place *place = find_state(share, PLACE_SPENT);
	uint64_t id;

	if (!place)
		return 0;
	id = place->id;
	empty(fake_of(share), place);
	return id;
}

uint64_t fake_share_shrink(struct share *share)
{
	struct fake_share *fake_share = fake_of(share);
	struct place *place = find_state(share, PLACE_READY);
	uint64_t id;

	if (!place)
		return 0;
	id = place->id;
	empty(fake_share, place);
	*place = fake_share->places[--fake_share->nr_places];
	return id;
}

void fake_share_fill_all(struct share *share)
{
	while (fake_share_make(share) || fake_share_fill(share))
		;
}

/* --- region.h --- */

bool share_has_regions(const struct share *share)
{
	(void) share;
	return true;
}

void region_count_states(struct share *share, struct region_counts *ret)
{
	struct fake_share *fake_share = fake_of(share);

	*ret = (struct region_counts){ 0 };
	for (size_t i = 0; i < fake_share->nr_places; i++) {
		const struct place *place = &fake_share->places[i];

		ret->nr_ready += place->state == PLACE_READY;
		ret->nr_lent += place->state == PLACE_LENT;
		ret->nr_spent += place->state == PLACE_SPENT;
		ret->nr_unfilled += place->state == PLACE_FREE || place->state == PLACE_FILLING;
		ret->ready_bytes += place->state == PLACE_READY ? place->bytes : 0;
		ret->lent_bytes += place->state == PLACE_LENT ? place->bytes : 0;
		ret->spent_bytes += place->state == PLACE_SPENT ? place->bytes : 0;
		if (place->state != PLACE_READY && place->state != PLACE_LENT)
			ret->coming_bytes += place->bytes;
		if (place->bytes > ret->largest_bytes)
			ret->largest_bytes = place->bytes;
	}
}

int region_lend(struct share *share, uint64_t bytes, uint64_t *ret_id, uint64_t *ret_bytes)
{
	struct fake_share *fake_share = fake_of(share);
	struct place *best = NULL;

	for (size_t i = 0; i < fake_share->nr_places; i++) {
		struct place *place = &fake_share->places[i];

		if (place->state == PLACE_READY && place->bytes >= bytes &&
		    (!best || place->bytes < best->bytes))
			best = place;
	}
	if (!best)
		return -ENOENT;
	best->state = PLACE_LENT;
	*ret_id = best->id;
	*ret_bytes = best->bytes;
	return 0;
}

int region_unlend(struct share *share, uint64_t id)
{
	struct place *place = find_lent(share, id);

	if (!place)
		return -ENOENT;
	place->state = PLACE_READY;
	return 0;
}

int region_open_lent(struct share *share, uint64_t id)
{
	struct place *place = find_lent(share, id);

	if (!place)
		return -ENOENT;
	if (fake.nr_open_errors > 0) {
		fake.nr_open_errors--;
		return -fake.open_error;
	}
	piece_of_fd(place->fd)->state.was_lent = true;
	return fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
}

int region_duplicate(struct share *share, uint64_t id, uint64_t *ret_bytes)
{
	struct fake_share *fake_share = fake_of(share);
	const struct place *place = fake_share->places;
	const struct place *end = place + fake_share->nr_places;

	while (place < end &&
	       (place->id != id || (place->state != PLACE_READY && place->state != PLACE_LENT)))
		place++;
	if (place == end || fake.is_fd_mute)
		return place == end ? -ENOENT : -EMFILE;
	*ret_bytes = place->bytes;
	return fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
}

bool region_is_replaced(struct share *share, uint64_t id)
{
	const struct place *place = find_lent(share, id);

	return place && !place->is_aside;
}

int region_is_lent_in_use(struct share *share, uint64_t id)
{
	struct place *place = find_lent(share, id);

	return place ? probe(piece_of_fd(place->fd)) : -ENOENT;
}

static int spend(struct share *share, uint64_t id, bool is_abandoned)
{
	struct place *place = find_lent(share, id);

	if (!place)
		return -ENOENT;
	place->state = PLACE_SPENT;
	place->is_abandoned = is_abandoned;
	return 0;
}

int region_return(struct share *share, uint64_t id)
{
	return spend(share, id, false);
}

int region_abandon(struct share *share, uint64_t id)
{
	return spend(share, id, true);
}

int region_discard_lent(struct share *share, uint64_t id, uint64_t offset_bytes, uint64_t bytes)
{
	struct place *place = find_lent(share, id);
	struct memory memory = { .page_bytes = share->page_bytes };

	if (!place)
		return -ENOENT;
	memory.fd = place->fd;
	memory.bytes = place->bytes;
	return fake_memory_discard(&memory, offset_bytes, bytes);
}

bool region_next_news(struct share *share, struct region_news *ret)
{
	struct fake_share *fake_share = fake_of(share);

	if (fake_share->nr_gone > 0) {
		*ret = fake_share->gone[--fake_share->nr_gone];
		return true;
	}
	for (size_t i = 0; i < fake_share->nr_places; i++) {
		struct place *place = &fake_share->places[i];

		if (place->state == PLACE_FREE)
			continue;
		*ret = (struct region_news){ .id = place->id, .bytes = place->bytes, .fd = -1 };
		if (!place->is_made_told) {
			place->is_made_told = true;
			ret->change = REGION_WAS_MADE;
			ret->fd = fake.is_fd_mute ? -1 : fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
			return true;
		}
		if (!place->is_ready_told && place->state != PLACE_FILLING) {
			place->is_ready_told = true;
			ret->change = REGION_BECAME_READY;
			return true;
		}
	}
	return false;
}

/* A free place that fits; for a lent one, one more. */
static struct place *place_for(struct fake_share *fake_share, uint64_t bytes, bool is_lent)
{
	struct place *places;

	for (size_t i = 0; i < fake_share->nr_places; i++)
		if (fake_share->places[i].state == PLACE_FREE &&
		    fake_share->places[i].bytes == bytes)
			return &fake_share->places[i];
	if (!is_lent)
		return NULL;
	places = reallocarray(fake_share->places, fake_share->nr_places + 1, sizeof(*places));
	must(places);
	fake_share->places = places;
	places[fake_share->nr_places] =
		(struct place){ .bytes = bytes, .fd = -1, .is_aside = true };
	return &places[fake_share->nr_places++];
}

int region_adopt(struct share *share, uint64_t id, uint64_t bytes, int fd,
                 enum region_adopted adopted)
{
	static const enum place_state states[] = {
		[REGION_ADOPT_FILLING] = PLACE_FILLING,
		[REGION_ADOPT_READY] = PLACE_READY,
		[REGION_ADOPT_LENT] = PLACE_LENT,
	};
	struct piece *piece = piece_of_fd(fd);
	struct place *place;

	/* The descriptor is what the record says. */
	must(piece->id == id);
	if (fake.nr_adopt_errors > 0) {
		fake.nr_adopt_errors--;
		return -fake.adopt_error;
	}
	/* Pages that were given back, or begun to be. */
	if (adopted == REGION_ADOPT_READY &&
	    (!piece->state.exists || piece->state.discarded_bytes > 0))
		return -ENODATA;
	place = place_for(fake_of(share), bytes, adopted == REGION_ADOPT_LENT);
	if (!place)
		return -ENOSPC;
	piece->state.exists = true;
	place->state = states[adopted];
	place->id = id;
	place->fd = fd;
	place->is_made_told = true;
	place->is_ready_told = adopted != REGION_ADOPT_FILLING;
	return 0;
}

void region_keep_memory(struct share *share)
{
	fake_of(share)->keeps_memory = true;
}
