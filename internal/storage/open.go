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
	"syscall"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
)

// Config is [TasksManager] of db-task.ini (docs/spec/storage.md 0).
type Config struct {
	DB       sqldb.Config
	RawDir   string
	KeyDir   string // of key-value files, and of the lock that a move of contents takes
	InSQL    bool   // processed contents are in the SQL database, not in key-value files
	MaxFile  int64  // bytes of one raw file
	NoSync   bool
	StatFreq bool
	StatLog  bool
	Custom   sqlstore.CustomMode
	// Now is the clock of all stores; time.Now when nil.
	Now func() time.Time `json:"-"`
}

// names of the keys that rename databases.
var databaseKeys = []struct{ key, database string }{
	{"primary_db", sqldb.Sites}, {"secondary_db", sqldb.URLs}, {"fourth_db", sqldb.Deleted}, {"fifth_db", sqldb.Contents},
	{"stat_db", sqldb.Freqs}, {"log_db", sqldb.Logs}, {"att_db", sqldb.Attributes},
}

// DatabaseKeys maps the keys that rename databases to the names that they have
// otherwise.
func DatabaseKeys() map[string]string {
	keys := make(map[string]string, len(databaseKeys))
	for _, k := range databaseKeys {
		keys[k.key] = k.database
	}
	return keys
}

// ReadConfig reads the section; paths are in the data folder.
func ReadConfig(f *config.File, dataDir string) Config {
	s := f.Section("TasksManager")
	c := Config{
		DB: sqldb.Config{
			Driver: s.Choice("db_driver", sqldb.DriverSQLite, sqldb.DriverSQLite, sqldb.DriverMySQL),
			Server: sqldb.Server{
				Socket:    s.Text("db_socket", ""),
				Host:      s.Text("db_host", "127.0.0.1"),
				Port:      int(s.Int("db_port", 3306, 1, 65535)),
				User:      s.Text("db_user", "hce"),
				Password:  s.Text("db_pwd", ""),
				TLS:       s.Bool("db_tls", false),
				Statement: s.Duration("db_statement_timeout", time.Millisecond, time.Minute, time.Second, time.Hour),
				Conns:     int(s.Int("db_connections", 4, 2, 100)),
			},
			Path:        s.PathIn(dataDir, "db_path", "dc.db"),
			Busy:        s.Duration("db_busy_timeout", time.Millisecond, 30*time.Second, 100*time.Millisecond, 10*time.Minute),
			Synchronous: s.Choice("db_synchronous", "FULL", "FULL", "NORMAL"),
			Names:       map[string]string{},
		},
		RawDir:   s.PathIn(dataDir, "raw_data_dir", "dc_rdata"),
		KeyDir:   s.PathIn(dataDir, "key_value_storage_dir", "dc_dbdata"),
		MaxFile:  s.Int("raw_file_max", 64<<20, 1<<10, 1<<30),
		NoSync:   !s.Bool("raw_sync", true),
		StatFreq: s.Bool("stats_freq_enabled", false),
		StatLog:  s.Bool("stats_log_enabled", false),
		Custom: sqlstore.CustomMode(s.Choice("SQLCustom", string(sqlstore.CustomOff),
			string(sqlstore.CustomOff), string(sqlstore.CustomRead), string(sqlstore.CustomAll))),
	}
	for _, k := range databaseKeys {
		if name := s.Text(k.key, k.database); name != k.database {
			c.DB.Names[k.database] = name
		}
	}
	if dsn := s.Text("db_dsn", ""); dsn != "" {
		server, err := sqldb.ParseDSN(dsn)
		if err != nil {
			s.Fail("db_dsn", err.Error()) // without its value, which holds a password
		}
		server.Statement, server.Conns = c.DB.Server.Statement, c.DB.Server.Conns
		c.DB.Server = server
	}
	c.InSQL = s.Choice("content_storage_type", "0", "0", "1") == "1"
	s.Accept("third_db", "stat_domains_db", "mutexLockTTL", "dc_site_template",
		"dc_content_template", "dc_statistics_freq_template", "dc_statistics_log_template", "dc_attribute_template", "key_value_default_file")
	return c
}

