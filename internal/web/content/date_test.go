package content

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/web/pdate"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestParseDate(t *testing.T) {
	const want = "1994-11-06 08:49:37"
	tests := []struct{ name, text, want string }{
		{"RFC 9110", "Sun, 06 Nov 1994 08:49:37 GMT", want},
		{"RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", want},
		{"asctime", "Sun Nov  6 08:49:37 1994", want},
		{"quotes", `"Sun, 06 Nov 1994 08:49:37 GMT"`, want},
		{"UTC", "Sun, 06 Nov 1994 08:49:37 UTC", want},
		{"no zone", "Sun, 06 Nov 1994 08:49:37", want},
		{"one-digit day and hour", "Sun, 6 Nov 1994 8:49:37 GMT", want},
		{"lower case", "sun, 06 nov 1994 08:49:37 gmt", want},
		{"no weekday", "06 Nov 1994 08:49:37 GMT", want},
		{"wrong weekday", "Mon, 06 Nov 1994 08:49:37 +0000", want},
		{"offset", "Sun, 06 Nov 1994 10:49:37 +0200", want},
		{"offset with a colon", "Sun, 06 Nov 1994 10:49:37 +02:00", want},
		{"GMT with an offset", "Sun, 06 Nov 1994 10:49:37 GMT+0200", want},
		{"zone name", "Sun, 06 Nov 1994 03:49:37 EST", want},
		{"comment", "Sun, 06 Nov 1994 08:49:37 +0000 (Coordinated Universal Time)", want},
		{"dashes", "Sun, 06-Nov-1994 08:49:37 GMT", want},
		{"full month name", "Sunday, 06 November 1994 08:49:37 GMT", want},
		{"date(1)", "Sun Nov 6 08:49:37 UTC 1994", want},
		{"American", "Nov 6, 1994 08:49:37 AM GMT", want},
		{"ISO 8601", "1994-11-06T08:49:37Z", want},
		{"ISO 8601, fraction of seconds", "1994-11-06T08:49:37.123Z", want},
		{"ISO 8601, offset", "1994-11-06T10:49:37+02:00", want},
		{"ISO 8601, no zone", "1994-11-06T08:49:37", want},
		{"SQL", "1994-11-06 08:49:37", want},
		{"seconds", "784111777", want},
		{"date only", "6 Nov 1994", "1994-11-06 00:00:00"},
		{"no seconds", "Sun, 06 Nov 1994 08:49 GMT", "1994-11-06 08:49:00"},
		{"empty", "", ""},
		{"short number", "0", ""},
		{"negative number", "-1", ""},
		{"word", "yesterday", ""},
		{"year 0", "Thu, 01 Jan 0001 00:00:00 GMT", ""},
		{"Unix epoch", "Thu, 01 Jan 1970 00:00:00 GMT", ""},
		{"day outside the month", "Sun, 31 Feb 1994 08:49:37 GMT", ""},
		{"long", strings.Repeat("Sun, ", 1000), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseDate(tt.text)
			if ok != (tt.want != "") || ok && !got.Truncate(time.Second).Equal(at(tt.want)) || got.Location() != time.UTC {
				t.Errorf("%v, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"Sun, 06 Nov 1994 08:49:37 GMT", "06-Nov-94", "GMT+0200", "1994-11-06T", "+02:00", "()", "--", "UTC"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := ParseDate(text); ok && (d.Year() < 1971 || d.Year() > 9999) || !ok && !d.IsZero() {
			t.Errorf("%q became %v, %v", text, d, ok)
		}
		URLDate(text)
	})
}

