package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/zpack"
)

// flipped is a crawled and processed site whose files are damaged.
type flipped struct {
	t      *testing.T
	config Config
	keys   []string
	raw    map[string]string // by key
	text   map[string]string // processed, packed
}

func flipConfig(folder string) Config {
	return Config{
		DB:     sqldb.Config{Driver: sqldb.DriverSQLite, Path: filepath.Join(folder, "dc.db"), Synchronous: "NORMAL"},
		RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20, NoSync: true,
		Now: func() time.Time { return time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC) },
	}
}

// newFlipped stores a site with n pages in a folder.
func newFlipped(t *testing.T, folder string, n int) *flipped {
	f := &flipped{t: t, config: flipConfig(folder), raw: map[string]string{}, text: map[string]string{}}
	repo, closeAll, err := Open(t.Context(), f.config, quiet)
	must(t, err)
	defer closeAll()
	job := Job{Repository: repo}
	ask := func(request string) {
		answer, err := job.Run(t.Context(), json.RawMessage(request))
		text, _ := json.Marshal(answer)
		if err != nil || strings.Contains(string(text), `"refused":true`) {
			t.Fatalf("%s: %s %v", request, text, err)
		}
	}
	ask(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0}]`, site, root))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		url := fmt.Sprintf("%spage%d", root, i)
		key := wire.Md5(url)
		words := fmt.Sprint(url)
		for range 40 + r.IntN(400) {
			words += fmt.Sprintf(" word%d", r.IntN(5000))
		}
		f.keys = append(f.keys, key)
		f.raw[key] = "<p>" + words
		f.text[key] = string(zpack.Pack([]byte(`{"custom":["` + words + `"],"internal":[]}`)))
		ask(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":%q,"parentMd5":%q}]]`, site, url, site))
		f.store(repo, key)
		ask(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"urlMd5":%q,"status":7,"crawled":1,"processed":1,"tagsCount":1}]]`, site, key))
	}
	return f
}

// store stores the contents of a page as a crawl and a processing do.
func (f *flipped) store(repo *Repository, key string) {
	f.fetch(repo, key)
	_, err := repo.Contents.PutAll(f.t.Context(), site, []wire.Entry{{ID: key, Data: []byte(f.text[key])}})
	must(f.t, err)
}

func (f *flipped) fetch(repo *Repository, key string) {
	stage := repo.Raw.Stage()
	defer stage.Abort()
	must(f.t, stage.Put(site, key, f.config.Now(), rawfiles.Raw, []byte(f.raw[key])))
	must(f.t, stage.Commit(f.t.Context()))
}

// show reads all pages. It returns how many cannot be read, each with an error. A wrong byte and a silent loss
// are errors of the test.
func (f *flipped) show(c Config) (lost int, why string) {
	repo, closeAll, err := Open(f.t.Context(), c, quiet)
	if err != nil {
		return len(f.keys), err.Error()
	}
	defer closeAll()
	for _, key := range f.keys {
		request := fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"urlMd5":%q,"contentTypeMask":%d}]]`, site, key, wire.MaskProcessed|wire.MaskRaw|wire.MaskRawLast)
		answer, err := Job{Repository: repo}.Run(f.t.Context(), json.RawMessage(request))
		text, e := json.Marshal(answer)
		must(f.t, e)
		if err == nil && strings.Contains(string(text), `"refused":true`) {
			err = errors.New(string(text))
		}
		if err != nil {
			lost, why = lost+1, err.Error()
			continue
		}
		var pair [2]json.RawMessage
		must(f.t, json.Unmarshal(text, &pair))
		var list []struct {
			ErrorMessage                   string
			RawContents, ProcessedContents []wire.Content
		}
		must(f.t, json.Unmarshal(pair[1], &list))
		want, err := result.Expand([]byte(f.text[key]))
		must(f.t, err)
		var inside struct{ Custom []string }
		must(f.t, json.Unmarshal(want, &inside))
		one := list[0]
		raw, processed := texts(f.t, one.RawContents), texts(f.t, one.ProcessedContents)
		whole := raw == "0:"+f.raw[key] && processed == "10:"+inside.Custom[0]
		switch {
		case one.ErrorMessage != "":
			lost, why = lost+1, one.ErrorMessage
			if raw != "" && raw != "0:"+f.raw[key] || processed != "" && processed != "10:"+inside.Custom[0] {
				f.t.Errorf("key %s: wrong contents and an error: %.200s %.200s", key, raw, processed)
			}
		case !whole:
			lost++
			why = fmt.Sprintf("silent: raw %d, processed %d bytes", len(raw), len(processed))
			if raw != "" && raw != "0:"+f.raw[key] || processed != "" && processed != "10:"+inside.Custom[0] {
				f.t.Errorf("key %s: wrong contents without an error", key)
			}
		}
	}
	return lost, why
}

