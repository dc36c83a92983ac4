package charset

import (
	"bytes"
	"slices"
	"strings"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
)

const (
	// sampleBytes bounds the input of the detector: its cost grows with the text, and its
	// result hardly changes after a few thousand letters.
	sampleBytes = 8 << 10

	// minConfidence is the confidence below which the default charset is the better guess.
	minConfidence = 0.5
)

// isTurkish reports whether c is a letter that windows-1254 has and windows-1252 has not.
// Without one the detector mistakes western text for Turkish.
func isTurkish(c byte) bool { return strings.IndexByte("\xD0\xDD\xDE\xF0\xFD\xFE", c) >= 0 }

// guessCharset detects the charset from byte statistics. It returns nil without a useful result.
// ISO-8859-2 is the detector's answer to much that it does not know, and is ignored
// (docs/spec/crawling.md 4.13).
func guessCharset(body []byte) (enc encoding.Encoding, name string) {
	defer func() {
		if recover() != nil {
			enc, name = nil, ""
		}
	}()
	switch {
	case bytes.HasPrefix(body, []byte("<\x00")):
		enc, name, _ = lookupEncoding(nameUTF16LE)
		return enc, name
	case bytes.HasPrefix(body, []byte("\x00<")):
		enc, name, _ = lookupEncoding(nameUTF16BE)
		return enc, name
	}

	part := detectorSample(body)
	found := chardet.Detect(part)
	if found.Confidence < minConfidence {
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
		// It shares small letters with windows-1251, which is common on the web.
		label = "windows-1251"
	case "ISO-8859-9", "Windows-1254":
		if !slices.ContainsFunc(part, isTurkish) {
			label = nameLatin
		}
	}
	enc, name, ok := lookupEncoding(label)
	if !ok {
		return nil, ""
	}
	return enc, name
}

// detectorSample returns the bytes for the detector, from shortly before the first byte that is not
// plain ASCII.
func detectorSample(body []byte) []byte {
	const before = 64
	start := 0
	for start < len(body) && body[start] < 0x80 && body[start] != 0x1B {
		start++
	}
	start = max(0, start-before)
	return body[start:min(len(body), start+sampleBytes)]
}
