package repository

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/files"
)

// Names in the folder of an archive.
const (
	contentFolder = "content"
	locksFolder   = "locks"
	schemaFolder  = "schema"
	tmpFolder     = "tmp"
	treeFolder    = "tree"
	damagedFolder = "damaged"
	database      = "archive.db"
	schemaName    = "page.xsd"
)

// MaxFile is the size of the largest file that a client may add, in bytes.
const MaxFile = 64 << 20

// Repository is an open archive. Goroutines and processes may share a folder.
type Repository struct {
	// Log gets errors of the XML validation. Set it before use.
	Log *slog.Logger

	dir     string // absolute
	catalog *catalog.Catalog
	groups  groups

	// step is called between the steps of a write; tests kill the process there.
	step func(name string)
}

var _ archive.Store = (*Repository)(nil)

// ErrNoArchive means that a folder is no archive.
var ErrNoArchive = errors.New("is no archive; make one with archive init")

// Init makes an archive in a folder that is missing or empty, or what is missing of one.
func Init(dir string) error {
	if err := checkFolder(dir); err != nil {
		return fmt.Errorf("init archive %s: %w", dir, err)
	}
	for _, name := range []string{locksFolder, tmpFolder, schemaFolder, contentFolder} { // content comes last: it marks an archive
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("init archive: %w", err)
		}
	}
	name := filepath.Join(dir, schemaFolder, schemaName)
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		if err := files.Write(name, pagexml.NewSchema().Text(), 0o600); err != nil {
			return fmt.Errorf("init archive: %w", err)
		}
	}
	r, err := Open(dir)
	if err != nil {
		return err
	}
	return r.Close()
}

// checkFolder refuses a folder with other files than those of an archive.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && (name == contentFolder || name == locksFolder || name == schemaFolder || name == tmpFolder || name == damagedFolder || name == "crawler"):
		case strings.HasPrefix(name, database+".damaged-"):
		case !e.IsDir() && (strings.HasPrefix(name, database) || strings.HasSuffix(name, ".ini") || strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "commit.json")):
		default:
			return fmt.Errorf("it has other files (%s); give an empty or a new folder", name)
		}
	}
	return err
}

// Open opens an archive that Init has made. The error wraps ErrNoArchive for another folder.
func Open(dir string) (*Repository, error) {
	r, err := openArchive(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.refuseLost(context.Background()), r.upgradeSchema(context.Background())); err != nil {
		return nil, errors.Join(fmt.Errorf("open archive %s: %w", dir, err), r.Close())
	}
	return r, nil
}

func openArchive(dir string) (*Repository, error) {
	r, err := locateArchive(dir)
	if err != nil {
		return nil, err
	}
	if r.catalog, err = catalog.Open(filepath.Join(r.dir, database)); err != nil {
		if catalog.Damaged(err) {
			err = fmt.Errorf("%w; build it again with archive db recover", err)
		}
		return nil, fmt.Errorf("open archive: %w", err)
	}
	return r, nil
}

// locateArchive finds an archive and does not open its database.
func locateArchive(dir string) (*Repository, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	if info, err := os.Stat(filepath.Join(dir, contentFolder)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("folder %s %w %s", dir, ErrNoArchive, dir)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("open archive: the program git is not in PATH; install the package git")
	}
	return &Repository{Log: slog.New(slog.DiscardHandler), dir: dir, step: func(string) {}}, nil
}

// refuseLost refuses a database that was lost: it is empty, and git has more than the first commit, whose
// rows a kill may have left out.
func (r *Repository) refuseLost(ctx context.Context) error {
	if stored, _, err := r.catalog.Last(ctx); err != nil || stored > 0 {
		return err
	}
	list, err := r.listVersions(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	if stored, _, err := r.catalog.Last(ctx); err != nil || stored > 0 { // another process has just stored it
		return err
	}
	l, err := r.readLast()
	if err != nil {
		return err
	}
	if len(list) > 1 || l.Number != list[0].number {
		return errors.New("the database has lost its rows; build it again with archive db recover")
	}
	return r.withNumberLock(ctx, func() error { return nil })
}

// upgradeSchema replaces the schema of an earlier program. One that is damaged stays: it is needed for new
// nodes only, and they report it.
func (r *Repository) upgradeSchema(ctx context.Context) error {
	schema, text, err := r.readSchema()
	if err != nil || string(schema.Text()) == string(text) {
		return nil
	}
	unlock, err := files.Lock(ctx, r.lockFile("schema.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if schema, err = r.Schema(); err != nil {
		return err
	}
	return files.Write(r.schemaFile(), schema.Text(), 0o600)
}

// Close closes the archive.
func (r *Repository) Close() error { return r.catalog.Close() }

// Dir returns the folder of the archive.
func (r *Repository) Dir() string { return r.dir }

// Query returns the versions that match; see catalog.Query.
func (r *Repository) Query(ctx context.Context, q archive.Query) ([]archive.Meta, error) {
	return r.catalog.Query(ctx, q)
}

// Each calls do with each version that matches; see catalog.Each.
func (r *Repository) Each(ctx context.Context, q archive.Query, do func(archive.Meta) error) error {
	return r.catalog.Each(ctx, q, do)
}

// Commits returns at most limit commits with a number above after, the oldest first.
func (r *Repository) Commits(ctx context.Context, after int64, limit int) ([]archive.Commit, error) {
	return r.catalog.Commits(ctx, after, limit)
}

// Last returns the largest number of a commit, 0 without one.
func (r *Repository) Last(ctx context.Context) (int64, error) {
	number, _, err := r.catalog.Last(ctx)
	return number, err
}

// Newest returns the newest commit of a domain; found is false without one.
func (r *Repository) Newest(ctx context.Context, domain string) (commit archive.Commit, found bool, err error) {
	return r.catalog.Newest(ctx, domain)
}

// inTemporary calls do with a new folder below tmp, and removes it. It stays if the process is killed;
// the next call removes it.
func (r *Repository) inTemporary(ctx context.Context, do func(dir string) error) error {
	dir, remove, err := r.temporaryFolder(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(dir), remove())
}

func (r *Repository) temporaryFolder(ctx context.Context) (dir string, remove func() error, err error) {
	all, err := files.Lock(ctx, r.lockFile("tmp.lock"))
	if err != nil {
		return "", nil, err
	}
	defer all()
	if err := r.removeLeft(); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(filepath.Join(r.dir, tmpFolder), "w"); err != nil {
		return "", nil, err
	}
	unlock, err := files.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", nil, err
	}
	return dir, func() error {
		defer unlock()
		return os.RemoveAll(dir)
	}, nil
}

// removeLeft removes the folders of killed processes. The caller holds tmp.lock.
func (r *Repository) removeLeft() error {
	entries, err := os.ReadDir(filepath.Join(r.dir, tmpFolder))
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := filepath.Join(r.dir, tmpFolder, e.Name())
		if !e.IsDir() { // a file that a reader has open, or was about to open
			if err := files.IgnoreMissing(os.Remove(dir)); err != nil {
				return err
			}
			continue
		}
		unlock, err := files.TryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // in use, or just removed
		}
		err = os.RemoveAll(dir)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
