/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kind block: offline memory blocks of the node, brought online one after the other. */
#include <errno.h>

#include "kind.h"

static int block_share_new(struct share **ret)
{
	(void) ret;
	return -EOPNOTSUPP;
}

const struct kind_ops block_ops = {
	.name = "block",
	.comes_first = true,
	.share_new = block_share_new,
};
