// Package coding decodes the content codings of HTTP bodies: gzip, deflate, br and zstd.
//
//	r, release, err := coding.Decode(body, coding.Of(header["Content-Encoding"]), grant)
//	defer release()
package coding

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// Accept lists the codings that Decode supports, as Accept-Encoding has them.
const Accept = "gzip, deflate, br, zstd"

// maxCodings limits the codings of one body. Honest servers use one.
const maxCodings = 3

// zstdWindow is the largest window of zstd as a content coding (RFC 9659 3).
const zstdWindow = 8 << 20

// keptWindow is the largest window of a brotli decoder that is reused. A decoder keeps the
// memory of its largest window.
const keptWindow = 1 << 20

// Of returns the codings of a body in the order in which the server applied them, nil for
// none. lines are the values of Content-Encoding. It ignores unknown words, as browsers do.
func Of(lines []string) []string {
	var codings []string
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			name = strings.TrimPrefix(name, "x-")
			switch name {
			case "gzip", "deflate", "br", "zstd":
				codings = append(codings, name)
			}
		}
	}
	return codings
}

// windowSize returns about how many bytes of earlier text the decoder of a body keeps: the
// declared window of brotli (RFC 7932 9.1), the maximum for zstd, and 0 for the others,
// which keep little.
func windowSize(in *bufio.Reader, coding string) int64 {
	switch coding {
	case "zstd":
		return zstdWindow
	case "br":
		b, err := in.Peek(1)
		if err != nil {
			return 0
		}
		switch n := b[0] >> 1 & 7; {
		case b[0]&1 == 0:
			return 1 << 16
		case n > 0:
			return 1 << (17 + n)
		}
		return 1 << 17 // or less
	}
	return 0
}

// Decode returns r decoded, and a function that releases the decoders. An empty body is
// valid in any coding. It calls grant with the memory that each decoder needs for its window;
// an error of grant ends it.
func Decode(r io.Reader, codings []string, grant func(size int64) error) (io.Reader, func(), error) {
	if len(codings) > maxCodings {
		return nil, nil, fmt.Errorf("body has %d codings; the limit is %d", len(codings), maxCodings)
	}
	var cleanup []func()
	done := func() {
		for _, f := range cleanup {
			f()
		}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		in := buffers.Get().(*bufio.Reader)
		in.Reset(r)
		cleanup = append(cleanup, func() { in.Reset(nil); buffers.Put(in) })
		if _, err := in.Peek(1); err == io.EOF {
			return in, done, nil
		}
		if err := grant(windowSize(in, codings[i])); err != nil {
			done()
			return nil, nil, err
		}
		out, back, err := newDecoder(in, codings[i])
		if err != nil {
			done()
			return nil, nil, err
		}
		cleanup = append(cleanup, back)
		r = out
	}
	return r, done, nil
}

// Decoders have large tables, so they are reused.
var (
	buffers  = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 8<<10) }}
	gzips    = sync.Pool{New: func() any { return &gzipReader{z: flate.NewReader(nil)} }}
	flates   = sync.Pool{New: func() any { return flate.NewReader(nil) }}
	brotlis  = sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	zstdOpts = []zstd.DOption{
		zstd.WithDecoderConcurrency(1), // no goroutines
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow),
	}
	zstds = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstdOpts...)
		if err != nil {
			panic(err) // the options above are wrong
		}
		return d
	}}
)

// newDecoder returns a reader that decodes one coding, and a function that returns it to its
// pool.
func newDecoder(in *bufio.Reader, coding string) (io.Reader, func(), error) {
	switch coding {
	case "gzip":
		d := gzips.Get().(*gzipReader)
		return d, func() { d.in = nil; gzips.Put(d) }, d.reset(in)
	case "deflate":
		d := flates.Get().(io.ReadCloser)
		back := func() { flates.Put(d) }
		if isZlib(in) { // its checksum is not read, as in gzip
			_, _ = in.Discard(2)
		}
		return d, back, d.(flate.Resetter).Reset(in, nil)
	case "br":
		if windowSize(in, coding) > keptWindow {
			return brotli.NewReader(in), func() {}, nil
		}
		d := brotlis.Get().(*brotli.Reader)
		return d, func() { brotlis.Put(d) }, d.Reset(in)
	default:
		d := zstds.Get().(*zstd.Decoder)
		return d, func() { _ = d.Reset(nil); zstds.Put(d) }, d.Reset(in)
	}
}

// isZlib reports whether a "deflate" body begins with the zlib header of RFC 9110 8.4.1.2.
// Some servers send bare deflate data.
func isZlib(in *bufio.Reader) bool {
	b, err := in.Peek(2)
	return err == nil && b[0]&0x0f == 8 && (int(b[0])<<8|int(b[1]))%31 == 0
}
