package charset

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

var (
	// ErrMalformed: some bytes are invalid in the charset; the text has U+FFFD in their
	// place.
	ErrMalformed = errors.New("malformed bytes")

	// ErrUnknownLabel: the first charset label found is unknown. The next source in order
	// decided.
	ErrUnknownLabel = errors.New("unknown charset label")
)

// Charsets that Decode handles specially, in the spelling of the Encoding standard.
const (
	nameUTF8    = "utf-8"
	nameUTF16BE = "utf-16be"
	nameUTF16LE = "utf-16le"
	nameLatin   = "windows-1252"
)

// Decode returns body as UTF-8 without a byte order mark, and the charset of body in the
// lower-case spelling of the Encoding standard ("utf-8", "windows-1251", "shift_jis").
//
// contentType is the value of the header and may be empty. The text is always valid UTF-8
// and usable: an error is a warning that wraps ErrMalformed, ErrUnknownLabel or both. A
// UTF-8 body is returned without a copy, so the caller must not change either. An empty
// body gives an empty text. NUL bytes are kept. Source: docs/spec/crawling.md 4.13, HTML
// standard 13.2.3.
func Decode(body []byte, contentType string) (text []byte, charset string, err error) {
	if enc, name, n := byteOrderMark(body); n > 0 {
		text, err = decodeBody(body[n:], enc, name)
		return text, name, err
	}

	shape := surveyBytes(body)
	var warning error
	for _, source := range [...]func() string{
		func() string { return headerLabel(contentType) },
		func() string { return declaredLabel(body, contentType) },
	} {
		label := source()
		if label == "" {
			continue
		}
		enc, name, ok := lookupEncoding(label)
		if !ok {
			if warning == nil {
				warning = fmt.Errorf("decode body: %w %.60q", ErrUnknownLabel, label)
			}
			continue
		}
		switch {
		case shape.plain && asciiBased(name):
			return body, name, warning
		case shape.provenUTF8:
			return body, nameUTF8, warning
		}
		text, err = decodeBody(body, enc, name)
		return text, name, errors.Join(warning, err)
	}

	enc, name := guessUnlabelled(body, shape)
	text, err = decodeBody(body, enc, name)
	return text, name, errors.Join(warning, err)
}

// guessUnlabelled chooses the charset of a body without a usable label.
func guessUnlabelled(body []byte, shape shape) (encoding.Encoding, string) {
	if shape.valid && !shape.disguised || shape.mostlyUTF8 {
		return nil, nameUTF8
	}
	if enc, name := guessCharset(body); enc != nil {
		return enc, name
	}
	if shape.notUTF8 {
		return charmap.Windows1252, nameLatin
	}
	return nil, nameUTF8
}

// byteOrderMark returns the encoding of a byte order mark and the length of the mark, 0
// without one. A mark outranks every label.
func byteOrderMark(body []byte) (encoding.Encoding, string, int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		return nil, nameUTF8, 3
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nameUTF16BE, 2
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nameUTF16LE, 2
	}
	return nil, "", 0
}

// decodeBody decodes body from enc. If enc is nil or UTF-8, it only replaces invalid bytes.
func decodeBody(body []byte, enc encoding.Encoding, name string) ([]byte, error) {
	if enc == nil || name == nameUTF8 {
		if utf8.Valid(body) {
			return body, nil
		}
		text, err := unicode.UTF8.NewDecoder().Bytes(body) // one U+FFFD for each, as browsers have it
		if err != nil {
			text = bytes.ToValidUTF8(body, []byte("\uFFFD"))
		}
		return text, fmt.Errorf("decode body: %w in %s", ErrMalformed, name)
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		// x/text promises to replace invalid bytes; keep the body if a decoder fails
		// anyway.
		return bytes.ToValidUTF8(body, []byte("\uFFFD")), fmt.Errorf("decode body: %w in %s: %w", ErrMalformed, name, err)
	}
	if bytes.Contains(text, []byte("\uFFFD")) {
		return text, fmt.Errorf("decode body: %w in %s", ErrMalformed, name)
	}
	return text, nil
}
