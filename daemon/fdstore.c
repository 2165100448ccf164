/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "fdstore.h"
#include "service-socket.h"

/* Names that we did not choose are taken out, too: of 255 characters at most, sd_notify(3). */
#define MESSAGE_BYTES_MAX 320

int fdstore_inherit(struct fdstore *ret)
{
	char **names = NULL;
	int *fds;
	int nr;

	nr = sd_listen_fds_with_names(1, &names);
	if (nr < 0)
		return nr;
	fds = calloc((size_t) nr + 1, sizeof(*fds));
	if (!fds) {
		*ret = (struct fdstore){ .names = names, .nr = (size_t) nr };
		fdstore_clear(ret);
		return -ENOMEM;
	}
	for (int i = 0; i < nr; i++)
		fds[i] = SD_LISTEN_FDS_START + i;
	*ret = (struct fdstore){ fds, names, (size_t) nr };
	return 0;
}

void fdstore_clear(struct fdstore *inherited)
{
	for (size_t i = 0; i < inherited->nr; i++)
		free(inherited->names[i]);
	free(inherited->names);
	free(inherited->fds);
	*inherited = (struct fdstore){ 0 };
}

static int put(void *arg, const char *name, int fd)
{
	char message[MESSAGE_BYTES_MAX];

	(void) arg;
	(void) snprintf(message, sizeof(message), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
	return service_socket_send(message, fd);
}

static void take_out(void *arg, const char *name)
{
	char message[MESSAGE_BYTES_MAX];

	(void) arg;
	(void) snprintf(message, sizeof(message), "FDSTOREREMOVE=1\nFDNAME=%s", name);
	(void) service_socket_send(message, -1);
}

const struct store_ops *fdstore_ops(void)
{
	static const struct store_ops ops = { .put = put, .remove = take_out };
	const char *socket = getenv("NOTIFY_SOCKET");

	return socket && *socket ? &ops : NULL;
}
