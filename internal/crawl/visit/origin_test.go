package visit

import "testing"

func TestSplit(t *testing.T) {
	for target, want := range map[string][2]string{
		"http://h/":           {"http://h", "/"},
		"http://h":            {"http://h", "/"},
		"https://h:1/a?b#c":   {"https://h:1", "/a?b"},
		"http://h?q":          {"http://h", "?q"},
		"http://h#f":          {"http://h", "/"},
		"http://u:p@h/a//b":   {"http://u:p@h", "/a//b"},
		"http://h/?u=http://": {"http://h", "/?u=http://"},
	} {
		if origin, path := SplitOrigin(target); origin != want[0] || path != want[1] {
			t.Errorf("%s: %q %q", target, origin, path)
		}
	}
}
