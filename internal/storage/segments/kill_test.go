package segments

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
)

const (
	// childVariable holds the order of a process that TestKilled kills.
	childVariable = "DC_SEGMENTS_TEST_ORDER"
	// killsVariable is the number of kills on each database.
	killsVariable = "DC_SEGMENTS_TEST_KILLS"
	killsDefault  = 120
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		fmt.Println("error:", childWork(text))
		os.Exit(1)
	}
	os.Exit(mariadbtest.Main(m))
}

// order is the work of a child.
type order struct {
	Action string // "" for random work
	Dir    string
	DB     sqldb.Config
	Child  int // number of the child: part of its keys
}

const childSegment = 64 << 10

func childWork(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, _, err := openStore(o.Dir, o.DB, Options{Size: childSegment}, time.Now)
	if err != nil {
		return err
	}
	if o.Action == "full" {
		return childOnFullDisk(s)
	}
	r := rand.New(rand.NewPCG(uint64(o.Child), uint64(os.Getpid())))
	var stored []string
	for n := 0; ; n++ {
		switch draw := r.IntN(20); {
		case draw == 0:
			if r.IntN(2) == 0 {
				_, err = s.Compact(ctx, 0)
			} else {
				_, err = s.CompactAll(ctx)
			}
			if err != nil {
				return err
			}
		case draw < 6 && len(stored) > 0:
			md5 := stored[r.IntN(len(stored))]
			fmt.Println("drop", md5)
			if err := s.DeleteURLs(ctx, "s", []string{md5}); err != nil {
				return err
			}
			fmt.Println("gone", md5)
			stored = slices.DeleteFunc(stored, func(other string) bool { return other == md5 })
		default:
			st := s.Stage()
			var keys []string
			for i := range 1 + r.IntN(4) {
				md5 := fmt.Sprintf("%08x%08x%016x", o.Child, n, i)
				keys = append(keys, md5)
				for _, k := range []rawfiles.Kind{rawfiles.Raw, rawfiles.Headers} {
					if err := st.Put("s", md5, t1, k, contentFor(md5, k)); err != nil {
						return err
					}
				}
			}
			if err := st.Commit(ctx); err != nil {
				return err
			}
			stored = append(stored, keys...)
			fmt.Println("kept", strings.Join(keys, " "))
		}
	}
}

// contentFor is the content that children store for a key.
func contentFor(md5 string, k rawfiles.Kind) []byte {
	n, _ := strconv.ParseUint(md5[:16], 16, 64)
	return bytes.Repeat([]byte(md5+strconv.Itoa(int(k))), 1+int(n%7)*int(50-20*k))
}

// Processes are killed at random moments: while they write, take over a segment, delete or
// compact. What they reported as stored is there, byte for byte; what they reported as
// deleted is not; and the counters are exact.
func TestKilled(t *testing.T) {
	kills := killsDefault
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		must(t, err)
	}
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, backend)
			s, _ := h.open(Options{Size: childSegment})
			must(t, os.MkdirAll(h.dir, 0o755))
			r := rand.New(rand.NewPCG(uint64(kills), 5))
			kept, unsure := map[string]bool{}, map[string]bool{}
			for done := 0; done < kills; done += 2 {
				pair := []*killed{h.start(2 * done), h.start(2*done + 1)} // two at a time share the segments
				for _, c := range pair {
					c.kill(t, r.IntN(8), time.Duration(r.IntN(4000))*time.Microsecond)
					for md5 := range c.kept {
						kept[md5] = true
						if rawTexts(t, s, md5) != string(contentFor(md5, rawfiles.Raw)) {
							t.Fatalf("kill %d: %s is lost", done, md5)
						}
					}
					maps.Copy(unsure, c.unsure)
				}
				if done%20 == 0 {
					h.sound(s)
				}
			}
			for md5 := range kept {
				if got, wanted := texts(t, s, "s", md5, rawfiles.Headers), contentFor(md5, rawfiles.Headers); got != string(wanted) {
					t.Errorf("%s: %d bytes, want %d", md5, len(got), len(wanted))
				}
			}
			for md5 := range unsure { // the child died between the begin and the report of a deletion
				if got := rawTexts(t, s, md5); got != "" && got != string(contentFor(md5, rawfiles.Raw)) {
					t.Errorf("%s: half deleted", md5)
				}
			}
			h.sound(s)
			_, err := s.Compact(ctx, 0)
			must(t, err)
			h.sound(s)
			rows, err := s.listSegments(ctx)
			must(t, err)
			for _, row := range rows { // cuts what the last kill left
				seg, err := s.lockSegment(ctx, row.id)
				must(t, err)
				if seg != nil {
					must(t, seg.unlockSegment())
				}
			}
			checkWARC(t, h.dir)
			t.Logf("%d kills, %d contents", kills, len(kept))
			if len(kept) < kills/2 {
				t.Errorf("only %d contents", len(kept))
			}
			// No other content is visible than what a child began to store.
			must(t, s.db.View(ctx, func(tx *sqldb.Tx) error {
				var n int
				_, err := tx.Row("SELECT COUNT(*) FROM "+recordsTable(tx), nil, &n)
				if n > len(kept)+len(unsure)+4*2*kills {
					t.Errorf("%d runs", n)
				}
				return err
			}))
		})
	}
}

