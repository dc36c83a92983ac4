package repository

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/files"
)

// source is a file that goes into a commit: from a file, or text.
type source struct {
	name string // below the domain, with slashes
	from string
	text []byte
}

// commitFiles makes one commit of git and lets the branch name it. With whole it has these files only, else
// they are added to those of the tip. The branch moves last and at once; a kill before that leaves
// nothing. Then the tag follows. lock is kept open by git, if it is not nil.
func (d *domain) commitFiles(ctx context.Context, v version, at time.Time, list []source, whole bool, lock *os.File) error {
	guards := []*os.File{d.guard}
	if lock != nil {
		guards = append(guards, lock)
	}
	if err := d.git.removeLocks(); err != nil {
		return err
	}
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() { // ends with git, or with the last file
		w := bufio.NewWriterSize(out, 1<<16)
		err := d.writeCommit(w, v, at, list, whole)
		if err == nil {
			err = w.Flush()
		}
		_ = out.CloseWithError(err) // without the word done git stores nothing
		written <- err
	}()
	_, err := d.git.runCommand(ctx, guards, in, "fast-import", "--quiet", "--done", "--date-format=raw")
	_ = in.CloseWithError(errors.New("git has ended"))
	if failed := <-written; failed != nil && err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("commit %s: %w", v.tag, err)
	}
	if d.tip.id, err = d.git.readTip(ctx); err != nil {
		return err
	}
	d.tip.tag, d.tip.number = v.tag, v.number
	d.r.step("git")
	return d.setTag(ctx)
}

// writeCommit writes the input of git fast-import.
func (d *domain) writeCommit(w *bufio.Writer, v version, at time.Time, list []source, whole bool) error {
	who := fmt.Sprintf("archive <archive@localhost> %d +0100", at.Unix())
	fmt.Fprintf(w, "commit %s\nauthor %s\ncommitter %[2]s\ndata %d\n%s\n", branch, who, len(v.commitMessage()), v.commitMessage())
	if d.tip.id != "" {
		fmt.Fprintf(w, "from %s\n", d.tip.id)
	}
	if whole {
		fmt.Fprintln(w, "deleteall")
	}
	for _, s := range list {
		if err := s.writeImport(w); err != nil {
			return err
		}
		d.r.step("input")
	}
	_, err := fmt.Fprint(w, "\ndone\n")
	return err
}

var quoteGit = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (s source) writeImport(w *bufio.Writer) error {
	fmt.Fprintf(w, "M 100644 inline \"%s\"\n", quoteGit.Replace(s.name))
	if s.from == "" {
		fmt.Fprintf(w, "data %d\n", len(s.text))
		w.Write(s.text)
		return w.WriteByte('\n')
	}
	file, err := os.Open(s.from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "data %d\n", info.Size())
	if _, err := io.CopyN(w, file, info.Size()); err != nil {
		return fmt.Errorf("read %s: %w", s.from, err)
	}
	return w.WriteByte('\n')
}

// last names the commit that has the largest number, which may not have happened.
type last struct {
	Number int64  `json:"number"`
	Domain string `json:"domain"`
}

func (r *Repository) lastFile() string { return filepath.Join(r.dir, "commit.json") }

func (r *Repository) readLast() (l last, err error) {
	text, err := os.ReadFile(r.lastFile())
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Domain != "" {
		err = CheckDomain(l.Domain)
	}
	if err != nil {
		return l, fmt.Errorf("read %s: %w; remove it and run archive db recover", r.lastFile(), err)
	}
	return l, nil
}

func (r *Repository) writeLast(l last) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return files.Write(r.lastFile(), text, 0o600)
}

// withNextNumber takes the next number of a commit for a domain, and calls do with it. The caller holds the
// domain alone. Until do returns, no other commit gets a number.
func (r *Repository) withNextNumber(ctx context.Context, domain string, do func(number int64, lock *os.File) error) error {
	lock, err := lockGuard(ctx, r.lockFile("commit.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	l, err := r.settleLast(ctx)
	if err != nil {
		return err
	}
	stored, _, err := r.catalog.Last(ctx)
	if err != nil {
		return err
	}
	next := last{max(l.Number, stored) + 1, domain}
	if err := r.writeLast(next); err != nil {
		return err
	}
	r.step("number")
	return do(next.Number, lock)
}

// withNumberLock calls do while no commit gets a number, after the rows of the last one are stored.
func (r *Repository) withNumberLock(ctx context.Context, do func() error) error {
	lock, err := lockGuard(ctx, r.lockFile("commit.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := r.settleLast(ctx); err != nil {
		return err
	}
	return do()
}

// settleLast stores the rows of the last commit, if it is in git and not in the database. The caller holds
// commit.lock; the domain may be locked by others, since commits of git never change.
func (r *Repository) settleLast(ctx context.Context) (last, error) {
	l, err := r.readLast()
	if err != nil || l.Domain == "" {
		return l, err
	}
	if has, err := r.catalog.Has(ctx, l.Number); has || err != nil {
		return l, err
	}
	d := r.domainNamed(l.Domain)
	if !d.isPresent() {
		return l, nil
	}
	id, err := d.git.readTip(ctx)
	if err != nil || id == "" {
		return l, err
	}
	v, err := d.git.newestVersion(ctx, id)
	if err != nil || v.number != l.Number {
		return l, err
	}
	c, err := d.git.commitOf(ctx, v, l.Domain)
	if err == nil {
		err = r.catalog.Add(ctx, c)
	}
	return l, err
}

// outdatedError reports an attempt to write to a version that is not the newest one.
func outdatedError(m archive.Meta) error {
	return fmt.Errorf("page %.300s of version %.300s %w; query it again", m.URL, m.CommitTag, archive.ErrOutdated)
}