// Open opens all stores of the node; close ends them. The contents that a killed
// process left to be removed are removed. It fails while contents are moved from
// one place to the other.
func Open(ctx context.Context, c Config, log *slog.Logger) (*Repository, func(), error) {
	s, closeAll, err := open(ctx, c, log, syscall.LOCK_SH)
	if err != nil {
		return nil, nil, err
	}
	return s.repo, closeAll, nil
}

// stores are the repository, and both places of processed contents.
type stores struct {
	repo  *Repository
	files *keyvalue.Store
	table *sqlstore.Contents
}

// open takes the lock of the places of contents in a mode of flock: shared to
// use them, exclusive to move contents.
func open(ctx context.Context, c Config, log *slog.Logger, lock int) (_ *stores, _ func(), err error) {
	var closers []func() error
	closeAll := func() {
		for i := len(closers) - 1; i >= 0; i-- {
			if err := closers[i](); err != nil {
				log.Warn("a store is not closed well", "error", err)
			}
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	if c.Now == nil {
		c.Now = time.Now
	}
	unlock, err := lockContents(c.KeyDir, lock)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, unlock)
	database, err := sqldb.Open(ctx, c.DB)
	if sqldb.Denied(err) {
		err = fmt.Errorf("%w; look at db_user and db_pwd in db-task.ini, at DC_TasksManager_db_pwd, and at the rights that docs/operations.md names", err)
	}
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, database.Close)
	raw, err := rawfiles.Open(c.RawDir, rawfiles.Options{Subdir: os.Getenv("CONTENT_STORE_PATH"), MaxFile: c.MaxFile, NoSync: c.NoSync, Now: c.Now})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, raw.Close)
	files, err := keyvalue.Open(c.KeyDir, keyvalue.Options{Now: c.Now, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: c.DB.Synchronous, Busy: c.DB.Busy})
	}})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, files.Close)
	rows := sqlstore.Open(database, sqlstore.Options{Now: c.Now, Log: log, StatsFreq: c.StatFreq, StatsLog: c.StatLog})
	s := &stores{files: files, table: rows.Contents(), repo: &Repository{
		Store: rows, Raw: raw, Contents: files, Now: c.Now, Log: log,
		TrashLock: filepath.Join(filepath.Dir(c.DB.Path), "trash.lock"), SQLCustom: c.Custom,
	}}
	if c.InSQL {
		s.repo.Contents = s.table
	}
	if c.Custom == sqlstore.CustomAll {
		log.Warn("whoever may send requests may run any SQL statement", "SQLCustom", c.Custom)
	}
	if err := s.repo.EmptyTrash(ctx); err != nil {
		return nil, nil, err
	}
	return s, closeAll, nil
}

// errMoving and errInUse say who is in the way.
var (
	errMoving = errors.New("contents are being moved or imported; try again when db-task --move-contents or --import-from has ended")
	errInUse  = errors.New("other programs have the stores open; stop the daemon and all task programs first")
)

// lockContents locks the places of contents without waiting. The kernel frees
// the lock of a process that dies.
func lockContents(folder string, mode int) (unlock func() error, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("lock contents in %s: %w", folder, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, ".move.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock contents in %s: %w", folder, err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), mode|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case err == nil:
		return f.Close, nil
	case err == syscall.EWOULDBLOCK && mode == syscall.LOCK_SH:
		err = errMoving
	case err == syscall.EWOULDBLOCK:
		err = errInUse
	}
	f.Close()
	return nil, fmt.Errorf("lock contents in %s: %w", folder, err)
}

// Critical tells the errors of the disk and the database after which nothing of
// this process can be trusted.
func Critical(err error) bool {
	return sqldb.Critical(err) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}
