package keyvalue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkBytes bounds the entries that Check has in memory.
const checkBytes = 16 << 20

// Check reads the file of a site to its end and reports its faults: broken pages and indexes of SQLite, and
// entries with other bytes than were stored. A missing file has no faults.
func (s *Store) Check(ctx context.Context, site string, report func(fault string)) error {
	if _, err := os.Stat(s.filePath(site)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fault := func(err error) error {
		if errors.Is(err, ErrDamaged) {
			report(err.Error())
			return nil
		}
		return err
	}
	err := s.readSite(ctx, site, func(c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, "PRAGMA integrity_check(10)")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			if text != "ok" {
				report(fmt.Sprintf("%v: file %s: %s", ErrDamaged, s.filePath(site), strings.ReplaceAll(text, "\n", " ")))
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fault(err)
	}
	for after := ""; ; {
		page, err := s.Page(ctx, site, after, checkBytes)
		if err != nil || len(page) == 0 {
			return fault(err)
		}
		for _, e := range page {
			if e.Damage != nil {
				report(e.Damage.Error())
			}
		}
		after = page[len(page)-1].ID
	}
}

// SetAside moves the file of a site to a new folder within that of the store, where a store can be opened to
// read what is left of it. The site has no contents afterwards. No other process may have the site open.
func (s *Store) SetAside(ctx context.Context, site string) (folder string, err error) {
	f, err := s.useFile(ctx, site)
	if err != nil {
		return "", err
	}
	defer s.releaseFile(f)
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	_ = f.close() // writes its log back, if it can
	folder = filepath.Join(s.dir, "damaged-"+s.o.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("set a damaged file aside: %w", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(f.path+suffix, filepath.Join(folder, filepath.Base(f.path)+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set a damaged file aside: %w", err)
		}
	}
	return folder, nil
}
