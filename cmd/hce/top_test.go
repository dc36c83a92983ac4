package main

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/testkit/pseudoterminal"
)

// showing waits for a text on the screen.
func showing(t *testing.T, p *pseudoterminal.Terminal, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Await(ctx, func(s pseudoterminal.Screen) bool { return strings.Contains(s.Text(), text) }); err != nil {
		t.Fatalf("no %q: %v", text, err)
	}
}

// startTop starts hce top on a terminal of 100 columns and 30 rows.
func startTop(t *testing.T, w *world, env ...string) *pseudoterminal.Terminal {
	t.Helper()
	cmd := clitest.Command(t, w.folder, "top", "--interval", "500ms", "--server", "127.0.0.1:"+w.port)
	cmd.Env = append(append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR="), env...)
	p, err := pseudoterminal.Start(cmd, 100, 30, "$ hce top\r\n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// The live screen shows sites and managers, and obeys its keys.
func TestTopOnATerminal(t *testing.T) {
	w := newWorld(t)
	p := startTop(t, w)
	showing(t, p, "HTTP_ERROR 1; slowest example.org 12 ms")
	screen := p.Screen()
	if raw, err := p.Raw(); err != nil || !raw || !screen.Alternate || !screen.Hidden {
		t.Errorf("raw %t, %v; alternate %t, hidden %t", raw, err, screen.Alternate, screen.Hidden)
	}
	for _, step := range []struct{ key, shows string }{
		{"2", "The managers are unknown: no dc-admin.ini was found"}, {"\t", "https://example.org/ "}, {"p", "paused"}, {"p", "UTC  up"}, {"\x1b[B", "https://example.org/ "},
	} {
		if err := p.Type(step.key); err != nil {
			t.Fatal(err)
		}
		showing(t, p, step.shows)
	}
	coloured := false
	screen = p.Screen()
	for _, row := range screen.Cells {
		for _, cell := range row {
			coloured = coloured || cell.Colour > 0
		}
	}
	if !coloured || screen.Err() != nil {
		t.Errorf("colours %t, %v", coloured, screen.Err())
	}
	w.AddFailed(w.site, root+"other.html", 500, 0)
	showing(t, p, "5 done")
}

// NO_COLOR and a terminal without UTF-8 get plain ASCII.
func TestTopWithoutColours(t *testing.T) {
	w := newWorld(t)
	for _, env := range []string{"NO_COLOR=1", "LC_ALL=C"} {
		p := startTop(t, w, env)
		showing(t, p, "slowest example.org")
		screen := p.Screen()
		for _, row := range screen.Cells {
			for _, cell := range row {
				if cell.Colour != 0 || cell.Bold || cell.Rune > '~' {
					t.Fatalf("%s: %+v in\n%s", env, cell, screen.Text())
				}
			}
		}
	}
}

// Whatever ends hce top, the terminal is as it was before.
func TestTopRestoresTheTerminal(t *testing.T) {
	w := newWorld(t)
	for name, end := range map[string]func(p *pseudoterminal.Terminal) error{
		"q":       func(p *pseudoterminal.Terminal) error { return p.Type("q") },
		"Ctrl-C":  func(p *pseudoterminal.Terminal) error { return p.Type("\x03") },
		"SIGINT":  func(p *pseudoterminal.Terminal) error { return p.Signal(syscall.SIGINT) },
		"SIGTERM": func(p *pseudoterminal.Terminal) error { return p.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(p *pseudoterminal.Terminal) error { return p.Signal(syscall.SIGHUP) },
		"SIGQUIT": func(p *pseudoterminal.Terminal) error { return p.Signal(syscall.SIGQUIT) },
	} {
		t.Run(name, func(t *testing.T) {
			p := startTop(t, w)
			showing(t, p, "PER SEC")
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			<-p.Ended
			raw, err := p.Raw()
			screen := p.Screen()
			if p.ExitCode() != 0 || raw || err != nil || screen.Alternate || screen.Hidden || screen.Text() != "$ hce top" || screen.Err() != nil {
				t.Errorf("status %d, raw %t, %v, %v\n%s", p.ExitCode(), raw, err, screen.Err(), screen.Text())
			}
		})
	}
}

// --show-request does not write into the live screen.
func TestTopShowsNoRequestsOnTheScreen(t *testing.T) {
	w := newWorld(t)
	cmd := clitest.Command(t, w.folder, "top", "--show-request", "--server", "127.0.0.1:"+w.port)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	p, err := pseudoterminal.Start(cmd, 100, 30, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	<-p.Ended
	if screen := p.Screen(); p.ExitCode() != 2 || !strings.Contains(screen.Text(), "add --once or --json") {
		t.Errorf("status %d\n%s", p.ExitCode(), screen.Text())
	}
}

// --json prints a line per interval until a signal, which is its regular end.
func TestTopJSON(t *testing.T) {
	w := newWorld(t)
	cmd := clitest.Command(t, w.folder, "top", "--json", "--interval", "500ms", "--server", "127.0.0.1:"+w.port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	for i := range 3 {
		var s struct {
			Totals struct{ Rate *float64 }
			Sites  []struct{ Root, State string }
		}
		if err := lines.Decode(&s); err != nil || len(s.Sites) != 1 || s.Sites[0].Root != root || s.Sites[0].State != "active" || (s.Totals.Rate == nil) != (i == 0) {
			t.Fatalf("line %d: %+v, %v", i, s, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
