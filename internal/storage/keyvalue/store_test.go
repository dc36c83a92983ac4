package keyvalue

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
)

var ctx = context.Background()

func openFile(path string) (*sql.DB, error) { return sqldb.OpenFile(path, sqldb.FileOptions{}) }

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	o.Open = openFile
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s *Store, site string, pairs ...string) []bool {
	t.Helper()
	var entries []Entry
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, Entry{ID: pairs[i], Data: []byte(pairs[i+1])})
	}
	inserted, err := s.PutAll(ctx, site, entries)
	if err != nil {
		t.Fatal(err)
	}
	return inserted
}

// get returns the text of an entry, "-" if it is missing.
func get(t testing.TB, s *Store, site, id string) string {
	t.Helper()
	e, ok, err := s.Get(ctx, site, id)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "-"
	}
	return string(e.Data)
}

func want[T any](t testing.TB, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestPutGetDelete(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 999, time.FixedZone("", 3600))
	dir := filepath.Join(t.TempDir(), "made")
	s := open(t, dir, Options{Now: func() time.Time { return now }})
	want(t, get(t, s, "s", "a"), "-")
	want(t, s.Delete(ctx, "s", "a"), nil)
	want(t, exists(filepath.Join(dir, "s.db")), false)

	want(t, put(t, s, "s", "a", "1", "b", "2", "a", "3"), []bool{true, true, false})
	want(t, put(t, s, "s", "b", "4", "c", ""), []bool{false, true})
	want(t, put(t, s, "", "a", "other site"), []bool{true})
	want(t, len(put(t, s, "unused")), 0)
	want(t, exists(filepath.Join(dir, "unused.db")), false)
	for id, text := range map[string]string{"a": "3", "b": "4", "c": "", "d": "-"} {
		want(t, get(t, s, "s", id), text)
	}
	want(t, get(t, s, "0", "a"), "other site")
	e, _, err := s.Get(ctx, "s", "a")
	want(t, err, nil)
	want(t, e.CDate, time.Date(2024, 5, 6, 6, 8, 9, 0, time.UTC))
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	_, err = s.PutAll(ctx, "s", []Entry{{ID: "a", CDate: at}})
	want(t, err, nil)
	e, _, _ = s.Get(ctx, "s", "a")
	want(t, e.CDate, at)

	all, err := s.GetAll(ctx, "s", "a", "c", "x", "c")
	want(t, err, nil)
	want(t, len(all), 2)
	want(t, s.Delete(ctx, "s", "a", "b", "x"), nil)
	want(t, get(t, s, "s", "a")+get(t, s, "s", "b")+get(t, s, "s", "c"), "--")
}

func TestManyIDs(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var entries []Entry
	var ids []string
	for i := range 3*maxIDs + 1 {
		ids = append(ids, fmt.Sprintf("%032x", i))
		entries = append(entries, Entry{ID: ids[i], Data: []byte(ids[i])})
	}
	inserted, err := s.PutAll(ctx, "s", entries)
	want(t, err, nil)
	want(t, len(inserted), len(ids))
	all, err := s.GetAll(ctx, "s", ids...)
	want(t, err, nil)
	want(t, len(all), len(ids))
	want(t, s.Delete(ctx, "s", ids[1:]...), nil)
	all, err = s.GetAll(ctx, "s", ids...)
	want(t, fmt.Sprint(len(all), err), "1 <nil>")
}

func TestBadNames(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, bad := range []string{"..", "a/b", "a.b", "x'", "ü", strings.Repeat("a", 33)} {
		_, err1 := s.PutAll(ctx, bad, nil)
		_, err2 := s.PutAll(ctx, "s", []Entry{{ID: "good"}, {ID: bad}})
		_, _, err3 := s.Get(ctx, bad, "a")
		_, err4 := s.GetAll(ctx, "s", bad)
		for i, err := range []error{err1, err2, err3, err4, s.Delete(ctx, bad), s.Delete(ctx, "s", bad), s.Create(ctx, bad), s.DeleteSite(ctx, bad)} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%q, call %d: %v", bad, i+1, err)
			}
		}
	}
	if _, _, err := s.Get(ctx, "s", ""); !errors.Is(err, ErrName) {
		t.Error(err)
	}
	want(t, get(t, s, "s", "good"), "-")
	if _, err := Open(t.TempDir(), Options{}); err == nil {
		t.Error("Open accepts options without Open")
	}
}

