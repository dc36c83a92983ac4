package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

const batchID = 7

// memory is a data owner that keeps everything in maps, by the rules that store
// promises. Keys are the site and the URL's key.
type memory struct {
	mu       sync.Mutex
	sites    map[string]*wire.Site
	rows     map[string]wire.URL
	raw      map[string][]byte
	contents map[string][]byte
	saved    map[string]int
	calls    []string

	suspended wire.ErrorMask
	fails     map[string]error // by method
	onRead    func(md5 string)
}

func (m *memory) begin(method string) (func(), error) {
	m.mu.Lock()
	m.calls = append(m.calls, method)
	return m.mu.Unlock, m.fails[method]
}

func (m *memory) Site(ctx context.Context, id string) (*wire.Site, error) {
	end, err := m.begin("Site")
	defer end()
	if s := m.sites[id]; s != nil && err == nil {
		c := *s
		return &c, ctx.Err()
	}
	return nil, err
}

func (m *memory) Suspend(_ context.Context, id string, bits wire.ErrorMask, items int) error {
	end, err := m.begin("Suspend")
	defer end()
	if err == nil {
		m.suspended |= bits
		m.sites[id].State = wire.SiteSuspended
		m.sites[id].Errors += int64(items)
	}
	return err
}

func (m *memory) MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error) {
	end, err := m.begin("MarkProcessing")
	defer end()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	taken := map[string]wire.URL{}
	for _, md5 := range md5s {
		row, known := m.rows[site+" "+md5]
		free := row.BatchID == batch || row.BatchID == 0
		if known && (row.Status == wire.StatusCrawled || free && (row.Status == wire.StatusSelectedProcessing || row.Status == wire.StatusProcessing)) {
			taken[md5] = row
			row.Status, row.BatchID = wire.StatusProcessing, batch
			m.rows[site+" "+md5] = row
		}
	}
	return taken, nil
}

func (m *memory) RawContent(ctx context.Context, site, md5 string) ([]byte, error) {
	if m.onRead != nil {
		m.onRead(md5)
	}
	end, err := m.begin("RawContent")
	defer end()
	return m.raw[site+" "+md5], errors.Join(err, ctx.Err())
}

func (m *memory) SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error {
	end, err := m.begin("SaveProcess")
	defer end()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, r := range results {
		key := site + " " + r.URLMd5
		row := m.rows[key]
		m.saved[key]++
		if row.Status != wire.StatusProcessing || row.BatchID != batch {
			continue
		}
		wire.Apply(&row, wire.URLColumns, r.Set, "")
		if r.Processed {
			row.Processed++
		}
		m.rows[key] = row
		if r.Content != nil {
			m.contents[key] = r.Content
		}
	}
	return nil
}

// world is a job and everything around it.
type world struct {
	testing.TB
	*memory
	job *process.Job
}

func newWorld(t testing.TB) *world {
	m := &memory{
		sites: map[string]*wire.Site{}, rows: map[string]wire.URL{}, raw: map[string][]byte{}, contents: map[string][]byte{},
		saved: map[string]int{}, fails: map[string]error{},
	}
	m.sites["s"] = &wire.Site{ID: "s", State: wire.SiteActive}
	return &world{TB: t, memory: m, job: &process.Job{
		Data: m, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Config: process.Config{ChunkItems: 3, MaxContentSize: 1 << 20},
	}}
}

const article = `<html lang="en"><head><title>The title</title><meta name="description" content="What it says">
<link rel="canonical" href="/canonical"><meta property="article:published_time" content="2026-01-02T03:04:05Z"></head>
<body><h1>The title</h1><p>` + "A paragraph of the article, long enough to be taken for one by whoever looks at it. " +
	"It goes on for a second sentence, and a third follows. This is the third.</p></body></html>"

