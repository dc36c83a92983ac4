package crawl_test

import (
	"testing"

	"hce/dc/internal/wire"
)

// TestLenientRobots: files that break RFC 9309 and are read all the same.
func TestLenientRobots(t *testing.T) {
	tests := []struct {
		name, robots string
		want         wire.ErrorMask // of /private/x
	}{
		{"pattern in place of the agent", "User-agent: *Bot*\nDisallow: /", 0},
		{"misspelled key", "Useragent: *\nDissalow: /private", wire.ErrRobots},
		{"no colons", "User-agent *\nDisallow /private", wire.ErrRobots},
		{"UTF-16", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00p\x00", wire.ErrRobots},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pages(t, map[string]string{"/robots.txt": tt.robots, "/private/x": "x", "/open": "x"})
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1")
			private, open := w.item("s", s.URL+"/private/x"), w.item("s", s.URL+"/open")
			w.run(batchOf(private, open))
			if row := w.row(private); row.ErrorMask != tt.want || row.Status != wire.StatusCrawled {
				t.Errorf("private: %s, status %d", bitNames(row.ErrorMask), row.Status)
			}
			if row := w.row(open); row.ErrorMask != 0 || row.Status != wire.StatusCrawled {
				t.Errorf("open: %s, status %d", bitNames(row.ErrorMask), row.Status)
			}
		})
	}
}
