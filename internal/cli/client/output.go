package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
)

// Text encodes a value as JSON with sorted keys, an indent of 4, ASCII characters only and
// no final newline (docs/spec/objects.md 3).
func Text(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the output: %w", err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("encode the output: %w", err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode the output: %w", err)
	}
	return escapeNonASCII(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// escapeNonASCII escapes all other characters as \u sequences.
func escapeNonASCII(text []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(text))
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.Bytes()
}