// item makes a selected row with its raw content, and an item of it.
func (w *world) item(site, path, raw string, change ...func(*wire.URL)) wire.BatchItem {
	u := wire.NewURL(site, "http://page.test/"+path)
	u.Status, u.BatchID, u.HTTPCode, u.ContentType, u.Crawled = wire.StatusSelectedProcessing, batchID, 200, "text/html", 1
	u.TotalTime = 100
	for _, f := range change {
		f(&u)
	}
	w.rows[site+" "+u.URLMd5] = u
	if raw != "" {
		w.raw[site+" "+u.URLMd5] = []byte(raw)
	}
	return wire.BatchItem{SiteID: site, URLID: u.URLMd5, URL: u}
}

func (w *world) row(it wire.BatchItem) wire.URL { return w.rows[it.SiteID+" "+it.URLID] }

func batchOf(items ...wire.BatchItem) wire.Batch {
	return wire.Batch{ID: batchID, CrawlerType: wire.CrawlProcess, DBMode: wire.DBRead | wire.DBWrite, Items: items}
}

func (w *world) run(b wire.Batch) wire.Batch {
	w.Helper()
	answer, err := w.try(context.Background(), b)
	if err != nil {
		w.Fatal(err)
	}
	return answer
}

func (w *world) try(ctx context.Context, b wire.Batch) (wire.Batch, error) {
	w.Helper()
	raw, err := json.Marshal(b)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := w.job.Run(ctx, raw)
	if err != nil {
		return wire.Batch{}, err
	}
	return answer.(wire.Batch), nil
}

func bitNames(m wire.ErrorMask) string { return strings.Join(m.Names(), " ") }

func isCritical(err error) bool {
	var c *task.CriticalError
	return errors.As(err, &c)
}

