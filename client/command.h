/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * command.h - the command that takes the place of meminitctl, by lease and by run
 */
#pragma once

/* env(1) and nice(1) end so, too, where the command does not begin. */
#define COMMAND_CANNOT_RUN 126
#define COMMAND_NOT_FOUND  127

/*
 * Look for @name where execvp(3) would. Return: 0 and *ret_path, which the caller frees; -ENOENT:
 * there is none; -EACCES, -errno: there is one, and it cannot be run; -ENOMEM.
 */
int command_find(const char *name, char **ret_path);

/* Say that @verb does not run @name for @error (positive). Return: the exit status. */
int command_refuse(const char *verb, const char *name, int error);
