#!/usr/bin/env bash
# html/template of Go 1.26 and templ v0.3.1118 replace links whose query or fragment has a colon, such as "?q=site:a.example" or "#t:10".
#
# Expected (RFC 3986 3.1, 3.4 and 3.5: a scheme has only letters, digits, "+", "-" and "."; a colon is a valid character of a query and of a
# fragment): a link that begins with "?" or "#" has no scheme, so no filter of schemes applies to it.
# Seen: whatever is before the first colon is taken for the scheme unless a slash is in it. The links become "#ZgotmplZ" and
# "about:invalid#TemplFailedSanitizationURL", without an error. With "./" before them they stay.
#
# Needs Go 1.26 and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/a-h/templ v0.3.1118
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"html/template"
	"os"

	"github.com/a-h/templ"
)

func main() {
	page := template.Must(template.New("").Parse(`<a href="{{.}}">`))
	for _, link := range []string{"?q=a", "?q=site:a.example", "#t:10", "pages.html?from=10:30", "./pages.html?from=10:30"} {
		if err := page.Execute(os.Stdout, link); err != nil {
			panic(err)
		}
		fmt.Println("", templ.URL(link))
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = '<a href="?q=a"> ?q=a
<a href="#ZgotmplZ"> about:invalid#TemplFailedSanitizationURL
<a href="#ZgotmplZ"> about:invalid#TemplFailedSanitizationURL
<a href="#ZgotmplZ"> about:invalid#TemplFailedSanitizationURL
<a href="./pages.html?from=10:30"> ./pages.html?from=10:30' ] || { echo "the behaviour has changed" >&2; exit 1; }
