// Package packet is the protocol between a crawler in a web server and the Web Store: frames, and the
// documents in them.
//
// A frame has a header of 21 bytes and a payload. Numbers are big-endian, the byte order of networks.
//
//	bytes  0-15  descriptor id: 16 random bytes; the response has the id of its request
//	byte   16    payload descriptor: a Kind
//	bytes 17-20  length of the payload, at most MaxPayload
//	bytes 21-    payload: JSON in UTF-8
//
// A crawler sends frames of the kinds Page and File. The Web Store answers each one with Stored,
// Refused or Failed, in any order:
//
//	frame, err := packet.Encode(packet.Document{Kind: packet.Page, URL: "http://a.example/", HTML: text})
//	err = packet.Write(conn, frame)
//	answer, err := packet.Read(conn, packet.MaxAnswer)
//	// answer.ID == frame.ID, answer.Kind == packet.Stored
package packet

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxPayload bounds a payload in bytes: the largest page, with room for JSON's escapes.
	MaxPayload = 16 << 20
	// MaxAnswer bounds the payload of an answer.
	MaxAnswer = 64 << 10
	// headerSize is the size of a frame without its payload.
	headerSize = 21
	// portion is how much memory ReadPayload takes before the bytes have arrived: the length in a header
	// is only a claim.
	portion = 64 << 10
)

// ErrSize means that a payload is above its limit.
var ErrSize = errors.New("payload too large")

// ErrKind means that a frame has a kind that its reader does not expect.
var ErrKind = errors.New("unexpected payload descriptor")

// ID is the descriptor id of a request and of its response.
type ID [16]byte

// NewID returns a random id.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// Kind is the payload descriptor of a frame.
type Kind byte

// The kinds of requests are below 128, those of answers above.
const (
	Page Kind = 1 // an HTML document
	File Kind = 2 // an image or any other file

	Stored  Kind = 129 // the document is durable; the payload is an Answer
	Refused Kind = 130 // the document is invalid and must not be sent again unchanged
	Failed  Kind = 131 // the store cannot store now; the document may be sent again later
)

// Frame is one message.
type Frame struct {
	ID      ID
	Kind    Kind
	Payload []byte
}

// Write writes f in one call, so that frames of several goroutines do not mix if each call of
// w.Write is atomic. It returns ErrSize for a payload above MaxPayload.
func Write(w io.Writer, f Frame) error {
	if len(f.Payload) > MaxPayload {
		return fmt.Errorf("write packet of %d bytes, at most %d: %w", len(f.Payload), MaxPayload, ErrSize)
	}
	b := make([]byte, headerSize, headerSize+len(f.Payload))
	copy(b, f.ID[:])
	b[16] = byte(f.Kind)
	binary.BigEndian.PutUint32(b[17:], uint32(len(f.Payload)))
	_, err := w.Write(append(b, f.Payload...))
	return err
}

// Read reads one frame with a payload of at most limit bytes. The error is io.EOF before the first
// byte of a frame, io.ErrUnexpectedEOF inside of one, and ErrSize for a larger payload.
func Read(r io.Reader, limit int) (Frame, error) {
	f, size, err := ReadHeader(r, limit)
	if err == nil {
		err = f.ReadPayload(r, size)
	}
	return f, err
}

// ReadHeader reads the header of a frame, and returns the size of the payload that follows. Errors are
// those of Read.
func ReadHeader(r io.Reader, limit int) (f Frame, size int, err error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, 0, err
	}
	f = Frame{ID: ID(h[:16]), Kind: Kind(h[16])}
	claimed := int64(binary.BigEndian.Uint32(h[17:]))
	if claimed > int64(limit) {
		return f, 0, fmt.Errorf("packet of %d bytes, at most %d: %w", claimed, limit, ErrSize)
	}
	return f, int(claimed), nil
}

// ReadPayload reads the payload of f. Its memory grows with the bytes that arrive.
func (f *Frame) ReadPayload(r io.Reader, size int) error {
	f.Payload = make([]byte, 0, min(size, portion))
	for len(f.Payload) < size {
		have := len(f.Payload)
		next := min(size, max(2*have, portion))
		f.Payload = append(f.Payload, make([]byte, next-have)...)
		if _, err := io.ReadFull(r, f.Payload[have:]); err != nil {
			return unexpectedEOF(err)
		}
	}
	return nil
}

// unexpectedEOF returns io.ErrUnexpectedEOF for an end inside of a frame.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
