/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random sequences of lease, close, release, kill, restart, loss, shortfall and reload, against a
 * model: a list of what clients were given. The seed is printed; NODEINIT_SEED and
 * NODEINIT_SEQUENCES repeat one.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../daemon/base/idmap.h"
#include "../../daemon/base/size.h"
#include "../../daemon/lease/book-inside.h"
#include "book-world.h"
#include "suite.h"

/* A sanitizer takes ten times as long, and looks for what a tenth of them shows as well. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NR_SEQUENCES 10000
#else
#define NR_SEQUENCES 100000
#endif
#define NR_STEPS 20
#define SMALL    (64 * MIB)
#define LARGE    (128 * MIB)

static uint64_t seed;
static unsigned sequence;

/* As must(), with the number of the sequence. */
#define holds(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			ck_abort_msg("sequence %u: %s", sequence, #condition); \
	} while (0)

/* Every id that any client of this host was ever given. */
static struct idmap was_given;

/* Leases that a client released, or whose lifetime the store lost: they drain. */
static struct idmap is_ended;

/* Since the store dropped something of this host, names and record may differ. */
static bool is_lossy;

/* The kernel did not always say who has a file. */
static bool is_unsure;

/* splitmix64: small, and every seed will do. */
static unsigned random_below(unsigned limit)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned) ((z ^ z >> 31) % limit);
}

/* --- what happens --- */

static uint64_t held_bytes(uid_t uid, unsigned *ret_nr)
{
	uint64_t bytes = 0;

	*ret_nr = 0;
	for (size_t i = 0; i < book_nr(world.book); i++) {
		struct lease lease;

		book_at(world.book, i, &lease);
		if (lease.uid == uid) {
			bytes += lease.bytes;
			++*ret_nr;
		}
	}
	return bytes;
}

static void step_lease(void)
{
	uid_t uid = random_below(3);
	uint64_t bytes = random_below(3) * SMALL, held;
	const struct world_client *client;
	unsigned nr;

	if (world.nr_clients == WORLD_CLIENTS_MAX || world_lease(uid, bytes) < 0)
		return;
	client = &world.clients[world.nr_clients - 1];
	holds(!idmap_get(&was_given, client->id, NULL));
	holds(idmap_put(&was_given, client->id, 1) == 0);
	holds(client->bytes >= bytes);
	held = held_bytes(uid, &nr);
	holds(nr <= world.quota.nr_leases);
	holds(held <= world.quota.bytes);
}

static struct world_client *any_client(void)
{
	return world.nr_clients > 0 ? &world.clients[random_below((unsigned) world.nr_clients)]
	                            : NULL;
}

static void step_close(void)
{
	struct world_client *client = any_client();

	if (client && random_below(2))
		world_close(client);
	else if (client)
		world_close_lifetime(client);
}

static void step_release(void)
{
	struct world_client *client = any_client();

	if (!client)
		return;
	(void) book_release(world.book, client->id);
	holds(idmap_put(&is_ended, client->id, 1) == 0);
}

/* What the workers do: more of it, or nothing for a while (a shortfall). */
static void step_work(void)
{
	struct share *share = world.shares[random_below((unsigned) world.nr_config)];

	for (unsigned n = random_below(6); n > 0; n--)
		switch (random_below(5)) {
		case 0:
			(void) fake_share_destroy(share);
			break;
		case 1:
			(void) fake_share_shrink(share);
			break;
		case 2:
			(void) fake_share_make(share);
			break;
		default:
			(void) fake_share_make(share);
			(void) fake_share_fill(share);
			break;
		}
	if (random_below(3))
		world_news();
}

static void lose_something(void)
{
	static const char *const kinds[] = { "region", "lifetime" };
	const struct world_client *client = any_client();
	unsigned kind = random_below(2);

	if (!client || !world_keeps(kinds[kind], client->id))
		return;
	world_lose(kinds[kind], client->id);
	is_lossy = true;
	if (kind == 1)
		holds(idmap_put(&is_ended, client->id, 1) == 0);
}

/* The pools are declared anew, smaller or larger, or one is gone. */
static void reload(void)
{
	world.config[0].nr_regions = random_below(5);
	world.config[1].nr_regions = random_below(4);
	world.nr_config = 1 + random_below(2);
}

static void step_restart(void)
{
	/* What was on record and not yet in the store, or the other way round. */
	bool was_cut = fake_has_ended();

	world_kill();
	fake_end_after(UINT_MAX);
	if (random_below(6) == 0)
		lose_something();
	if (random_below(3) == 0)
		world_shuffle(random_below(1000));
	if (random_below(3) == 0)
		reload();
	world_start();
	holds(world.nr_damaged == 0);
	if (!is_lossy && !was_cut) {
		holds(world.restored.nr_lost == 0);
		holds(world.restored.nr_unknown == 0);
	}
}

/* --- what has to be so at any time --- */

