package fallback

import (
	"testing"

	"hce/dc/internal/wire/result"
)

// docs/spec/processing.md 2.2 step 3, title.
func TestTitle(t *testing.T) {
	for _, c := range []struct {
		name    string
		tag     result.Tag
		asked   bool
		element string
		want    string
	}{
		{"found", result.Tag{Name: "title", Data: []string{"News"}}, true, "Site", "News"},
		{"empty", result.Tag{Name: "title", Data: []string{" "}}, true, " The\n Site ", "The Site"},
		{"absent", result.Tag{}, true, "Site", "Site"},
		{"a default of the rule", result.Tag{Name: "title", Data: []string{"none"}, Default: true}, true, "Site", "Site"},
		{"not asked for", result.Tag{}, false, "Site", ""},
		{"no title element keeps the default", result.Tag{Name: "title", Data: []string{"none"}, Default: true}, true, " ", "none"},
	} {
		r := result.Result{}
		if c.tag.Name != "" {
			r.Tags = append(r.Tags, c.tag)
		}
		Title(&r, c.asked, c.element)
		if got := r.First("title"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// docs/spec/processing.md 6.2 #23: link is the canonical link, source_url the page.
func TestLink(t *testing.T) {
	const page, canonical = "https://news.example/a?ref=1", "https://news.example/a"
	for _, c := range []struct{ name, link, want string }{
		{"canonical link stays", canonical, canonical},
		{"without one", "", page},
	} {
		r := result.Result{}
		r.Add(result.Tag{Name: "link", Data: []string{c.link}})
		Link(&r, page)
		if r.First("link") != c.want || r.First("source_url") != page {
			t.Errorf("%s: %q, %q", c.name, r.First("link"), r.First("source_url"))
		}
	}
}
