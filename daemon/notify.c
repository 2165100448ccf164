/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "notify.h"

static void on_watchdog(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) loop, (void) timer, (void) events;
	(void) sd_notify(0, "WATCHDOG=1");
}

void notify_start(struct notify *notify, struct ev_loop *loop)
{
	uint64_t watchdog_usec = 0;

	notify->loop = loop;
	ev_timer_init(&notify->watchdog, on_watchdog, 0., 0.);
	if (sd_watchdog_enabled(0, &watchdog_usec) <= 0)
		return;

	(void) sd_notify(0, "WATCHDOG=1");
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
	(void) sd_notify(0, "READY=1");
}

void notify_status(struct notify *notify, const char *text)
{
	if (strncmp(notify->status, text, sizeof(notify->status) - 1) == 0)
		return;
	(void) snprintf(notify->status, sizeof(notify->status), "%s", text);
	(void) sd_notifyf(0, "STATUS=%s", notify->status);
}

void notify_extend(struct notify *notify, uint64_t now_usec, uint64_t moves)
{
	if (notify->is_ready || moves == notify->extended_moves)
		return;
	if (notify->extended_usec && now_usec - notify->extended_usec < NOTIFY_EXTEND_PERIOD_USEC)
		return;
	notify->extended_usec = now_usec;
	notify->extended_moves = moves;
	(void) sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, NOTIFY_EXTEND_USEC);
}

void notify_reloading(void)
{
	(void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic_usec());
}

void notify_reloaded(struct notify *notify)
{
	if (notify->is_ready)
		(void) sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
	(void) sd_notify(0, "STOPPING=1");
}
