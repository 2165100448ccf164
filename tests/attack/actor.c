/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../daemon/base/scoped.h"
#include "actor.h"

#define LIMIT_MSEC  20000
#define EXIT_BROKEN 99

void must_at(bool is_true, const char *what, const char *file, int line)
{
	if (is_true)
		return;
	(void) fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerror(errno));
	_exit(EXIT_BROKEN);
}

static _Noreturn void obey_until_the_end(int socket, actor_fn obey, void *arg)
{
	char order;

	while (read(socket, &order, sizeof(order)) == sizeof(order)) {
		int answer = obey(arg, order);

		if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

void actor_start(struct actor *actor, actor_fn obey, void *arg)
{
	int sockets[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	(void) fflush(NULL);
	actor->pid = fork();
	must(actor->pid >= 0);
	if (actor->pid == 0) {
		/* Check and the sanitizers have their own ideas of what these are for. */
		(void) signal(SIGTERM, SIG_DFL);
		(void) signal(SIGINT, SIG_DFL);
		(void) signal(SIGBUS, SIG_DFL);
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) close(sockets[0]);
		obey_until_the_end(sockets[1], obey, arg);
	}
	(void) close(sockets[1]);
	actor->socket = sockets[0];
	actor->signal = 0;
	actor->pid_fd = (int) syscall(SYS_pidfd_open, actor->pid, 0);
	must(actor->pid_fd >= 0);
}

/* Its end is known: take note of how. */
static int bury(struct actor *actor)
{
	int status;

	must(waitpid(actor->pid, &status, 0) == actor->pid);
	actor->pid = 0;
	actor->socket = fd_close(actor->socket);
	actor->pid_fd = fd_close(actor->pid_fd);
	if (!WIFSIGNALED(status))
		return ACTOR_BROKEN;
	actor->signal = WTERMSIG(status);
	return ACTOR_KILLED;
}

int actor_ask(struct actor *actor, char order)
{
	struct pollfd fds[2] = { { .fd = actor->socket, .events = POLLIN },
		                 { .fd = actor->pid_fd, .events = POLLIN } };
	int answer;

	if (actor->pid == 0)
		return actor->signal ? ACTOR_KILLED : ACTOR_BROKEN;
	/* To one that is dead it is not delivered, which poll shows. */
	(void) send(actor->socket, &order, sizeof(order), MSG_NOSIGNAL);
	must(poll(fds, 2, LIMIT_MSEC) > 0);
	if (recv(actor->socket, &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer))
		return answer;
	return bury(actor);
}

void actor_tell(struct actor *actor, char order)
{
	must(send(actor->socket, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order));
}

void actor_kill(struct actor *actor)
{
	if (actor->pid == 0)
		return;
	(void) kill(actor->pid, SIGKILL);
	(void) bury(actor);
}

void actor_end(struct actor *actor)
{
	struct pollfd end = { .fd = actor->pid_fd, .events = POLLIN };

	if (actor->pid == 0)
		return;
	(void) shutdown(actor->socket, SHUT_RDWR);
	if (poll(&end, 1, LIMIT_MSEC) != 1)
		(void) kill(actor->pid, SIGKILL);
	(void) bury(actor);
}
