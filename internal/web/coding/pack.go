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

var packer = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
})

var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxUnpacked))
})

// Pack compresses a message for Unpack. Goroutines may call it.
func Pack(text []byte) []byte {
	e, err := packer()
	if err != nil {
		panic(err) // the options above are wrong
	}
	return e.EncodeAll(text, nil)
}

// Unpack returns what Pack got. Data that Pack has not written, such as JSON, is returned as it is.
// Goroutines may call it.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, zstdMagic) {
		return data, nil
	}
	d, err := unpacker()
	if err != nil {
		panic(err) // the options above are wrong
	}
	text, err := d.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack %d bytes: %w", len(data), err)
	}
	return text, nil
}
