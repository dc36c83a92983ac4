package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// LogFaults logs what a look at the stores without reading them shows: contents that are gone, and a
// database that does not know the files of the node. A program calls it once, at its start.
func LogFaults(ctx context.Context, repo *Repository, c Config, log *slog.Logger) {
	const most = 10
	found := 0
	err := repo.lookForFaults(ctx, c, func(fault string) {
		if found++; found <= most {
			log.Error("the stores do not belong together; run db-task --check", "fault", fault)
		}
	})
	if err != nil && ctx.Err() == nil {
		log.Warn("cannot check the stores", "error", err)
	}
	if found > most {
		log.Error("the stores do not belong together; run db-task --check", "faults", found)
	}
}

// lookForFaults reports the faults of LogFaults. It costs two queries, and a look at one file for each
// site with processed contents.
func (repo *Repository) lookForFaults(ctx context.Context, c Config, report func(fault string)) error {
	ids, err := repo.SiteIDs(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(ids, func(id string) bool { return id != wire.GeneralSite }) {
		left, err := repo.findForeignFile(ctx, c)
		if err == nil && left != "" {
			report(fmt.Sprintf("the database has no sites, but %s is there: the database is new or another one. Stop the daemon, then correct "+
				"db_data_dir or restore the database from a backup, or move the old files away", left))
		}
		return err
	}
	if c.InSQL {
		return nil
	}
	sites, err := repo.ProcessedSites(ctx)
	for _, site := range sites {
		path := filepath.Join(c.KeyDir, site+".db")
		switch size, e := sizeWithLog(path); {
		case errors.Is(e, fs.ErrNotExist):
			report(fmt.Sprintf("contents %s: the file is missing; %s", path, lostContents(site)))
		case e != nil:
			err = errors.Join(err, e)
		case size == 0:
			report(fmt.Sprintf("contents %s: the file has 0 bytes; %s", path, lostContents(site)))
		}
	}
	return err
}

func lostContents(site string) string {
	return "restore it from a backup, or run db-task --repair (hce repair): the pages of site " + site + " are processed again"
}

// sizeWithLog returns the bytes of an SQLite file and of its log.
func sizeWithLog(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if info, err := os.Stat(path + "-wal"); err == nil {
		size += info.Size()
	}
	return size, nil
}

// ErrLost means that there are contents and the database that knows them is missing or empty.
var ErrLost = errors.New("the database of old contents is lost")

// CheckDatabase prints on out that the database of old contents is lost, and returns ErrLost then. It opens nothing.
func CheckDatabase(c Config, out io.Writer) error {
	err := lostDatabase(c)
	if err != nil {
		_, _ = fmt.Fprintln(out, err) // the error says it, too
	}
	return err
}

// lostDatabase returns ErrLost if the file of the database is missing or empty and contents are there: a new
// database would hide them.
func lostDatabase(c Config) error {
	if c.DB.Driver == sqldb.DriverMySQL || c.DB.Path == "" {
		return nil
	}
	state := "is missing"
	switch info, err := os.Stat(c.DB.Path); {
	case err == nil && info.Size() > 0:
		return nil
	case err == nil:
		if log, err := os.Stat(c.DB.Path + "-wal"); err == nil && log.Size() > 0 {
			return nil // it has not been copied into the file yet
		}
		state = "has 0 bytes"
	case !errors.Is(err, fs.ErrNotExist):
		return nil // opening it says why
	}
	left, err := unknownContents(c, true)
	if err != nil || left == "" {
		return err
	}
	return fmt.Errorf("%w: %s %s, but %s is there. Restore the database from a backup, or correct db_path and db_data_dir; to begin "+
		"again without the old pages, move %s and %s away", ErrLost, c.DB.Path, state, left, c.RawDir, c.KeyDir)
}

// findForeignFile returns a file of contents, or a folder of a site, that a database without sites cannot
// know. It returns "" if it finds nothing.
func (repo *Repository) findForeignFile(ctx context.Context, c Config) (string, error) {
	known, err := repo.Raw.Segments(ctx)
	if err != nil {
		return "", err
	}
	return unknownContents(c, known == 0)
}

// siteFolder matches the name of a site's folder or file; others, such as lost+found, have no contents.
var siteFolder = regexp.MustCompile(`^[0-9A-Za-z_-]{1,32}(\.db)?$`)

// unknownContents returns a file of contents, or a folder of a site other than the general one, and "" without
// one. warc includes segments.
func unknownContents(c Config, warc bool) (string, error) {
	patterns := []string{filepath.Join(c.RawDir, "[0-9a-zA-Z]*"), filepath.Join(c.KeyDir, "*.db")}
	if warc {
		patterns = append(patterns, filepath.Join(c.RawDir, ".segments", "*.warc"))
	}
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			switch filepath.Base(name) {
			case wire.GeneralSite, wire.GeneralSite + ".db":
				continue
			}
			if base := filepath.Base(name); !siteFolder.MatchString(base) && filepath.Ext(base) != ".warc" {
				continue
			}
			if info, err := os.Stat(name); err == nil && (info.IsDir() || info.Size() > 0) {
				return name, nil
			}
		}
	}
	return "", nil
}

// checkContents reports damaged processed contents, and the processed rows without their content.
func (s stores) checkContents(ctx context.Context, report func(fault string)) error {
	if err := s.checkEntries(ctx, report); err != nil {
		return err
	}
	repo := s.repo
	sites, err := repo.ProcessedSites(ctx)
	if err != nil {
		return err
	}
	for _, site := range sites {
		selection := repo.Select("check", site, wire.Criterion{Where: "Status=7 AND TagsCount>0 AND Processed>0"})
		for {
			md5s, err := selection.Next(ctx)
			if err != nil {
				return err
			}
			if len(md5s) == 0 {
				break
			}
			stored, err := repo.Contents.Dates(ctx, site, md5s...)
			if err != nil && wire.IsDamage(err.Error()) {
				break // the file is reported
			}
			if err != nil {
				return err
			}
			for _, md5 := range md5s {
				if _, found := stored[md5]; !found {
					report(fmt.Sprintf("site %s, key %s: the row is processed and its content is missing in %s; db-task --repair makes it again", site, md5, repo.Contents.Place(site)))
				}
			}
		}
	}
	return nil
}

// checkEntries reads all processed contents in both places.
func (s stores) checkEntries(ctx context.Context, report func(fault string)) error {
	sites, err := s.files.Sites(ctx)
	for i := 0; i < len(sites) && err == nil; i++ {
		err = s.files.Check(ctx, sites[i], report)
	}
	if err != nil {
		return err
	}
	if sites, err = s.table.Sites(ctx); err != nil {
		return err
	}
	for _, site := range sites {
		for after := ""; ; {
			page, err := s.table.Page(ctx, site, after, movePage)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if e.Damage != nil {
					report(fmt.Sprintf("site %s: %v", site, e.Damage))
				}
			}
			after = page[len(page)-1].ID
		}
	}
	return nil
}
