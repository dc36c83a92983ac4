package storage

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	sqltext "hce/dc/sql"
)

// oldRow is a row as a version with keys of the old rule stored it: its key is the md5 of its
// text.
type oldRow struct {
	url, parent        string // parent is the text of a URL; "" for a root URL
	crawled, processed bool
	hour               int // of UDate
	freq, depth        int64
	attributes         map[string]string
}

const keysHost = "http://keys.test"

// oldRows has single rows, and groups of rows with one new key.
var oldRows = []oldRow{
	{url: "/", crawled: true, processed: true, hour: 1, freq: 9},
	{url: "/plain", parent: "/", crawled: true, processed: true, hour: 1, freq: 1, depth: 1},
	{url: "/child-of-plain", parent: "/plain", hour: 1, depth: 2},

	{url: "/%e3%81%82", parent: "/", crawled: true, processed: true, hour: 2, freq: 3, depth: 1, attributes: map[string]string{"a": "あ"}},
	{url: "/child-of-a", parent: "/%e3%81%82", crawled: true, hour: 1, depth: 2},
	{url: "/%61%62?q=%c3%a9&r=%2f", parent: "/%e3%81%82", crawled: true, hour: 1, depth: 2},
	{url: "/not-yet/%7Enew", parent: "/", hour: 1, depth: 1},

	{url: "/%7Ewins", parent: "/", crawled: true, processed: true, hour: 1, freq: 2, depth: 1, attributes: map[string]string{"a": "1", "b": "1"}},
	{url: "/~wins", parent: "/plain", hour: 5, freq: 3, depth: 2, attributes: map[string]string{"a": "2", "c": "2"}},
	{url: "/child-of-wins", parent: "/~wins", hour: 1, depth: 3},
	{url: "/other-child-of-wins", parent: "/%7Ewins", hour: 1, depth: 3},

	{url: "/%c3%a9", parent: "/", hour: 7, freq: 1, depth: 1, attributes: map[string]string{"a": "1", "b": "1"}},
	{url: "/%C3%A9", parent: "/plain", crawled: true, hour: 1, freq: 1, depth: 2, attributes: map[string]string{"a": "2"}},
	{url: "/child-of-e", parent: "/%c3%a9", hour: 1, depth: 2},

	{url: "/%7ethree", parent: "/", crawled: true, hour: 3, freq: 1, depth: 4},
	{url: "/%7Ethree", parent: "/", crawled: true, hour: 4, freq: 1, depth: 3},
	{url: "/~three", parent: "/", crawled: true, hour: 2, freq: 1, depth: 2},
	{url: "/%74hree", parent: "/", crawled: true, hour: 1, depth: 1},

	{url: "/%7Eroot/", crawled: true, hour: 1, depth: 0},
	{url: "/~root/", parent: "/", crawled: true, processed: true, hour: 2, freq: 1, depth: 1},

	{url: "/%7Eput", parent: "/", hour: 1, depth: 1}, // a client gave the content
	{url: "/~put", parent: "/", hour: 2, depth: 1},

	{url: "/self", parent: "/", hour: 1, depth: 1},
	{url: "/%73elf/%7E", parent: "/self/~", crawled: true, hour: 1, depth: 3},
	{url: "/self/~", parent: "/self", hour: 1, depth: 2},

	{url: "/100%/%7E", parent: "/", crawled: true, hour: 1, depth: 1},
	{url: "/%zz%7E%", parent: "/", crawled: true, hour: 1, depth: 1},
}