func TestReadsOnlyBatches(t *testing.T) {
	w := newWorld(t)
	for _, raw := range []string{`[]`, `{"items": [{}]}`} {
		if _, err := w.job.Run(context.Background(), json.RawMessage(raw)); err == nil || isCritical(err) {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}

// TestPage looks at all that a processed page leaves.
func TestPage(t *testing.T) {
	w := newWorld(t)
	it := w.item("s", "a", article)
	answer := w.run(batchOf(it))
	row := w.row(it)
	if row.Status != wire.StatusProcessed || row.State != wire.URLEnabled || row.ErrorMask != 0 || row.Processed != 1 || row.BatchID != batchID ||
		row.PDate != "2026-01-02 03:04:05" || row.UDate == "" || row.TcDate == "" || row.TotalTime != 100+row.ProcessingTime {
		t.Errorf("row %+v", row)
	}
	var content struct {
		Default struct {
			Data struct {
				ResID   string `json:"resId"`
				TagList [][]struct {
					Name, Extractor string
					Data            []string
				}
			} `json:"data"`
			ErrorCode int    `json:"error_code"`
			Metrics   string `json:"metrics"`
		} `json:"default"`
		Internal []json.RawMessage `json:"internal"`
		Custom   []string          `json:"custom"`
	}
	if err := json.Unmarshal(w.contents["s "+it.URLID], &content); err != nil {
		t.Fatal(err)
	}
	if content.Default.Data.ResID != it.URLID || len(content.Internal) != 1 || content.Custom == nil || content.Default.Metrics != "{}" {
		t.Errorf("content %+v", content)
	}
	got := map[string]string{}
	for _, tag := range content.Default.Data.TagList[0] {
		got[tag.Name] = strings.Join(tag.Data, "|")
	}
	for name, want := range map[string]string{
		"title": "The title", "description": "What it says", "pubdate": "2026-01-02 03:04:05", "html_lang": "en",
		"link": "http://page.test/canonical", "source_url": "http://page.test/a",
	} {
		if got[name] != want {
			t.Errorf("tag %s is %q, want %q", name, got[name], want)
		}
	}
	if !strings.Contains(got["content_encoded"], "second sentence") {
		t.Errorf("content %q", got["content_encoded"])
	}
	const mask = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<16 | 1<<25
	if row.TagsCount != int64(len(got)) || row.TagsMask != mask {
		t.Errorf("%d tags of %d, mask %b, want %b", row.TagsCount, len(got), row.TagsMask, mask)
	}
	if out := answer.Items[0].URL; out.Status != wire.StatusProcessed || out.TagsCount != row.TagsCount || out.Processed != 1 || answer.ErrorMask != 0 {
		t.Errorf("answered %+v", out)
	}
}

func TestContents(t *testing.T) {
	const cut = "<p>" // and a page that MaxContentSize cuts inside a letter
	tests := []struct {
		name, raw string
		change    func(*wire.URL)
		bits      wire.ErrorMask
		stored    string // part of the stored content; "" for none
	}{
		{"no raw content", "", func(*wire.URL) {}, wire.ErrRawMissing, ""},
		{"not 200", article, func(u *wire.URL) { u.HTTPCode = 404 }, 0, ""},
		{"plain text", "one line\nand another", func(u *wire.URL) { u.ContentType = "text/plain" }, 0, "and another"},
		{"JSON", `{"a": "b"}`, func(u *wire.URL) { u.ContentType = "application/json" }, 0, `{\"a\": \"b\"}`},
		{"an image", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", func(u *wire.URL) { u.ContentType = "image/png" }, wire.ErrRawDecoding, ""},
		{"declares another charset", `<meta charset="koi8-r"><title>Заголовок</title><p>Текст`, func(*wire.URL) {}, 0, "Заголовок"},
		{"type that is none", "<p>text", func(u *wire.URL) { u.ContentType = "html;;" }, 0, "text"},
		{"too long", cut + strings.Repeat("я", 600_000), func(*wire.URL) {}, 0, "яяя"},
		{"no mark-up", "\xef\xbb\xbf", func(*wire.URL) {}, 0, "source_url"},
		{"the errors of the crawl stay", article, func(u *wire.URL) { u.ErrorMask = wire.ErrBadEncoding }, 0, "second sentence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			it := w.item("s", "a", tt.raw, tt.change)
			before := it.URL.ErrorMask
			w.run(batchOf(it))
			row, state := w.row(it), int64(wire.URLEnabled)
			if tt.bits != 0 {
				state = wire.URLError
			}
			if row.Status != wire.StatusProcessed || row.State != state || row.ErrorMask != before|tt.bits || row.Processed != 1 {
				t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
			}
			content := string(w.contents["s "+it.URLID])
			if !strings.Contains(content, tt.stored) || (content == "") != (tt.stored == "") || strings.Contains(content, "\ufffd") {
				t.Errorf("content %.300q", content)
			}
		})
	}
}

func TestSites(t *testing.T) {
	tests := []struct {
		name   string
		change func(*wire.Site)
		status int64
		bits   wire.ErrorMask
		limits wire.ErrorMask // that the site is suspended for
	}{
		{"active", func(*wire.Site) {}, wire.StatusProcessed, 0, 0},
		{"suspended, over its limit", func(s *wire.Site) { s.State, s.Errors, s.MaxErrors = wire.SiteSuspended, 9, 8 }, wire.StatusCrawled, wire.ErrSiteState, 0},
		{"at its limits", func(s *wire.Site) { s.Errors, s.Resources, s.MaxErrors, s.MaxResources = 5, 5, 5, 5 }, wire.StatusProcessed, 0, 0},
		{"too many errors", func(s *wire.Site) { s.Errors, s.MaxErrors = 6, 5 }, wire.StatusCrawled, wire.ErrProcessorMaxErrors, wire.ErrProcessorMaxErrors},
		{"too many resources", func(s *wire.Site) { s.Resources, s.MaxResources = 6, 5 }, wire.StatusCrawled, wire.ErrProcessorMaxResources, wire.ErrProcessorMaxResources},
		{"unknown", nil, wire.StatusSelectedProcessing, wire.ErrBatchItem, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			site := w.sites["s"]
			if tt.change != nil {
				tt.change(site)
			} else {
				delete(w.sites, "s")
			}
			one, two := w.item("s", "1", article), w.item("s", "2", article)
			before := site.Errors
			answer := w.run(batchOf(one, two))
			for i, it := range []wire.BatchItem{one, two} {
				row := w.row(it)
				if row.Status != tt.status || row.State != wire.URLEnabled || answer.Items[i].URL.ErrorMask != tt.bits {
					t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(answer.Items[i].URL.ErrorMask))
				}
				if tt.status == wire.StatusCrawled && (row.ErrorMask != tt.bits || row.UDate == "" || row.Processed != 0) {
					t.Errorf("refused: %+v", row)
				}
			}
			if answer.ErrorMask != tt.bits || w.suspended != tt.limits || tt.limits != 0 && site.Errors != before+2 {
				t.Errorf("batch %s, suspended for %s, errors %d", bitNames(answer.ErrorMask), bitNames(w.suspended), site.Errors)
			}
		})
	}
}

