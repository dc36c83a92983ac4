#!/usr/bin/env bash
# jaytaylor/html2text of 2023-03-21 splits words at inline elements and takes a space from each indented line of a listing.
#
# Expected: b, em, sub and wbr are no white space: a browser shows "unbelievable", "H2O" and "longword". A listing keeps its
# indentation.
# Seen: "un believ able", "H 2 O", "long word", "( x )"; with TextOnly, a dot behind each b ("wo rd. s."). The lines of pre behind the
# first one have three and seven blanks instead of four and eight.
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

	"github.com/jaytaylor/html2text"
)

func main() {
	for _, page := range []string{"<p>un<em>believ</em>able", "<p>H<sub>2</sub>O", "<p>long<wbr>word", "<p>(<i>x</i>)", "<p>wo<b>rd</b>s", "<pre>if x:\n    y\n        z</pre>"} {
		text, err := html2text.FromString(page, html2text.Options{TextOnly: true})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q\n", text)
	}
}
G
go get github.com/jaytaylor/html2text@v0.0.0-20230321000545-74c2419ad056 github.com/olekukonko/tablewriter@v0.0.5 github.com/ssor/bom@v0.0.0-20170718123548-6386211fdfcf golang.org/x/net@v0.17.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = '"un believ able"
"H 2 O"
"long word"
"( x )"
"wo rd. s"
"if x:\n   y\n       z"' ] || { echo "the behaviour has changed" >&2; exit 1; }
