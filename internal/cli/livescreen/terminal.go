package livescreen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// What a terminal is told (ECMA-48, and xterm's private modes).
const (
	otherScreen = "\x1b[?1049h\x1b[?25l" // without history and cursor
	firstScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfPage  = "\x1b[J"
)

const keyWait = 100 // ms of one Key

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width is the number of columns of the terminal behind f; 0 when there is none.
func Width(f *os.File) int {
	if !IsTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 80 // a terminal that does not tell
	}
	return width
}

// Terminal is a terminal that shows pages and gives keys one by one.
type Terminal struct {
	in, out *os.File
	was     *term.State
}

// OpenTerminal takes the terminal of in and out. Close gives it back as it was.
func OpenTerminal(in, out *os.File) (*Terminal, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("top.OpenTerminal: %w", err)
	}
	t := &Terminal{in: in, out: out, was: was}
	if _, err := io.WriteString(out, otherScreen); err != nil {
		t.Close()
		return nil, fmt.Errorf("top.OpenTerminal: %w", err)
	}
	return t, nil
}

// Close gives the terminal back.
func (t *Terminal) Close() {
	_, _ = io.WriteString(t.out, firstScreen) // who has no terminal any more needs none back
	_ = term.Restore(int(t.in.Fd()), t.was)
}

// Size is the columns and rows; 80 and 24 for one that does not tell.
func (t *Terminal) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Show puts a page in the place of the one before, in one write, so that
// nothing flickers. A line is cleared before it is written: behind a full one the
// cursor may still stand on its last column.
func (t *Terminal) Show(page string) error {
	lines := strings.Split(page, "\n")
	_, err := io.WriteString(t.out, home+restOfLine+strings.Join(lines, "\r\n"+restOfLine)+restOfPage)
	return err
}

// Key waits up to 100 ms for a key. A terminal that has gone gives io.EOF.
func (t *Terminal) Key() (byte, error) {
	fds := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, keyWait)
	if errors.Is(err, syscall.EINTR) || err == nil && n == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("top.Key: %w", err)
	}
	var key [1]byte
	switch n, err := unix.Read(int(t.in.Fd()), key[:]); {
	case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("top.Key: %w", err)
	case n == 0:
		return 0, io.EOF
	}
	return key[0], nil
}
