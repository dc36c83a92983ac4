package warcimport

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

const (
	// MaxBody is the largest body of a page, in bytes: that of the crawler (docs/limits.md).
	MaxBody = 16 << 20
	maxHead = 256 << 10 // of an HTTP message
	maxURL  = 4096      // bytes of the column
)

// Reason says why a record is not stored.
type Reason string

// Reasons of records that an import leaves out. A code other than 2xx has a reason of its own.
const (
	NotHTTP    Reason = "not http or https"
	BadURL     Reason = "the URL is not valid"
	BadDate    Reason = "no valid WARC-Date"
	TooLarge   Reason = "larger than 16 MiB"
	Truncated  Reason = "truncated by its writer"
	Segmented  Reason = "in several segments"
	NoMessage  Reason = "no HTTP answer"
	NotGet     Reason = "the request is not a GET"
	Empty      Reason = "no body"
	Undecoded  Reason = "the body cannot be decoded"
	NoOriginal Reason = "a revisit of a page that is not here"
	Converted  Reason = "a conversion of another record"
)

// Fault reports whether a page is lost that the site could have.
func (r Reason) Fault() bool {
	switch r {
	case BadURL, BadDate, TooLarge, Truncated, Segmented, NoMessage, Undecoded, NoOriginal:
		return true
	}
	return false
}

// capture is one page of a file.
type capture struct {
	kind     warc.Type
	id       string
	url, key string
	at       time.Time
	head     warc.Message // of the answer
	body     []byte       // as recorded
	request  warc.Message
	values   warc.Fields // of the metadata of package export
	revisit  revisit
	mimeType string // of a resource
	cut      bool   // the body is not whole
}

// revisit names the original of a capture without a body.
type revisit struct {
	key    string
	at     time.Time // zero: unknown
	digest string
}

// gatherer joins the records of a file to captures. Records of one capture follow each other.
type gatherer struct {
	each    func(*capture) error
	skip    func(Reason)
	now     *capture
	request *asked // before its answer
}

// asked is a request record.
type asked struct {
	id, concurrent, uri string
	message             warc.Message
}

// takeRecord takes the next record.
func (g *gatherer) takeRecord(f *warc.Found) error {
	switch f.Type {
	case warc.Response, warc.Resource, warc.Revisit:
		if err := g.endCapture(); err != nil {
			return err
		}
		return g.beginCapture(f)
	case warc.Request:
		return g.takeRequest(f)
	case warc.Metadata:
		return g.takeMetadata(f)
	case warc.Conversion:
		g.skip(Converted)
	case warc.Continuation:
		g.skip(Segmented)
	}
	return nil
}

// endCapture passes the current capture on.
func (g *gatherer) endCapture() error {
	c := g.now
	g.now = nil
	if c == nil {
		return nil
	}
	if method, _, _ := strings.Cut(c.request.Start, " "); method != "" && method != "GET" {
		g.skip(NotGet)
		return nil
	}
	return g.each(c)
}

// beginCapture reads the record of an answer.
func (g *gatherer) beginCapture(f *warc.Found) error {
	c := &capture{kind: f.Type, id: f.ID(), mimeType: f.Fields.Get(warc.FieldContentType)}
	request := g.request
	g.request = nil
	if reason := c.setIdentity(f); reason != "" {
		g.skip(reason)
		return nil
	}
	block, err := readBlock(f, MaxBody+maxHead)
	if err != nil || block == nil {
		g.skip(TooLarge)
		return err
	}
	if c.body = block; c.kind != warc.Resource {
		c.head, c.body = warc.ParseMessage(block)
	}
	if request != nil && (request.concurrent == c.id || f.Fields.Get(warc.FieldConcurrent) == request.id || request.concurrent == "" && request.uri == f.TargetURI()) {
		c.request = request.message
	}
	g.now = c
	return nil
}

// readBlock reads a block, nil if it has more than most bytes.
func readBlock(f *warc.Found, most int64) ([]byte, error) {
	if f.Length > most {
		return nil, nil
	}
	block := make([]byte, f.Length)
	_, err := io.ReadFull(f.Body, block)
	return block, err
}

// setIdentity sets URL and date. It returns a reason for a record that is no page.
func (c *capture) setIdentity(f *warc.Found) Reason {
	var reason Reason
	if c.url, reason = pageURL(f.TargetURI()); reason != "" {
		return reason
	}
	c.key = urlkey.Of(c.url)
	var err error
	if c.at, err = f.Date(); err != nil {
		return BadDate
	}
	c.at = c.at.Truncate(time.Millisecond)
	switch {
	case f.Fields.Get(warc.FieldSegment) != "":
		return Segmented
	case f.Type == warc.Revisit: // its payload is left out, and some writers call that truncated
	case f.Fields.Get(warc.FieldTruncated) != "":
		c.cut = true
		return ""
	default:
		return ""
	}
	c.revisit = revisit{key: c.key, digest: f.Fields.Get(warc.FieldPayloadDigest)}
	if uri := f.Fields.Get(warc.FieldRefersToURI); uri != "" {
		original, reason := pageURL(strings.Trim(uri, "<>"))
		if reason != "" {
			return NoOriginal
		}
		c.revisit.key = urlkey.Of(original)
	}
	if at, err := warc.ParseDate(f.Fields.Get(warc.FieldRefersToDate)); err == nil {
		c.revisit.at = at.Truncate(time.Millisecond)
	}
	return ""
}

