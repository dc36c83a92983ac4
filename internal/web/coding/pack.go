package coding

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxUnpacked is the most that Unpack returns (bytes).
const MaxUnpacked = 8 << 20

// zstdMagic begins each frame (RFC 8878 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
	if err != nil {
		panic(err) // the options above are wrong
	}
	return e
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxUnpacked))
	if err != nil {
		panic(err) // the options above are wrong
	}
	return d
})

// Pack compresses a message for Unpack. Goroutines may call it.
func Pack(text []byte) []byte { return packer().EncodeAll(text, nil) }

// Unpack returns what Pack got. Data that Pack has not written, such as JSON, is returned as it is.
// Goroutines may call it.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, zstdMagic) {
		return data, nil
	}
	text, err := unpacker().DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack %d bytes: %w", len(data), err)
	}
	return text, nil
}
