#!/usr/bin/env bash
# linkifyjs 4.4.0 (npm) and xurls v2.6.0 (Go) take a typographic quote or a full-width comma behind an address, and the words that follow, into it.
#
# Expected: an address in a text ends before the quote that closes it and before a comma of the sentence, as both tools do for straight quotes and
# ASCII commas. In Chinese and Japanese no blank follows a comma. linkify-it 6.1.0 and autolinker 4.1.5 end the address in all of these.
# Seen: both find https://a.example.com/a” and https://a.example.com/a» with the quote, and https://a.example.com/a，然后 with the next words of the
# sentence. Each is another address.
#
# Needs Go with a module proxy, node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent linkifyjs@4.4.0 linkify-it@6.1.0 autolinker@4.1.5
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require mvdan.cc/xurls/v2 v2.6.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"mvdan.cc/xurls/v2"
)

func main() {
	for _, text := range os.Args[1:] {
		fmt.Println(xurls.Strict().FindString(text))
	}
}
GO
cat >find.mjs <<'JS'
import * as linkify from 'linkifyjs'
import { LinkifyIt } from 'linkify-it'
import autolinker from 'autolinker'
const Autolinker = autolinker.default ?? autolinker
for (const text of process.argv.slice(2)) {
  console.log(linkify.find(text)[0].value, new LinkifyIt().match(text)[0].raw, Autolinker.parse(text, {})[0].getMatchedText())
}
JS
go mod tidy >/dev/null 2>&1
texts=('"https://a.example.com/a", then' '“https://a.example.com/a” then' '«https://a.example.com/a» then' '见 https://a.example.com/a，然后' '見る https://a.example.com/a。次')
seen=$(paste -d ' ' <(go run . "${texts[@]}") <(node find.mjs "${texts[@]}"))
echo "xurls linkifyjs linkify-it autolinker"
echo "$seen"
[ "$seen" = 'https://a.example.com/a https://a.example.com/a https://a.example.com/a https://a.example.com/a
https://a.example.com/a” https://a.example.com/a” https://a.example.com/a https://a.example.com/a
https://a.example.com/a» https://a.example.com/a» https://a.example.com/a https://a.example.com/a
https://a.example.com/a，然后 https://a.example.com/a，然后 https://a.example.com/a https://a.example.com/a
https://a.example.com/a。次 https://a.example.com/a。次 https://a.example.com/a https://a.example.com/a' ] || { echo "the behaviour has changed" >&2; exit 1; }
