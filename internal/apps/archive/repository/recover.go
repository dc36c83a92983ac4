package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// Recovery says what Recover and Repair did.
type Recovery struct {
	Versions int      `json:"versions"` // in the database
	SetAside []string `json:"setAside"` // names that damaged and unknown files have now, relative to the archive
	Domains  []string `json:"domains"`  // whose files were made again from git
	Left     []string `json:"left"`     // differences that Repair cannot mend
}

// Recover builds the database and the XML schema again from the data.xml files of all versions in git. A
// database that is damaged in any way is set aside; no other program may have it open then.
func Recover(ctx context.Context, dir string) (done Recovery, err error) {
	r, err := locateArchive(dir)
	if err != nil {
		return done, err
	}
	for _, name := range []string{locksFolder, tmpFolder, schemaFolder} {
		if err := os.MkdirAll(filepath.Join(r.dir, name), 0o700); err != nil {
			return done, fmt.Errorf("recover archive %s: %w", dir, err)
		}
	}
	lock, err := lockGuard(ctx, r.lockFile("commit.lock"))
	if err != nil {
		return done, err
	}
	defer lock.Close()
	list, err := r.listVersions(ctx)
	if err == nil {
		err = r.rebuildDatabase(ctx, list, &done)
	}
	if r.catalog != nil {
		defer func() { err = errors.Join(err, r.Close()) }()
	}
	if err == nil {
		err = r.recoverSchema(ctx, list, &done)
	}
	if l, lost := r.readLast(); err == nil && (lost != nil || len(list) > 0 && l.Number < list[len(list)-1].number) {
		newest := last{}
		if len(list) > 0 {
			newest = last{list[len(list)-1].number, list[len(list)-1].domain.name}
		}
		if lost != nil {
			err = r.setAside(&done, r.lastFile())
		}
		err = errors.Join(err, r.writeLast(newest))
	}
	if err != nil {
		return done, fmt.Errorf("recover archive %s: %w", dir, err)
	}
	done.Versions = len(list)
	return done, nil
}

// rebuildDatabase opens the database and fills it with versions. It sets a damaged one aside, and begins again with
// a new one.
func (r *Repository) rebuildDatabase(ctx context.Context, list []stored, done *Recovery) (err error) {
	for range 2 {
		if r.catalog, err = catalog.Open(filepath.Join(r.dir, database)); err == nil {
			err = r.catalog.Check(ctx)
		}
		if err == nil {
			err = r.catalog.Replace(ctx, func(add func(catalog.Commit) error) error {
				for _, v := range list {
					c, err := v.domain.git.commitOf(ctx, v.version, v.domain.name)
					if err == nil {
						err = add(c)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err == nil || !catalog.Damaged(err) {
			return err
		}
		if r.catalog != nil {
			_ = r.catalog.Close()
			r.catalog = nil
		}
		if moved := r.setAside(done, filepath.Join(r.dir, database), "-wal", "-shm", "-journal"); moved != nil {
			return errors.Join(err, moved)
		}
	}
	return err
}

// setAside gives a file or folder, and those whose names have one of the suffixes more, a new name next to
// it. A missing one is no error.
func (r *Repository) setAside(done *Recovery, path string, suffixes ...string) error {
	aside := path + ".damaged-" + time.Now().Format("20060102-150405")
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%s-%d", path, time.Now().Format("20060102-150405"), n)
	}
	for _, suffix := range append([]string{""}, suffixes...) {
		err := os.Rename(path+suffix, aside+suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		done.addFile(r, aside+suffix)
	}
	return files.SyncFolder(filepath.Dir(path))
}

// addFile notes a file that was set aside.
func (done *Recovery) addFile(r *Repository, path string) {
	if name, err := filepath.Rel(r.dir, path); err == nil {
		path = filepath.ToSlash(name)
	}
	done.SetAside = append(done.SetAside, path)
}

// recoverSchema writes a schema with the names of all nodes of all versions.
func (r *Repository) recoverSchema(ctx context.Context, list []stored, done *Recovery) error {
	unlock, err := files.Lock(ctx, r.lockFile("schema.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	schema := pagexml.NewSchema()
	if old, err := r.Schema(); err == nil {
		schema = old // a name that is being added stays
	} else if err := r.setAside(done, r.schemaFile()); err != nil {
		return err
	}
	for _, v := range list {
		err := v.domain.eachDocument(ctx, v.version, func(_ string, page *pagexml.Page) error {
			for _, name := range page.Names {
				if schema, err = schema.With(name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return files.Write(r.schemaFile(), schema.Text(), 0o600)
}

// Repair does what Recover does, and makes the files of the folders again from git where they differ. Files
// that differ, and those that git does not know, are set aside below the folder damaged. What it cannot
// mend, such as damage inside of git, it returns as Left.
func Repair(ctx context.Context, dir string) (done Recovery, err error) {
	if done, err = Recover(ctx, dir); err != nil {
		return done, err
	}
	r, err := Open(dir)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	domains, err := r.listDomains()
	if err != nil {
		return done, err
	}
	aside := filepath.Join(r.dir, damagedFolder, time.Now().Format("20060102-150405"))
	for _, d := range domains {
		if err := r.repairDomain(ctx, d.name, aside, &done); ctx.Err() != nil {
			return done, ctx.Err()
		} else if err != nil {
			r.Log.Error("repair", "op", "files", "domain", d.name, "error", err) // the check below finds it
		}
	}
	done.Left, err = r.Check(ctx)
	return done, err
}

// repairDomain lets the files and the tag of the newest version of a domain agree with its branch.
func (r *Repository) repairDomain(ctx context.Context, name, aside string, done *Recovery) error {
	d, unlock, err := r.lockDomain(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if d.tip.id == "" {
		return nil
	}
	if err := d.setTag(ctx); err != nil {
		return err
	}
	list, err := d.compareFiles(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, f := range list {
		if f.missing {
			continue
		}
		to := filepath.Join(aside, name, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(d.dir, filepath.FromSlash(f.name)), to); err != nil {
			return err
		}
		done.addFile(r, to)
	}
	if err := d.setMark(""); err != nil { // after a kill the next access exports
		return err
	}
	if err := d.exportFiles(ctx); err != nil {
		return err
	}
	done.Domains = append(done.Domains, name)
	return d.setMark(d.tip.id)
}
