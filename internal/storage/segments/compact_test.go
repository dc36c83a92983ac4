package segments

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
)

// fillSegments stores pages in chunks and returns their keys.
func fillSegments(t testing.TB, s *Store, pages, size int) (keys []string) {
	t.Helper()
	for i := 0; i < pages; i += 10 {
		st := s.Stage()
		for j := i; j < min(i+10, pages); j++ {
			keys = append(keys, fmt.Sprintf("%032x", j))
			must(t, st.Put("s", keys[j], t1, rawfiles.Raw, []byte(pageText(keys[j], size))))
		}
		must(t, st.Commit(ctx))
	}
	return keys
}

func pageText(md5 string, size int) string { return strings.Repeat(md5, size/len(md5)) }

func TestCompact(t *testing.T) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			h := newHome(t, backend)
			s, closeStore := h.open(Options{Size: 1 << 20})
			keys := fillSegments(t, s, 400, 10000)
			closeStore()
			s, _ = h.open(Options{Size: 1 << 20})
			done, err := s.Compact(ctx, 0)
			want(t, fmt.Sprint(done, err), "{0 0 0 0 0} <nil>")
			var kept []string
			for i, md5 := range keys {
				if i%10 == 0 {
					kept = append(kept, md5)
				}
			}
			for i := range 9 {
				var part []string
				for j := i + 1; j < len(keys); j += 10 {
					part = append(part, keys[j])
				}
				must(t, s.DeleteURLs(ctx, "s", part))
			}
			v, _, err := s.Newest(ctx, "s", kept[0], rawfiles.Raw)
			must(t, err)

			// A backup holds the lock: nothing changes.
			unlock, err := files.TryLock(filepath.Join(h.dir, folder, compactLock))
			must(t, err)
			done, err = s.Compact(ctx, 0)
			want(t, fmt.Sprint(done, err), "{0 0 0 0 0} <nil>")
			unlock()
			// No time.
			done, err = s.Compact(ctx, time.Nanosecond)
			want(t, fmt.Sprint(done.Segments, done.Left > 2, err), "0 true <nil>")

			done, err = s.Compact(ctx, 0)
			must(t, err)
			if done.Segments < 4 || done.Copied < 350_000 || done.Copied > 500_000 || done.Freed < 3<<20 || done.Left != 0 {
				t.Errorf("%+v", done)
			}
			for _, md5 := range kept {
				want(t, rawTexts(t, s, md5) == pageText(md5, 10000), true)
			}
			// A reader that found the place before.
			data, err := s.Read(ctx, v)
			must(t, err)
			want(t, string(data) == pageText(kept[0], 10000), true)
			h.sound(s)
			checkWARC(t, h.dir)
			names, _ := filepath.Glob(filepath.Join(h.dir, folder, "*.*"))
			rows, err := s.listSegments(ctx)
			must(t, err)
			want(t, len(names), len(rows)+1) // and the lock
			done, err = s.Compact(ctx, 0)
			want(t, fmt.Sprint(done, err), "{0 0 0 0 0} <nil>")
		})
	}
}

// CompactAll frees the space of segments that are half live, too, and a second run has nothing to do.
func TestCompactAll(t *testing.T) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			h := newHome(t, backend)
			s, closeStore := h.open(Options{Size: 1 << 20})
			keys := fillSegments(t, s, 400, 10000)
			closeStore()
			s, _ = h.open(Options{Size: 1 << 20})
			var kept, gone []string
			for i, md5 := range keys {
				if i%10 < 3 {
					gone = append(gone, md5)
				} else {
					kept = append(kept, md5)
				}
			}
			must(t, s.DeleteURLs(ctx, "s", gone))
			bytes, err := s.SiteBytes(ctx, "s")
			want(t, fmt.Sprint(bytes > 280*10000, bytes < 290*11000, err), "true true <nil>")
			done, err := s.Compact(ctx, 0)
			want(t, fmt.Sprint(done.Segments, err), "0 <nil>")
			done, err = s.CompactAll(ctx)
			must(t, err)
			if done.Segments < 4 || done.Freed-done.Copied < 120*9000 || done.Left != 0 || done.Dead > 200_000 {
				t.Errorf("%+v", done)
			}
			dead := done.Dead
			done, err = s.CompactAll(ctx)
			want(t, fmt.Sprint(done, err), fmt.Sprintf("{0 0 0 0 %d} <nil>", dead))
			for _, md5 := range kept {
				want(t, rawTexts(t, s, md5) == pageText(md5, 10000), true)
			}
			h.sound(s)
			checkWARC(t, h.dir)
		})
	}
}

