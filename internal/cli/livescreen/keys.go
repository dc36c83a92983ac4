package livescreen

import "context"

// Keys of the live screen that are no letters. The arrows are j and k.
const (
	ctrlC       = 3
	tab         = '\t'
	escape      = 0x1b
	keyPageUp   = 0x80
	keyPageDown = 0x81
)

// pageRows is the number of rows that a page key scrolls.
const pageRows = 10

// handleKey changes the style by a key. Unknown keys change nothing.
func (s *Style) handleKey(key byte) {
	page := s.Page
	switch {
	case key == 'p':
		s.Paused = !s.Paused
	case key == tab && len(s.Pages) > 0:
		page = (page + 1) % len(s.Pages)
	case key >= '1' && int(key-'1') < len(s.Pages):
		page = int(key - '1')
	case key == 'j':
		s.Offset++
	case key == 'k':
		s.Offset--
	case key == keyPageDown:
		s.Offset += pageRows
	case key == keyPageUp:
		s.Offset -= pageRows
	}
	if s.Offset = max(0, s.Offset); page != s.Page {
		s.Page, s.Offset = page, 0
	}
}

// sendKeys sends keys until ctx is done or the input ends; then it closes keys.
func sendKeys(ctx context.Context, t Screen, keys chan<- byte) {
	defer close(keys)
	var d decoder
	for {
		b, err := t.Key()
		if err != nil {
			return
		}
		key, whole := d.decodeKey(b)
		if !whole {
			continue
		}
		select {
		case keys <- key:
		case <-ctx.Done():
			return
		}
	}
}

// decoder joins the bytes of a key. Arrows and page keys send ESC [ or ESC O, a number, and a last
// byte from @ to ~ (ECMA-48).
type decoder struct {
	state  int // 0 between keys, 1 after ESC, 2 after ESC [
	number byte
}

// decodeKey returns the key that b ends. whole is false inside of a key, and after a key that has no meaning here.
func (d *decoder) decodeKey(b byte) (key byte, whole bool) {
	switch {
	case b == escape:
		d.state = 1
		return 0, false
	case d.state == 1 && (b == '[' || b == 'O'):
		d.state, d.number = 2, 0
		return 0, false
	case d.state == 2 && b < '@':
		d.number = b
		return 0, false
	case d.state == 2:
		d.state = 0
		key = meanings[sequence{d.number, b}]
		return key, key != 0
	}
	d.state = 0
	return b, true
}

// sequence is the digit and the last byte of a key.
type sequence struct{ number, last byte }

var meanings = map[sequence]byte{{0, 'A'}: 'k', {0, 'B'}: 'j', {'5', '~'}: keyPageUp, {'6', '~'}: keyPageDown}
