/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * actor.h - processes that do one thing after another as they are told: the former lessee, who
 * attacks, and the next ones, who are attacked
 *
 * An actor may have actors of its own. Nothing here asserts in the process of an actor: what must
 * not happen there ends it by must(), and whoever asks it next sees that.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Answers of actor_ask() that no actor gives: it died by a signal, or by must(). */
#define ACTOR_KILLED (-1)
#define ACTOR_BROKEN (-2)

struct actor {
	pid_t pid; /* 0: none */
	int pid_fd;
	int socket;
	int signal; /* that it died of; 0 */
};

/* Obey @order. Return: the answer, not negative. */
typedef int (*actor_fn)(void *arg, char order);

/* Fork a process that obeys until nobody is left to ask it. It dies with its parent. */
void actor_start(struct actor *actor, actor_fn obey, void *arg);

/* Order, and wait for the answer; at most 20 s. */
int actor_ask(struct actor *actor, char order);

/* Order, and wait for nothing: for one that does not come back from what it is told. */
void actor_tell(struct actor *actor, char order);

/* SIGKILL, and wait for the end. */
void actor_kill(struct actor *actor);

/* Let it end, and wait for that. Harmless for one that never was, or is dead. */
void actor_end(struct actor *actor);

/* In an actor: the ground the attack stands on gives way; say so and end. */
void must_at(bool is_true, const char *what, const char *file, int line);
#define must(condition) must_at(condition, #condition, __FILE__, __LINE__)
