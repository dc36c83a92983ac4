#!/bin/sh
# Fails if a test was skipped, and names it. The arguments are files that
# "gotestsum --jsonfile-timing-events" wrote. A skipped test proves nothing, so "make test" has none.
set -eu
skipped=$(cat "$@" | sed -n '/"Action":"skip"/s/.*"Package":"\([^"]*\)","Test":"\([^"]*\)".*/  \1 \2/p')
[ -z "$skipped" ] && exit 0
echo "skipped tests:" >&2
echo "$skipped" >&2
exit 1