// pageURL returns a URL as the crawler stores it.
func pageURL(uri string) (string, Reason) {
	scheme, _, _ := strings.Cut(uri, ":")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return "", NotHTTP
	}
	u, err := target.Parse(uri)
	if err != nil || len(u.Text) > maxURL {
		return "", BadURL
	}
	return u.Text, ""
}

// takeRequest takes a request record, which stands before or behind its answer.
func (g *gatherer) takeRequest(f *warc.Found) error {
	block, err := readBlock(f, maxHead)
	if err != nil || block == nil {
		return err
	}
	a := &asked{id: f.ID(), concurrent: f.Fields.Get(warc.FieldConcurrent), uri: f.TargetURI()}
	a.message, _ = warc.ParseMessage(block)
	if g.now != nil && a.concurrent == g.now.id {
		g.now.request = a.message
		return nil
	}
	g.request = a
	return nil
}

// takeMetadata takes a metadata record of package export.
func (g *gatherer) takeMetadata(f *warc.Found) error {
	if g.now == nil || f.Fields.Get(warc.FieldConcurrent) != g.now.id {
		return nil
	}
	block, err := readBlock(f, maxHead)
	if err != nil {
		return err
	}
	m, _ := warc.ParseMessage(block)
	if m.Fields.Get("urlMd5") == g.now.key {
		g.now.values = m.Fields
	}
	return nil
}

// Progress is called with the name of the current file and the bytes of it that were read. It may be
// nil.
type Progress func(path string, bytes int64)

// source is a file or an object.
type source interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// openSource opens a file, or the object of an address s3://BUCKET/KEY, and returns its size.
func openSource(ctx context.Context, path string) (source, int64, error) {
	if objectstore.IsAddress(path) {
		client, err := objectstore.Open(path)
		if err != nil {
			return nil, 0, err
		}
		object, err := client.OpenObject(ctx)
		if err != nil {
			return nil, 0, err
		}
		return object, object.Size(), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(err, fmt.Errorf("%s is not a file", path), file.Close())
	}
	return file, info.Size(), nil
}

// eachRecord calls each with the records of a WARC file, or of those in a WACZ file.
func eachRecord(ctx context.Context, path string, progress Progress, each func(*warc.Found) error) error {
	file, size, err := openSource(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	magic := make([]byte, 4)
	if n, _ := file.ReadAt(magic, 0); string(magic[:n]) != "PK\x03\x04" {
		return eachInStream(ctx, path, file, progress, each)
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("%s: %w", path, &warc.Fault{Err: err})
	}
	found := false
	for _, f := range archive.File {
		if !strings.HasPrefix(f.Name, "archive/") || !strings.HasSuffix(strings.TrimSuffix(f.Name, ".gz"), ".warc") {
			continue
		}
		found = true
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", path, &warc.Fault{Err: err})
		}
		err = eachInStream(ctx, path+", "+f.Name, r, progress, each)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: %w", path, &warc.Fault{Err: errors.New("a zip file without archive/*.warc.gz is no WACZ file")})
	}
	return nil
}

// eachInStream calls each with the records of a WARC file. name is that of its messages.
func eachInStream(ctx context.Context, name string, file io.Reader, progress Progress, each func(*warc.Found) error) error {
	r, err := warc.NewReader(file)
	for err == nil {
		var f *warc.Found
		if f, err = r.Next(); err != nil {
			break
		}
		if err = ctx.Err(); err == nil {
			err = each(f)
		}
		if progress != nil {
			progress(name, f.Offset)
		}
	}
	if err == io.EOF {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Contents is what a file has.
type Contents struct {
	Records int64
	// First is the URL of the first page, "" if the file has no page.
	First string
}

// Check reads a file to its end. The error wraps a *warc.Fault if the file is damaged or is no WARC
// file.
func Check(ctx context.Context, path string, progress Progress) (c Contents, err error) {
	err = eachRecord(ctx, path, progress, func(f *warc.Found) error {
		c.Records++
		if c.First == "" && (f.Type == warc.Response || f.Type == warc.Resource || f.Type == warc.Revisit) {
			c.First, _ = pageURL(f.TargetURI())
		}
		return nil
	})
	if err == nil && c.Records == 0 {
		err = fmt.Errorf("%s: %w", path, &warc.Fault{Err: errors.New("the file is empty")})
	}
	return c, err
}
