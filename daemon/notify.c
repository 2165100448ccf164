/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "notify.h"
#include "service-socket.h"

#define MESSAGE_BYTES_MAX 64

static void tell(const char *message)
{
	(void) service_socket_send(message, -1);
}

static void on_watchdog(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) loop, (void) timer, (void) events;
	tell("WATCHDOG=1");
}

void notify_start(struct notify *notify, struct ev_loop *loop)
{
	uint64_t watchdog_usec = 0;

	notify->loop = loop;
	ev_timer_init(&notify->watchdog, on_watchdog, 0., 0.);
	if (sd_watchdog_enabled(0, &watchdog_usec) <= 0)
		return;

	tell("WATCHDOG=1");
	ev_timer_set(&notify->watchdog, (double) watchdog_usec / 2e6, (double) watchdog_usec / 2e6);
	ev_timer_start(loop, &notify->watchdog);
}

void notify_stop(struct notify *notify)
{
	if (notify->loop)
		ev_timer_stop(notify->loop, &notify->watchdog);
}

void notify_ready(struct notify *notify)
{
	if (notify->is_ready)
		return;
	notify->is_ready = true;
	tell("READY=1");
}

void notify_status(struct notify *notify, const char *text)
{
	char message[sizeof(notify->status) + sizeof("STATUS=")];

	if (strncmp(notify->status, text, sizeof(notify->status) - 1) == 0)
		return;
	(void) snprintf(notify->status, sizeof(notify->status), "%s", text);
	(void) snprintf(message, sizeof(message), "STATUS=%s", notify->status);
	tell(message);
}

void notify_extend(struct notify *notify, uint64_t now_usec, uint64_t moves)
{
	char message[MESSAGE_BYTES_MAX];

	if (notify->is_ready || moves == notify->extended_moves)
		return;
	if (notify->extended_usec && now_usec - notify->extended_usec < NOTIFY_EXTEND_PERIOD_USEC)
		return;
	notify->extended_usec = now_usec;
	notify->extended_moves = moves;
	(void) snprintf(message, sizeof(message), "EXTEND_TIMEOUT_USEC=%" PRIu64,
	                NOTIFY_EXTEND_USEC);
	tell(message);
}

void notify_reloading(void)
{
	char message[MESSAGE_BYTES_MAX];

	(void) snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
	                clock_monotonic_usec());
	tell(message);
}

void notify_reloaded(struct notify *notify)
{
	if (notify->is_ready)
		tell("READY=1");
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}
