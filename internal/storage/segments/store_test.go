package segments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
)

const key = "0123456789abcdef0123456789abcdef"

var (
	ctx = context.Background()
	t1  = time.Date(2024, 5, 6, 7, 8, 9, 123e6, time.UTC)
	t2  = t1.Add(time.Hour)
	t3  = t2.Add(time.Millisecond)
)

// home is a data folder of a test. Several stores may use it.
type home struct {
	t      testing.TB
	dir    string
	config sqldb.Config
	now    time.Time
}

func newHome(t testing.TB, backend string) *home {
	t.Helper()
	config := dbtest.Config(t, backend)
	config.Synchronous = "OFF" // TestPowerCut covers power failures
	return &home{t: t, dir: filepath.Join(t.TempDir(), "raw"), config: config, now: t3}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a store on the folder. close is called at the end of the test at the latest.
func (h *home) open(o Options) (s *Store, closeAll func()) {
	h.t.Helper()
	s, closeAll, err := openStore(h.dir, h.config, o, func() time.Time { return h.now })
	must(h.t, err)
	h.t.Cleanup(closeAll)
	return s, closeAll
}

func openStore(dir string, config sqldb.Config, o Options, now func() time.Time) (*Store, func(), error) {
	d, err := sqldb.Open(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	f, err := rawfiles.Open(dir, rawfiles.Options{NoSync: o.NoSync, MaxFile: o.MaxFile})
	if err != nil {
		return nil, nil, err
	}
	o.Dir, o.Now = dir, now
	s := Open(f, d, o)
	return s, sync.OnceFunc(func() { _, _, _ = s.Close(), f.Close(), d.Close() }), nil
}

// forEach runs a test on both databases and with both places of new contents.
func forEach(t *testing.T, o Options, test func(t *testing.T, h *home, s *Store)) {
	t.Helper()
	for _, backend := range dbtest.Backends {
		for _, files := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s files=%t", backend, files), func(t *testing.T) {
				o := o
				o.Files, o.NoSync = files, true
				h := newHome(t, backend)
				s, _ := h.open(o)
				test(t, h, s)
			})
		}
	}
}

func put(t testing.TB, s *Store, site, md5 string, at time.Time, k rawfiles.Kind, data string) {
	t.Helper()
	st := s.Stage()
	must(t, st.Put(site, md5, at, k, []byte(data)))
	must(t, st.Commit(ctx))
}

func putLabelled(t testing.TB, s *Store, site, md5, label string, k rawfiles.Kind, data string) {
	t.Helper()
	st := s.Stage()
	must(t, st.PutLabelled(site, md5, label, k, []byte(data)))
	must(t, st.Commit(ctx))
}

// texts reads the versions of one kind, oldest first.
func texts(t testing.TB, s *Store, site, md5 string, k rawfiles.Kind) string {
	t.Helper()
	vs, err := s.Versions(ctx, site, md5, k)
	must(t, err)
	var list []string
	for _, v := range vs {
		data, err := s.Read(ctx, v)
		must(t, err)
		list = append(list, string(data))
	}
	return strings.Join(list, " ")
}

func want[T any](t testing.TB, got, want T) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

