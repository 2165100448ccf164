/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source of all numbers: D-Bus specification, "Message Protocol" and "Authentication Protocol". */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../dbus/names.h"
#include "raw-client.h"

#define FDS_MAX 32

enum { FIELD_PATH = 1, FIELD_INTERFACE, FIELD_MEMBER, FIELD_DESTINATION = 6, FIELD_SIGNATURE = 8 };
enum { FIELD_UNIX_FDS = 9 };

/* A message as it is built, in the byte order of this machine. */
struct bytes {
	_Alignas(8) unsigned char data[1024];
	size_t nr;
};

static void pad(struct bytes *bytes, size_t alignment)
{
	while (bytes->nr % alignment)
		bytes->data[bytes->nr++] = 0;
}

static void put(struct bytes *bytes, const void *data, size_t nr)
{
	ck_assert_uint_lt(bytes->nr + nr, sizeof(bytes->data) - 8);
	memcpy(bytes->data + bytes->nr, data, nr);
	bytes->nr += nr;
}

static void put_u32(struct bytes *bytes, uint32_t number)
{
	pad(bytes, 4);
	put(bytes, &number, sizeof(number));
}

static void begin_field(struct bytes *bytes, unsigned char field, const char *type)
{
	const unsigned char length = 1;

	pad(bytes, 8);
	put(bytes, &field, 1);
	put(bytes, &length, 1);
	put(bytes, type, 2);
}

static void put_text_field(struct bytes *bytes, unsigned char field, const char *type,
                           const char *text)
{
	const unsigned char length = (unsigned char) strlen(text);

	begin_field(bytes, field, type);
	if (type[0] == 'g')
		put(bytes, &length, 1);
	else
		put_u32(bytes, length);
	put(bytes, text, strlen(text) + 1);
}

/* A call up to its body. @signature "": no body. */
static void build_head(struct bytes *bytes, uint32_t serial, const char *destination,
                       const char *path, const char *interface, const char *member,
                       const char *signature, uint32_t body_bytes, unsigned nr_fds)
{
	const uint16_t one = 1;
	const unsigned char start[] = { *(const unsigned char *) &one ? 'l' : 'B', 1, 0, 1 };
	uint32_t fields_bytes;

	bytes->nr = 0;
	put(bytes, start, sizeof(start));
	put_u32(bytes, body_bytes);
	put_u32(bytes, serial);
	put_u32(bytes, 0); /* the bytes of the fields, below */
	put_text_field(bytes, FIELD_PATH, "o", path);
	put_text_field(bytes, FIELD_INTERFACE, "s", interface);
	put_text_field(bytes, FIELD_MEMBER, "s", member);
	put_text_field(bytes, FIELD_DESTINATION, "s", destination);
	if (signature[0])
		put_text_field(bytes, FIELD_SIGNATURE, "g", signature);
	if (nr_fds) {
		begin_field(bytes, FIELD_UNIX_FDS, "u");
		put_u32(bytes, nr_fds);
	}
	fields_bytes = (uint32_t) bytes->nr - 16;
	memcpy(bytes->data + 12, &fields_bytes, sizeof(fields_bytes));
	pad(bytes, 8);
}

static void send_bytes(int socket_fd, struct bytes *bytes, int fd, unsigned nr_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {};
	struct iovec data = { bytes->data, bytes->nr };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	int fds[FDS_MAX];

	ck_assert_uint_le(nr_fds, FDS_MAX);
	for (unsigned i = 0; i < nr_fds; i++)
		fds[i] = fd;
	if (nr_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, nr_fds * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(socket_fd, &message, MSG_NOSIGNAL), (ssize_t) bytes->nr);
}

/* Send a line of the authentication, and read the line that answers it. */
static void authenticate(int socket_fd, const char *line, const char *answer)
{
	char got[256];
	size_t nr = 0;

	ck_assert_int_eq(send(socket_fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t) strlen(line));
	do {
		ck_assert_uint_lt(nr, sizeof(got) - 1);
		ck_assert_int_eq(recv(socket_fd, got + nr, 1, 0), 1);
	} while (got[nr++] != '\n');
	got[nr] = '\0';
	ck_assert_msg(strncmp(got, answer, strlen(answer)) == 0, "the bus says %s", got);
}

int raw_client_connect(const struct bus_fixture *fixture)
{
	static const char begin[] = "BEGIN\r\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char uid[16], line[80] = "AUTH EXTERNAL ";
	struct bytes hello;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", fixture->directory);
	ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	ck_assert_int_eq(send(fd, "", 1, MSG_NOSIGNAL), 1);

	(void) snprintf(uid, sizeof(uid), "%u", geteuid());
	for (const char *c = uid; *c; c++)
		(void) snprintf(line + strlen(line), 3, "%02x", (unsigned char) *c);
	(void) strcat(line, "\r\n");
	authenticate(fd, line, "OK ");
	authenticate(fd, "NEGOTIATE_UNIX_FD\r\n", "AGREE_UNIX_FD");
	ck_assert_int_gt(send(fd, begin, strlen(begin), MSG_NOSIGNAL), 0);

	build_head(&hello, 1, "org.freedesktop.DBus", "/org/freedesktop/DBus",
	           "org.freedesktop.DBus", "Hello", "", 0, 0);
	send_bytes(fd, &hello, -1, 0);
	return fd;
}

void raw_client_lease(int socket_fd, uint32_t serial, const char *path, int fd, unsigned nr_fds)
{
	static const char no_bytes[8], no_options[8]; /* an empty array, padded to its entries */
	struct bytes call;

	build_head(&call, serial, NODEINIT_BUS_NAME, path, NODEINIT_POOL_INTERFACE, "Lease",
	           "ta{sv}", sizeof(no_bytes) + sizeof(no_options), nr_fds);
	put(&call, no_bytes, sizeof(no_bytes));
	put(&call, no_options, sizeof(no_options));
	send_bytes(socket_fd, &call, fd, nr_fds);
}
