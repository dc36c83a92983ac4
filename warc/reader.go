package warc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"
)

// MaxHead is the largest header of a record that a Reader accepts, in bytes.
const MaxHead = 64 << 10

// Fault is a place in a file that is no record, or half of one.
type Fault struct {
	// Offset is where the record begins, in bytes of the file. In a file with several records in one
	// gzip member it is where the member begins.
	Offset int64
	Err    error
}

// Error names the offset and the cause.
func (f *Fault) Error() string { return fmt.Sprintf("record at byte %d: %v", f.Offset, f.Err) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

var (
	errTorn   = errors.New("the file ends inside of the record")
	errHead   = fmt.Errorf("its header is longer than %d bytes", MaxHead)
	errNoEnd  = errors.New("its block is not followed by two line ends; Content-Length is wrong")
	errDigest = errors.New("its block does not match " + FieldBlockDigest)
)

// Found is a record that a Reader has found.
type Found struct {
	Type   Type
	Fields Fields
	Offset int64 // see Fault
	Length int64 // bytes of the block
	// Body has the block. It ends with the next call of Next. An error other than io.EOF is a *Fault.
	Body io.Reader
}

// ID returns the WARC-Record-ID.
func (f *Found) ID() string { return f.Fields.Get(FieldID) }

// Date returns the WARC-Date.
func (f *Found) Date() (time.Time, error) { return ParseDate(f.Fields.Get(FieldDate)) }

// TargetURI returns the WARC-Target-URI. Writers of WARC 1.0 put it between < and >.
func (f *Found) TargetURI() string { return stripBrackets(f.Fields.Get(FieldTarget)) }

func stripBrackets(uri string) string {
	if inner, ok := strings.CutPrefix(uri, "<"); ok {
		return strings.TrimSuffix(inner, ">")
	}
	return uri
}

// Reader reads the records of a file, plain or in gzip members. It checks the structure of the file
// and the digests of blocks. Not safe for concurrent use.
type Reader struct {
	source source
	text   *bufio.Reader // of source
	passed int64         // bytes that were taken from text
	head   []byte
	now    *Found // the record whose block is being read; nil: none
	left   int64  // bytes of its block
	digest hash.Hash
	want   []byte // the digest of the block; nil: none
	err    error
}

// NewReader reads the file r from its start.
func NewReader(r io.Reader) (*Reader, error) {
	reader := &Reader{}
	reader.source.raw = bufio.NewReaderSize(&reader.source.count, 64<<10)
	reader.source.count.r = r
	if err := reader.source.detectCompression(); err != nil {
		return nil, &Fault{0, err}
	}
	reader.text = bufio.NewReaderSize(&reader.source, MaxHead)
	return reader, nil
}

// Next skips the rest of the current block and returns the next record. The error is io.EOF at the
// end of the file, or a *Fault: then the file has no further records that can be read.
func (r *Reader) Next() (*Found, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.now != nil {
		if _, err := io.Copy(io.Discard, (*body)(r)); err != nil {
			return nil, err
		}
		if r.err = r.checkBlockEnd(); r.err != nil {
			return nil, r.err
		}
	}
	found, err := r.nextRecord()
	if err != nil {
		r.err = err
	}
	return found, err
}

// nextRecord reads a header.
func (r *Reader) nextRecord() (*Found, error) {
	if _, err := r.text.Peek(1); err != nil {
		return nil, r.newFault(r.offset(), err, true)
	}
	offset := r.offset()
	if err := r.readHead(); err != nil {
		return nil, r.newFault(offset, err, false)
	}
	found := &Found{Offset: offset, Length: -1, Body: (*body)(r)}
	_, err := ParseHead(r.head, func(name, value []byte) error {
		found.Fields = append(found.Fields, Field{string(name), unfoldLines(value)})
		return nil
	})
	if err != nil {
		return nil, &Fault{offset, fmt.Errorf("%w: it begins with %.60q", err, r.head)}
	}
	found.Type = Type(strings.ToLower(found.Fields.Get(FieldType)))
	length := found.Fields.Get(FieldLength)
	if found.Length, err = strconv.ParseInt(length, 10, 64); err != nil || found.Length < 0 {
		return nil, &Fault{offset, fmt.Errorf("%s %.60q is not a number of bytes", FieldLength, length)}
	}
	if found.Type == "" {
		return nil, &Fault{offset, errors.New("it has no " + FieldType)}
	}
	r.now, r.left = found, found.Length
	r.digest, r.want = digestOf(found.Fields.Get(FieldBlockDigest))
	if found.Length > 0 && r.want != nil && bytes.Equal(r.digest.Sum(nil), r.want) {
		r.want = nil // GNU wget 1.21 writes the digest of nothing for each revisit
	}
	return found, nil
}

// unfoldLines returns a value on several lines as one line.
func unfoldLines(value []byte) string {
	if bytes.IndexByte(value, '\n') < 0 {
		return string(value)
	}
	return string(bytes.Join(bytes.Fields(value), []byte(" ")))
}

// offset returns where the next byte is in the file.
func (r *Reader) offset() int64 {
	if r.source.zip != nil {
		return r.source.start
	}
	return r.passed
}

// readHead reads the header with its empty line.
func (r *Reader) readHead() error {
	r.head = r.head[:0]
	for {
		line, err := r.text.ReadSlice('\n')
		r.passed += int64(len(line))
		r.head = append(r.head, line...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull), len(r.head) > MaxHead:
			return errHead
		case err != nil:
			return err
		case !bytes.HasPrefix(r.head, []byte(versioned)):
			return fmt.Errorf("%w: it begins with %.60q", ErrHead, r.head)
		case len(line) == len(lineEnd):
			return nil
		}
	}
}

