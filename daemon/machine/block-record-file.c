/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/scoped.h"
#include "block-record-file.h"

/* "18446744073709551615-18446744073709551615 seen" and the end of it. */
#define LINE_BYTES_MAX 64

static const char *const words[NR_BLOCK_SORTS] = {
	[BLOCK_SEEN] = "seen",
	[BLOCK_OURS] = "ours",
	[BLOCK_LEFT] = "left",
	[BLOCK_TAKEN] = "taken",
};

static int sort_parse(const char *word, enum block_sort *ret)
{
	for (enum block_sort sort = 0; sort < NR_BLOCK_SORTS; sort++)
		if (strcmp(word, words[sort]) == 0) {
			*ret = sort;
			return 0;
		}
	return -EBADMSG;
}

/* What is not to the letter as it would be written is damaged. */
static int line_parse(const char *line, struct block_run *ret)
{
	struct block_run run = { 0 };
	char word[8], again[LINE_BYTES_MAX];

	if (sscanf(line, "%" SCNu64 "-%" SCNu64 " %7s", &run.first, &run.last, word) != 3 ||
	    sort_parse(word, &run.sort) < 0)
		return -EBADMSG;
	(void) snprintf(again, sizeof(again), "%" PRIu64 "-%" PRIu64 " %s\n", run.first, run.last,
	                words[run.sort]);
	if (strcmp(line, again) != 0 || run.last < run.first)
		return -EBADMSG;
	*ret = run;
	return 0;
}

static FILE *open_regular(const char *path)
{
	scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	FILE *file;

	if (fd < 0 || fstat(fd, &status) < 0)
		return NULL;
	if (!S_ISREG(status.st_mode)) {
		errno = EBADMSG;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (file)
		(void) take_fd(fd);
	return file;
}

int block_record_file_read(const char *path,
                           int (*take_run)(const struct block_run *run, void *arg), void *arg)
{
	scoped(file_closep) FILE *file = open_regular(path);
	char line[LINE_BYTES_MAX];
	struct block_run run = { 0 };

	if (!file)
		return -errno;
	for (bool is_first = true; fgets(line, sizeof(line), file); is_first = false) {
		uint64_t before = run.last;
		int r = line_parse(line, &run);

		if (r == 0 && !is_first && run.first <= before)
			r = -EBADMSG;
		if (r == 0)
			r = take_run(&run, arg);
		if (r)
			return r;
	}
	return ferror(file) ? -EIO : 0;
}

int block_record_file_format(const struct block_run *runs, size_t nr_runs, char **ret)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);
	bool is_complete;

	if (!stream)
		return -ENOMEM;
	for (size_t i = 0; i < nr_runs;) {
		struct block_run run = runs[i++];

		/* Those that were given up are no sort of their own here. */
		for (; i < nr_runs && runs[i].first == run.last + 1 && runs[i].sort == run.sort;
		     i++)
			run.last = runs[i].last;
		(void) fprintf(stream, "%" PRIu64 "-%" PRIu64 " %s\n", run.first, run.last,
		               words[run.sort]);
	}
	is_complete = !ferror(stream);
	if (fclose(stream) != 0 || !is_complete)
		return -ENOMEM;
	*ret = take(text);
	return 0;
}

static int write_all(int fd, const char *text)
{
	size_t nr_left = strlen(text);

	while (nr_left) {
		ssize_t written = write(fd, text, nr_left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		nr_left -= (size_t) written;
	}
	return 0;
}

/* A name that nobody else has: two processes that save at once do not mix their lines. */
int block_record_file_write(const char *path, const char *text)
{
	scoped(freep) char *name = NULL;
	scoped(fd_closep) int fd = -1;
	int r;

	if (asprintf(&name, "%s.XXXXXX", path) < 0) {
		name = NULL; /* it is undefined */
		return -ENOMEM;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text);
	if (r == 0 && (fchmod(fd, 0644) < 0 || rename(name, path) < 0))
		r = -errno;
	if (r < 0)
		(void) unlink(name);
	return r;
}
