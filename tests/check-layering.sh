#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Folders are layers: refuses an include that reaches upwards, a library in the wrong layer, and
# what else can be said of the source tree without compiling it.
#
#     tests/check-layering.sh SOURCE_ROOT
#
# Each finding is one line "file:line: sentence". Exit 0: none; 1: some; 2: not a source tree.
set -eu
cd "${1:?usage: check-layering.sh SOURCE_ROOT}"
if [ ! -d daemon ] || [ ! -d tests ]; then
	echo "$1: no source tree of nodeinitd" >&2
	exit 2
fi

sources() { # suffix...: files of ours with that suffix, also those not yet committed
	for suffix; do
		find daemon client dbus docs examples systemd tests tools .ci -type f -name "*$suffix" 2>/dev/null || :
	done | sort
}

# Who may include which layer, and where each library may be seen.
# shellcheck disable=SC2016 # the dollars are awk's
includes='
BEGIN {
	split("base machine config plan kinds engine lease bus top", name)
	knows["base"] = "base"
	knows["machine"] = "base machine"
	knows["config"] = "base config"
	knows["plan"] = "base machine config plan"
	knows["kinds"] = knows["plan"] " kinds"
	knows["engine"] = knows["kinds"] " engine"
	knows["lease"] = knows["kinds"] " lease"
	knows["bus"] = knows["engine"] " lease bus dbus"
	knows["top"] = knows["bus"] " top"
	knows["client"] = "client dbus"
	knows["dbus"] = "dbus"

	library["numa.h"] = "machine"
	library["numaif.h"] = "kinds"
	library["ini.h"] = "config"
	library["json-c/json.h"] = library["json.h"] = "plan client"
	library["libsmartcols/libsmartcols.h"] = library["libsmartcols.h"] = "plan client"
	library["pthread.h"] = "machine kinds engine lease bus top" # locks; threads start in engine/
	library["stdatomic.h"] = "base kinds engine lease bus top"
	library["ev.h"] = library["systemd/sd-bus.h"] = library["systemd/sd-event.h"] = "bus top client"
}
function has(list, word) { return index(" " list " ", " " word " ") }
function bad(text) { print FILENAME ":" FNR ": " text; found = 1 }
# "daemon/x/y.h" out of the folder of the including file and the path in the include
function resolve(folder, path,    parts, n, i, depth, out) {
	n = split(folder "/" path, parts, "/")
	for (i = 1; i <= n; i++) {
		if (parts[i] == "..") depth--
		else if (parts[i] != "." && parts[i] != "") out[++depth] = parts[i]
	}
	path = ""
	for (i = 1; i <= depth; i++) path = path (i > 1 ? "/" : "") out[i]
	return path
}
function layer_of(path,    parts, n) {
	n = split(path, parts, "/")
	if (parts[1] != "daemon") return parts[1]
	return n == 2 ? "top" : parts[2]
}
FNR == 1 {
	folder = FILENAME
	sub(/\/[^\/]*$/, "", folder)
	layer = layer_of(FILENAME)
	if (!(layer in knows)) bad("the folder " folder " is no layer")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, quoted, "\"")
	target = layer_of(resolve(folder, quoted[2]))
	if (!has(knows[layer], target)) bad("layer " layer " includes " quoted[2] " of layer " target)
}
/^[ \t]*#[ \t]*include[ \t]*</ {
	header = $0
	sub(/^[^<]*</, "", header)
	sub(/>.*/, "", header)
	if (header in library && !has(library[header], layer))
		bad("layer " layer " includes <" header ">, which belongs to: " library[header])
}
/(^|[^a-z_>.])(mbind|madvise|process_madvise)[ ]*\(/ && !/^[ \t]*(\/?\*|\/\/)/ {
	if (layer != "kinds") bad("memory is bound and populated in kinds/ only")
}
/(^|[^a-z_>.])(pthread_create|thrd_create|clone3?)[ ]*\(/ && !/^[ \t]*(\/?\*|\/\/)/ {
	if (layer != "engine") bad("threads start in engine/ only")
}
END { exit found }
'

bad=0
# shellcheck disable=SC2046 # no name of ours has a blank in it
set -- $(sources .c .h)
code=''
for file; do
	case $file in daemon/* | client/* | dbus/*) code="$code $file" ;; esac
done
# shellcheck disable=SC2086
awk "$includes" $code || bad=1

# shellcheck disable=SC2016
form='
function end_of_file() {
	if (file == "") return
	if (!is_licensed) bad(file ":1: has no SPDX-License-Identifier line")
	if (file ~ /\.[ch]$/ && lines > 600)
		bad(file ":601: has " lines " lines; 600 are the limit, for one file is one idea")
}
function bad(text) { print text; found = 1 }
FNR == 1 {
	end_of_file()
	file = FILENAME
	is_licensed = 0
	if (file ~ /\/(utils?|common|misc|helpers?)\.[ch]$/) bad(file ":1: the name does not say what is in it")
}
FNR <= 5 && /SPDX-License-Identifier: LGPL-2.1-or-later/ { is_licensed = 1 }
{ lines = FNR }
END { end_of_file(); exit found }
'
# shellcheck disable=SC2046
awk "$form" meson.build meson_options.txt "$@" $(sources .sh .in .xml .build .service .socket .target \
	.slice .preset .sysusers .tmpfiles) $(sources '' | grep -E '^(tools|\.ci)/') || bad=1

# A test waits for an event, with a limit. Polling nothing is a sleep too.
# shellcheck disable=SC2016
sleeps='
FILENAME ~ /^tests\/.*\.[ch]$/ && !/^[ \t]*(\/?\*|\/\/)/ &&
/(^|[^a-z_])((u|nano|clock_nano)?sleep[ ]*\(|poll\((NULL|0), *0,)/ {
	print FILENAME ":" FNR ": a test must not sleep"
	found = 1
}
FILENAME ~ /^tests\/.*\.sh$/ && /^[^#]*(^|[\t ;&|(])sleep [0-9.$]/ {
	print FILENAME ":" FNR ": a test must not sleep"
	found = 1
}
END { exit found }
'
# shellcheck disable=SC2046
awk "$sleeps" "$@" $(sources .sh) || bad=1

exit $bad
