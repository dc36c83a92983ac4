package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/cli/linesort"
)

const (
	version     = "1.1.1"
	archiveName = "data.warc.gz"
	software    = "HCE Distributed Crawler"
	pagesHead   = `{"format":"json-pages-1.0","id":"pages","title":"All Pages","hasText":false}` + "\n"
)

// Capture is a record of the WARC file that answers a URL.
type Capture struct {
	URL            string
	At             time.Time
	Status         string // HTTP code
	Type           string // MIME type
	Digest         string // of the payload, such as sha1:BASE32
	Offset, Length int64  // of the compressed record in the WARC file
}

// Page is an entry of the list of pages, which a reader shows.
type Page struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	At    time.Time `json:"ts"`
	Title string    `json:"title,omitempty"`
}

// Writer writes one file. It is not safe for concurrent use. After an error it is of no further use.
type Writer struct {
	zip       *zip.Writer
	created   time.Time
	scratch   string
	captures  linesort.Sorter
	pages     *spool
	resources []resource

	entry io.Writer // the entry that is being written
	now   resource
	sum   hash.Hash
}

// resource is a file of the container, as datapackage.json lists it.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// New begins a file. It empties the folder scratch, or creates it. The caller removes it at the end.
func New(out io.Writer, scratch string, created time.Time) (*Writer, error) {
	if err := os.RemoveAll(scratch); err != nil {
		return nil, err
	}
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return nil, err
	}
	pages, err := newSpool(filepath.Join(scratch, "pages"))
	if err != nil {
		return nil, err
	}
	w := &Writer{
		zip: zip.NewWriter(out), created: created.UTC().Truncate(time.Second), scratch: scratch, sum: sha256.New(),
		captures: linesort.Sorter{Folder: scratch}, pages: pages,
	}
	if _, err := io.WriteString(pages, pagesHead); err != nil {
		return nil, err
	}
	return w, w.beginEntry("archive/"+archiveName, zip.Store)
}

// Write appends to the WARC file, before Close.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.entry.Write(p)
	w.now.Bytes += int64(n)
	w.sum.Write(p[:n])
	return n, err
}

// Capture adds a record to the index.
func (w *Writer) Capture(c Capture) error {
	line, err := json.Marshal(map[string]any{
		"url": c.URL, "mime": c.Type, "status": c.Status, "digest": c.Digest,
		"offset": fmt.Sprint(c.Offset), "length": fmt.Sprint(c.Length), "filename": archiveName,
	})
	if err != nil {
		return err
	}
	return w.captures.Add(fmt.Sprintf("%s %s %s\n", lookupKey(c.URL), c.At.UTC().Format("20060102150405"), line))
}

// Page adds a page to the list.
func (w *Writer) Page(p Page) error {
	p.At = p.At.UTC()
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = w.pages.Write(append(line, '\n'))
	return err
}

// Close writes what follows the WARC file. It does not close the output.
func (w *Writer) Close() error {
	if err := w.writeIndex(); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	if err := w.beginEntry("pages/pages.jsonl", zip.Deflate); err != nil {
		return err
	}
	if err := w.pages.copyTo(w); err != nil {
		return fmt.Errorf("write the list of pages: %w", err)
	}
	w.endEntry()
	if err := w.writePackage(); err != nil {
		return err
	}
	return errors.Join(w.zip.Close(), w.pages.file.Close())
}

// writeIndex writes the sorted index and the index of its blocks.
func (w *Writer) writeIndex() error {
	blocks, err := newSpool(filepath.Join(w.scratch, "blocks"))
	if err != nil {
		return err
	}
	defer blocks.file.Close()
	if err := w.beginEntry("indexes/"+indexName, zip.Store); err != nil {
		return err
	}
	x, err := newIndex(w, blocks)
	if err != nil {
		return err
	}
	if err := w.captures.Each(x.addLine); err != nil {
		return err
	}
	if err := x.endMember(); err != nil {
		return err
	}
	if err := w.beginEntry("indexes/index.idx", zip.Store); err != nil {
		return err
	}
	return blocks.copyTo(w)
}

// writePackage writes datapackage.json, which has the digests of all other files, and its own digest.
func (w *Writer) writePackage() error {
	const name = "datapackage.json"
	text, err := encodeIndented(map[string]any{
		"profile": "data-package", "wacz_version": version, "software": software, "created": w.created, "resources": w.resources,
	})
	if err != nil {
		return err
	}
	digest, err := encodeIndented(map[string]string{"path": name, "hash": fmt.Sprintf("sha256:%x", sha256.Sum256(text))})
	if err != nil {
		return err
	}
	if err := w.writeFile(name, text); err != nil {
		return err
	}
	return w.writeFile("datapackage-digest.json", digest)
}

// writeFile writes a whole file.
func (w *Writer) writeFile(path string, text []byte) error {
	if err := w.beginEntry(path, zip.Store); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

func encodeIndented(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return text.Bytes(), err
}

// beginEntry ends the current entry of the zip file and begins another one.
func (w *Writer) beginEntry(path string, method uint16) (err error) {
	w.endEntry()
	w.entry, err = w.zip.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: w.created})
	w.now = resource{Name: filepath.Base(path), Path: path}
	return err
}

// endEntry adds the current entry to the list of resources.
func (w *Writer) endEntry() {
	if w.now.Path != "" {
		w.now.Hash = fmt.Sprintf("sha256:%x", w.sum.Sum(nil))
		w.resources = append(w.resources, w.now)
	}
	w.now = resource{}
	w.sum.Reset()
}

// spool is a file that is written, and then read once.
type spool struct {
	*bufio.Writer
	file *os.File
}

func newSpool(path string) (*spool, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &spool{bufio.NewWriter(file), file}, nil
}

func (s *spool) copyTo(w io.Writer) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}
