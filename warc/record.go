package warc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Type is the value of WARC-Type.
type Type string

// The types of records.
const (
	Info         Type = "warcinfo"
	Request      Type = "request"
	Response     Type = "response"
	Resource     Type = "resource"
	Metadata     Type = "metadata"
	Revisit      Type = "revisit"
	Conversion   Type = "conversion"
	Continuation Type = "continuation"
)

// Content types of blocks.
const (
	RequestType  = "application/http; msgtype=request"
	ResponseType = "application/http; msgtype=response"
	FieldsType   = "application/warc-fields"
)

// SamePayload is the WARC-Profile of a revisit whose payload is that of an earlier record.
const SamePayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// Names of fields that more than one package uses.
const (
	FieldType          = "WARC-Type"
	FieldID            = "WARC-Record-ID"
	FieldDate          = "WARC-Date"
	FieldTarget        = "WARC-Target-URI"
	FieldConcurrent    = "WARC-Concurrent-To"
	FieldProfile       = "WARC-Profile"
	FieldRefersTo      = "WARC-Refers-To"
	FieldRefersToURI   = "WARC-Refers-To-Target-URI"
	FieldRefersToDate  = "WARC-Refers-To-Date"
	FieldBlockDigest   = "WARC-Block-Digest"
	FieldPayloadDigest = "WARC-Payload-Digest"
	FieldTruncated     = "WARC-Truncated"
	FieldSegment       = "WARC-Segment-Number"
	FieldContentType   = "Content-Type"
	FieldLength        = "Content-Length"
)

const (
	version   = "WARC/1.1\r\n"
	lineEnd   = "\r\n"
	headEnd   = "\r\n\r\n"
	dateForm  = "2006-01-02T15:04:05.000Z"
	versioned = "WARC/"
)

// RecordEnd follows the block of each record.
const RecordEnd = "\r\n\r\n"

// Field is a field of a header. Names are compared without regard to case.
type Field struct{ Name, Value string }

// Fields are the fields of a header in their order.
type Fields []Field

// Get returns the first value of a name, "" without one.
func (f Fields) Get(name string) string {
	for _, field := range f {
		if strings.EqualFold(field.Name, name) {
			return field.Value
		}
	}
	return ""
}

// AppendStart begins a header: the version, the type, the id and the date in milliseconds.
func AppendStart(to []byte, kind Type, id string, at time.Time) []byte {
	to = append(to, version...)
	to = AppendField(to, FieldType, string(kind))
	to = AppendField(to, FieldID, id)
	to = append(append(to, FieldDate...), ": "...)
	return append(at.UTC().AppendFormat(to, dateForm), lineEnd...)
}

// AppendField appends a field. The caller makes sure that the value is Printable.
func AppendField(to []byte, name, value string) []byte {
	return append(append(append(append(to, name...), ": "...), value...), lineEnd...)
}

// AppendEnd ends a header with the length of the block. After the block follows RecordEnd.
func AppendEnd(to []byte, length int64) []byte {
	to = append(append(to, FieldLength...), ": "...)
	return append(strconv.AppendInt(to, length, 10), headEnd...)
}

// Printable reports whether a URI is allowed as a value: ASCII without blanks and controls.
func Printable(uri string) bool {
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] >= 0x7f {
			return false
		}
	}
	return true
}

// URI returns text as a Printable URI: other bytes become escapes.
func URI(text string) string {
	if Printable(text) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// NewID returns a random WARC-Record-ID.
func NewID() string { return formatUUID(rand.Uint64(), rand.Uint64(), 4) }

// IDOf returns the WARC-Record-ID of a record that these texts identify: the same one each time.
func IDOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	sum := h.Sum(nil)
	var a, b uint64
	for i := range 8 {
		a, b = a<<8|uint64(sum[i]), b<<8|uint64(sum[8+i])
	}
	return formatUUID(a, b, 8)
}

func formatUUID(a, b uint64, version int) string {
	return fmt.Sprintf("<urn:uuid:%08x-%04x-%x%03x-%04x-%012x>", a>>32, a>>16&0xffff, version, a&0xfff, b>>48&0x3fff|0x8000, b&(1<<48-1))
}

// digestName begins the digests that Writer writes. SHA-256, because a revisit stands on the digest
// alone, and SHA-1 has collisions.
const digestName = "sha256:"

// Digest returns the digest of data as WARC-Block-Digest has it.
func Digest(data ...[]byte) string {
	h := sha256.New()
	for _, d := range data {
		h.Write(d)
	}
	return digestName + hex.EncodeToString(h.Sum(nil))
}

// ErrHead means that a header is not one of WARC 0.17 to 1.1.
var ErrHead = errors.New("no header of a WARC record")

// versions are the accepted first lines.
var versions = []string{version, "WARC/1.0\r\n", "WARC/0.18\r\n", "WARC/0.17\r\n"}

// ParseHead calls field for each field of the header at the start of data, which may have more. It
// returns the bytes of the header with the empty line. A value on several lines is passed with its
// line ends. The error is ErrHead, also if the header does not end in data, or that of field.
func ParseHead(data []byte, field func(name, value []byte) error) (size int, err error) {
	end := bytes.Index(data, []byte(headEnd))
	if end < 0 {
		return 0, ErrHead
	}
	rest, known := data[:end+len(lineEnd)], false
	for _, v := range versions {
		if after, ok := bytes.CutPrefix(rest, []byte(v)); ok {
			rest, known = after, true
			break
		}
	}
	if !known {
		return 0, ErrHead
	}
	for len(rest) > 0 {
		at := bytes.Index(rest, []byte(lineEnd))
		for at >= 0 && at+2 < len(rest) && (rest[at+2] == ' ' || rest[at+2] == '\t') {
			next := bytes.Index(rest[at+2:], []byte(lineEnd))
			if next < 0 {
				return 0, ErrHead
			}
			at += 2 + next
		}
		name, value, ok := bytes.Cut(rest[:at], []byte(":"))
		if !ok || len(name) == 0 {
			return 0, ErrHead
		}
		if err := field(name, bytes.Trim(value, " \t")); err != nil {
			return 0, err
		}
		rest = rest[at+2:]
	}
	return end + len(headEnd), nil
}

// FormatDate returns a date as WARC-Date has it, in milliseconds.
func FormatDate(at time.Time) string { return at.UTC().Format(dateForm) }

// dateForms are the forms of WARC-Date; WARC 1.1 allows dates without their last parts.
var dateForms = []string{time.RFC3339, "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006"}

// ParseDate reads a WARC-Date.
func ParseDate(text string) (time.Time, error) {
	for _, form := range dateForms {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q is not a date such as 2026-01-31T12:00:00Z", FieldDate, text)
}
