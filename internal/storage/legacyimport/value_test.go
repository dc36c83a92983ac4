package legacyimport

import (
	"math"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func berlin(t *testing.T) *source {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return &source{changes: map[string]int64{}, zone: zone}
}

func TestDate(t *testing.T) {
	for name, c := range map[string]struct {
		raw, kind string
		want      any
		kinds     int
	}{
		"winter":           {"2014-01-05 11:00:00", "datetime", "2014-01-05 10:00:00", 0},
		"summer":           {"2014-07-05 11:00:00", "datetime", "2014-07-05 09:00:00", 0},
		"year before":      {"2014-01-01 00:30:00", "datetime", "2013-12-31 23:30:00", 0},
		"skipped hour":     {"2014-03-30 02:30:00", "datetime", "2014-03-30 01:30:00", 0},
		"timestamp":        {"2014-07-05 11:00:00", "timestamp", "2014-07-05 11:00:00", 0},
		"fraction":         {"2014-01-05 11:00:00.999999", "datetime", "2014-01-05 10:00:00", 0},
		"null":             {"", "datetime", nil, 0},
		"zero":             {"0000-00-00 00:00:00", "datetime", nil, 1},
		"no month":         {"2014-00-00 00:00:00", "datetime", nil, 1},
		"before year 1000": {"0999-12-31 00:00:00", "datetime", nil, 1},
		"not a date":       {"soon", "datetime", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := berlin(t)
			if got := s.convertDate("x", c.raw, c.kind, dateColumn("x")); got != c.want || len(s.changes) != c.kinds {
				t.Errorf("%v, %v", got, s.changes)
			}
		})
	}
}

func TestWholeAndText(t *testing.T) {
	column := func(columns []schema.Column, name string) schema.Column {
		for _, c := range columns {
			if c.Name == name {
				return c
			}
		}
		t.Fatal(name)
		return schema.Column{}
	}
	for name, c := range map[string]struct {
		raw    string
		column schema.Column
		want   any
		kinds  int
	}{
		"number":          {"7", column(wire.URLColumns, "Crawled"), int64(7), 0},
		"null":            {"", column(wire.URLColumns, "Crawled"), int64(0), 0},
		"too large":       {"18446744073709551615", column(wire.URLColumns, "Crawled"), int64(math.MaxInt64), 1},
		"too large u8":    {"300", column(wire.URLColumns, "Type"), int64(255), 1},
		"below zero":      {"-1", column(wire.URLColumns, "Depth"), int64(0), 1},
		"far below zero":  {"-99999999999999999999", column(wire.URLColumns, "Depth"), int64(0), 1},
		"negative action": {"-1", column(wire.FilterColumns, "Action"), int64(-1), 0},
		"size":            {"9999999999999", column(wire.URLColumns, "Size"), int64(1 << 40), 1},
		"text":            {"Ü", column(wire.SiteColumns, "Description"), "Ü", 0},
		"text too long":   {strings.Repeat("ü", 1025), column(wire.SiteColumns, "Description"), strings.Repeat("ü", 1024), 1},
		"nul":             {"a\x00b", column(wire.SiteColumns, "Description"), "a\uFFFDb", 1},
		"invalid UTF-8":   {"a\xffb", column(wire.SiteColumns, "Description"), "a\uFFFDb", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := berlin(t)
			var got any
			if c.column.Kind == schema.KindInt {
				got = s.convertInt("x", c.raw, c.column)
			} else {
				got = s.convertText("x", c.raw, c.column)
			}
			if got != c.want || len(s.changes) != c.kinds {
				t.Errorf("%v, %v", got, s.changes)
			}
		})
	}
}

func TestMask(t *testing.T) {
	for old, want := range map[int]int{7: 53, 15: 54, 16: 55, 32: 56, 33: 57, 0: 0, 17: 17, 31: 31, 35: 35, 52: 52} {
		s := berlin(t)
		if got := s.convertErrorMask("x", 1<<old); got != 1<<want || (len(s.changes) == 1) != (old != want) {
			t.Errorf("bit %d becomes %b, %v", old, got, s.changes)
		}
	}
	if got, want := berlin(t).convertErrorMask("x", 4198399), int64(4198399&^(1<<7)|1<<53); got != want {
		t.Errorf("mask %d, want %d", got, want)
	}
}

// No row stays in a batch, and no row becomes a row of another node.
func TestRelease(t *testing.T) {
	for status, want := range map[int64][2]int64{0: {0, 0}, 1: {1, 0}, 2: {1, 0}, 3: {1, 0}, 4: {4, 0}, 5: {4, 1}, 6: {4, 1}, 7: {7, 0}, 8: {1, 0}, 9: {1, 0}, 255: {1, 0}} {
		p := schema.Patch{"Status": status, "Crawled": int64(0)}
		berlin(t).releaseFromBatch("x", p)
		if got := [2]int64{p.Int("Status", -1), p.Int("Crawled", -1)}; got != want {
			t.Errorf("status %d: %v, want %v", status, got, want)
		}
	}
}

func TestSameKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "A ", true}, {"a", "b", false}, {"", "a", false}} {
		if sameKey(c.a, c.b) != c.want {
			t.Errorf("sameKey(%q, %q) is not %v", c.a, c.b, c.want)
		}
	}
}
