#!/bin/sh
# Runs every fuzz target of the module for a while, one after the other.
#
#   scripts/fuzz.sh [duration]     10s for each target unless told
set -eu
cd "$(dirname "$0")/.."
duration=${1:-10s}
go list ./... | while read -r package; do
	go test -list '^Fuzz' "$package" | grep '^Fuzz' | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$package" </dev/null
	done || exit 1
done
