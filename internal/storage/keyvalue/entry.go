package keyvalue

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/wire/zpack"
)

// cdateLayout is the layout of stored dates: UTC, as SQLite's CURRENT_TIMESTAMP.
const cdateLayout = "2006-01-02 15:04:05"

// fromEntries casts the date to text, so that the driver does not parse it.
const fromEntries = ", CAST(CDate AS TEXT) FROM articles WHERE id"

// maxIDs limits the placeholders of one statement.
const maxIDs = 200

// PutAll stores entries in one transaction and replaces entries with the same ids. It creates
// the file of the site if it is missing. inserted reports for each entry whether its id was
// new. If an id occurs twice, the last entry wins. When PutAll returns without an error, the
// entries are in the current file of the site; after an error none of them is. Without
// entries it does nothing and creates no file. Each entry is stored with a digest (zpack.Seal).
func (s *Store) PutAll(ctx context.Context, site string, entries []Entry) (inserted []bool, err error) {
	for _, e := range entries {
		if !nameOK(e.ID) {
			return nil, fmt.Errorf("%w: id %.100q", ErrName, e.ID)
		}
		if e.Damage != nil {
			return nil, e.Damage
		}
	}
	if len(entries) == 0 {
		_, err := fileName(site)
		return nil, err
	}
	now := s.o.Now()
	inserted = make([]bool, len(entries))
	err = s.writeSite(ctx, site, true, func(c *sql.Conn) error {
		insert, err := c.PrepareContext(ctx, "INSERT INTO articles(id, data, CDate) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING")
		if err != nil {
			return err
		}
		defer insert.Close()
		update, err := c.PrepareContext(ctx, "UPDATE articles SET data = ?, CDate = ? WHERE id = ?")
		if err != nil {
			return err
		}
		defer update.Close()
		for i, e := range entries {
			if e.CDate.IsZero() {
				e.CDate = now
			}
			date, data := e.CDate.UTC().Format(cdateLayout), zpack.Seal(e.ID, e.CDate, e.Data)
			r, err := insert.ExecContext(ctx, e.ID, data, date)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			if err != nil {
				return err
			}
			if inserted[i] = n == 1; inserted[i] {
				continue
			}
			if _, err := update.ExecContext(ctx, data, date, e.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store processed contents of site %q: %w", site, err)
	}
	return inserted, nil
}

// Get returns the entry of id. It returns false if the entry or the file is missing. A damaged entry
// is an error (ErrDamaged).
func (s *Store) Get(ctx context.Context, site, id string) (Entry, bool, error) {
	all, err := s.GetAll(ctx, site, id)
	if err != nil {
		return Entry{}, false, err
	}
	e, ok := all[id]
	return e, ok, e.Damage
}

// GetAll returns the existing entries of ids, by id. A damaged one has Damage.
func (s *Store) GetAll(ctx context.Context, site string, ids ...string) (map[string]Entry, error) {
	return s.readEntries(ctx, site, "data", ids, s.scanEntry)
}

// Dates returns the dates of the existing entries of ids, by id. An invalid date gives the
// zero time.
func (s *Store) Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error) {
	entries, err := s.readEntries(ctx, site, "NULL", ids, scanColumns)
	dates := make(map[string]time.Time, len(entries))
	for id, e := range entries {
		dates[id] = e.CDate
	}
	return dates, err
}

// readEntries returns the existing entries of ids with the given expression as their data.
func (s *Store) readEntries(ctx context.Context, site, data string, ids []string, scan func(*sql.Rows, string) (Entry, error)) (map[string]Entry, error) {
	found := make(map[string]Entry, len(ids))
	if err := checkIDs(site, ids); err != nil || len(ids) == 0 {
		return found, err
	}
	err := s.readSite(ctx, site, func(c *sql.Conn) error {
		return inChunks(ids, func(list string, args []any) error {
			rows, err := c.QueryContext(ctx, "SELECT id, "+data+fromEntries+list, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				e, err := scan(rows, site)
				if err != nil {
					return err
				}
				found[e.ID] = e
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read processed contents of site %q: %w", site, err)
	}
	return found, nil
}

// scanEntry reads a row with id, data and date, and checks its digest.
func (s *Store) scanEntry(rows *sql.Rows, site string) (Entry, error) {
	e, err := scanColumns(rows, site)
	if err != nil {
		return e, err
	}
	if e.Data, err = zpack.Unseal(e.ID, e.CDate, e.Data); err != nil {
		e.Data, e.Damage = nil, fmt.Errorf("%w: file %s, key %s: %w", ErrDamaged, s.filePath(site), e.ID, err)
	}
	return e, nil
}

// scanColumns reads a row with id, data and date.
func scanColumns(rows *sql.Rows, _ string) (Entry, error) {
	var e Entry
	var date sql.NullString
	err := rows.Scan(&e.ID, &e.Data, &date)
	e.CDate = parseDate(date.String)
	return e, err
}

// Delete removes the entries of ids in one transaction. It ignores missing entries and a
// missing file.
func (s *Store) Delete(ctx context.Context, site string, ids ...string) error {
	if err := checkIDs(site, ids); err != nil || len(ids) == 0 {
		return err
	}
	err := s.writeSite(ctx, site, false, func(c *sql.Conn) error {
		return inChunks(ids, func(list string, args []any) error {
			_, err := c.ExecContext(ctx, "DELETE FROM articles WHERE id"+list, args...)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("delete processed contents of site %q: %w", site, err)
	}
	return nil
}

func checkIDs(site string, ids []string) error {
	if _, err := fileName(site); err != nil {
		return err
	}
	for _, id := range ids {
		if !nameOK(id) {
			return fmt.Errorf("%w: id %.100q", ErrName, id)
		}
	}
	return nil
}

// inChunks calls fn with " IN (?,...)" and its arguments for at most maxIDs ids at a time.
func inChunks(ids []string, fn func(list string, args []any) error) error {
	for len(ids) > 0 {
		n := min(len(ids), maxIDs)
		args := make([]any, n)
		for i, id := range ids[:n] {
			args[i] = id
		}
		if err := fn(" IN (?"+strings.Repeat(",?", n-1)+")", args); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// parseDate parses the date of an entry. Other tools wrote fractions and "T". An invalid date
// gives the zero time.
func parseDate(text string) time.Time {
	for _, layout := range []string{cdateLayout, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}
