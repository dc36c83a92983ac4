package feed

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample is one feed of testdata/samples.json and what Parse must find in it. A feed with
// Charset "bytes" holds one byte in each character.
type sample struct {
	Name, Type, Feed, Charset string
	None                      bool // Parse must return ErrNoFeed
	Kind                      Kind
	Title, Link               string
	Items                     []struct{ URL, Title, Date string }
	Has                       []string // texts that Data of the entries must contain
}

func (s sample) body() []byte {
	if s.Charset != "bytes" {
		return []byte(s.Feed)
	}
	var body []byte
	for _, r := range s.Feed {
		body = append(body, byte(r))
	}
	return body
}

// TestSamples reads the samples in both modes. They vary the format and its version, each
// element, the encoding of its text, links, dates, namespaces and charsets.
func TestSamples(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "samples.json"))
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	if err := json.Unmarshal(raw, &samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			for _, standard := range []bool{false, true} {
				f, err := Parse(s.body(), Options{ContentType: s.Type, Standard: standard, ZeroItem: true})
				if s.None {
					if !errors.Is(err, ErrNoFeed) {
						t.Errorf("error %v, want ErrNoFeed", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				s.compare(t, f, standard)
			}
		})
	}
	t.Logf("judge: feeds: %d own samples", len(samples))
	if len(samples) < 600 {
		t.Errorf("only %d samples", len(samples))
	}
}

func (s sample) compare(t *testing.T, f Feed, standard bool) {
	t.Helper()
	if f.Kind != s.Kind || f.Title != s.Title || f.Link != s.Link {
		t.Errorf("kind %q, title %q, link %q; want %q, %q, %q", f.Kind, f.Title, f.Link, s.Kind, s.Title, s.Link)
	}
	if len(f.Items) != len(s.Items)+1 {
		t.Fatalf("%d entries, want %d", len(f.Items)-1, len(s.Items))
	}
	data := ""
	for _, e := range f.Items {
		if data += string(e.Data); !json.Valid(e.Data) {
			t.Errorf("data is not JSON: %s", e.Data)
		}
	}
	for i, want := range s.Items {
		got := f.Items[i+1]
		date := ""
		if !got.Date.IsZero() {
			date = got.Date.Format(time.RFC3339Nano)
		}
		if got.URL != want.URL || got.Title != want.Title || date != want.Date {
			t.Errorf("entry %d is %q, %q, %q; want %q, %q, %q", i, got.URL, got.Title, date, want.URL, want.Title, want.Date)
		}
	}
	for _, text := range s.Has {
		if !standard && !strings.Contains(data, text) {
			t.Errorf("no %q in %s", text, data)
		}
	}
}