func TestBadNames(t *testing.T) {
	forEach(t, Options{MaxFile: 10}, func(t *testing.T, _ *home, s *Store) {
		st := s.Stage()
		for _, site := range []string{"..", "a/b", "a.b", " ", "ü", strings.Repeat("a", 33)} {
			want(t, errors.Is(st.Put(site, key, t1, rawfiles.Raw, nil), rawfiles.ErrName), true)
			want(t, errors.Is(s.DeleteSite(ctx, site), rawfiles.ErrName), true)
		}
		for _, md5 := range []string{"", "..", strings.ToUpper(key), key + "0", key[:30] + "/x"} {
			want(t, errors.Is(st.Put("s", md5, t1, rawfiles.Raw, nil), rawfiles.ErrName), true)
			want(t, errors.Is(s.DeleteURLs(ctx, "s", []string{key, md5}), rawfiles.ErrName), true)
			_, err := s.Versions(ctx, "s", md5, rawfiles.Raw)
			want(t, errors.Is(err, rawfiles.ErrName), true)
		}
		for _, label := range []string{"a/b", "ü", strings.Repeat("a", 65)} {
			want(t, errors.Is(st.PutLabelled("s", key, label, rawfiles.Raw, nil), rawfiles.ErrName), true)
		}
		want(t, errors.Is(st.Put("s", key, t1, 10, nil), rawfiles.ErrName), true)
		want(t, errors.Is(st.Put("s", key, t1, rawfiles.Raw, make([]byte, 11)), rawfiles.ErrTooLarge), true)
		// The stage stays usable.
		must(t, st.Put("s", key, t1, rawfiles.Raw, []byte("x")))
		must(t, st.Commit(ctx))
		want(t, errors.Is(st.Put("s", key, t1, rawfiles.Raw, nil), rawfiles.ErrDone), true)
		want(t, errors.Is(st.Commit(ctx), rawfiles.ErrDone), true)
		want(t, texts(t, s, "s", key, rawfiles.Raw), "x")
		must(t, s.Stage().Commit(ctx))
	})
}

// All bytes and all kinds read back unchanged.
func TestRoundTrip(t *testing.T) {
	forEach(t, Options{Size: 1 << 20}, func(t *testing.T, h *home, s *Store) {
		r := rand.New(rand.NewPCG(1, 2))
		kinds := []rawfiles.Kind{rawfiles.Raw, rawfiles.Tidy, rawfiles.Headers, rawfiles.Requests, rawfiles.Meta, rawfiles.Cookies, rawfiles.Dynamic, rawfiles.Chain}
		stored := map[string][]byte{}
		name := func(i int, k rawfiles.Kind) string { return fmt.Sprintf("%d/%d", i, k) }
		for chunk := range 6 {
			st := s.Stage()
			for i := chunk * 10; i < chunk*10+10; i++ {
				for _, k := range kinds {
					data := make([]byte, r.IntN(20000))
					for j := range data {
						data[j] = byte(r.Uint32())
					}
					switch r.IntN(8) {
					case 0:
						data = nil
					case 1:
						data = []byte("\r\n\r\nWARC/1.1\r\n")
					case 2:
						continue
					}
					must(t, st.Put("s", fmt.Sprintf("%032x", i), t1, k, data))
					stored[name(i, k)] = data
				}
			}
			must(t, st.Commit(ctx))
		}
		for i := range 60 {
			for _, k := range kinds {
				v, found, err := s.Newest(ctx, "s", fmt.Sprintf("%032x", i), k)
				must(t, err)
				data, exists := stored[name(i, k)]
				if found != exists {
					t.Fatalf("%s: found %t", name(i, k), found)
				}
				if !found {
					continue
				}
				got, err := s.Read(ctx, v)
				must(t, err)
				if !bytes.Equal(got, data) || !v.Time.Equal(t1) {
					t.Fatalf("%s: %d bytes of %d, %v", name(i, k), len(got), len(data), v.Time)
				}
			}
		}
		if !s.o.Files {
			segs, _ := filepath.Glob(filepath.Join(h.dir, folder, "*.warc"))
			want(t, len(segs) > 2, true)
		}
	})
}

