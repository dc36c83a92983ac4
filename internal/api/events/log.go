package events

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
)

// tables makes the tables. pages has the version of each page that was told last; goneVersion: page.gone.
const tables = `
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sites(site TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages(site TEXT NOT NULL, key TEXT NOT NULL, version TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY(site, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS webhooks(
  id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, types TEXT NOT NULL, sites TEXT NOT NULL, created INTEGER NOT NULL,
  position INTEGER NOT NULL, disabled TEXT NOT NULL DEFAULT '', failing INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
  next INTEGER NOT NULL DEFAULT 0, fault TEXT NOT NULL DEFAULT '', replays INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead(
  webhook TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, event TEXT NOT NULL, PRIMARY KEY(webhook, seq)) WITHOUT ROWID;`

// FileName is the name of the log in its folder.
const FileName = "events.db"

// hardBound is the most events, in times of the wanted number, that wait for a webhook.
const hardBound = 10

// store is the file of the log. Goroutines may share it.
type store struct {
	write, read *sql.DB
	light       *sql.DB // writes positions of webhooks: they outlive a kill of the process, and after a loss of power messages are repeated
	name        string  // of the log: a part of the ids of its messages
	keep        int64   // events
}

// openStore opens or creates the file, with a folder of its own.
func openStore(dir string, keep int64) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	write, err := sqldb.OpenFile(path, sqldb.FileOptions{PageSums: true})
	if err != nil {
		return nil, err
	}
	s := &store{write: write, keep: keep}
	if _, err = write.Exec(tables); err == nil {
		_, err = write.Exec("INSERT OR IGNORE INTO meta(name, value) VALUES('name', ?)", strings.ToLower(rand.Text()[:12]))
	}
	if err == nil {
		err = write.QueryRow("SELECT value FROM meta WHERE name = 'name'").Scan(&s.name)
	}
	if err == nil {
		s.light, err = sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: "NORMAL"})
	}
	if err == nil {
		if s.read, err = sqldb.OpenFile(path, sqldb.FileOptions{ReadOnly: true}); err != nil {
			s.light.Close()
		}
	}
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", path, sqldb.NameFull(err, path))
	}
	s.read.SetMaxOpenConns(4)
	return s, nil
}

// close closes the file.
func (s *store) close() {
	s.read.Close()
	s.light.Close()
	s.write.Close()
}

// update runs f in a transaction, which is on the disk when update returns. f begins with a change: two connections write.
func (s *store) update(ctx context.Context, f func(*sql.Tx) error) error {
	return runIn(ctx, s.write, f)
}

func runIn(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error counts
		return err
	}
	return tx.Commit()
}

// siteState is what the reader knows about a site.
type siteState struct {
	Silent    bool   `json:",omitempty"` // the pages that are there are recorded without events
	Watermark string `json:",omitempty"` // UDate of the last row of the stream
	Swept     string `json:",omitempty"` // counters at the start of the last whole sweep
	Finished  bool   `json:",omitempty"`
	Worked    bool   `json:",omitempty"` // rows have changed since the last site.finished
	Trouble   string `json:",omitempty"` // the last one that was told, until it is over
}

// told is the version of a page that was told last.
type told struct{ key, version, url string }

// change is what the reader writes at once about a site.
type change struct {
	events []Event
	put    []told
	remove []string // keys
}

// hasNone reports whether there is nothing to write.
func (c *change) hasNone() bool { return len(c.events)+len(c.put)+len(c.remove) == 0 }

// apply writes a change and the state of its site.
func (s *store) apply(ctx context.Context, site string, c change, state siteState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return s.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO sites(site, state) VALUES(?, ?) ON CONFLICT DO UPDATE SET state = excluded.state", site, text); err != nil {
			return err
		}
		for _, one := range c.put {
			if _, err := tx.Exec("INSERT INTO pages(site, key, version, url) VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version", site, one.key, one.version, one.url); err != nil {
				return err
			}
		}
		for _, key := range c.remove {
			if _, err := tx.Exec("DELETE FROM pages WHERE site = ? AND key = ?", site, key); err != nil {
				return err
			}
		}
		return s.append(tx, c.events)
	})
}

