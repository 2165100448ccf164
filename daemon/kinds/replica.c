/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kind replica: copies of files on the node. */
#include <errno.h>

#include "kind.h"
#include "replica.h"

static int replica_share_new(struct share **ret)
{
	(void) ret;
	return -EOPNOTSUPP;
}

const struct kind_ops replica_ops = {
	.name = "replica",
	.share_new = replica_share_new,
};

int replica_base_open(const char *directory, struct replica_base **ret)
{
	(void) directory;
	*ret = NULL;
	return 0;
}

void replica_base_allow_directories(struct replica_base *base)
{
	(void) base;
}

void replica_base_clean(struct replica_base *base)
{
	(void) base;
}

struct replica_base *replica_base_free(struct replica_base *base)
{
	(void) base;
	return NULL;
}
