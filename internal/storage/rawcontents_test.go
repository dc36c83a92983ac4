package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
)

var quiet = slog.New(slog.DiscardHandler)

// rawHome is a home with raw contents. It returns what a reader must find: the text of each
// content by site, key, name and kind.
func rawHome(t *testing.T, c Config, seed uint64, urls int) map[string]string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, seed))
	wanted := map[string]string{}
	for round, files := range []bool{!c.RawFiles, c.RawFiles} { // the last writer wins
		c := c
		c.RawFiles = files
		repo, closeAll, err := Open(t.Context(), c, quiet)
		must(t, err)
		if round == 0 {
			_, err := Job{Repository: repo}.Run(t.Context(), []byte(`["SITE_NEW",{"urls":["http://home.test/"]}]`))
			must(t, err)
		}
		stage := repo.Raw.Stage()
		for i := range urls {
			if r.IntN(3) == 0 {
				continue
			}
			site, key := fmt.Sprint("site", i%3), fmt.Sprintf("%032x", i*7)
			for _, kind := range []rawfiles.Kind{rawfiles.Raw, rawfiles.Headers, rawfiles.Chain} {
				for _, name := range []string{"", "a.label", rawfiles.TimeName(placeTime), rawfiles.TimeName(placeTime.Add(time.Duration(round) * time.Hour)), "20200102030405"} {
					if r.IntN(3) == 0 {
						continue
					}
					data := make([]byte, r.IntN(2000))
					for j := range data {
						data[j] = byte(r.Uint32())
					}
					must(t, stage.PutLabelled(site, key, name, kind, data))
					wanted[fmt.Sprint(site, " ", key, " ", name, " ", kind)] = string(data)
				}
			}
		}
		must(t, stage.Commit(t.Context()))
		closeAll()
	}
	return wanted
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readRaw returns all contents of the keys in wanted.
func readRaw(t *testing.T, c Config, wanted map[string]string) map[string]string {
	t.Helper()
	repo, closeAll, err := Open(t.Context(), c, quiet)
	must(t, err)
	defer closeAll()
	found := map[string]string{}
	seen := map[string]bool{}
	for k := range wanted {
		site, rest, _ := strings.Cut(k, " ")
		key, _, _ := strings.Cut(rest, " ")
		if seen[site+key] {
			continue
		}
		seen[site+key] = true
		list, err := repo.Raw.List(t.Context(), site, key)
		must(t, err)
		for _, v := range list {
			data, err := repo.Raw.Read(t.Context(), v)
			must(t, err)
			found[fmt.Sprint(v.Site, " ", v.MD5, " ", v.Name, " ", v.Kind)] = string(data)
		}
	}
	return found
}

func sameRaw(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d contents, want %d", what, len(got), len(want))
	}
	for k, text := range want {
		if got[k] != text {
			t.Fatalf("%s: %s has %d bytes, want %d", what, k, len(got[k]), len(text))
		}
	}
}

// rawFileCount counts the files of contents and of segments.
func rawFileCount(t *testing.T, c Config) (files, warc int) {
	t.Helper()
	must(t, filepath.WalkDir(c.RawDir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir() || strings.HasSuffix(path, ".lock"):
		case strings.HasSuffix(path, ".warc"):
			warc++
		default:
			files++
		}
		return err
	}))
	return files, warc
}

