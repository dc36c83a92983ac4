package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

func bitNames(m errormask.Mask) string { return strings.Join(m.Names(), " ") }

// docs/spec/processing.md 1.1.
func TestInvalidRequests(t *testing.T) {
	f := newFixture(t)
	for _, raw := range []string{`[]`, `{"items": [{}]}`} {
		if _, err := f.job.Run(context.Background(), json.RawMessage(raw)); err == nil || task.IsCritical(err) {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}

// Processing a page sets its row, its content and the answer.
// docs/spec/processing.md 1.2 #13, #17, 1.3, 2.1.
func TestPage(t *testing.T) {
	f := newFixture(t)
	it := f.item("s", "a", article)
	answer := f.run(batchOf(it))
	row := f.row(it)
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
	text, err := result.Expand(f.Contents["s "+it.URLID])
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
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

// docs/spec/processing.md 1.2 #11, #14, #16, 1.9 #34, #37, 6.1 #5, #6, #15, 6.2 #29.
func TestContents(t *testing.T) {
	const cut = "<p>" // and a page that MaxContentSize cuts inside a letter
	tests := []struct {
		name, raw string
		change    func(*wire.URL)
		bits      errormask.Mask
		stored    string // part of the stored content; "": no content
	}{
		{"no raw content", "", func(*wire.URL) {}, errormask.RawMissing, ""},
		{"not 200", article, func(u *wire.URL) { u.HTTPCode = 404 }, 0, ""},
		{"plain text", "one line\nand another", func(u *wire.URL) { u.ContentType = "text/plain" }, 0, "and another"},
		{"JSON", `{"a": "b"}`, func(u *wire.URL) { u.ContentType = "application/json" }, 0, `{\"a\": \"b\"}`},
		{"an image", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", func(u *wire.URL) { u.ContentType = "image/png" }, errormask.UnsupportedType, ""},
		{"declares another charset", `<meta charset="koi8-r"><title>Заголовок</title><p>Текст`, func(*wire.URL) {}, 0, "Заголовок"},
		{"invalid content type", "<p>text", func(u *wire.URL) { u.ContentType = "html;;" }, 0, "text"},
		{"too long", cut + strings.Repeat("я", 600_000), func(*wire.URL) {}, 0, "яяя"},
		{"no mark-up", "\xef\xbb\xbf", func(*wire.URL) {}, 0, "source_url"},
		{"keeps the errors of crawling", article, func(u *wire.URL) { u.ErrorMask = errormask.BadEncoding }, 0, "second sentence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			it := f.item("s", "a", tt.raw, tt.change)
			before := it.URL.ErrorMask
			f.run(batchOf(it))
			row, state := f.row(it), int64(wire.URLEnabled)
			if tt.bits != 0 {
				state = wire.URLError
			}
			if row.Status != wire.StatusProcessed || row.State != state || row.ErrorMask != before|tt.bits || row.Processed != 1 {
				t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
			}
			text, err := result.Expand(f.Contents["s "+it.URLID])
			if err != nil {
				t.Fatal(err)
			}
			content := string(text)
			if !strings.Contains(content, tt.stored) || (content == "") != (tt.stored == "") || strings.Contains(content, "\ufffd") {
				t.Errorf("content %.300q", content)
			}
		})
	}
}

// The crawler stores the entries of a feed, and not the feed: its row is processed without an error.
// An entry without its content is an error.
func TestRowOfAFeed(t *testing.T) {
	f := newFixture(t)
	site := f.Sites["s"]
	site.Properties = append(site.Properties, wire.SiteProperty{Name: "PROCESSOR_NAME", Value: "FEED_PARSER"})
	f.Sites["s"] = site
	feed := f.item("s", "feed", "", func(u *wire.URL) { u.ContentType = "application/rss+xml" })
	entry := f.item("s", "entry", "", func(u *wire.URL) { u.Type = wire.TypeFetched })
	f.run(batchOf(feed, entry))
	for it, bits := range map[*wire.BatchItem]errormask.Mask{&feed: 0, &entry: errormask.RawMissing} {
		if row := f.row(*it); row.Status != wire.StatusProcessed || row.ErrorMask != bits {
			t.Errorf("%s: status %d, %s", row.URL, row.Status, bitNames(row.ErrorMask))
		}
	}
}

// docs/spec/processing.md 1.2 #3, #4, 1.9 #32, #33, #41, 6.1 #1, #2, #4, #14.
func TestSites(t *testing.T) {
	tests := []struct {
		name   string
		change func(*wire.Site)
		status int64
		bits   errormask.Mask
		limits errormask.Mask // that the site is suspended for
	}{
		{"active", func(*wire.Site) {}, wire.StatusProcessed, 0, 0},
		{"suspended, over its limit", func(s *wire.Site) { s.State, s.Errors, s.MaxErrors = wire.SiteSuspended, 9, 8 }, wire.StatusCrawled, errormask.SiteState, 0},
		{"at its limits", func(s *wire.Site) { s.Errors, s.Resources, s.MaxErrors, s.MaxResources = 5, 5, 5, 5 }, wire.StatusProcessed, 0, 0},
		{"too many errors", func(s *wire.Site) { s.Errors, s.MaxErrors = 6, 5 }, wire.StatusCrawled, errormask.ProcessorMaxErrors, errormask.ProcessorMaxErrors},
		{"too many resources", func(s *wire.Site) { s.Resources, s.MaxResources = 6, 5 }, wire.StatusCrawled, errormask.ProcessorMaxResources, errormask.ProcessorMaxResources},
		{"unknown", nil, wire.StatusSelectedProcessing, errormask.BatchItem, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			site := f.Sites["s"]
			if tt.change != nil {
				tt.change(site)
			} else {
				delete(f.Sites, "s")
			}
			one, two := f.item("s", "1", article), f.item("s", "2", article)
			before := site.Errors
			answer := f.run(batchOf(one, two))
			for i, it := range []wire.BatchItem{one, two} {
				row := f.row(it)
				if row.Status != tt.status || row.State != wire.URLEnabled || answer.Items[i].URL.ErrorMask != tt.bits {
					t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(answer.Items[i].URL.ErrorMask))
				}
				if tt.status == wire.StatusCrawled && (row.ErrorMask != tt.bits || row.UDate == "" || row.Processed != 0) {
					t.Errorf("refused: %+v", row)
				}
			}
			if answer.ErrorMask != tt.bits || f.Suspended != tt.limits || tt.limits != 0 && site.Errors != before+2 {
				t.Errorf("batch %s, suspended for %s, errors %d", bitNames(answer.ErrorMask), bitNames(f.Suspended), site.Errors)
			}
		})
	}
}

// docs/spec/processing.md 1.5 PROCESS_CTYPES, 6.1 #3.
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
		{"other type", []string{"text/plain"}, "", false},
		{"value of the item refuses", []string{"text/html"}, "text/plain", false},
		{"value of the item allows", []string{"text/plain"}, "text/html", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			for _, value := range tt.site {
				f.Sites["s"].Properties = append(f.Sites["s"].Properties, wire.SiteProperty{SiteID: "s", Name: "PROCESS_CTYPES", Value: value})
			}
			it := f.item("s", "a", article)
			if tt.item != "" {
				it.Properties = map[string]string{"PROCESS_CTYPES": tt.item}
			}
			f.run(batchOf(it))
			row := f.row(it)
			if tt.taken && row.Status != wire.StatusProcessed || !tt.taken && (row.Status != wire.StatusCrawled || row.State != wire.URLError || row.ErrorMask != errormask.UnsupportedType) {
				t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
			}
		})
	}
}

