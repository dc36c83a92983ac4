package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/referrers"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// Job is one export.
type Job struct {
	Reader   pages.Reader // Site and Needs are set by Run
	Sites    []string     // whose pages are written, one site after the other
	Format   Format
	Settings Settings
	Out      string    // file, folder or object s3://BUCKET/KEY; "" writes to Stdout
	Stdout   io.Writer // not continued
	Force    bool      // replace an output that exists
	// Choice is what the user typed to choose pages, such as "since 7d". An interrupted export with
	// the same choice continues with its own condition.
	Choice string
}

// position is where an export that was interrupted continues. It is stored next to the output, or in the folder of an upload.
type position struct {
	Site     string   `json:"site"` // all sites, with commas
	At       int      `json:"at"`   // number of the present site, from 0
	Format   string   `json:"format"`
	Choice   string   `json:"choice"`
	Where    string   `json:"where"`
	Settings Settings `json:"settings"`
	After    string   `json:"after"` // key of the last page
	Bytes    int64    `json:"bytes"` // of the output
	Pages    int64    `json:"pages"`
	Damaged  int64    `json:"damaged,omitempty"` // pages that were left out
}

// StateSuffix ends the name of the file with the position, next to the output.
const StateSuffix = ".hce-export.json"

// scratchSuffix ends the name of the folder for temporary files, next to the output.
const scratchSuffix = ".hce-export.tmp"

// ErrExists means that the output exists and is not an interrupted export.
var ErrExists = errors.New("it exists")

// DamagedError means that the output is complete but for pages whose stored content is damaged.
type DamagedError struct{ Pages int64 }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the stored content of %d of the pages is damaged", e.Pages)
}

// Run exports the pages and returns their number, with those of the interrupted run that it
// continues. A page whose stored content is damaged is left out, and passed to job.Reader.Damaged; the error
// is a *DamagedError at the end. progress, if not nil, is called after each portion.
func Run(ctx context.Context, job Job, progress func(pages int64)) (int64, error) {
	if job.Settings.Several = len(job.Sites) > 1; job.Settings.Several && len(job.Settings.Fields) == 0 && job.Format.Default != nil {
		job.Settings.Fields = slices.Insert(slices.Clone(job.Format.Default), 1, "site")
	}
	job.Reader.Needs, job.Reader.Tags = job.Format.Needs(job.Settings), job.Format.processedTags(job.Settings)
	if job.Out == "" && (job.Format.Folder || job.Format.File) {
		return 0, fmt.Errorf("format %s does not write to a pipe; give its output with --out", job.Format.Name)
	}
	target, err := openOutput(ctx, job)
	if err != nil {
		return 0, err
	}
	defer target.closeFiles()
	told := job.Reader.Damaged
	job.Reader.Damaged = func(row *wire.URL, err error) {
		target.at.Damaged++
		if told != nil {
			told(row, err)
		}
	}
	for err == nil && !target.isWhole && target.at.At < len(job.Sites) {
		job.Reader.Site = job.Sites[target.at.At]
		if err = target.exportSite(ctx, job, progress); err == nil {
			target.at.At, target.at.After = target.at.At+1, ""
		}
	}
	if err == nil {
		err = target.endOutput(ctx, job)
	}
	if err == nil && target.at.Damaged > 0 {
		err = &DamagedError{target.at.Damaged}
	}
	return target.at.Pages, err
}

// output is an opened output with its position.
type output struct {
	at      position
	state   string // file of the position; "" for none
	scratch string // folder for temporary files; "" for none
	file    *os.File
	upload  *objectstore.Upload // nil: the output is no object
	isWhole bool                // the object was completed by an earlier run
	writer  Writer
	links   *referrers.Index // nil: not needed
}

// openReferrers reads who links to whom. The files of an output without a place for them are in the folder for
// temporary files of the system.
func (o *output) openReferrers(ctx context.Context, r pages.Reader) (err error) {
	if o.scratch == "" {
		o.scratch, err = os.MkdirTemp("", "hce-export-")
	} else {
		err = os.MkdirAll(o.scratch, 0o700)
	}
	if r.Needs&pages.Raw != 0 {
		r.Damaged = func(*wire.URL, error) {} // the export reads the same content, and tells it
	}
	if err == nil {
		o.links, err = referrers.NewIndex(ctx, r, o.scratch)
	}
	return err
}

func (o *output) closeReferrers() {
	if o.links != nil {
		o.links.Close()
	}
	o.links = nil
}

// exportSite reads and writes all pages of the present site behind the position.
func (o *output) exportSite(ctx context.Context, job Job, progress func(int64)) error {
	if slices.Contains(job.Settings.Fields, referrersField) {
		if err := o.openReferrers(ctx, job.Reader); err != nil {
			return fmt.Errorf("read the links of the pages: %w", err)
		}
		defer o.closeReferrers()
	}
	write := func(p *pages.Page) error {
		if p.LeadsToPage && !job.Format.Redirects {
			return nil
		}
		if o.at.Pages == 0 { // a kill before the first portion is continued, too
			if err := o.storePosition(); err != nil {
				return err
			}
		}
		if o.links != nil {
			var err error
			if p.Referrers, err = o.links.Of(p.URLMd5); err != nil {
				return err
			}
		}
		err := o.writer.Page(p)
		if errors.Is(err, errNotWritten) {
			return nil
		}
		o.at.Pages++
		return err
	}
	job.Reader.Where = o.at.Where
	return job.Reader.Read(ctx, o.at.After, write, func(last string) error {
		o.at.After = last
		if progress != nil {
			progress(o.at.Pages)
		}
		if grouped, is := o.writer.(Grouped); !is || grouped.Full() {
			if err := o.saveOutput(); err != nil {
				return err
			}
		}
		return o.sendPortion(ctx, job.Format)
	})
}