// A move there and back loses nothing, whichever place has a content.
func TestMoveRaw(t *testing.T) {
	for _, files := range []bool{true, false} {
		t.Run(fmt.Sprintf("files=%t", files), func(t *testing.T) {
			c := newHome(t).stores()
			c.RawFiles, c.Segment = files, 256<<10
			wanted := rawHome(t, c, 1, 40)
			sameRaw(t, "before", readRaw(t, c, wanted), wanted)
			for _, to := range []string{RawSegments, RawFiles, RawFiles, RawSegments, RawSegments} {
				var out, progress bytes.Buffer
				must(t, MoveRaw(t.Context(), c, to, &out, &progress, quiet))
				c.RawFiles = to == RawFiles
				sameRaw(t, "after a move to "+to, readRaw(t, c, wanted), wanted)
				if n, warc := rawFileCount(t, c); to == RawFiles && (warc != 0 || n != len(wanted)) || to == RawSegments && (n != 0 || warc == 0) {
					t.Errorf("after a move to %s: %d files, %d segments", to, n, warc)
				}
				if !strings.Contains(progress.String(), "set raw_store = "+to) || !strings.HasPrefix(out.String(), `{"urls":`) {
					t.Errorf("%s%s", &out, &progress)
				}
				out.Reset()
				must(t, CheckRaw(t.Context(), c, false, &out, &progress, quiet))
			}
		})
	}
	c := newHome(t).stores()
	if err := MoveRaw(t.Context(), c, "here", nil, nil, quiet); err == nil {
		t.Error("an unknown place is accepted")
	}
	_, closeAll, err := Open(t.Context(), c, quiet)
	must(t, err)
	defer closeAll()
	if err := MoveRaw(t.Context(), c, RawSegments, nil, nil, quiet); !errors.Is(err, errInUse) {
		t.Errorf("while another process has the stores open: %v", err)
	}
}

// moveRawVariable holds the order of the process that TestMoveRawKilled kills.
const moveRawVariable = "STORAGE_TEST_MOVE_RAW"

// After a kill of a move every content is readable. Repeated moves end.
func TestMoveRawKilled(t *testing.T) {
	if order := os.Getenv(moveRawVariable); order != "" {
		to, text, _ := strings.Cut(order, " ")
		var c Config
		must(t, json.Unmarshal([]byte(text), &c))
		progressPeriod = 0 // a line after each step: the parent kills between them
		fmt.Println("begins")
		must(t, MoveRaw(context.Background(), c, to, io.Discard, os.Stdout, quiet))
		os.Exit(0)
	}
	for _, to := range []string{RawSegments, RawFiles} {
		t.Run(to, func(t *testing.T) {
			c := newHome(t).stores()
			c.RawFiles, c.Segment = to == RawSegments, 256<<10
			wanted := rawHome(t, c, 2, 150)
			config, err := json.Marshal(c)
			must(t, err)
			r := rand.New(rand.NewPCG(4, 4))
			kills := 0
			for done := false; !done; {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMoveRawKilled$")
				cmd.Env = append(os.Environ(), moveRawVariable+"="+to+" "+string(config), "GORACE=atexit_sleep_ms=0")
				done = !killAfter(t, cmd, 1+r.IntN(2), time.Duration(r.IntN(20))*time.Millisecond)
				if !done {
					kills++
				}
				if kills%5 == 0 || done {
					sameRaw(t, fmt.Sprint("after kill ", kills), readRaw(t, c, wanted), wanted)
				}
				if kills > 200 {
					t.Fatal("200 kills and no end")
				}
			}
			if kills < 5 {
				t.Errorf("only %d kills", kills)
			}
			c.RawFiles = to == RawFiles
			sameRaw(t, "at the end", readRaw(t, c, wanted), wanted)
			var out, report bytes.Buffer
			must(t, CheckRaw(t.Context(), c, false, &out, &report, quiet))
			t.Logf("%d kills", kills)
		})
	}
}

