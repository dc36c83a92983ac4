package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// place is the folder of a version of a page.
type place struct {
	meta   archive.Meta
	folder string // below the domain, with slashes
	id     string // commit of git; "" if the files are in the folder of the domain
}

// lockAndFind locks the domain of a version for reading, and finds its folder. Only the URL and the commit tag
// of m count.
func (r *Repository) lockAndFind(ctx context.Context, m archive.Meta) (p place, d *domain, unlock func(), err error) {
	if p.meta, err = r.catalog.Page(ctx, m.URL, m.CommitTag); err != nil {
		return p, nil, nil, err
	}
	if d, unlock, err = r.shareDomain(ctx, p.meta.Domain); err != nil {
		return p, nil, nil, err
	}
	if err = p.locateFolder(ctx, d); err != nil {
		unlock()
		return p, nil, nil, fmt.Errorf("version %s of %s: %w", m.CommitTag, m.URL, err)
	}
	return p, d, unlock, nil
}

func (p *place) locateFolder(ctx context.Context, d *domain) error {
	folder, found := strings.CutPrefix(p.meta.Path, contentFolder+"/"+d.name+"/")
	if !found || !fs.ValidPath(folder) {
		return fmt.Errorf("the database has the path %.200q; compare it with archive db check", p.meta.Path)
	}
	p.folder = folder
	newest, _, err := d.r.catalog.Newest(ctx, d.name)
	if err != nil || newest.CommitTag == p.meta.CommitTag {
		return err
	}
	out, err := d.git.runCommand(ctx, nil, nil, "for-each-ref", "--format=%(objectname)", tagRef(p.meta.CommitTag))
	if p.id = strings.TrimSpace(string(out)); err == nil && p.id == "" {
		err = fmt.Errorf("git has no tag of it: %w", archive.ErrNotFound)
	}
	return err
}

// listObjects lists the files of the place.
func (p place) listObjects(ctx context.Context, d *domain) ([]object, error) {
	if p.id != "" {
		return d.git.listObjects(ctx, p.id, p.folder)
	}
	return listFiles(filepath.Join(d.dir, filepath.FromSlash(p.folder)))
}

// List returns the files of a version, sorted by name.
func (r *Repository) List(ctx context.Context, m archive.Meta) ([]archive.File, error) {
	p, d, unlock, err := r.lockAndFind(ctx, m)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := p.listObjects(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("list %s of %s: %w", m.CommitTag, m.URL, err)
	}
	list := make([]archive.File, len(found))
	for i, o := range found {
		list[i] = archive.File{Name: o.name, Size: o.size}
	}
	return list, nil
}

// Open reads a file of a version. The caller closes it; it keeps its bytes whatever is written later.
func (r *Repository) Open(ctx context.Context, m archive.Meta, name string) (io.ReadCloser, error) {
	if err := checkFile(name); err != nil {
		return nil, err
	}
	p, d, unlock, err := r.lockAndFind(ctx, m)
	if err != nil {
		return nil, err
	}
	defer unlock()
	file, err := p.openFile(ctx, d, name)
	if err != nil {
		return nil, fmt.Errorf("open %.300s in %s of %s: %w", name, m.CommitTag, m.URL, err)
	}
	return file, nil
}

// openFile returns the file in the folder, or a copy of the one in git.
func (p place) openFile(ctx context.Context, d *domain, name string) (*os.File, error) {
	if p.id == "" {
		return openRegular(d.dir, filepath.FromSlash(p.folder+"/"+name))
	}
	list, err := p.listObjects(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if o.name == name {
			return d.copyObject(ctx, o)
		}
	}
	return nil, archive.ErrNotFound
}

// openRegular opens a file below a folder, and follows no link out of it.
func openRegular(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular(), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return nil, archive.ErrNotFound
	case err != nil:
		if strings.Contains(err.Error(), "not a directory") {
			err = archive.ErrNotFound
		}
		return nil, err
	}
	return root.Open(name)
}

// copyObject copies an object of git to a file without a name.
func (d *domain) copyObject(ctx context.Context, o object) (*os.File, error) {
	file, err := os.CreateTemp(filepath.Join(d.r.dir, tmpFolder), "read")
	if err != nil {
		return nil, err
	}
	if err = files.IgnoreMissing(os.Remove(file.Name())); err == nil {
		err = d.git.forEachObject(ctx, []object{o}, func(_ object, content io.Reader) error {
			_, err := io.Copy(file, content)
			return err
		})
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Tag returns the node with that name below the data node of data.xml, as XML.
func (r *Repository) Tag(ctx context.Context, m archive.Meta, name string) (string, error) {
	if err := pagexml.CheckName(name); err != nil {
		return "", err
	}
	file, err := r.Open(ctx, m, metaFile)
	if err != nil {
		return "", err
	}
	defer file.Close()
	page, err := readPage(file)
	if err != nil {
		return "", fmt.Errorf("%s of %s: %w", m.CommitTag, m.URL, err)
	}
	node, found := page.Node(name)
	if !found {
		return "", fmt.Errorf("tag %s of %s %w", name, m.URL, archive.ErrNotFound)
	}
	return node, nil
}

func readPage(r io.Reader) (*pagexml.Page, error) {
	text, err := io.ReadAll(io.LimitReader(r, pagexml.MaxDocument+1))
	if err != nil {
		return nil, err
	}
	return pagexml.Read(text)
}
