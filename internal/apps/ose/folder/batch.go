package folder

import (
	"errors"
	"os"

	"hce/dc/internal/files"
)

// Batch writes numbered files and makes them durable together.
type Batch struct {
	folder  *Folder
	written []string
	Bytes   int64 // that were written since the last Sync
}

// NewBatch returns an empty batch.
func (f *Folder) NewBatch() *Batch { return &Batch{folder: f} }

// Write replaces a file. A kill of the process leaves the old or the new one.
func (b *Batch) Write(name string, data []byte) error {
	if err := files.WriteUnsynced(b.folder.Path(name), data, perm); err != nil {
		return err
	}
	Reached("file")
	b.written = append(b.written, name)
	b.Bytes += int64(len(data))
	return nil
}

// Len is the number of files that are not durable.
func (b *Batch) Len() int { return len(b.written) }

// Sync makes the files durable.
func (b *Batch) Sync() error {
	if len(b.written) == 0 {
		return nil
	}
	for _, name := range b.written {
		file, err := b.folder.OpenFile(name, os.O_RDONLY)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	b.written, b.Bytes = b.written[:0], 0
	return files.SyncFolder(b.folder.Dir)
}

// Page is what a request brought.
type Page struct {
	Meta
	ID   ID
	Data []byte // head and body
}

// WritePage writes the file of the page, and then its meta, with size and md5 of the data.
func (b *Batch) WritePage(p Page) error {
	p.Size, p.MD5 = int64(len(p.Data)), hexMD5(p.Data)
	if err := b.Write(BodyName(p.ID), p.Data); err != nil {
		return err
	}
	return b.Write(MetaName(p.ID), p.Meta.Append(nil))
}
