package causes

import (
	"testing"

	"hce/dc/internal/wire"
)

func TestRetryText(t *testing.T) {
	for want, row := range map[string]wire.URL{
		"": {Retries: 0},
		"given up after 1 request; the last cause: reset":                            {Retries: 1, RetryCause: "reset"},
		"not before 2026-01-01 00:00:05: asked in vain 2 times, the last cause: 503": {Retries: 2, RetryCause: "503", RetryDate: "2026-01-01 00:00:05"},
		"not before 2026-01-01 00:00:05: its host has a pause":                       {RetryCause: "host", RetryDate: "2026-01-01 00:00:05"},
	} {
		if got := RetryText(row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