func TestContentTypes(t *testing.T) {
	tests := []struct {
		name  string
		site  []string // values of PROCESS_CTYPES
		item  string   // the item's own value
		taken bool
	}{
		{"no value", nil, "", true},
		{"named", []string{"text/html"}, "", true},
		{"one of several rows", []string{"text/plain", "TEXT/HTML"}, "", true},
		{"one of a list", []string{"text/plain, text/html"}, "", true},
		{"all", []string{"*"}, "", true},
		{"empty", []string{" , "}, "", true},
		{"part of a name", []string{"text/htm"}, "", false},
		{"others", []string{"text/plain"}, "", false},
		{"the item's own value", []string{"text/html"}, "text/plain", false},
		{"the item's own value allows", []string{"text/plain"}, "text/html", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for _, value := range tt.site {
				w.sites["s"].Properties = append(w.sites["s"].Properties, wire.SiteProperty{SiteID: "s", Name: "PROCESS_CTYPES", Value: value})
			}
			it := w.item("s", "a", article)
			if tt.item != "" {
				it.Properties = map[string]string{"PROCESS_CTYPES": tt.item}
			}
			w.run(batchOf(it))
			row := w.row(it)
			if tt.taken && row.Status != wire.StatusProcessed || !tt.taken && (row.Status != wire.StatusCrawled || row.State != wire.URLError || row.ErrorMask != wire.ErrUnsupportedType) {
				t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
			}
		})
	}
}

// TestOverlay: siteObj of an item is laid over the site of that item alone.
func TestOverlay(t *testing.T) {
	w := newWorld(t)
	one, two, three := w.item("s", "1", article), w.item("s", "2", article), w.item("s", "3", article)
	raw, err := json.Marshal(batchOf(one, two, three))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(raw), `"siteObj":null`)
	text := parts[0] + `"siteObj":{"properties":{"PROCESS_CTYPES":"text/plain"}}` + parts[1] + `"siteObj":{"state":2}` + parts[2] + `"siteObj":null` + parts[3]
	if _, err := w.job.Run(context.Background(), json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	if a, b, c := w.row(one), w.row(two), w.row(three); a.ErrorMask != wire.ErrUnsupportedType || b.ErrorMask != wire.ErrSiteState || c.Status != wire.StatusProcessed {
		t.Errorf("%s, %s, status %d", bitNames(a.ErrorMask), bitNames(b.ErrorMask), c.Status)
	}
}

// TestSecondRun of the same batch, and rows of others, change nothing.
func TestSecondRun(t *testing.T) {
	w := newWorld(t)
	it := w.item("s", "1", article)
	others := w.item("s", "2", article, func(u *wire.URL) { u.BatchID = 99 })
	w.run(batchOf(it, others))
	rows := fmt.Sprint(w.rows)
	if row := w.row(others); row.Status != wire.StatusSelectedProcessing || row.BatchID != 99 {
		t.Errorf("another batch's row: %+v", row)
	}
	answer := w.run(batchOf(it, others))
	if fmt.Sprint(w.rows) != rows || len(answer.Items) != 2 {
		t.Errorf("second run: %+v", w.row(it))
	}
}

