/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "block-record.h"

int block_record_open(const char *path, struct block_record **ret, bool *ret_is_damaged)
{
	(void) path;
	*ret = NULL;
	if (ret_is_damaged)
		*ret_is_damaged = false;
	return 0;
}

struct block_record *block_record_free(struct block_record *record)
{
	(void) record;
	return NULL;
}

int block_record_add(struct block_record *record, uint64_t block)
{
	(void) record, (void) block;
	return 0;
}

void block_record_remove(struct block_record *record, uint64_t block)
{
	(void) record, (void) block;
}

bool block_record_find(const struct block_record *record, uint64_t block,
                       struct block_record_entry *ret)
{
	(void) record, (void) block, (void) ret;
	return false;
}

void block_record_set_ours(struct block_record *record, uint64_t block, bool is_ours)
{
	(void) record, (void) block, (void) is_ours;
}

void block_record_set_given_up(struct block_record *record, uint64_t block, bool is_given_up)
{
	(void) record, (void) block, (void) is_given_up;
}

void block_record_begin_anew(struct block_record *record)
{
	(void) record;
}

size_t block_record_nr(const struct block_record *record)
{
	(void) record;
	return 0;
}

int block_record_save(struct block_record *record)
{
	(void) record;
	return 0;
}
