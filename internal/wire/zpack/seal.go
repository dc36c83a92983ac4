package zpack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// A sealed value is a zstd frame and a skippable frame (RFC 8878 3.1.2), which readers of zstd ignore:
//
//	5D 2A 4D 18  11 00 00 00  kind  16 bytes of digest
//
// The digest is the beginning of the SHA-256 of kind, id, a zero byte, the seconds of the date since
// 1970 (8 bytes, big-endian) and the bytes before the skippable frame.
const (
	sealPacked = 1 // the value was a zstd frame
	sealPlain  = 2 // the value was not: the frame has it in raw blocks
	digestSize = 16

	// SealSize is what Seal adds to a plain value of less than 128 KiB, in bytes.
	SealSize = sealSize + 16
	sealSize = 8 + 1 + digestSize
)

// sealMagic begins the skippable frame. RFC 8878 has 16 such magic numbers, 50 to 5F: the others are damage.
var sealMagic = []byte{0x5d, 0x2a, 0x4d, 0x18, 1 + digestSize, 0, 0, 0}

// ErrDamaged means that a value has other bytes than were sealed.
var ErrDamaged = errors.New("its bytes are not those that were stored")

// Seal returns a value as a store keeps it: with a digest of it, its id and its date (whole seconds).
// Goroutines may call it.
func Seal(id string, at time.Time, value []byte) []byte {
	kind, frame := byte(sealPacked), value
	if !Is(value) {
		kind, frame = sealPlain, frameOf(value)
	}
	sealed := make([]byte, 0, len(frame)+sealSize)
	sealed = append(append(sealed, frame...), sealMagic...)
	digest := sealDigest(kind, id, at, frame)
	return append(append(sealed, kind), digest[:digestSize]...)
}

// frameOf returns a zstd frame with the unchanged bytes of a value (RFC 8878 3.1.1): a header with the size, and
// raw blocks. So a store can judge the size of a value by that of its frame.
func frameOf(value []byte) []byte {
	const blockSize, last = 128 << 10, 1
	frame := make([]byte, 0, len(value)+3*(len(value)/blockSize+1)+13)
	frame = append(append(frame, zstdMagic...), 0xe0) // single segment, size in 8 bytes
	frame = binary.LittleEndian.AppendUint64(frame, uint64(len(value)))
	for {
		n := min(len(value), blockSize)
		header := n << 3
		if n == len(value) {
			header |= last
		}
		frame = append(append(frame, byte(header), byte(header>>8), byte(header>>16)), value[:n]...)
		if value = value[n:]; header&last != 0 {
			return frame
		}
	}
}

// Unseal returns the value of a stored one. A value without a digest, which an older version has
// stored, is returned unchanged; if it is a zstd frame, its own checksum is checked. An error is
// ErrDamaged. Goroutines may call it.
func Unseal(id string, at time.Time, stored []byte) (value []byte, err error) {
	end := len(stored) - sealSize
	if end < 0 || stored[end]&0xf0 != sealMagic[0]&0xf0 || !bytes.HasPrefix(stored[end+1:], sealMagic[1:]) {
		if _, err := Unpack(stored, MaxContent); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return stored, nil
	}
	frame, kind, digest := stored[:end:end], stored[end+len(sealMagic)], stored[len(stored)-digestSize:]
	if want := sealDigest(kind, id, at, frame); stored[end] != sealMagic[0] || !bytes.Equal(digest, want[:digestSize]) {
		return nil, ErrDamaged
	}
	if kind == sealPacked {
		return frame, nil
	}
	return Unpack(frame, MaxContent)
}

func sealDigest(kind byte, id string, at time.Time, frame []byte) (sum [sha256.Size]byte) {
	var seconds [8]byte
	binary.BigEndian.PutUint64(seconds[:], uint64(at.Unix()))
	h := sha256.New()
	h.Write([]byte{kind})
	h.Write([]byte(id))
	h.Write([]byte{0})
	h.Write(seconds[:])
	h.Write(frame)
	h.Sum(sum[:0])
	return sum
}
