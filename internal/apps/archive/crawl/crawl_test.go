package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// The start URLs of one domain are one job, in the order of the queue.
func TestQueue(t *testing.T) {
	jobs, err := Queue([]string{"https://a.example/x", "http://b.example:8080", "https://a.example/y", "https://A.example/x#top", "http://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(jobs); got != "[{a.example [https://a.example/x https://a.example/y http://a.example/]} {b.example:8080 [http://b.example:8080/]}]" {
		t.Error(got)
	}
	for typed, want := range map[string]string{
		"example.org": "did you mean https://example.org/ or http://example.org/?", "ftp://example.org/": "scheme ftp", "https://u:p@example.org/": "user name", "": "empty",
	} {
		if _, err := Queue([]string{typed}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	if _, err := Queue(nil); err == nil {
		t.Error("an empty queue is accepted")
	}
}

// The settings reach the crawler, which accepts the object.
func TestSiteObject(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		properties string // that differ from the others
	}{
		{Config{Depth: 3, Robots: true, Delay: 2 * time.Second}, "{}"},
		{Config{Depth: 0, UserAgent: `My "bot"/1`}, `{"HTTP_HEADERS":"{\"User-Agent\":\"My \\\"bot\\\"/1\"}","ROBOTS_COLLECT":"0","ROBOTS_MODE":"0"}`},
	} {
		m := Manager{Config: tt.config}
		object, err := m.siteObject(wire.Md5("x"), Job{"a.example:80", []string{"http://a.example:80/"}})
		if err != nil {
			t.Fatal(err)
		}
		properties := object["properties"].(map[string]string)
		for name, value := range properties {
			if strings.HasPrefix(name, "STORE_") && (value == "1") == (name == "STORE_AS_RECEIVED") {
				delete(properties, name)
			}
		}
		if got, _ := json.Marshal(properties); string(got) != tt.properties {
			t.Errorf("properties %s, want %s", got, tt.properties)
		}
		text, err := json.Marshal(object)
		if err == nil {
			err = service.Check(wire.SiteNew, text, nil)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if filters := fmt.Sprint(object["filters"]); !strings.Contains(filters, `a\.example:80`) || !strings.Contains(filters, fmt.Sprint(tt.config.Depth)+" ") {
			t.Errorf("filters %s", filters)
		}
		if object["requestDelay"] != tt.config.Delay.Milliseconds() {
			t.Errorf("delay %v", object["requestDelay"])
		}
	}
}

// At most Instances jobs run at once; the others wait for a free one, in their order.
func TestAtOnce(t *testing.T) {
	var jobs []Job
	for i := range 6 {
		jobs = append(jobs, Job{Domain: fmt.Sprint(i)})
	}
	var said []string
	m := Manager{Config: Config{Instances: 2}, Log: slog.New(slog.DiscardHandler), Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	var mu sync.Mutex
	var order []string
	now, most := 0, 0
	pair := make(chan struct{})
	failed := m.atOnce(jobs, func(j Job) error {
		mu.Lock()
		order = append(order, j.Domain)
		now++
		most = max(most, now)
		mu.Unlock()
		select { // two run side by side
		case pair <- struct{}{}:
		case <-pair:
		}
		mu.Lock()
		defer mu.Unlock()
		now--
		if j.Domain == "3" {
			return errors.New("fault")
		}
		return nil
	})
	if failed != 1 || most != 2 || !slices.Equal(said, []string{"3: fault"}) || len(order) != 6 {
		t.Errorf("%d failed, %d at once, order %v, said %v", failed, most, order, said)
	}
	slices.Sort(order[:2])
	if order[0] != "0" || order[1] != "1" {
		t.Errorf("order %v", order)
	}
}

func TestStage(t *testing.T) {
	r := newRepository(t)
	c, err := r.Begin(t.Context(), "a.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Abort()
	for name, tt := range map[string]struct {
		page  pages.Page
		added bool
	}{
		"page":         {pages.Page{URL: wire.URL{URL: "https://a.example/", ContentType: "text/html"}, Raw: []byte("x")}, true},
		"empty page":   {pages.Page{URL: wire.URL{URL: "https://a.example/e", ContentType: "text/html"}, Raw: []byte{}}, true},
		"without body": {pages.Page{URL: wire.URL{URL: "https://a.example/n"}}, false},
	} {
		if added, err := stageFetched(c, &tt.page); added != tt.added || err != nil {
			t.Errorf("%s: %v, %v", name, added, err)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ body, charset, want string }{
		{"<html><head><title> A\n b </title></head><svg><title>x</title></svg>", "", "A b"},
		{"<title>B&uuml;cher &lt;1&gt;</title>", "", "Bücher <1>"},
		{"<title>B\xfccher</title>", "iso-8859-1", "Bücher"},
		{"<meta charset=windows-1252><title>B\xfccher</title>", "", "Bücher"},
		{"<p>none</p>", "", ""},
		{"<title></title>", "", ""},
		{"<title>" + strings.Repeat("ä", 600) + "</title>", "", strings.Repeat("ä", 500)},
	} {
		if got := findTitle([]byte(tt.body), tt.charset); got != tt.want {
			t.Errorf("%.60q: %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestCreated(t *testing.T) {
	p := &pages.Page{Stored: "2026-03-01 11:00:00.500"}
	if got := modifiedTime(p); got.UTC().Format(time.RFC3339) != "2026-03-01T11:00:00Z" {
		t.Error(got)
	}
	p.LastModified = "2012-05-16 10:00:00"
	if got := modifiedTime(p); got.UTC().Format(time.RFC3339) != "2012-05-16T10:00:00Z" {
		t.Error(got)
	}
}

// A loopback address needs the permission of the operator.
func TestNetworks(t *testing.T) {
	jobs := []Job{{"127.0.0.1", []string{"http://127.0.0.1/"}}}
	m := &Manager{}
	if err := m.checkNetworks(jobs); command.ExitOf(err) != command.ExitRefused || !strings.Contains(err.Error(), "allow_networks") {
		t.Error(err)
	}
	m.Networks = "127.0.0.0/8"
	if err := m.checkNetworks(jobs); err != nil {
		t.Error(err)
	}
}

// Rounds begin at each interval, also after one that failed, until the end of ctx.
func TestIntervals(t *testing.T) {
	const interval = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var began []time.Time
	m := Manager{Config: Config{Interval: interval}, Log: slog.New(slog.DiscardHandler), Say: func(string, ...any) {}}
	err := m.repeatRounds(ctx, func() error {
		began = append(began, time.Now())
		if len(began) == 4 {
			cancel()
		}
		return []error{nil, errors.New("fault"), ErrFailed, nil}[len(began)-1]
	})
	if !errors.Is(err, context.Canceled) || len(began) != 4 || began[3].Sub(began[0]) < 3*interval {
		t.Errorf("%d rounds in %v: %v", len(began), began[len(began)-1].Sub(began[0]), err)
	}
	m.Interval = 0
	if err := m.repeatRounds(t.Context(), func() error { return ErrFailed }); !errors.Is(err, ErrFailed) {
		t.Errorf("one round: %v", err)
	}
}

// A URL without a page has failed, unless the server or a rule has decided on it.
func TestCauseOf(t *testing.T) {
	for name, tt := range map[string]struct {
		row  wire.URL
		want string
	}{
		"gone":                   {wire.URL{HTTPCode: 404, ErrorMask: errormask.HTTP, Crawled: 1}, ""},
		"gone for ever":          {wire.URL{HTTPCode: 410, ErrorMask: errormask.HTTP, Crawled: 1}, ""},
		"robots.txt":             {wire.URL{ErrorMask: errormask.Robots}, ""},
		"redirect to elsewhere":  {wire.URL{HTTPCode: 302, ErrorMask: errormask.FiltersBreak, Crawled: 1}, ""},
		"redirect":               {wire.URL{HTTPCode: 302, Crawled: 1}, ""},
		"overloaded":             {wire.URL{HTTPCode: 503, ErrorMask: errormask.HTTP, Crawled: 1}, "HTTP 503, HTTP_ERROR"},
		"forbidden":              {wire.URL{HTTPCode: 403, Crawled: 1}, "HTTP 403"},
		"time-out":               {wire.URL{HTTPCode: 400, ErrorMask: errormask.Timeout, Crawled: 1}, "REQUEST_TIMEOUT"},
		"no connection":          {wire.URL{ErrorMask: errormask.Connection, Crawled: 1}, "CONNECTION_ERROR"},
		"without a body":         {wire.URL{HTTPCode: 200, ErrorMask: errormask.Empty, Crawled: 1}, "EMPTY_RESPONSE"},
		"over the limit":         {wire.URL{HTTPCode: 200, ErrorMask: errormask.Size, Crawled: 1}, errormask.Size.Names()[0]},
		"never requested":        {wire.URL{}, "not requested"},
		"page without a content": {wire.URL{HTTPCode: 200, Crawled: 1}, "nothing is stored"},
	} {
		if got := causeOf(tt.row); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// newRepository opens an empty archive.
func newRepository(t *testing.T) *repository.Repository {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	if err := repository.Init(dir); err != nil {
		t.Fatal(err)
	}
	r, err := repository.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Pages that failed, and pages behind them, keep their content, marked with the crawl that fetched it; pages
// that are gone leave.
func TestKeepOlder(t *testing.T) {
	r := newRepository(t)
	m := Manager{Repository: r}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	crawl := func(fetched map[string]string, failed map[string]string, gone ...string) *outcome {
		t.Helper()
		at = at.Add(time.Hour)
		c, err := r.Begin(t.Context(), "a.example", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Abort()
		o := outcome{crawl: c, failed: failed, answered: map[string]bool{}, causes: map[string]int{}}
		for _, name := range gone {
			o.answered["https://a.example/"+name] = true
		}
		for name, text := range fetched {
			if err := o.stagePage(&pages.Page{URL: wire.URL{URL: "https://a.example/" + name, ContentType: "text/html"}, Raw: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.keepOlder(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return &o
	}
	crawl(map[string]string{"": "one", "a": "A", "b": "B", "c": "C"}, nil)
	failed := map[string]string{"https://a.example/a": "HTTP 503"}
	for range 2 { // what is kept is kept again
		if o := crawl(map[string]string{"": "two"}, failed, "c"); o.kept != 2 || o.pageCount() != 3 || o.partialError() == nil {
			t.Errorf("%+v", o)
		}
	}
	list, err := r.Query(t.Context(), archive.Query{Where: "commitTag = '" + archive.Tag("a.example", at) + "'", OrderBy: "url"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, strings.Join([]string{m.URL, m.KeptFrom, m.KeptCause}, " "))
	}
	want := []string{
		"https://a.example/  ", "https://a.example/a a.example@2026-03-01T14:00:00 HTTP 503",
		"https://a.example/b a.example@2026-03-01T14:00:00 not reached: 1 other URLs failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if list, err := r.Check(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if o := crawl(map[string]string{"": "three"}, nil); o.pageCount() != 1 || o.partialError() != nil {
		t.Errorf("%+v", o)
	}
}

// A page whose bytes in the crawler's store have changed keeps its content of the version before, marked, and the crawl is not
// complete. The others are committed. A later crawl with a whole page has it again.
func TestDamagedPage(t *testing.T) {
	r := newRepository(t)
	m := Manager{Repository: r}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, damage := range []bool{false, true, true, false} { // the third one does not come back to the damage of the second
		stores := storestest.Open(t)
		site := stores.NewSite("https://a.example/")
		for _, name := range []string{"mill", "ferry", "lake"} {
			stores.AddPage(site, "https://a.example/"+name, name, fmt.Sprintf("version %d of the %s", i, name))
		}
		if damage {
			stores.DamageRaw(fmt.Sprintf("version %d of the ferry", i))
		}
		at = at.Add(time.Hour)
		c, err := r.Begin(t.Context(), "a.example", at)
		if err != nil {
			t.Fatal(err)
		}
		o := outcome{crawl: c, failed: map[string]string{}, answered: map[string]bool{}, causes: map[string]int{}}
		if err := m.archiveSite(t.Context(), stores, site, &o); err != nil {
			t.Fatal(err)
		}
		c.Abort()
		if partial := o.partialError(); (partial != nil) != damage || damage && !strings.Contains(partial.Error(), "damaged") {
			t.Errorf("round %d: %v", i, partial)
		}
		list, err := r.Query(t.Context(), archive.Query{Where: "commitTag = '" + archive.Tag("a.example", at) + "' AND url = 'https://a.example/ferry'"})
		if err != nil || len(list) != 1 || (list[0].KeptFrom != "") != damage {
			t.Errorf("round %d: %+v, %v", i, list, err)
		}
		if o.pageCount() != 3 {
			t.Errorf("round %d: %d pages", i, o.pageCount())
		}
	}
}
