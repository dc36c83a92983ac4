package entry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/web/feed"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

const (
	md5  = "0123456789abcdef0123456789abcdef"
	page = "https://news.example/page"
)

// describe writes a result as lines "EXTRACTOR NAME: VALUES".
func describe(w *strings.Builder, r result.Result) {
	fmt.Fprintf(w, "count %d, mask %d\n", r.Count(), r.Mask(nil))
	for _, t := range r.Tags {
		fmt.Fprintf(w, "%s %s: %q\n", t.Extractor, t.Name, t.Data)
	}
}

func describeError(w *strings.Builder, err error) {
	if err != nil {
		fmt.Fprintf(w, "error %s: %v\n", strings.Join(errormask.Of(err).Names(), " "), err)
	}
}

// golden compares the answers to the pages of a folder with their golden files.
func golden(t *testing.T, folder string, answer func(raw []byte, w *strings.Builder)) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var w strings.Builder
			answer(raw, &w)
			testgolden.Equal(t, strings.TrimSuffix(file, ".json")+".golden", w.String())
		})
	}
}

// docs/spec/processing.md 4.1.
func TestFeedGolden(t *testing.T) {
	golden(t, "feed", func(raw []byte, w *strings.Builder) {
		r, published, err := Feed(md5, raw)
		fmt.Fprintf(w, "published %q\n", published)
		describe(w, r)
		describeError(w, err)
	})
}

// docs/spec/processing.md 4.4.
func TestCustomGolden(t *testing.T) {
	golden(t, "custom", func(raw []byte, w *strings.Builder) {
		results, err := Custom(md5, page, raw)
		for _, r := range results {
			describe(w, r)
		}
		describeError(w, err)
	})
}

// The crawler's form of an entry is the one that Feed reads, with both kinds of names
// (RSS_FEEDPARSER_MODE).
func TestEntriesOfTheCrawler(t *testing.T) {
	const rss = `<rss version="2.0"><channel><title>T</title><item><title>Ebb &amp; flood</title><link>https://news.example/a?x=1&amp;y=2</link>
		<pubDate>Sun, 01 Mar 2026 12:00:00 +0200</pubDate><guid isPermaLink="false">g-7</guid><category>tides</category><category>mills</category></item></channel></rss>`
	const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>Ebb</title><link href="https://news.example/a?x=1&amp;y=2"/>
		<published>2026-03-01T10:00:00Z</published><author><name>Ann</name></author><category term="tides"/></entry></feed>`
	for _, tt := range []struct {
		name, text string
		standard   bool
		want       map[string]string
	}{
		{"RSS", rss, false, map[string]string{"title": "Ebb & flood", "link": "https://news.example/a?x=1&amp;y=2", "guid": "g-7", "category": "tides mills", "parent_rss_feed": page, "parent_rss_feed_urlMd5": wire.Md5(page)}},
		{"RSS, normalized", rss, true, map[string]string{"title": "Ebb & flood", "link": "https://news.example/a?x=1&amp;y=2", "id": "g-7", "tags": "tides,mills", "published_parsed": ""}},
		{"Atom", atom, false, map[string]string{"title": "Ebb", "link": "https://news.example/a?x=1&amp;y=2", "author": "Ann", "category": "tides"}},
		{"Atom, normalized", atom, true, map[string]string{"title": "Ebb", "link": "https://news.example/a?x=1&amp;y=2", "author": "Ann", "tags": "tides"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := feed.Parse([]byte(tt.text), feed.Options{Standard: tt.standard})
			if err != nil || len(f.Items) != 1 {
				t.Fatal(f, err)
			}
			raw, err := f.Items[0].Document(md5, page, wire.Md5(page))
			if err != nil {
				t.Fatal(err)
			}
			r, published, err := Feed(md5, raw)
			if err != nil || published != "2026-03-01 10:00:00" {
				t.Errorf("published %q, %v", published, err)
			}
			for name, want := range tt.want {
				if got := r.First(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// docs/spec/processing.md 6.2 #22: the mask was read before the tags were there, so it was 0.
func TestFeedHasAMask(t *testing.T) {
	r, _, err := Feed(md5, []byte(`{"entry":{"title":"A","link":"u","updated":""},"parent_rss_feed":"f","parent_rss_feed_urlMd5":"m"}`))
	if want := int64(1<<3 | 1<<4 | 1<<17 | 1<<18); err != nil || r.Mask(nil) != want || r.Count() != 4 {
		t.Errorf("mask %d, want %d; count %d; %v", r.Mask(nil), want, r.Count(), err)
	}
}

func FuzzEntries(f *testing.F) {
	for _, seed := range []string{
		`{"entry":{"link":{"href":null}},"pubdate":"0001-01-01"}`, `{"entry":{"a":[{"href":[]},{"term":{}}],"published":"99999-01-01"}}`,
		`[[[]],[{"a":[[{}]]}],{"":"","a":"` + "\xff" + `"}]`, `[null,{"a":1e999,"a":[]}]`, strings.Repeat("[", 9000) + strings.Repeat("]", 9000), `{"entry":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		r, _, _ := Feed(md5, raw)
		results, err := Custom(md5, page, raw)
		if len(results) == 0 || err != nil && errormask.Of(err) != errormask.Scraper {
			t.Errorf("%d results, %v", len(results), err)
		}
		stored, err := result.Encode(append(results, r), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := result.Expand(stored); err != nil || !json.Valid(text) {
			t.Errorf("%s, %v", text, err)
		}
		for _, r := range results {
			if r.First("source_url") != page {
				t.Errorf("source_url is %q", r.First("source_url"))
			}
		}
		if !bytes.Equal(before, raw) {
			t.Error("the page changed")
		}
	})
}
