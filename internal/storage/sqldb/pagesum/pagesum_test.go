package pagesum_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hce/dc/internal/storage/sqldb"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a database with sums.
func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqldb.OpenFile(path, sqldb.FileOptions{PageSums: true})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// fill writes rows from a to b-1; each tenth fills pages of its own.
func fill(t *testing.T, db *sql.DB, a, b int) {
	t.Helper()
	tx, err := db.Begin()
	must(t, err)
	for i := a; i < b; i++ {
		length := 100
		if i%10 == 0 {
			length = 10000
		}
		_, err := tx.Exec("INSERT INTO t VALUES (?, ?)", i, fmt.Sprintf("%0*d", length, i))
		must(t, err)
	}
	must(t, tx.Commit())
}

// whole reads all rows and reports how many are right; a wrong one is an error of the test.
func whole(t *testing.T, db *sql.DB) (n int, err error) {
	t.Helper()
	rows, err := db.Query("SELECT id, text FROM t ORDER BY id")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return n, err
		}
		if text != fmt.Sprintf("%0*d", len(text), id) || len(text) != 100 && len(text) != 10000 {
			t.Errorf("row %d has a wrong text", id)
		}
		n++
	}
	return n, rows.Err()
}

// create makes a file of 500 rows, copied out of the log.
func create(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	_, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
	must(t, err)
	fill(t, db, 0, 500)
	_, err = db.Exec("DELETE FROM t WHERE id % 7 = 3")
	must(t, err)
	must(t, db.Close())
	return path
}

const rowsOf500 = 500 - 71

// Each flipped bit of a page that is read is an error.
func TestFlippedBits(t *testing.T) {
	path := create(t)
	data, err := os.ReadFile(path)
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200 {
		at := r.Int64N(int64(len(data)) * 8)
		data[at/8] ^= 1 << (at % 8)
		must(t, os.WriteFile(path, data, 0o600))
		data[at/8] ^= 1 << (at % 8)
		db, err := sqldb.OpenFile(path, sqldb.FileOptions{ReadOnly: true})
		n := 0
		if err == nil {
			n, err = whole(t, db)
			db.Close()
		}
		if err != nil {
			found++
		} else if n != rowsOf500 {
			t.Errorf("bit %d: %d rows and no error", at, n)
		}
	}
	if found < 150 { // the others are in free pages
		t.Errorf("%d of 200 flips were found", found)
	}
}

// A page at the place of another one is an error, too.
func TestPageOfAnotherPlace(t *testing.T) {
	path := create(t)
	data, err := os.ReadFile(path)
	must(t, err)
	for page := 2; page*4096 < len(data)-4096; page++ { // of equal kind, the leaves of the table
		if at := page * 4096; data[at] == 13 && data[at-4096] == 13 {
			copy(data[at:at+4096], data[at-4096:at])
			must(t, os.WriteFile(path, data, 0o600))
			_, err := whole(t, open(t, path))
			if !sqldb.Corrupt(err) {
				t.Errorf("error %v", err)
			}
			return
		}
	}
	t.Fatal("no two leaves side by side")
}

// sqlite runs the shell of SQLite, a program without sums.
func sqlite(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("sqlite3", append([]string{"-bail", "-init", os.DevNull}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("sqlite3 %q: %v: %s", args, err, out)
	}
}

// killed returns the path of a copy of a database with a log that was not copied into the file.
func killed(t *testing.T) string {
	t.Helper()
	path := create(t)
	db := open(t, path)
	fill(t, db, 500, 700)
	_, err := db.Exec("UPDATE t SET text = text || '' WHERE id < 100")
	must(t, err)
	copied := filepath.Join(t.TempDir(), "b.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		must(t, err)
		must(t, os.WriteFile(copied+end, data, 0o600))
	}
	return copied
}

// What programs without sums do to a file, apart from changing rows, leaves it readable.
func TestOtherPrograms(t *testing.T) {
	for name, act := range map[string]func(path string) string{
		"reads after a kill, and copies the log": func(path string) string {
			sqlite(t, path, "SELECT count(*) FROM t")
			if _, err := os.Stat(path + "-wal"); err == nil {
				t.Error("the log is still there")
			}
			return path
		},
		"makes a backup": func(path string) string {
			sqlite(t, path, ".backup "+path+".copy")
			return path + ".copy"
		},
		"VACUUM": func(path string) string {
			sqlite(t, path, "VACUUM")
			return path
		},
		"VACUUM INTO": func(path string) string {
			sqlite(t, path, "VACUUM INTO '"+path+".copy'")
			return path + ".copy"
		},
		"dumps and restores": func(path string) string {
			dump, err := exec.Command("sqlite3", "-init", os.DevNull, path, ".dump").Output()
			must(t, err)
			restore := exec.Command("sqlite3", "-init", os.DevNull, path+".copy")
			restore.Stdin = bytes.NewReader(dump)
			must(t, restore.Run())
			return path + ".copy"
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := act(killed(t))
			db := open(t, path)
			if n, err := whole(t, db); n != rowsOf500+200 || err != nil {
				t.Errorf("%d rows, error %v", n, err)
			}
			fill(t, db, 700, 900)
			_, err := db.Exec("UPDATE t SET text = text || '' WHERE id < 300")
			must(t, err)
			must(t, db.Close())
			if n, err := whole(t, open(t, path)); n != rowsOf500+400 || err != nil {
				t.Errorf("%d rows, error %v", n, err)
			}
		})
	}
}

// A row that another program changes is an error until VACUUM accepts it.
func TestChangeByOtherProgram(t *testing.T) {
	path := create(t)
	sqlite(t, path, "UPDATE t SET text = 'other' WHERE id = 5")
	db := open(t, path)
	var text string
	if err := db.QueryRow("SELECT text FROM t WHERE id = 5").Scan(&text); err == nil {
		t.Errorf("the changed row is read: %q", text)
	}
	must(t, db.Close())
	sqlite(t, path, "VACUUM")
	if err := open(t, path).QueryRow("SELECT text FROM t WHERE id = 5").Scan(&text); err != nil || text != "other" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file from before gets sums with VACUUM, and other connections, which were open, go on.
func TestOlderFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	sqlite(t, path, "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
	db := open(t, path)
	fill(t, db, 0, 500)
	other := open(t, path)
	if n, err := whole(t, other); n != 500 || err != nil {
		t.Fatal(n, err)
	}
	_, err := db.Exec("VACUUM")
	must(t, err)
	fill(t, other, 500, 600)
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	fill(t, db, 600, 700)
	if n, err := whole(t, other); n != 700 || err != nil {
		t.Fatal(n, err)
	}
	must(t, other.Close())
	must(t, db.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	if data[20] != 8 {
		t.Errorf("%d bytes are reserved", data[20])
	}
}

// Processes that write by turns, and one that copies the log, keep sums right.
func TestManyConnections(t *testing.T) {
	path := create(t)
	a, b := open(t, path), open(t, path)
	for i := range 20 {
		fill(t, []*sql.DB{a, b}[i%2], 500+i*50, 550+i*50)
		if i%5 == 4 {
			_, err := b.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
			must(t, err)
		}
	}
	must(t, a.Close())
	must(t, b.Close())
	if n, err := whole(t, open(t, path)); n != rowsOf500+1000 || err != nil {
		t.Errorf("%d rows, error %v", n, err)
	}
}
