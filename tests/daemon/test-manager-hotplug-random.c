/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random sequences of what a kernel, udev and people do to memory blocks, on a scripted kernel.
 * What has to hold is looked at whenever all has come to rest:
 *
 *     every block is online, or missing with a word, or left to who took it offline
 *     what is said to be in service is what is online in the right zone, in one share each
 *     it is never ready while memory that is required is not there
 *     no block is written to that somebody has taken offline, unless a Retry was asked for
 *
 * $HOTPLUG_SEEDS="FIRST NUMBER" plays other sequences than the usual ones.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/hotplug.h"
#include "../../daemon/kinds/block-share.h"
#include "../../daemon/machine/block-record.h"
#include "../../daemon/manager-state.h"
#include "../../daemon/pieces.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "manager-scene.h"
#include "suite.h"

#define BLOCK_BYTES (128 * MIB)
#define NR_NODES    3
#define BOOT_BLOCKS 4
#define NODE_BLOCKS 12 /* with those of boot */
#define NR_BLOCKS   (NR_NODES * NODE_BLOCKS)
#define NR_DEEDS    16
#define USUAL_SEEDS 300
#define USUAL_USEC  (UINT64_C(15) * 1000000) /* and no more after that */

/* What the other side knows of a block. */
static struct truth {
	bool is_there;
	bool is_taken;   /* somebody took it offline, and nobody has said that it may come back */
	bool was_taken;  /* the same, or somebody has said so */
	bool was_online; /* when all had come to rest the last time */
	bool was_unplugged; /* since then */
	bool was_hampered;  /* a failure, a rival or a zone was scripted: it need not come online */
	unsigned zones;
} truths[NR_BLOCKS];

static unsigned seed, first_seed;
static bool has_node[NR_NODES];
static bool takes_everything; /* one pool of all blocks of all nodes, wherever they can go */
static size_t nr_seen_writes;
static char story[16 * 1024]; /* what was done, for who has to find out what went wrong */

static unsigned any(unsigned nr)
{
	return (unsigned) rand_r(&seed) % nr;
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t used = strlen(story);
	va_list args;

	va_start(args, format);
	(void) vsnprintf(story + used, sizeof(story) - used, format, args);
	va_end(args);
}

#define expect(is_so, ...)                                             \
	do {                                                           \
		if (!(is_so)) {                                        \
			tell("\n=> ");                                 \
			tell(__VA_ARGS__);                             \
			ck_abort_msg("seed %u:%s", first_seed, story); \
		}                                                      \
	} while (0)

static unsigned node_of(unsigned i)
{
	return i / NODE_BLOCKS;
}

static void event(const char *action, unsigned i)
{
	char name[32];

	(void) snprintf(name, sizeof(name), "memory%u", i);
	hotplug_event("memory", action, name, manager);
}

static bool is_in_zone(unsigned i, enum pool_zone zone)
{
	unsigned found = kernel_model_block_zone(model, i);

	return zone == POOL_ZONE_AUTO ||
	       found == (zone == POOL_ZONE_KERNEL ? MODEL_ZONE_NORMAL : MODEL_ZONE_MOVABLE);
}

/* --- what has to hold --- */

/* A write tells of the block's last state only: who wrote before it was taken is not to blame. */
static void check_writes(void)
{
	size_t nr_writes = kernel_model_nr_block_writes(model);

	for (; nr_seen_writes < nr_writes; nr_seen_writes++) {
		uint64_t block = kernel_model_block_write(model, nr_seen_writes, NULL);

		tell(" wrote(%" PRIu64 ")", block);
		expect(!truths[block].is_taken, "a write to %" PRIu64 ", which was taken offline",
		       block);
	}
}

static void check_share(const struct managed_pool *pool, const struct managed_share *share,
                        bool *is_listed)
{
	uint64_t online_bytes = 0;

	for (size_t n = 0; n < share->nr_pieces; n++) {
		const struct block_share *blocks =
			(const struct block_share *) share->pieces[n].share;

		for (size_t k = 0; k < blocks->nr_items; k++) {
			const struct block_item *item = &blocks->items[k];
			unsigned i = (unsigned) item->wanted.block;
			bool is_online = truths[i].is_there &&
			                 kernel_model_block_state(model, i) == MODEL_BLOCK_ONLINE;

			expect(truths[i].is_there, "pool %s has %u, which is not there", pool->name,
			       i);
			expect(!is_listed[i], "%u is in two shares", i);
			is_listed[i] = true;
			if (is_online && is_in_zone(i, item->wanted.zone))
				online_bytes += BLOCK_BYTES;
			else
				expect(item->reason != REASON_NONE,
				       "pool %s lacks %u without a word", pool->name, i);
		}
	}
	expect(share->done_bytes == online_bytes,
	       "pool %s, node %u: %" PRIu64 " blocks are in service, %" PRIu64 " online",
	       pool->name, share->node_id, share->done_bytes / BLOCK_BYTES,
	       online_bytes / BLOCK_BYTES);
	expect(!manager->is_ready || !pool->is_required || online_bytes >= share->minimum_bytes,
	       "ready, but pool %s has %" PRIu64 " of %" PRIu64 " blocks on node %u", pool->name,
	       online_bytes / BLOCK_BYTES, share->minimum_bytes / BLOCK_BYTES, share->node_id);
}

