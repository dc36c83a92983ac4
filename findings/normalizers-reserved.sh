#!/usr/bin/env bash
# Two URL normalizers decode reserved characters: url-normalize 1.4.3 (Debian 12) and purell v1.2.1 (Go), even with FlagsSafe.
#
# Expected (RFC 3986 2.2 and 6.2.2.2): only unreserved characters are decoded. /a%2Fb is one segment, ?q=1%2B1 asks for "1+1".
# Seen: both make /a/b of the path, two segments and another resource; url-normalize makes ?q=1+1 of the query, which forms read as "1 1".
#
# Needs Go with a module proxy, apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-url-normalize=1.4.3-2 python3-six >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/PuerkitoBio/purell v1.2.1
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/PuerkitoBio/purell"
)

func main() {
	for _, url := range []string{"https://a.example/a%2Fb", "https://a.example/?q=1%2B1"} {
		fmt.Println(purell.MustNormalizeURLString(url, purell.FlagsSafe))
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
from url_normalize import url_normalize
for url in ("https://a.example/a%2Fb", "https://a.example/?q=1%2B1"):
    print(url_normalize(url))'
go run .)
echo "$seen"
[ "$seen" = 'https://a.example/a/b
https://a.example/?q=1+1
https://a.example/a/b
https://a.example/?q=1%2B1' ] || { echo "the behaviour has changed" >&2; exit 1; }
