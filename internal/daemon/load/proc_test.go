package load

import (
	"math"
	"testing"
)

// Shortened output of Linux. The second line has the times of one processor.
const (
	statText = "cpu  762891 75244 245123 1478350 36949 0 12414 704 5000 100\n" +
		"cpu0 380931 37657 111849 763897 9047 0 1413 336 0 0\nintr 1 2 3\nctxt 77\nbtime 1700000000\n"
	memText = "MemTotal:       24683656 kB\nMemFree:        20429268 kB\nMemAvailable:   23782884 kB\nBuffers:          157828 kB\n"
)

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, text string
		want       ticks
		bad        bool
	}{
		{name: "Linux", text: statText, want: ticks{total: 2611675, idle: 1478350, iowait: 36949}},
		{name: "without steal and guests", text: "cpu 1 2 3 4 5 6 7\n", want: ticks{total: 28, idle: 4, iowait: 5}},
		{name: "no iowait", text: "cpu 1 2 3 4\n", bad: true},
		{name: "empty", bad: true},
		{name: "one processor only", text: "cpu0 1 2 3 4 5 6 7 8\n", bad: true},
		{name: "negative", text: "cpu 1 2 3 -4 5 6 7 8\n", bad: true},
		{name: "sum beyond 64 bits", text: "cpu 18446744073709551615 2 3 4 5 6 7 8\n", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat(tt.text)
			if got != tt.want || (err != nil) != tt.bad {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestShares(t *testing.T) {
	was := ticks{total: 1000, idle: 500, iowait: 100}
	tests := []struct {
		name         string
		now          ticks
		used, iowait float64
		none         bool
	}{
		{name: "idle", now: ticks{1200, 700, 100}},
		{name: "busy", now: ticks{1200, 500, 100}, used: 100},
		{name: "91 of 100", now: ticks{1100, 509, 100}, used: 91},
		{name: "disks", now: ticks{1200, 600, 150}, used: 25, iowait: 25},
		{name: "no time passed", now: was, none: true},
		{name: "decreased counters", now: ticks{1200, 490, 90}, used: 100},
		{name: "more idle than time", now: ticks{1100, 900, 900}, iowait: 100},
		{name: "restarted counters", now: ticks{10, 5, 1}, none: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			used, iowait, ok := tt.now.sharesSince(was)
			if used != tt.used || iowait != tt.iowait || ok == tt.none {
				t.Errorf("used %v, iowait %v, %v", used, iowait, ok)
			}
		})
	}
}

func TestParseMeminfo(t *testing.T) {
	for text, want := range map[string]int64{
		memText: 23782884 * 1024, "MemAvailable: 0 kB": 0,
		"": -1, "MemFree: 5 kB\n": -1, "MemAvailable: 5 MB\n": -1, "MemAvailable: -5 kB\n": -1,
		"MemAvailable: 9223372036854775807 kB\n": -1, "MemAvailable:\n": -1,
	} {
		got, err := parseMeminfo(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestParseAverage(t *testing.T) {
	for text, want := range map[string]float64{
		"3.99 3.37 2.66 2/187 4711\n": 3.99, "0.00": 0, "": -1, "NaN 1": -1, "-1 2": -1, "Inf": -1, "x": -1,
	} {
		got, err := parseAverage(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// No content of the files gives a figure out of its range.
func FuzzParsers(f *testing.F) {
	for _, text := range []string{statText, memText, "3.99 3.37 2.66 2/187 4711\n", "0::/a/b\n4:memory,cpu:/c\n", "50000 100000\n", "max 100000", "usage_usec 17\n"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		was, _ := parseStat(a)
		now, _ := parseStat(b)
		if used, iowait, _ := now.sharesSince(was); !(used >= 0 && used <= 100 && iowait >= 0 && iowait <= 100) {
			t.Errorf("used %v, iowait %v", used, iowait)
		}
		if n, err := parseMeminfo(a); n < 0 && err == nil {
			t.Errorf("memory %d", n)
		}
		if n, err := parseAverage(a); err == nil && !(n >= 0 && n <= math.MaxFloat64) {
			t.Errorf("average %v", n)
		}
		for _, p := range parseMembership(a) {
			if p == "" || p[0] != '/' {
				t.Errorf("path %q", p)
			}
		}
		if n, ok := parseQuota(a); ok && !(n > 0 && n <= math.MaxFloat64) {
			t.Errorf("quota %v", n)
		}
		if n, ok := parseKeyed(a, "usage_usec"); n < 0 && ok {
			t.Errorf("amount %d", n)
		}
	})
}