// The siteObj of an item changes the site for this item only.
// docs/spec/processing.md 1.2 #1.
func TestOverlay(t *testing.T) {
	f := newFixture(t)
	one, two, three := f.item("s", "1", article), f.item("s", "2", article), f.item("s", "3", article)
	raw, err := json.Marshal(batchOf(one, two, three))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(raw), `"siteObj":null`)
	text := parts[0] + `"siteObj":{"properties":{"PROCESS_CTYPES":"text/plain"}}` + parts[1] + `"siteObj":{"state":2}` + parts[2] + `"siteObj":null` + parts[3]
	if _, err := f.job.Run(context.Background(), json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	if a, b, c := f.row(one), f.row(two), f.row(three); a.ErrorMask != errormask.UnsupportedType || b.ErrorMask != errormask.SiteState || c.Status != wire.StatusProcessed {
		t.Errorf("%s, %s, status %d", bitNames(a.ErrorMask), bitNames(b.ErrorMask), c.Status)
	}
}

// A second run of a batch changes nothing. Rows of other batches do not change.
func TestSecondRun(t *testing.T) {
	f := newFixture(t)
	it := f.item("s", "1", article)
	others := f.item("s", "2", article, func(u *wire.URL) { u.BatchID = 99 })
	f.run(batchOf(it, others))
	rows := fmt.Sprint(f.URLs)
	if row := f.row(others); row.Status != wire.StatusSelectedProcessing || row.BatchID != 99 {
		t.Errorf("row of another batch: %+v", row)
	}
	answer := f.run(batchOf(it, others))
	if fmt.Sprint(f.URLs) != rows || len(answer.Items) != 2 {
		t.Errorf("second run: %+v", f.row(it))
	}
}

