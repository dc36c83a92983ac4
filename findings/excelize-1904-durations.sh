#!/usr/bin/env bash
# excelize v2.11.1 adds four years to durations of workbooks that count days from 1904, and has other days at the end of their first February.
#
# Expected (ECMA-376 part 1, 18.17.4): date1904 moves dates. A duration, format [h]:mm, is a number of days in both systems: 1.5 is 36:00. Day 60
# behind 1904-01-01 is 1904-03-01: that year has a 29th of February, and day 0 exists.
# Seen: 1.5 is "35124:00" (1,462 days more); 59 is 1904-02-01 and 60 is 1904-02-29, while 61 is 1904-03-02.
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

	"github.com/xuri/excelize/v2"
)

func main() {
	for _, is1904 := range []bool{false, true} {
		f := excelize.NewFile()
		if err := f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &is1904}); err != nil {
			panic(err)
		}
		for i, c := range []struct {
			format string
			value  float64
		}{{"[h]:mm", 1.5}, {"yyyy-mm-dd", 59}, {"yyyy-mm-dd", 60}, {"yyyy-mm-dd", 61}} {
			cell, _ := excelize.CoordinatesToCellName(i+1, 1)
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &c.format})
			if err != nil {
				panic(err)
			}
			f.SetCellValue("Sheet1", cell, c.value)
			f.SetCellStyle("Sheet1", cell, cell, style)
		}
		rows, err := f.GetRows("Sheet1")
		fmt.Println(is1904, rows, err)
	}
}
G
go get github.com/xuri/excelize/v2@v2.11.1 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = "false [[36:00 1900-02-28 1900-02-29 1900-03-01]] <nil>
true [[35124:00 1904-02-01 1904-02-29 1904-03-02]] <nil>" ] || { echo "the behaviour has changed" >&2; exit 1; }
