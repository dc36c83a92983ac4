package livescreen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Control sequences of terminals (ECMA-48 and xterm's private modes).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, hidden cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K" // from the cursor
	clearBelow  = "\x1b[J"
)

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

// Show replaces the current page in one write, which avoids flicker. Each line is cleared
// before it is written: after a full line the cursor may still be on its last column.
func (t *Terminal) Show(page string) error {
	lines := strings.Split(page, "\n")
	_, err := io.WriteString(t.out, home+clearLine+strings.Join(lines, "\r\n"+clearLine)+clearBelow)
	return err
}

// Key waits for a key. It returns io.EOF if the terminal is gone.
func (t *Terminal) Key() (byte, error) {
	var key [1]byte
	_, err := t.in.Read(key[:])
	return key[0], err
}
