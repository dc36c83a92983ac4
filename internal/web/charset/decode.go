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
	// ErrMalformed says that some bytes stand for no character of the charset;
	// the text has U+FFFD in their place.
	ErrMalformed = errors.New("malformed bytes")

	// ErrUnknownLabel says that the first charset label found names no known
	// charset. The text was decoded by the next source in order.
	ErrUnknownLabel = errors.New("unknown charset label")
)

// Names of the charsets that Decode treats apart, as the Encoding standard
// writes them.
const (
	nameUTF8    = "utf-8"
	nameUTF16BE = "utf-16be"
	nameUTF16LE = "utf-16le"
	nameLatin   = "windows-1252"
)

// Decode returns body as UTF-8 without a byte order mark, and the lower-case
// name of the charset that it was read as, in the spelling of the Encoding
// standard ("utf-8", "windows-1251", "shift_jis", "gb18030").
//
// contentType is the value of the header and may be empty. The text is always
// valid UTF-8 and always usable: an error is a remark on it, one of ErrMalformed
// and ErrUnknownLabel or both joined, to be told apart with errors.Is.
//
// A body that is UTF-8 already is returned as it is, without a copy; the caller
// must not change one while the other is in use. An empty body gives an empty
// text. NUL bytes are kept. Source: docs/spec/crawling.md 4.13, HTML standard 13.2.3.
func Decode(body []byte, contentType string) (text []byte, charset string, err error) {
	if enc, name, n := byteOrderMark(body); n > 0 {
		text, err = convert(body[n:], enc, name)
		return text, name, err
	}

	shape := survey(body)
	var remark error
	for _, label := range [...]string{headerLabel(contentType), declaredLabel(body, contentType)} {
		if label == "" {
			continue
		}
		enc, name, ok := lookup(label)
		if !ok {
			if remark == nil {
				remark = fmt.Errorf("charset.Decode: %w %.60q", ErrUnknownLabel, label)
			}
			continue
		}
		switch {
		case shape.plain && asciiBased(name):
			return body, name, remark
		case shape.provenUTF8:
			return body, nameUTF8, remark
		case name == nameUTF8 && shape.notUTF8:
			continue
		}
		text, err = convert(body, enc, name)
		return text, name, errors.Join(remark, err)
	}

	enc, name := unlabelled(body, shape)
	text, err = convert(body, enc, name)
	return text, name, errors.Join(remark, err)
}

// unlabelled chooses the charset of a body that states none worth following.
func unlabelled(body []byte, shape shape) (encoding.Encoding, string) {
	if shape.valid && !shape.disguised || shape.mostlyUTF8 {
		return nil, nameUTF8
	}
	if enc, name := guess(body); enc != nil {
		return enc, name
	}
	if shape.notUTF8 {
		return charmap.Windows1252, nameLatin
	}
	return nil, nameUTF8
}

// byteOrderMark reports the encoding that the first bytes state and the length
// of the mark, 0 when there is none. A mark outranks every label.
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

// convert decodes body from enc; nil and UTF-8 mean that it should be UTF-8.
func convert(body []byte, enc encoding.Encoding, name string) ([]byte, error) {
	if enc == nil || name == nameUTF8 {
		if utf8.Valid(body) {
			return body, nil
		}
		return bytes.ToValidUTF8(body, []byte("\uFFFD")), fmt.Errorf("charset.Decode: %w in %s", ErrMalformed, name)
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		// The decoders of x/text replace what they cannot read, so this is a
		// promise broken by one of them; the bytes are still better than none.
		return bytes.ToValidUTF8(body, []byte("\uFFFD")), fmt.Errorf("charset.Decode: %w in %s: %w", ErrMalformed, name, err)
	}
	if bytes.Contains(text, []byte("\uFFFD")) {
		return text, fmt.Errorf("charset.Decode: %w in %s", ErrMalformed, name)
	}
	return text, nil
}
