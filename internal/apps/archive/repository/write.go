package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// writer takes a new file of a client.
type writer struct {
	r      *Repository
	ctx    context.Context
	domain string
	meta   archive.Meta
	name   string
	file   *os.File // in dir; nil after the end
	dir    string
	remove func() error
	size   int64
}

// Create adds a file to the current version of a page. It refuses at once what cannot succeed; what
// happens until Close is checked by Close again. ctx bounds the whole.
func (r *Repository) Create(ctx context.Context, m archive.Meta, name string) (archive.Writer, error) {
	if err := checkNewFile(name); err != nil {
		return nil, err
	}
	p, d, unlock, err := r.lockAndFind(ctx, m)
	if err != nil {
		return nil, err
	}
	var names []string
	if p.id != "" {
		err = outdatedError(m)
	} else if names, err = p.fileNames(d); err == nil {
		err = isFree(names, &addition{meta: m, name: name})
	}
	unlock()
	if err != nil {
		return nil, err
	}
	w := &writer{r: r, ctx: ctx, domain: d.name, meta: m, name: name}
	if w.dir, w.remove, err = r.temporaryFolder(ctx); err != nil {
		return nil, err
	}
	if w.file, err = os.OpenFile(filepath.Join(w.dir, "file"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, errors.Join(err, w.remove())
	}
	return w, nil
}

func (w *writer) Write(b []byte) (int, error) {
	if w.file == nil {
		return 0, os.ErrClosed
	}
	if w.size += int64(len(b)); w.size > MaxFile {
		return 0, fmt.Errorf("file %.300s of %s %w: it has more than %d bytes", w.name, w.meta.URL, archive.ErrInvalid, MaxFile)
	}
	return w.file.Write(b)
}

// Abort forgets the file. It does nothing after Close.
func (w *writer) Abort() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return errors.Join(err, w.remove())
}

// Close stores the file.
func (w *writer) Close() (err error) {
	if w.file == nil {
		return os.ErrClosed
	}
	if w.size > MaxFile {
		return errors.Join(fmt.Errorf("file %.300s of %s %w: it has more than %d bytes", w.name, w.meta.URL, archive.ErrInvalid, MaxFile), w.Abort())
	}
	staged := w.file.Name()
	err = errors.Join(w.file.Sync(), w.file.Close())
	w.file = nil
	defer func() { err = errors.Join(err, w.remove()) }()
	if err != nil {
		return fmt.Errorf("store file %.300s of %s: %w", w.name, w.meta.URL, err)
	}
	return w.r.submitAddition(w.ctx, w.domain, &addition{meta: w.meta, name: w.name, from: staged})
}

// addFiles commits files to the current version, with its message and time, and moves them into their
// folders. A source with a text replaces a file.
func (d *domain) addFiles(ctx context.Context, list []source) error {
	at := d.tip
	commit, _, err := d.r.catalog.Newest(ctx, d.name)
	if err != nil {
		return err
	}
	if err := d.commitFiles(ctx, version{tag: at.tag, number: at.number}, commit.Time, list, false, nil); err != nil {
		return err
	}
	d.r.step("tag")
	// From here on the files are stored: what fails now, the next lock repairs.
	for _, s := range list {
		if err := d.putFile(s); err != nil {
			return fmt.Errorf("%s is stored, but not in its folder; the next access repairs that: %w", s.name, err)
		}
	}
	d.r.step("files")
	return d.setMark(d.tip.id)
}

// putFile puts a file into the folder of the domain.
func (d *domain) putFile(s source) error {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folder := path.Dir(s.name)
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	to := filepath.Join(d.dir, filepath.FromSlash(s.name))
	if s.from == "" {
		return files.Write(to, s.text, 0o600)
	}
	if err := os.Rename(s.from, to); err != nil {
		return err
	}
	return syncFolders(d.dir, filepath.Dir(to))
}

// syncFolders makes the entries of a folder and of those between it and root durable.
func syncFolders(root, dir string) error {
	for ; len(dir) >= len(root); dir = filepath.Dir(dir) {
		if err := files.SyncFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

// SetTag adds a node to data.xml of the current version: name, with content as XML inside.
func (r *Repository) SetTag(ctx context.Context, m archive.Meta, name, content string) error {
	meta, err := r.catalog.Page(ctx, m.URL, m.CommitTag)
	if err != nil {
		return err
	}
	return r.submitAddition(ctx, meta.Domain, &addition{meta: m, name: name, content: content})
}

// logInvalid logs an error of the validation.
func (r *Repository) logInvalid(m archive.Meta, name string, err error) error {
	r.Log.Error("data.xml was not extended", "op", "validate", "url", m.URL, "tag", m.CommitTag, "node", name, "error", err)
	return fmt.Errorf("page %s with tag %s: %w", m.URL, name, err)
}

// Schema returns the XML schema of the archive.
func (r *Repository) Schema() (pagexml.Schema, error) {
	schema, _, err := r.readSchema()
	return schema, err
}

func (r *Repository) readSchema() (schema pagexml.Schema, text []byte, err error) {
	if text, err = os.ReadFile(r.schemaFile()); err != nil {
		return schema, nil, fmt.Errorf("read the XML schema: %w; archive repair makes it again", err)
	}
	schema, err = pagexml.ReadSchema(text)
	return schema, text, err
}

func (r *Repository) schemaFile() string { return filepath.Join(r.dir, schemaFolder, schemaName) }

// extendSchema returns the schema with a name, which it may have to add.
func (r *Repository) extendSchema(ctx context.Context, name string) (pagexml.Schema, error) {
	unlock, err := files.Lock(ctx, r.lockFile("schema.lock"))
	if err != nil {
		return pagexml.Schema{}, err
	}
	defer unlock()
	schema, err := r.Schema()
	if err != nil || schema.Has(name) {
		return schema, err
	}
	if schema, err = schema.With(name); err != nil {
		return schema, err
	}
	return schema, files.Write(r.schemaFile(), schema.Text(), 0o600)
}
