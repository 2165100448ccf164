/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pattern.h"
#include "victim.h"

struct victim {
	uint64_t bytes;
	int memory_fd;
	int own_fd; /* opened by /proc */
	void *address;
};

const char *victim_text(int answer)
{
	switch (answer) {
	case ACTOR_KILLED:
		return "it died of a signal when it used its memory";
	case VICTIM_IS_CONTENT:
		return "it has nothing to complain of";
	case VICTIM_WRONG_SIZE:
		return "its memory has another size than promised";
	case VICTIM_NOT_RESIDENT:
		return "its memory is not all there";
	case VICTIM_CANNOT_OPEN:
		return "it cannot open its memory by /proc/self/fd";
	case VICTIM_CANNOT_LOCK:
		return "somebody else has locked its memory";
	case VICTIM_CANNOT_MAP:
		return "it cannot map its memory for writing";
	case VICTIM_NOT_ZERO:
		return "its memory has bytes in it that it did not write";
	case VICTIM_CANARY_GONE:
		return "the bytes that it wrote were changed";
	default:
		return "its process is broken";
	}
}

/* As a consumer who is not root: the mode of the file counts. */
static void drop_override(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	must(syscall(SYS_capget, &header, data) == 0);
	data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
	must(syscall(SYS_capset, &header, data) == 0);
}

static int lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_OFD_SETLK, &whole) < 0 ? -1 : 0;
}

static enum victim_complaint move_in(struct victim *victim)
{
	struct stat st;
	char path[32];

	drop_override();
	must(fstat(victim->memory_fd, &st) == 0);
	if ((uint64_t) st.st_size != victim->bytes)
		return VICTIM_WRONG_SIZE;
	if ((uint64_t) st.st_blocks * 512 < victim->bytes)
		return VICTIM_NOT_RESIDENT;
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", victim->memory_fd);
	/* Would wait for somebody's lease on the file (fcntl(2), F_SETLEASE). */
	victim->own_fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (victim->own_fd < 0)
		return VICTIM_CANNOT_OPEN;
	if (lock(victim->own_fd) < 0)
		return VICTIM_CANNOT_LOCK;
	victim->address =
		mmap(NULL, victim->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, victim->own_fd, 0);
	if (victim->address == MAP_FAILED)
		return VICTIM_CANNOT_MAP;
	if (!pattern_is_none(victim->address, victim->bytes))
		return VICTIM_NOT_ZERO;
	pattern_write(victim->address, victim->bytes, 0, PATTERN_VICTIM);
	return VICTIM_IS_CONTENT;
}

static int obey(void *arg, char order)
{
	struct victim *victim = arg;

	if (order == VICTIM_MOVE_IN)
		return (int) move_in(victim);
	must(victim->address != NULL);
	return pattern_is(victim->address, victim->bytes, 0, PATTERN_VICTIM) ? VICTIM_IS_CONTENT
	                                                                     : VICTIM_CANARY_GONE;
}

void victim_start(struct actor *actor, uint64_t bytes, int memory_fd, int lifetime_fd)
{
	struct victim victim = { .bytes = bytes, .memory_fd = memory_fd, .own_fd = -1 };

	actor_start(actor, obey, &victim);
	(void) close(memory_fd);
	(void) close(lifetime_fd);
}
