package cookies

import "testing"

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n# none\n": "", "# one\n\n a=1; b=2 \nc=3": "a=1; b=2",
	} {
		if got := FirstLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
