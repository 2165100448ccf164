/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names.h - every name that daemon, client and tests must agree on
 *
 * The one header that crosses between daemon/, client/ and tests/. The contract itself is in the
 * XML files beside it.
 */
#pragma once

#ifndef NODEINIT_BUS_NAME
#define NODEINIT_BUS_NAME "org.nodeinit1" /* -Dbus-name= of meson is another, for tests */
#endif

#define NODEINIT_PATH        "/org/nodeinit1"
#define NODEINIT_NODE_PREFIX NODEINIT_PATH "/node"
#define NODEINIT_POOL_PREFIX NODEINIT_PATH "/pool"

#define NODEINIT_MANAGER_INTERFACE "org.nodeinit1.Manager"
#define NODEINIT_NODE_INTERFACE    "org.nodeinit1.Node"
#define NODEINIT_POOL_INTERFACE    "org.nodeinit1.Pool"

/* Where the copies of files lie that pools of kind replica have: NODE is DIRECTORY/nodeN. */
#define NODEINIT_REPLICA_DIRECTORY "/run/nodeinit/replica"

#define NODEINIT_ERROR(name) "org.nodeinit1.Error." name

#define NODEINIT_ERROR_NO_SUCH_POOL   NODEINIT_ERROR("NoSuchPool")
#define NODEINIT_ERROR_NO_SUCH_NODE   NODEINIT_ERROR("NoSuchNode")
#define NODEINIT_ERROR_NO_SUCH_LEASE  NODEINIT_ERROR("NoSuchLease")
#define NODEINIT_ERROR_NOT_READY      NODEINIT_ERROR("NotReady")
#define NODEINIT_ERROR_SHORTFALL      NODEINIT_ERROR("Shortfall")
#define NODEINIT_ERROR_QUOTA_EXCEEDED NODEINIT_ERROR("QuotaExceeded")
#define NODEINIT_ERROR_CONFIG_INVALID NODEINIT_ERROR("ConfigInvalid")
#define NODEINIT_ERROR_CANCELLED      NODEINIT_ERROR("Cancelled")
