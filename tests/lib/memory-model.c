/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "../../daemon/base/size.h"
#include "memory-model.h"

#define PIECES_MAX 4096

struct script {
	int error;
	unsigned nr_times;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* somebody came to the gate, or it was opened */
	bool is_gated;
	unsigned nr_at_gate;
	unsigned nr_passes;
	uint64_t limit_bytes;
	int limit_error;
	struct script make, verify, populate, adopt, open;
	unsigned populate_index;
	uint64_t populate_offset_bytes;
	struct memory_model_counts counts;
	unsigned nr_writers[PIECES_MAX];
	uint64_t piece_bytes[PIECES_MAX];
	int in_use[PIECES_MAX];
	void (*on_destroy)(void *arg);
	void *on_destroy_arg;
	uint64_t adopted_bytes; /* what a piece has that is adopted half filled */
} model = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

static void lock(void)
{
	(void) pthread_mutex_lock(&model.lock);
}

static void unlock(void)
{
	(void) pthread_mutex_unlock(&model.lock);
}

static int script_take(struct script *script)
{
	if (script->nr_times == 0)
		return 0;
	if (script->nr_times != UINT_MAX)
		script->nr_times--;
	return -script->error;
}

/* The number of the piece travels in the mapping, which nobody but the real memory looks at. */
static unsigned piece_index(const struct memory *memory)
{
	return (unsigned) (memory->mapping_bytes - 1) % PIECES_MAX;
}

/* With the lock. */
static void piece_begin(struct memory *memory, uint64_t resident_bytes)
{
	memory->mapping_bytes = ++model.counts.nr_made;
	model.counts.nr_alive++;
	model.counts.resident_bytes += resident_bytes;
	model.piece_bytes[piece_index(memory)] = resident_bytes;
	model.in_use[piece_index(memory)] = 0;
}

/* With the lock. */
static void piece_map(struct memory *memory)
{
	memory->mapping = memory;
	model.counts.nr_mapped++;
	if (model.counts.nr_mapped > model.counts.max_mapped)
		model.counts.max_mapped = model.counts.nr_mapped;
}

static int model_make(struct memory *memory)
{
	int r, fd;

	lock();
	r = script_take(&model.make);
	if (r == 0) {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			r = -errno;
		} else {
			memory->fd = fd;
			piece_begin(memory, 0);
			piece_map(memory);
		}
	}
	unlock();
	return r;
}

static int model_populate(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	unsigned piece = piece_index(memory);
	uint64_t missing_bytes;
	int r = 0;

	lock();
	if (++model.nr_writers[piece] > model.counts.max_writers)
		model.counts.max_writers = model.nr_writers[piece];
	model.nr_at_gate++;
	(void) pthread_cond_broadcast(&model.moved);
	while (model.is_gated && model.nr_passes == 0)
		(void) pthread_cond_wait(&model.moved, &model.lock);
	if (model.is_gated)
		model.nr_passes--;
	model.nr_at_gate--;

	if ((model.populate_index == UINT_MAX ||
	     model.populate_index == memory->mapping_bytes - 1) &&
	    offset_bytes <= model.populate_offset_bytes &&
	    model.populate_offset_bytes < offset_bytes + bytes)
		r = script_take(&model.populate);
	/* What a piece had when it was adopted is not taken once more. */
	missing_bytes = bytes_min(bytes, memory->bytes - model.piece_bytes[piece]);
	if (r == 0 && missing_bytes > 0 &&
	    (model.counts.resident_bytes > model.limit_bytes ||
	     missing_bytes > model.limit_bytes - model.counts.resident_bytes))
		r = -model.limit_error;
	if (r == 0) {
		model.counts.nr_populated++;
		model.counts.resident_bytes += missing_bytes;
		model.piece_bytes[piece] += missing_bytes;
	}
	model.nr_writers[piece]--;
	unlock();
	return r;
}

static int model_verify(struct memory *memory)
{
	int r;

	lock();
	model.counts.nr_verified++;
	r = script_take(&model.verify);
	if (r == 0 && model.piece_bytes[piece_index(memory)] != memory->bytes)
		r = -ENODATA;
	unlock();
	return r;
}

static int model_finish(struct memory *memory)
{
	lock();
	model.counts.nr_finished++;
	if (!memory_keeps_mapping(memory)) {
		model.counts.nr_mapped--;
		memory->mapping = NULL;
	}
	unlock();
	return 0;
}

static void piece_end(struct memory *memory, bool is_emptied)
{
	if (memory->fd < 0)
		return;
	lock();
	model.counts.nr_alive--;
	if (memory->mapping)
		model.counts.nr_mapped--;
	if (is_emptied) {
		model.counts.nr_destroyed_in_use += model.in_use[piece_index(memory)] == 1;
		model.counts.nr_destroyed++;
		model.counts.resident_bytes -= model.piece_bytes[piece_index(memory)];
		model.piece_bytes[piece_index(memory)] = 0;
	} else {
		model.counts.nr_released++;
	}
	unlock();
	memory->mapping = NULL;
	memory->fd = fd_close(memory->fd);
}

