package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

const (
	keysLock   = ".keys.lock"     // in the folder of the key-value files: keys are being renewed
	upgradeMax = 10 * time.Minute // a program waits so long for the upgrade of another one
	movesPage  = 1000             // URLs whose contents move in one step
)

// errOldKeys means that rows have keys of an older version and that other processes may use
// the stores.
var errOldKeys = errors.New("the keys of URLs are those of an older version")

// openShared is open for a process that shares the stores. If they have keys of an older
// version it first renews them, alone; other processes wait for it.
func openShared(ctx context.Context, c Config, log *slog.Logger) (s stores, closeAll func(), err error) {
	for again := true; ; {
		s, closeAll, err = openStores(ctx, c, log, shared)
		switch {
		case errors.Is(err, errOldKeys):
			err = upgradeKeys(ctx, c, log)
		case errors.Is(err, errMoving) && isUpgrading(c.KeyDir):
			var unlock func()
			if unlock, err = awaitLock(ctx, c.KeyDir, keysLock); err == nil {
				unlock()
			}
		case errors.Is(err, errMoving) && again:
			again, err = false, nil // the renewal may have ended between the two looks
		default:
			return s, closeAll, err
		}
		if err != nil {
			return stores{}, nil, err
		}
	}
}

// openedAlone is open for a program that must be the only user of the stores.
func openedAlone(ctx context.Context, c Config, log *slog.Logger) (s stores, closeAll func(), err error) {
	return openStores(ctx, c, log, alone)
}

// upgradeKeys renews the keys when no other process has the stores open.
func upgradeKeys(ctx context.Context, c Config, log *slog.Logger) error {
	unlock, err := awaitLock(ctx, c.KeyDir, keysLock)
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have renewed them meanwhile, and may keep the stores open from now on.
	_, closeAll, err := openStores(ctx, c, log, shared)
	if !errors.Is(err, errOldKeys) {
		if err == nil {
			closeAll()
		}
		return err
	}
	c.DB.Synchronous = "FULL" // the new place must be durable before the old one is forgotten
	log.Info("renewing the keys of URLs as soon as no other program has the stores open")
	_, closeAll, err = openStores(ctx, c, log, users{alone: true, lock: func(folder string) (func(), error) { return awaitLock(ctx, folder, contentsLock) }})
	if err != nil {
		return err
	}
	closeAll()
	return nil
}

// isUpgrading reports whether another process renews the keys.
func isUpgrading(folder string) bool {
	unlock, err := files.TryLock(filepath.Join(folder, keysLock))
	if err == nil {
		unlock()
	}
	return errors.Is(err, files.ErrLocked)
}

// awaitLock takes the exclusive lock of a file in the folder of the key-value files.
func awaitLock(ctx context.Context, folder, name string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, upgradeMax)
	defer cancel()
	unlock, err = files.Lock(ctx, filepath.Join(folder, name))
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("renew the keys of URLs: %w", errInUse)
	}
	return unlock, err
}

// readRawContent reads a raw content. The list of a chain has the keys of this version.
func (repo *Repository) readRawContent(ctx context.Context, v rawfiles.Version) ([]byte, error) {
	data, err := repo.Raw.Read(ctx, v)
	if err != nil || v.Kind != rawfiles.Chain {
		return data, err
	}
	lines := strings.Split(string(data), "\n")
	current, err := repo.CurrentKeys(ctx, lines)
	for i, key := range lines {
		lines[i] = cmp.Or(current[key], key)
	}
	return []byte(strings.Join(lines, "\n")), err
}

// renewKeys gives all rows and contents the keys of this version. It must be the only user
// of the stores, and the trash must be empty. A stop at any point loses nothing: the next
// call continues.
func (s stores) renewKeys(ctx context.Context, rows *sqlstore.Store, log *slog.Logger) error {
	began := time.Now()
	done, err := rows.NewKeys(ctx)
	if err == nil {
		err = s.repo.EmptyTrash(ctx) // contents of rows that became one with another row
	}
	for err == nil {
		var moves []sqlstore.KeyMove
		if moves, err = rows.KeyMoves(ctx, movesPage); err != nil || len(moves) == 0 {
			break
		}
		site, keys := moves[0].SiteID, make(map[string]string, len(moves))
		for _, m := range moves {
			keys[m.Old] = m.New
		}
		if err = s.moveContents(ctx, site, keys); err == nil {
			err = rows.KeysMoved(ctx, site, slices.Collect(maps.Keys(keys)))
		}
	}
	if err == nil {
		err = rows.NewKeysEnd(ctx)
	}
	if err != nil {
		return fmt.Errorf("renew the keys of URLs: %w", err)
	}
	log.Info("the keys of URLs are renewed", "sites", done.Sites, "rows", done.Rows, "joined", done.Joined, "ms", time.Since(began).Milliseconds())
	return nil
}

// moveContents gives the contents of rows of a site their new keys. Keys maps old to new ones.
func (s stores) moveContents(ctx context.Context, site string, keys map[string]string) error {
	for _, place := range []movable{s.files, s.table} {
		if err := renameEntries(ctx, place, site, keys); err != nil {
			return err
		}
	}
	return s.repo.Raw.Rename(ctx, site, keys)
}

// renameEntries gives processed contents new ids. The entry of a new id stays, if there is
// one.
func renameEntries(ctx context.Context, place movable, site string, keys map[string]string) error {
	found, err := place.Dates(ctx, site, slices.Collect(maps.Keys(keys))...)
	if err != nil || len(found) == 0 {
		return err
	}
	taken, err := place.Dates(ctx, site, slices.Collect(maps.Values(keys))...)
	if err != nil {
		return err
	}
	stored := slices.Collect(maps.Keys(found))
	var entries []wire.Entry
	size := 0
	for i, old := range stored {
		if _, there := taken[keys[old]]; !there {
			e, ok, err := place.Get(ctx, site, old)
			if err != nil && !wire.IsDamage(err.Error()) { // a damaged one is missing under its new key
				return err
			}
			if e.ID = keys[old]; ok && err == nil {
				entries, size = append(entries, e), size+len(e.Data)
			}
		}
		if size < movePage && i < len(stored)-1 {
			continue
		}
		if _, err := place.PutAll(ctx, site, entries); err != nil {
			return err
		}
		entries, size = nil, 0
	}
	return place.Delete(ctx, site, stored...)
}
