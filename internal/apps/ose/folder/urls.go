package folder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// Reader reads the records of .urls, or of the next .urls, in their order. It holds one record.
type Reader struct {
	path string
	file *os.File
	in   *bufio.Reader
	line int
	// Offset is the number of bytes that were read as records.
	Offset int64
}

// ErrTorn is the cause of a Fault if the file ends within a record, as a kill leaves it.
var ErrTorn = errors.New("no line feed at the end of the file")

// URLs opens .urls. Close it after use.
func (f *Folder) URLs() (*Reader, error) { return f.List(URLsName) }

// List opens a file of records.
func (f *Folder) List(name string) (*Reader, error) {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return newReader(f.Path(name), file, file), nil
}

func newReader(path string, in io.Reader, file *os.File) *Reader {
	return &Reader{path: path, file: file, in: bufio.NewReaderSize(in, max(MaxRecord+1, 64<<10))}
}

// Next returns the next record. The error is io.EOF at the end, or a *Fault.
func (r *Reader) Next() (Record, error) {
	line, err := r.in.ReadSlice('\n')
	r.line++
	switch {
	case err == io.EOF && len(line) == 0:
		return Record{}, io.EOF
	case len(line) > MaxRecord || errors.Is(err, bufio.ErrBufferFull):
		return Record{}, faultOf(r.path, r.line, columnErrorf(MaxRecord, "the record is longer than %d bytes", MaxRecord))
	case err == io.EOF:
		return Record{}, faultOf(r.path, r.line, columnErrorf(len(line)+1, "%w", ErrTorn))
	case err != nil:
		return Record{}, fmt.Errorf("read %s: %w", r.path, err)
	}
	record, err := ParseRecord(string(line[:len(line)-1]))
	if err != nil {
		return record, faultOf(r.path, r.line, err)
	}
	r.Offset += int64(len(line))
	return record, nil
}

// Line is the number of the last record that Next has returned.
func (r *Reader) Line() int { return r.line }

// All returns the records up to the end or the first error.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			record, err := r.Next()
			if err == io.EOF || !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
