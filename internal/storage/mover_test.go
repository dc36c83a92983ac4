package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

func (h home) stores() Config {
	return Config{DB: h.config, RawDir: filepath.Join(h.folder, "raw"), KeyDir: filepath.Join(h.folder, "keys"), MaxFile: 1 << 20}
}

// key identifies an entry.
type key struct{ site, id string }

// all returns the entries of a place as texts of date and data.
func (p place) all() map[key]string {
	p.t.Helper()
	sites, err := p.Sites(context.Background())
	p.must(err)
	found := map[key]string{}
	for _, site := range sites {
		for after := ""; ; {
			page, err := p.Page(context.Background(), site, after, 1<<20)
			p.must(err)
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				found[key{site, e.ID}] = looks(e)
				after = e.ID
			}
		}
	}
	return found
}

func looks(e wire.Entry) string { return e.CDate.Format(time.DateTime) + " " + string(e.Data) }

// fillBoth puts random entries into both places, some into both. It returns the expected
// entries after a move from the first place to the second.
func fillBoth(r *rand.Rand, from, to place, sites, entries int) map[key]string {
	want := map[key]string{}
	newest := map[key]time.Time{}
	for i := range sites {
		site := fmt.Sprint("site", i)
		for _, p := range []place{to, from} { // from is last: it wins with equal dates
			var list []wire.Entry
			for range r.IntN(entries) {
				data := make([]byte, r.IntN(300))
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				e := wire.Entry{ID: fmt.Sprintf("%x", r.IntN(2*entries)), Data: data, CDate: placeTime.Add(time.Duration(r.IntN(4)) * time.Second)}
				if slices.ContainsFunc(list, func(other wire.Entry) bool { return other.ID == e.ID }) {
					continue
				}
				list = append(list, e)
				if k := (key{site, e.ID}); !newest[k].After(e.CDate) {
					newest[k], want[k] = e.CDate, looks(e)
				}
			}
			p.put(site, list...)
		}
	}
	return want
}

func sameEntries(t *testing.T, what string, got, want map[key]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	t.Errorf("%s: %d entries, want %d", what, len(got), len(want))
	for k, text := range want {
		if got[k] != text {
			t.Fatalf("%s: %v is %.100q, want %.100q", what, k, got[k], text)
		}
	}
}

// A move there and back loses no entry, whichever place has it.
func TestMoveThereAndBack(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := newHome(t)
		files, table := filesPlace(t, h), sqlPlace(t, h)
		from, to := files, table
		if seed%2 == 1 {
			from, to = table, files
		}
		want := fillBoth(r, from, to, 4, 40)
		before := len(from.all())
		there := mover{from: from, to: to, pageBytes: 1 + r.IntN(3000)}
		from.must(there.run(t.Context()))
		sameEntries(t, fmt.Sprint("seed ", seed, " there"), to.all(), want)
		equal(t, "entries in the old place", len(from.all()), 0)
		equal(t, "counted", there.done.Moved+there.done.Kept, before)
		back := mover{from: to, to: from, pageBytes: 1 + r.IntN(3000)}
		from.must(back.run(t.Context()))
		sameEntries(t, fmt.Sprint("seed ", seed, " back"), from.all(), want)
		equal(t, "entries in the new place", len(to.all()), 0)
		var size int
		for _, text := range want {
			size += len(text) - len(time.DateTime) - 1
		}
		equal(t, "bytes", back.done.Bytes, size)
		// Files of sites without entries are removed.
		again := mover{from: files, to: table, pageBytes: 1000}
		from.must(again.run(t.Context()))
		left, err := filepath.Glob(filepath.Join(h.folder, "keys", "*.db*"))
		equal(t, "files", fmt.Sprint(left, err), "[] <nil>")
	}
}

func TestMoveKeepsTheNewer(t *testing.T) {
	at := func(seconds int) time.Time { return placeTime.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		here, there time.Time
		want        string
		kept        int64
	}{
		"newer here":  {at(1), at(0), "here", 0},
		"newer there": {at(0), at(1), "there", 1},
		"equal":       {at(0), at(0), "here", 0},
	} {
		for _, to := range []string{PlaceFiles, PlaceSQL} {
			t.Run(name+" to "+to, func(t *testing.T) {
				h := newHome(t)
				p := map[string]place{PlaceFiles: filesPlace(t, h), PlaceSQL: sqlPlace(t, h)}
				target := p[to]
				delete(p, to)
				for _, source := range p {
					source.put("s", wire.Entry{ID: "a", Data: []byte("here"), CDate: c.here})
					target.put("s", wire.Entry{ID: "a", Data: []byte("there"), CDate: c.there})
					m := mover{from: source, to: target, pageBytes: 1}
					source.must(m.run(t.Context()))
					equal(t, "data", target.get("s", "a")+source.get("s", "a"), c.want+"-")
					equal(t, "done", m.done, Moved{Sites: 1, Moved: 1 - c.kept, Bytes: 4 * (1 - c.kept), Kept: c.kept})
				}
			})
		}
	}
}

