/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lease begins. Each step can be undone until the last; what cannot be undone (a descriptor in
 * the hands of a client) comes after all of them, in the caller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "../kinds/region.h"
#include "book-inside.h"

/* Which quota @bytes more would exceed: 1 leases, 2 bytes; 0 none. */
static int exceeded_quota(const struct book *book, uid_t uid, uint64_t bytes)
{
	uint64_t sum_bytes = bytes;
	unsigned nr_leases = 0;

	for (size_t i = 0; i < book->nr_leases; i++)
		if (book->leases[i]->uid == uid) {
			nr_leases++;
			sum_bytes = bytes_add(sum_bytes, book->leases[i]->memory.bytes);
		}
	if (nr_leases >= book->quota.nr_leases)
		return 1;
	return sum_bytes > book->quota.bytes ? 2 : 0;
}

/* Return: 0, *ret_share and the region; -ENOENT. */
static int lend_first(const struct book_request *request, struct share *const *shares,
                      size_t nr_shares, struct share **ret_share, uint64_t *ret_id,
                      uint64_t *ret_bytes)
{
	for (size_t i = 0; i < nr_shares; i++)
		if (region_lend(shares[i], request->bytes, ret_id, ret_bytes) == 0) {
			*ret_share = shares[i];
			return 0;
		}
	return -ENOENT;
}

static void describe(const struct book *book, const struct book_request *request,
                     const struct share *share, uint64_t id, uint64_t bytes,
                     struct record_entry *ret)
{
	*ret = (struct record_entry){
		.id = id,
		.state = RECORD_LEASED,
		.node_id = share->node_id,
		.page = share->page,
		.page_bytes = share->page_bytes,
		.bytes = bytes,
		.is_locked = share->is_locked,
		.uid = request->uid,
		.pid = (uint32_t) request->pid,
		.since_realtime_usec = book->setup.now_realtime_usec(),
		.since_monotonic_usec = book->setup.now_monotonic_usec(),
	};
	(void) memccpy(ret->pool, request->pool, '\0', sizeof(ret->pool) - 1);
}

/*
 * On record, then the lifetime into the store, then watched; @ours is used up.
 * Return: 0; -errno, and neither is so.
 */
static int write_ahead(struct book *book, const struct record_entry *entry, int ours)
{
	scoped(fd_closep) int fd = ours;
	int r;

	r = record_put(book->setup.record, entry);
	if (r < 0)
		return r;
	/* Without a store, or with a full one, the lease lasts until the end of this process. */
	(void) store_put(book->setup.store, STORE_LIFETIME, entry->id, fd);
	r = lifetimes_add(book->lifetimes, entry->id, take_fd(fd));
	if (r < 0) {
		store_remove(book->setup.store, STORE_LIFETIME, entry->id);
		(void) book_record_state(book, entry->id, RECORD_READY);
	}
	return r;
}

/* @entry is of a region that is lent. Return: 0 and *ret, and the list has it; -errno. */
static int hand_out(struct book *book, struct share *share, const struct record_entry *entry,
                    struct book_grant *ret)
{
	scoped(fd_closep) int memory_fd = region_open_lent(share, entry->id);
	scoped(freep) struct book_lease *lease = book_lease_new(entry);
	scoped(fd_closep) int theirs = -1;
	int r, ours;

	if (memory_fd < 0)
		return memory_fd;
	if (!lease)
		return -ENOMEM;
	lease->share = share;
	r = lifetime_pipe(&ours, &theirs);
	if (r < 0)
		return r;
	r = write_ahead(book, entry, ours);
	if (r < 0)
		return r;
	book_lease_add(book, take(lease));
	*ret = (struct book_grant){
		.id = entry->id,
		.node_id = entry->node_id,
		.bytes = entry->bytes,
		.memory_fd = take_fd(memory_fd),
		.lifetime_fd = take_fd(theirs),
	};
	return 0;
}

int book_grant(struct book *book, const struct book_request *request, struct share *const *shares,
               size_t nr_shares, struct book_grant *ret, int *ret_quota)
{
	struct record_entry entry;
	uint64_t id, bytes;
	struct share *share = NULL;
	int r, quota;

	if (book->nr_leases >= BOOK_LEASES_MAX)
		return -ENOBUFS;
	quota = exceeded_quota(book, request->uid, 0);
	if (quota) {
		*ret_quota = quota;
		return -EDQUOT;
	}
	r = book_reserve(book);
	if (r == 0)
		r = lend_first(request, shares, nr_shares, &share, &id, &bytes);
	if (r < 0)
		return r;
	/*
	 * Bytes are judged by what there is: it may be larger than what was asked for, and where
	 * there is nothing, that is what the caller has to know.
	 */
	quota = exceeded_quota(book, request->uid, bytes);
	if (quota) {
		(void) region_unlend(share, id);
		*ret_quota = quota;
		return -EDQUOT;
	}
	/* News of it that wait would otherwise come after what is written now. */
	book_take_news(book, share, request->pool);
	book_store_again(book, share, request->pool, id);
	describe(book, request, share, id, bytes, &entry);
	r = hand_out(book, share, &entry, ret);
	if (r < 0)
		(void) region_unlend(share, id);
	return r;
}
