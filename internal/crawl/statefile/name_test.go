package statefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"example.com", "example.com"},
		{"d57f144e7b26c9976769dd94e18988ed", "d57f144e7b26c9976769dd94e18988ed"},
		{"Site_1-a", "Site_1-a"},
		{"", "~e3b0c44298fc1c149afbf4c8"},
		{".", "_~"},
		{"..", "_.~"},
		{".*", "__~"},
		{"../../etc", "_._.._etc~"},
		{"a/b", "a_b~"},
		{"a\x00b", "a_b~"},
		{"a~b", "a_b~"},
		{"münchen.de", "m_nchen.de~"},
		{"\xff", "_~"},
		{strings.Repeat("a", 128), strings.Repeat("a", 128)},
		{strings.Repeat("a", 129), strings.Repeat("a", 103) + "~"},
	} {
		got := Name(c.text)
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("Name(%q) = %q, want %q", c.text, got, c.want)
		}
	}
	seen := map[string]string{}
	for _, text := range []string{"a/b", "a_b", "a?b", "a~b", "", ".", "..", "_", "__", strings.Repeat("é", 200), strings.Repeat("é", 201)} {
		name := Name(text)
		if other, twice := seen[name]; twice {
			t.Errorf("%q and %q are both %q", text, other, name)
		}
		seen[name] = text
	}
}

func FuzzName(f *testing.F) {
	for _, text := range []string{"", ".", "..", "a/b", "\x00", "~", "é", strings.Repeat("x", 300)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := Name(text)
		if name == "" || name[0] == '.' || len(name) > maxName || strings.ContainsAny(name, "/\\\x00") || !filepath.IsLocal(name) || filepath.Base(name) != name {
			t.Errorf("Name(%q) = %q", text, name)
		}
		if again := Name(text); again != name {
			t.Errorf("%q, then %q", name, again)
		}
	})
}

func TestBelow(t *testing.T) {
	base := filepath.Join(string(os.PathSeparator), "data", "freq")
	for _, c := range []struct {
		name, base, path, want string
		err                    string
	}{
		{"relative", base, "a/b", base + "/a/b", ""},
		{"empty is the base", base, "", base, ""},
		{"dot", base, ".", base, ""},
		{"absolute within", base, base + "/x", base + "/x", ""},
		{"the base itself", base, base, base, ""},
		{"absolute outside", base, "/etc", "", "leads out"},
		{"absolute next to the base", base, base + "x", "", "leads out"},
		{"absolute with dots", base, base + "/../x", "", "leads out"},
		{"up", base, "../x", "", "leads out"},
		{"up within", base, "a/../b", base + "/b", ""},
		{"up and out", base, "a/../../b", "", "leads out"},
		{"nul", base, "a\x00", "", "NUL"},
		{"long", base, strings.Repeat("a/", 600), "", "1200 bytes"},
		{"no base", "", "a", "", "no folder"},
		{"relative base, absolute path", "data", "/x", "", "leads out"},
	} {
		got, err := Below(c.base, c.path)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
