package feed

import (
	"testing"
	"time"
)

// TestRelations: relations may be URIs of the registry of IANA; an enclosure is no page.
func TestRelations(t *testing.T) {
	const iana = "http://www.iana.org/assignments/relation/"
	for _, tt := range []struct{ name, links, want string }{
		{"short", `<link rel="enclosure" href="/a.mp3"/><link rel="alternate" href="/page"/>`, "/page"},
		{"in full", `<link rel="` + iana + `enclosure" href="/a.mp3"/><link rel="` + iana + `self" href="/entry"/><link rel="` + iana + `alternate" href="/page"/>`, "/page"},
		{"in full, capitals and https", `<link rel="HTTPS://www.iana.org/assignments/relation/Self" href="/entry"/><link rel="https://www.iana.org/assignments/relation/ALTERNATE" href="/page"/>`, "/page"},
		{"without a relation", `<link rel="self" href="/entry"/><link href="/page"/>`, "/page"},
		{"self and enclosure", `<link rel="self" href="/entry"/><link rel="` + iana + `enclosure" type="audio/mpeg" href="/a.mp3"/>`, "/a.mp3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>tag:x,1</id><title>E</title>`+tt.links+`</entry></feed>`), Options{})
			if err != nil || len(f.Items) != 1 || f.Items[0].URL != tt.want {
				t.Errorf("%+v, %v; want %s", f.Items, err, tt.want)
			}
		})
	}
}

// TestZonesOfDates: abbreviations of zones in all layouts, also those that only gofeed knows.
func TestZonesOfDates(t *testing.T) {
	want := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"Sun, 01 Mar 2026 12:00:00 MSK", "Sun, 01 Mar 2026 14:30:00 IST", "Sun, 1 Mar 2026 12:00 MSK", "Sunday, March 1, 2026 2:30 PM IST", "Sun, 01 Mar 2026 18:00:00 JST",
		"2026-03-01 17:00:00 SGT", "Sun Mar 1 14:30:00 IST 2026", "March 1, 2026 6:00 PM KST", "2026-03-01T18:00:00 JST", "Sun, 01 Mar 2026 09:00:00 GMT",
	} {
		t.Run(text, func(t *testing.T) {
			f, err := Parse([]byte(`<rss version="2.0"><channel><title>T</title><item><title>E</title><link>http://x.example/</link><pubDate>`+text+`</pubDate></item></channel></rss>`), Options{})
			if err != nil || len(f.Items) != 1 || !f.Items[0].Date.Equal(want) {
				t.Errorf("%+v, %v", f.Items, err)
			}
		})
	}
}
