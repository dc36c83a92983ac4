package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/manual"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire/placement"
)

// Open opens all stores of the node. The caller calls closeAll at the end. Open removes
// the contents that a killed process left in the trash, and its unfinished files. The first
// Open of this version renews the keys of URLs (renewKeys); others wait for it. It fails while
// OpenExclusive of another process is in use.
func Open(ctx context.Context, c Config, log *slog.Logger) (repo *Repository, closeAll func(), err error) {
	s, closeAll, err := openShared(ctx, c, log)
	return s.repo, closeAll, err
}

// OpenExclusive is Open for a program that must be the only user of the stores. It fails
// while another process has them open. It does not renew keys: dc-import brings keys of the
// old rule, and raw files may follow it.
func OpenExclusive(ctx context.Context, c Config, log *slog.Logger) (repo *Repository, closeAll func(), err error) {
	s, closeAll, err := openStores(ctx, c, log, importer)
	return s.repo, closeAll, err
}

// stores are the repository and both places of processed contents.
type stores struct {
	repo  *Repository
	db    *sqldb.DB
	files *keyvalue.Store
	table *sqlstore.Contents
}

// users says which processes may use the stores at the same time.
type users struct {
	lock  func(folder string) (unlock func(), err error) // of the folder of the key-value files
	alone bool                                           // no other process has them open
	old   bool                                           // the process works with keys of the old rule
}

var (
	shared   = users{lock: takeSharedLock}
	alone    = users{lock: takeExclusiveLock, alone: true}
	importer = users{lock: takeExclusiveLock, alone: true, old: true}
)

// openStores opens all stores. After an error it closes them again. The error is errOldKeys if keys
// must be renewed and the process is not alone.
func openStores(ctx context.Context, c Config, log *slog.Logger, with users) (s stores, _ func(), err error) {
	var closers []func() error
	closeAll := func() {
		for _, closeStore := range slices.Backward(closers) {
			if err := closeStore(); err != nil {
				log.Warn("cannot close a store", "error", err)
			}
		}
	}
	defer func() {
		if err != nil {
			closeAll()
			s = stores{}
		}
	}()
	if c.Now == nil {
		c.Now = time.Now
	}
	unlock, err := with.lock(c.KeyDir)
	if err != nil {
		return s, nil, err
	}
	closers = append(closers, func() error { unlock(); return nil })
	if !with.old { // an import begins with an empty database
		if err := lostDatabase(c); err != nil {
			return s, nil, err
		}
	}
	database, err := openDatabase(ctx, c)
	if err != nil {
		return s, nil, err
	}
	closers = append(closers, database.Close)
	s.db = database
	raw, err := openRawFiles(c, log)
	if err != nil {
		return s, nil, err
	}
	closers = append(closers, raw.Close)
	contents := segments.Open(raw, database, segments.Options{
		Dir: c.RawDir, Files: c.RawFiles, Size: c.Segment, MaxFile: c.MaxFile, NoSync: c.NoSync, Log: log, Now: c.Now,
	})
	closers = append(closers, contents.Close)
	s.files, err = openKeyValueFiles(c)
	if err != nil {
		return s, nil, err
	}
	closers = append(closers, s.files.Close)
	options := sqlstore.Options{Now: c.Now, Log: log, StatsFreq: c.StatFreq, StatsLog: c.StatLog, FreqDelay: c.FreqDelay}
	place := newPlacementFile(c.Placement)
	if place != nil {
		options.Placement = place.readPlacement
		if _, err := place.readPlacement(); err != nil {
			return s, nil, err
		}
	}
	rows := sqlstore.Open(database, options)
	closers = append(closers, func() error { return rows.FlushAll(context.WithoutCancel(ctx)) })
	s.table = rows.Contents()
	s.repo = &Repository{
		Store: rows, Raw: contents, Contents: s.files, Now: c.Now, Log: log,
		TrashLock: filepath.Join(filepath.Dir(c.DB.Path), "trash.lock"), SQLCustom: c.Custom, Moves: c.Moves, place: place,
	}
	if c.InSQL {
		s.repo.Contents = s.table
	}
	if c.Custom == sqlstore.CustomAll {
		log.Warn("every sender of requests may run any SQL statement", "SQLCustom", c.Custom)
	}
	if err := s.repo.EmptyTrash(ctx); err != nil {
		return s, nil, err
	}
	if with.old {
		return s, closeAll, nil
	}
	return s, closeAll, s.replaceOldKeys(ctx, rows, log, with.alone)
}