static void check_blocks(const bool *is_listed)
{
	uint64_t nr_online[NR_NODES] = { 0 }, nr_there[NR_NODES] = { 0 };

	for (unsigned i = 0; i < NR_BLOCKS; i++) {
		struct truth *truth = &truths[i];
		struct block_record_entry entry = { 0 };
		bool is_online;

		truth->was_online = truth->was_unplugged = false;
		if (!truth->is_there)
			continue;
		nr_there[node_of(i)]++;
		is_online = kernel_model_block_state(model, i) == MODEL_BLOCK_ONLINE;
		nr_online[node_of(i)] += is_online;
		truth->was_online = is_online;
		if (is_online || !takes_everything ||
		    kernel_model_block_state(model, i) != MODEL_BLOCK_OFFLINE)
			continue;
		(void) block_record_find(manager->context.block_record, i, &entry);
		expect(!entry.is_left || truth->was_taken, "%u is left to nobody", i);
		if (entry.is_left || truth->zones == 0)
			continue;
		expect(is_listed[i], "%u is offline and forgotten", i);
		expect(truth->is_taken || truth->was_hampered, "%u could be online and is not", i);
	}
	for (unsigned n = 0; n < NR_NODES; n++) {
		const struct managed_node *node = inventory_node(&manager->inventory, n);

		expect(!node || (node->nr_blocks == nr_there[n] &&
		                 node->nr_online_blocks == nr_online[n]),
		       "node %u: %" PRIu64 " of %" PRIu64 " blocks are said to be online, %" PRIu64
		       " of %" PRIu64 " are",
		       n, node->nr_online_blocks, node->nr_blocks, nr_online[n], nr_there[n]);
	}
}

static void check_all(void)
{
	bool is_listed[NR_BLOCKS] = { false };

	check_writes();
	for (size_t i = 0; i < manager->inventory.nr_pools; i++) {
		struct managed_pool *pool = &manager->inventory.pools[i];

		for (size_t k = 0; pool->kind == POOL_BLOCK && k < pool->nr_shares; k++)
			check_share(pool, &pool->shares[k], is_listed);
	}
	check_blocks(is_listed);
}

/* --- time passes --- */

static bool is_at_rest(void)
{
	for (unsigned n = 0; n < NR_NODES; n++)
		if (inventory_node(&manager->inventory, n) &&
		    pieces_are_walk_due(&manager->inventory, n))
			return false; /* the bell of its worker rings yet */
	return !ev_is_active(&manager->rescan) && !manager->has_memory_left &&
	       !manager->has_memory_come && !inventory_is_busy(&manager->inventory);
}

static void turn(void)
{
	/* nobody waits for events to gather */
	if (ev_is_active(&manager->rescan))
		ev_feed_event(loop, &manager->rescan, EV_TIMER);
	(void) ev_run(loop, EVRUN_NOWAIT);
	manager_look(manager);
}

/* What we have brought online comes back as an event, too. */
static bool echo_writes(size_t first)
{
	size_t nr_writes = kernel_model_nr_block_writes(model);
	bool is_any = first < nr_writes;

	for (; first < nr_writes; first++) {
		unsigned i = (unsigned) kernel_model_block_write(model, first, NULL);

		if (truths[i].is_there && kernel_model_block_state(model, i) == MODEL_BLOCK_ONLINE)
			event("online", i);
	}
	return is_any;
}

static void come_to_rest(void)
{
	uint64_t end_usec = clock_monotonic_usec() + LIMIT_USEC;
	size_t nr_echoed = nr_seen_writes;

	do {
		turn();
		while (!is_at_rest()) {
			expect(clock_monotonic_usec() < end_usec, "never at rest");
			(void) sched_yield(); /* to the workers, whose end is waited for */
			turn();
		}
		echo_writes(nr_echoed);
		nr_echoed = kernel_model_nr_block_writes(model);
	} while (!is_at_rest());
	(void) daemon_was_notified(&d, "");
	tell(" |");
	check_all();
}

/* --- what is done --- */

