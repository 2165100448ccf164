/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of the leases: what an earlier process left, what every look does, what is left behind.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "kinds/region.h"
#include "manager-state.h"
#include "messages.h"

void leases_report_ended(const struct lease *lease)
{
	char text[192], bytes[SIZE_TEXT_MAX], spent[SIZE_TEXT_MAX];

	(void) snprintf(
		text, sizeof(text), "%s after %s; %s of pool %s on node %u drain",
		lease->is_released ? "released" : "ended",
		duration_text(bytes_left(clock_monotonic_usec(), lease->since_monotonic_usec),
	                      spent),
		size_text(lease->bytes, bytes), lease->pool, lease->node_id);
	report_lease(MESSAGE_LEASE_ENDED, lease, text);
}

static void on_event(void *arg, const struct book_event *event)
{
	(void) arg;
	if (event->what == BOOK_LEASE_ENDED)
		leases_report_ended(&event->lease);
	else
		log_debug("lease %" PRIu64 ": nobody has its memory any more", event->lease.id);
}

/* Look at the book again at @due_usec, unless sooner; UINT64_MAX: when something happens. */
static void poll_at(struct manager *manager, uint64_t due_usec)
{
	struct leases *leases = &manager->leases;
	uint64_t now_usec = clock_monotonic_usec();

	ev_timer_stop(manager->setup.loop, &leases->poll);
	if (due_usec == UINT64_MAX)
		return;
	ev_now_update(manager->setup.loop);
	ev_timer_set(&leases->poll, (double) bytes_left(due_usec, now_usec) / 1e6, 0.);
	ev_timer_start(manager->setup.loop, &leases->poll);
}

static void on_poll(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) loop, (void) events;
	manager_look(timer->data);
}

static void on_ended(struct ev_loop *loop, ev_io *io, int events)
{
	(void) loop, (void) events;
	manager_look(io->data);
}

/* Return: -EPROTONOSUPPORT, and the sentence that says so; -ENOMEM. */
static int refuse_newer(struct manager *manager, uint32_t version)
{
	static const char sentence[] =
		"the record of regions and leases is of version %u, written by a newer nodeinitd; "
		"this one reads up to %u. Nothing of it was touched: start the newer one again, or "
		"stop the service to give the memory up";

	if (asprintf(&manager->refused_text, sentence, version, RECORD_VERSION) >= 0)
		return -EPROTONOSUPPORT;
	manager->refused_text = NULL; /* asprintf(3) leaves it undefined */
	return -ENOMEM;
}

static int open_record(struct manager *manager)
{
	struct leases *leases = &manager->leases;
	scoped(fd_closep) int fd = store_take_state(leases->store);
	size_t nr_damaged = 0;
	uint32_t version = 0;
	int r;

	if (fd < 0)
		return record_new(&leases->record);
	r = record_open(fd, &leases->record, &nr_damaged, &version);
	if (r == -EPROTONOSUPPORT)
		return refuse_newer(manager, version);
	if (r == -EBADMSG) {
		log_warning(
			"the record of regions and leases cannot be read: what it had goes back "
			"to the kernel; leased memory stays with its lessees");
		return record_new(&leases->record);
	}
	if (r < 0)
		return r;
	(void) take_fd(fd); /* the record's */
	if (nr_damaged > 0)
		log_warning(
			"%zu entries of the record of regions and leases are damaged and left out",
			nr_damaged);
	return 0;
}

