package command

import (
	"strings"
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	with := Time{Option: "--delay", Most: 24 * time.Hour}
	bare := Time{Option: "--timeout", Least: time.Second, Most: time.Hour, Bare: time.Second}
	for _, c := range []struct {
		name, text string
		option     Time
		want       time.Duration
		says       string
	}{
		{"milliseconds", "500ms", with, 500 * time.Millisecond, ""},
		{"two units", "1m30s", with, 90 * time.Second, ""},
		{"bounds", "24h", with, 24 * time.Hour, ""},
		{"zero", "0s", with, 0, ""},
		{"no unit", "5", with, 0, "write 5ms or 5s"},
		{"fraction without a unit", "0.5", with, 0, "write 0.5ms or 0.5s"},
		{"too long", "25h", with, 0, "from 0s to 24h"},
		{"negative", "-1s", with, 0, "is not a time"},
		{"a day", "1d", with, 0, "is not a time"},
		{"empty", "", with, 0, "is not a time"},
		{"a bare number keeps its unit", "90", bare, 90 * time.Second, ""},
		{"a bare fraction", "1.5", bare, 1500 * time.Millisecond, ""},
		{"another unit", "2m", bare, 2 * time.Minute, ""},
		{"bare and too long", "99999999999999999999999", bare, 0, "from 1s to 1h, such as 500ms or 2s; a number without a unit counts seconds"},
		{"bare and too short", "0", bare, 0, "from 1s to 1h"},
		{"a dot", ".", bare, 0, "is not a time"},
		{"exponent", "1e3", bare, 0, "is not a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.option.Parse(c.text)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || ExitOf(err) != ExitRefused {
					t.Errorf("%v, want %q", err, c.says)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
