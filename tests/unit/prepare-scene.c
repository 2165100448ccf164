/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "../../daemon/base/log.h"
#include "../../daemon/base/scoped.h"
#include "prepare-scene.h"

static char work[64];
struct scene_said scene_said;

static void keep(enum log_level level, const char *message, const char *const *fields,
                 size_t nr_fields)
{
	(void) level, (void) fields, (void) nr_fields;
	scene_said.nr_lines++;
	(void) snprintf(scene_said.text, sizeof(scene_said.text), "%s", message);
}

/* "FOLDER/run/…", until the next but three calls. */
const char *scene_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void) snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
	return path;
}

void scene_setup(void)
{
	(void) snprintf(work, sizeof(work), "/tmp/nodeinit-prepare-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(work));
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	/* as /run: what it is on is a tmpfs itself, and shared with other namespaces */
	ck_assert_int_eq(mount("test", work, "tmpfs", 0, "mode=0755"), 0);
	ck_assert_int_eq(mount(NULL, work, NULL, MS_SHARED, NULL), 0);
	ck_assert_int_eq(mkdir(scene_path("run"), 0755), 0);
	ck_assert_int_eq(chown(scene_path("run"), 0, SERVICE), 0);
	ck_assert_int_eq(chmod(scene_path("run"), 01775), 0);
	(void) umask(022);
	memset(&scene_said, 0, sizeof(scene_said));
	log_set_sink(keep);
}

void scene_teardown(void)
{
	log_set_sink(NULL);
	(void) umount2(work, MNT_DETACH);
	(void) rmdir(work);
}

unsigned scene_nr_mounts(const char *name, char *line, size_t line_bytes)
{
	scoped(file_closep) FILE *file = fopen("/proc/self/mountinfo", "re");
	char text[4096], found[256];
	unsigned nr = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(text, sizeof(text), file))
		if (sscanf(text, "%*s %*s %*s %*s %255s", found) == 1 &&
		    strcmp(found, scene_path(name)) == 0) {
			nr++;
			(void) snprintf(line, line_bytes, "%s", text);
		}
	return nr;
}

void scene_put_victim(void)
{
	ck_assert_int_eq(mkdir(scene_path("victim"), 0711), 0);
	ck_assert_int_eq(mkdir(scene_path("victim/node0"), 0711), 0);
}

void scene_expect_victim_unharmed(void)
{
	struct stat status;

	ck_assert_int_eq(lstat(scene_path("victim"), &status), 0);
	ck_assert_uint_eq(status.st_uid, 0);
	ck_assert_uint_eq(status.st_mode, S_IFDIR | 0711);
	ck_assert_int_eq(lstat(scene_path("victim/node0"), &status), 0);
	ck_assert_uint_eq(status.st_uid, 0);
	ck_assert_uint_eq(status.st_mode, S_IFDIR | 0711);
	ck_assert_uint_eq(scene_nr_mounts("victim/node0", NULL, 0), 0);
	ck_assert_int_eq(access(scene_path("victim/.lock"), F_OK), -1);
}

bool scene_is_possible(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(unshare(CLONE_NEWNS) < 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
