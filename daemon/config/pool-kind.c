/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool-kind.h"

#include <errno.h>
#include <string.h>

struct kind_row {
	const char *text;
	const char *section;
};

static const struct kind_row rows[] = {
	[POOL_BLOCK] = { "block", "Block" },
	[POOL_HUGETLB] = { "hugetlb", "Hugetlb" },
	[POOL_REGION] = { "region", "Region" },
	[POOL_REPLICA] = { "replica", "Replica" },
};

const char *pool_kind_text(enum pool_kind kind)
{
	return rows[kind].text;
}

const char *pool_kind_section(enum pool_kind kind)
{
	return rows[kind].section;
}

bool pool_kind_has_pages(enum pool_kind kind)
{
	return kind == POOL_HUGETLB || kind == POOL_REGION;
}

const char *pool_kinds_text(void)
{
	return "block, hugetlb, region, replica";
}

int pool_kind_parse(const char *text, enum pool_kind *ret)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		if (strcmp(rows[i].text, text) != 0)
			continue;
		*ret = (enum pool_kind) i;
		return 0;
	}
	return -EINVAL;
}
