#!/usr/bin/env bash
# golang.org/x/net/html v0.62.0 reads <!DOCTYPE HTML> in capitals as quirks mode.
#
# Expected (HTML standard 13.2.6.4.1: the name of a doctype is compared in lower case, as the tokenizer makes it): the same tree as
# for <!doctype html>. A table ends a paragraph that is open before it, in a valid page whose </p> is omitted.
# Seen: with capitals the table is inside of the paragraph, as in quirks mode; with small letters it follows the paragraph.
# The page is valid in both spellings.
#
# Needs Go and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module finding

go 1.26

require golang.org/x/net v0.62.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"
)

// parentOfTable returns the name of the element around the table.
func parentOfTable(page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		panic(err)
	}
	for n := range root.Descendants() {
		if n.Data == "table" {
			return n.Parent.Data
		}
	}
	return ""
}

func main() {
	const rest = "<html lang=en><title>Tides</title><p>High water:<table><tr><td>8:00</table>"
	fmt.Println(parentOfTable("<!doctype html>"+rest), parentOfTable("<!DOCTYPE html>"+rest), parentOfTable("<!DOCTYPE HTML>"+rest))
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "the element around the table with <!doctype html>, <!DOCTYPE html>, <!DOCTYPE HTML>: $seen"
[ "$seen" = "body body p" ] || { echo "the behaviour has changed" >&2; exit 1; }
