package keyvalue

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pageRows bounds the entries of one page.
const pageRows = 500

// named chooses what has the id of an entry. Old tools left other rows, which
// Get does not find either.
const named = "typeof(id) = 'text' AND length(id) BETWEEN 1 AND 32 AND id NOT GLOB '*[^0-9A-Za-z_-]*'"

// Sites lists the sites that have entries, in the order of their ids. A file
// that has the name of a site's and cannot be read is an error.
func (s *Store) Sites(ctx context.Context) ([]string, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("kv: sites: %w", err)
	}
	var sites []string
	for _, f := range files {
		site, ok := strings.CutSuffix(f.Name(), ".db")
		if !ok || !nameOK(site) {
			continue
		}
		used, err := s.hasEntries(ctx, site)
		if err != nil {
			return nil, fmt.Errorf("kv: sites: %s: %w", f.Name(), err)
		}
		if used {
			sites = append(sites, site)
		}
	}
	return sites, nil
}

// hasEntries tells whether a site has entries. It leaves alone what is no file
// of articles, as <site>_fields.db.
func (s *Store) hasEntries(ctx context.Context, site string) (found bool, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	ours, err := s.isStore(ctx, filepath.Join(s.dir, site+".db"))
	unlock()
	if err != nil || !ours {
		return false, err
	}
	err = s.read(ctx, site, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM articles WHERE "+named+")").Scan(&found)
	})
	return found, err
}

// Page returns the entries of a site whose ids come behind after, in the order
// of ids: at most 500, and no more than the first beyond so many bytes of data.
// Behind the last one it is empty.
func (s *Store) Page(ctx context.Context, site, after string, most int) ([]Entry, error) {
	var page []Entry
	err := s.read(ctx, site, func(c *sql.Conn) error {
		page = nil
		rows, err := c.QueryContext(ctx, selectEntry+" > ? AND "+named+" ORDER BY id LIMIT ?", after, pageRows)
		if err != nil {
			return err
		}
		defer rows.Close()
		size := 0
		for rows.Next() {
			e, err := scanEntry(rows)
			if err != nil {
				return err
			}
			if size += len(e.Data); size > most && len(page) > 0 {
				break
			}
			page = append(page, e)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("kv: page: %w", err)
	}
	return page, nil
}

// Dates returns the dates of those ids that have an entry, by id; the zero time
// for a date that cannot be read.
func (s *Store) Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error) {
	dates := make(map[string]time.Time, len(ids))
	if err := checkIDs(site, ids); err != nil || len(ids) == 0 {
		return dates, err
	}
	err := s.read(ctx, site, func(c *sql.Conn) error {
		return inChunks(ids, func(list string, args []any) error {
			rows, err := c.QueryContext(ctx, "SELECT id, CAST(CDate AS TEXT) FROM articles WHERE id"+list, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id string
				var date sql.NullString
				if err := rows.Scan(&id, &date); err != nil {
					return err
				}
				dates[id] = parseDate(date.String)
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("kv: dates: %w", err)
	}
	return dates, nil
}

// DropEmpty removes the file of a site when nothing is in it: no article, and
// no table of other tools. Other processes notice at their next operation.
func (s *Store) DropEmpty(ctx context.Context, site string) error {
	f, err := s.use(ctx, site)
	if err != nil {
		return err
	}
	defer s.release(f)
	if _, err := os.Stat(f.path); err != nil {
		return nil
	}
	if err := f.ready(ctx, false); err != nil {
		return fmt.Errorf("kv: drop: %w", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	empty := false
	err = f.transact(ctx, func(c *sql.Conn) error {
		if !f.alive() {
			return nil // deleted meanwhile: what has the name now is another
		}
		err := c.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM articles)
			AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name <> 'articles')`).Scan(&empty)
		if err != nil || !empty {
			return err
		}
		// Within the transaction: who waits to write finds afterwards that its
		// file is dead.
		return remove(f.path, f.path+"-wal", f.path+"-shm")
	})
	if empty || err != nil {
		_ = f.close()
	}
	if err != nil {
		return fmt.Errorf("kv: drop: %w", err)
	}
	return nil
}