static void model_destroy(struct memory *memory)
{
	void (*on_destroy)(void *arg);
	void *arg;

	piece_end(memory, true);
	lock();
	on_destroy = model.on_destroy;
	arg = model.on_destroy_arg;
	model.on_destroy = NULL;
	unlock();
	if (on_destroy)
		on_destroy(arg);
}

static void model_release(struct memory *memory)
{
	piece_end(memory, false);
}

static int model_adopt(struct memory *memory, enum memory_adopted adopted)
{
	int r;

	lock();
	r = script_take(&model.adopt);
	if (r == 0) {
		model.counts.nr_adopted++;
		piece_begin(memory,
		            adopted == MEMORY_IS_FILLING ? model.adopted_bytes : memory->bytes);
		if (adopted == MEMORY_IS_FILLING ||
		    (adopted == MEMORY_IS_FINISHED && memory_keeps_mapping(memory)))
			piece_map(memory);
	}
	unlock();
	return r;
}

static int model_open_again(const struct memory *memory)
{
	int fd, r;

	(void) memory;
	lock();
	r = script_take(&model.open);
	unlock();
	if (r < 0)
		return r;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int model_is_in_use(const struct memory *memory)
{
	int r;

	lock();
	model.counts.nr_asked++;
	r = model.in_use[piece_index(memory)];
	unlock();
	return r;
}

static int model_discard(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	uint64_t *resident_bytes = &model.piece_bytes[piece_index(memory)];

	(void) offset_bytes;
	lock();
	model.counts.nr_discarded++;
	bytes = bytes_min(bytes, *resident_bytes);
	*resident_bytes -= bytes;
	model.counts.resident_bytes -= bytes;
	unlock();
	return 0;
}

const struct memory_ops memory_model = {
	.make = model_make,
	.populate = model_populate,
	.verify = model_verify,
	.finish = model_finish,
	.destroy = model_destroy,
	.release = model_release,
	.adopt = model_adopt,
	.open_again = model_open_again,
	.is_in_use = model_is_in_use,
	.discard = model_discard,
};

void memory_model_reset(void)
{
	lock();
	model.is_gated = false;
	model.nr_at_gate = 0;
	model.nr_passes = 0;
	model.limit_bytes = UINT64_MAX;
	model.limit_error = ENOMEM;
	model.make = model.verify = model.populate = (struct script){ 0 };
	model.adopt = model.open = (struct script){ 0 };
	model.adopted_bytes = 0;
	model.on_destroy = NULL;
	model.counts = (struct memory_model_counts){ 0 };
	unlock();
}

void memory_model_limit(uint64_t bytes, int error)
{
	lock();
	model.limit_bytes = bytes;
	model.limit_error = error;
	unlock();
}

void memory_model_fail_populate(unsigned index, uint64_t offset_bytes, int error, unsigned nr_times)
{
	lock();
	model.populate_index = index;
	model.populate_offset_bytes = offset_bytes;
	model.populate = (struct script){ error, nr_times };
	unlock();
}

void memory_model_fail_make(int error, unsigned nr_times)
{
	lock();
	model.make = (struct script){ error, nr_times };
	unlock();
}

void memory_model_fail_verify(int error, unsigned nr_times)
{
	lock();
	model.verify = (struct script){ error, nr_times };
	unlock();
}

void memory_model_fail_adopt(int error, unsigned nr_times)
{
	lock();
	model.adopt = (struct script){ error, nr_times };
	unlock();
}

void memory_model_fail_open(int error, unsigned nr_times)
{
	lock();
	model.open = (struct script){ error, nr_times };
	unlock();
}

void memory_model_set_adopted_bytes(uint64_t bytes)
{
	lock();
	model.adopted_bytes = bytes;
	unlock();
}

void memory_model_set_in_use(unsigned index, int answer)
{
	lock();
	for (unsigned i = 0; i < PIECES_MAX; i++)
		if (index == UINT_MAX || i == index % PIECES_MAX)
			model.in_use[i] = answer;
	unlock();
}

void memory_model_on_destroy(void (*fn)(void *arg), void *arg)
{
	lock();
	model.on_destroy = fn;
	model.on_destroy_arg = arg;
	unlock();
}

void memory_model_gate_close(void)
{
	lock();
	model.is_gated = true;
	model.nr_passes = 0;
	unlock();
}

void memory_model_gate_open(unsigned nr)
{
	lock();
	if (nr == UINT_MAX)
		model.is_gated = false;
	else
		model.nr_passes += nr;
	(void) pthread_cond_broadcast(&model.moved);
	unlock();
}

bool memory_model_gate_wait(unsigned nr, uint64_t limit_usec)
{
	struct timespec until;
	bool has_come;

	(void) clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t) (limit_usec / 1000000);
	until.tv_nsec += (long) (limit_usec % 1000000) * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	lock();
	while (model.nr_at_gate < nr &&
	       pthread_cond_timedwait(&model.moved, &model.lock, &until) == 0)
		;
	has_come = model.nr_at_gate >= nr;
	unlock();
	return has_come;
}

void memory_model_counts(struct memory_model_counts *ret)
{
	lock();
	*ret = model.counts;
	unlock();
}
