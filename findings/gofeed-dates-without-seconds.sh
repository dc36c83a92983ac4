#!/usr/bin/env bash
# gofeed v1.4.2 (Go) has no date for RSS items whose time has no seconds, or whose zone is UT.
#
# Expected (RFC 822 5.1, the format of RSS 2.0: seconds and the day of the week are optional, UT is the first zone of the list): all of these are dates.
# Seen: PublishedParsed is nil, without an error, for a numeric zone without seconds and for UT; with GMT, or with seconds, there is a date.
#
# Needs Go and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/mmcdole/gofeed v1.4.2
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/mmcdole/gofeed"
)

func main() {
	for _, date := range []string{"Wed, 01 May 2024 23:30 GMT", "Wed, 01 May 2024 23:30:00 +0900", "Wed, 01 May 24 23:30 +0900", "01 May 24 23:30 UT"} {
		feed, err := gofeed.NewParser().ParseString("<rss version='2.0'><channel><title>Tides</title><link>https://a.example/</link><description>x</description>" +
			"<item><title>One</title><pubDate>" + date + "</pubDate></item></channel></rss>")
		if err != nil {
			panic(err)
		}
		fmt.Println(date, "->", feed.Items[0].PublishedParsed)
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'Wed, 01 May 2024 23:30 GMT -> 2024-05-01 23:30:00 +0000 UTC
Wed, 01 May 2024 23:30:00 +0900 -> 2024-05-01 14:30:00 +0000 UTC
Wed, 01 May 24 23:30 +0900 -> <nil>
01 May 24 23:30 UT -> <nil>' ] || { echo "the behaviour has changed" >&2; exit 1; }
