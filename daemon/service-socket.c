/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/scoped.h"
#include "service-socket.h"

/* Not connected: the service manager may make its end anew, under the same address. */
static int kept_fd = -1;

void service_socket_open(void)
{
	if (getenv("NOTIFY_SOCKET"))
		kept_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void service_socket_close(void)
{
	kept_fd = fd_close(kept_fd);
}

/* Return: whether @text is an address that we know how to reach. */
static bool read_address(const char *text, struct sockaddr_un *ret, socklen_t *ret_bytes)
{
	bool is_abstract = text[0] == '@';
	size_t bytes = strlen(text);

	if ((text[0] != '/' && !is_abstract) || bytes >= sizeof(ret->sun_path))
		return false;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, text, bytes);
	if (is_abstract)
		ret->sun_path[0] = '\0';
	/* an abstract address has no end of its own */
	*ret_bytes = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + bytes + !is_abstract);
	return true;
}

static int send_kept(struct sockaddr_un *address, socklen_t address_bytes, const char *text, int fd)
{
	union {
		struct cmsghdr header; /* for its alignment */
		char bytes[CMSG_SPACE(sizeof(fd))];
	} control = { .bytes = { 0 } };
	struct iovec iov = { (char *) text, strlen(text) };
	struct msghdr message = {
		.msg_name = address,
		.msg_namelen = address_bytes,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	if (fd >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(kept_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int service_socket_send(const char *text, int fd)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t address_bytes;
	int r;

	if (kept_fd >= 0 && name && read_address(name, &address, &address_bytes))
		return send_kept(&address, address_bytes, text, fd);
	r = sd_pid_notify_with_fds(0, 0, text, &fd, fd >= 0);
	return r < 0 ? r : 0;
}