func TestVersionsAndCompanions(t *testing.T) {
	forEach(t, Options{}, func(t *testing.T, h *home, s *Store) {
		st := s.Stage()
		for i, at := range []time.Time{t3, t1, t2} {
			must(t, st.Put("", key, at, rawfiles.Raw, fmt.Append(nil, "body", i)))
			must(t, st.Put("", key, at, rawfiles.Headers, fmt.Append(nil, "headers", i)))
		}
		must(t, st.Put("", key, t1, rawfiles.Raw, []byte("again")))
		want(t, texts(t, s, "", key, rawfiles.Raw), "") // invisible before Commit
		must(t, st.Commit(ctx))
		want(t, texts(t, s, "0", key, rawfiles.Raw), "again body2 body0")

		h.now = t3.Add(time.Hour)
		putLabelled(t, s, "", key, "x.y-z", rawfiles.Raw, "labelled")
		putLabelled(t, s, "", key, "", rawfiles.Meta, "bare")
		vs, err := s.Versions(ctx, "", key, rawfiles.Raw)
		must(t, err)
		want(t, vs[3].Label()+vs[2].Label(), "x.y-z")
		want(t, texts(t, s, "", key, rawfiles.Meta), "bare")

		// A content that is added later joins its version, and replaces its kind only.
		putLabelled(t, s, "", key, vs[1].Name, rawfiles.Cookies, "cookies")
		put(t, s, "", key, t1, rawfiles.Chain, "chain")
		put(t, s, "", key, t1, rawfiles.Headers, "new headers")
		put(t, s, "", key, t1, rawfiles.Raw, "new body")
		putLabelled(t, s, "", key, "x.y-z", rawfiles.Raw, "labelled again")
		want(t, texts(t, s, "0", key, rawfiles.Raw), "new body body2 body0 labelled again")
		want(t, texts(t, s, "0", key, rawfiles.Headers), "new headers headers2 headers0")
		vs, err = s.Versions(ctx, "", key, rawfiles.Raw)
		must(t, err)
		for i, q := range []struct {
			of   int
			kind rawfiles.Kind
			want string
		}{
			{0, rawfiles.Headers, "new headers"}, {0, rawfiles.Chain, "chain"}, {0, rawfiles.Cookies, ""}, {1, rawfiles.Cookies, "cookies"},
			{1, rawfiles.Headers, "headers2"}, {2, rawfiles.Headers, "headers0"}, {3, rawfiles.Headers, ""}, {2, rawfiles.Raw, "body0"},
		} {
			v, found, err := s.Companion(ctx, vs[q.of], q.kind)
			must(t, err)
			got := ""
			if found {
				data, err := s.Read(ctx, v)
				must(t, err)
				got = string(data)
			}
			if got != q.want || found != (q.want != "") || found && v.Kind != q.kind {
				t.Errorf("%d: %q, %+v", i, got, v)
			}
		}
		want(t, texts(t, s, "other", key, rawfiles.Raw), "")
		h.sound(s)
	})
}

// Contents under the other setting stay readable, and the last writer wins.
func TestBothPlaces(t *testing.T) {
	forEach(t, Options{}, func(t *testing.T, h *home, s *Store) {
		o := s.o
		o.Files = !o.Files
		other, _ := h.open(o)
		put(t, other, "s", key, t1, rawfiles.Raw, "one")
		put(t, s, "s", key, t2, rawfiles.Raw, "two")
		put(t, other, "s", key, t3, rawfiles.Raw, "three")
		putLabelled(t, s, "s", key, rawfiles.TimeName(t1), rawfiles.Headers, "headers one")
		putLabelled(t, other, "s", key, "label", rawfiles.Meta, "meta 1")
		putLabelled(t, s, "s", key, "label", rawfiles.Meta, "meta 2")
		for _, reader := range []*Store{s, other} {
			want(t, texts(t, reader, "s", key, rawfiles.Raw), "one two three")
			want(t, texts(t, reader, "s", key, rawfiles.Meta), "meta 2")
			vs, err := reader.Versions(ctx, "s", key, rawfiles.Raw)
			must(t, err)
			v, found, err := reader.Companion(ctx, vs[0], rawfiles.Headers)
			must(t, err)
			data, err := reader.Read(ctx, v)
			want(t, fmt.Sprint(string(data), found, err), "headers onetrue <nil>")
		}
		setLimit(t, s, "s", "2")
		surplus, err := s.TrimNow(ctx, "s", []string{key})
		must(t, err)
		must(t, s.Remove(surplus))
		want(t, texts(t, other, "s", key, rawfiles.Raw), "two three")
		want(t, texts(t, other, "s", key, rawfiles.Headers), "")
		must(t, s.DeleteURLs(ctx, "s", []string{key}))
		want(t, texts(t, other, "s", key, rawfiles.Raw)+texts(t, s, "s", key, rawfiles.Meta), "")
		h.sound(s)
	})
}

