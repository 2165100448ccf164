/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>

#include "../base/size.h"
#include "hugepages.h"

/* The pool of one page size on one node. The kernel names the size in kB. */
#define POOL_FORMAT                  "/sys/devices/system/node/node%u/hugepages/hugepages-%" PRIu64 "kB/%s"
#define POOL_PATH(node, bytes, file) POOL_FORMAT, (node), (bytes) / KIB, (file)

int hugepages_read(struct kernel *kernel, unsigned node_id, uint64_t page_bytes,
                   struct hugepages_count *ret)
{
	struct hugepages_count count;
	int r;

	r = kernel_read_u64(kernel, &count.nr_pages,
	                    POOL_PATH(node_id, page_bytes, "nr_hugepages"));
	if (r < 0)
		return r;
	r = kernel_read_u64(kernel, &count.free_pages,
	                    POOL_PATH(node_id, page_bytes, "free_hugepages"));
	if (r < 0)
		return r;
	r = kernel_read_u64(kernel, &count.surplus_pages,
	                    POOL_PATH(node_id, page_bytes, "surplus_hugepages"));
	/* Gigantic pages have no surplus on some kernels, hand-written trees no such file. */
	if (r == -ENOENT)
		count.surplus_pages = 0;
	else if (r < 0)
		return r;
	*ret = count;
	return 0;
}

int hugepages_write(struct kernel *kernel, unsigned node_id, uint64_t page_bytes, uint64_t nr_pages)
{
	return kernel_write_u64(kernel, nr_pages, POOL_PATH(node_id, page_bytes, "nr_hugepages"));
}

int hugepages_compact(struct kernel *kernel, unsigned node_id)
{
	return kernel_write_u64(kernel, 1, "/sys/devices/system/node/node%u/compact", node_id);
}