// newFault returns an error of the input as a *Fault, or io.EOF if the file may end here.
func (r *Reader) newFault(offset int64, err error, mayEnd bool) error {
	var known *Fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.EOF) && mayEnd:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errTorn
	}
	return &Fault{offset, err}
}

// body reads the block of the current record.
type body Reader

func (b *body) Read(p []byte) (int, error) {
	r := (*Reader)(b)
	if r.err != nil {
		return 0, r.err
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.text.Read(p[:min(int64(len(p)), r.left)])
	r.passed += int64(n)
	r.left -= int64(n)
	if r.want != nil {
		r.digest.Write(p[:n])
	}
	if err != nil {
		r.err = r.newFault(r.now.Offset, err, false)
		return n, r.err
	}
	return n, nil
}

// checkBlockEnd checks what follows a block.
func (r *Reader) checkBlockEnd() error {
	offset := r.now.Offset
	r.now = nil
	if r.want != nil && !bytes.Equal(r.digest.Sum(nil), r.want) {
		return &Fault{offset, errDigest}
	}
	tail, err := r.text.Peek(len(RecordEnd))
	if err != nil {
		return r.newFault(offset, err, false)
	}
	if string(tail) != RecordEnd {
		return &Fault{offset, errNoEnd}
	}
	n, err := r.text.Discard(len(tail))
	r.passed += int64(n)
	return err
}

// HasDigest reports whether digest, such as sha1:BASE32 or sha256:hex, is that of data.
func HasDigest(digest string, data []byte) bool {
	h, want := digestOf(digest)
	if want == nil {
		return false
	}
	h.Write(data)
	return bytes.Equal(h.Sum(nil), want)
}

// digestOf returns the hash and the value of a digest such as sha1:BASE32 or sha256:hex, nil if the
// algorithm or the form is not known.
func digestOf(text string) (hash.Hash, []byte) {
	name, value, _ := strings.Cut(text, ":")
	var h hash.Hash
	switch strings.ToLower(name) {
	case "sha1", "sha-1":
		h = sha1.New()
	case "sha256", "sha-256":
		h = sha256.New()
	case "md5":
		h = md5.New()
	default:
		return nil, nil
	}
	if sum, err := hex.DecodeString(value); err == nil && len(sum) == h.Size() {
		return h, sum
	}
	if sum, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(strings.ToUpper(value), "=")); err == nil && len(sum) == h.Size() {
		return h, sum
	}
	return nil, nil
}

// source is the text of a file: the file itself, or its gzip members one after the other.
type source struct {
	count counted
	raw   *bufio.Reader // of count
	zip   *gzip.Reader  // nil: plain
	start int64         // of the current member
}

// counted counts the bytes that were read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// detectCompression looks whether the file is compressed.
func (s *source) detectCompression() error {
	magic, err := s.raw.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(magic) != "\x1f\x8b" {
		return nil
	}
	if s.zip, err = gzip.NewReader(s.raw); err != nil {
		return err
	}
	s.zip.Multistream(false)
	return nil
}

// Read never returns bytes of two members. The next member begins when the one before was read.
func (s *source) Read(p []byte) (int, error) {
	if s.zip == nil {
		return s.raw.Read(p)
	}
	for {
		n, err := s.zip.Read(p)
		if n > 0 && errors.Is(err, io.EOF) {
			err = nil // it comes again
		}
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if _, err := s.raw.Peek(1); err != nil {
			return 0, err
		}
		s.start = s.count.n - int64(s.raw.Buffered())
		if err := s.zip.Reset(s.raw); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, &Fault{s.start, fmt.Errorf("no gzip member: %w", err)}
		}
		s.zip.Multistream(false)
	}
}