// A file of the first implementation has no index, NULLs and other date formats.
func TestOldFile(t *testing.T) {
	dir := t.TempDir()
	old, err := openFile(filepath.Join(dir, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.Exec(`CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY NOT NULL, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
		CREATE TABLE raw_contents(id VARCHAR(32));
		INSERT INTO articles VALUES('a', 'text', '2014-01-02 03:04:05'), ('b', NULL, NULL), ('c', x'00ff', '2014-01-02T03:04:05.678'), ('d', 'd', 17);
		INSERT INTO articles(id) VALUES('e')`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, old.Close(), nil)
	s := open(t, dir, Options{})
	all, err := s.GetAll(ctx, "s", "a", "b", "c", "d", "e")
	want(t, err, nil)
	want(t, len(all), 5)
	want(t, all["a"].CDate, time.Date(2014, 1, 2, 3, 4, 5, 0, time.UTC))
	want(t, all["b"].CDate.IsZero() && all["d"].CDate.IsZero() && len(all["b"].Data) == 0, true)
	want(t, all["c"].CDate, time.Date(2014, 1, 2, 3, 4, 5, 0, time.UTC))
	want(t, time.Since(all["e"].CDate) < time.Hour, true)
	want(t, put(t, s, "s", "a", "new"), []bool{false})
}

func TestCorruptFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.db"), []byte(strings.Repeat("no database ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	if _, err := s.PutAll(ctx, "s", []Entry{{ID: "a"}}); err == nil {
		t.Error("put into a broken file")
	}
	if _, _, err := s.Get(ctx, "s", "a"); err == nil {
		t.Error("get from a broken file")
	}
	want(t, s.DeleteSite(ctx, "s"), nil)
	want(t, put(t, s, "s", "a", "1"), []bool{true})
}

// A failed transaction changes nothing and leaves the file usable.
func TestCancelled(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, "s", "a", "1")
	err := s.writeSite(ctx, "s", false, func(c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "DELETE FROM articles"); err != nil {
			return err
		}
		return errors.New("stop")
	})
	want(t, fmt.Sprint(err), "file "+s.filePath("s")+": stop")
	want(t, get(t, s, "s", "a"), "1")

	stopped, cancel := context.WithCancel(ctx)
	err = s.writeSite(stopped, "s", false, func(c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "DELETE FROM articles"); err != nil {
			return err
		}
		cancel()
		return nil
	})
	want(t, errors.Is(err, context.Canceled), true)
	want(t, get(t, s, "s", "a"), "1")
	if _, err := s.PutAll(stopped, "s", []Entry{{ID: "b"}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	put(t, s, "s", "a", "2")
	want(t, get(t, s, "s", "a"), "2")
}

func TestDeleteSite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	put(t, s, "s", "a", "1")
	put(t, s, "s-2", "a", "kept")
	fields := filepath.Join(dir, "s_fields.db")
	if err := os.WriteFile(fields, []byte("titles"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, s.DeleteSite(ctx, "s"), nil)
	want(t, s.DeleteSite(ctx, "s"), nil)
	want(t, s.DeleteSite(ctx, "unused"), nil)
	for _, suffix := range []string{".db", ".db-wal", ".db-shm", "_fields.db"} {
		if exists(filepath.Join(dir, "s"+suffix)) {
			t.Errorf("s%s still exists", suffix)
		}
	}
	want(t, get(t, s, "s", "a"), "-")
	want(t, get(t, s, "s-2", "a"), "kept")
	want(t, s.Create(ctx, "s"), nil)
	want(t, s.Create(ctx, "s"), nil)
	want(t, exists(filepath.Join(dir, "s.db")), true)
	want(t, put(t, s, "s", "a", "2"), []bool{true})

	// The file of a site whose id ends in _fields must stay.
	put(t, s, "s_fields", "a", "a site")
	want(t, s.DeleteSite(ctx, "s"), nil)
	want(t, get(t, s, "s_fields", "a"), "a site")
	want(t, s.DeleteSite(ctx, "s_fields"), nil)
	want(t, get(t, s, "s_fields", "a"), "-")
}

// A new file must not read the -wal that a killed DeleteSite left behind.
func TestLeftoverWAL(t *testing.T) {
	dir := t.TempDir()
	other := open(t, dir, Options{})
	put(t, other, "s", "a", "dead")
	if err := os.Remove(filepath.Join(dir, "s.db")); err != nil {
		t.Fatal(err)
	}
	want(t, exists(filepath.Join(dir, "s.db-wal")), true)
	s := open(t, dir, Options{})
	want(t, put(t, s, "s", "b", "1"), []bool{true})
	want(t, get(t, s, "s", "a"), "-")
	want(t, get(t, other, "s", "b"), "1")
}

func TestBoundedFiles(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxOpen: 3})
	for i := range 10 {
		put(t, s, fmt.Sprint("s", i), "a", fmt.Sprint(i))
		if n := len(s.files); n > 3 {
			t.Fatalf("%d files are open", n)
		}
	}
	for i := range 10 {
		want(t, get(t, s, fmt.Sprint("s", i), "a"), fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				site := fmt.Sprint("s", (g*7+i)%10)
				if i%5 == 0 {
					if _, err := s.PutAll(ctx, site, []Entry{{ID: fmt.Sprint("g", g), Data: []byte(fmt.Sprint(i))}}); err != nil {
						t.Error(err)
					}
				}
				if e, ok, err := s.Get(ctx, site, "a"); err != nil || !ok || "s"+string(e.Data) != site {
					t.Errorf("%s: %q %t %v", site, e.Data, ok, err)
				}
			}
		})
	}
	wg.Wait()
	want(t, len(s.files), 3)
	want(t, s.Close(), nil)
	want(t, len(s.files), 0)
	_, _, err := s.Get(ctx, "s0", "a")
	want(t, errors.Is(err, ErrClosed), true)
}

