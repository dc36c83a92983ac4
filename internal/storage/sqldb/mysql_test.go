package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/testkit/testwait"
)

// mysqlConfig returns new databases on the test server.
func mysqlConfig(t testing.TB, s *mariadbtest.Server) Config {
	return Config{Driver: DriverMySQL, Server: Server{Socket: s.Socket, User: s.User}, Names: s.Names(t), Busy: 10 * time.Second}
}

func openMySQLTest(t testing.TB, c Config) *DB {
	t.Helper()
	d, err := Open(ctx, c)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func TestMySQLStatementsCanBePrepared(t *testing.T) {
	d := openMySQLTest(t, mysqlConfig(t, mariadbtest.Start(t)))
	prepareAll(t, d, d.Update)
	if _, err := d.Text("urls_delete", ""); err == nil {
		t.Error("a statement about a site's tables has a text without a site")
	}
}

// Programs that start at the same time create one schema.
func TestMySQLSeveralOpenAtOnce(t *testing.T) {
	c := mysqlConfig(t, mariadbtest.Start(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			d, err := Open(ctx, c)
			if err != nil {
				t.Error(err)
				return
			}
			d.Close()
		})
	}
	wg.Wait()
	d := openMySQLTest(t, c)
	for text, want := range map[string]int{
		"SELECT COUNT(*) FROM " + d.Table(Sites, "schema_steps"):     len(d.steps),
		"SELECT COUNT(*) FROM " + d.Table(Sites, "sites"):            1,
		"SELECT COUNT(*) FROM " + d.Table(Sites, "sites_filters"):    2,
		"SELECT COUNT(*) FROM " + d.Table(Sites, "sites_properties"): 1,
		"SELECT COUNT(*) FROM " + d.SiteTable(URLs, "0"):             0,
		"SELECT COUNT(*) FROM " + d.SiteTable(Logs, "0"):             0,
		"SELECT SUM(ENGINE <> 'InnoDB' OR TABLE_COLLATION <> 'utf8mb4_general_ci') FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + d.Name(URLs) + "'": 0,
	} {
		if n := d.number(t, text); n != int64(want) {
			t.Errorf("%s = %d, want %d", text, n, want)
		}
	}
}

// The next start completes a migration that was killed after any of its statements.
func TestMySQLKilledMigration(t *testing.T) {
	s := mariadbtest.Start(t)
	whole := openMySQLTest(t, mysqlConfig(t, s))
	var statements int
	for _, step := range whole.steps {
		statements += len(whole.statementsOf(step, "0"))
	}
	for _, done := range []int{1, 3, 6, 7, statements - 5, statements} {
		c := mysqlConfig(t, s)
		half := &DB{cfg: c, steps: whole.steps, dialect: whole.dialect}
		must(t, half.openMySQL(ctx))
		must(t, half.makeDatabases(ctx))
		conn, err := half.definers.Conn(ctx)
		must(t, err)
		must(t, runDefinition(ctx, conn, "CREATE TABLE "+half.Table(Sites, "schema_steps")+" (Number INT NOT NULL PRIMARY KEY, Name VARCHAR(64) NOT NULL, CDate DATETIME NOT NULL)"))
		n := 0
		for _, step := range half.steps {
			for _, text := range half.statementsOf(step, "0") {
				if n++; n <= done && strings.HasPrefix(text, "CREATE") {
					must(t, runDefinition(ctx, conn, text))
				}
			}
		}
		conn.Close()
		half.Close()
		d := openMySQLTest(t, c)
		if n := d.number(t, "SELECT COUNT(*) FROM "+d.Table(Sites, "sites_filters")+" WHERE Site_Id = '0'"); n != 2 {
			t.Errorf("after %d statements: %d filters of the general site", done, n)
		}
		d.Close()
	}
}

func TestMySQLRefusedSchemas(t *testing.T) {
	c := mysqlConfig(t, mariadbtest.Start(t))
	d := openMySQLTest(t, c)
	_, err := d.writers.Exec("INSERT INTO " + d.Table(Sites, "schema_steps") + " VALUES (99, 'later', NOW())")
	must(t, err)
	if _, err := Open(ctx, c); !errors.Is(err, ErrNewer) || !Critical(err) {
		t.Errorf("a newer schema: %v", err)
	}
	_, err = d.definers.Exec("DROP TABLE " + d.Table(Sites, "schema_steps"))
	must(t, err)
	if _, err := Open(ctx, c); !errors.Is(err, ErrForeign) || !Critical(err) || !strings.Contains(err.Error(), c.Names[Sites]) {
		t.Errorf("tables of another program: %v", err)
	}
	c.Server.Password = "wrong"
	if _, err := Open(ctx, c); !Critical(err) || !Denied(err) {
		t.Errorf("a wrong password: %v", err)
	}
}

