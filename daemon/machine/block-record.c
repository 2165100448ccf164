/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block-record-file.h"
#include "block-record.h"

/*
 * Blocks of the same sort lie side by side, and so they stay while they are brought online in
 * ascending order: what is kept are runs of them.
 */
struct block_record {
	pthread_mutex_t
		*lock; /* of all that follows; by pointer, for it is taken to read as well */
	char *path;    /* NULL: in memory only */
	/*
	 * Ascending; two that touch differ. There is room for as many as there are blocks, however
	 * they come to be marked: nothing but block_record_add() can run out of memory.
	 */
	struct block_run *runs;
	size_t nr_runs;
	size_t nr_rooms;
	size_t nr_blocks;
	uint64_t nr_changes; /* of what is in the file */
	uint64_t nr_saved_changes;
};

/* Return: the first run that ends at @block or behind it; nr_runs: none does. */
static size_t find_run(const struct block_record *record, uint64_t block)
{
	size_t first = 0, end = record->nr_runs;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (record->runs[middle].last < block)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static bool has_block(const struct block_record *record, size_t i, uint64_t block)
{
	return i < record->nr_runs && record->runs[i].first <= block;
}

static int make_room(struct block_record *record, size_t nr_blocks)
{
	size_t nr_rooms = record->nr_rooms ? record->nr_rooms : 64;
	struct block_run *runs;

	if (nr_blocks > BLOCK_RECORD_BLOCKS_MAX)
		return -E2BIG;
	while (nr_rooms < nr_blocks)
		nr_rooms *= 2;
	if (nr_rooms == record->nr_rooms)
		return 0;
	runs = reallocarray(record->runs, nr_rooms, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	record->runs = runs;
	record->nr_rooms = nr_rooms;
	return 0;
}

/* Put @nr_pieces in the place of @nr_old runs from @i on. */
static void replace(struct block_record *record, size_t i, size_t nr_old,
                    const struct block_run *pieces, size_t nr_pieces)
{
	memmove(record->runs + i + nr_pieces, record->runs + i + nr_old,
	        (record->nr_runs - i - nr_old) * sizeof(*record->runs));
	if (nr_pieces)
		memcpy(record->runs + i, pieces, nr_pieces * sizeof(*pieces));
	record->nr_runs = record->nr_runs - nr_old + nr_pieces;
}

static bool is_continued(const struct block_run *one, const struct block_run *next)
{
	return one->last + 1 == next->first && one->sort == next->sort &&
	       one->is_given_up == next->is_given_up;
}

/* Make one of runs @first to @last where they touch and are of the same sort. */
static void join(struct block_record *record, size_t first, size_t last)
{
	size_t i = first;

	while (i < last && i + 1 < record->nr_runs) {
		struct block_run both = record->runs[i];

		both.last = record->runs[i + 1].last;
		if (is_continued(&record->runs[i], &record->runs[i + 1]))
			replace(record, i, 2, &both, 1);
		else
			i++;
	}
}

/*
 * Cut the run at @i so that @block is one of its own: into no more pieces than it has blocks.
 * Return: where that is.
 */
static size_t isolate(struct block_record *record, size_t i, uint64_t block)
{
	struct block_run run = record->runs[i], pieces[3];
	size_t nr_pieces = 0, place;

	if (run.first < block) {
		pieces[nr_pieces] = run;
		pieces[nr_pieces++].last = block - 1;
	}
	place = i + nr_pieces;
	pieces[nr_pieces] = run;
	pieces[nr_pieces].first = block;
	pieces[nr_pieces++].last = block;
	if (run.last > block) {
		pieces[nr_pieces] = run;
		pieces[nr_pieces++].first = block + 1;
	}
	replace(record, i, 1, pieces, nr_pieces);
	return place;
}

static size_t before(size_t i)
{
	return i ? i - 1 : 0;
}

/* Load a run behind those that are there. Return: 0; -ENOMEM; -E2BIG. */
static int append(const struct block_run *run, void *arg)
{
	struct block_record *record = arg;
	uint64_t nr_more = run->last - run->first;
	int r;

	if (nr_more >= BLOCK_RECORD_BLOCKS_MAX)
		return -E2BIG;
	r = make_room(record, record->nr_blocks + (size_t) nr_more + 1);
	if (r < 0)
		return r;
	replace(record, record->nr_runs, 0, run, 1);
	record->nr_blocks += (size_t) nr_more + 1;
	join(record, before(record->nr_runs - 1), record->nr_runs);
	return 0;
}

static int load(struct block_record *record, bool *ret_is_damaged)
{
	int r = block_record_file_read(record->path, append, record);

	if (r == -ENOMEM)
		return r;
	*ret_is_damaged = r < 0 && r != -ENOENT;
	if (*ret_is_damaged) {
		record->nr_runs = 0;
		record->nr_blocks = 0;
		record->nr_changes++; /* what is in the file is not what is here */
	}
	return 0;
}

int block_record_open(const char *path, struct block_record **ret, bool *ret_is_damaged)
{
	scoped(block_record_freep) struct block_record *record = calloc(1, sizeof(*record));
	bool is_damaged = false;
	int r;

	if (!record)
		return -ENOMEM;
	record->lock = calloc(1, sizeof(*record->lock));
	if (!record->lock)
		return -ENOMEM;
	(void) pthread_mutex_init(record->lock, NULL);
	if (path) {
		record->path = strdup(path);
		if (!record->path)
			return -ENOMEM;
		r = load(record, &is_damaged);
		if (r < 0)
			return r;
	}
	*ret = take(record);
	if (ret_is_damaged)
		*ret_is_damaged = is_damaged;
	return 0;
}

struct block_record *block_record_free(struct block_record *record)
{
	if (!record)
		return NULL;
	if (record->lock)
		(void) pthread_mutex_destroy(record->lock);
	free(record->lock);
	free(record->path);
	free(record->runs);
	free(record);
	return NULL;
}

static void set_sort(struct block_record *record, size_t i, uint64_t block, enum block_sort sort)
{
	if (record->runs[i].sort == sort)
		return;
	i = isolate(record, i, block);
	record->runs[i].sort = sort;
	join(record, before(i), i + 1);
	record->nr_changes++;
}

static int insert(struct block_record *record, size_t i, uint64_t block, enum block_sort sort)
{
	struct block_run run = { .first = block, .last = block, .sort = sort };
	int r = make_room(record, record->nr_blocks + 1);

	if (r < 0)
		return r;
	replace(record, i, 0, &run, 1);
	join(record, before(i), i + 1);
	record->nr_blocks++;
	record->nr_changes++;
	return 0;
}

int block_record_add(struct block_record *record, uint64_t block)
{
	size_t i;
	int r = 0;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	if (!has_block(record, i, block))
		r = insert(record, i, block, BLOCK_SEEN);
	else if (record->runs[i].sort == BLOCK_LEFT)
		set_sort(record, i, block, BLOCK_SEEN);
	(void) pthread_mutex_unlock(record->lock);
	return r;
}

int block_record_leave(struct block_record *record, uint64_t block)
{
	size_t i;
	int r = 0;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	if (!has_block(record, i, block))
		r = insert(record, i, block, BLOCK_LEFT);
	(void) pthread_mutex_unlock(record->lock);
	return r;
}

void block_record_remove(struct block_record *record, uint64_t block)
{
	size_t i;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	if (has_block(record, i, block)) {
		replace(record, isolate(record, i, block), 1, NULL, 0);
		record->nr_blocks--;
		record->nr_changes++;
	}
	(void) pthread_mutex_unlock(record->lock);
}

bool block_record_find(const struct block_record *record, uint64_t block,
                       struct block_record_entry *ret)
{
	bool is_on_record;
	size_t i;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	is_on_record = has_block(record, i, block);
	if (is_on_record && ret)
		*ret = (struct block_record_entry){
			.block = block,
			.is_ours = record->runs[i].sort == BLOCK_OURS,
			.is_left = record->runs[i].sort == BLOCK_LEFT,
			.is_taken = record->runs[i].sort == BLOCK_TAKEN,
			.is_given_up = record->runs[i].is_given_up,
		};
	(void) pthread_mutex_unlock(record->lock);
	return is_on_record;
}

void block_record_set_ours(struct block_record *record, uint64_t block, bool is_ours)
{
	size_t i;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	if (has_block(record, i, block) && (is_ours || record->runs[i].sort == BLOCK_OURS))
		set_sort(record, i, block, is_ours ? BLOCK_OURS : BLOCK_SEEN);
	(void) pthread_mutex_unlock(record->lock);
}

/* From one sort to another, if it is of the first. */
static void change_sort(struct block_record *record, uint64_t block, enum block_sort from,
                        enum block_sort to)
{
	size_t i = find_run(record, block);

	if (has_block(record, i, block) && record->runs[i].sort == from)
		set_sort(record, i, block, to);
}

void block_record_take_away(struct block_record *record, uint64_t block)
{
	(void) pthread_mutex_lock(record->lock);
	change_sort(record, block, BLOCK_OURS, BLOCK_TAKEN);
	change_sort(record, block, BLOCK_SEEN, BLOCK_TAKEN);
	(void) pthread_mutex_unlock(record->lock);
}

void block_record_give_back(struct block_record *record, uint64_t block)
{
	(void) pthread_mutex_lock(record->lock);
	change_sort(record, block, BLOCK_TAKEN, BLOCK_SEEN);
	(void) pthread_mutex_unlock(record->lock);
}

void block_record_set_given_up(struct block_record *record, uint64_t block, bool is_given_up)
{
	size_t i;

	(void) pthread_mutex_lock(record->lock);
	i = find_run(record, block);
	if (has_block(record, i, block) && record->runs[i].is_given_up != is_given_up) {
		i = isolate(record, i, block);
		record->runs[i].is_given_up = is_given_up;
		join(record, before(i), i + 1);
	}
	(void) pthread_mutex_unlock(record->lock);
}

size_t block_record_nr(const struct block_record *record)
{
	size_t nr_blocks;

	(void) pthread_mutex_lock(record->lock);
	nr_blocks = record->nr_blocks;
	(void) pthread_mutex_unlock(record->lock);
	return nr_blocks;
}

/* Nobody waits for the file: workers go on marking while it is written. */
int block_record_save(struct block_record *record)
{
	scoped(freep) char *text = NULL;
	uint64_t nr_changes;
	bool is_saved;
	int r = 0;

	(void) pthread_mutex_lock(record->lock);
	nr_changes = record->nr_changes;
	is_saved = !record->path || nr_changes == record->nr_saved_changes;
	if (!is_saved)
		r = block_record_file_format(record->runs, record->nr_runs, &text);
	(void) pthread_mutex_unlock(record->lock);
	if (is_saved || r < 0)
		return r;
	r = block_record_file_write(record->path, text);
	if (r < 0)
		return r;
	(void) pthread_mutex_lock(record->lock);
	record->nr_saved_changes = nr_changes;
	(void) pthread_mutex_unlock(record->lock);
	return 0;
}