// Each kind of fault is reported and makes the check fail.
func TestCheckRaw(t *testing.T) {
	segment := func(c Config) string {
		names, _ := filepath.Glob(filepath.Join(c.RawDir, ".segments", "*.warc"))
		slices.Sort(names)
		return names[0]
	}
	statement := func(t *testing.T, c Config, text string) {
		t.Helper()
		d, err := sqldb.Open(t.Context(), c.DB)
		must(t, err)
		defer d.Close()
		must(t, d.Update(t.Context(), func(tx *sqldb.Tx) error {
			text = strings.NewReplacer("records", d.Table(sqldb.Sites, "raw_records"), "segments", d.Table(sqldb.Sites, "raw_segments")).Replace(text)
			_, err := tx.Exec(text)
			return err
		}))
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, c Config)
		says   string
		fixed  bool
	}{
		"sound": {func(*testing.T, Config) {}, "", false},
		"changed byte": {func(t *testing.T, c Config) {
			data, err := os.ReadFile(segment(c))
			must(t, err)
			data[len(data)-20] ^= 4
			must(t, os.WriteFile(segment(c), data, 0o640))
		}, "damaged raw content", false},
		"short file":            {func(t *testing.T, c Config) { must(t, os.Truncate(segment(c), 100)) }, "100 bytes instead of", false},
		"missing file":          {func(t *testing.T, c Config) { must(t, os.Remove(segment(c))) }, "no such file", false},
		"unknown file":          {func(t *testing.T, c Config) { must(t, os.WriteFile(segment(c)+"x.warc", nil, 0o640)) }, "not in the database", false},
		"wrong counter":         {func(t *testing.T, c Config) { statement(t, c, "UPDATE segments SET Live = Live + 1") }, "live bytes instead of", true},
		"run behind the end":    {func(t *testing.T, c Config) { statement(t, c, "UPDATE records SET Start = Start + 1000000000") }, "damaged raw content", false},
		"run of other contents": {func(t *testing.T, c Config) { statement(t, c, "UPDATE records SET Digest = Digest + 1") }, "damaged raw content", false},
		"missing row":           {func(t *testing.T, c Config) { statement(t, c, "DELETE FROM segments") }, "is not in the database", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			config := h.stores()
			rawHome(t, config, 3, 10)
			c.damage(t, config)
			for _, fix := range []bool{false, true, true} {
				var out, report bytes.Buffer
				err := CheckRaw(t.Context(), config, fix, &out, &report, quiet)
				if (c.says == "") != (report.Len() == 0) && !(fix && c.fixed) || !strings.Contains(report.String(), c.says) && !(fix && c.fixed) {
					t.Errorf("fix %t: reported %q", fix, &report)
				}
				if (c.says != "" && !(fix && c.fixed)) != errors.Is(err, ErrFaults) {
					t.Errorf("fix %t: %v", fix, err)
				}
				var sum RawChecked
				must(t, json.Unmarshal(out.Bytes(), &sum))
				if sum.Runs == 0 {
					t.Errorf("%s", &out)
				}
			}
		})
	}
}

// URL_PURGE removes dead segments.
func TestPurgeCompacts(t *testing.T) {
	n := withPage(t)
	for i := range 30 {
		stage := n.Raw.Stage()
		n.must(stage.Put(site, fmt.Sprintf("%032x", i), n.now, rawfiles.Raw, bytes.Repeat([]byte("x"), 100_000)))
		n.must(stage.Commit(t.Context()))
	}
	for i := range 30 {
		n.must(n.Raw.DeleteURLs(t.Context(), site, []string{fmt.Sprintf("%032x", i)}))
	}
	before, _ := filepath.Glob(filepath.Join(n.raw, ".segments", "*.warc"))
	n.good(fmt.Sprintf(`["URL_PURGE",[{"siteId":%q}]]`, site))
	after, _ := filepath.Glob(filepath.Join(n.raw, ".segments", "*.warc"))
	if len(before) < 3 || len(after) != 1 {
		t.Errorf("%d segments, then %d", len(before), len(after))
	}
	var out bytes.Buffer
	c := Config{DB: n.config, RawDir: n.raw, KeyDir: n.keys, MaxFile: 1 << 20}
	n.must(CompactRaw(t.Context(), c, &out, quiet))
	var done segments.Compacted
	n.must(json.Unmarshal(out.Bytes(), &done))
}
