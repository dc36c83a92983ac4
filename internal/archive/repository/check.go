package repository

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/archive"
	"hce/dc/internal/archive/catalog"
	"hce/dc/internal/archive/pagexml"
	"hce/dc/internal/files"
)

// domains returns the names of all domains with a folder, sorted.
func (r *Repository) domains() (list []*domain, err error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, contentFolder))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if d := r.domain(e.Name()); CheckDomain(e.Name()) == nil && d.exists() {
			list = append(list, d)
		}
	}
	return list, nil
}

// stored is a version in git.
type stored struct {
	version
	domain *domain
}

// versions returns all versions of all domains in git, by number.
func (r *Repository) versions(ctx context.Context) (list []stored, err error) {
	domains, err := r.domains()
	if err != nil {
		return nil, err
	}
	for _, d := range domains {
		id, err := d.git.tip(ctx)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		found, err := d.git.versions(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			list = append(list, stored{v, d})
		}
	}
	slices.SortFunc(list, func(a, b stored) int { return cmp.Compare(a.number, b.number) })
	return list, nil
}

// Recover builds the database and the XML schema again from the data.xml files of all versions in git. It
// returns the number of versions. A database that is damaged is kept as archive.db.damaged; no other
// program may have it open then.
func Recover(ctx context.Context, dir string) (versions int, err error) {
	r, err := openDamaged(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	lock, err := guard(ctx, r.lockFile("commit.lock"))
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	list, err := r.versions(ctx)
	if err != nil {
		return 0, fmt.Errorf("recover archive %s: %w", dir, err)
	}
	err = r.catalog.Replace(ctx, func(add func(catalog.Commit) error) error {
		for _, v := range list {
			c, err := v.domain.git.commitOf(ctx, v.version, v.domain.name)
			if err != nil {
				return err
			}
			if err := add(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = r.recoverSchema(ctx, list)
	}
	if l, lost := r.readLast(); err == nil && len(list) > 0 {
		if newest := list[len(list)-1]; lost != nil || l.Number < newest.number {
			err = r.writeLast(last{newest.number, newest.domain.name})
		}
	}
	if err != nil {
		return 0, fmt.Errorf("recover archive %s: %w", dir, err)
	}
	return len(list), nil
}

// openDamaged opens an archive, with a new database if the present one cannot be used.
func openDamaged(dir string) (*Repository, error) {
	r, err := open(dir)
	if err == nil || !catalog.Damaged(err) {
		return r, err
	}
	name := filepath.Join(dir, database)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := files.IgnoreMissing(os.Rename(name+suffix, name+".damaged"+suffix)); err != nil {
			return nil, err
		}
	}
	return open(dir)
}

// recoverSchema writes a schema with the names of all nodes of all versions.
func (r *Repository) recoverSchema(ctx context.Context, list []stored) error {
	unlock, err := files.Lock(ctx, r.lockFile("schema.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	schema := pagexml.NewSchema()
	if old, err := r.Schema(); err == nil {
		schema = old // a name that is being added stays
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

// Check compares the database, the files and the XML with git, which is the truth, and returns the
// differences.
func (r *Repository) Check(ctx context.Context) (differences []string, err error) {
	domains, err := r.domains()
	if err != nil {
		return nil, err
	}
	schema, err := r.Schema()
	if err != nil {
		differences = append(differences, err.Error())
	}
	for _, d := range domains {
		list, err := r.checkDomain(ctx, d.name, schema)
		if err != nil {
			return nil, fmt.Errorf("check domain %s: %w", d.name, err)
		}
		differences = append(differences, list...)
	}
	list, err := r.checkDatabase(ctx)
	return append(differences, list...), err
}

// checkDatabase compares all rows with git.
func (r *Repository) checkDatabase(ctx context.Context) (differences []string, err error) {
	err = r.numbered(ctx, func() error {
		list, err := r.versions(ctx)
		if err != nil {
			return err
		}
		err = r.catalog.Each(ctx, func(have catalog.Commit) error {
			i := slices.IndexFunc(list, func(v stored) bool { return v.number == have.Number })
			if i < 0 {
				differences = append(differences, fmt.Sprintf("database: commit %d (%s) is not in git", have.Number, have.CommitTag))
				return nil
			}
			v := list[i]
			list = slices.Delete(list, i, i+1)
			want, err := v.domain.git.commitOf(ctx, v.version, v.domain.name)
			if err == nil {
				differences = append(differences, compare(have, want)...)
			}
			return err
		})
		for _, v := range list {
			differences = append(differences, fmt.Sprintf("database: commit %d (%s) is missing", v.number, v.tag))
		}
		return err
	})
	return differences, err
}

// compare returns the differences of a commit in the database from the one in git.
func compare(have, want catalog.Commit) (differences []string) {
	differ := func(format string, args ...any) {
		differences = append(differences, "database: "+fmt.Sprintf(format, args...)+" in "+want.CommitTag)
	}
	if have.CommitTag != want.CommitTag || have.Domain != want.Domain || !have.Time.Equal(want.Time) {
		differ("commit %d is %s, another one", have.Number, have.CommitTag)
	}
	rows := map[string]archive.Meta{}
	for _, m := range have.Pages {
		rows[m.URL] = m
	}
	for _, m := range want.Pages {
		row, found := rows[m.URL]
		switch {
		case !found:
			differ("page %s is missing", m.URL)
		case !sameMeta(row, m):
			differ("page %s has other metadata", m.URL)
		}
		delete(rows, m.URL)
	}
	for href := range rows {
		differ("page %s is not in git", href)
	}
	return differences
}

func sameMeta(a, b archive.Meta) bool {
	same := a.CommitTime.Equal(b.CommitTime) && a.CreateTime.Equal(b.CreateTime)
	a.CommitTime, a.CreateTime = b.CommitTime, b.CreateTime
	return same && a == b
}

// checkDomain checks git itself, the data.xml files of all versions, and the files of the folder.
func (r *Repository) checkDomain(ctx context.Context, name string, schema pagexml.Schema) (differences []string, err error) {
	d, unlock, err := r.share(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if d.tip.id == "" {
		return nil, nil
	}
	if _, err := d.git.run(ctx, nil, nil, "fsck", "--full", "--no-dangling", "--no-progress"); err != nil {
		differences = append(differences, err.Error())
	}
	versions, err := d.git.versions(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		out, err := d.git.run(ctx, nil, nil, "for-each-ref", "--format=%(objectname)", tagRef(v.tag))
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(out)) != v.id {
			differences = append(differences, fmt.Sprintf("%s: its tag names another commit", v.tag))
		}
		err = d.eachDocument(ctx, v, func(file string, page *pagexml.Page) error {
			for _, node := range page.Names {
				if !schema.Has(node) {
					differences = append(differences, fmt.Sprintf("%s of %s: the XML schema has no node %s", file, v.tag, node))
				}
			}
			return nil
		})
		if err != nil {
			differences = append(differences, err.Error())
		}
	}
	more, err := d.checkFiles(ctx)
	return append(differences, more...), err
}

// eachDocument reads every data.xml of a version.
func (d *domain) eachDocument(ctx context.Context, v version, do func(file string, page *pagexml.Page) error) error {
	list, err := d.git.documents(ctx, v.id)
	if err != nil {
		return err
	}
	return d.git.each(ctx, list, func(o object, content io.Reader) error {
		page, err := readPage(content)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", o.name, v.tag, err)
		}
		return do(o.name, page)
	})
}

// checkFiles compares the folder with the newest commit.
func (d *domain) checkFiles(ctx context.Context) (differences []string, err error) {
	want, err := d.git.list(ctx, d.tip.id, "")
	if err != nil {
		return nil, err
	}
	have, err := listFiles(d.dir)
	if err != nil {
		return []string{err.Error()}, nil
	}
	there := map[string]bool{}
	for _, o := range have {
		there[o.name] = true
	}
	for _, o := range want {
		id, err := blobID(filepath.Join(d.dir, filepath.FromSlash(o.name)))
		switch {
		case !there[o.name]:
			differences = append(differences, fmt.Sprintf("%s/%s is missing", d.name, o.name))
		case err != nil:
			differences = append(differences, err.Error())
		case id != o.id:
			differences = append(differences, fmt.Sprintf("%s/%s has other bytes than git", d.name, o.name))
		}
		delete(there, o.name)
	}
	for name := range there {
		differences = append(differences, fmt.Sprintf("%s/%s is not in git", d.name, name))
	}
	return differences, nil
}

// blobID returns the id that git gives to a file.
func blobID(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", info.Size())
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