func openDatabase(ctx context.Context, c Config) (*sqldb.DB, error) {
	database, err := sqldb.Open(ctx, c.DB)
	if sqldb.Denied(err) {
		err = fmt.Errorf(manual.Locate("%w; check db_user and db_pwd in db-task.ini, DC_TasksManager_db_pwd, and the grants in docs/operations.md"), err)
	}
	return database, err
}

// openRawFiles opens the raw files and removes the unfinished ones of killed processes.
func openRawFiles(c Config, log *slog.Logger) (*rawfiles.Cache, error) {
	raw, err := rawfiles.Open(c.RawDir, rawfiles.Options{Subdir: os.Getenv("CONTENT_STORE_PATH"), MaxFile: c.MaxFile, NoSync: c.NoSync})
	if err != nil {
		return nil, err
	}
	if n, err := raw.Sweep(); err != nil {
		log.Warn("cannot remove files of killed processes", "error", err)
	} else if n > 0 {
		log.Info("removed unfinished files of killed processes", "files", n)
	}
	return raw, nil
}

func openKeyValueFiles(c Config) (*keyvalue.Store, error) {
	return keyvalue.Open(c.KeyDir, keyvalue.Options{Now: c.Now, Damaged: sqldb.Corrupt, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: c.DB.Synchronous, Busy: c.DB.Busy})
	}})
}

// replaceOldKeys renews keys of an older version, if there are some. A process that is not alone gets errOldKeys.
func (s stores) replaceOldKeys(ctx context.Context, rows *sqlstore.Store, log *slog.Logger, alone bool) error {
	old, err := rows.OldKeys(ctx)
	switch {
	case err != nil || !old:
		return err
	case !alone:
		return errOldKeys
	}
	return s.renewKeys(ctx, rows, log)
}

const contentsLock = ".move.lock" // in the folder of the key-value files

var (
	errMoving = errors.New("contents are being moved or imported; try again when db-task --move-contents or dc-import has ended")
	errInUse  = errors.New("other programs have the stores open; stop the daemon and all task programs first")
)

// takeSharedLock takes the lock of a process that uses the contents. It does not wait.
func takeSharedLock(folder string) (unlock func(), err error) {
	return lockContents(folder, files.TryShare, errMoving)
}

// takeExclusiveLock takes the lock of a process that moves contents. It does not wait.
func takeExclusiveLock(folder string) (unlock func(), err error) {
	return lockContents(folder, files.TryLock, errInUse)
}

func lockContents(folder string, try func(path string) (func(), error), locked error) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("lock contents: %w", err)
	}
	unlock, err = try(filepath.Join(folder, contentsLock))
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("lock contents in %s: %w", folder, locked)
	}
	return unlock, err
}

// Critical reports errors of the disk or the database after which no answer of this
// process can be trusted.
func Critical(err error) bool {
	return sqldb.Critical(err) || errors.Is(err, ErrLost) || errors.Is(err, placement.ErrInvalid) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// Machine reports whether err is a fault of the disk, the memory, the database or the
// machine, and not of the stored values: every other batch would meet it too, and it may pass.
func Machine(err error) bool {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number != syscall.EINVAL && number != syscall.ENAMETOOLONG
	}
	return Critical(err) || sqldb.Passing(err) || errors.Is(err, segments.ErrAway)
}
