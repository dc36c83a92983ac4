#!/usr/bin/env bash
# tomnomnom/linkheader v0.0.0-20250811210735-e5fe3b51442e (Go) loses links whose address has a comma.
#
# Expected (RFC 8288 3: the address is between < and >; a comma is a valid character of it, RFC 3986 2.2): one link to https://a.example/a,b.
# Seen: no link, without an error. A rel="next" of such a server ends the list at its first page.
#
# Needs Go and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/tomnomnom/linkheader v0.0.0-20250811210735-e5fe3b51442e
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/tomnomnom/linkheader"
)

func main() {
	for _, url := range []string{"https://a.example/ab", "https://a.example/a,b"} {
		fmt.Println(url, len(linkheader.Parse("<"+url+`>; rel="next"`)))
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'https://a.example/ab 1
https://a.example/a,b 0' ] || { echo "the behaviour has changed" >&2; exit 1; }