// newRows are the rows that must be left, by text, with what changes: the parent's text, Freq,
// Depth and attributes.
var newRows = map[string]oldRow{
	"/":                      {freq: 9},
	"/plain":                 {parent: "/", freq: 1, depth: 1},
	"/child-of-plain":        {parent: "/plain", depth: 2},
	"/%e3%81%82":             {parent: "/", freq: 3, depth: 1, attributes: map[string]string{"a": "あ"}},
	"/child-of-a":            {parent: "/%e3%81%82", depth: 2},
	"/%61%62?q=%c3%a9&r=%2f": {parent: "/%e3%81%82", depth: 2},
	"/not-yet/%7Enew":        {parent: "/", depth: 1},
	"/%7Ewins":               {parent: "/", freq: 5, depth: 1, attributes: map[string]string{"a": "1", "b": "1", "c": "2"}},
	"/child-of-wins":         {parent: "/%7Ewins", depth: 3},
	"/other-child-of-wins":   {parent: "/%7Ewins", depth: 3},
	"/%C3%A9":                {parent: "/plain", freq: 2, depth: 1, attributes: map[string]string{"a": "2", "b": "1"}},
	"/child-of-e":            {parent: "/%C3%A9", depth: 2},
	"/%7Ethree":              {parent: "/", freq: 3, depth: 2},
	"/%74hree":               {parent: "/", depth: 1},
	"/~root/":                {freq: 1},
	"/~put":                  {parent: "/", depth: 1},
	"/self":                  {parent: "/", depth: 1},
	"/%73elf/%7E":            {parent: "/self", depth: 2},
	"/100%/%7E":              {parent: "/", depth: 1},
	"/%zz%7E%":               {parent: "/", depth: 1},
}

const (
	keysDeleted      = "/%7Edeleted" // waits for URL_PURGE, with contents
	keysDeletedAgain = "/%7Ewins"    // a copy of a row in use waits too
)

// keysAt is the time of UDate and of raw contents.
func keysAt(hour int) time.Time { return time.Date(2026, 1, 5, hour, 0, 0, 0, time.UTC) }

// keysWorld are stores in a folder.
type keysWorld struct {
	testing.TB
	Config
}

