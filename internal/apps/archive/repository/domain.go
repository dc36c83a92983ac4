package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// domain is the folder of a domain. A held one is locked and whole.
type domain struct {
	r     *Repository
	name  string
	dir   string // content/<name>
	git   git
	guard *os.File // of a domain that is locked alone
	tip   version  // zero without a commit
}

const markName = "archive-complete"

func (r *Repository) domainNamed(name string) *domain {
	dir := filepath.Join(r.dir, contentFolder, name)
	return &domain{r: r, name: name, dir: dir, git: git{filepath.Join(dir, ".git")}}
}

func (d *domain) isPresent() bool {
	info, err := os.Stat(d.git.dir)
	return err == nil && info.IsDir()
}

// lockDomain locks a domain alone, and repairs it if its last writer was killed. It waits for others. A
// domain without a folder gets none.
func (r *Repository) lockDomain(ctx context.Context, name string) (*domain, func(), error) {
	if err := CheckDomain(name); err != nil {
		return nil, nil, err
	}
	first, err := files.Lock(ctx, r.lockFile(name+".gate"))
	if err != nil {
		return nil, nil, err
	}
	second, err := files.Lock(ctx, r.lockFile(name+".lock"))
	if err != nil {
		first()
		return nil, nil, err
	}
	d := r.domainNamed(name)
	unlock := func() {
		if d.guard != nil {
			_ = d.guard.Close()
		}
		second()
		first()
	}
	if d.guard, err = lockGuard(ctx, r.lockFile(name+".git")); err == nil && d.isPresent() {
		err = d.finishWrite(ctx)
	}
	if err != nil {
		unlock()
		return nil, nil, fmt.Errorf("lock domain %s: %w", name, err)
	}
	return d, unlock, nil
}

// shareDomain locks a domain together with other readers.
func (r *Repository) shareDomain(ctx context.Context, name string) (*domain, func(), error) {
	if err := CheckDomain(name); err != nil {
		return nil, nil, err
	}
	for {
		d, unlock, err := r.tryShare(ctx, name)
		if err != nil || !d.isPresent() {
			return d, unlock, err
		}
		tip, err := d.git.readTip(ctx)
		if err == nil && tip == d.shownCommit() {
			d.tip.id = tip
			return d, unlock, nil
		}
		unlock()
		if err != nil {
			return nil, nil, fmt.Errorf("read domain %s: %w", name, err)
		}
		if _, unlock, err = r.lockDomain(ctx, name); err != nil { // repairs it
			return nil, nil, err
		}
		unlock()
	}
}

func (r *Repository) tryShare(ctx context.Context, name string) (*domain, func(), error) {
	gate, err := files.Share(ctx, r.lockFile(name+".gate"))
	if err != nil {
		return nil, nil, err
	}
	defer gate()
	unlock, err := files.Share(ctx, r.lockFile(name+".lock"))
	if err != nil {
		return nil, nil, err
	}
	return r.domainNamed(name), unlock, nil
}

func (r *Repository) lockFile(name string) string { return filepath.Join(r.dir, locksFolder, name) }

// lockGuard opens and locks a file that a writing git inherits: a git whose parent was killed holds it
// until it has ended too.
func lockGuard(ctx context.Context, name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
			timer.Stop()
			err = ctx.Err()
		}
		break
	}
	file.Close()
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

// shownCommit returns the commit that database and files show, "" without one.
func (d *domain) shownCommit() string {
	text, err := os.ReadFile(filepath.Join(d.git.dir, markName))
	if err != nil {
		return "" // then everything is made again
	}
	return string(text)
}

func (d *domain) setMark(id string) error {
	return files.Write(filepath.Join(d.git.dir, markName), []byte(id), 0o600)
}

