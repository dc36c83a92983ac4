#!/usr/bin/env bash
# blackfriday v2.1.0 and gomarkdown of 2026-11-07 take the last sign off a heading such as "Learn C#", and need a line feed behind a heading
# that is underlined.
#
# Expected (CommonMark 0.31, 4.2 and 4.3): a closing sequence of # counts only behind a blank, so the heading is "Learn C#". An underlined
# heading may end the document.
# Seen: "Learn C". "Title" over "===" without a line feed is a paragraph of both lines, over "---" a paragraph and a rule.
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

	"github.com/gomarkdown/markdown"
	"github.com/russross/blackfriday/v2"
)

func main() {
	for _, text := range []string{"# Learn C#\n", "# Learn C# #\n", "Title\n===\n", "Title\n===", "Title\n---"} {
		fmt.Printf("%q %q\n", blackfriday.Run([]byte(text)), markdown.ToHTML([]byte(text), nil, nil))
	}
}
G
go get github.com/russross/blackfriday/v2@v2.1.0 github.com/gomarkdown/markdown@v0.0.0-20261107153045-a51d70be185e >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = '"<h1>Learn C</h1>\n" "<h1>Learn C</h1>\n"
"<h1>Learn C#</h1>\n" "<h1>Learn C#</h1>\n"
"<h1>Title</h1>\n" "<h1>Title</h1>\n"
"<p>Title\n===</p>\n" "<p>Title\n===</p>\n"
"<p>Title</p>\n\n<hr />\n" "<p>Title</p>\n\n<hr>\n"' ] || { echo "the behaviour has changed" >&2; exit 1; }