func TestLockWaitEnds(t *testing.T) {
	dir := t.TempDir()
	holder, waiter := open(t, dir, Options{}), open(t, dir, Options{LockWait: 20 * time.Millisecond})
	unlock, err := holder.lockFolder(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want(t, errors.Is(waiter.Create(ctx, "s"), context.DeadlineExceeded), true)
	unlock()
	want(t, waiter.Create(ctx, "s"), nil)
}

// TestMain also runs the second process of some tests. That process executes commands from
// stdin and prints one line for each.
func TestMain(m *testing.M) {
	dir := os.Getenv("DC_KEYVALUE_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := Open(dir, Options{Open: openFile})
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		var answer string
		if answer, err = execute(s, strings.Fields(in.Text())); err == nil {
			fmt.Println(answer)
		}
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Println("error:", err) // the parent may wait for this line
		os.Exit(1)
	}
}

func execute(s *Store, words []string) (string, error) {
	switch words[0] {
	case "put":
		inserted, err := s.PutAll(ctx, words[1], []Entry{{ID: words[2], Data: []byte(words[3])}})
		return fmt.Sprint(inserted), err
	case "get":
		e, ok, err := s.Get(ctx, words[1], words[2])
		return fmt.Sprint(string(e.Data), ok), err
	case "delete":
		return "ok", s.DeleteSite(ctx, words[1])
	case "many": // 60 entries, each in its own transaction
		for i := range 60 {
			if _, err := s.PutAll(ctx, words[1], []Entry{{ID: fmt.Sprint(words[2], i), Data: []byte("x")}}); err != nil {
				return "", err
			}
		}
		return "ok", nil
	}
	return "?", nil
}

// process is the second process of a test.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DC_KEYVALUE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(p.stop)
	return p
}