static void plug(unsigned i)
{
	static const unsigned zones[] = { MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE,
		                          MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE,
		                          MODEL_ZONE_NORMAL,
		                          MODEL_ZONE_MOVABLE,
		                          MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE |
		                                  MODEL_ZONE_MOVABLE_FIRST,
		                          0 };

	/* What is unplugged and back before that is seen counts as taken offline, at worst. */
	truths[i] = (struct truth){
		.is_there = true,
		.was_hampered = truths[i].was_unplugged,
		.zones = zones[any(ELEMENTS(zones))],
	};
	kernel_model_add_block(model, node_of(i), i, truths[i].zones);
	tell(" plug(%u)", i);
}

/* One that nobody wants online while somebody works at it. */
static void hamper(unsigned i)
{
	static const int errors[] = { EBUSY, EAGAIN, EINVAL, ENOMEM, EHWPOISON, EIO, EPERM, 0 };
	static const enum model_deed deeds[] = { MODEL_ONLINES_NORMAL, MODEL_ONLINES_MOVABLE };

	truths[i].was_hampered = true;
	if (any(2)) {
		int error = errors[any(ELEMENTS(errors))];
		unsigned nr = any(3) ? 1 + any(2) : UINT_MAX;

		kernel_model_fail_block(model, i, nr, error);
		tell(" fail(%u,%u,%d)", i, nr, error);
	} else {
		enum model_deed deed = deeds[any(ELEMENTS(deeds))];

		kernel_model_add_block_rival(model, i, MODEL_BEFORE_WRITE, deed);
		tell(" rival(%u,%d)", i, (int) deed);
	}
}

static void online(unsigned i)
{
	if (kernel_model_block_state(model, i) != MODEL_BLOCK_OFFLINE)
		return;
	kernel_model_do_block(model, i, any(2) ? MODEL_ONLINES_NORMAL : MODEL_ONLINES_MOVABLE);
	truths[i].is_taken = truths[i].was_taken = false;
	tell(" online(%u)", i);
	event("online", i);
}

/* New shares look at every block once: who takes one offline meanwhile is part of a race. */
static void begin_work(void)
{
	for (unsigned i = 0; i < NR_BLOCKS; i++)
		truths[i].was_online = false;
}

/* Of those only that nobody is at work with: what comes first in a race is nobody's fault. */
static void offline(unsigned i)
{
	if (!truths[i].was_online || kernel_model_block_state(model, i) == MODEL_BLOCK_OFFLINE)
		return;
	inventory_look(&manager->inventory, clock_monotonic_usec());
	if (inventory_is_busy(&manager->inventory))
		come_to_rest();
	if (any(4) == 0) {
		kernel_model_do_block(model, i, MODEL_BEGINS_TO_OFFLINE);
		tell(" going(%u)", i);
		turn();
	}
	check_writes();
	kernel_model_do_block(model, i, MODEL_OFFLINES);
	truths[i].is_taken = truths[i].was_taken = true;
	tell(" offline(%u)", i);
	event("offline", i);
}

static void unplug(unsigned i)
{
	if (kernel_model_block_state(model, i) != MODEL_BLOCK_OFFLINE) {
		kernel_model_do_block(model, i, MODEL_OFFLINES);
		event("offline", i);
	}
	check_writes();
	kernel_model_do_block(model, i, MODEL_UNPLUGS);
	truths[i] = (struct truth){ .was_unplugged = true };
	tell(" unplug(%u)", i);
	if (any(4) == 0) {
		plug(i);
		event("remove", i);
		event("add", i);
		return;
	}
	event("remove", i);
}

static void add_node(void)
{
	if (has_node[2])
		return;
	has_node[2] = true;
	kernel_model_add_node(model, 2, "", 0);
	tell(" node2");
	for (unsigned i = 2 * NODE_BLOCKS; i < 2 * NODE_BLOCKS + 3; i++) {
		plug(i);
		event("add", i);
	}
	hotplug_event("node", "add", "node2", manager);
}

/* A Retry is meant for what the pool has, and for no other block. */
static void may_come_back(const struct block_share *blocks)
{
	for (size_t i = 0; i < blocks->nr_items; i++)
		truths[blocks->items[i].wanted.block].is_taken = false;
}

static void retry(void)
{
	come_to_rest();
	for (unsigned n = 0; n < NR_NODES; n++) {
		const struct managed_share *share = share_of("one", n);

		for (size_t k = 0; share && k < share->nr_pieces; k++)
			may_come_back((const struct block_share *) share->pieces[k].share);
	}
	begin_work();
	tell(" retry");
	(void) bus_call_pool("one", "Retry");
	come_to_rest(); /* a Reload that brings another list takes a Retry's share away */
}

static void remove_if_there(const char *name)
{
	char path[160];

	(void) snprintf(path, sizeof(path), "%s/pools.d/%s.pool", d.directory, name);
	(void) unlink(path);
}

