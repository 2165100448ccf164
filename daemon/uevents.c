/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-device.h>
#include <systemd/sd-event.h>

#include "base/log.h"
#include "uevents.h"

/* A hot-added module of memory is hundreds of blocks, each with an event of about 300 bytes. */
#define RECEIVE_BUFFER_BYTES (4 * 1024 * 1024)

/* Events of one turn of the loop; what is left over keeps the descriptor readable. */
#define EVENTS_PER_TURN 64

struct uevents {
	struct ev_loop *loop; /* borrowed */
	uevents_fn fn;
	void *arg;
	sd_event *event; /* one reference; the monitor has no other way to be waited for */
	sd_device_monitor *monitor;
	ev_io io;
	bool is_deaf;
};

static const char *action_text(sd_device_action_t action)
{
	switch (action) {
	case SD_DEVICE_ADD:
		return "add";
	case SD_DEVICE_REMOVE:
		return "remove";
	case SD_DEVICE_ONLINE:
		return "online";
	case SD_DEVICE_OFFLINE:
		return "offline";
	default:
		return "change";
	}
}

static int on_device(sd_device_monitor *monitor, sd_device *device, void *userdata)
{
	struct uevents *uevents = userdata;
	const char *subsystem, *name;
	sd_device_action_t action;

	(void) monitor;
	if (sd_device_get_subsystem(device, &subsystem) >= 0 &&
	    sd_device_get_sysname(device, &name) >= 0 && sd_device_get_action(device, &action) >= 0)
		uevents->fn(subsystem, action_text(action), name, uevents->arg);
	return 0;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct uevents *uevents = io->data;

	(void) revents;
	for (unsigned i = 0; i < EVENTS_PER_TURN; i++) {
		int r = sd_event_run(uevents->event, 0);

		if (r == 0)
			return;
		if (r < 0) {
			log_warning("memory that comes or goes is not noticed any more: the events "
			            "of devices cannot be read (%s)",
			            strerror(-r));
			ev_io_stop(loop, io);
			uevents->is_deaf = true;
			return;
		}
	}
}

int uevents_open(struct ev_loop *loop, uevents_fn fn, void *arg, struct uevents **ret)
{
	scoped(uevents_closep) struct uevents *uevents = calloc(1, sizeof(*uevents));
	int r;

	if (!uevents)
		return -ENOMEM;
	uevents->loop = loop;
	uevents->fn = fn;
	uevents->arg = arg;
	r = sd_event_new(&uevents->event);
	if (r >= 0)
		r = sd_device_monitor_new(&uevents->monitor);
	if (r >= 0)
		r = sd_device_monitor_filter_add_match_subsystem_devtype(uevents->monitor, "memory",
		                                                         NULL);
	if (r >= 0)
		r = sd_device_monitor_filter_add_match_subsystem_devtype(uevents->monitor, "node",
		                                                         NULL);
	/* Not permitted beyond a limit of the system's: then that is it. */
	if (r >= 0)
		(void) sd_device_monitor_set_receive_buffer_size(uevents->monitor,
		                                                 RECEIVE_BUFFER_BYTES);
	if (r >= 0)
		r = sd_device_monitor_attach_event(uevents->monitor, uevents->event);
	if (r >= 0)
		r = sd_device_monitor_start(uevents->monitor, on_device, uevents);
	if (r < 0)
		return r;
	ev_io_init(&uevents->io, on_readable, sd_event_get_fd(uevents->event), EV_READ);
	uevents->io.data = uevents;
	ev_io_start(loop, &uevents->io);
	*ret = take(uevents);
	return 0;
}

bool uevents_are_heard(const struct uevents *uevents)
{
	return uevents && !uevents->is_deaf;
}

struct uevents *uevents_close(struct uevents *uevents)
{
	if (!uevents)
		return NULL;
	if (uevents->io.data)
		ev_io_stop(uevents->loop, &uevents->io);
	sd_device_monitor_unref(uevents->monitor);
	sd_event_unref(uevents->event);
	free(uevents);
	return NULL;
}