// setLimit stores RAW_VERSIONS_MAX of a site.
func setLimit(t testing.TB, s *Store, site, limit string) {
	t.Helper()
	must(t, s.db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("INSERT INTO "+s.db.Table(sqldb.Sites, "sites_properties")+" (Site_Id, Name, Value, CDate) VALUES (?, 'RAW_VERSIONS_MAX', ?, '2026-01-01 00:00:00')", site, limit)
		return err
	}))
}

func TestTrim(t *testing.T) {
	forEach(t, Options{}, func(t *testing.T, h *home, s *Store) {
		for i := range 5 {
			at := t1.Add(time.Duration(i) * time.Minute)
			for _, k := range []rawfiles.Kind{rawfiles.Raw, rawfiles.Headers, rawfiles.Chain} {
				put(t, s, "s", key, at, k, fmt.Sprint(i))
			}
		}
		putLabelled(t, s, "s", key, "label", rawfiles.Raw, "label")
		trim := func() {
			surplus, err := s.TrimNow(ctx, "s", []string{key, "ff" + key[2:]})
			must(t, err)
			must(t, s.Remove(surplus))
		}
		trim()
		want(t, texts(t, s, "s", key, rawfiles.Headers), "0 1 2 3 4")
		setLimit(t, s, "s", "2")
		for range 2 {
			trim()
			want(t, texts(t, s, "s", key, rawfiles.Raw), "3 4 label")
			want(t, texts(t, s, "s", key, rawfiles.Headers), "3 4")
			want(t, texts(t, s, "s", key, rawfiles.Chain), "3 4")
		}
		h.sound(s)
	})
}

func TestDelete(t *testing.T) {
	forEach(t, Options{Size: 1 << 20}, func(t *testing.T, h *home, s *Store) {
		var keys []string
		st := s.Stage()
		for i := range 2500 {
			keys = append(keys, fmt.Sprintf("%032x", i*7919))
			for _, site := range []string{"s", "s-2", "S"} {
				must(t, st.Put(site, keys[i], t1, rawfiles.Raw, []byte(site)))
			}
		}
		must(t, st.Commit(ctx))
		must(t, s.DeleteURLs(ctx, "s", keys[:500]))
		must(t, s.DeleteURLs(ctx, "s", keys[400:500]))
		must(t, s.DeleteURLs(ctx, "unused", keys[:1]))
		for i, wanted := range map[int]string{0: "", 499: "", 500: "s", 2499: "s"} {
			want(t, texts(t, s, "s", keys[i], rawfiles.Raw), wanted)
		}
		for range 2 {
			must(t, s.DeleteSite(ctx, "s"))
		}
		for _, i := range []int{0, 1000, 2499} {
			want(t, texts(t, s, "s", keys[i], rawfiles.Raw)+texts(t, s, "S", keys[i], rawfiles.Raw)+texts(t, s, "s-2", keys[i], rawfiles.Raw), "Ss-2")
		}
		h.sound(s)
	})
}

