package coding

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// gzipReader reads all members of a gzip body (RFC 1952). Other data after the first member, such
// as padding, ends the body without an error. So does a length that the server stated too large, and
// a checksum that is wrong or missing: browsers do not look at it, and the data are whole.
type gzipReader struct {
	in       *bufio.Reader
	z        io.ReadCloser // a flate.Resetter
	sum      hash.Hash32
	size     uint32
	repaired bool
}

// Repaired reports whether a body that r of Decode has read to its end lacks what browsers do not
// miss: the checksum of gzip is wrong or missing. It must be called before the release.
func Repaired(r io.Reader) bool {
	g, ok := r.(*gzipReader)
	return ok && g.repaired
}

var errNoGzip = errors.New("no gzip header")

func (g *gzipReader) reset(in *bufio.Reader) error {
	g.in, g.repaired = in, false
	return g.readMemberHeader()
}

// readMemberHeader reads the header of a member.
func (g *gzipReader) readMemberHeader() error {
	if err := skipGzipHeader(g.in); err != nil {
		return cutOff(err)
	}
	g.sum, g.size = crc32.NewIEEE(), 0
	return g.z.(flate.Resetter).Reset(g.in, nil)
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.z.Read(p)
		_, _ = g.sum.Write(p[:n])
		g.size += uint32(n)
		if n > 0 && err == io.EOF {
			err = nil
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err := g.checkMemberEnd(); err != nil {
			return 0, err
		}
		magic, err := g.in.Peek(2)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, err // there may be another member
		}
		if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
			return 0, io.EOF
		}
		if err := g.readMemberHeader(); err != nil {
			if err == errNoGzip {
				return 0, io.EOF
			}
			return 0, err
		}
	}
}

// checkMemberEnd reads the checksum and the length behind a member.
func (g *gzipReader) checkMemberEnd() error {
	var trailer [8]byte
	n, err := io.ReadFull(g.in, trailer[:])
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF && n < len(trailer):
		g.repaired = true
		return nil
	case err != nil:
		return err
	}
	if binary.LittleEndian.Uint32(trailer[:]) != g.sum.Sum32() || binary.LittleEndian.Uint32(trailer[4:]) != g.size {
		g.repaired = true
	}
	return nil
}

// Flags of a gzip header.
const (
	gzipCRC     = 1 << 1
	gzipExtra   = 1 << 2
	gzipName    = 1 << 3
	gzipComment = 1 << 4
)

// maxGzipText limits the file name and the comment of a header.
const maxGzipText = 64 << 10

// skipGzipHeader reads a header of RFC 1952 2.3.
func skipGzipHeader(in *bufio.Reader) error {
	var head [10]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return errNoGzip
	}
	flags := head[3]
	if flags&gzipExtra != 0 {
		if _, err := io.ReadFull(in, head[:2]); err != nil {
			return err
		}
		if _, err := in.Discard(int(binary.LittleEndian.Uint16(head[:]))); err != nil {
			return err
		}
	}
	for _, flag := range []byte{gzipName, gzipComment} {
		if flags&flag != 0 {
			if err := skipText(in); err != nil {
				return err
			}
		}
	}
	if flags&gzipCRC != 0 {
		_, err := in.Discard(2)
		return err
	}
	return nil
}

// skipText reads a text up to its NUL.
func skipText(in *bufio.Reader) error {
	for range maxGzipText {
		c, err := in.ReadByte()
		if err != nil || c == 0 {
			return err
		}
	}
	return errNoGzip
}

// cutOff turns the EOF of an unfinished header into an error.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
