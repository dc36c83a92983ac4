#!/usr/bin/env bash
# purell v1.2.1 with FlagSortQuery drops parameters that have a semicolon, and changes the order of the values of one name.
#
# Expected: sorting changes the order of names. What a server reads for a name stays: all values, in their order. A query that
# it cannot read stays as it is.
# Seen: "a=1;b=2&c=3" becomes "c=3", without an error. "tag=news&tag=art" becomes "tag=art&tag=news", so the first value is another
# one. A name without "=" gets one.
#
# Needs Go. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding >/dev/null 2>&1
cat >main.go <<'G'
package main

import (
	"fmt"

	"github.com/PuerkitoBio/purell"
)

func main() {
	for _, query := range []string{"a=1;b=2&c=3", "tag=news&tag=art&id=3", "b&a"} {
		url, err := purell.NormalizeURLString("http://site.example/?"+query, purell.FlagSortQuery)
		fmt.Println(query, "->", url, err)
	}
}
G
go get github.com/PuerkitoBio/purell@v1.2.1 >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = "a=1;b=2&c=3 -> http://site.example/?c=3 <nil>
tag=news&tag=art&id=3 -> http://site.example/?id=3&tag=art&tag=news <nil>
b&a -> http://site.example/?a=&b= <nil>" ] || { echo "the behaviour has changed" >&2; exit 1; }
