package pseudoterminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cell is one place of a screen.
type Cell struct {
	Rune   rune
	Colour int // 0 the terminal's own, 1 red, 2 green, 3 yellow
	Bold   bool
}

// Screen is what a terminal shows. Its zero value has no size; see NewScreen. Not safe for concurrent use.
type Screen struct {
	Cells [][]Cell // rows of equal length
	// Alternate is set while the program has the alternate screen, and Hidden while it hides the cursor.
	Alternate, Hidden bool

	row, col int
	pen      Cell
	main     *Screen // while the alternate screen is shown
	before   *Screen // what is shown during a synchronized update
	rest     []byte  // of a sequence or a character that has begun
	err      error
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{Cells: make([][]Cell, height), pen: Cell{Rune: ' '}}
	for i := range s.Cells {
		s.Cells[i] = blankCells(width)
	}
	return s
}

func blankCells(width int) []Cell { return slices.Repeat([]Cell{{Rune: ' '}}, width) }

// Text returns the rows without blanks at their ends, separated by newlines.
func (s *Screen) Text() string {
	var rows []string
	for _, cells := range s.Cells {
		var b strings.Builder
		for _, c := range cells {
			b.WriteRune(c.Rune)
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// Err is the first control sequence that is not understood.
func (s *Screen) Err() error { return s.err }

// copyScreen returns a copy of what is shown. It does not change: an update that has begun is not in it.
func (s *Screen) copyScreen() Screen {
	if s.before != nil {
		s = s.before
	}
	c := *s
	c.Cells = make([][]Cell, len(s.Cells))
	for i := range s.Cells {
		c.Cells[i] = slices.Clone(s.Cells[i])
	}
	return c
}

// Write shows output of a program. It never fails.
func (s *Screen) Write(output []byte) (int, error) {
	b := append(s.rest, output...)
	for len(b) > 0 {
		n := s.showNext(b)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	s.rest = slices.Clone(b)
	return len(output), nil
}

// showNext shows one character or sequence, and returns its length, 0 if it is not complete.
func (s *Screen) showNext(b []byte) int {
	switch b[0] {
	case '\r':
		s.col = 0
	case '\n':
		s.moveDown()
	case '\b':
		s.col = max(0, s.col-1)
	case 0x1b:
		return s.obeySequence(b)
	default:
		return s.showCharacter(b)
	}
	return 1
}

// showCharacter shows a character at the cursor. Behind the last column it begins a row.
func (s *Screen) showCharacter(b []byte) int {
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r < ' ' || r == 0x7f {
		s.recordUnknown(b[:n])
		return n
	}
	if s.col == len(s.Cells[s.row]) {
		s.col = 0
		s.moveDown()
	}
	cell := s.pen
	cell.Rune = r
	s.Cells[s.row][s.col] = cell
	s.col++
	return n
}

// moveDown moves the cursor down; at the last row all rows move up.
func (s *Screen) moveDown() {
	if s.row+1 < len(s.Cells) {
		s.row++
		return
	}
	s.Cells = append(s.Cells[1:], blankCells(len(s.Cells[0])))
}

// obeySequence obeys ESC [ parameters final.
func (s *Screen) obeySequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	end := slices.IndexFunc(b[2:], func(c byte) bool { return c >= '@' && c <= '~' })
	switch {
	case b[1] != '[':
		s.recordUnknown(b[:2])
		return 2
	case end < 0:
		return 0
	}
	parameters, final := string(b[2:2+end]), b[2+end]
	if !s.obeyControl(parameters, final) {
		s.recordUnknown(b[:3+end])
	}
	return 3 + end
}

// obeyControl reports whether the sequence is known.
func (s *Screen) obeyControl(parameters string, final byte) bool {
	switch parameters + string(final) {
	case "H":
		s.row, s.col = 0, 0
	case "J":
		s.clearLine()
		for i := s.row + 1; i < len(s.Cells); i++ {
			s.Cells[i] = blankCells(len(s.Cells[i]))
		}
	case "K":
		s.clearLine()
	case "?25h":
		s.Hidden = false
	case "?25l":
		s.Hidden = true
	case "?2026h":
		before := s.copyScreen()
		s.before = &before
	case "?2026l":
		s.before = nil
	case "?1049h":
		before := s.copyScreen()
		*s = *NewScreen(len(s.Cells[0]), len(s.Cells))
		s.main, s.Alternate, s.Hidden = &before, true, before.Hidden
	case "?1049l":
		if s.main != nil {
			hidden, err := s.Hidden, s.err
			*s = *s.main
			s.Hidden, s.err = hidden, err
		}
	default:
		return final == 'm' && s.setStyle(parameters)
	}
	return true
}

// clearLine clears the cursor's row from the cursor on.
func (s *Screen) clearLine() {
	for i := s.col; i < len(s.Cells[s.row]); i++ {
		s.Cells[s.row][i] = Cell{Rune: ' '}
	}
}

// setStyle changes colour and weight of what follows.
func (s *Screen) setStyle(parameters string) bool {
	n, err := strconv.Atoi(parameters)
	switch {
	case parameters == "" || err == nil && n == 0:
		s.pen = Cell{Rune: ' '}
	case err == nil && n == 1:
		s.pen.Bold = true
	case err == nil && n >= 31 && n <= 33:
		s.pen.Colour = n - 30
	default:
		return false
	}
	return true
}

func (s *Screen) recordUnknown(sequence []byte) {
	if s.err == nil {
		s.err = fmt.Errorf("control sequence %q is not known", sequence)
	}
}
