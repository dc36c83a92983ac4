package charset

import "unicode/utf8"

// provingPairs is how many two-byte sequences prove UTF-8 when there is no
// longer one: in text of a single-byte charset each of them is an accident of a
// letter followed by a rare sign.
const provingPairs = 8

// shape is what the bytes of a body tell by themselves, before any label.
type shape struct {
	valid      bool // it reads as UTF-8, ASCII included
	plain      bool // ASCII alone, without NUL or ESC: the same in nearly every charset
	disguised  bool // ASCII with ESC or NUL: perhaps ISO-2022-JP or UTF-16
	provenUTF8 bool // it reads as UTF-8 and hardly as anything else
	mostlyUTF8 bool // broken here and there, as a page cut or glued together is
	notUTF8    bool // more broken sequences than good ones
}

// survey looks at body once.
func survey(body []byte) shape {
	var pairs, longer, broken int
	var nul, esc, high bool
	for i := 0; i < len(body); {
		c := body[i]
		if c < utf8.RuneSelf {
			nul = nul || c == 0
			esc = esc || c == 0x1B
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
	return shape{
		valid:     broken == 0,
		plain:     !high && !nul && !esc,
		disguised: !high && (esc || nul),
		// Three bytes in a row that fit are rare in any other charset, but short
		// GBK or Shift_JIS texts have been seen to fit once.
		provenUTF8: broken == 0 && (longer >= 2 || longer*4+pairs >= provingPairs),
		mostlyUTF8: broken > 0 && pairs+longer >= 4*broken,
		notUTF8:    broken > pairs+longer,
	}
}