// heal does what a processing and a crawl do with the rows that Repair gives back.
func (f *flipped) heal(c Config) {
	repo, closeAll, err := Open(f.t.Context(), c, quiet)
	must(f.t, err)
	defer closeAll()
	rows, err := repo.Rows(f.t.Context(), site, f.keys)
	must(f.t, err)
	for _, key := range f.keys {
		switch rows[key].Status {
		case wire.StatusNew:
			f.store(repo, key)
		case wire.StatusCrawled:
			_, err := repo.Contents.PutAll(f.t.Context(), site, []wire.Entry{{ID: key, Data: []byte(f.text[key])}})
			must(f.t, err)
		}
		_, err := repo.URLUpdate(f.t.Context(), []wire.URLUpdateRequest{{SiteID: site, URLMd5: key, Set: schema.Patch{"Status": int64(wire.StatusProcessed)}}})
		must(f.t, err)
	}
}

// TestFlips flips a random bit in a copy of all files, again and again (FLIPS and SEED of the environment). No
// page has a wrong byte or is lost without a word, each lost page is found by the check, and the repair brings back all
// pages as long as the database is whole.
func TestFlips(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		return // the files are the same
	}
	flips, seed := 40, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("FLIPS")); err == nil {
		flips = n
	}
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("SEED=%d FLIPS=%d", seed, flips)
	base := t.TempDir()
	f := newFlipped(t, base, 24)
	if lost, why := f.show(f.config); lost > 0 {
		t.Fatalf("%d pages of 24: %s", lost, why)
	}
	r, damaged, healed := rand.New(rand.NewPCG(seed, 1)), 0, 0
	for i := range flips {
		folder := filepath.Join(t.TempDir(), strconv.Itoa(i))
		must(t, os.CopyFS(folder, os.DirFS(base)))
		name, at := flipBit(t, folder, r)
		c := flipConfig(folder)
		lost, why := f.show(c)
		var out, report bytes.Buffer
		checked := CheckRaw(t.Context(), c, false, &out, &report, quiet)
		if lost > 0 {
			damaged++
			if checked == nil {
				t.Errorf("flip %d, %s bit %d: %d pages are lost (%s), and the check finds nothing", i, name, at, lost, why)
			}
			if strings.HasPrefix(why, "silent") {
				t.Errorf("flip %d, %s bit %d: %d pages are lost without a word: %s", i, name, at, lost, why)
			}
		}
		if checked != nil && !strings.HasPrefix(name, "dc.db") {
			if err := Repair(t.Context(), c, &out, &report, quiet); err != nil {
				t.Errorf("flip %d, %s bit %d: repair: %v", i, name, at, err)
				continue
			}
			f.heal(c)
			if lost, why := f.show(c); lost > 0 {
				t.Errorf("flip %d, %s bit %d: %d pages are lost after the repair: %s", i, name, at, lost, why)
			}
			healed++
		}
		must(t, os.RemoveAll(folder))
	}
	t.Logf("%d flips: %d damaged pages, %d repaired", flips, damaged, healed)
}

// flipBit flips a bit in a file of a folder: in each kind of file as often as in the others.
func flipBit(t *testing.T, folder string, r *rand.Rand) (name string, at int64) {
	var names []string
	must(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, e fs.DirEntry, err error) error {
		if info, e2 := e.Info(); err == nil && e2 == nil && e.Type().IsRegular() && info.Size() > 0 {
			names = append(names, path)
		}
		return err
	}))
	name = names[r.IntN(len(names))]
	data, err := os.ReadFile(filepath.Join(folder, name))
	must(t, err)
	at = r.Int64N(int64(len(data)) * 8)
	data[at/8] ^= 1 << (at % 8)
	must(t, os.WriteFile(filepath.Join(folder, name), data, 0o600))
	return name, at
}
