#!/usr/bin/env bash
# goldmark v1.8.7 with the GFM extension cuts addresses in the text at the first letter that is not ASCII, and links no international domain and
# no IP address.
#
# Expected (GitHub Flavored Markdown 0.29, 6.9: behind a valid domain, zero or more characters follow that are no space and no "<"): the link is the
# whole address, as readers see it. GitHub's own cmark-gfm 0.29.0.gfm.6 (Debian 12) links all of these as a whole.
# Seen: https://a.example.com/café leads to /caf, /Straße?q=1 to /Stra, which are other pages. https://münchen.example/ and http://192.0.2.1/ are text.
#
# Needs Go and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/yuin/goldmark v1.8.7
MOD
cat >main.go <<'GO'
package main

import (
	"os"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func main() {
	for _, text := range []string{"https://a.example.com/cafe", "https://a.example.com/café", "https://a.example.com/Straße?q=1", "https://münchen.example/a",
		"http://192.0.2.1/a"} {
		if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(text), os.Stdout); err != nil {
			panic(err)
		}
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = '<p><a href="https://a.example.com/cafe">https://a.example.com/cafe</a></p>
<p><a href="https://a.example.com/caf">https://a.example.com/caf</a>é</p>
<p><a href="https://a.example.com/Stra">https://a.example.com/Stra</a>ße?q=1</p>
<p>https://münchen.example/a</p>
<p>http://192.0.2.1/a</p>' ] || { echo "the behaviour has changed" >&2; exit 1; }
