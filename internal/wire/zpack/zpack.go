// Package zpack compresses messages between nodes, and processed contents.
//
//	data := zpack.Pack(text)
//	text, err := zpack.Unpack(data, zpack.MaxMessage)
//
// The format is a zstd frame (RFC 8878).
package zpack

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Limits of Unpack (bytes).
const (
	MaxMessage = 8 << 20   // of a message between nodes
	MaxContent = 512 << 20 // of a processed content
)

// zstdMagic begins each frame (RFC 8878 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
	if err != nil {
		panic(err) // the options above are wrong
	}
	return e
})

var messages, contents = newUnpacker(MaxMessage), newUnpacker(MaxContent)

func newUnpacker(most uint64) func() *zstd.Decoder {
	return sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			panic(err) // the options above are wrong
		}
		return d
	})
}

// Pack compresses a text for Unpack. Goroutines may call it.
func Pack(text []byte) []byte { return packer().EncodeAll(text, nil) }

// Is reports whether data begins as Pack writes it. JSON and base64 never do.
func Is(data []byte) bool { return bytes.HasPrefix(data, zstdMagic) }

// Unpack returns what Pack got. Data that Pack has not written, such as JSON, is returned as it is.
// More than most bytes, MaxMessage or MaxContent, are an error. Goroutines may call it.
func Unpack(data []byte, most int) ([]byte, error) { return UnpackInto(nil, data, most) }

// UnpackInto is Unpack with a place for the text, which it may return, larger.
func UnpackInto(place, data []byte, most int) ([]byte, error) {
	if !Is(data) {
		return data, nil
	}
	decoder := messages
	if most > MaxMessage {
		decoder = contents
	}
	text, err := decoder().DecodeAll(data, place)
	if err != nil {
		return nil, fmt.Errorf("unpack %d bytes: %w", len(data), err)
	}
	return text, nil
}
