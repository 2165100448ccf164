/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fdstore.h - the service manager's store of descriptors
 *
 * Layer: top. Threads: main. Source of the messages: sd_pid_notify_with_fds(3), "FDSTORE=1", and
 * sd_listen_fds(3). The store is asked not to look at the descriptors (FDPOLL=0): it would drop the
 * end of a lease just when that is the news.
 *
 * Both calls block while the service manager's socket is full, as sd_notify(3) does: a manager that
 * does not read stops the main loop, though not the workers. What is sent has been taken, not done.
 * Neither needs a free descriptor (service-socket.h).
 */
#pragma once

#include <stddef.h>

#include "base/scoped.h"
#include "lease/store.h"

/* What an earlier process of this service left. */
struct fdstore {
	int *fds;
	char **names;
	size_t nr;
};

/*
 * Take what the service manager gave to this process; the environment does not say so any more
 * afterwards. To be called once, before any other descriptor is opened. Return: 0 and *ret, which
 * fdstore_clear() frees (not the descriptors); -ENOMEM, -errno.
 */
int fdstore_inherit(struct fdstore *ret);
void fdstore_clear(struct fdstore *inherited);

/* The store of this service; NULL without NOTIFY_SOCKET: then there is none. Static. */
const struct store_ops *fdstore_ops(void);
