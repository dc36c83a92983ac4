package charset

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// provingPairs is how many two-byte sequences prove UTF-8 if there is no longer one: in a
// single-byte charset each is a letter that happens to precede a rare sign.
const provingPairs = 8

// shape describes the bytes of a body before any label is read.
type shape struct {
	valid      bool // valid UTF-8, including ASCII
	plain      bool // ASCII without NUL or ESC: the same in nearly every charset
	disguised  bool // ASCII with ESC or NUL: may be ISO-2022-JP or UTF-16
	provenUTF8 bool // valid UTF-8, and unlikely in any other charset
	mostlyUTF8 bool // UTF-8 with few errors, such as a truncated page
	notUTF8    bool // more invalid sequences than valid ones
}

const (
	esc      = 0x1B
	highBits = 0x8080808080808080
)

func surveyBytes(body []byte) shape {
	var pairs, longer, broken int
	high := false
	for i := 0; i < len(body); {
		if i+8 <= len(body) && binary.LittleEndian.Uint64(body[i:])&highBits == 0 { // eight ASCII characters
			i += 8
			continue
		}
		if body[i] < utf8.RuneSelf {
			i++
			continue
		}
		high = true
		switch r, n := utf8.DecodeRune(body[i:]); {
		case r == utf8.RuneError && n == 1:
			broken++
			i++
		case n == 2:
			pairs++
			i += n
		default:
			longer++
			i += n
		}
	}
	disguised := !high && (bytes.IndexByte(body, 0) >= 0 || bytes.IndexByte(body, esc) >= 0)
	return shape{
		valid:     broken == 0,
		plain:     !high && !disguised,
		disguised: disguised,
		// One valid three-byte sequence can occur in short GBK or Shift_JIS texts.
		provenUTF8: broken == 0 && (longer >= 2 || longer*4+pairs >= provingPairs),
		mostlyUTF8: broken > 0 && pairs+longer >= 4*broken,
		notUTF8:    broken > pairs+longer,
	}
}
