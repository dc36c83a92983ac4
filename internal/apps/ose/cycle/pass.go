package cycle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/files"
)

// A checkpoint is due after this many files, bytes, or time.
var checkpointFiles = 128 // two for each page

const (
	checkpointBytes = 16 << 20
	checkpointTime  = 5 * time.Second
	bufferSize      = 64 << 10
)

// pass writes the next list: the records of .urls in their order, some of them changed. It continues
// one that was interrupted.
type pass struct {
	*job
	state  folder.State
	urls   *folder.Reader
	next   *os.File
	batch  *folder.Batch
	buffer []byte // records that are not in the next list
	now    func() time.Time
	last   time.Time // of the last checkpoint
}

// newPass opens the lists, and reads of both what an interrupted pass has written.
func (j *job) newPass(state folder.State, now func() time.Time) (p *pass, err error) {
	if err := j.beginStep(state); err != nil {
		return nil, err
	}
	p = &pass{job: j, state: state, batch: j.NewBatch(), now: now, last: now()}
	if p.urls, err = j.URLs(); err != nil {
		return nil, err
	}
	size, err := p.resumeList()
	if err == nil {
		p.next, err = j.OpenFile(state.Next(), os.O_WRONLY|os.O_CREATE)
	}
	if err == nil {
		err = p.next.Truncate(size)
	}
	if err == nil {
		_, err = p.next.Seek(size, io.SeekStart)
	}
	if err != nil {
		p.closeFiles()
		return nil, err
	}
	return p, nil
}

// resumeList reads the whole records of the next list and returns their size. Each must be of the next URL
// of .urls, with its id or a new one.
func (p *pass) resumeList() (int64, error) {
	name := p.state.Next()
	written, err := p.List(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer written.Close()
	for {
		record, err := written.Next()
		if err == io.EOF {
			return written.Offset, nil
		}
		if err != nil {
			if torn, tornErr := p.isTorn(written.Offset); torn || tornErr != nil {
				return written.Offset, tornErr
			}
			return 0, fmt.Errorf("%w; look at the file, and remove it to begin the step again: its pages are kept", err)
		}
		want, err := p.urls.Next()
		if err != nil && err != io.EOF {
			return 0, err
		}
		wrong := ""
		switch {
		case want.URL != record.URL:
			wrong = "URL is not that"
		case want.ID != record.ID && (p.state != folder.Fetching || record.ID <= p.lastID): // new ids ascend
			wrong = "URLID is neither new nor that"
		}
		if wrong != "" {
			return 0, &folder.Fault{File: p.Path(name), Line: written.Line(), Column: 1, Err: fmt.Errorf("the %s of %s in this line; look at both files, and remove %s to begin the step again: its pages are kept", wrong, folder.URLsName, name)}
		}
		p.lastID = max(p.lastID, record.ID)
	}
}

// isTorn reports whether the next list ends at offset with a part of a record, as a kill leaves it, or with
// NUL bytes, as a crash of the machine does.
func (p *pass) isTorn(offset int64) (bool, error) {
	file, err := p.OpenFile(p.state.Next(), os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer file.Close()
	in := bufio.NewReader(io.NewSectionReader(file, offset, math.MaxInt64-offset))
	for part, nuls := 0, false; ; {
		c, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, err
		case c == 0:
			nuls = true
		default:
			part++
		}
		if c != 0 && nuls || c == '\n' || part > folder.MaxRecord {
			return false, nil
		}
	}
}

// putRecord takes the next record.
func (p *pass) putRecord(r folder.Record) error {
	p.buffer = r.Append(p.buffer)
	if p.batch.Len() == 0 {
		if len(p.buffer) < bufferSize {
			return nil
		}
		return p.flushRecords()
	}
	if p.batch.Len() < checkpointFiles && p.batch.Bytes < checkpointBytes && p.now().Sub(p.last) < checkpointTime {
		return nil
	}
	return p.writeCheckpoint()
}

// flushRecords writes the records to the next list.
func (p *pass) flushRecords() error {
	_, err := p.next.Write(p.buffer)
	p.buffer = p.buffer[:0]
	return err
}

// writeCheckpoint makes everything durable: first the files of the records, then the records, then the last
// id.
func (p *pass) writeCheckpoint() error {
	p.last = p.now()
	changed := p.batch.Len() > 0
	if err := p.batch.Sync(); err != nil {
		return err
	}
	folder.Reached("synced")
	if err := p.flushRecords(); err != nil {
		return err
	}
	folder.Reached("records")
	if !changed {
		return nil
	}
	if err := p.next.Sync(); err != nil || p.state != folder.Fetching {
		return err
	}
	return p.setState(p.state)
}

// finishPass makes the next list .urls, and writes the next state.
func (p *pass) finishPass(s folder.State) error {
	if err := p.writeCheckpoint(); err != nil {
		return err
	}
	if err := p.next.Sync(); err != nil {
		return err
	}
	folder.Reached("list")
	if err := os.Rename(p.Path(p.state.Next()), p.Path(folder.URLsName)); err != nil {
		return err
	}
	folder.Reached("renamed")
	if err := files.SyncFolder(p.Dir); err != nil {
		return err
	}
	return p.setState(s)
}

func (p *pass) closeFiles() {
	_ = p.urls.Close() // was read
	if p.next != nil {
		_ = p.next.Close() // finish has synced it
	}
}

// forEachRecord calls do with the rest of the records and puts what it returns. After an error the finished
// records are kept.
func (p *pass) forEachRecord(do func(folder.Record) (folder.Record, error)) error {
	for record, err := range p.urls.All() {
		if err == nil {
			record, err = do(record)
		}
		if err != nil {
			return errors.Join(err, p.writeCheckpoint())
		}
		if err := p.putRecord(record); err != nil {
			return err
		}
	}
	return nil
}
