package storage

import (
	"slices"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
)

// Config is [TasksManager] of db-task.ini (docs/spec/storage.md 0).
type Config struct {
	DB       sqldb.Config
	RawDir   string
	KeyDir   string // folder of the key-value files and of their lock
	InSQL    bool   // processed contents are in the SQL database, not in key-value files
	RawFiles bool   // raw contents are one file each, not in segments
	Segment  int64  // bytes of a segment file; 0 means segments.DefaultSize
	MaxFile  int64  // bytes of one raw content
	NoSync   bool
	StatFreq bool
	StatLog  bool
	Custom   sqlstore.CustomMode
	// FreqDelay is for a program that calls Repository.Flush; see sqlstore.Options.
	FreqDelay time.Duration `json:"-"`
	// Placement is the file with the owners of hosts (package placement); "": there is no cluster.
	Placement string
	// Moves is the folder of the files of hosts that move to another node, or from one.
	Moves string
	// Now is the clock of all stores; nil means time.Now.
	Now func() time.Time `json:"-"`
}

// DatabaseKeys maps the ini keys that rename databases to their default names.
var DatabaseKeys = map[string]string{
	"primary_db": sqldb.Sites, "secondary_db": sqldb.URLs, "fourth_db": sqldb.Deleted, "fifth_db": sqldb.Contents,
	"stat_db": sqldb.Freqs, "log_db": sqldb.Logs, "att_db": sqldb.Attributes,
}

// ReadConfig reads section [TasksManager]. Relative paths are below dataDir. Errors stay in
// f until f.Err.
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
		RawDir:    s.PathIn(dataDir, "raw_data_dir", "dc_rdata"),
		KeyDir:    s.PathIn(dataDir, "key_value_storage_dir", "dc_dbdata"),
		RawFiles:  s.Choice("raw_store", RawSegments, RawSegments, RawFiles) == RawFiles,
		Segment:   s.Int("raw_segment_size", segments.DefaultSize, 1<<20, 1<<40),
		MaxFile:   s.Int("raw_file_max", 64<<20, 1<<10, 1<<30),
		NoSync:    !s.Bool("raw_sync", true),
		StatFreq:  s.Bool("stats_freq_enabled", false),
		StatLog:   s.Bool("stats_log_enabled", false),
		Placement: s.PathIn(dataDir, "placement", ""),
		Moves:     s.PathIn(dataDir, "moves", "dc_moves"),
		Custom: sqlstore.CustomMode(s.Choice("SQLCustom", string(sqlstore.CustomOff),
			string(sqlstore.CustomOff), string(sqlstore.CustomRead), string(sqlstore.CustomAll))),
	}
	for key, database := range DatabaseKeys {
		if name := s.Text(key, database); name != database {
			c.DB.Names[database] = name
		}
	}
	if dsn := s.Text("db_dsn", ""); dsn != "" {
		server, err := sqldb.ParseDSN(dsn)
		if err != nil {
			s.Fail("db_dsn", err.Error()) // the message omits the value, which holds a password
		}
		server.Statement, server.Conns = c.DB.Server.Statement, c.DB.Server.Conns
		c.DB.Server = server
	}
	servers := []string{"db_host", "db_socket", "db_dsn"}
	if i := slices.IndexFunc(servers, s.Given); i >= 0 && !s.Given("db_driver") && !s.Given("db_path") {
		// The original knew no other database. An empty SQLite file in its place would hide the sites.
		s.Fail(servers[i], `names a MySQL server, but the key db_driver is missing: add the line "db_driver = mysql", or "db_driver = sqlite" for a file without a server`)
	}
	c.InSQL = s.Choice("content_storage_type", "0", "0", "1") == "1"
	s.Accept("third_db", "stat_domains_db", "mutexLockTTL", "dc_site_template",
		"dc_content_template", "dc_statistics_freq_template", "dc_statistics_log_template", "dc_attribute_template", "key_value_default_file")
	return c
}