int leases_open(struct manager *manager)
{
	struct leases *leases = &manager->leases;
	struct book_setup setup = {
		.memory = manager->setup.memory,
		.now_monotonic_usec = clock_monotonic_usec,
		.now_realtime_usec = clock_realtime_usec,
	};
	int r;

	ev_init(&leases->ended, on_ended);
	ev_timer_init(&leases->poll, on_poll, 0., 0.);
	leases->ended.data = leases->poll.data = manager;

	r = store_new(manager->setup.store, NULL, manager->setup.inherited_fds,
	              manager->setup.inherited_names, manager->setup.nr_inherited, &leases->store);
	if (r == 0)
		r = open_record(manager);
	if (r < 0)
		return r;
	setup.record = leases->record;
	setup.store = leases->store;
	r = book_new(&setup, &leases->book);
	if (r < 0)
		return r;
	/* also unique within a boot where the store was emptied: a stale id is nobody else's */
	atomic_init(&leases->last_region_id,
	            bytes_max(record_last_id(leases->record), clock_monotonic_usec() / 1000));
	manager->context.last_region_id = &leases->last_region_id;
	r = store_put_state(leases->store, record_fd(leases->record));
	if (r == -EOPNOTSUPP)
		log_info(
			"there is no service manager that keeps descriptors: regions and leases do "
			"not outlive this process");
	else if (r < 0)
		log_warning(
			"the service manager does not take descriptors (%s): regions and leases "
			"may not outlive this process",
			strerror(-r));
	ev_io_set(&leases->ended, book_fd(leases->book), EV_READ);
	ev_io_start(manager->setup.loop, &leases->ended);
	return 0;
}

static const char *plural(size_t nr)
{
	return nr == 1 ? "" : "s";
}

void leases_restored(struct manager *manager)
{
	struct leases *leases = &manager->leases;
	struct book_restored got;
	char bytes[SIZE_TEXT_MAX];

	if (!leases->book)
		return;
	book_restore_end(leases->book, &got);
	if (got.nr_ready + got.nr_resumed + got.nr_leases + got.nr_ended > 0)
		report_event(
			LOG_LEVEL_INFO, MESSAGE_RESTORED,
			"taken over from an earlier process: %zu ready region%s (%s), %zu half "
			"filled, %zu lease%s, %zu that ended meanwhile",
			got.nr_ready, plural(got.nr_ready), size_text(got.ready_bytes, bytes),
			got.nr_resumed, got.nr_leases, plural(got.nr_leases), got.nr_ended);
	if (got.nr_lost > 0)
		report_event(
			LOG_LEVEL_WARNING, MESSAGE_RESTORED,
			"%zu of the regions on record not in the service manager's store, which "
			"may be too small (FileDescriptorStoreMax=): filled again",
			got.nr_lost);
	if (got.nr_unplaced + got.nr_unknown > 0)
		report_event(LOG_LEVEL_INFO, MESSAGE_RESTORED,
		             "given back: %zu region%s that no pool has a place for any more, %zu "
		             "unknown descriptor%s",
		             got.nr_unplaced, plural(got.nr_unplaced), got.nr_unknown,
		             plural(got.nr_unknown));
}

static void unknown_name(void *arg, const char *what, const char *name)
{
	const char *pool = arg;

	report_event(LOG_LEVEL_WARNING, MESSAGE_CONFIG,
	             "pool %s: there is no %s \"%s\" on this system; Reload looks again", pool,
	             what, name);
}

static void access_clear(struct leases *leases)
{
	for (size_t i = 0; i < leases->nr_access; i++) {
		access_list_clear(&leases->access[i].list);
		free(leases->access[i].pool);
	}
	free(leases->access);
	leases->access = NULL;
	leases->nr_access = 0;
}

/* Nobody but root may lease while a list cannot be made. */
static void configure_access(struct leases *leases, const struct config *config)
{
	access_clear(leases);
	leases->access = calloc(config->nr_pools + 1, sizeof(*leases->access));
	if (!leases->access)
		return;
	for (size_t i = 0; i < config->nr_pools; i++) {
		const struct pool_config *pool = &config->pools[i];
		struct pool_access *access = &leases->access[leases->nr_access];

		access->pool = strdup(pool->name);
		if (!access->pool)
			return;
		leases->nr_access++;
		if (access_list_make(pool->users, pool->groups, unknown_name, pool->name,
		                     &access->list) < 0)
			log_warning("pool %s: out of memory; only root may lease from it",
			            pool->name);
	}
}

