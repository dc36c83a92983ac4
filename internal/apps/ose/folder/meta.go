package folder

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Meta is what .meta.<id> says of a request. The file is the proof that the request was made: it is
// written after the file with the body.
type Meta struct {
	URL      string
	Code     int   // HTTP code; 0: no answer
	Streamed Stamp // of the request
	Head     int64 // bytes of the head in the file with the body
	Size     int64 // of that file
	MD5      string
	Millis   int64  // the request took; -1: not known
	Error    string // why there is no body, or not all of it; "": none
}

const (
	maxMeta  = 16 << 10
	maxError = 1000
)

// Append appends the file.
func (m Meta) Append(to []byte) []byte {
	to = fmt.Appendf(to, "url: %s\ncode: %03d\nstreamed: %019d\nhead: %d\nsize: %d\nmd5: %s\n", m.URL, m.Code, int64(m.Streamed), m.Head, m.Size, m.MD5)
	if m.Millis >= 0 {
		to = fmt.Appendf(to, "ms: %d\n", m.Millis)
	}
	if m.Error != "" {
		to = fmt.Appendf(to, "error: %s\n", m.Error)
	}
	return to
}

// OneLine returns a text as the value of Error: printable, in one line, and bounded.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	for len(text) > maxError {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return strings.TrimSpace(text)
}

// metaKeys are the keys of a file in their order. The last two may be missing.
var metaKeys = []string{"url", "code", "streamed", "head", "size", "md5", "ms", "error"}

const metaNeeded = 6

// ParseMeta reads a file. The error is a *Fault.
func ParseMeta(path, text string) (m Meta, err error) {
	m.Millis = -1
	lineNumber, next := 0, 0
	for line := range strings.Lines(text) {
		lineNumber++
		line, ended := strings.CutSuffix(line, "\n")
		if !ended {
			return m, faultOf(path, lineNumber, columnErrorf(len(line)+1, "no line feed at the end"))
		}
		key, value, _ := strings.Cut(line, ": ")
		for next < len(metaKeys) && next >= metaNeeded && metaKeys[next] != key {
			next++
		}
		if next >= len(metaKeys) || metaKeys[next] != key {
			want := "the end of the file"
			if next < len(metaKeys) {
				want = strconv.Quote(metaKeys[next] + ": ")
			}
			return m, faultOf(path, lineNumber, columnErrorf(1, "%.40q instead of %s", line, want))
		}
		if err := m.setValue(key, value); err != nil {
			return m, faultOf(path, lineNumber, columnErrorf(len(key)+3, "%s: %w", key, err))
		}
		next++
	}
	switch {
	case next < metaNeeded:
		return m, faultOf(path, lineNumber+1, columnErrorf(1, "the file ends before %q", metaKeys[next]))
	case m.Head > m.Size:
		return m, &Fault{File: path, Err: fmt.Errorf("head %d is above size %d", m.Head, m.Size)}
	}
	return m, nil
}

// setValue reads one value, which must be as Append writes it.
func (m *Meta) setValue(key, value string) (err error) {
	switch key {
	case "url":
		m.URL = value
		return checkURL(value)
	case "code":
		m.Code, err = parseNumber[int](value, "%03d", 999)
	case "streamed":
		if m.Streamed, err = parseNumber[Stamp](value, "%019d", 1<<63-1); err == nil && m.Streamed == 0 {
			err = fmt.Errorf("0 instead of a time")
		}
	case "head":
		m.Head, err = parseNumber[int64](value, "%d", 1<<40)
	case "size":
		m.Size, err = parseNumber[int64](value, "%d", 1<<40)
	case "md5":
		m.MD5 = value
		if sum, wrong := hex.DecodeString(value); wrong != nil || len(sum) != 16 || strings.ToLower(value) != value {
			err = fmt.Errorf("%.40q is not 32 hexadecimal digits", value)
		}
	case "ms":
		m.Millis, err = parseNumber[int64](value, "%d", 1<<40)
	case "error":
		if m.Error = value; value == "" || OneLine(value) != value {
			err = fmt.Errorf("%.40q is not a printable line of at most %d bytes", value, maxError)
		}
	}
	return err
}

// parseNumber reads a number that is written in a format.
func parseNumber[T ~int | ~int64](value, format string, most uint64) (T, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > most || fmt.Sprintf(format, n) != value {
		return 0, fmt.Errorf("%.40q is not a number from 0 to %d in its form", value, most)
	}
	return T(n), nil
}
