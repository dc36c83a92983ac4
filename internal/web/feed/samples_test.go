package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// expected is what gofeed's own expectation files have in common.
type expected struct {
	Title   string
	Items   []expectedItem // RSS, JSON and universal
	Entries []expectedItem // Atom
}

type expectedItem struct {
	Title           string
	Link            string
	URL             string
	Links           json.RawMessage
	PubDateParsed   *time.Time
	PublishedParsed *time.Time
}

// TestSamples reads all samples that gofeed carries for its own tests, in both
// modes, and compares with its expectations: the number of entries, their links,
// titles and dates.
func TestSamples(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mmcdole/gofeed").Output()
	root := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	if _, e := os.Stat(root); err != nil || e != nil {
		t.Skip("gofeed's samples are not here")
	}
	var files []string
	for _, pattern := range []string{"parser/*/*", "parser/json/invalid/*", "translator/*/*", "extensions/*/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	samples, passed, compared, equal := 0, 0, 0, 0
	for _, file := range files {
		name, _ := filepath.Rel(root, file)
		info, err := os.Stat(file)
		if err != nil || info.IsDir() || !isSample(file) {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		samples++
		f, err := Parse(body, Options{})
		standard, errStandard := Parse(body, Options{Standard: true})
		if isBroken[filepath.Base(file)] {
			if errors.Is(err, ErrNoFeed) {
				passed++
			} else {
				t.Logf("%s is no feed, but was read", name)
			}
			continue
		}
		if err != nil || errStandard != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		passed++
		want, ok := expectation(file)
		if !ok {
			continue
		}
		compared++
		diffs := append(differences(want, f), differences(want, standard)...)
		for i, e := range append(f.Items, standard.Items...) {
			if !json.Valid(e.Data) {
				diffs = append(diffs, fmt.Sprintf("entry %d: data is no JSON: %s", i, e.Data))
			}
		}
		if len(diffs) > 0 {
			t.Logf("%s: %s", name, strings.Join(diffs, "; "))
			continue
		}
		equal++
	}
	summary := fmt.Sprintf("judge: gofeed samples: %d of %d pass, %d of %d equal what gofeed expects", passed, samples, equal, compared)
	t.Log(summary)
	if samples < samplesThere || passed < samples || compared-equal > knownDifferent {
		t.Errorf("fewer than before: %s", summary)
	}
}

// What gofeed v1.4.2 carries, and how many of its expectations are not ours.
const (
	samplesThere   = 563
	knownDifferent = 0
)

// isBroken are the samples that are to be refused.
var isBroken = map[string]bool{"unknown_feed.xml": true, "empty_feed.xml": true, "invalid.json": true}

// isSample tells a sample from an expectation, which is JSON named like an XML.
func isSample(file string) bool {
	base := strings.TrimSuffix(file, filepath.Ext(file))
	if filepath.Ext(file) == ".xml" {
		return true
	}
	_, err := os.Stat(base + ".xml")
	return err != nil && !strings.HasSuffix(base, "_expected")
}

func expectation(file string) (expected, bool) {
	var want expected
	base, suffix := strings.TrimSuffix(file, ".xml"), ".json"
	if base == file {
		base, suffix = strings.TrimSuffix(file, ".json"), "_expected.json"
	}
	raw, err := os.ReadFile(base + suffix)
	if err != nil || json.Unmarshal(raw, &want) != nil {
		return want, false
	}
	return want, true
}

func differences(want expected, got Feed) []string {
	items := append(want.Items, want.Entries...)
	var diffs []string
	if len(items) != len(got.Items) {
		return []string{fmt.Sprintf("%d entries, expected %d", len(got.Items), len(items))}
	}
	if want.Title != got.Title {
		diffs = append(diffs, fmt.Sprintf("feed title %q, expected %q", got.Title, want.Title))
	}
	for i, w := range items {
		g := got.Items[i]
		if link := w.expectedLink(); link != "" && link != g.URL {
			diffs = append(diffs, fmt.Sprintf("entry %d: link %q, expected %q", i, g.URL, link))
		}
		if w.Title != g.Title && w.Title != "" {
			diffs = append(diffs, fmt.Sprintf("entry %d: title %q, expected %q", i, g.Title, w.Title))
		}
		date := w.PubDateParsed
		if date == nil {
			date = w.PublishedParsed
		}
		if date != nil && !date.Equal(g.Date) {
			diffs = append(diffs, fmt.Sprintf("entry %d: date %s, expected %s", i, g.Date, date))
		}
	}
	return diffs
}

func (w expectedItem) expectedLink() string {
	if w.Link != "" || w.URL != "" {
		return w.Link + w.URL
	}
	var links []struct{ Href, Rel, Type string }
	if json.Unmarshal(w.Links, &links) == nil {
		for _, l := range links {
			if l.Rel == "alternate" && (l.Type == "" || strings.Contains(l.Type, "html")) {
				return strings.TrimSpace(l.Href)
			}
		}
	}
	return ""
}