func (p *process) ask(line string) string {
	p.t.Helper()
	p.send(line)
	return p.answer()
}

func (p *process) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) answer() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatal("the second process has ended")
	}
	return p.out.Text()
}

// stop makes the process close its store and exit.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("second process: %v", err)
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	p := start(t, dir)
	put(t, s, "s", "a", "mine")
	want(t, p.ask("get s a"), "minetrue")
	want(t, p.ask("put s a theirs"), "[false]")
	want(t, get(t, s, "s", "a"), "theirs")

	// Both processes hold the file open; one deletes it.
	want(t, s.DeleteSite(ctx, "s"), nil)
	want(t, p.ask("get s a"), "false")
	want(t, p.ask("put s b again"), "[true]")
	want(t, get(t, s, "s", "b"), "again")
	want(t, p.ask("delete s"), "ok")
	want(t, get(t, s, "s", "b"), "-")
	put(t, s, "s", "c", "last")
	want(t, p.ask("get s c"), "lasttrue")
}

// A process closes a deleted file while a new file has the same name. The closing process must
// not remove the -wal of the new file, which holds committed entries.
func TestCloseOfDeletedFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	p := start(t, dir)
	want(t, p.ask("put s a old"), "[true]")
	want(t, s.DeleteSite(ctx, "s"), nil)
	put(t, s, "s", "b", "new")
	p.stop() // closes the deleted file
	want(t, exists(filepath.Join(dir, "s.db-wal")), true)
	q := start(t, dir)
	want(t, q.ask("get s b"), "newtrue")
	want(t, q.ask("get s a"), "false")
	want(t, q.ask("put s c both"), "[true]")
	want(t, get(t, s, "s", "c"), "both")
}

// Three processes write, read and delete at the same time: no error, no corrupt file, and no
// lost entry after the last deletion.
func TestProcessesTogether(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	p, q := start(t, dir), start(t, dir)
	p.send("many s p")
	q.send("many s q")
	for i := range 30 {
		if err := s.DeleteSite(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		put(t, s, "s", fmt.Sprint("m", i), "x")
	}
	want(t, p.answer(), "ok")
	want(t, q.answer(), "ok")

	p.send("many t p")
	q.send("many t q")
	for i := range 60 {
		put(t, s, "t", fmt.Sprint("m", i), "x")
	}
	want(t, p.answer(), "ok")
	want(t, q.answer(), "ok")
	for _, site := range []string{"s", "t"} {
		err := s.readSite(ctx, site, func(c *sql.Conn) error {
			var text string
			err := c.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&text)
			want(t, text, "ok")
			return err
		})
		want(t, err, nil)
	}
	n := 0
	err := s.readSite(ctx, "t", func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT COUNT(*) FROM articles").Scan(&n)
	})
	want(t, err, nil)
	want(t, n, 180)
}

// The durability of the store depends on these settings of SQLite.
func TestSettings(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, "s", "a", "1")
	var mode string
	var sync, busy int
	err := s.readSite(ctx, "s", func(c *sql.Conn) error {
		return errors.Join(
			c.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode),
			c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync),
			c.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&busy))
	})
	want(t, err, nil)
	if mode != "wal" || sync < 1 || busy < 1000 {
		t.Errorf("journal_mode %s, synchronous %d, busy_timeout %d", mode, sync, busy)
	}
}

func BenchmarkPutAll(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	entries := make([]Entry, 64)
	n := 0
	for b.Loop() {
		for i := range entries {
			n++
			entries[i] = Entry{ID: fmt.Sprintf("%032x", n), Data: make([]byte, 8000)}
		}
		if _, err := s.PutAll(ctx, "s", entries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkGet(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	put(b, s, "s", "a", strings.Repeat("x", 8000))
	for b.Loop() {
		get(b, s, "s", "a")
	}
}