void leases_configure(struct manager *manager)
{
	struct leases *leases = &manager->leases;
	const struct daemon_config *config = &manager->config->daemon;
	uint64_t all_bytes = 0;

	if (!leases->book)
		return;
	for (size_t i = 0; i < manager->inventory.nr_pools; i++)
		if (manager->inventory.pools[i].kind == POOL_REGION)
			all_bytes =
				bytes_add(all_bytes, manager->inventory.pools[i].declared_bytes);
	leases->max_bytes = amount_bytes(config->max_bytes, all_bytes, 1);
	book_set_quota(leases->book, &(struct book_quota){ config->max_leases, leases->max_bytes });
	configure_access(leases, manager->config);
}

void leases_share_comes(struct share *share, struct managed_share *managed, const char *pool,
                        void *arg)
{
	struct manager *manager = arg;
	struct share_status status;

	if (!manager->leases.book || !share_has_regions(share))
		return;
	book_restore_share(manager->leases.book, share, pool);
	share->ops->share_read(share, &status);
	managed->done_bytes += status.done_bytes; /* nothing that its work begins with */
}

static bool is_leaving(const struct inventory *inventory, const struct share *share)
{
	for (size_t i = 0; i < inventory->nr_leaving; i++)
		if (inventory->leaving[i].piece.share == share)
			return true;
	return false;
}

void leases_share_leaves(struct share *share, void *arg)
{
	struct manager *manager = arg;

	if (!manager->leases.book || !share_has_regions(share))
		return;
	/* what stays in the store stays on record, too */
	if (!manager->keeps_memory || is_leaving(&manager->inventory, share))
		book_forget_share(manager->leases.book, share);
}

static void take_news(struct manager *manager)
{
	struct inventory *inventory = &manager->inventory;
	struct book *book = manager->leases.book;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; pool->kind == POOL_REGION && k < pool->nr_shares; k++)
			for (size_t n = 0; n < pool->shares[k].nr_pieces; n++)
				book_take_news(book, pool->shares[k].pieces[n].share, pool->name);
	}
	for (size_t i = 0; i < inventory->nr_leaving; i++)
		if (share_has_regions(inventory->leaving[i].piece.share))
			book_take_news(book, inventory->leaving[i].piece.share, "");
}

/* What of a share is not in service, and what of it is leased. */
static void note_share(struct manager *manager, const struct managed_pool *pool,
                       struct managed_share *share)
{
	share->returning_bytes = 0;
	for (size_t i = 0; i < share->nr_pieces; i++)
		share->returning_bytes +=
			book_share_draining_bytes(manager->leases.book, share->pieces[i].share);
	book_sums(manager->leases.book, pool->name, share->node_id, &share->leased_bytes,
	          &share->draining_bytes);
}

void leases_look(struct manager *manager, uint64_t now_usec)
{
	struct inventory *inventory = &manager->inventory;
	uint64_t poll_usec, serve_usec;

	if (!manager->leases.book || manager->is_ending)
		return;
	take_news(manager);
	poll_usec = book_poll(manager->leases.book, on_event, manager);
	serve_usec = lease_calls_serve(manager, now_usec);
	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0;
		     inventory->pools[i].kind == POOL_REGION && k < inventory->pools[i].nr_shares;
		     k++)
			note_share(manager, &inventory->pools[i], &inventory->pools[i].shares[k]);
	poll_at(manager, bytes_min(poll_usec, serve_usec));
}

static void keep_memory(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; pool->kind == POOL_REGION && k < pool->nr_shares; k++)
			for (size_t n = 0; n < pool->shares[k].nr_pieces; n++)
				region_keep_memory(pool->shares[k].pieces[n].share);
	}
}

void leases_stop(struct manager *manager, bool keep)
{
	struct leases *leases = &manager->leases;

	lease_calls_end(manager);
	if (!keep && leases->book && book_nr(leases->book) > 0)
		log_info("%zu leased or draining region%s left with who has them",
		         book_nr(leases->book), plural(book_nr(leases->book)));
	ev_timer_stop(manager->setup.loop, &leases->poll);
	ev_io_stop(manager->setup.loop, &leases->ended);
	if (keep && leases->book) {
		take_news(manager);
		keep_memory(&manager->inventory);
	}
}

void leases_close(struct manager *manager)
{
	struct leases *leases = &manager->leases;

	book_freep(&leases->book);
	record_freep(&leases->record);
	store_freep(&leases->store);
	access_clear(leases);
}
