package charset

import (
	"bytes"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
)

const (
	// sampleBytes bounds what is shown to the detector: its cost grows with the
	// text and its opinion hardly changes after some thousands of letters.
	sampleBytes = 8 << 10

	// surePoint is the confidence below which a guess is no better than the
	// default of the standard.
	surePoint = 0.5
)

// turkishBytes is where windows-1254 differs from windows-1252 in letters.
// Without one of them the detector has taken a western text for Turkish.
var turkishBytes = [...]byte{0xD0, 0xDD, 0xDE, 0xF0, 0xFD, 0xFE}

// guess asks the statistics of the bytes that are not ASCII. It returns nil
// when they say nothing useful. ISO-8859-2 is what the detector says of much
// that it does not know, so it does not count (docs/spec/crawling.md 4.13).
func guess(body []byte) (enc encoding.Encoding, name string) {
	defer func() {
		if recover() != nil {
			enc, name = nil, ""
		}
	}()
	switch {
	case bytes.HasPrefix(body, []byte("<\x00")):
		enc, name, _ = lookup(nameUTF16LE)
		return enc, name
	case bytes.HasPrefix(body, []byte("\x00<")):
		enc, name, _ = lookup(nameUTF16BE)
		return enc, name
	}

	part := sample(body)
	found := chardet.Detect(part)
	if found.Confidence < surePoint {
		return nil, ""
	}
	label := found.Encoding
	switch label {
	case "", "Ascii", "ISO-8859-2":
		return nil, ""
	case "CP949":
		label = "euc-kr"
	case "CP932":
		label = "shift_jis"
	case "MacRoman":
		label = "macintosh"
	case "MacCyrillic":
		// It shares its small letters with windows-1251, which the web uses
		// and the detector ranks behind it.
		label = "windows-1251"
	case "ISO-8859-9", "Windows-1254":
		if !hasTurkish(part) {
			label = nameLatin
		}
	}
	enc, name, ok := lookup(label)
	if !ok {
		return nil, ""
	}
	return enc, name
}

// sample returns the part of body worth showing to the detector: the bytes from
// shortly before the first that is not plain ASCII.
func sample(body []byte) []byte {
	const before = 64
	start := 0
	for start < len(body) && body[start] < 0x80 && body[start] != 0x1B {
		start++
	}
	start = max(0, start-before)
	return body[start:min(len(body), start+sampleBytes)]
}

// hasTurkish reports whether part has a letter that only windows-1254 has.
func hasTurkish(part []byte) bool {
	for _, c := range turkishBytes {
		if bytes.IndexByte(part, c) >= 0 {
			return true
		}
	}
	return false
}
