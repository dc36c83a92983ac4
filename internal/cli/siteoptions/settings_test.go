package siteoptions

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
)

func TestDelay(t *testing.T) {
	for text, want := range map[string]string{"500ms": "500", "2s": "2000", "1.5s": "1500", "0s": "0", "0": "0", "5": "write 5ms or 5s", "1.5": "write 1.5ms", "-1s": "is not a time", "25h": "is not a time", "x": "is not a time", "": "is not a time"} {
		n, err := parseDelay(text)
		got := fmt.Sprint(n)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The same options give no difference, and each other option is named.
func TestDifferences(t *testing.T) {
	stores := storestest.Open(t)
	s := &subcommand.Session{Ctx: t.Context(), Service: stores, Out: io.Discard, Talk: io.Discard}
	roots := []string{"https://example.org/", "https://example.net/a"}
	first := Settings{depth: "3", delay: "2s", maxPages: "50", exclude: []string{"*.zip"}, include: []string{"/a/**", "re:b+"}, properties: []string{"ROBOTS_META=0"}, fields: []string{"maxErrors=7", "recrawlDate=NOW()"}}
	object, err := first.NewSite(roots)
	if err == nil {
		err = s.AskService(wire.SiteNew, object, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		roots  []string
		want   string // "": no difference
	}{
		"the same":  {func(*Settings) {}, roots, ""},
		"depth":     {func(o *Settings) { o.depth = "4" }, roots, "filters"},
		"scope":     {func(o *Settings) { o.scope = "domain" }, roots, "filters"},
		"exclude":   {func(o *Settings) { o.exclude = nil }, roots, "filters"},
		"delay":     {func(o *Settings) { o.delay = "" }, roots, "delay in ms is 2000, not 500"},
		"max-pages": {func(o *Settings) { o.maxPages = "" }, roots, "max-pages is 50, not 0"},
		"browser":   {func(o *Settings) { o.Browser = true }, roots, "fetchType is 1, not 2"},
		"property":  {func(o *Settings) { o.properties = []string{"ROBOTS_META=1"} }, roots, `property ROBOTS_META is "0", not "1"`},
		"a URL":     {func(*Settings) {}, roots[:1], "URLs"},
		"a field":   {func(o *Settings) { o.fields = []string{"maxErrors=8"} }, roots, "maxErrors is 7, not 8"},
	} {
		o := first
		c.change(&o)
		object, err := o.NewSite(c.roots)
		if err != nil {
			t.Fatal(err)
		}
		site, found, err := s.SiteStatus(wire.Md5(roots[0]))
		if err != nil || !found {
			t.Fatal(found, err)
		}
		list := strings.Join(o.ListDifferences(site, object), "; ")
		if (list == "") != (c.want == "") || !strings.Contains(list, c.want) {
			t.Errorf("%s: %q", name, list)
		}
	}
}
