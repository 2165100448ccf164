/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sums are added up when they are asked for, over a list that holds a few thousand leases: a total
 * that is kept would be one more thing that can be wrong.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/size.h"
#include "book-inside.h"

/* What the regions of the record hold at the start: half filled ones have less than their size. */
static int note_inherited(struct book *book)
{
	for (size_t i = 0; i < record_nr(book->setup.record); i++) {
		const struct record_entry *entry = record_at(book->setup.record, i);
		int r, fd = store_look(book->setup.store, STORE_REGION, entry->id);
		struct stat st;

		if (entry->page == PLAN_PAGE_HUGETLB || fd < 0 || fstat(fd, &st) < 0)
			continue;
		r = idmap_put(&book->inherited, entry->id, (uint64_t) st.st_blocks * 512);
		if (r < 0)
			return r;
	}
	return 0;
}

int book_new(const struct book_setup *setup, struct book **ret)
{
	scoped(book_freep) struct book *book = calloc(1, sizeof(*book));
	int r;

	if (!book)
		return -ENOMEM;
	book->setup = *setup;
	book->quota = (struct book_quota){ UINT_MAX, UINT64_MAX };
	r = lifetimes_new(&book->lifetimes);
	if (r < 0)
		return r;
	book->last_inherited_id = record_last_id(setup->record);
	r = note_inherited(book);
	if (r < 0)
		return r;
	*ret = take(book);
	return 0;
}

struct book *book_free(struct book *book)
{
	if (!book)
		return NULL;
	/* Their pages stay with who has them, and in the store. */
	for (size_t i = 0; i < book->nr_leases; i++) {
		book->setup.memory->release(&book->leases[i]->memory);
		free(book->leases[i]);
	}
	for (size_t i = 0; i < book->nr_discards; i++)
		book->setup.memory->release(&book->discards[i].memory);
	book->lifetimes = lifetimes_free(book->lifetimes);
	idmap_clear(&book->shares);
	idmap_clear(&book->unstored);
	idmap_clear(&book->inherited);
	idmap_clear(&book->restored);
	free(book->leases);
	free(book->discards);
	free(book);
	return NULL;
}

void book_set_quota(struct book *book, const struct book_quota *quota)
{
	book->quota = *quota;
}

int book_fd(const struct book *book)
{
	return lifetimes_fd(book->lifetimes);
}

