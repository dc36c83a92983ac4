package storage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

// A pack is a file with the hosts that go from one node to another in one step: gzip of gob values
// of type packed, then the SHA-256 of the bytes before it. The first value has the header. A row
// follows its site; contents follow the row.

const packVersion = 1

// packHeader says what a pack is for.
type packHeader struct {
	Version  int
	Epoch    int64
	Group    int
	From, To string
	New      bool // the receiver is new: the pack has all sites and proxies
}

// packed is one value of a pack. One of its fields is set.
type packed struct {
	Header  *packHeader
	Proxies []wire.Proxy
	Site    *sqlstore.MovedSite
	URL     *sqlstore.MovedURL
	Raw     *packedRaw
	Entry   *packedEntry
}

// packedRaw is one raw content.
type packedRaw struct {
	Site, MD5, Name string
	Time            time.Time
	Kind            rawfiles.Kind
	Data            []byte
}

// packedEntry is one processed content.
type packedEntry struct {
	Site  string
	Entry wire.Entry
}

// packTemporary ends the name of a pack that is not complete.
const packTemporary = ".tmp"

// packWriter writes a pack in constant memory.
type packWriter struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	digest hash.Hash
	gzip   *gzip.Writer
	gob    *gob.Encoder
	site   string // that was written last
	rows   int64

	damaged int64 // rows whose contents are damaged
}

func newPackWriter(path string, h packHeader) (*packWriter, error) {
	file, err := os.OpenFile(path+packTemporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create pack: %w", err)
	}
	w := &packWriter{path: path, file: file, buffer: bufio.NewWriterSize(file, 1<<18), digest: sha256.New()}
	w.gzip, _ = gzip.NewWriterLevel(io.MultiWriter(w.buffer, w.digest), gzip.BestSpeed) // the level is valid
	w.gob = gob.NewEncoder(w.gzip)
	return w, w.writeValue(packed{Header: &h})
}

func (w *packWriter) writeValue(p packed) error {
	if err := w.gob.Encode(p); err != nil {
		return fmt.Errorf("write pack %s: %w", w.path, err)
	}
	if p.URL != nil {
		w.rows++
	}
	return nil
}

// close completes the file, which is durable afterwards, and returns its size.
func (w *packWriter) close() (size int64, err error) {
	err = w.gzip.Close()
	if err == nil {
		_, err = w.buffer.Write(w.digest.Sum(nil))
	}
	if err == nil {
		err = w.buffer.Flush()
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		size, err = w.file.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, w.file.Close()); err == nil {
		err = os.Rename(w.path+packTemporary, w.path)
	}
	if err == nil {
		err = files.SyncFolder(filepath.Dir(w.path))
	}
	if err != nil {
		return 0, fmt.Errorf("write pack %s: %w", w.path, err)
	}
	return size, nil
}

// abort removes the file unless it is complete.
func (w *packWriter) abort() {
	w.file.Close()
	os.Remove(w.path + packTemporary)
}

// errPack means that a file is no complete pack.
var errPack = errors.New("the pack is torn or was changed; the sender must send it again")

// pack is a complete file of packWriter.
type pack struct {
	packHeader
	file *os.File
	size int64 // without the digest
}

// openPack checks the digest and reads the header. The caller closes the file.
func openPack(path string) (p *pack, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open pack: %w", err)
	}
	p = &pack{file: file}
	if err = p.checkDigest(); err == nil {
		err = p.forEachValue(func(one packed) error {
			if one.Header == nil || one.Header.Version != packVersion {
				return fmt.Errorf("%w: its version is not %d", errPack, packVersion)
			}
			p.packHeader = *one.Header
			return io.EOF
		})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		file.Close()
		return nil, fmt.Errorf("read pack %s: %w", path, err)
	}
	return p, nil
}

// checkDigest compares the digest.
func (p *pack) checkDigest() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if p.size = info.Size() - sha256.Size; p.size <= 0 {
		return errPack
	}
	digest, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.Copy(digest, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return err
	}
	if _, err := p.file.ReadAt(want, p.size); err != nil {
		return err
	}
	if !bytes.Equal(digest.Sum(nil), want) {
		return errPack
	}
	return nil
}

// forEachValue calls do with all values, from the first one, until it returns an error.
func (p *pack) forEachValue(do func(packed) error) error {
	unzip, err := gzip.NewReader(bufio.NewReaderSize(io.NewSectionReader(p.file, 0, p.size), 1<<18))
	if err != nil {
		return fmt.Errorf("%w: %w", errPack, err)
	}
	for values := gob.NewDecoder(unzip); ; {
		var one packed
		if err := values.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: %w", errPack, err)
		}
		if err := do(one); err != nil {
			return err
		}
	}
}
