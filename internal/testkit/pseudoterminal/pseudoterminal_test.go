package pseudoterminal

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What output leaves on a screen of 6 columns and 3 rows.
func TestScreen(t *testing.T) {
	for name, c := range map[string]struct{ output, want string }{
		"text":            {"abc\r\nd", "abc\nd"},
		"rewritten line":  {"abcdef\rxy\x1b[K", "xy"},
		"wrapped":         {"abcdefgh", "abcdef\ngh"},
		"a full line":     {"abcdef\r\ng", "abcdef\ng"},
		"scrolled":        {"a\r\nb\r\nc\r\nd", "b\nc\nd"},
		"back":            {"abc\b\bx", "axc"},
		"home and below":  {"abc\r\ndef\x1b[Hx\x1b[J", "x"},
		"alternate":       {"abc\x1b[?1049h\x1b[?25lxyz", "xyz"},
		"back from it":    {"abc\x1b[?1049hxyz\x1b[?1049ld", "abcd"},
		"other letters":   {"äö…", "äö…"},
		"broken sequence": {"a\x1b[3", "a"},
		"half an update":  {"abc\x1b[?2026h\x1b[Hx\x1b[J", "abc"},
		"whole update":    {"abc\x1b[?2026h\x1b[Hx\x1b[J\x1b[?2026l", "x"},
		"second update":   {"abc\x1b[?2026h\x1b[Hxy\x1b[?2026l\x1b[?2026hz", "xyc"},
	} {
		s := NewScreen(6, 3)
		for i := range len(c.output) { // a byte at a time
			_, _ = s.Write([]byte{c.output[i]})
		}
		shown := s.copyScreen()
		if got := shown.Text(); got != c.want || s.Err() != nil {
			t.Errorf("%s: %q, %v", name, got, s.Err())
		}
	}
	s := NewScreen(6, 3)
	_, _ = s.Write([]byte("\x1b[1m\x1b[31mab\x1b[0mc"))
	if a, c := s.Cells[0][1], s.Cells[0][2]; a != (Cell{'b', 1, true}) || c != (Cell{'c', 0, false}) {
		t.Errorf("%+v, %+v", a, c)
	}
	for _, unknown := range []string{"\x1b]0;title\a", "\x1b[2J", "\x1b[38;5;1m", "\a", "\x1bM"} {
		s := NewScreen(6, 3)
		if _, _ = s.Write([]byte(unknown)); s.Err() == nil {
			t.Errorf("%q is understood", unknown)
		}
	}
}

// A program has a terminal of the wanted size, gets what is typed, and its end is known.
func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p, err := Start(exec.Command("sh", "-c", "stty size; read x; echo got $x; exit 3"), 40, 10, "$ sh\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Await(ctx, func(s Screen) bool { return strings.HasPrefix(s.Text(), "$ sh\n10 40") }); err != nil {
		t.Fatal(err)
	}
	if raw, err := p.Raw(); raw || err != nil {
		t.Error(raw, err)
	}
	if err := p.Type("word\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	screen := p.Screen()
	if p.ExitCode() != 3 || !strings.HasSuffix(screen.Text(), "\ngot word") {
		t.Errorf("status %d\n%s", p.ExitCode(), screen.Text())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Close ends a program that runs.
func TestClose(t *testing.T) {
	p, err := Start(exec.Command("cat"), 40, 10, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