// A file of the original has entries without a date, which are moved, and rows with
// invalid ids, which stay.
func TestMoveOfOldFile(t *testing.T) {
	h := newHome(t)
	files, table := filesPlace(t, h), sqlPlace(t, h)
	old, err := sqldb.OpenFile(filepath.Join(h.folder, "keys", "s.db"), sqldb.FileOptions{})
	files.must(err)
	_, err = old.Exec(`CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
		INSERT INTO articles VALUES('a', 'text', '2014-01-02 03:04:05'), ('b', NULL, NULL), ('no id!', 'x', NULL), (NULL, 'y', NULL), (x'61', 'z', NULL), ('c', 'older', NULL)`)
	files.must(err)
	files.must(old.Close())
	fields, err := sqldb.OpenFile(filepath.Join(h.folder, "keys", "s_fields.db"), sqldb.FileOptions{})
	files.must(err)
	_, err = fields.Exec("CREATE TABLE titles(url_id VARCHAR(32) PRIMARY KEY, data TEXT)")
	files.must(err)
	files.must(fields.Close())
	table.put("s", entry("c", "newer"))
	m := mover{from: files, to: table, pageBytes: 1}
	files.must(m.run(t.Context()))
	equal(t, "done", m.done, Moved{Sites: 1, Moved: 2, Bytes: 4, Kept: 1})
	sameEntries(t, "moved", table.all(), map[key]string{{"s", "a"}: "2014-01-02 03:04:05 text", {"s", "b"}: looks(wire.Entry{CDate: placeTime}), {"s", "c"}: looks(wire.Entry{CDate: placeTime, Data: []byte("newer")})})
	for _, name := range []string{"s.db", "s_fields.db"} {
		if _, err := os.Stat(filepath.Join(h.folder, "keys", name)); err != nil {
			t.Error(err)
		}
	}
}

// An unreadable file ends the move before its entries are removed.
func TestMoveOfBrokenFile(t *testing.T) {
	h := newHome(t)
	files, table := filesPlace(t, h), sqlPlace(t, h)
	files.put("a", entry("a", "1"))
	files.must(os.WriteFile(filepath.Join(h.folder, "keys", "b.db"), bytes.Repeat([]byte("no database "), 1000), 0o644))
	m := mover{from: files, to: table, pageBytes: 1}
	if err := m.run(t.Context()); err == nil || !strings.Contains(err.Error(), "b.db") {
		t.Errorf("error %v", err)
	}
	equal(t, "data", files.get("a", "a"), "1")
}

// corrupting is a place that stores other entries than it is given.
type corrupting struct {
	movable
	change func([]wire.Entry) []wire.Entry
}

func (c corrupting) PutAll(ctx context.Context, site string, entries []wire.Entry) ([]bool, error) {
	return c.movable.PutAll(ctx, site, c.change(slices.Clone(entries)))
}

func TestMoveComparesBeforeRemoval(t *testing.T) {
	for name, change := range map[string]func([]wire.Entry) []wire.Entry{
		"lost":       func(list []wire.Entry) []wire.Entry { return list[1:] },
		"cut":        func(list []wire.Entry) []wire.Entry { list[0].Data = list[0].Data[1:]; return list },
		"other date": func(list []wire.Entry) []wire.Entry { list[0].CDate = list[0].CDate.Add(time.Second); return list },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			files, table := filesPlace(t, h), sqlPlace(t, h)
			files.put("s", entry("a", "1"), entry("b", "2"))
			m := mover{from: files, to: corrupting{table, change}, pageBytes: 1000}
			if err := m.run(t.Context()); err == nil {
				t.Error("moved")
			}
			equal(t, "done", m.done, Moved{Sites: 1})
			equal(t, "data", files.get("s", "a")+files.get("s", "b"), "12")
		})
	}
}