/* Return: the first whose id is not below @id. */
static size_t find_place(const struct book *book, uint64_t id)
{
	size_t low = 0, high = book->nr_leases;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (book->leases[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct book_lease *book_lease_find(const struct book *book, uint64_t id)
{
	size_t at = find_place(book, id);

	return at < book->nr_leases && book->leases[at]->id == id ? book->leases[at] : NULL;
}

int book_reserve(struct book *book)
{
	size_t max = book->leases_max ? 2 * book->leases_max : 64;
	struct book_lease **leases;

	if (book->nr_leases < book->leases_max)
		return 0;
	leases = reallocarray(book->leases, max, sizeof(*leases));
	if (!leases)
		return -ENOMEM;
	book->leases = leases;
	book->leases_max = max;
	return 0;
}

struct book_lease *book_lease_new(const struct record_entry *entry)
{
	struct book_lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return NULL;
	lease->id = entry->id;
	lease->state = entry->state == RECORD_LEASED ? LEASE_LEASED : LEASE_DRAINING;
	lease->uid = entry->uid;
	lease->pid = (pid_t) entry->pid;
	lease->memory = (struct memory){
		.fd = -1,
		.page = (enum plan_page) entry->page,
		.page_bytes = entry->page_bytes,
		.bytes = entry->bytes,
		.node_id = entry->node_id,
		.is_locked = entry->is_locked,
	};
	lease->since_realtime_usec = entry->since_realtime_usec;
	lease->since_monotonic_usec = entry->since_monotonic_usec;
	lease->wait_usec = BOOK_FIRST_PROBE_USEC;
	memcpy(lease->pool, entry->pool, sizeof(lease->pool));
	memcpy(lease->unit, entry->unit, sizeof(lease->unit));
	return lease;
}

void book_lease_add(struct book *book, struct book_lease *lease)
{
	size_t at = find_place(book, lease->id);

	assert(book->nr_leases < book->leases_max);
	memmove(&book->leases[at + 1], &book->leases[at],
	        (book->nr_leases - at) * sizeof(struct book_lease *));
	book->leases[at] = lease;
	book->nr_leases++;
}

void book_lease_drop(struct book *book, struct book_lease *lease)
{
	size_t at = find_place(book, lease->id);

	assert(book->leases[at] == lease);
	book->nr_leases--;
	memmove(&book->leases[at], &book->leases[at + 1],
	        (book->nr_leases - at) * sizeof(struct book_lease *));
	free(lease);
}

int book_record_state(struct book *book, uint64_t id, enum record_state state)
{
	const struct record_entry *before = record_get(book->setup.record, id);
	struct record_entry entry;

	if (!before)
		return 0;
	entry = *before;
	entry.state = state;
	return record_put(book->setup.record, &entry);
}

const char *lease_state_text(enum lease_state state)
{
	return state == LEASE_LEASED ? "leased" : "draining";
}

void book_lease_show(const struct book_lease *lease, struct lease *ret)
{
	*ret = (struct lease){
		.id = lease->id,
		.state = lease->state,
		.pool = lease->pool,
		.node_id = lease->memory.node_id,
		.bytes = lease->memory.bytes,
		.uid = lease->uid,
		.pid = lease->pid,
		.unit = lease->unit,
		.since_realtime_usec = lease->since_realtime_usec,
		.since_monotonic_usec = lease->since_monotonic_usec,
		.is_released = lease->is_released,
		.is_memory_known = lease->share || lease->memory.fd >= 0,
	};
}

size_t book_nr(const struct book *book)
{
	return book->nr_leases;
}

void book_at(const struct book *book, size_t i, struct lease *ret)
{
	assert(i < book->nr_leases);
	book_lease_show(book->leases[i], ret);
}

int book_find(const struct book *book, uint64_t id, struct lease *ret)
{
	const struct book_lease *lease = book_lease_find(book, id);

	if (!lease)
		return -ENOENT;
	book_lease_show(lease, ret);
	return 0;
}

int book_set_unit(struct book *book, uint64_t id, const char *unit)
{
	struct book_lease *lease = book_lease_find(book, id);
	const struct record_entry *before = record_get(book->setup.record, id);
	struct record_entry entry;

	if (!lease)
		return -ENOENT;
	memset(lease->unit, 0, sizeof(lease->unit));
	if (strlen(unit) < sizeof(lease->unit))
		strcpy(lease->unit, unit);
	if (!before)
		return 0;
	entry = *before;
	memcpy(entry.unit, lease->unit, sizeof(entry.unit));
	/* For people only: a lease goes on without it. */
	(void) record_put(book->setup.record, &entry);
	return 0;
}

void book_sums(const struct book *book, const char *pool, unsigned node_id,
               uint64_t *ret_leased_bytes, uint64_t *ret_draining_bytes)
{
	uint64_t leased_bytes = 0, draining_bytes = 0;

	for (size_t i = 0; i < book->nr_leases; i++) {
		const struct book_lease *lease = book->leases[i];

		if ((node_id != UINT_MAX && lease->memory.node_id != node_id) ||
		    (pool && strcmp(lease->pool, pool) != 0))
			continue;
		if (lease->state == LEASE_LEASED)
			leased_bytes = bytes_add(leased_bytes, lease->memory.bytes);
		else
			draining_bytes = bytes_add(draining_bytes, lease->memory.bytes);
	}
	*ret_leased_bytes = leased_bytes;
	*ret_draining_bytes = draining_bytes;
}

uint64_t book_share_draining_bytes(const struct book *book, const struct share *share)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < book->nr_leases; i++)
		if (book->leases[i]->share == share && book->leases[i]->state == LEASE_DRAINING)
			bytes = bytes_add(bytes, book->leases[i]->memory.bytes);
	return bytes;
}

uint64_t book_inherited_bytes(const struct book *book)
{
	uint64_t sum_bytes = 0, bytes;

	for (size_t i = 0; i < record_nr(book->setup.record); i++)
		if (idmap_get(&book->inherited, record_at(book->setup.record, i)->id, &bytes))
			sum_bytes = bytes_add(sum_bytes, bytes);
	return sum_bytes;
}