// Transactions in a deadlock run again. None is lost.
func TestMySQLDeadlocks(t *testing.T) {
	d := openMySQLTest(t, mysqlConfig(t, mariadbtest.Start(t)))
	table := d.Table(Sites, "trash")
	must(t, d.Update(ctx, func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO " + table + " (Id, Site_Id) VALUES (1, '0'), (2, '0')")
		return err
	}))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			first, second := 1+i%2, 2-i%2
			for range 20 {
				err := d.Update(ctx, func(tx *Tx) error {
					for _, id := range []int{first, second} {
						if _, err := tx.Exec("UPDATE "+table+" SET Site_Id = Site_Id + 1 WHERE Id = ?", id); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := d.number(t, "SELECT SUM(Site_Id) FROM "+table); n != 160 {
		t.Errorf("sum = %d, want 160", n)
	}
}

// A site that several goroutines create and drop has tables as long as it has a row.
func TestMySQLSiteTablesComeAndGo(t *testing.T) {
	c := mysqlConfig(t, mariadbtest.Start(t))
	sites := []string{"a", "b"}
	var wg sync.WaitGroup
	for range 3 {
		d := openMySQLTest(t, c)
		wg.Go(func() {
			for range 15 {
				site := sites[rand.IntN(len(sites))]
				var err error
				if rand.IntN(2) == 0 {
					err = d.Update(ctx, func(tx *Tx) error {
						if err := tx.MakeSite(site); err != nil {
							return err
						}
						_, inserted, err := tx.Insert("INSERT INTO "+d.Table(Sites, "sites")+" (Id) VALUES (?)", site)
						if err != nil || !inserted {
							return err
						}
						if err := tx.SiteMade(site); err != nil {
							return err
						}
						_, err = tx.Exec("INSERT INTO " + d.SiteTable(URLs, site) + " (URLMd5) VALUES ('x')")
						return err
					})
				} else {
					err = d.Update(ctx, func(tx *Tx) error {
						n, err := tx.Do("site_delete", site)
						if err != nil || n == 0 {
							return err
						}
						return tx.DropSite(site, SiteDatabases...)
					})
				}
				if err != nil {
					t.Errorf("%s: %v", site, err)
				}
			}
		})
	}
	wg.Wait()
	d := openMySQLTest(t, c) // drops the remaining tables
	var ids, tables []string
	must(t, d.View(ctx, func(tx *Tx) (err error) {
		ids = nil
		err = tx.Each("SELECT Id FROM "+d.Table(Sites, "sites")+" ORDER BY Id", nil, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
		if err == nil {
			tables, err = tx.SitesWith(URLs)
		}
		return err
	}))
	for _, site := range ids {
		if !slices.Contains(tables, site) {
			t.Errorf("site %s has no table", site)
		}
		if n := d.number(t, "SELECT COUNT(*) FROM "+d.SiteTable(URLs, site)); site != "0" && n != 1 {
			t.Errorf("site %s has %d rows", site, n)
		}
	}
	if n := d.number(t, "SELECT COUNT(*) FROM "+d.Table(Sites, "dropped")); n != 0 {
		t.Errorf("%d tables wait to be dropped", n)
	}
}

// A server that dies causes an AwayError and no partial change. The database works again
// after the restart of the server.
func TestMySQLServerDies(t *testing.T) {
	s := mariadbtest.New(t, mariadbtest.Options{Durable: true})
	c := mysqlConfig(t, s)
	d := openMySQLTest(t, c)
	put := func(site string) error {
		return d.Update(ctx, func(tx *Tx) error {
			_, err := tx.Do("trash_put", site, "")
			return err
		})
	}
	must(t, put("before"))
	times := 0
	err := d.Update(ctx, func(tx *Tx) error {
		times++
		if _, err := tx.Do("trash_put", "half", ""); err != nil {
			return err
		}
		s.Kill()
		_, err := tx.Do("trash_put", "half", "")
		return err
	})
	var away *AwayError
	if !errors.As(err, &away) || Critical(err) || times != 1 {
		t.Errorf("killed in a transaction: %v, run %d times", err, times)
	}
	if err := put("away"); !errors.As(err, &away) || Critical(err) {
		t.Errorf("a change without the server: %v", err)
	}
	if err := d.View(ctx, func(*Tx) error { return nil }); !errors.As(err, &away) {
		t.Errorf("a read without the server: %v", err)
	}
	if _, err := Open(ctx, c); err == nil || Critical(err) {
		t.Errorf("opening without the server: %v", err)
	}
	must(t, s.Restart())
	must(t, put("after"))
	var left []string
	must(t, d.View(ctx, func(tx *Tx) error {
		left = nil
		return tx.All("trash_oldest", []any{10}, func(scan func(...any) error) error {
			var id int64
			var site, md5 string
			err := scan(&id, &site, &md5)
			left = append(left, site)
			return err
		})
	}))
	if fmt.Sprint(left) != "[before after]" {
		t.Errorf("rows = %v", left)
	}
}

func TestMySQLQueryIsInterrupted(t *testing.T) {
	c := mysqlConfig(t, mariadbtest.Start(t))
	d := openMySQLTest(t, c)
	slow := "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c"
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	ignore := func(func(...any) error) error { return nil }
	if err := d.View(short, func(tx *Tx) error { return tx.Each(slow, nil, ignore) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled query: %v", err)
	}
	testwait.Until(t, "the server stops the cancelled query", func() bool {
		return d.number(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT COUNT%COLUMNS a%' AND ID <> CONNECTION_ID()") == 0
	})
	c.Server.Statement = time.Second
	d = openMySQLTest(t, c)
	if err := d.View(ctx, func(tx *Tx) error { return tx.Each(slow, nil, ignore) }); err == nil || Critical(err) {
		t.Errorf("a query beyond the statement time: %v", err)
	}
}

// A context that ends before the server starts the statement still ends the connection.
func TestMySQLInterruptedBeforeTheStatement(t *testing.T) {
	d := openMySQLTest(t, mysqlConfig(t, mariadbtest.Start(t)))
	short, cancel := context.WithCancel(ctx)
	conn, err := d.readers.Conn(ctx)
	must(t, err)
	defer conn.Close()
	var id int64
	must(t, conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id))
	stop := d.killOnCancel(short, conn)
	cancel()
	testwait.Until(t, "the server ends the connection", func() bool {
		return d.number(t, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d", id)) == 0
	})
	stop()
	if err := conn.PingContext(ctx); !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("the connection can be used again: %v", err)
	}
}

// Open migrates databases of an older program, including the tables of each site.
func TestMySQLOlderSchemaIsMigrated(t *testing.T) {
	s := mariadbtest.Start(t)
	whole := openMySQLTest(t, mysqlConfig(t, s))
	c := mysqlConfig(t, s)
	old := &DB{cfg: c, steps: whole.steps[:2], dialect: whole.dialect}
	must(t, old.openMySQL(ctx))
	must(t, old.migrateSchema(ctx))
	must(t, old.Update(ctx, func(tx *Tx) error { // a deleted site with rows that wait for URL_PURGE
		if err := tx.MakeSite("gone"); err != nil {
			return err
		}
		return tx.DropSite("gone", URLs, Attributes, Freqs, Logs)
	}))
	must(t, old.Close())
	later := &DB{cfg: c, dialect: whole.dialect, steps: append(slices.Clone(whole.steps),
		step{number: len(whole.steps) + 1, name: "later", site: true, text: "ALTER TABLE {dc_urls.urls} ADD COLUMN Later INT NOT NULL DEFAULT 7;\nALTER TABLE {dc_urls_deleted.urls} ADD COLUMN Later INT NOT NULL DEFAULT 7;\n"})}
	must(t, later.openMySQL(ctx))
	defer later.Close()
	must(t, later.migrateSchema(ctx))
	for text, want := range map[string]int64{
		"SELECT MAX(Number) FROM " + later.Table(Sites, "schema_steps"):           int64(len(whole.steps) + 1),
		"SELECT COUNT(*) FROM " + later.Table(Sites, "sites_proxy"):               0,
		"SELECT COUNT(*) FROM " + later.SiteTable(URLs, "0") + " WHERE Later = 7": 0,
	} {
		if n := later.number(t, text); n != want {
			t.Errorf("%s = %d, want %d", text, n, want)
		}
	}
	later.number(t, "SELECT COUNT(*) FROM "+later.SiteTable(Deleted, "gone")+" WHERE Later = 7")
	if _, err := Open(ctx, c); !errors.Is(err, ErrNewer) {
		t.Errorf("a program without the last step: %v", err)
	}
}

func TestParseDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"hce:pw@tcp(db.test:3307)/":             `{"" "db.test" 3307 "hce" "pw" false}`,
		"hce:p@ss/w?x@tcp(db.test)/?tls=true":   `{"" "db.test" 3306 "hce" "p@ss/w?x" true}`,
		"root@unix(/run/my.sock)/":              `{"/run/my.sock" "" 0 "root" "" false}`,
		"hce:secret@tcp(db.test:3307)/dc_sites": "names the database dc_sites; set database names with primary_db and the other *_db keys",
		"hce:secret@tcp(h)/?sql_mode=ANSI":      "has the parameter sql_mode; only tls is supported",
		"hce:secret@tcp(h)/?tls=skip-verify":    "has tls=skip-verify, which is neither true nor false",
		"mysql://hce:secret@db.test:3306":       "is not of the form user:password@tcp(host:3306)/",
		"hce:secret@pipe(x)/":                   "has an address that is neither tcp(host:port) nor unix(path)",
	} {
		s, err := ParseDSN(dsn)
		got := fmt.Sprintf("{%q %q %d %q %q %v}", s.Socket, s.Host, s.Port, s.User, s.Password, s.TLS)
		if err != nil {
			got = err.Error()
		}
		if got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", dsn, got, want)
		}
	}
}
