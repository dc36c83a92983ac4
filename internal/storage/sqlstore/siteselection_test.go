package sqlstore

import (
	"testing"

	"hce/dc/internal/wire"
)

func TestSiteOf(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"docs","urls":[{"url":"http://h.test/docs/"}]}`)
	b.newSite(`{"id":"deep","urls":[{"url":"http://h.test/docs/deep/"}]}`)
	b.newSite(`{"id":"` + wire.Md5("http://other.test/") + `"}`)
	for url, want := range map[string]string{
		"http://h.test/docs/a":      "docs",
		"http://h.test/docs/deep/a": "deep",
		"http://h.test/":            "0",
		"http://other.test/x":       wire.Md5("http://other.test/"),
		"https://h.test/docs/a":     "0",
	} {
		got, err := b.SiteOf(ctx, url)
		b.must(err)
		if got != want {
			t.Errorf("%s belongs to %q, want %q", url, got, want)
		}
	}
	if _, err := b.SiteOf(ctx, "no URL"); err == nil {
		t.Error("a text that is no URL has a site")
	}
}