func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	w.sites["full"] = &wire.Site{ID: "full", State: wire.SiteActive, Errors: 2, MaxErrors: 1}
	b := batchOf(w.item("s", "1", article), w.item("full", "2", article))
	b.DBMode = wire.DBRead
	rows := fmt.Sprint(w.rows)
	answer := w.run(b)
	for _, call := range w.calls {
		if call != "Site" && call != "RawContent" {
			t.Errorf("%s was called", call)
		}
	}
	if fmt.Sprint(w.rows) != rows || len(w.contents) > 0 || answer.Items[0].URL.Status != wire.StatusProcessed || answer.Items[1].URL.ErrorMask != wire.ErrProcessorMaxErrors {
		t.Errorf("answer %+v", answer)
	}
}

// TestTimeLimitAndStop: what was not started goes back to Crawled.
func TestTimeLimitAndStop(t *testing.T) {
	for _, how := range []string{"limit", "limit of the ini", "limit, items removed", "stop"} {
		t.Run(how, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			w := newWorld(t)
			var mu sync.Mutex
			now := time.Now()
			w.job.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}
			b := batchOf()
			switch how {
			case "limit of the ini":
				w.job.Config.MaxExecutionTime = time.Minute
			default:
				b.MaxExecutionTime = 60
			}
			b.RemoveUnprocessed = how == "limit, items removed"
			w.onRead = func(string) {
				if how == "stop" {
					stop()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(time.Hour)
			}
			for i := range 20 {
				b.Items = append(b.Items, w.item("s", fmt.Sprint(i), article))
			}
			answer, err := w.try(ctx, b)
			if err != nil {
				t.Fatal(err)
			}
			done, back := 0, 0
			for _, it := range b.Items {
				switch row := w.row(it); {
				case row.Status == wire.StatusProcessed && row.ErrorMask == 0:
					done++
				case row.Status == wire.StatusCrawled && row.Processed == 0 && row.ErrorMask == 0:
					back++
				default:
					t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
				}
			}
			if done == 0 || back == 0 || done+back != 20 {
				t.Errorf("%d done, %d handed back", done, back)
			}
			want := 20
			if b.RemoveUnprocessed {
				want = done
			}
			if len(answer.Items) != want || answer.ErrorMask != wire.ErrMaxExecutionTime {
				t.Errorf("%d items are left, %s", len(answer.Items), bitNames(answer.ErrorMask))
			}
		})
	}
}

func TestDataOwnerFails(t *testing.T) {
	broken := errors.New("disk is full")
	for _, method := range []string{"Site", "Suspend", "MarkProcessing", "SaveProcess"} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			w.fails[method] = broken
			if method == "Suspend" {
				w.sites["s"].Errors, w.sites["s"].MaxErrors = 2, 1
			}
			b := batchOf()
			for i := range 100 {
				b.Items = append(b.Items, w.item("s", fmt.Sprint(i), article))
			}
			_, err := w.try(context.Background(), b)
			if !isCritical(err) || !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			read := 0
			for _, call := range w.calls {
				if call == "RawContent" {
					read++
				}
			}
			if read > 50 {
				t.Errorf("%d pages were read", read)
			}
		})
	}
}

func TestSiteIsDeletedMeanwhile(t *testing.T) {
	for _, method := range []string{"MarkProcessing", "SaveProcess"} {
		w := newWorld(t)
		w.fails[method] = &wire.Error{Op: "test", Code: wire.CodeNotFound, Err: errors.New("no such site")}
		if answer := w.run(batchOf(w.item("s", "1", article))); len(answer.Items) != 1 {
			t.Errorf("%s: left %+v", method, answer.Items)
		}
	}
}

// TestRawContentFails: that is the error of one item.
func TestRawContentFails(t *testing.T) {
	w := newWorld(t)
	w.fails["RawContent"] = errors.New("bad sector")
	it := w.item("s", "1", article)
	w.run(batchOf(it))
	if row := w.row(it); row.ErrorMask != wire.ErrRawMissing || row.State != wire.URLError {
		t.Errorf("%s", bitNames(row.ErrorMask))
	}
}

