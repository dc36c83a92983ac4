#!/usr/bin/env bash
# html/template of Go 1.26 takes data attributes for addresses or scripts if their names merely contain "url", "uri" or "src", or begin with "on".
#
# Expected (HTML standard, 3.2.6.6: data-* attributes hold data of the page's own scripts): the text is written as it is, with quotes and
# ampersands escaped, whatever word stands behind "data-".
# Seen: data-hourly="9:30" ("url" is in the name) and data-security="level: high" ("uri") become "#ZgotmplZ", data-hourly="two words" becomes
# "two%20words", and data-online="no" becomes "no" with quotes that belong to the value. No error is returned. data-open, data-daily and title are
# right.
#
# Needs Go 1.26. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26
MOD
cat >main.go <<'GO'
package main

import (
	"html/template"
	"os"
)

func main() {
	for _, row := range [][2]string{
		{"daily", "9:30"}, {"hourly", "9:30"}, {"hourly", "two words"}, {"security", "level: high"}, {"open", "no"}, {"online", "no"}, {"once", "9:30"},
	} {
		page := template.Must(template.New("").Parse(`<p data-` + row[0] + `="{{.}}" title="{{.}}">` + "\n"))
		if err := page.Execute(os.Stdout, row[1]); err != nil {
			panic(err)
		}
	}
}
GO
seen=$(go run .)
echo "$seen"
[ "$seen" = '<p data-daily="9:30" title="9:30">
<p data-hourly="#ZgotmplZ" title="9:30">
<p data-hourly="two%20words" title="two words">
<p data-security="#ZgotmplZ" title="level: high">
<p data-open="no" title="no">
<p data-online="&#34;no&#34;" title="no">
<p data-once="&#34;9:30&#34;" title="9:30">' ] || { echo "the behaviour has changed" >&2; exit 1; }
