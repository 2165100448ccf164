# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# How the tools set up a folder that they build in. Sourced, not run.

# Set up FOLDER for SOURCE with meson's OPTION..., or once more where that was done before.
configure() { # folder, source, options...
	local setup=(meson setup)

	# Not its folder meson-private: that is there from the first moment, and meson does not set up
	# once more what was interrupted before it was set up at all.
	[ ! -e "$1/meson-private/coredata.dat" ] || setup+=(--reconfigure)
	"${setup[@]}" "$@"
}