static void check_clients(void)
{
	for (size_t i = 0; i < world.nr_clients; i++) {
		const struct world_client *client = &world.clients[i];
		struct fake_memory_state memory;
		struct lease lease;
		int r = book_find(world.book, client->id, &lease);

		/* What somebody has is his, whatever is known of it. */
		fake_memory_look(client->id, &memory);
		holds(memory.exists);
		holds(memory.discarded_bytes == 0);
		/* Who has the memory open has the lease, as long as the kernel can be asked. */
		if (r < 0) {
			holds((is_lossy || is_unsure) &&
			      (client->lifetime_fd < 0 || idmap_get(&is_ended, client->id, NULL)));
			continue;
		}
		holds(lease.uid == client->uid);
		holds(lease.bytes == client->bytes);
		if (client->lifetime_fd >= 0 && !idmap_get(&is_ended, client->id, NULL))
			holds(lease.state == LEASE_LEASED);
	}
}

/* Every lease is on record as what it is, and every region is in one place. */
static void check_books(void)
{
	uint64_t leased_bytes, draining_bytes, sum_bytes = 0, last_id = 0;
	size_t nr_lent = 0, nr_known = 0;

	for (size_t i = 0; i < book_nr(world.book); i++) {
		struct lease lease;

		book_at(world.book, i, &lease);
		holds(lease.id > last_id);
		last_id = lease.id;
		holds(world_recorded(lease.id) ==
		      (lease.state == LEASE_LEASED ? RECORD_LEASED : RECORD_DRAINING));
		sum_bytes += lease.bytes;
		nr_known += lease.is_memory_known;
	}
	book_sums(world.book, NULL, UINT_MAX, &leased_bytes, &draining_bytes);
	holds(leased_bytes + draining_bytes == sum_bytes);
	for (unsigned i = 0; i < world.nr_config; i++) {
		struct region_counts counts;

		region_count_states(world.shares[i], &counts);
		nr_lent += counts.nr_lent;
	}
	/* What it remembers beside the record does not grow with the years. */
	holds(world.book->shares.nr <= record_nr(world.record));
	holds(world.book->restored.nr == 0);
	/* Those of pools that are gone are known as well, and lent by no share. */
	holds(nr_lent <= nr_known);
}

static void check_store(void)
{
	size_t nr_leased = 0;

	for (size_t i = 0; i < record_nr(world.record); i++) {
		const struct record_entry *entry = record_at(world.record, i);

		nr_leased += entry->state == RECORD_LEASED;
		if (entry->state == RECORD_READY || entry->state == RECORD_FILLING)
			holds(!idmap_get(&was_given, entry->id, NULL));
		if (is_lossy)
			continue;
		holds(world_keeps("region", entry->id));
		if (entry->state == RECORD_LEASED)
			holds(world_keeps("lifetime", entry->id));
	}
	if (!is_lossy)
		holds(world.nr_kept == 1 + record_nr(world.record) + nr_leased);
}

static void run_step(void)
{
	switch (random_below(13)) {
	case 0:
	case 1:
	case 2:
		step_lease();
		break;
	case 3:
	case 4:
		step_close();
		break;
	case 5:
		step_release();
		break;
	case 6:
	case 7:
		step_work();
		break;
	case 8:
		if (random_below(3) == 0)
			step_restart();
		break;
	case 9:
		/* It ends in the middle of something that comes next. */
		fake_end_after(random_below(4));
		(void) world_poll(random_below(2) * 5000000);
		if (!fake_has_ended())
			world_news();
		step_restart();
		break;
	case 10:
		world.quota.nr_leases = 1 + random_below(6);
		world.quota.bytes = (1 + random_below(8)) * SMALL;
		book_set_quota(world.book, &world.quota);
		break;
	case 11:
		/* Another kernel, so to speak: one that says, or one that does not. */
		is_unsure |= random_below(4) == 0;
		fake_memory_fail_probe(is_unsure && random_below(2) ? EOPNOTSUPP : 0);
		break;
	default:
		(void) world_poll(random_below(3) * 20000);
		break;
	}
	check_clients();
	check_books();
}

static void run_sequence(void)
{
	idmap_clear(&was_given);
	idmap_clear(&is_ended);
	is_lossy = is_unsure = false;
	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, SMALL, 4);
	(void) world_add_share("guests", 1, PLAN_PAGE_HUGETLB, LARGE, 2);
	world_start();
	fake_share_fill_all(world.shares[0]);
	fake_share_fill_all(world.shares[1]);
	for (unsigned n = 0; n < NR_STEPS; n++)
		run_step();
	world_news();
	check_store();
	/* All clients go, and nothing is left of it. */
	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	world_poll_out();
	holds(book_nr(world.book) == 0);
	check_store();
	world_end();
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

START_TEST(test_random_sequences_lose_no_lease_and_hand_out_nothing_twice)
{
	size_t nr_fds = world_nr_fds();
	uint64_t nr = number_of("NODEINIT_SEQUENCES", NR_SEQUENCES);

	seed = number_of("NODEINIT_SEED", (uint64_t) time(NULL));
	printf("NODEINIT_SEED=%llu\n", (unsigned long long) seed);
	(void) fflush(stdout);
	for (sequence = 0; sequence < nr; sequence++)
		run_sequence();
	idmap_clear(&was_given);
	idmap_clear(&is_ended);
	holds(world_nr_fds() == nr_fds);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-random");
	TCase *tcase = tcase_create("random");

	tcase_set_timeout(tcase, 280);
	tcase_add_test(tcase, test_random_sequences_lose_no_lease_and_hand_out_nothing_twice);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