func (w keysWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// open opens the stores as all programs do.
func (w keysWorld) open() (*Repository, func()) {
	w.Helper()
	repo, closeAll, err := Open(w.Context(), w.Config, slog.New(slog.DiscardHandler))
	w.must(err)
	return repo, closeAll
}

// fill makes a store of the version before, with oldRows and their contents.
func (w keysWorld) fill() {
	w.Helper()
	w.bring()
	w.takeBack()
}

// bring stores oldRows with their contents, as dc-import does.
func (w keysWorld) bring() {
	w.Helper()
	repo, closeAll := w.open()
	site := w.site()
	_, err := repo.SiteNew(w.Context(), wire.SiteNewRequest{ID: site, Site: schema.Patch{"Id": site}, SiteLists: wire.SiteLists{
		Properties: []schema.Patch{{"Name": "P", "Value": "v", "URLMd5": wire.Md5(keysHost + "/%7Ewins")}}}})
	w.must(err)
	var rows, roots, attributes, freqs, log []schema.Patch
	for _, r := range oldRows {
		text := keysHost + r.url
		row := r.patch(site, text)
		rows = append(rows, row)
		if r.parent == "" {
			roots = append(roots, maps.Clone(row))
		}
		for name, value := range r.attributes {
			attributes = append(attributes, schema.Patch{"URLMd5": wire.Md5(text), "Name": name, "Value": value})
		}
		freqs = append(freqs, schema.Patch{"URLMd5": wire.Md5(text), "FIns": int64(1), "FNew": int64(2), "FCrawled": r.freq, "FDel": int64(0), "FUpd": int64(0),
			"FProcessed": int64(0), "FAged": int64(0), "FDeleted": int64(0), "FPurged": int64(0)})
		log = append(log, schema.Patch{"URLMd5": wire.Md5(text), "OpCode": int64(20), "Object": r.url})
	}
	for i := range roots {
		roots[i]["User_Id"] = int64(1)
	}
	deleted := []schema.Patch{
		oldRow{url: keysDeleted, parent: "/", crawled: true}.patch(site, keysHost+keysDeleted),
		oldRow{url: keysDeletedAgain, parent: "/", crawled: true}.patch(site, keysHost+keysDeletedAgain),
	}
	for part, list := range map[string][]schema.Patch{sqlstore.PartURLs: rows, sqlstore.PartRoots: roots, sqlstore.PartAttributes: attributes,
		sqlstore.PartFreqs: freqs, sqlstore.PartLog: log, sqlstore.PartDeleted: deleted} {
		n, err := repo.ImportRows(w.Context(), site, part, list, wire.Bookmark{})
		w.must(err)
		if n != len(list) {
			w.Fatalf("%s: %d of %d rows", part, n, len(list))
		}
	}
	for _, r := range append(slices.Clone(oldRows), oldRow{url: keysDeleted, crawled: true, processed: true}) {
		key := wire.Md5(keysHost + r.url)
		if r.crawled {
			w.must(repo.PutRaw(w.Context(), site, map[string][]wire.File{key: {
				{Type: wire.ContentRaw, Data: []byte("raw " + r.url)}, {Type: wire.ContentHeaders, Data: []byte("headers " + r.url)}}}, keysAt(r.hour)))
		}
		if r.processed {
			_, err := repo.Contents.PutAll(w.Context(), site, []wire.Entry{{ID: key, Data: []byte("done " + r.url)}})
			w.must(err)
		}
	}
	w.must(repo.PutRaw(w.Context(), site, map[string][]wire.File{wire.Md5(keysHost + "/%7Eput"): {{Type: wire.ContentRaw, Data: []byte("put")}}}, keysAt(1)))
	w.must(repo.PutRaw(w.Context(), site, map[string][]wire.File{wire.Md5("chain"): {{Type: wire.ContentRaw, Data: []byte("first")},
		{Type: wire.ContentChain, Data: []byte(wire.Md5(keysHost+"/~wins") + "\n" + wire.Md5(keysHost+"/%c3%a9") + "\n")}}}, keysAt(1)))
	closeAll()
}

func (w keysWorld) site() string { return "s1" }

func (r oldRow) patch(site, text string) schema.Patch {
	p := schema.Patch{}
	for _, c := range wire.URLColumns {
		switch c.Kind {
		case schema.KindInt:
			p[c.Name] = int64(0)
		case schema.KindFloat:
			p[c.Name] = float64(0)
		case schema.KindText:
			p[c.Name] = ""
		}
	}
	maps.Copy(p, schema.Patch{"Site_Id": site, "URL": text, "URLMd5": wire.Md5(text), "Status": int64(wire.StatusNew), "Freq": r.freq, "Depth": r.depth,
		"UDate": string(schema.DateOf(keysAt(r.hour))), "ContentType": "text/html"})
	if r.parent != "" {
		p["ParentMd5"] = wire.Md5(keysHost + r.parent)
	}
	if r.crawled {
		p["Status"], p["Crawled"], p["Size"], p["CrawlingTime"] = int64(wire.StatusCrawled), int64(1), int64(len("raw "+r.url)), int64(5)
		p["RawContentMd5"] = wire.Md5("raw " + r.url)
	}
	if r.processed {
		p["Status"], p["Processed"], p["TagsCount"] = int64(wire.StatusProcessed), int64(1), int64(3)
	}
	return p
}

// addition matches what a schema step adds: a table, an index, or a column of a table.
var addition = regexp.MustCompile(`(?m)^CREATE (TABLE|INDEX)(?: IF NOT EXISTS)? \{(\w+)\.([\w.]+)\}|^ALTER TABLE \{(\w+)\.(\w+)\} ADD COLUMN (\w+)`)

// takeBack makes the schema that of the version before: without the step "keys" and all later ones.
func (w keysWorld) takeBack() {
	w.Helper()
	d, err := sqldb.Open(w.Context(), w.DB)
	w.must(err)
	defer d.Close()
	texts, err := fs.Glob(sqltext.FS, backend+"/schema/*.sql")
	w.must(err)
	first := slices.IndexFunc(texts, func(name string) bool { return strings.HasSuffix(name, "_keys.sql") })
	undo := []string{fmt.Sprintf("DELETE FROM %s WHERE Number > %d", d.Table(sqldb.Sites, "schema_steps"), first)}
	if backend == sqldb.DriverSQLite { // the views of a later step name its columns
		undo = append(undo, "DROP VIEW pages", "DROP VIEW urls", "DROP VIEW sites")
	}
	for _, name := range texts[first:] {
		text, err := sqltext.FS.ReadFile(name)
		w.must(err)
		for _, m := range slices.Backward(addition.FindAllStringSubmatch(string(text), -1)) {
			switch {
			case m[1] == "TABLE":
				undo = append(undo, "DROP TABLE "+d.Table(m[2], m[3]))
			case backend != sqldb.DriverSQLite: // MySQL skips columns that exist
			case m[1] == "INDEX" && !strings.HasPrefix(m[2], "dc_urls"): // step "analysis" replaces one of the first step
				undo = append(undo, "DROP INDEX IF EXISTS "+d.Table(m[2], m[3]))
			case m[6] != "":
				undo = append(undo, "ALTER TABLE "+d.Table(m[4], m[5])+" DROP COLUMN "+m[6])
			}
		}
	}
	w.must(d.Update(w.Context(), func(tx *sqldb.Tx) error {
		for _, text := range undo {
			if _, err := tx.Exec(text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	}))
}

// check opens the stores and compares all rows and contents with newRows.
func (w keysWorld) check() {
	w.Helper()
	repo, closeAll := w.open()
	defer closeAll()
	ctx, site := w.Context(), w.site()
	keys, err := repo.Store.Select("check", site, wire.Criterion{Where: "1=1"}).Next(ctx)
	w.must(err)
	rows, err := repo.Store.Rows(ctx, site, keys)
	w.must(err)
	if len(rows) != len(newRows) {
		w.Errorf("%d rows, want %d: %v", len(rows), len(newRows), slices.Sorted(maps.Keys(byText(rows))))
	}
	was := map[string]oldRow{}
	for _, r := range oldRows {
		was[r.url] = r
	}
	for text, want := range newRows {
		row, found := rows[urlkey.Of(keysHost+text)]
		if !found || row.URL != keysHost+text {
			w.Errorf("%s: row %q", text, row.URL)
			continue
		}
		parent := ""
		if want.parent != "" {
			parent = urlkey.Of(keysHost + want.parent)
		}
		if row.Freq != want.freq || row.Depth != want.depth || row.ParentMd5 != parent {
			w.Errorf("%s: Freq %d, Depth %d, parent %q; want %d, %d, that of %q", text, row.Freq, row.Depth, rows[row.ParentMd5].URL, want.freq, want.depth, want.parent)
		}
		if text == "/~put" {
			if data, err := repo.RawContent(ctx, site, row.URLMd5, wire.ContentRaw); err != nil || string(data) != "put" {
				w.Errorf("content of a client: %q, %v", data, err)
			}
		} else {
			w.checkContents(repo, row.URLMd5, was[text])
		}
		w.checkAttributes(repo, row.URLMd5, text, want.attributes)
	}
	for _, r := range oldRows {
		if old := wire.Md5(keysHost + r.url); old != urlkey.Of(keysHost+r.url) {
			w.checkContents(repo, old, oldRow{url: "(old key of) " + r.url})
		}
	}
	w.checkContents(repo, urlkey.Of(keysHost+keysDeleted), oldRow{url: keysDeleted, crawled: true, processed: true})
	chain, err := repo.RawContent(ctx, site, wire.Md5("chain"), wire.ContentChain)
	if want := urlkey.Of(keysHost+"/~wins") + "\n" + urlkey.Of(keysHost+"/é") + "\n"; err != nil || string(chain) != want {
		w.Errorf("list of a chain %q, %v", chain, err)
	}
	w.checkSite(repo)
}

func byText(rows map[string]wire.URL) map[string]wire.URL {
	texts := map[string]wire.URL{}
	for _, u := range rows {
		texts[u.URL] = u
	}
	return texts
}

func (w keysWorld) checkContents(repo *Repository, key string, want oldRow) {
	w.Helper()
	ctx, site := w.Context(), w.site()
	list, err := repo.Raw.List(ctx, site, key)
	w.must(err)
	if !want.crawled && len(list) != 0 || want.crawled && len(list) != 2 {
		w.Errorf("%s: %d raw contents", want.url, len(list))
	}
	for _, v := range list {
		text := "raw "
		if v.Kind == rawfiles.Headers {
			text = "headers "
		}
		if data, err := repo.Raw.Read(ctx, v); err != nil || string(data) != text+want.url {
			w.Errorf("%s: raw content %q, %v", want.url, data, err)
		}
	}
	e, found, err := repo.Contents.Get(ctx, site, key)
	if err != nil || found != want.processed || found && string(e.Data) != "done "+want.url {
		w.Errorf("%s: processed content %q, %v", want.url, e.Data, err)
	}
}

func (w keysWorld) checkAttributes(repo *Repository, key, text string, want map[string]string) {
	w.Helper()
	list, err := repo.Attributes(w.Context(), w.site(), key, []string{"*"})
	w.must(err)
	got := map[string]string{}
	for _, a := range list {
		got[a.Name] = fmt.Sprint(a.Value)
	}
	if len(got) != len(want) {
		w.Errorf("%s: attributes %v, want %v", text, got, want)
	}
	for name, value := range want {
		if got[name] != value {
			w.Errorf("%s: attributes %v, want %v", text, got, want)
		}
	}
}

// checkSite compares the counters with the rows, and the lists of the site.
func (w keysWorld) checkSite(repo *Repository) {
	w.Helper()
	ctx := w.Context()
	kept, err := repo.Site(ctx, w.site())
	w.must(err)
	_, err = repo.Recalculate(ctx, []wire.RecalcRequest{{SiteID: w.site()}})
	w.must(err)
	counted, err := repo.Site(ctx, w.site())
	w.must(err)
	counters := func(s *wire.Site) string {
		return fmt.Sprint(s.Resources, s.Contents, s.CollectedURLs, s.NewURLs, s.DeletedURLs, s.Size, s.Errors, s.AVGSpeed, s.AVGSpeedCounter)
	}
	if counters(kept) != counters(counted) || kept.Contents != 5 || kept.DeletedURLs != 2 {
		w.Errorf("counters %s, of the rows %s", counters(kept), counters(counted))
	}
	var roots []string
	for _, u := range kept.URLs {
		roots = append(roots, strings.TrimPrefix(u.URL.URL, keysHost))
		if u.URLMd5 != urlkey.Of(u.URL.URL) {
			w.Errorf("root URL %s has another key", u.URL.URL)
		}
	}
	if slices.Sort(roots); !slices.Equal(roots, []string{"/", "/%7Eroot/"}) {
		w.Errorf("root URLs %q", roots)
	}
	if p := kept.Properties; len(p) != 1 || p[0].URLMd5 != urlkey.Of(keysHost+"/%7Ewins") {
		w.Errorf("properties %+v", p)
	}
	stats, err := repo.URLStats(ctx, []wire.URLRecordsRequest{{SiteID: w.site(), URLMd5: urlkey.Of(keysHost + "/~wins")}})
	w.must(err)
	if text := w.text(stats); !strings.Contains(text, `"FCrawled":5`) || !strings.Contains(text, `"FIns":2`) {
		w.Errorf("event counters %s", text)
	}
	log, err := repo.URLHistory(ctx, []wire.URLRecordsRequest{{SiteID: w.site(), URLMd5: urlkey.Of(keysHost + "/~wins")}})
	w.must(err)
	if text := w.text(log); strings.Count(text, "wins") != 2 {
		w.Errorf("journal %s", text)
	}
}

func (w keysWorld) text(v any) string {
	w.Helper()
	raw, err := json.Marshal(v)
	w.must(err)
	return string(raw)
}

func newKeysWorld(t *testing.T, change func(*Config)) keysWorld {
	folder := t.TempDir()
	c := Config{DB: dbtest.Config(t, backend), RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20, NoSync: true, Segment: 1 << 20}
	c.DB.Path = filepath.Join(folder, "dc.db") // with MySQL the folder of the lock of the trash
	change(&c)
	return keysWorld{t, c}
}

var keysPlaces = map[string]func(*Config){
	"segments and key-value files": func(*Config) {},
	"raw files and SQL contents":   func(c *Config) { c.RawFiles, c.InSQL = true, true },
}

// Rows of the old rule get their new keys with all that belongs to them; rows of one new key
// become one. The second opening only looks whether there is something to do.
func TestNewKeys(t *testing.T) {
	for name, change := range keysPlaces {
		t.Run(name, func(t *testing.T) {
			w := newKeysWorld(t, change)
			w.fill()
			w.check()
			reads := 0
			w.Now = func() time.Time {
				reads++
				return time.Now()
			}
			_, closeAll := w.open()
			if reads != 2 { // the trash, and whether there are old keys: one statement each
				t.Errorf("the second opening made %d transactions", reads)
			}
			closeAll()
			w.check()
		})
	}
}

// Keys that dc-import brings are renewed at the next opening. What a later run brings goes to
// the new keys.
func TestImportedKeys(t *testing.T) {
	w := newKeysWorld(t, keysPlaces["segments and key-value files"])
	w.bring()
	w.check()
	repo, closeAll, err := OpenExclusive(t.Context(), w.Config, slog.New(slog.DiscardHandler))
	w.must(err)
	defer closeAll()
	old, key := wire.Md5(keysHost+"/%7Ewins"), urlkey.Of(keysHost+"/~wins")
	_, err = repo.ImportRows(t.Context(), w.site(), sqlstore.PartAttributes, []schema.Patch{{"URLMd5": old, "Name": "late", "Value": "x"}}, wire.Bookmark{})
	w.must(err)
	list, err := repo.Attributes(t.Context(), w.site(), key, []string{"late"})
	if err != nil || len(list) != 1 {
		t.Errorf("attributes %v, %v", list, err)
	}
	current, err := repo.CurrentKeys(t.Context(), []string{old, key})
	if err != nil || len(current) != 1 || current[old] != key {
		t.Errorf("current keys %v, %v", current, err)
	}
}

// Requests find a URL by any spelling of its escapes; the row has the text that came first.
func TestURLsBySpelling(t *testing.T) {
	n := newNode(t)
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q]}]`, "s", keysHost+"/"))
	for i, path := range []string{"/%c3%a9", "/é", "/%C3%A9", "/%7Eé", "/~%c3%A9"} {
		text := keysHost + path
		want := `"statuses":[2]` // the URL exists
		if i == 0 || i == 3 {
			want = `"statuses":[0]`
		}
		for _, key := range []string{`null`, fmt.Sprintf("%q", wire.Md5(text))} { // original clients send the md5 of the text
			if got := n.good(fmt.Sprintf(`["URL_NEW",[{"siteId":"s","url":%q,"urlMd5":%s}]]`, text, key)); !strings.Contains(got, want) {
				t.Errorf("URL_NEW %s: %s", path, got)
			}
			want = `"statuses":[2]`
		}
		first := keysHost + []string{"/%c3%a9", "/%7Eé"}[i/3]
		got := n.good(fmt.Sprintf(`["URL_STATUS",[{"siteId":"s","url":%q,"urlType":0}]]`, text))
		if !strings.Contains(got, fmt.Sprintf(`"url":%q`, first)) || !strings.Contains(got, urlkey.Of(text)) {
			t.Errorf("URL_STATUS %s: %s", path, got)
		}
		got = n.good(fmt.Sprintf(`["URL_CONTENT",[{"siteId":"s","url":%q,"urlMd5":%q}]]`, text, wire.Md5(text)))
		if !strings.Contains(got, fmt.Sprintf(`"url":%q`, first)) {
			t.Errorf("URL_CONTENT %s: %s", path, got)
		}
	}
}