static void write_config(void)
{
	static const char *const sizes[] = { "", "Size=50%\n", "Size=384M\n", "Size=128M\n",
		                             "Size=25%\nMinimum=0\n" };
	static const char *const nodes[] = { "", "Nodes=1\n", "Nodes=0-1\n", "Nodes=1-2\n" };
	static const char *const zones[] = { "auto", "kernel", "movable" };
	char text[256];

	takes_everything = any(2) == 0;
	(void) snprintf(text, sizeof(text), "[Daemon]\nReserve=64M\nRetry=%u\nSettleTimeout=%s\n",
	                any(128) == 0, any(2) ? "30s" : "0");
	daemon_write_conf(&d, text);
	remove_if_there("two");
	remove_if_there("pages");
	if (takes_everything)
		(void) snprintf(text, sizeof(text), "[Pool]\nKind=block\n");
	else
		(void) snprintf(text, sizeof(text), "[Pool]\nKind=block\n%s%s[Block]\nZone=%s\n",
		                sizes[any(ELEMENTS(sizes))], nodes[any(ELEMENTS(nodes))],
		                zones[any(ELEMENTS(zones))]);
	daemon_write_pool(&d, "one", text);
	tell(" config{%s}", text);
	if (!takes_everything && any(2)) {
		(void) snprintf(text, sizeof(text),
		                "[Pool]\nKind=block\nRequired=%s\n%s[Block]\nZone=%s\n",
		                any(2) ? "yes" : "no", sizes[any(ELEMENTS(sizes))],
		                zones[any(ELEMENTS(zones))]);
		daemon_write_pool(&d, "two", text);
		tell(" two{%s}", text);
	}
	if (any(3) == 0)
		daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=25%\n");
}

static void reload(void)
{
	if (any(2))
		write_config();
	begin_work();
	tell(" reload");
	(void) manager_reload(manager, NULL);
}

static void restart(void)
{
	come_to_rest();
	tell(" restart");
	manager_freep(&manager);
	manager = NULL;
	begin_work();
	start();
}

static void deed(void)
{
	unsigned i = any(NR_BLOCKS);
	unsigned what = any(20);

	if (what == 0) {
		retry();
	} else if (what == 1) {
		reload();
	} else if (what == 2) {
		restart();
	} else if (what == 3) {
		add_node();
	} else if (!has_node[node_of(i)]) {
		return;
	} else if (!truths[i].is_there) {
		plug(i);
		if (any(3) == 0)
			hamper(i);
		event("add", i);
	} else if (what < 7) {
		hamper(i);
	} else if (what < 10) {
		online(i);
	} else if (what < 15) {
		offline(i);
	} else {
		unplug(i);
	}
}

static void begin(void)
{
	char path[160];

	(void) snprintf(path, sizeof(path), "%s/blocks", d.directory);
	(void) unlink(path);
	memset(truths, 0, sizeof(truths));
	memset(has_node, 0, sizeof(has_node));
	nr_seen_writes = 0;
	story[0] = '\0';
	kernel_model_freep(&model);
	model = kernel_model_new();
	kernel_model_add_page_size(model, HUGE_BYTES);
	kernel_model_set_block_bytes(model, BLOCK_BYTES);
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-2\n");
	for (unsigned n = 0; n < 2; n++) {
		has_node[n] = true;
		kernel_model_add_node(model, n, n == 0 ? "0-1" : "2-3", 0);
		for (unsigned i = n * NODE_BLOCKS; i < (n + 1) * NODE_BLOCKS; i++) {
			if (i % NODE_BLOCKS >= BOOT_BLOCKS && any(2))
				continue;
			plug(i);
			if (i % NODE_BLOCKS < BOOT_BLOCKS)
				kernel_model_do_block(model, i, MODEL_ONLINES_NORMAL);
			else if (any(4) == 0)
				hamper(i);
		}
	}
	write_config();
}

static void play(unsigned of_seed)
{
	seed = first_seed = of_seed;
	begin();
	start();
	if (any(2))
		come_to_rest();
	for (unsigned k = 0; k < NR_DEEDS; k++) {
		deed();
		if (any(2))
			come_to_rest();
		else if (any(2))
			turn();
	}
	come_to_rest();
	manager_freep(&manager);
	manager = NULL;
}

START_TEST(test_random_sequences)
{
	const char *seeds = getenv("HOTPLUG_SEEDS");
	uint64_t end_usec = seeds ? UINT64_MAX : clock_monotonic_usec() + USUAL_USEC;
	unsigned first = 1, nr = USUAL_SEEDS;

	run_directory_of_manager = d.directory;
	if (seeds)
		ck_assert_int_eq(sscanf(seeds, "%u %u", &first, &nr), 2);
	for (unsigned i = 0; i < nr && clock_monotonic_usec() < end_usec; i++)
		play(first + i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-hotplug-random");
	TCase *tcase = tcase_create("random");

	bus_fixture_require();
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, getenv("HOTPLUG_SEEDS") ? 36000 : 240);
	tcase_add_test(tcase, test_random_sequences);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
