/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The descriptor is on its way in a socket that nobody reads, until the lease is over. */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

/* Room for one descriptor. */
struct parcel {
	char byte;
	struct iovec iov;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message;
};

static void parcel_init(struct parcel *parcel)
{
	memset(parcel, 0, sizeof(*parcel));
	parcel->iov = (struct iovec){ .iov_base = &parcel->byte, .iov_len = 1 };
	parcel->message = (struct msghdr){ .msg_iov = &parcel->iov,
		                           .msg_iovlen = 1,
		                           .msg_control = parcel->control.bytes,
		                           .msg_controllen = sizeof(parcel->control.bytes) };
}

static enum armed arm(struct hold *hold)
{
	struct parcel parcel;
	struct cmsghdr *header;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hold->fds) == 0);
	parcel_init(&parcel);
	header = CMSG_FIRSTHDR(&parcel.message);
	*header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
		                    .cmsg_level = SOL_SOCKET,
		                    .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(header), &hold->memory_fd, sizeof(int));
	must(sendmsg(hold->fds[0], &parcel.message, 0) == 1);
	hold->fds[0] = fd_close(hold->fds[0]);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	scoped(fd_closep) int fd = -1;
	struct parcel parcel;
	struct cmsghdr *header;

	parcel_init(&parcel);
	must(recvmsg(hold->fds[1], &parcel.message, MSG_CMSG_CLOEXEC) == 1);
	header = CMSG_FIRSTHDR(&parcel.message);
	must(header && header->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	hold->fds[0] = dup(fd);
	return attack_descriptor(hold, fd);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "socket", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
