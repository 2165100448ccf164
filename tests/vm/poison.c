/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Have a page of another process's memory fail, as hardware does.
 *
 *     poison PID
 *
 * Of the regions of PID that are not complete yet it takes the first, brings its last page into
 * being and tells the kernel that this page is broken. Prints the region's bytes. Exit status 1:
 * there is none.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR_BYTES 512 /* of st_blocks */

/* Return: 1 when it is done, 0 when @path is none to do it to, -1 on errors. */
static int poison_last_page(const char *path)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct stat status;
	char target[256], *page;
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	int fd;

	if (length < 0)
		return 0;
	target[length] = '\0';
	if (strcmp(target, "/memfd:nodeinit (deleted)") != 0)
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -1;
	if ((long long) status.st_blocks * SECTOR_BYTES >= (long long) status.st_size) {
		(void) close(fd);
		return 0;
	}
	page = mmap(NULL, (size_t) page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	            status.st_size - page_bytes);
	if (page == MAP_FAILED)
		return -1;
	*(volatile char *) page = 0;
	if (madvise(page, (size_t) page_bytes, MADV_HWPOISON) < 0)
		return -1;
	printf("%lld\n", (long long) status.st_size);
	return 1;
}

int main(int argc, char **argv)
{
	char folder[64], path[512];
	struct dirent *entry;
	int r = 0;
	DIR *fds;

	if (argc != 2)
		return 2;
	/* The kernel tells those who have the page, too. */
	(void) signal(SIGBUS, SIG_IGN);
	(void) snprintf(folder, sizeof(folder), "/proc/%s/fd", argv[1]);
	fds = opendir(folder);
	while (fds && r == 0 && (entry = readdir(fds))) {
		(void) snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		r = poison_last_page(path);
	}
	if (r < 0)
		perror(path);
	return r == 1 ? 0 : 1;
}
