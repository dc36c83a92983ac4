package livescreen

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Control sequences of terminals (ECMA-48 and xterm's private modes).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, hidden cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K" // from the cursor
	clearBelow  = "\x1b[J"
	beginUpdate = "\x1b[?2026h" // shown as one from here ...
	endUpdate   = "\x1b[?2026l" // ... to here, by terminals that can
)

// Interactive reports whether in and out are a terminal that can show a live screen. env is os.Getenv.
func Interactive(in, out *os.File, env func(string) string) bool {
	term := env("TERM")
	return IsTerminal(in) && IsTerminal(out) && term != "" && term != "dumb"
}

// Plain reports whether a screen must be ASCII without colours: NO_COLOR is set, the terminal has no
// colours, or its character set is not UTF-8. env is os.Getenv.
func Plain(env func(string) string) bool {
	term := env("TERM")
	if env("NO_COLOR") != "" || term == "" || term == "dumb" || strings.HasPrefix(term, "vt") {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(env(name)); locale != "" {
			return !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
		}
	}
	return true // the C locale
}

// OnTerminal is Live on the terminal of in and out. It restores the terminal at the end, also after
// SIGHUP, SIGQUIT and a panic. ctx is for the other signals.
func OnTerminal(ctx context.Context, in, out *os.File, read Reader, style Style, every time.Duration) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	terminal, err := OpenTerminal(in, out)
	if err != nil {
		return err
	}
	defer terminal.Close()
	return Live(ctx, terminal, read, style, every)
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width returns the columns of the terminal f, 80 if the terminal does not report them, or
// 0 if f is no terminal.
func Width(f *os.File) int {
	if !IsTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// Terminal is a terminal in raw mode that shows pages and returns single keys.
type Terminal struct {
	in, out *os.File
	before  *term.State
}

// OpenTerminal switches the terminal of in and out to raw mode and to its alternate screen.
// Close restores it.
func OpenTerminal(in, out *os.File) (*Terminal, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	t := &Terminal{in: in, out: out, before: before}
	if _, err := io.WriteString(out, enterScreen); err != nil {
		t.Close()
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	return t, nil
}

// Close restores the terminal.
func (t *Terminal) Close() {
	_, _ = io.WriteString(t.out, leaveScreen) // fails only if the terminal is gone
	_ = term.Restore(int(t.in.Fd()), t.before)
}

// Size returns the columns and rows, 80 and 24 if the terminal does not report them.
func (t *Terminal) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Show replaces the current page in one write and one update, so that no half of it is visible. Each line
// is cleared before it is written: after a full line the cursor may still be on its last column.
func (t *Terminal) Show(page string) error {
	lines := strings.Split(page, "\n")
	_, err := io.WriteString(t.out, beginUpdate+home+clearLine+strings.Join(lines, "\r\n"+clearLine)+clearBelow+endUpdate)
	return err
}

// Key waits for a byte of a key. It returns io.EOF if the terminal is gone.
func (t *Terminal) Key() (byte, error) {
	var key [1]byte
	_, err := t.in.Read(key[:])
	return key[0], err
}
