package dbtask

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
	"hce/dc/internal/db"
	"hce/dc/internal/kv"
	"hce/dc/internal/rawcache"
	"hce/dc/internal/store"
)

// Config is [TasksManager] of db-task.ini (storage 0).
type Config struct {
	DB       db.Config
	RawDir   string
	KeyDir   string
	MaxFile  int64 // bytes of one raw file
	NoSync   bool
	StatFreq bool
	StatLog  bool
}

// names of the keys that rename databases.
var databaseKeys = []struct{ key, database string }{
	{"primary_db", db.Sites}, {"secondary_db", db.URLs}, {"fourth_db", db.Deleted}, {"fifth_db", db.Contents},
	{"stat_db", db.Freqs}, {"log_db", db.Logs}, {"att_db", db.Attributes},
}

// ReadConfig reads the section; paths are in the data folder.
func ReadConfig(f *config.File, dataDir string) Config {
	s := f.Section("TasksManager")
	c := Config{
		DB: db.Config{
			Driver:      s.Choice("db_driver", db.DriverSQLite, db.DriverSQLite),
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
	}
	for _, k := range databaseKeys {
		if name := s.Text(k.key, k.database); name != k.database {
			c.DB.Names[k.database] = name
		}
	}
	s.Choice("content_storage_type", "0", "0")
	s.Accept("db_host", "db_port", "db_user", "db_pwd", "third_db", "stat_domains_db", "mutexLockTTL", "dc_site_template",
		"dc_content_template", "dc_statistics_freq_template", "dc_statistics_log_template", "dc_attribute_template", "key_value_default_file")
	return c
}

// Open opens all stores of the node; close ends them. The contents that a killed
// process left to be removed are removed.
func Open(ctx context.Context, c Config, log *slog.Logger) (_ *Owner, _ func(), err error) {
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
	database, err := db.Open(ctx, c.DB)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, database.Close)
	files, err := rawcache.Open(c.RawDir, rawcache.Options{Subdir: os.Getenv("CONTENT_STORE_PATH"), MaxFile: c.MaxFile, NoSync: c.NoSync})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, files.Close)
	contents, err := kv.Open(c.KeyDir, kv.Options{Open: func(path string) (*sql.DB, error) {
		return db.OpenFile(path, db.FileOptions{Synchronous: c.DB.Synchronous, Busy: c.DB.Busy})
	}})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, contents.Close)
	owner := &Owner{
		Store: store.Open(database, store.Options{Log: log, StatsFreq: c.StatFreq, StatsLog: c.StatLog}),
		Raw:   files, Contents: contents, Now: time.Now, Log: log,
		TrashLock: filepath.Join(filepath.Dir(c.DB.Path), "trash.lock"),
	}
	if err := owner.EmptyTrash(ctx); err != nil {
		return nil, nil, fmt.Errorf("dbtask.Open: %w", err)
	}
	return owner, closeAll, nil
}

// Critical tells the errors of the disk and the database after which nothing of
// this process can be trusted.
func Critical(err error) bool {
	return db.Critical(err) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}