func rawTexts(t testing.TB, s *Store, md5 string) string { return texts(t, s, "s", md5, rawfiles.Raw) }

// killed is a child process.
type killed struct {
	cmd          *exec.Cmd
	out          *bufio.Scanner
	kept, unsure map[string]bool
}

func (h *home) start(child int) *killed {
	h.t.Helper()
	text, err := json.Marshal(order{Dir: h.dir, DB: h.config, Child: child})
	must(h.t, err)
	c := &killed{cmd: exec.CommandContext(h.t.Context(), os.Args[0]), kept: map[string]bool{}, unsure: map[string]bool{}}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
	out, err := c.cmd.StdoutPipe()
	must(h.t, err)
	must(h.t, c.cmd.Start())
	c.out = bufio.NewScanner(out)
	return c
}

// kill kills the child a pause after some lines, and reads what it reported.
func (c *killed) kill(t testing.TB, lines int, pause time.Duration) {
	t.Helper()
	for range lines {
		if !c.out.Scan() {
			break
		}
		c.read(t)
	}
	time.Sleep(pause) // a random moment within the next steps
	must(t, c.cmd.Process.Signal(syscall.SIGKILL))
	for c.out.Scan() {
		c.read(t)
	}
	_ = c.cmd.Wait()
}

func (c *killed) read(t testing.TB) {
	t.Helper()
	word, rest, _ := strings.Cut(c.out.Text(), " ")
	for _, md5 := range strings.Fields(rest) {
		switch {
		case len(md5) != 32:
			if word == "error:" {
				t.Fatal(c.out.Text())
			}
		case word == "kept":
			c.kept[md5] = true
		case word == "drop":
			delete(c.kept, md5)
			c.unsure[md5] = true
		case word == "gone":
			delete(c.unsure, md5)
		}
	}
}

// A power cut loses what was not synced. The test keeps the bytes of each segment up to its
// last sync, adds garbage as a file system may, and opens them with the committed database.
func TestPowerCut(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	r := rand.New(rand.NewPCG(3, 3))
	stored := map[string]string{}
	synced := map[int64]int64{} // by segment
	for cut := range 40 {
		s, closeStore := h.open(Options{Size: 256 << 10})
		for i := range 1 + r.IntN(5) {
			st := s.Stage()
			md5 := fmt.Sprintf("%016x%016x", cut, i)
			body := strings.Repeat(md5, 1+r.IntN(500))
			must(t, st.Put("s", md5, t1, rawfiles.Raw, []byte(body)))
			index, err := st.Flush(ctx)
			must(t, err)
			synced[s.own.id] = s.own.end
			if r.IntN(4) == 0 {
				st.Abort()
				continue // the cut comes before the transaction
			}
			must(t, s.db.Update(ctx, index))
			st.Abort()
			stored[md5] = body
		}
		closeStore()
		for id, end := range synced {
			data, err := os.ReadFile(s.segmentPath(id))
			must(t, err)
			garbage := make([]byte, r.IntN(3000))
			for i := range garbage {
				garbage[i] = byte(r.Uint32())
			}
			must(t, os.WriteFile(s.segmentPath(id), append(data[:end:end], garbage...), 0o640))
		}
		clear(synced)
		s, closeStore = h.open(Options{})
		for md5, body := range stored {
			if got := rawTexts(t, s, md5); got != body {
				t.Fatalf("cut %d: %s has %d bytes of %d", cut, md5, len(got), len(body))
			}
		}
		h.sound(s)
		closeStore()
	}
}

// A write that fails, as on a full disk, stores nothing and breaks nothing.
func TestFullDisk(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	s, closeStore := h.open(Options{})
	put(t, s, "s", key, t1, rawfiles.Raw, "before")
	closeStore()
	text, err := json.Marshal(order{Action: "full", Dir: h.dir, DB: h.config})
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, _ := cmd.CombinedOutput()
	want(t, string(out), "error: <nil>\n")
	s, _ = h.open(Options{})
	want(t, rawTexts(t, s, key), "before after")
	checkWARC(t, h.dir)
	h.sound(s)
}

// childOnFullDisk limits the size of files, which causes the same errors as a full disk.
func childOnFullDisk(s *Store) error {
	limitFiles(2 << 20)
	st := s.Stage()
	if err := st.Put("s", key, t2, rawfiles.Raw, make([]byte, 5<<20)); err != nil {
		return err
	}
	if err := st.Commit(ctx); err == nil || !strings.Contains(err.Error(), "file too large") {
		return fmt.Errorf("commit on a full disk: %v", err)
	}
	st = s.Stage()
	if err := st.Put("s", key, t3, rawfiles.Raw, []byte("after")); err != nil {
		return err
	}
	return st.Commit(ctx)
}

// limitFiles limits the size of the files that this process writes.
func limitFiles(size uint64) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		panic(err)
	}
}
