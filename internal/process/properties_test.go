package process

import (
	"fmt"
	"testing"

	"hce/dc/docs"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/realtimeresponse"
)

// The examples of docs/properties.md can be read, each by itself and those of other programs too.
func TestPageExamplesAreGood(t *testing.T) {
	for _, p := range docs.ListProperties() {
		if !p.IsReadBy("process") {
			continue
		}
		for name, example := range p.Examples() {
			site := &wire.Site{ID: "s", Properties: []wire.SiteProperty{{SiteID: "s", Name: name, Value: example}}}
			if _, problems := readSettings(site, nil); len(problems) > 0 {
				t.Errorf("%s = %s: %v", name, example, problems)
			}
			item := wire.BatchItem{Properties: map[string]string{name: example}}
			if _, err := realtimeresponse.Judge(item, site, []byte("[]")); err != nil {
				t.Errorf("%s = %s: %v", name, example, err)
			}
		}
	}
}

// A site without a property has the default of docs/properties.md.
func TestPageDefaults(t *testing.T) {
	s, _ := readSettings(&wire.Site{ID: "s"}, nil)
	numbers := map[bool]string{false: "0", true: "1"}
	want := map[string]string{
		"HTML_RECOVER": numbers[s.tidy], "reprocess": numbers[s.reprocess], "ROBOTS_MODE": numbers[s.robots], "TLSVerify": numbers[!s.insecureTLS],
		"FETCH_RAW_CONTENT": numbers[realtimeresponse.Mask(wire.BatchItem{}, nil)&wire.MaskRawLast != 0],
	}
	for _, p := range docs.ListProperties() {
		for name, value := range p.Defaults() {
			if want[name] != "" && value != want[name] {
				t.Errorf("%s: the page has the default %q, a site %q", name, value, want[name])
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Error(fmt.Sprint("the page has no row of ", want))
	}
}