// append adds events, and removes the oldest ones: those beyond the wanted number that each webhook has had, and all beyond the hard bound.
func (s *store) append(tx *sql.Tx, list []Event) error {
	last := int64(0)
	for _, e := range list {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		added, err := tx.Exec("INSERT INTO events(at, type, data) VALUES(?, ?, ?)", e.Time.UnixMilli(), e.Type, data)
		if err != nil {
			return err
		}
		if last, err = added.LastInsertId(); err != nil {
			return err
		}
	}
	if last <= s.keep {
		return nil
	}
	_, err := tx.Exec("DELETE FROM events WHERE seq <= ? OR seq <= (SELECT MIN(?, IFNULL(MIN(position), ?)) FROM webhooks WHERE disabled = '')", last-hardBound*s.keep, last-s.keep, last)
	return err
}

// removeSite tells that a site is deleted, and forgets it.
func (s *store) removeSite(ctx context.Context, site string, e Event) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"pages", "sites"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE site = ?", site); err != nil {
				return err
			}
		}
		return s.append(tx, []Event{e})
	})
}

// begin records the sites that are there when the log begins.
func (s *store) begin(ctx context.Context, sites []string) error {
	return s.update(ctx, func(tx *sql.Tx) error {
		for _, site := range sites {
			if _, err := tx.Exec(`INSERT INTO sites(site, state) VALUES(?, '{"Silent":true}')`, site); err != nil {
				return err
			}
		}
		_, err := tx.Exec("INSERT INTO meta(name, value) VALUES('begun', '1')")
		return err
	})
}

// hasBegun reports whether begin was called, now or before a restart.
func (s *store) hasBegun(ctx context.Context) (begun bool, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM meta WHERE name = 'begun')").Scan(&begun)
	return begun, err
}

// states returns what is known about all sites.
func (s *store) states(ctx context.Context) (map[string]siteState, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT site, state FROM sites")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]siteState{}
	for rows.Next() {
		var site, text string
		if err := rows.Scan(&site, &text); err != nil {
			return nil, err
		}
		var state siteState
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return nil, fmt.Errorf("state of site %s: %w", site, err)
		}
		all[site] = state
	}
	return all, rows.Err()
}

// versions returns the told versions of keys, in any order.
func (s *store) versions(ctx context.Context, site string, keys []string) (map[string]told, error) {
	args := []any{site}
	for _, key := range keys {
		args = append(args, key)
	}
	return s.queryVersions(ctx, "key IN (?"+strings.Repeat(",?", len(keys)-1)+")", args)
}

// versionsBetween returns the told versions behind a key and up to another one; "": to the end.
func (s *store) versionsBetween(ctx context.Context, site, after, last string) (map[string]told, error) {
	if last == "" {
		return s.queryVersions(ctx, "key > ?", []any{site, after})
	}
	return s.queryVersions(ctx, "key > ? AND key <= ?", []any{site, after, last})
}

func (s *store) queryVersions(ctx context.Context, where string, args []any) (map[string]told, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT key, version, url FROM pages WHERE site = ? AND "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]told{}
	for rows.Next() {
		var one told
		if err := rows.Scan(&one.key, &one.version, &one.url); err != nil {
			return nil, err
		}
		found[one.key] = one
	}
	return found, rows.Err()
}

// readAfter returns at most most events behind a position, ordered by number.
func (s *store) readAfter(ctx context.Context, position int64, most int) ([]Event, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT seq, at, type, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?", position, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Event{}
	for rows.Next() {
		var e Event
		var at int64
		var data []byte
		if err := rows.Scan(&e.ID, &at, &e.Type, &data); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &e.Data); err != nil {
			return nil, fmt.Errorf("event %d: %w", e.ID, err)
		}
		e.Time = time.UnixMilli(at).UTC()
		list = append(list, e)
	}
	return list, rows.Err()
}

// bounds returns the number before the oldest event and that of the newest one; both are the same without an event.
func (s *store) bounds(ctx context.Context) (before, last int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = 'events'").Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	if err == nil {
		err = s.read.QueryRowContext(ctx, "SELECT IFNULL(MIN(seq) - 1, ?) FROM events", last).Scan(&before)
	}
	return before, last, err
}