func TestMoveContents(t *testing.T) {
	c := newHome(t).stores()
	log := slog.New(slog.DiscardHandler)
	repo, closeAll, err := Open(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Contents.PutAll(t.Context(), "s", []wire.Entry{entry("a", "text")}); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := MoveContents(t.Context(), c, PlaceSQL, &out, &progress, log); !errors.Is(err, errInUse) || out.Len() > 0 {
		t.Errorf("while another process has the stores open: %v %s", err, &out)
	}
	_, closeSecond, err := Open(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	closeSecond()
	closeAll()
	unlock, err := takeExclusiveLock(c.KeyDir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), c, log); !errors.Is(err, errMoving) {
		t.Errorf("opened during a move: %v", err)
	}
	unlock()
	for _, to := range []struct {
		place, setting string
		inSQL          bool
	}{{PlaceSQL, "= 1", true}, {PlaceFiles, "= 0", false}} {
		out.Reset()
		progress.Reset()
		if err := MoveContents(t.Context(), c, to.place, &out, &progress, log); err != nil {
			t.Fatal(err)
		}
		equal(t, to.place, out.String(), `{"sites":1,"moved":1,"bytes":4,"kept":0}`+"\n")
		if !strings.Contains(progress.String(), "content_storage_type "+to.setting) {
			t.Errorf("progress %q", &progress)
		}
		c.InSQL = to.inSQL
		repo, closeAll, err := Open(t.Context(), c, log)
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := repo.Contents.Get(t.Context(), "s", "a")
		equal(t, "entry", fmt.Sprint(string(e.Data), ok, err), "texttrue <nil>")
		closeAll()
	}
	if err := MoveContents(t.Context(), c, "here", &out, &progress, log); err == nil {
		t.Error("an unknown place is accepted")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := MoveContents(stopped, c, PlaceSQL, &out, &progress, log); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// moveVariable holds the task of the process that TestMoveKilled kills: the place and the
// Config.
const moveVariable = "STORAGE_TEST_MOVE"

// moveInChild is the work of the process that is killed. Its steps are small, so that
// kills hit different steps.
func moveInChild(order string) error {
	to, text, _ := strings.Cut(order, " ")
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	s, closeAll, err := openStores(context.Background(), c, slog.New(slog.DiscardHandler), alone)
	if err != nil {
		return err
	}
	defer closeAll()
	m := mover{from: s.files, to: s.table, pageBytes: 300}
	if to == PlaceFiles {
		m.from, m.to = s.table, s.files
	}
	m.progress = func(string) { fmt.Println("step") } // the parent kills between lines
	return m.run(context.Background())
}

// After a kill of a move, each entry is in one of the places, or unchanged in both. The
// first run without a kill completes the move.
func TestMoveKilled(t *testing.T) {
	if order := os.Getenv(moveVariable); order != "" {
		if err := moveInChild(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, to := range []string{PlaceSQL, PlaceFiles} {
		t.Run("to "+to, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			h := newHome(t)
			p := map[string]place{PlaceFiles: filesPlace(t, h), PlaceSQL: sqlPlace(t, h)}
			target, source := p[to], p[PlaceSQL]
			if to == PlaceSQL {
				source = p[PlaceFiles]
			}
			want := fillBoth(r, source, target, 5, 100)
			kills := 0
			for done := false; !done; {
				done = !killMove(t, h, to, r.IntN(4), time.Duration(r.IntN(3000))*time.Microsecond)
				got := source.all()
				for k, text := range target.all() {
					// The move replaces an older entry of the new place and keeps a newer one.
					if here, both := got[k]; !both || text[:len(time.DateTime)] > here[:len(time.DateTime)] {
						got[k] = text
					}
				}
				sameEntries(t, fmt.Sprint("after kill ", kills), got, want)
				if !done {
					kills++
				}
				if kills > 200 {
					t.Fatal("200 kills and no end")
				}
			}
			if kills < 5 {
				t.Errorf("only %d kills", kills)
			}
			t.Logf("%d kills", kills)
			sameEntries(t, "at the end", target.all(), want)
			equal(t, "entries in the old place", len(source.all()), 0)
		})
	}
}

// killMove runs a move and kills it a pause after the given number of steps. killed is
// false if the move ended before.
func killMove(t *testing.T, h home, to string, steps int, pause time.Duration) (killed bool) {
	t.Helper()
	config, err := json.Marshal(h.stores())
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMoveKilled$")
	c.Env = append(os.Environ(), moveVariable+"="+to+" "+string(config), "GORACE=atexit_sleep_ms=0")
	return killAfter(t, c, steps, pause)
}

// killAfter starts c and kills it a pause after it has printed some lines. killed is false if it
// ended before.
func killAfter(t *testing.T, c *exec.Cmd, lines int, pause time.Duration) (killed bool) {
	t.Helper()
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for range lines {
		if _, err := said.ReadString('\n'); err != nil {
			break // it has ended
		}
	}
	time.Sleep(pause) // a random moment within the next steps
	_ = c.Process.Signal(syscall.SIGKILL)
	_, _ = io.Copy(io.Discard, said)
	err = c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("the move fails: %v %s", err, &failed)
	}
	return err != nil
}
