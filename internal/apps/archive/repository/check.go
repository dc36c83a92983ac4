package repository

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
)

// listDomains returns the names of all domains with a folder, sorted.
func (r *Repository) listDomains() (list []*domain, err error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, contentFolder))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if d := r.domainNamed(e.Name()); CheckDomain(e.Name()) == nil && d.isPresent() {
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

// listVersions returns all versions of all domains in git, by number.
func (r *Repository) listVersions(ctx context.Context) (list []stored, err error) {
	domains, err := r.listDomains()
	if err != nil {
		return nil, err
	}
	for _, d := range domains {
		id, err := d.git.readTip(ctx)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		found, err := d.git.listVersions(ctx)
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

// Check compares the database, the files and the XML with git, which is the truth, and returns the
// differences, each with what mends it. The database may be damaged.
func Check(ctx context.Context, dir string) (differences []string, err error) {
	r, err := openArchive(dir)
	if err == nil {
		return checkAndClose(ctx, r, nil)
	}
	if !catalog.Damaged(err) {
		return nil, err
	}
	damage := []string{"database: " + err.Error()}
	if r, err = locateArchive(dir); err != nil {
		return nil, err
	}
	other, err := os.MkdirTemp("", "archive-check") // reading a domain may store rows of an unfinished write
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(other)
	if r.catalog, err = catalog.Open(filepath.Join(other, database)); err != nil {
		return nil, err
	}
	return checkAndClose(ctx, r, damage)
}

func checkAndClose(ctx context.Context, r *Repository, damage []string) ([]string, error) {
	list, err := r.appendDamage(ctx, damage)
	return list, errors.Join(err, r.Close())
}

// Check is Check for an open archive.
func (r *Repository) Check(ctx context.Context) ([]string, error) { return r.appendDamage(ctx, nil) }

// appendDamage appends to the damage of the database that is known already.
func (r *Repository) appendDamage(ctx context.Context, differences []string) ([]string, error) {
	domains, err := r.listDomains()
	if err != nil {
		return nil, err
	}
	whole := len(differences) == 0
	if err := r.catalog.Check(ctx); whole && err != nil {
		differences, whole = append(differences, "database: "+err.Error()), false
	}
	schema, err := r.Schema()
	if err != nil {
		differences = append(differences, err.Error())
	}
	for _, d := range domains {
		list, err := r.checkDomain(ctx, d.name, schema)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if differences = append(differences, list...); err != nil {
			differences = append(differences, fmt.Sprintf("domain %s cannot be read: %v", d.name, err))
		}
	}
	if whole {
		list, err := r.checkDatabase(ctx)
		if differences = append(differences, list...); err != nil && ctx.Err() == nil {
			differences = append(differences, "database: "+err.Error())
		}
	}
	return differences, ctx.Err()
}

// checkDatabase compares all rows with git.
func (r *Repository) checkDatabase(ctx context.Context) (differences []string, err error) {
	err = r.withNumberLock(ctx, func() error {
		list, err := r.listVersions(ctx)
		if err != nil {
			return err
		}
		err = r.catalog.EachCommit(ctx, func(have catalog.Commit) error {
			i := slices.IndexFunc(list, func(v stored) bool { return v.number == have.Number })
			if i < 0 {
				differences = append(differences, fmt.Sprintf("database: commit %d (%s) is not in git", have.Number, have.CommitTag))
				return nil
			}
			v := list[i]
			list = slices.Delete(list, i, i+1)
			want, err := v.domain.git.commitOf(ctx, v.version, v.domain.name)
			if err == nil {
				differences = append(differences, compareCommits(have, want)...)
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

// compareCommits returns the differences of a commit in the database from the one in git.
func compareCommits(have, want catalog.Commit) (differences []string) {
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
	d, unlock, err := r.shareDomain(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if d.tip.id == "" {
		return nil, nil
	}
	if _, err := d.git.runCommand(ctx, nil, nil, "fsck", "--full", "--no-dangling", "--no-progress"); err != nil {
		differences = append(differences, err.Error())
	}
	versions, err := d.git.listVersions(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		out, err := d.git.runCommand(ctx, nil, nil, "for-each-ref", "--format=%(objectname)", tagRef(v.tag))
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(string(out)) != v.id {
			differences = append(differences, fmt.Sprintf("%s: its tag names another commit; archive repair mends that of the newest version", v.tag))
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
	list, err := d.git.listDocuments(ctx, v.id)
	if err != nil {
		return err
	}
	return d.git.forEachObject(ctx, list, func(o object, content io.Reader) error {
		page, err := readPage(content)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", o.name, v.tag, err)
		}
		return do(o.name, page)
	})
}

// fileDifference is a file of the folder that differs from git.
type fileDifference struct {
	name    string // below the domain, with slashes
	what    string
	missing bool
}

// checkFiles compares the folder with the newest commit.
func (d *domain) checkFiles(ctx context.Context) (differences []string, err error) {
	list, err := d.compareFiles(ctx)
	for _, f := range list {
		differences = append(differences, fmt.Sprintf("%s/%s %s; archive repair mends it", d.name, f.name, f.what))
	}
	return differences, err
}

func (d *domain) compareFiles(ctx context.Context) (list []fileDifference, err error) {
	want, err := d.git.listObjects(ctx, d.tip.id, "")
	if err != nil {
		return nil, err
	}
	have, err := readEntries(d.dir)
	if err != nil {
		return nil, err
	}
	for _, o := range want {
		entry, found := have[o.name]
		delete(have, o.name)
		switch {
		case !found:
			list = append(list, fileDifference{o.name, "is missing", true})
		case !entry.Type().IsRegular():
			list = append(list, fileDifference{o.name, "is no file", false})
		default:
			id, err := blobID(filepath.Join(d.dir, filepath.FromSlash(o.name)))
			if err != nil {
				list = append(list, fileDifference{o.name, "cannot be read: " + err.Error(), false})
			} else if id != o.id {
				list = append(list, fileDifference{o.name, "has other bytes than git", false})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		list = append(list, fileDifference{name, "is not in git", false})
	}
	return list, nil
}

// readEntries returns what is in the folder of a domain but folders, by the name below it.
func readEntries(dir string) (map[string]fs.DirEntry, error) {
	found := map[string]fs.DirEntry{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == filepath.Join(dir, ".git"):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		below, err := filepath.Rel(dir, name)
		found[filepath.ToSlash(below)] = entry
		return err
	})
	return found, err
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
