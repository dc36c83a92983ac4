#!/bin/sh
# Runs every fuzz target of the module for a while, one after the other, and the
# random operations and expressions once, with a new seed that is printed.
#
#   scripts/fuzz.sh [duration]     1m for each target unless told
set -eu
cd "$(dirname "$0")/.."
duration=${1:-1m}
go list ./... | while read -r package; do
	go test -list '^Fuzz' "$package" | grep '^Fuzz' | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$package" </dev/null
	done || exit 1
done
echo "== random operations and expressions on both databases"
DC_RANDOM_SEED=0 go test -count=1 -v -run '^TestRandom$' ./internal/storage/conformance/random
go test -count=1 -v -run '^TestMariaDBRandom$' ./internal/storage/expr -expr.seed=0
