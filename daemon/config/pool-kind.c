/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool-kind.h"

#include <errno.h>
#include <string.h>

struct kind_row {
	const char *text;
	const char *section;
	bool is_available; /* else the words are kept, and files that use them are refused */
};

static const struct kind_row rows[] = {
	[POOL_BLOCK] = { "block", "Block", false },
	[POOL_HUGETLB] = { "hugetlb", "Hugetlb", true },
	[POOL_REGION] = { "region", "Region", true },
	[POOL_REPLICA] = { "replica", "Replica", false },
};

const char *pool_kind_text(enum pool_kind kind)
{
	return rows[kind].text;
}

const char *pool_kind_section(enum pool_kind kind)
{
	return rows[kind].section;
}

const char *pool_kinds_text(void)
{
	return "region, hugetlb";
}

int pool_kind_parse(const char *text, enum pool_kind *ret)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		if (strcmp(rows[i].text, text) != 0)
			continue;
		if (!rows[i].is_available)
			return -ENOTSUP;
		*ret = (enum pool_kind) i;
		return 0;
	}
	return -EINVAL;
}
