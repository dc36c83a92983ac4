package keyvalue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
)

// pageRows limits the entries of one page.
const pageRows = 500

// hasID selects rows with the id of an entry. Old tools left other rows, which Get does not
// find either.
const hasID = "typeof(id) = 'text' AND length(id) BETWEEN 1 AND 32 AND id NOT GLOB '*[^0-9A-Za-z_-]*'"

// Sites lists the sites with entries, and those with a damaged file, sorted by id. A file with the name of a
// site that cannot be read for another reason is an error.
func (s *Store) Sites(ctx context.Context) ([]string, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list sites with processed contents: %w", err)
	}
	var sites []string
	for _, f := range files {
		site, ok := strings.CutSuffix(f.Name(), ".db")
		if !ok || !nameOK(site) {
			continue
		}
		used, err := s.hasEntries(ctx, site)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return nil, fmt.Errorf("list sites with processed contents: %s: %w", f.Name(), err)
		}
		if used || err != nil {
			sites = append(sites, site)
		}
	}
	return sites, nil
}

// hasEntries reports whether a site has entries. It ignores other files, such as
// <site>_fields.db.
func (s *Store) hasEntries(ctx context.Context, site string) (found bool, err error) {
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return false, err
	}
	ours, err := s.isStore(ctx, s.filePath(site))
	unlock()
	if err != nil || !ours {
		return false, s.damageError(err)
	}
	err = s.readSite(ctx, site, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM articles WHERE "+hasID+")").Scan(&found)
	})
	return found, err
}

// Page returns the entries of a site with ids greater than after, sorted by id: at most 500
// entries and maxBytes of data, but at least one entry. It is empty after the last entry. A damaged
// entry has Damage.
func (s *Store) Page(ctx context.Context, site, after string, maxBytes int) ([]Entry, error) {
	var page []Entry
	err := s.readSite(ctx, site, func(c *sql.Conn) error {
		page = nil
		rows, err := c.QueryContext(ctx, "SELECT id, data"+fromEntries+" > ? AND "+hasID+" ORDER BY id LIMIT ?", after, pageRows)
		if err != nil {
			return err
		}
		defer rows.Close()
		size := 0
		for rows.Next() {
			e, err := s.scanEntry(rows, site)
			if err != nil {
				return err
			}
			if size += len(e.Data); size > maxBytes && len(page) > 0 {
				break
			}
			page = append(page, e)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read processed contents of site %q: %w", site, err)
	}
	return page, nil
}

// DropEmpty removes the file of a site if it holds no entry and no table of other tools.
// Other processes notice at their next operation.
func (s *Store) DropEmpty(ctx context.Context, site string) error {
	f, err := s.useFile(ctx, site)
	if err != nil {
		return err
	}
	defer s.releaseFile(f)
	if _, err := os.Stat(f.path); err != nil {
		return nil
	}
	if _, err := f.prepareConn(ctx, false, false); err != nil {
		return fmt.Errorf("remove empty file of site %q: %w", site, err)
	}
	unlock, err := s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	empty := false
	err = f.runTransaction(ctx, func(c *sql.Conn) error {
		if !f.hasName() {
			return nil // deleted meanwhile: another file has the name now
		}
		err := c.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM articles)
			AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name <> 'articles')`).Scan(&empty)
		if err != nil || !empty {
			return err
		}
		// Remove the file within the transaction: a waiting writer then notices
		// that its file is deleted.
		return removeFiles(f.path, f.path+"-wal", f.path+"-shm")
	})
	if empty || err != nil {
		_ = f.close()
	}
	if err != nil {
		return fmt.Errorf("remove empty file of site %q: %w", site, err)
	}
	return nil
}
