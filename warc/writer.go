package warc

import (
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options of a Writer.
type Options struct {
	Gzip   bool  // one gzip member for each record
	Offset int64 // bytes that the file has before the first record
}

// Record is a record to write. Its block is Head and then Payload.
type Record struct {
	Type        Type
	ID          string // "": Write sets a random one
	Date        time.Time
	TargetURI   string // "" for none
	ContentType string // of the block
	Fields      Fields // further ones
	Head        []byte // in front of the payload, such as an HTTP head
	Payload     []byte

	BlockDigest string // set by Write
	// PayloadDigest is set by Write for a response and a resource that has none. The caller sets it
	// for a revisit.
	PayloadDigest string
}

// Place is where a record is in a file, in bytes of the file.
type Place struct{ Offset, Length int64 }

// Writer writes records. It passes each on as a whole, without a buffer: give it a buffered writer.
// Not safe for concurrent use.
type Writer struct {
	out  counter
	zip  *gzip.Writer // nil: plain
	head []byte
}

// NewWriter writes records to w.
func NewWriter(w io.Writer, o Options) *Writer {
	writer := &Writer{out: counter{w: w, n: o.Offset}}
	if o.Gzip {
		writer.zip = gzip.NewWriter(nil)
	}
	return writer
}

// counter counts the bytes of a file.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Write writes a record and returns its place. It refuses a value with line ends, before it writes
// anything. After an error of the output the file may end inside of a record.
func (w *Writer) Write(r *Record) (Place, error) {
	if err := w.encodeHead(r); err != nil {
		return Place{}, err
	}
	start := w.out.n
	out := io.Writer(&w.out)
	if w.zip != nil {
		w.zip.Reset(&w.out)
		out = w.zip
	}
	for _, part := range [][]byte{w.head, r.Head, r.Payload, []byte(RecordEnd)} {
		if _, err := out.Write(part); err != nil {
			return Place{}, err
		}
	}
	if w.zip != nil {
		if err := w.zip.Close(); err != nil {
			return Place{}, err
		}
	}
	return Place{start, w.out.n - start}, nil
}

// encodeHead sets the digests and the id of a record, and encodes its header.
func (w *Writer) encodeHead(r *Record) error {
	if r.ID == "" {
		r.ID = NewID()
	}
	r.BlockDigest = Digest(r.Head, r.Payload)
	if r.PayloadDigest == "" && (r.Type == Response || r.Type == Resource) {
		r.PayloadDigest = Digest(r.Payload)
	}
	w.head = AppendStart(w.head[:0], r.Type, r.ID, r.Date)
	for _, f := range append(Fields{
		{FieldTarget, r.TargetURI}, {FieldBlockDigest, r.BlockDigest}, {FieldPayloadDigest, r.PayloadDigest}, {FieldContentType, r.ContentType},
	}, r.Fields...) {
		if strings.ContainsAny(f.Name+f.Value, "\r\n\x00") {
			return fmt.Errorf("write WARC record: field %s has a line end: %.200q", f.Name, f.Value)
		}
		if f.Value != "" {
			w.head = AppendField(w.head, f.Name, f.Value)
		}
	}
	w.head = AppendEnd(w.head, int64(len(r.Head)+len(r.Payload)))
	return nil
}
