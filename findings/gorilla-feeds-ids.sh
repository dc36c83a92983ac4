#!/usr/bin/env bash
# gorilla/feeds v1.2.0 writes JSON feeds whose items all have the id "", Atom entries with an empty date, and RSS items without a guid.
#
# Expected: JSON Feed 1.1 asks for an id of each item that is unique and never changes; with the link as the only key it would be the URL,
# as it is in Atom. RFC 4287 asks for a date in each "updated".
# Seen: "id": "" in every item, also with a link. Items without a date get <updated></updated> and, although they have a link, another
# random id in each run: readers show them as new again and again. Items of RSS have no guid.
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
	"regexp"

	"github.com/gorilla/feeds"
)

func main() {
	page := func() *feeds.Feed {
		return &feeds.Feed{Title: "News", Link: &feeds.Link{Href: "https://site.example/"}, Items: []*feeds.Item{
			{Title: "one", Link: &feeds.Link{Href: "https://site.example/1"}}, {Title: "two", Link: &feeds.Link{Href: "https://site.example/2"}},
			{Title: "three", Description: "no link"},
		}}
	}
	json, _ := page().ToJSON()
	fmt.Println(regexp.MustCompile(`"id": "[^"]*"`).FindAllString(json, -1))
	atom, _ := page().ToAtom()
	again, _ := page().ToAtom()
	ids := regexp.MustCompile(`<id>[^<]*</id>`)
	list := ids.FindAllString(atom, -1)
	fmt.Println(list[1][:13], list[1] == ids.FindAllString(again, -1)[1])
	fmt.Println(regexp.MustCompile(`<updated>[^<]*</updated>`).FindAllString(atom, -1))
	rss, _ := page().ToRss()
	fmt.Println(regexp.MustCompile(`<guid`).FindAllString(rss, -1))
}
G
go get github.com/gorilla/feeds@v1.2.0 >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = '["id": "" "id": "" "id": ""]
<id>urn:uuid: false
[<updated></updated> <updated></updated> <updated></updated> <updated></updated>]
[]' ] || { echo "the behaviour has changed" >&2; exit 1; }
