package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestPrintTable(t *testing.T) {
	var out bytes.Buffer
	err := printTable(&out, []Report{
		{"floor, 1 connection", 100, 110, 2_500_000, 2, 0.5, 14_000_000},
		{"dc, stored, processed", 100, 110, 2_500_000, 8, 6.25, 250_000_000},
	})
	want := "                         pages    urls        MB   seconds   pages/s     CPU s  memory MB   ratio\n" +
		"floor, 1 connection        100     110       2.5      2.00      50.0      0.50       14.0   1.000\n" +
		"dc, stored, processed      100     110       2.5      8.00      12.5      6.25      250.0   0.250\n"
	if err != nil || out.String() != want {
		t.Errorf("%v, got\n%swant\n%s", err, out.String(), want)
	}
}

func TestFloorTakesTheFastest(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "floor")
	// 3 s, then 1 s, then 2 s.
	script := `#!/bin/sh
n=$(cat ` + dir + `/n 2>/dev/null || echo 0); echo $((n+1)) >` + dir + `/n
set -- 3 1 2; shift $n
echo "{\"pages\":10,\"seconds\":$1,\"max_rss\":5}"
`
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := crawlWithFloor(t.Context(), "http://x/", program, 2, 3)
	if err != nil || got != (Report{Name: "floor, 2 connections", Pages: 10, Seconds: 1, PeakMemory: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRunNeedsAFolder(t *testing.T) {
	if _, err := run(t.Context(), "/nonexistent", "bin", "ini", 1, io.Discard); err == nil {
		t.Error("no error")
	}
}