func TestReadOnly(t *testing.T) {
	f := newFixture(t)
	f.Sites["full"] = &wire.Site{ID: "full", State: wire.SiteActive, Errors: 2, MaxErrors: 1}
	b := batchOf(f.item("s", "1", article), f.item("full", "2", article))
	b.DBMode = wire.DBRead
	rows := fmt.Sprint(f.URLs)
	answer := f.run(b)
	for _, call := range f.Calls {
		if call != "Site" && call != "RawContent" {
			t.Errorf("%s was called", call)
		}
	}
	if fmt.Sprint(f.URLs) != rows || len(f.Contents) > 0 || answer.Items[0].URL.Status != wire.StatusProcessed || answer.Items[1].URL.ErrorMask != errormask.ProcessorMaxErrors {
		t.Errorf("answer %+v", answer)
	}
}

// After the time limit or a stop, items that were not started are handed back as Crawled.
// docs/spec/processing.md 1.1, 1.9 #52, 6.2 #10.
func TestTimeLimitAndStop(t *testing.T) {
	for _, how := range []string{"limit", "limit of the ini", "limit, items removed", "stop"} {
		t.Run(how, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			f := newFixture(t)
			var mu sync.Mutex
			now := time.Now()
			f.job.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}
			b := batchOf()
			switch how {
			case "limit of the ini":
				f.job.Config.MaxExecutionTime = time.Minute
			default:
				b.MaxExecutionTime = 60
			}
			b.RemoveUnprocessed = how == "limit, items removed"
			f.OnRead = func(string) {
				if how == "stop" {
					stop()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(time.Hour)
			}
			for i := range 20 {
				b.Items = append(b.Items, f.item("s", fmt.Sprint(i), article))
			}
			answer, err := f.try(ctx, b)
			if err != nil {
				t.Fatal(err)
			}
			done, back := 0, 0
			for _, it := range b.Items {
				switch row := f.row(it); {
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
			if len(answer.Items) != want || answer.ErrorMask != errormask.MaxExecutionTime {
				t.Errorf("%d items are left, %s", len(answer.Items), bitNames(answer.ErrorMask))
			}
		})
	}
}

// docs/spec/processing.md 1.9 #53: a fault of the database ends the batch, and no row gets a bit.
func TestRepositoryFails(t *testing.T) {
	broken := errors.New("disk is full")
	for _, method := range []string{"Site", "Suspend", "MarkProcessing", "SaveProcess"} {
		t.Run(method, func(t *testing.T) {
			f := newFixture(t)
			f.Fails[method] = broken
			if method == "Suspend" {
				f.Sites["s"].Errors, f.Sites["s"].MaxErrors = 2, 1
			}
			b := batchOf()
			for i := range 100 {
				b.Items = append(b.Items, f.item("s", fmt.Sprint(i), article))
			}
			_, err := f.try(context.Background(), b)
			if !task.IsCritical(err) || !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			read := 0
			for _, call := range f.Calls {
				if call == "RawContent" {
					read++
				}
			}
			if read > 50 {
				t.Errorf("%d pages were read after the error", read)
			}
		})
	}
}

func TestSiteIsDeletedWhileProcessing(t *testing.T) {
	for _, method := range []string{"MarkProcessing", "SaveProcess"} {
		f := newFixture(t)
		f.Fails[method] = &wire.Error{Op: "test", Code: wire.CodeNotFound, Err: errors.New("no such site")}
		if answer := f.run(batchOf(f.item("s", "1", article))); len(answer.Items) != 1 {
			t.Errorf("%s: answered %+v", method, answer.Items)
		}
	}
}

// An error of RawContent fails one item, not the batch.
func TestRawContentFails(t *testing.T) {
	f := newFixture(t)
	f.Fails["RawContent"] = errors.New("bad sector")
	it := f.item("s", "1", article)
	f.run(batchOf(it))
	if row := f.row(it); row.ErrorMask != errormask.RawMissing || row.State != wire.URLError {
		t.Errorf("%s", bitNames(row.ErrorMask))
	}
}

// A raw content that cannot be read because of a fault of the machine ends the batch. Its row
// stays with the batch, and is processed when the fault has ended.
func TestRawContentIsAway(t *testing.T) {
	f := newFixture(t)
	f.Fails["RawContent"] = task.Critical(errors.New("too many open files"))
	it := f.item("s", "1", article)
	if _, err := f.try(t.Context(), batchOf(it)); !task.IsCritical(err) {
		t.Errorf("error %v", err)
	}
	if row := f.row(it); row.ErrorMask != 0 || row.State != wire.URLEnabled {
		t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
	}
}

// The content of a feed entry is JSON, whatever the type in its row says: its fields become tags
// (docs/spec/processing.md 4.1).
func TestFeedEntries(t *testing.T) {
	f := newFixture(t)
	f.Sites["s"].Properties = []wire.SiteProperty{{Name: "PROCESS_CTYPES", Value: "text/plain"}}
	it := f.item("s", "1", `{"entry":{"title":"A & B"},"pubdate":"2026-01-03 10:00:00"}`, func(u *wire.URL) { u.Type = wire.TypeFetched })
	f.run(batchOf(it))
	row := f.row(it)
	if row.Status != wire.StatusProcessed || row.ErrorMask != 0 || row.Processed != 1 || row.PDate != "2026-01-03 10:00:00" || row.TagsMask != 1<<3|1<<25 {
		t.Errorf("status %d, processed %d, %s, PDate %s, mask %b", row.Status, row.Processed, bitNames(row.ErrorMask), row.PDate, row.TagsMask)
	}
	if got := result.Decode(f.Contents["s "+it.URLID]); got.Default.First("title") != "A & B" {
		t.Errorf("title %q", got.Default.First("title"))
	}
}

// The items of a page become rows with contents of their own, and are in the answer
// (docs/spec/processing.md 1.7, 3.7).
func TestItemsOfAPage(t *testing.T) {
	f := newFixture(t)
	f.Sites["s"].Properties = []wire.SiteProperty{
		{Name: "PROCESSOR_NAME", Value: "SCRAPER_MULTI_ITEMS"},
		{Name: "template", Value: `{"templates":[{"tags":{"product":[{"target":"//li/b","type":"text","join":"concat","mandatory":1}]}}]}`},
	}
	it := f.item("s", "list", "<ul><li><b>Rope</b></li><li><b>Anchor</b></li><li><b>Buoy</b></li></ul>")
	for range 2 { // a second run changes the same rows
		answer := f.run(batchOf(it))
		if len(answer.Items) != 3 || answer.Items[2].URL.URL != it.URL.URL+"#2" || answer.Items[2].URLID != wire.Md5(it.URL.URL+"#2") {
			t.Fatalf("%d items in the answer", len(answer.Items))
		}
		if len(f.URLs) != 3 || len(f.Contents) != 3 {
			t.Errorf("%d rows, %d contents", len(f.URLs), len(f.Contents))
		}
		for i, name := range []string{"Rope", "Anchor", "Buoy"} {
			id := answer.Items[i].URLID
			row, content := f.URLs["s "+id], result.Decode(f.Contents["s "+id])
			if row.Status != wire.StatusProcessed || content.Default.First("product") != name || content.Default.ID != id || len(f.Files["s "+id]) == 0 {
				t.Errorf("item %d: status %d, %q", i, row.Status, content.Default.First("product"))
			}
		}
		row := f.URLs["s "+it.URLID]
		row.Status = wire.StatusSelectedProcessing
		f.URLs["s "+it.URLID] = row
	}
}

// A page that continues in others becomes one content, and the others are processed without one
// (docs/spec/processing.md 1.7).
// docs/spec/processing.md 1.2 #20, 1.5 URL_CHAIN, 6.1 #16.
func TestChain(t *testing.T) {
	f := newFixture(t)
	f.Sites["s"].Properties = []wire.SiteProperty{
		{Name: "URL_CHAIN", Value: `{"url_pattern":"page=","tags_name":["content_encoded"],"delimiter":" + "}`},
		{Name: "template", Value: `{"templates":[{"tags":{"content_encoded":[{"target":"//p","type":"text"}]},
			"output_format":{"name":"text","item":"[%content_encoded%]"}}]}`},
		{Name: "PROCESSOR_PROPERTIES", Value: `{"SCRAPER_TEXT_MARKUP":{}}`},
	}
	part := func(u *wire.URL) { u.Type, u.Status = wire.TypeChain, wire.StatusCrawled }
	head := f.item("s", "1", "<p>one</p>")
	second, third := f.item("s", "2", "<p>two</p>", part), f.item("s", "3", "<p>three</p>", part)
	gone := f.item("s", "4", "", part) // its raw content is missing
	key := "s " + head.URLID
	f.Files[key] = append(f.Files[key], wire.File{Type: wire.ContentChain, Data: []byte(head.URLID + "\n" + second.URLID + "\n" + third.URLID + "\n" + gone.URLID + "\n")})
	f.run(batchOf(head))
	got := result.Decode(f.Contents[key])
	if len(got.Custom) != 1 || got.Custom[0] != "[one + two + three]" || len(f.Contents) != 1 {
		t.Errorf("%d contents, custom %q", len(f.Contents), got.Custom)
	}
	for i, it := range []wire.BatchItem{head, second, third, gone} {
		if row := f.row(it); row.Status != wire.StatusProcessed || row.Processed != 1 {
			t.Errorf("part %d: status %d, processed %d", i, row.Status, row.Processed)
		}
	}
	if row := f.row(head); row.ErrorMask != errormask.RawMissing {
		t.Errorf("errors of the page: %s", bitNames(row.ErrorMask))
	}
}

// A panic while processing a page gives its item bit 51 and fails no other item.
// docs/spec/processing.md 1.9 #51.
func TestPanicFailsOneItem(t *testing.T) {
	f := newFixture(t)
	bad, good := f.item("s", "bad", article), f.item("s", "good", article)
	f.OnRead = func(md5 string) {
		if md5 == bad.URLID {
			panic("hostile page")
		}
	}
	f.run(batchOf(bad, good))
	if row := f.row(bad); row.Status != wire.StatusProcessed || row.State != wire.URLError || row.ErrorMask != errormask.BatchItem {
		t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
	if row := f.row(good); row.ErrorMask != 0 || row.Status != wire.StatusProcessed {
		t.Errorf("other item: status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
}

// Each marked row is saved exactly once, with the state that the answer reports. Batches,
// panics, stops and failures are random.
func TestEachItemEndsOnce(t *testing.T) {
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
	f := newFixture(t)
	f.job.Config.ChunkItems = 1 + random.IntN(5)
	f.Sites["off"] = &wire.Site{ID: "off", State: wire.SiteDisabled}
	f.Sites["full"] = &wire.Site{ID: "full", State: wire.SiteActive, Errors: 2, MaxErrors: 1}
	panics := map[string]bool{}
	b := batchOf()
	for i := range 1 + random.IntN(25) {
		site := []string{"s", "s", "s", "off", "full", "unknown"}[random.IntN(6)]
		it := f.item(site, fmt.Sprint(i), []string{article, "", "x", "\x00\xff"}[random.IntN(4)], func(u *wire.URL) {
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
	f.OnRead = func(md5 string) {
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
		f.Fails["SaveProcess"] = errors.New("broken")
	}
	answer, err := f.try(ctx, b)
	if err != nil && !fails {
		t.Fatal(err)
	}
	for _, it := range b.Items {
		key := it.SiteID + " " + it.URLID
		row, saved := f.URLs[key], f.Saves[key]
		mine := it.SiteID != "unknown" && it.URL.BatchID == batchID
		switch {
		case !mine && saved != 0:
			t.Errorf("%s was saved without being marked", it.URL.URL)
		case saved > 1 || mine && err == nil && saved != 1:
			t.Errorf("%s of %s was saved %d times", it.URL.URL, it.SiteID, saved)
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
