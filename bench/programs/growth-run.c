/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * growth-run - what a command takes: time, CPU time and the most memory
 *
 *     growth-run COMMAND...
 *
 * Prints "SECONDS CPU_SECONDS KIB"; what the command prints is dropped. A process of its own, for a
 * process inherits the peak of the one that forked it, and an interpreter's is larger than most.
 * Exit status: the command's; 126 it cannot be run, or a signal has ended it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_USAGE = 2, STATUS_NOT_RUN = 126 };

static double now_seconds(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static double seconds_of(const struct timeval *time)
{
	return (double) time->tv_sec + (double) time->tv_usec / 1e6;
}

_Noreturn static void become(char **command)
{
	int fd = open("/dev/null", O_WRONLY);

	if (fd >= 0) {
		(void) dup2(fd, STDOUT_FILENO);
		(void) dup2(fd, STDERR_FILENO);
	}
	(void) execv(command[0], command);
	_exit(STATUS_NOT_RUN);
}

int main(int argc, char **argv)
{
	struct rusage used;
	double begun_seconds;
	pid_t pid;
	int status;

	if (argc < 2) {
		fputs("usage: growth-run COMMAND...\n", stderr);
		return STATUS_USAGE;
	}
	begun_seconds = now_seconds();
	pid = fork();
	if (pid < 0)
		return STATUS_NOT_RUN;
	if (pid == 0)
		become(argv + 1);
	if (wait4(pid, &status, 0, &used) < 0)
		return STATUS_NOT_RUN;
	printf("%.6f %.6f %ld\n", now_seconds() - begun_seconds,
	       seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime), used.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_NOT_RUN;
}
