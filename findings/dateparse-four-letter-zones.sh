#!/usr/bin/env bash
# araddon/dateparse of 2021-04-29 cuts the last letter off time zones of four letters behind a day and a month, and drops the zone behind
# "PM".
#
# Expected: "02 Jan 2006 15:04:05 CEST" is an instant of CEST, or an error: the abbreviation is not known. Under any other name it is not.
# Seen: the zone is "CES" with offset 0, "AEST" is "AES", and "5:57:51 PM CEST" is UTC, all without an error. In
# "Jan 2 15:04:05 CEST 2006" the zone keeps its name.
#
# Needs Go. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off TZ=UTC
go mod init finding >/dev/null 2>&1
cat >main.go <<'G'
package main

import (
	"fmt"

	"github.com/araddon/dateparse"
)

func main() {
	for _, text := range []string{"02 Jan 2006 15:04:05 CEST", "Fri, 03 Jul 2015 18:04:07 AEST", "May 8, 2009 5:57:51 PM CEST", "Jan 2 15:04:05 CEST 2006"} {
		t, err := dateparse.ParseAny(text)
		name, offset := t.Zone()
		fmt.Println(text, "->", name, offset, err)
	}
}
G
go get github.com/araddon/dateparse@v0.0.0-20210429162001-6b43995a97de >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = "02 Jan 2006 15:04:05 CEST -> CES 0 <nil>
Fri, 03 Jul 2015 18:04:07 AEST -> AES 0 <nil>
May 8, 2009 5:57:51 PM CEST -> UTC 0 <nil>
Jan 2 15:04:05 CEST 2006 -> CEST 0 <nil>" ] || { echo "the behaviour has changed" >&2; exit 1; }
