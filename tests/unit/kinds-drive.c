/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kinds-drive.h"

#define ROUNDS_MAX 1000

void drive_open(struct drive *drive)
{
	*drive = (struct drive){ 0 };
	memory_model_reset();
	drive->model = kernel_model_new();
	kernel_model_add_page_size(drive->model, HUGE);
	kernel_model_add_page_size(drive->model, GIB);
	kernel_model_add_node(drive->model, DRIVE_NODE, "0-1", 16 * GIB);
	kernel_model_add_node(drive->model, 3, "2-3", 16 * GIB);
	atomic_store(&drive->last_region_id, 0);
	drive->context = (struct kind_context){
		.kernel = kernel_model_kernel(drive->model),
		.memory = &memory_model,
		.chunk_bytes = 64 * MIB,
		.nr_retries = 4,
		.last_region_id = &drive->last_region_id,
	};
	drive->node = (struct plan_node){
		.node_id = DRIVE_NODE,
		.exists = true,
		.shares = drive->planned,
	};
}

void drive_close(struct drive *drive)
{
	struct memory_model_counts counts;

	for (size_t i = 0; drive->shares && i < drive->node.nr_shares; i++)
		if (drive->shares[i])
			drive->shares[i]->ops->share_free(drive->shares[i]);
	free(drive->shares);
	drive->shares = NULL;
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_alive, 0);
	drive->model = kernel_model_free(drive->model);
}

struct plan_pool *drive_add(struct drive *drive, enum pool_kind kind, enum plan_page page,
                            uint64_t page_bytes, uint64_t early_bytes, uint64_t deferred_bytes,
                            uint64_t region_bytes)
{
	size_t i = drive->node.nr_shares++;
	struct plan_pool *pool = &drive->pools[i];

	ck_assert_uint_lt(i, DRIVE_SHARES_MAX);
	*pool = (struct plan_pool){
		.kind = kind,
		.page = page,
		.page_bytes = page_bytes,
		.region_bytes = region_bytes,
	};
	drive->planned[i] = (struct plan_share){
		.pool = pool,
		.node_id = DRIVE_NODE,
		.unit_bytes = region_bytes ? region_bytes : page_bytes,
		.declared_bytes = early_bytes + deferred_bytes,
		.early_bytes = early_bytes,
		.deferred_bytes = deferred_bytes,
	};
	return pool;
}

void drive_make(struct drive *drive)
{
	ck_assert_int_eq(shares_new(&drive->context, &drive->node, NULL, 0, &drive->shares), 0);
}

int drive_round(struct part *part, bool is_cancelled)
{
	const struct kind_ops *ops = part->share->ops;
	int r;

	do
		r = ops->prepare(part);
	while (r == 1);
	for (uint64_t i = 0; r == 0 && i < part->nr_chunks; i++)
		r = ops->run_chunk(part, i);
	return ops->finish(part, is_cancelled);
}

unsigned drive_part(struct part *part)
{
	for (unsigned nr_rounds = 1; nr_rounds <= ROUNDS_MAX; nr_rounds++)
		if (drive_round(part, false) == 0)
			return nr_rounds;
	ck_abort_msg("the part never settles");
	return 0;
}

void drive_all(struct drive *drive)
{
	for (unsigned stage = 0; stage < NR_STAGES; stage++)
		for (size_t i = 0; i < drive->node.nr_shares; i++)
			if (drive->shares[i] && drive->shares[i]->parts[stage].want_bytes > 0)
				(void) drive_part(&drive->shares[i]->parts[stage]);
}

struct share_status drive_status(const struct share *share)
{
	struct share_status status;

	share->ops->share_read(share, &status);
	return status;
}

uint64_t drive_pages(struct drive *drive, unsigned node_id, uint64_t page_bytes)
{
	return kernel_model_pages(drive->model, node_id, page_bytes).nr_pages;
}

struct region_counts drive_regions(struct share *share)
{
	struct region_counts counts;

	region_count_states(share, &counts);
	return counts;
}

uint64_t drive_lend(struct share *share)
{
	uint64_t id, bytes;

	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), 0);
	return id;
}

struct share *drive_full_share(struct drive *drive, uint64_t region_bytes, enum plan_page page,
                               uint64_t early_bytes, uint64_t deferred_bytes)
{
	drive_add(drive, POOL_REGION, page, page == PLAN_PAGE_BASE ? 4096 : HUGE, early_bytes,
	          deferred_bytes, region_bytes);
	drive_make(drive);
	drive_all(drive);
	ck_assert_uint_eq(drive_status(drive->shares[0]).done_bytes, early_bytes + deferred_bytes);
	return drive->shares[0];
}

void drive_refill(struct share *share)
{
	for (unsigned i = 0; i < NR_STAGES; i++)
		if (share->parts[i].want_bytes > 0)
			(void) drive_part(&share->parts[i]);
}

struct memory_model_counts drive_counts(void)
{
	struct memory_model_counts counts;

	memory_model_counts(&counts);
	return counts;
}