// endOutput completes the output behind the last page.
func (o *output) endOutput(ctx context.Context, job Job) error {
	if !o.isWhole {
		if err := errors.Join(o.writer.Flush(), o.writer.End()); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
	}
	if o.upload != nil {
		return o.completeObject(ctx, job)
	}
	return o.finishExport()
}

// openOutput opens the output, at its start or where an interrupted run of the same job has ended.
func openOutput(ctx context.Context, job Job) (*output, error) {
	o := &output{at: position{Site: strings.Join(job.Sites, ","), Format: job.Format.Name, Choice: job.Choice, Where: job.Reader.Where, Settings: job.Settings}}
	out, err := o.openPlace(ctx, job)
	if err == nil && !o.isWhole {
		o.writer, err = job.Format.Open(out, job.Settings)
	}
	if err != nil {
		o.closeFiles()
		return nil, openingError(job, err)
	}
	return o, nil
}

// openPlace opens what the output of a job is: stdout, an object, a folder or a file.
func (o *output) openPlace(ctx context.Context, job Job) (Output, error) {
	if job.Out == "" {
		return Output{W: job.Stdout}, nil
	}
	if objectstore.IsAddress(job.Out) {
		err := o.openUpload(ctx, job)
		return o.placeOf(job, o.upload), err
	}
	o.state = statePath(job)
	if _, err := o.readPosition(job); err != nil || job.Format.Folder {
		return Output{Folder: job.Out}, err
	}
	err := o.openFile(job.Out)
	return o.placeOf(job, o.file), err
}

// placeOf returns the place of a format that writes one file or object.
func (o *output) placeOf(job Job, to rereader) Output {
	out := Output{W: to, Name: job.Out, Scratch: o.scratch}
	if o.at.After != "" {
		out.Prior = io.NewSectionReader(to, 0, o.at.Bytes)
	}
	return out
}

// openingError is the error of an output that cannot be opened.
func openingError(job Job, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == job.Out {
		return err // it has the name
	}
	if objectstore.IsAddress(job.Out) && !errors.Is(err, ErrExists) {
		return err // it has the address
	}
	return fmt.Errorf("open %s: %w", job.Out, err)
}

func statePath(job Job) string {
	if job.Format.Folder {
		return filepath.Join(job.Out, StateSuffix)
	}
	return job.Out + StateSuffix
}

// readPosition reads the position of an interrupted run, and reports whether there is one of the same job.
func (o *output) readPosition(job Job) (continues bool, err error) {
	if job.Format.Folder {
		if err := os.MkdirAll(job.Out, 0o755); err != nil {
			return false, err
		}
	}
	text, err := os.ReadFile(o.state)
	if errors.Is(err, fs.ErrNotExist) {
		return false, o.refuseReplacing(job)
	}
	var saved position
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		return false, err
	}
	same := saved
	same.At, same.After, same.Bytes, same.Pages, same.Damaged = 0, "", 0, 0, 0
	same.Where = o.at.Where
	switch {
	case reflect.DeepEqual(same, o.at):
		o.at = saved
		return true, nil
	case job.Force:
		return false, nil
	}
	return false, fmt.Errorf("%w, as an interrupted export with other settings; repeat that command, or replace it with --force", ErrExists)
}

// refuseReplacing refuses to replace an output that has contents.
func (o *output) refuseReplacing(job Job) error {
	if job.Force || o.upload != nil { // checkObject has refused it
		return nil
	}
	if job.Format.Folder {
		if entries, err := os.ReadDir(job.Out); errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
			return nil
		} else if err != nil {
			return err
		}
		return fmt.Errorf("%w; give an empty folder, or write into this one with --force", ErrExists)
	}
	if info, err := os.Lstat(job.Out); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return fmt.Errorf("%w; give another name, or replace it with --force", ErrExists)
	}
	return nil
}

// openFile opens the file and cuts off what was written after the position.
func (o *output) openFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	o.file = file
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() { // a pipe or a device has no position
		o.state = ""
		return err
	}
	if info.Size() < o.at.Bytes {
		return fmt.Errorf("it has %d bytes, but the interrupted export had written %d; replace it with --force after removing %s", info.Size(), o.at.Bytes, o.state)
	}
	if err := file.Truncate(o.at.Bytes); err != nil {
		return err
	}
	o.scratch = path + scratchSuffix
	_, err = file.Seek(o.at.Bytes, io.SeekStart)
	return err
}

// saveOutput makes what is written durable enough to continue, and then the position.
func (o *output) saveOutput() error {
	if err := o.writer.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if o.file != nil && o.state != "" {
		at, err := o.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		o.at.Bytes = at
	}
	if o.upload != nil {
		o.at.Bytes = o.upload.Size()
	}
	return o.storePosition()
}

// storePosition stores the position, if there is a file for it.
func (o *output) storePosition() error {
	if o.state == "" {
		return nil
	}
	text, err := json.Marshal(o.at)
	if err != nil {
		return err
	}
	return files.WriteUnsynced(o.state, text, 0o644)
}

// finishExport syncs a whole export and removes its position.
func (o *output) finishExport() error {
	if o.state == "" {
		return nil
	}
	if o.file != nil {
		if err := o.file.Sync(); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
	}
	if err := os.Remove(o.state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (o *output) closeFiles() {
	if o.file != nil {
		_ = o.file.Close() // finish has synced a whole export
	}
	if o.scratch != "" {
		_ = os.RemoveAll(o.scratch) // nothing in it is needed again
	}
	if o.upload != nil {
		o.upload.Close()
	}
}