// TestPanicIsTheItemsOwn: a page that breaks a parser gets bit 51 and harms no
// other.
func TestPanicIsTheItemsOwn(t *testing.T) {
	w := newWorld(t)
	bad, good := w.item("s", "bad", article), w.item("s", "good", article)
	w.onRead = func(md5 string) {
		if md5 == bad.URLID {
			panic("hostile page")
		}
	}
	w.run(batchOf(bad, good))
	if row := w.row(bad); row.Status != wire.StatusProcessed || row.State != wire.URLError || row.ErrorMask != wire.ErrBatchItem {
		t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
	if row := w.row(good); row.ErrorMask != 0 || row.Status != wire.StatusProcessed {
		t.Errorf("the other: status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
}

// TestEachItemLeavesOnce is the law: each row that was taken gets one outcome and
// one state, and the answer says the same.
func TestEachItemLeavesOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for n := range 200 {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		oneRandomBatch(t, random)
		if t.Failed() {
			t.Fatalf("round %d of seed %d", n, seed)
		}
	}
}

func oneRandomBatch(t *testing.T, random *rand.Rand) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w := newWorld(t)
	w.job.Config.ChunkItems = 1 + random.IntN(5)
	w.sites["off"] = &wire.Site{ID: "off", State: wire.SiteDisabled}
	w.sites["full"] = &wire.Site{ID: "full", State: wire.SiteActive, Errors: 2, MaxErrors: 1}
	panics := map[string]bool{}
	b := batchOf()
	for i := range 1 + random.IntN(25) {
		site := []string{"s", "s", "s", "off", "full", "unknown"}[random.IntN(6)]
		it := w.item(site, fmt.Sprint(i), []string{article, "", "x", "\x00\xff"}[random.IntN(4)], func(u *wire.URL) {
			u.ContentType = []string{"text/html", "text/plain", "image/png", ""}[random.IntN(4)]
			u.HTTPCode = []int64{200, 200, 404}[random.IntN(3)]
			if random.IntN(10) == 0 {
				u.BatchID = 99
			}
		})
		panics[it.URLID] = random.IntN(10) == 0
		b.Items = append(b.Items, it)
	}
	var mu sync.Mutex
	reads, stopAt := 0, -1
	if random.IntN(2) == 0 {
		stopAt = random.IntN(15)
	}
	w.onRead = func(md5 string) {
		mu.Lock()
		if reads++; reads == stopAt {
			stop()
		}
		mu.Unlock()
		if panics[md5] {
			panic("hostile page")
		}
	}
	b.RemoveUnprocessed = random.IntN(2) == 0
	fails := random.IntN(5) == 0
	if fails {
		w.fails["SaveProcess"] = errors.New("broken")
	}
	answer, err := w.try(ctx, b)
	if err != nil && !fails {
		t.Fatal(err)
	}
	for _, it := range b.Items {
		key := it.SiteID + " " + it.URLID
		row, saved := w.rows[key], w.saved[key]
		mine := it.SiteID != "unknown" && it.URL.BatchID == batchID
		switch {
		case !mine && saved != 0:
			t.Errorf("%s was not taken, but saved", it.URL.URL)
		case saved > 1 || mine && err == nil && saved != 1:
			t.Errorf("%s of %s left %d times", it.URL.URL, it.SiteID, saved)
		case mine && err == nil && row.Status != wire.StatusProcessed && row.Status != wire.StatusCrawled:
			t.Errorf("%s has status %d", it.URL.URL, row.Status)
		}
		at := slices.IndexFunc(answer.Items, func(o wire.BatchItem) bool { return o.URLID == it.URLID })
		switch {
		case err != nil:
		case at < 0 && !b.RemoveUnprocessed:
			t.Errorf("%s is not answered", it.URL.URL)
		case at >= 0 && mine && (answer.Items[at].URL.Status != row.Status || answer.Items[at].URL.State != row.State || answer.Items[at].URL.Processed != row.Processed):
			t.Errorf("%s is answered as\n%+v\nand stored as\n%+v", it.URL.URL, answer.Items[at].URL, row)
		}
	}
}