// Goroutines and stores share a folder.
func TestTogether(t *testing.T) {
	forEach(t, Options{Size: 1 << 20}, func(t *testing.T, h *home, s *Store) {
		second, _ := h.open(s.o)
		var all sync.WaitGroup
		for g := range 6 {
			all.Go(func() {
				store := []*Store{s, second}[g%2]
				for i := range 15 {
					st := store.Stage()
					for j := range 4 {
						if err := errors.Join(st.Put("s", fmt.Sprintf("%032x", j), t1.Add(time.Duration(g*100+i)*time.Second), rawfiles.Raw, fmt.Append(nil, g, i, j)),
							st.Put("s", fmt.Sprintf("%032x", j), t1, rawfiles.Chain, fmt.Append(nil, g, i, j)),
							st.Put("s", fmt.Sprintf("ff%030x", 4), t1, rawfiles.Raw, nil)); err != nil {
							t.Error(err)
						}
					}
					if err := st.Commit(ctx); err != nil {
						t.Error(err)
					}
					if g == 5 && !s.o.Files {
						if err := store.DeleteURLs(ctx, "s", []string{fmt.Sprintf("ff%030x", 4)}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		for j := range 4 {
			vs, err := s.Versions(ctx, "s", fmt.Sprintf("%032x", j), rawfiles.Raw)
			must(t, err)
			want(t, len(vs), 90)
			for _, v := range vs {
				_, err := s.Read(ctx, v)
				must(t, err)
			}
			vs, err = s.Versions(ctx, "s", fmt.Sprintf("%032x", j), rawfiles.Chain)
			must(t, err)
			want(t, len(vs), 1)
		}
		h.sound(s)
	})
}

// sound checks that the counters of the segments match the runs, and that each run can be read.
func (h *home) sound(s *Store) {
	h.t.Helper()
	sums, sizes := map[int64]int64{}, map[int64]int64{}
	must(h.t, s.db.View(ctx, func(tx *sqldb.Tx) error {
		clear(sums)
		rows, err := segmentRows(tx)
		for _, r := range rows {
			sums[r.id], sizes[r.id] = r.live, r.size
		}
		if err != nil {
			return err
		}
		return tx.Each("SELECT "+insertColumns+" FROM "+recordsTable(tx), nil, func(scan func(...any) error) error {
			var r record
			err := scan(&r.site, &r.md5, &r.name, &r.part, &r.at, &r.kinds, &r.segment, &r.start, &r.bytes, &r.digest)
			if err == nil {
				sums[r.segment] -= r.bytes
				var data []byte
				if data, err = s.readRun(r.place); err == nil && r.start+r.bytes > sizes[r.segment] {
					err = fmt.Errorf("%+v is behind the end", r)
				}
				for _, v := range r.liveVersions() {
					if err == nil {
						_, err = contentOf(data, v.Kind)
					}
				}
			}
			return err
		})
	}))
	for id, difference := range sums {
		if difference != 0 {
			h.t.Errorf("segment %d counts %d live bytes too many", id, difference)
		}
	}
}

// A version that was deleted since it was listed does not exist.
func TestReadDeleted(t *testing.T) {
	forEach(t, Options{}, func(t *testing.T, _ *home, s *Store) {
		put(t, s, "s", key, t1, rawfiles.Raw, "x")
		v, _, err := s.Newest(ctx, "s", key, rawfiles.Raw)
		must(t, err)
		must(t, s.DeleteURLs(ctx, "s", []string{key}))
		data, err := s.Read(ctx, v)
		if v.Record != nil && (err != nil || string(data) != "x") || v.Record == nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q, %v", data, err)
		}
		if v.Record != nil {
			must(t, os.Remove(s.segmentPath(v.Record.(place).segment)))
			if _, err := s.Read(ctx, v); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
	})
}

// A damaged or missing segment is an error that names the file and the remedy.
func TestDamage(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				data[bytes.Index(data, []byte("text"))] ^= 1
				err = os.WriteFile(path, data, 0o640)
			}
			return err
		},
		"short":   func(path string) error { return os.Truncate(path, 300) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			s, closeStore := h.open(Options{})
			put(t, s, "s", key, t1, rawfiles.Raw, "text")
			v, _, err := s.Newest(ctx, "s", key, rawfiles.Raw)
			must(t, err)
			closeStore()
			path := s.segmentPath(v.Record.(place).segment)
			must(t, damage(path))
			s, closeStore = h.open(Options{})
			defer closeStore()
			if _, err := s.Read(ctx, v); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "db-task --check") {
				t.Errorf("%v", err)
			}
			// New contents are still stored.
			put(t, s, "s", key, t1, rawfiles.Raw, "new")
			want(t, texts(t, s, "s", key, rawfiles.Raw), "new")
		})
	}
}

// A segment file that the database does not know, for example after its restore, is not
// overwritten.
func TestFileWithoutRow(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	must(t, os.MkdirAll(filepath.Join(h.dir, folder), 0o755))
	for id := range 3 {
		must(t, os.WriteFile(filepath.Join(h.dir, folder, fmt.Sprintf("%08d.warc", id+1)), []byte("older"), 0o640))
	}
	s, _ := h.open(Options{})
	put(t, s, "s", key, t1, rawfiles.Raw, "x")
	want(t, s.own.id, 4)
	for id := range 3 {
		data, err := os.ReadFile(s.segmentPath(int64(id + 1)))
		want(t, fmt.Sprint(string(data), err), "older<nil>")
	}
	rows, err := s.listSegments(ctx)
	must(t, err)
	want(t, len(rows), 1)
}

// A store continues the segment of a store that was closed, but not that of an open one.
func TestTakeOver(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	first, closeFirst := h.open(Options{Size: 1 << 20})
	second, closeSecond := h.open(Options{Size: 1 << 20})
	put(t, first, "s", key, t1, rawfiles.Raw, "1")
	put(t, second, "s", key, t2, rawfiles.Raw, "2")
	want(t, fmt.Sprint(first.own.id, second.own.id), "1 2")
	end := first.own.end
	closeFirst()
	// Bytes behind the last commit, as a killed process leaves them.
	f, err := os.OpenFile(first.segmentPath(1), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString("WARC/1.1\r\nhalf a record")
	must(t, errors.Join(err, f.Close()))
	third, closeThird := h.open(Options{Size: 1 << 20})
	put(t, third, "s", key, t3, rawfiles.Raw, "3")
	want(t, fmt.Sprint(third.own.id, third.own.end > end), "1 true")
	want(t, texts(t, third, "s", key, rawfiles.Raw), "1 2 3")
	// Without room there is a new segment; an oversized run has one of its own.
	put(t, third, "s", key, t3.Add(1e9), rawfiles.Raw, strings.Repeat("x", 2<<20))
	want(t, third.own.id, 3)
	put(t, third, "s", key, t3.Add(2e9), rawfiles.Raw, "y")
	want(t, third.own.id, 1)
	closeSecond()
	h.sound(third)
	closeThird()
	checkWARC(t, h.dir)
}

// checkWARC parses all segments by the grammar of WARC 1.1, without the code of the package. A
// record may have an equal copy: one that Compact made before a kill.
func checkWARC(t testing.TB, dir string) (records int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, folder, "*.warc"))
	must(t, err)
	ids := map[string][]byte{} // records
	for _, name := range names {
		data, err := os.ReadFile(name)
		must(t, err)
		for i := 0; len(data) > 0; i++ {
			header, rest, ok := bytes.Cut(data, []byte("\r\n\r\n"))
			lines := strings.Split(string(header), "\r\n")
			if !ok || lines[0] != "WARC/1.1" {
				t.Fatalf("%s record %d: %.100q", name, i, data)
			}
			fields := map[string]string{}
			for _, line := range lines[1:] {
				field, value, ok := strings.Cut(line, ": ")
				if !ok || fields[field] != "" || strings.ContainsAny(field, " \t") {
					t.Fatalf("%s record %d: %q", name, i, line)
				}
				fields[field] = value
			}
			var length int
			if _, err := fmt.Sscanf(fields["Content-Length"], "%d", &length); err != nil || len(rest) < length+4 || string(rest[length:length+4]) != "\r\n\r\n" {
				t.Fatalf("%s record %d: length %q", name, i, fields["Content-Length"])
			}
			id, date, record := fields["WARC-Record-ID"], fields["WARC-Date"], data[:len(header)+length+8]
			other, twice := ids[id]
			if _, err := time.Parse(time.RFC3339Nano, date); err != nil || twice && !bytes.Equal(other, record) || len(id) != len("<urn:uuid:>")+36 || fields["Content-Type"] == "" {
				t.Fatalf("%s record %d: %v", name, i, fields)
			}
			info := fields["WARC-Type"] == "warcinfo"
			if info != (i == 0) || info == (fields["WARC-Target-URI"] != "") || !slices.Contains([]string{"warcinfo", "resource", "metadata"}, fields["WARC-Type"]) {
				t.Fatalf("%s record %d: %v", name, i, fields)
			}
			if first := fields["WARC-Concurrent-To"]; first != "" && ids[first] == nil {
				t.Fatalf("%s record %d: concurrent to %s", name, i, first)
			}
			ids[id] = record
			records++
			data = rest[length+4:]
		}
	}
	return records
}