func TestLastModified(t *testing.T) {
	now := at("2026-01-05 10:00:00").Add(time.Millisecond)
	const day = 24 * time.Hour
	tests := []struct {
		name   string
		code   int
		header http.Header
		tcDate string
		want   string
	}{
		{"304", 304, http.Header{"Last-Modified": {"Sun, 06 Nov 1994 08:49:37 GMT"}}, "2025-01-01 00:00:00", "2025-01-01 00:00:00"},
		{"304 of an unknown row", 304, nil, "", "2026-01-04 10:00:00"},
		{"header", 200, http.Header{"Last-Modified": {"Sun, 06 Nov 1994 08:49:37 GMT"}, "Date": {"Mon, 07 Nov 1994 08:49:37 GMT"}}, "2025-01-01 00:00:00", "1994-11-06 08:49:37"},
		{"Date", 200, http.Header{"Date": {"Mon, 07 Nov 1994 08:49:37 GMT"}}, "", "1994-11-07 08:49:37"},
		{"no header", 200, http.Header{}, "", "2026-01-04 10:00:00"},
		{"invalid Last-Modified", 200, http.Header{"Last-Modified": {"soon"}, "Date": {"Mon, 07 Nov 1994 08:49:37 GMT"}}, "", "2026-01-05 10:00:00"},
		{"future Last-Modified", 200, http.Header{"Last-Modified": {"Sun, 06 Nov 2094 08:49:37 GMT"}}, "", "2026-01-05 10:00:00"},
		{"empty Last-Modified", 200, http.Header{"Last-Modified": {""}, "Date": {"Mon, 07 Nov 1994 08:49:37 GMT"}}, "", "1994-11-07 08:49:37"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tcDate time.Time
			if tt.tcDate != "" {
				tcDate = at(tt.tcDate)
			}
			if got := LastModified(tt.code, tt.header, tcDate, now, day); !got.Equal(at(tt.want)) {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

func TestPDate(t *testing.T) {
	all := Sources{
		URL:      "http://a.test/2001/02/03/x",
		Feed:     at("2002-01-01 00:00:00"),
		Header:   http.Header{"Date": {"Wed, 01 Jan 2003 00:00:00 GMT"}},
		Modified: at("2004-01-01 00:00:00"),
	}
	undated := Sources{URL: "http://a.test/", Header: http.Header{"Date": {"x"}}}
	tests := []struct {
		name            string
		mask, overwrite int64
		s               Sources
		want            int // year, 0 for no date
	}{
		{"defaults: last source wins", pdate.Default.Sources, pdate.Default.Overwrite, all, 2004},
		{"mask 0", 0, 0, all, 0},
		{"URL", 1, 0, all, 2001},
		{"feed", 2, 0, all, 2002},
		{"Date", 4, 0, all, 2003},
		{"overwrite 255: first source wins", 255, 255, all, 2001},
		{"overwrite 8: Last-Modified only if no other date", 255, 8, all, 2003},
		{"overwrite 4: feed before Date", 6, 4, all, 2002},
		{"overwrite 4: Date without feed", 6, 4, Sources{Header: all.Header}, 2003},
		{"no source has a date", 255, 192, undated, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := PDate(pdate.Masks{Sources: tt.mask, Overwrite: tt.overwrite}, tt.s)
			if got.IsZero() != (tt.want == 0) || tt.want != 0 && got.Year() != tt.want {
				t.Errorf("%v, want %d", got, tt.want)
			}
		})
	}
}

func TestURLDate(t *testing.T) {
	tests := []struct{ url, want string }{
		{"http://a.test/2024/05/17/title", "2024-05-17"},
		{"http://a.test/2024/5/7", "2024-05-07"},
		{"http://a.test/news-2024-05-17.html", "2024-05-17"},
		{"http://a.test/2024-05-17", "2024-05-17"},
		{"http://a.test/2024/13/17/2024-05-17", "2024-05-17"},
		{"http://a.test/2023/02/29/", ""},
		{"http://a.test/12024/05/17/", ""},
		{"http://a.test/2024/05/170/", ""},
		{"http://a.test/3024/05/17/", ""},
		{"http://a.test/2024/05/", ""},
		{"http://a.test/x?d=2024-05-17", ""},
		{"http://2024-05-17.test/", ""},
		{"http://[", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got := URLDate(tt.url)
		if got.IsZero() != (tt.want == "") || tt.want != "" && got.Format(time.DateOnly) != tt.want {
			t.Errorf("%s: %v, want %q", tt.url, got, tt.want)
		}
	}
}
