// Package journal keeps records in an append-only file of lines, exact after a kill at any moment.
//
//	j, err := journal.Open(path, func(line []byte) error { return json.Unmarshal(line, &record) })
//	if err != nil { ... }
//	defer j.Close()
//	err = j.Append(journal.Sync, []byte(`{"path":"index.html"}`))
//
// A line is there whole or not at all: what a killed writer left of a last line is cut off when the
// file is opened, and what a failed write left is cut off at once. Lines hold no line feed; JSON
// without indentation has none.
//
// One process may have a journal open; the caller has a lock for that. A Journal is not safe for
// concurrent use.
package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
)

// Durability says what an append survives.
type Durability int

// An append without Sync survives the end of the process, but not that of the machine.
const (
	NoSync Durability = iota
	Sync
)

// Step is nil outside of tests. Tests that kill a program set it before a journal is opened: it is called
// before and after each system call that changes a file.
var Step func()

func callStep() {
	if Step != nil {
		Step()
	}
}

// Journal is an open file.
type Journal struct {
	path   string
	file   *os.File
	size   int64 // bytes of whole lines
	lines  int
	broken error // the file is in an unknown state
}

// Open opens or creates the file, mode 0600, and passes each line to load, without its end. An error
// of load is an error of Open, which names the line.
func Open(path string, load func(line []byte) error) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	callStep()
	j := &Journal{path: path, file: f}
	if err := j.loadLines(load); err != nil {
		_ = f.Close()
		return nil, err
	}
	return j, nil
}

func (j *Journal) loadLines(load func(line []byte) error) error {
	r := bufio.NewReaderSize(j.file, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return j.cutPartialLine()
		}
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		j.lines++
		if err := load(line[:len(line)-1]); err != nil {
			return fmt.Errorf("read journal %s: line %d is damaged: %w; remove the line, or restore the file from a backup", j.path, j.lines, err)
		}
		j.size += int64(len(line))
	}
}

// cutPartialLine removes what is behind the last whole line.
func (j *Journal) cutPartialLine() error {
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cut the incomplete last line of a journal: %w", err)
	}
	_, err := j.file.Seek(j.size, io.SeekStart)
	return err
}

// Lines returns the number of lines of the file.
func (j *Journal) Lines() int { return j.lines }

// Append appends lines in one write. After an error none of them is in the file, or the journal
// refuses all further appends until it is opened again.
func (j *Journal) Append(d Durability, lines ...[]byte) error {
	if j.broken != nil {
		return fmt.Errorf("append to %s: an earlier error left an unknown state: %w; start the program again", j.path, j.broken)
	}
	var text []byte
	for _, line := range lines {
		if bytes.IndexByte(line, '\n') >= 0 {
			return fmt.Errorf("append to %s: a record has a line feed", j.path)
		}
		text = append(append(text, line...), '\n')
	}
	callStep()
	if _, err := j.file.Write(text); err != nil {
		if failed := j.cutPartialLine(); failed != nil {
			j.broken = failed
		}
		return fmt.Errorf("append: %w", err)
	}
	callStep()
	j.size, j.lines = j.size+int64(len(text)), j.lines+len(lines)
	if d == Sync {
		return j.Sync()
	}
	return nil
}

// Sync makes all appended lines durable. After an error the journal refuses appends, since the
// system may have dropped what it could not write.
func (j *Journal) Sync() error {
	if err := j.file.Sync(); err != nil {
		j.broken = err
		return fmt.Errorf("sync: %w", err)
	}
	callStep()
	return nil
}

// Replace replaces all lines at once and makes them durable.
func (j *Journal) Replace(lines [][]byte) error {
	text := bytes.Join(lines, []byte("\n"))
	if len(lines) > 0 {
		text = append(text, '\n')
	}
	callStep()
	if err := files.Write(j.path, text, 0o600); err != nil {
		return fmt.Errorf("replace journal: %w", err)
	}
	callStep()
	f, err := os.OpenFile(j.path, os.O_RDWR, 0o600)
	if err != nil {
		j.broken = err // the open file is the old one
		return fmt.Errorf("replace journal: %w", err)
	}
	_ = j.file.Close() // the old file, of which nothing is needed
	j.file, j.size, j.lines = f, int64(len(text)), len(lines)
	_, err = f.Seek(0, io.SeekEnd)
	return err
}

// Close makes all lines durable and closes the file.
func (j *Journal) Close() error {
	return errors.Join(j.file.Sync(), j.file.Close(), files.SyncFolder(filepath.Dir(j.path)))
}