// finishWrite reads the tip, and finishes the write of a killed process.
func (d *domain) finishWrite(ctx context.Context) error {
	id, err := d.git.readTip(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		return d.git.removeLeftovers() // the first commit was killed
	}
	if d.tip, err = d.git.newestVersion(ctx, id); err != nil || d.shownCommit() == id {
		return err
	}
	if err := d.git.removeLeftovers(); err != nil {
		return err
	}
	if err := d.setTag(ctx); err != nil {
		return err
	}
	err = d.r.withNumberLock(ctx, func() error { return nil }) // stores the rows of the last commit
	if err == nil {
		err = d.exportFiles(ctx)
	}
	if err != nil {
		return fmt.Errorf("repair version %s: %w", d.tip.tag, err)
	}
	return d.setMark(id)
}

// setTag lets the tag of the version name its newest commit.
func (d *domain) setTag(ctx context.Context) error {
	_, err := d.git.runCommand(ctx, []*os.File{d.guard}, nil, "update-ref", tagRef(d.tip.tag), d.tip.id)
	return err
}

// commitOf reads the rows of a version from the data.xml files in git.
func (g git) commitOf(ctx context.Context, v version, domain string) (catalog.Commit, error) {
	c := catalog.Commit{Number: v.number, CommitTag: v.tag, Domain: domain}
	documents, err := g.listDocuments(ctx, v.id)
	if err != nil {
		return c, err
	}
	err = g.forEachObject(ctx, documents, func(o object, content io.Reader) error {
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		page, err := pagexml.Read(text)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", o.name, v.tag, err)
		}
		if page.Meta.CommitTag != v.tag || page.Meta.Path != path.Join(contentFolder, domain, path.Dir(o.name)) {
			return fmt.Errorf("%s of %s describes another page", o.name, v.tag)
		}
		c.Time = page.Meta.CommitTime
		c.Pages = append(c.Pages, page.Meta)
		return nil
	})
	return c, err
}

// listDocuments returns all data.xml files of a commit.
func (g git) listDocuments(ctx context.Context, id string) (documents []object, err error) {
	list, err := g.listObjects(ctx, id, "")
	for _, o := range list {
		if path.Base(o.name) == metaFile {
			documents = append(documents, o)
		}
	}
	return documents, err
}

// exportFiles makes the files of the folder again from git.
func (d *domain) exportFiles(ctx context.Context) error {
	list, err := d.git.listObjects(ctx, d.tip.id, "")
	if err != nil {
		return err
	}
	return d.r.inTemporary(ctx, func(dir string) error {
		tree := filepath.Join(dir, treeFolder)
		if err := os.Mkdir(tree, 0o700); err != nil {
			return err
		}
		err := d.git.forEachObject(ctx, list, func(o object, content io.Reader) error {
			name := filepath.Join(tree, filepath.FromSlash(o.name))
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = io.Copy(file, content)
			return errors.Join(err, file.Close())
		})
		if err != nil {
			return err
		}
		return d.showFiles(dir)
	})
}

// showFiles replaces the files of the folder by those of dir/tree, and makes that durable. A kill in the
// middle leaves parts of both; the mark tells.
func (d *domain) showFiles(dir string) error {
	old := filepath.Join(dir, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return err
	}
	if err := moveAll(d.dir, old, ".git"); err != nil {
		return err
	}
	d.r.step("half of the files")
	if err := moveAll(filepath.Join(dir, treeFolder), d.dir, ""); err != nil {
		return err
	}
	return syncAll(d.dir)
}

// moveAll moves the entries of a folder but one.
func moveAll(from, to, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// list returns the files of a folder of the domain, as slash paths below it, sorted.
func listFiles(dir string) (list []object, err error) {
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && name == filepath.Join(dir, ".git") {
				return filepath.SkipDir
			}
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, name)
		list = append(list, object{name: filepath.ToSlash(below), size: info.Size()})
		return cmp.Or(err, checkRegular(info))
	})
	return list, err
}

func checkRegular(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", info.Name())
	}
	return nil
}