// What a kill leaves at each step of the removal of a segment.
func TestCompactAfterKill(t *testing.T) {
	for name, left := range map[string]func(path string) error{
		"before the removal": func(string) error { return nil },
		"renamed":            func(path string) error { return os.Rename(path, path+deadSuffix) },
		"removed":            os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, sqldb.DriverSQLite)
			s, closeStore := h.open(Options{Size: 1 << 20})
			keys := fillSegments(t, s, 20, 1000)
			must(t, s.DeleteURLs(ctx, "s", keys))
			closeStore()
			s, _ = h.open(Options{Size: 1 << 20})
			must(t, left(s.segmentPath(1)))
			_, err := s.Compact(ctx, 0)
			must(t, err)
			rows, err := s.listSegments(ctx)
			want(t, fmt.Sprint(rows, err), "[] <nil>")
			names, _ := filepath.Glob(filepath.Join(h.dir, folder, "*.warc*"))
			want(t, names, []string{})
			put(t, s, "s", key, t1, rawfiles.Raw, "x")
			want(t, s.own.id, 2) // a number is used once
		})
	}
}

// Readers, writers and deletions of two stores run during compactions.
func TestCompactDuringWork(t *testing.T) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			h := newHome(t, backend)
			o := Options{Size: 128 << 10, NoSync: true}
			writer, _ := h.open(o)
			reader, _ := h.open(o)
			compactor, _ := h.open(o)
			permanent := fillSegments(t, compactor, 30, 3000)
			var work sync.WaitGroup
			ended := make(chan struct{})
			for g := range 2 {
				work.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 9))
					for i := range 150 {
						md5 := fmt.Sprintf("ff%02x%028x", g, i)
						st := writer.Stage()
						if err := st.Put("s", md5, t1, rawfiles.Raw, []byte(pageText(md5, 4000))); err != nil {
							t.Error(err)
						}
						if err := st.Commit(ctx); err != nil {
							t.Error(err)
						}
						if r.IntN(5) > 0 {
							if err := writer.DeleteURLs(ctx, "s", []string{md5}); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			var others sync.WaitGroup
			others.Go(func() {
				for {
					for _, md5 := range permanent {
						v, found, err := reader.Newest(ctx, "s", md5, rawfiles.Raw)
						var data []byte
						if err == nil && found {
							data, err = reader.Read(ctx, v)
						}
						if err != nil || string(data) != pageText(md5, 3000) {
							t.Errorf("%s: %d bytes, %v", md5, len(data), err)
							return
						}
					}
					select {
					case <-ended:
						return
					default:
					}
				}
			})
			removed := 0
			others.Go(func() {
				for {
					done, err := compactor.Compact(ctx, time.Second)
					if err != nil {
						t.Error(err)
						return
					}
					removed += done.Segments
					select {
					case <-ended:
						return
					default:
					}
				}
			})
			work.Wait()
			close(ended)
			others.Wait()
			h.sound(reader)
			if removed == 0 {
				t.Error("nothing was compacted")
			}
		})
	}
}

// Compact keeps runs whose rows have new keys, although their records say the old ones.
// Contents that the new key had before stay too, also of the same time.
func TestCompactAfterRename(t *testing.T) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			h := newHome(t, backend)
			s, closeStore := h.open(Options{Size: 1 << 20})
			keys := fillSegments(t, s, 100, 10000)
			closeStore()
			s, _ = h.open(Options{Size: 1 << 20})
			renamed := map[string]string{keys[0]: strings.Repeat("a", 32), keys[10]: strings.Repeat("b", 32), keys[20]: keys[30]}
			must(t, s.db.Update(ctx, func(tx *sqldb.Tx) error {
				for old, key := range renamed {
					if _, err := tx.Exec("INSERT INTO "+tx.DB.Table(sqldb.Sites, "new_keys")+" (Old_Md5, New_Md5) VALUES (?, ?)", old, key); err != nil {
						return err
					}
				}
				return nil
			}))
			for range 2 { // the second time there is nothing left to do
				must(t, s.Rename(ctx, "s", renamed))
			}
			var dead []string
			for i, md5 := range keys {
				if i%10 != 0 {
					dead = append(dead, md5)
				}
			}
			must(t, s.DeleteURLs(ctx, "s", dead))
			done, err := s.Compact(ctx, 0)
			must(t, err)
			if done.Segments == 0 {
				t.Errorf("%+v", done)
			}
			for old, key := range renamed {
				want(t, len(rawTexts(t, s, old)), 0)
				if key != keys[30] {
					want(t, rawTexts(t, s, key) == pageText(old, 10000), true)
				}
			}
			want(t, rawTexts(t, s, keys[30]) == pageText(keys[30], 10000), true)
			h.sound(s)
		})
	}
}
