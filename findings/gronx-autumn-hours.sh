#!/usr/bin/env bash
# adhocore/gronx v1.20.4 (Go) leaves out an hour of an hourly schedule when summer time ends.
#
# Expected: "0 * * * *" is due each hour. On the night of 27 October 2024 the hour from two to three happens twice in Berlin: 00:00 and 01:00 UTC are
# two ticks, as robfig/cron v3.0.1 has them.
# Seen: 23:00, 01:00 and 02:00 UTC. Two hours pass without a tick; "*/30 * * * *" loses two ticks. In spring no hour is lost.
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

require (
	github.com/adhocore/gronx v1.20.4
	github.com/robfig/cron/v3 v3.0.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"
)

func main() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(err)
	for _, rule := range []string{"0 * * * *", "*/30 * * * *"} {
		schedule, err := cron.ParseStandard(rule)
		check(err)
		for _, library := range []string{"cron", "gronx"} {
			fmt.Print(library, " ", rule, ":")
			tick := time.Date(2024, 10, 27, 0, 30, 0, 0, berlin)
			for range 5 {
				if library == "cron" {
					tick = schedule.Next(tick)
				} else {
					tick, err = gronx.NextTickAfter(rule, tick, false)
					check(err)
				}
				fmt.Print(" ", tick.UTC().Format("15:04"))
			}
			fmt.Println()
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'cron 0 * * * *: 23:00 00:00 01:00 02:00 03:00
gronx 0 * * * *: 23:00 01:00 02:00 03:00 04:00
cron */30 * * * *: 23:00 23:30 00:00 00:30 01:00
gronx */30 * * * *: 23:00 23:30 01:00 01:30 02:00' ] || { echo "the behaviour has changed" >&2; exit 1; }
