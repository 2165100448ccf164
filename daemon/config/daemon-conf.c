/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon-conf.h"

#include <errno.h>
#include <string.h>

#include "../base/log.h"
#include "settings.h"
#include "values.h"

#define THREADS_MAX    1024
#define RETRY_MAX      100
#define MAX_LEASES_MAX 1000000

enum daemon_key {
	KEY_RESERVE,
	KEY_EARLY_MINIMUM,
	KEY_EARLY_SHIFT,
	KEY_THREADS,
	KEY_BRAKE_PRESSURE,
	KEY_MAX_RATE,
	KEY_RETRY,
	KEY_STALL_TIMEOUT,
	KEY_SETTLE_TIMEOUT,
	KEY_MAX_LEASES,
	KEY_MAX_BYTES,
	KEY_LOG_LEVEL,
	NR_KEYS,
};

#define ROW(key_name, key_accepted)                                                  \
	{                                                                            \
		.name = key_name, .sections = { "Daemon" }, .accepted = key_accepted \
	}

static const struct setting_key keys[NR_KEYS] = {
	[KEY_RESERVE] = ROW("Reserve", "bytes as 4G, or a part of each node as 5%"),
	[KEY_EARLY_MINIMUM] = ROW("EarlyMinimum", "bytes as 2G"),
	[KEY_EARLY_SHIFT] = ROW("EarlyShift", "a number from 0 to 63"),
	[KEY_THREADS] = ROW("Threads", "auto, a number from 1 to 1024, or 1% to 100%"),
	[KEY_BRAKE_PRESSURE] = ROW("BrakePressure", "0% (never) to 100%"),
	[KEY_MAX_RATE] = ROW("MaxRate", "bytes a second as 2G, 0 or infinity for no limit"),
	[KEY_RETRY] = ROW("Retry", "a number from 0 to 100"),
	[KEY_STALL_TIMEOUT] = ROW("StallTimeout", "a time above 0 as 10min, or infinity"),
	[KEY_SETTLE_TIMEOUT] = ROW("SettleTimeout", "a time as 10s, or infinity"),
	[KEY_MAX_LEASES] = ROW("MaxLeases", "a number from 0 to 1000000"),
	[KEY_MAX_BYTES] = ROW("MaxBytes", "bytes as 64G, or a part of all as 50%"),
	[KEY_LOG_LEVEL] = ROW("LogLevel", "err, warning, notice, info, debug"),
};

static const char *const sections[] = { "Daemon" };

static const struct schema schema = {
	.sections = sections,
	.nr_sections = ELEMENTS(sections),
	.keys = keys,
	.nr_keys = NR_KEYS,
};

void daemon_config_init(struct daemon_config *ret)
{
	*ret = (struct daemon_config){
		.reserve = { AMOUNT_PERCENT, 5 * 100 },
		.early_minimum_bytes = 2 * GIB,
		.early_shift = 8,
		.threads_unit = THREADS_AUTO,
		.brake_pressure_percent = 20,
		.nr_retries = 4,
		.stall_timeout_usec = UINT64_C(10) * 60 * 1000 * 1000,
		.settle_timeout_usec = UINT64_C(10) * 1000 * 1000,
		.max_leases = 64,
		.max_bytes = { AMOUNT_PERCENT, 100 * 100 },
		.log_level = LOG_LEVEL_INFO,
	};
}

/* There is no page here that "4096p" could be counted in. */
static int read_bytes_or_percent(const char *value, struct amount *ret)
{
	struct amount amount;
	int r = amount_parse(value, &amount);

	if (r < 0)
		return r;
	if (amount.unit == AMOUNT_PAGES)
		return -EINVAL;
	*ret = amount;
	return 0;
}

static int read_reserve(const char *value, struct daemon_config *config)
{
	int r = read_bytes_or_percent(value, &config->reserve);

	config->is_reserve_set = !r;
	return r;
}

static int read_threads(const char *value, struct daemon_config *config)
{
	unsigned threads = 0;
	int r = 0;

	if (!strcmp(value, "auto"))
		config->threads_unit = THREADS_AUTO;
	else if (strchr(value, '%')) {
		r = value_percent(value, 1, &threads);
		if (!r)
			config->threads_unit = THREADS_PERCENT;
	} else {
		r = value_count(value, 1, THREADS_MAX, &threads);
		if (!r)
			config->threads_unit = THREADS_NUMBER;
	}
	config->threads = threads;
	return r;
}

/* "20" has one reading here, so it is let pass. */
static int read_brake_pressure(const char *value, unsigned *ret)
{
	return strchr(value, '%') ? value_percent(value, 0, ret) : value_count(value, 0, 100, ret);
}

static int read_max_rate(const char *value, uint64_t *ret_bytes)
{
	if (!strcmp(value, "infinity")) {
		*ret_bytes = 0;
		return 0;
	}
	return value_bytes(value, ret_bytes);
}

/* With 0 every run would be a stall before it began. */
static int read_stall_timeout(const char *value, uint64_t *ret_usec)
{
	uint64_t usec;
	int r = duration_parse(value, &usec);

	if (r < 0)
		return r;
	if (!usec)
		return -ERANGE;
	*ret_usec = usec;
	return 0;
}

static int read_log_level(const char *value, int *ret)
{
	enum log_level level;
	int r = log_level_from_text(value, &level);

	if (!r)
		*ret = (int) level;
	return r;
}

static int read_value(enum daemon_key key, const char *value, struct daemon_config *config)
{
	switch (key) {
	case KEY_RESERVE:
		return read_reserve(value, config);
	case KEY_EARLY_MINIMUM:
		return value_bytes(value, &config->early_minimum_bytes);
	case KEY_EARLY_SHIFT:
		return value_count(value, 0, 63, &config->early_shift);
	case KEY_THREADS:
		return read_threads(value, config);
	case KEY_BRAKE_PRESSURE:
		return read_brake_pressure(value, &config->brake_pressure_percent);
	case KEY_MAX_RATE:
		return read_max_rate(value, &config->max_rate_bytes);
	case KEY_RETRY:
		return value_count(value, 0, RETRY_MAX, &config->nr_retries);
	case KEY_STALL_TIMEOUT:
		return read_stall_timeout(value, &config->stall_timeout_usec);
	case KEY_SETTLE_TIMEOUT:
		return duration_parse(value, &config->settle_timeout_usec);
	case KEY_MAX_LEASES:
		return value_count(value, 0, MAX_LEASES_MAX, &config->max_leases);
	case KEY_MAX_BYTES:
		return read_bytes_or_percent(value, &config->max_bytes);
	case KEY_LOG_LEVEL:
		return read_log_level(value, &config->log_level);
	case NR_KEYS:
		break;
	}
	return -EINVAL;
}

int daemon_conf_read(const struct sources *sources, struct notes *notes, struct daemon_config *ret)
{
	scoped(settings_clear) struct settings settings = { 0 };
	struct daemon_config config;
	int r;

	r = settings_init(&schema, notes, &settings);
	for (size_t i = 0; !r && i < sources->nr; i++)
		r = settings_read(&settings, &sources->files[i]);
	if (r < 0)
		return r;

	daemon_config_init(&config);
	for (size_t key = 0; key < NR_KEYS; key++) {
		const struct setting *setting = &settings.values[key];

		if (!setting->value)
			continue;
		r = read_value((enum daemon_key) key, setting->value, &config);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			settings_refuse(&settings, key, setting, r);
	}
	*ret = config;
	return 0;
}
