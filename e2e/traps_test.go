//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trapSummary is what the test reads of the summary.
type trapSummary struct {
	URLs, Pages, Left int64
	Traps             []struct {
		Kind, Rule string
		URLs       int
		Options    []string
	}
}

// crawlTraps crawls with options and returns the summary.
func crawlTraps(t *testing.T, status int, args ...string) (s trapSummary) {
	t.Helper()
	stdout, _ := hce(t, status, append([]string{"crawl", "--json", loopback, "--delay", "0s", "--data", filepath.Join(t.TempDir(), "node")}, args...)...)
	list := crawlLines(t, stdout)
	if err := json.Unmarshal(list[len(list)-1].raw, &s); err != nil {
		t.Fatalf("%s: %v", stdout, err)
	}
	return s
}

// A crawl names the traps of a site, and no pages that only look like them. With the options that it names the same
// crawl stores the real pages and ends by itself.
func TestTraps(t *testing.T) {
	w := newWitness(t, &trapSite{})
	first := crawlTraps(t, 0, w.URL+"/", "--max-pages", "1500")
	var kinds, options []string
	for _, trap := range first.Traps {
		kinds, options = append(kinds, trap.Kind), append(options, trap.Options...)
		for _, real := range []string{"/", "/list?page=7", "/item?id=7", "/wiki?id=p7", "/files/d/", "/shop"} {
			if regexp.MustCompile(trap.Rule).MatchString(w.URL + real) {
				t.Errorf("%s (%s) holds %s", trap.Kind, trap.Rule, real)
			}
		}
	}
	slices.Sort(kinds)
	want := []string{"calendars", "differences of versions", "edit pages", "filters of lists", "old versions", "session ids", "sort links", "time stamps"}
	if !slices.Equal(slices.Compact(kinds), want) {
		t.Errorf("kinds %q, want %q", kinds, want)
	}
	real := first.URLs // the limit is spent on real pages first
	for _, trap := range first.Traps {
		real -= int64(trap.URLs)
	}
	if real < trapRealPages {
		t.Errorf("%d real pages of %d, %+v", real, trapRealPages, first)
	}
	second := crawlTraps(t, 0, append([]string{w.URL + "/", "--max-pages", "1500"}, options...)...)
	if len(second.Traps) != 0 || second.Pages < trapRealPages+trapShopPages || second.URLs > trapRealPages+60 {
		t.Errorf("with %s: %+v", strings.Join(options, " "), second)
	}
}
