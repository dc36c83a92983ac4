package main

import (
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/testkit/pseudoterminal"
)

// A picture has the text with its colours and places, and what differs from run to run is replaced.
func TestSVG(t *testing.T) {
	s := pseudoterminal.NewScreen(40, 5)
	if _, err := s.Write([]byte("\x1b[1mhce\x1b[0m  /tmp/run<1>  \x1b[32mup\x1b[0m\r\n\r\nlast")); err != nil {
		t.Fatal(err)
	}
	got := drawSVG(*s, []replacement{{regexp.MustCompile(`/tmp/run<\d>`), "~/a&b"}})
	want := []string{
		`<text x="12.0" y="26" fill="#d6d6d6" font-weight="bold" textLength="25.2" xml:space="preserve">hce</text>`,
		`<text x="54.0" y="26" fill="#d6d6d6" textLength="42.0" xml:space="preserve">~/a&amp;b</text>`,
		`<text x="112.8" y="26" fill="#56d364" textLength="16.8" xml:space="preserve">up</text>`,
		`<text x="12.0" y="62" fill="#d6d6d6" textLength="33.6" xml:space="preserve">last</text>`,
		`height="78"`,
	}
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in\n%s", part, got)
		}
	}
	if n := strings.Count(got, "<text"); n != 4 {
		t.Errorf("%d texts", n)
	}
}

// Programs that are missing are an error, and nothing is written.
func TestNoPrograms(t *testing.T) {
	out := t.TempDir() + "/out"
	if err := writeCaptures(t.Context(), t.TempDir(), out); err == nil || !strings.Contains(err.Error(), "start hce") {
		t.Error(err)
	}
}
