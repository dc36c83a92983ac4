// Package folder opens the files of a served folder, and nothing outside of it.
//
//	f, err := folder.Open("/srv/www")
//	if err != nil { ... }
//	defer f.Close()
//	file, info, err := f.File("images/logo.gif")
//
// Names have slashes and no leading slash. Links that lead out of the folder are refused by the system
// (os.Root), also if another process changes the folder in the meantime. Hidden files, those with a name that begins
// with a dot, do not exist for this package, except below .well-known (RFC 8615). The same holds for
// devices, sockets and pipes.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"strings"
	"syscall"

	"hce/dc/internal/web/content"
)

// Folder is a served folder. Goroutines may share it.
type Folder struct {
	root *os.Root
	path string
}

// Open opens the folder at path.
func Open(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the served folder: %w", err)
	}
	return &Folder{root: root, path: path}, nil
}

// Close closes the folder. Files that it opened stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Path returns the path of the folder as given to Open.
func (f *Folder) Path() string { return f.path }

// File opens a regular file for reading; the caller closes it. The error wraps fs.ErrNotExist if
// there is no such file for the public, whatever the reason, except for failures of the machine.
func (f *Folder) File(name string) (*os.File, fs.FileInfo, error) {
	if !fs.ValidPath(name) || Hidden(name) {
		return nil, nil, newNotExistError(name)
	}
	// O_NONBLOCK: opening a pipe does not wait for its writer.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = newNotExistError(name)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// IsFolder reports whether name is a folder that is not hidden.
func (f *Folder) IsFolder(name string) bool {
	if !fs.ValidPath(name) || Hidden(name) {
		return false
	}
	info, err := f.root.Stat(name)
	return err == nil && info.IsDir()
}

// Walk calls visit for each regular file that is not hidden, in lexical order. It does not follow
// links. A folder that cannot be read is passed to failed, and left out. An error of visit, and
// the end of ctx, end the walk.
func (f *Folder) Walk(ctx context.Context, visit func(name string) error, failed func(name string, err error)) error {
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed(name, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case Hidden(name) && d.IsDir():
			return fs.SkipDir
		case Hidden(name) || !d.Type().IsRegular():
			return nil
		}
		return visit(name)
	})
}

// Private reports whether a file is kept from crawlers: it has no write permission. It is served all the same.
func Private(info fs.FileInfo) bool { return info.Mode()&0o222 == 0 }

// Hidden reports whether a part of the name begins with a dot.
func Hidden(name string) bool {
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".well-known" {
			return true
		}
	}
	return false
}

// Kind returns the type of a file, by its name or its first bytes. HTML has no charset: the page itself
// names it.
func Kind(f *os.File, name string) (string, error) {
	kind := mime.TypeByExtension(path.Ext(name))
	if content.IsHTML(content.Normal(kind)) {
		return content.Normal(kind), nil
	}
	if kind != "" {
		return kind, nil
	}
	var first [512]byte
	n, err := f.ReadAt(first[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return content.Detect(first[:n]), nil
}

func newNotExistError(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
