package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/wire/errormask"
)

const small = "<!DOCTYPE html><title>A page</title><p>It has a text.</p>"

// floodTraps bodies have no end, or grow when they are unpacked.
func floodTraps() []Trap {
	return []Trap{
		{Path: "/body/endless", What: "a page without an end, in chunks", Ends: listMasks(errormask.Size),
			serve: serveBody(htmlUTF8, func(w io.Writer) { floodText(w, "<p>And then the tide came in.</p>\n") })},
		{Path: "/body/endless-plain", What: "a page without an end, until the connection closes", Ends: listMasks(errormask.Size),
			serve: sendThenFlood(okHead+"\r\n", "<p>And then the tide went out.</p>\n")},
		{Path: "/body/nul-endless", What: "NUL bytes without an end", Ends: listMasks(errormask.Size),
			serve: serveBody(htmlUTF8, func(w io.Writer) { floodText(w, "\x00") })},
		{Path: "/body/gzip-bomb", What: "4 GiB in 4 MiB of gzip, a few members repeated", Ends: listMasks(errormask.Size),
			serve: serveEncoded("gzip", func(w io.Writer) { repeatBytes(w, gzipMember(), 256) })},
		{Path: "/body/gzip-gzip-bomb", What: "gzip in gzip: two gigabytes in four kilobytes", Ends: listMasks(errormask.Size),
			serve: serveEncoded("gzip, gzip", func(w io.Writer) { _, _ = w.Write(nestedBomb()) })},
		{Path: "/body/gzip-headers", What: "a gzip member whose file name never ends", Ends: listMasks(errormask.PageConvert, errormask.Size),
			serve: serveEncoded("gzip", func(w io.Writer) {
				_, _ = io.WriteString(w, "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff")
				floodText(w, "name")
			})},
		{Path: "/body/gzip-empty-members", What: "gzip members that hold nothing, without an end", Ends: listMasks(errormask.Size),
			serve: serveEncoded("gzip", func(w io.Writer) { repeatBytes(w, packGzip(nil), mostSent/23) })},
		{Path: "/body/deflate-bomb", What: "64 MiB in 64 KiB of deflate", Ends: listMasks(errormask.Size),
			serve: serveEncoded("deflate", func(w io.Writer) { _, _ = w.Write(zlibBomb()) })},
		{Path: "/body/brotli-bomb", What: "256 MiB in 211 bytes of brotli", Ends: listMasks(errormask.Size),
			serve: serveEncoded("br", func(w io.Writer) { _, _ = w.Write(brotliBomb()) })},
		{Path: "/body/zstd-bomb", What: "1 GiB in 32 KiB of zstd", Ends: listMasks(errormask.Size),
			serve: serveEncoded("zstd", func(w io.Writer) { _, _ = w.Write(zstdBomb(8192)) })},
		{Path: "/body/zstd-window", What: "a zstd frame that asks for a window of 2 GiB", Ends: listMasks(errormask.PageConvert),
			serve: serveEncoded("zstd", func(w io.Writer) { _, _ = w.Write([]byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")) })},
	}
}

// codingTraps bodies are not what their content coding says.
func codingTraps() []Trap {
	return []Trap{
		{Path: "/body/ten-codings", What: "ten codings, one in the other", Ends: listMasks(errormask.PageConvert),
			serve: serveEncoded(strings.TrimSuffix(strings.Repeat("gzip, ", 10), ", "), func(w io.Writer) {
				b := []byte(small)
				for range 10 {
					b = packGzip(b)
				}
				_, _ = w.Write(b)
			})},
		{Path: "/body/not-gzip", What: "said to be gzip, and is not", Ends: listMasks(errormask.PageConvert),
			serve: serveEncoded("gzip", func(w io.Writer) { _, _ = io.WriteString(w, small) })},
		{Path: "/body/cut-gzip", What: "gzip that breaks off", Ends: listMasks(errormask.PageConvert),
			serve: serveEncoded("gzip", func(w io.Writer) {
				b := packGzip([]byte(strings.Repeat(small, 100)))
				_, _ = w.Write(b[:len(b)/2])
			})},
		{Path: "/body/gzip-no-trailer", What: "gzip without its checksum and length", Ends: listMasks(errormask.FetchHTTP), Kept: true,
			serve: serveEncoded("gzip", func(w io.Writer) { b := packGzip([]byte(small)); _, _ = w.Write(b[:len(b)-8]) })},
		{Path: "/body/gzip-half-trailer", What: "gzip with half of its checksum and length", Ends: listMasks(errormask.FetchHTTP), Kept: true,
			serve: serveEncoded("gzip", func(w io.Writer) { b := packGzip([]byte(small)); _, _ = w.Write(b[:len(b)-4]) })},
		{Path: "/body/gzip-checksum", What: "gzip with a wrong checksum", Ends: listMasks(errormask.FetchHTTP), Kept: true,
			serve: serveEncoded("gzip", func(w io.Writer) {
				b := packGzip([]byte(small))
				b[len(b)-8] ^= 1
				_, _ = w.Write(b)
			})},
		{Path: "/body/gzip-padding", What: "gzip with padding behind it", serve: serveEncoded("gzip", func(w io.Writer) { _, _ = w.Write(append(packGzip([]byte(small)), make([]byte, 100)...)) })},
		{Path: "/body/gzip-members", What: "gzip in two members",
			serve: serveEncoded("gzip", func(w io.Writer) { _, _ = w.Write(append(packGzip([]byte(small)), packGzip([]byte(small))...)) })},
		{Path: "/body/x-gzip", What: "gzip by its old name", serve: serveEncoded("x-gzip", func(w io.Writer) { _, _ = w.Write(packGzip([]byte(small))) })},
		{Path: "/body/coding-none", What: "the content coding none", serve: serveEncoded("none", func(w io.Writer) { _, _ = io.WriteString(w, small) })},
		{Path: "/body/gzip-empty", What: "said to be gzip, without a byte", Ends: listMasks(errormask.Empty), serve: serveEncoded("gzip", func(io.Writer) {})},
		{Path: "/body/deflate-bare", What: "deflate without the header of zlib",
			serve: serveEncoded("deflate", func(w io.Writer) {
				z, err := flate.NewWriter(w, flate.BestSpeed)
				if err == nil {
					_, _ = io.WriteString(z, small)
					_ = z.Close()
				}
			})},
	}
}

// bodyTraps bodies stop, or are no text.
func bodyTraps() []Trap {
	return []Trap{
		{Path: "/body/png", What: "an image that is said to be HTML", Ends: listMasks(errormask.MIME, 0),
			serve: serveText(htmlUTF8, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00")},
		{Path: "/body/drip", What: "one byte in a tenth of a second, for ten minutes", Ends: listMasks(errormask.Timeout), Stalls: true,
			serve: dripText("drop ", 100*time.Millisecond)},
		{Path: "/body/silent", What: "half a page, and then nothing", Ends: listMasks(errormask.Timeout), Stalls: true,
			serve: sendThenStall(okHead + "\r\n<title>Half a page</title><p>And now")},
		{Path: "/body/reset", What: "half a page, and a reset", Ends: listMasks(errormask.PageConvert, errormask.Connection),
			serve: sendThenAbort(okHead + "Content-Length: 5000\r\n\r\n<title>Half a page</title>")},
		{Path: "/body/nul", What: "a page with NUL bytes in its words and tags",
			serve: serveText(htmlUTF8, "<!DOCTYPE html><ti\x00tle>Zero\x00s</title><p>One\x00two <a hr\x00ef=\"/x\" href=\"/\x00y\">l\x00ink</a>"+strings.Repeat("\x00", 1000))},
		{Path: "/body/binary", What: "noise that is said to be HTML", Ends: listMasks(errormask.MIME, 0),
			serve: serveBody(htmlUTF8, func(w io.Writer) { _, _ = w.Write(randomBytes(200_000)) })},
		{Path: "/body/empty", What: "no body at all", Ends: listMasks(errormask.Empty), serve: serveText(htmlUTF8, "")},
		{Path: "/body/space", What: "8 MB of spaces", serve: serveRepeated("", " ", 8_000_000, "")},
	}
}

// serveEncoded sends a body that is already compressed.
func serveEncoded(coding string, write func(w io.Writer)) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		if sendRaw(c, okHead+"Content-Encoding: "+coding+"\r\n\r\n") {
			write(c)
		}
	})
}

func packGzip(plain []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	// writes to a buffer do not fail
	_, _ = z.Write(plain)
	_ = z.Close()
	return packed.Bytes()
}

// gzipMember decompresses to 16 MiB, a thousand times its size.
var gzipMember = sync.OnceValue(func() []byte { return packGzip(bytes.Repeat([]byte("a"), 16<<20)) })

// nestedBomb is gzip of many equal gzip members, which compress well.
var nestedBomb = sync.OnceValue(func() []byte { return packGzip(bytes.Repeat(gzipMember(), 128)) })

var zlibBomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	writeRepeated(z, "a", 64<<20)
	_ = z.Close()
	return packed.Bytes()
})

// zstdBomb is one frame of n blocks that each repeat one byte 128 KiB long (RFC 8878 3.1.1:
// window 8 MiB, RLE blocks).
func zstdBomb(n int) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68}
	for i := range n {
		head := uint32(128<<10)<<3 | 1<<1
		if i == n-1 {
			head |= 1 // the last block
		}
		b = binary.LittleEndian.AppendUint32(b, head|'a'<<24)
	}
	return b
}

// randomBytes returns pseudo-random bytes, always the same.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 24)
	}
	return b
}

func repeatBytes(w io.Writer, part []byte, n int) { writeRepeated(w, string(part), n) }

// brotliBomb is 256 MiB of one letter, with maximum compression.
var brotliBomb = sync.OnceValue(func() []byte {
	b, err := base64.StdEncoding.DecodeString(packedBrotli)
	if err != nil {
		panic("decode brotli constant: " + err.Error())
	}
	return b
})

const packedBrotli = "z///f/glwuKxQCD3/p/////wSwDEYQGA7v0/////4ZcAiMMiAN37f/7//8MvARCHBQC69//8//+HXwIgDgsAdO//+f//D78EQBwWAOje//P//x9+CYA4LADQvf/n//8//BIAcVgAoHv/z///f/glAOKwAED3/p/////wSwDEYQGA7v0/////4ZcAiMMCAN37f/7//8MvARCHBQC69//8//+HXwIgDgsAdO//+f//D78EQBwWAOje//P//x9+CYA4LADQvf/n//8//BIAcVgAoHv/Pw=="