// A lock keeps the file of a segment that another process has filled, and removes only an
// empty file that it has created itself.
func TestLockKeepsContents(t *testing.T) {
	h := newHome(t, sqldb.DriverSQLite)
	s, closeStore := h.open(Options{})
	put(t, s, "s", key, t1, rawfiles.Raw, "x")
	closeStore()
	s, _ = h.open(Options{})
	seg, err := s.lockSegment(ctx, 1)
	must(t, err)
	want(t, seg.end > 0, true)
	must(t, seg.file.Close())
	seg.unlock()
	want(t, rawTexts(t, s, key), "x")
	// Segments that are gone leave no file.
	seg, err = s.lockSegment(ctx, 77)
	want(t, fmt.Sprint(seg == nil, err, s.segmentExists(77)), "true <nil> false")
	must(t, os.Remove(s.segmentPath(1)))
	seg, err = s.lockSegment(ctx, 1)
	want(t, fmt.Sprint(seg == nil, err, s.segmentExists(1)), "true <nil> false")
}

// A segment that is full stays locked until the last transaction of its runs: another process
// would cut them off.
func TestFullSegmentWaitsForTransactions(t *testing.T) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			h := newHome(t, backend)
			o := Options{Size: 1 << 20, NoSync: true}
			s, _ := h.open(o)
			other, _ := h.open(o)
			put(t, s, "s", key, t1, rawfiles.Raw, "before")
			slow := s.Stage()
			must(t, slow.Put("s", key, t2, rawfiles.Raw, []byte("slow")))
			index, err := slow.Flush(ctx)
			must(t, err)
			put(t, s, "s", key, t3, rawfiles.Raw, strings.Repeat("x", 2<<20)) // needs another segment
			want(t, s.own.id, 2)
			put(t, other, "s", key, t3.Add(1e9), rawfiles.Raw, "other")
			want(t, other.own.id, 3)
			must(t, s.db.Update(ctx, index))
			slow.Abort()
			for _, at := range []time.Time{t1, t2} {
				v := rawfiles.Version{Site: "s", MD5: key, Name: rawfiles.TimeName(at), Kind: rawfiles.Raw}
				r, found, err := s.findRecord(ctx, v, v.Kind)
				must(t, err)
				v.Record = r.place
				data, err := s.Read(ctx, v)
				want(t, fmt.Sprint(found, string(data), err), map[time.Time]string{t1: "truebefore<nil>", t2: "trueslow<nil>"}[at])
			}
			third, _ := h.open(o)
			put(t, third, "s", key, t3.Add(2e9), rawfiles.Raw, "third")
			want(t, third.own.id, 1) // free again
			h.sound(s)
		})
	}
}
