package redirectlink

import (
	"fmt"
	"testing"

	"hce/dc/internal/wire/result"
)

// docs/spec/processing.md 1.5, row HTTP_REDIRECT_LINK. 6.2 #23: without the property the
// canonical link stays.
func TestApply(t *testing.T) {
	const page, other, canonical = "http://a.test/page", "http://a.test/final", "http://a.test/canonical"
	for _, tt := range []struct {
		mode, location, link, redirect string
	}{
		{"", other, canonical, ""},
		{"0", other, canonical, ""},
		{"1", other, page, ""},
		{"2", other, other, ""},
		{"2", " ", canonical, ""},
		{"3", other, canonical, other},
		{"3", "", canonical, ""},
		{"4", other, canonical, other},
		{" 4 ", "", canonical, page},
	} {
		t.Run(fmt.Sprintf("%s with %q", tt.mode, tt.location), func(t *testing.T) {
			mode, err := Parse(tt.mode)
			if err != nil {
				t.Fatal(err)
			}
			r := result.Result{Tags: []result.Tag{{Name: "link", Data: []string{canonical}}}}
			mode.Apply(&r, page, tt.location)
			if r.First("link") != tt.link || r.First("redirect_url") != tt.redirect {
				t.Errorf("link %q, redirect_url %q", r.First("link"), r.First("redirect_url"))
			}
			for _, tag := range r.Tags {
				if tag.Data[0] != canonical && tag.Extractor != result.Service {
					t.Errorf("extractor of %+v", tag)
				}
			}
		})
	}
	for _, text := range []string{"5", "-1", "two", "1.5", "[1]"} {
		if mode, err := Parse(text); err == nil || mode != Off {
			t.Errorf("%s: %d, %v", text, mode, err)
		}
	}
}
