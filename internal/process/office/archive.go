package office

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"hce/dc/internal/web/loosexml"
)

const (
	// MaxBytes bounds the decompressed bytes of all files that are read.
	MaxBytes = 32 << 20
	// maxFiles bounds the files of an archive.
	maxFiles = 20_000
)

// archive is the files of a document.
type archive struct {
	files map[string]*zip.File
	left  int64 // bytes that may be decompressed
	cut   bool  // files were not read to their end
	err   error // the first file that could not be read
}

// openArchive reads the directory of a ZIP archive.
func openArchive(body []byte) (*archive, error) {
	// The directory takes memory for each file.
	if n := bytes.Count(body, []byte("PK\x01\x02")); n > maxFiles {
		return nil, fmt.Errorf("%w: %d files in the archive, more than %d", ErrDamaged, n, maxFiles)
	}
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	a := &archive{files: make(map[string]*zip.File, len(r.File)), left: MaxBytes}
	for _, f := range r.File {
		if f.Flags&1 != 0 {
			return nil, fmt.Errorf("%w: it is encrypted", ErrDamaged)
		}
		if name := strings.TrimPrefix(f.Name, "/"); a.files[name] == nil {
			a.files[name] = f
		}
	}
	return a, nil
}

func (a *archive) hasFile(name string) bool { return a.files[name] != nil }

// readFile returns a file. The file may be cut, or empty after an error.
func (a *archive) readFile(name string) []byte {
	f := a.files[name]
	if f == nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		a.noteDamage(name, err)
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, a.left+1))
	if err != nil {
		a.noteDamage(name, err)
	}
	if int64(len(text)) > a.left {
		text, a.cut = text[:a.left], true
	}
	a.left -= int64(len(text))
	return text
}

// noteDamage notes the first damage. The text before it is used.
func (a *archive) noteDamage(name string, err error) {
	if a.err == nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("it ends too early")
		}
		a.err = fmt.Errorf("%w: file %.80q: %w", ErrDamaged, name, err)
	}
}

// readRelations reads the targets of the relations of a part (ECMA-376-2 9.3) by their keys.
// Targets inside of the archive are names of files.
func (a *archive) readRelations(part string) map[string]relation {
	found := map[string]relation{}
	folder, name := path.Split(part)
	r := loosexml.NewReader(a.readFile(folder + "_rels/" + name + ".rels"))
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		if t.Kind != loosexml.Start || t.Local() != "relationship" {
			continue
		}
		rel := relation{kind: path.Base(attrValue(t, "type")), target: attrValue(t, "target")}
		if attrValue(t, "targetmode") != "External" {
			if rel.target = path.Join(folder, rel.target); strings.HasPrefix(attrValue(t, "target"), "/") {
				rel.target = strings.TrimPrefix(path.Clean(attrValue(t, "target")), "/")
			}
		}
		found[attrValue(t, "id")] = rel
	}
	return found
}

// relation is a link from one part of an archive to another, or to the web.
type relation struct{ kind, target string }

// main returns the name of the part with the text, or "".
func (a *archive) main() string {
	for _, rel := range a.readRelations("") {
		if rel.kind == "officeDocument" && a.hasFile(rel.target) {
			return rel.target
		}
	}
	if a.hasFile("word/document.xml") {
		return "word/document.xml"
	}
	return ""
}
