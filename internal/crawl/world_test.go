package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/wire"
)

// batchID is the batch of all tests.
const batchID = 7

// memory is a repository in maps, with the rules that the real one promises.
type memory struct {
	mu    sync.Mutex
	sites map[string]*wire.Site
	rows  map[string]wire.URL // by site and key
	files map[string][]wire.File
	saved map[string]int // outcomes by site and key
	last  map[string]wire.Fetched
	calls []string

	proxies []wire.Proxy
	faults  []string

	suspended wire.ErrorMask
	siteBits  wire.ErrorMask
	fails     map[string]error // by method
	watch     func()           // called after each SaveCrawl
	called    func(string)     // called with the name of each method; may be nil
}

func newMemory() *memory {
	return &memory{
		sites: map[string]*wire.Site{}, rows: map[string]wire.URL{}, files: map[string][]wire.File{},
		saved: map[string]int{}, last: map[string]wire.Fetched{}, fails: map[string]error{},
	}
}

// begin records the call of a method. It fails if ctx is over, as the real repository does.
func (m *memory) begin(ctx context.Context, method string) (func(), error) {
	m.mu.Lock()
	m.calls = append(m.calls, method)
	if m.called != nil {
		m.called(method)
	}
	return m.mu.Unlock, errors.Join(m.fails[method], ctx.Err())
}

func (m *memory) Site(ctx context.Context, id string) (*wire.Site, error) {
	end, err := m.begin(ctx, "Site")
	defer end()
	if s := m.sites[id]; s != nil && err == nil {
		c := *s
		return &c, nil
	}
	return nil, err
}

func (m *memory) Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error {
	end, err := m.begin(ctx, "Suspend")
	defer end()
	if err == nil {
		m.suspended |= bits
		m.sites[id].State = wire.SiteSuspended
		m.sites[id].Errors += int64(items)
	}
	return err
}

func (m *memory) MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error) {
	end, err := m.begin(ctx, "MarkCrawling")
	defer end()
	if err != nil {
		return nil, err
	}
	marks := map[string]wire.Mark{}
	for _, u := range items {
		key := site + " " + u.URLMd5
		row, known := m.rows[key]
		if !known {
			row = u
		}
		mark := wire.Mark{Row: row, Known: known}
		mark.Done = known && row.Status >= wire.StatusCrawled && row.Status <= wire.StatusProcessed && row.BatchID == batch
		mark.Busy = known && (row.Status == wire.StatusCrawling || row.Status == wire.StatusSelectedCrawling) && row.BatchID != batch && row.BatchID != 0
		marks[u.URLMd5] = mark
		if !mark.Done && !mark.Busy {
			row.Status, row.BatchID, row.ErrorMask = wire.StatusCrawling, batch, 0
			m.rows[key] = row
		}
	}
	return marks, nil
}

func (m *memory) SaveCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error) {
	end, err := m.begin(ctx, "SaveCrawl")
	defer end()
	if m.watch != nil {
		defer m.watch()
	}
	if err != nil {
		return wire.Saved{}, err
	}
	for _, r := range results {
		key := site + " " + r.URLMd5
		row := m.rows[key]
		m.saved[key]++
		m.last[key] = r
		if row.Status != wire.StatusCrawling || row.BatchID != batch {
			continue
		}
		wire.Apply(&row, wire.URLColumns, r.Set, "")
		if r.Crawled {
			row.Crawled++
		}
		m.rows[key] = row
		m.siteBits |= r.SiteBits
		for _, f := range r.Files {
			m.files[key] = append(slices.DeleteFunc(m.files[key], func(old wire.File) bool { return old.Type == f.Type }), f)
		}
		for _, l := range r.Links {
			known, there := m.rows[site+" "+l.URL.URLMd5]
			if !there {
				known = l.URL
			}
			if l.Chain {
				known.Type = wire.TypeChain
			}
			m.rows[site+" "+l.URL.URLMd5] = known
		}
	}
	return wire.Saved{}, nil
}

func (m *memory) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	end, err := m.begin(ctx, "KnownURLs")
	defer end()
	known := map[string]bool{}
	for _, md5 := range md5s {
		if _, ok := m.rows[site+" "+md5]; ok {
			known[md5] = true
		}
	}
	return known, err
}

func (m *memory) TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (bool, error) {
	end, err := m.begin(ctx, "TakeSchema")
	defer end()
	row := m.rows[site+" "+template.URLMd5]
	row.Status, row.BatchID = wire.StatusCrawled, batch
	m.rows[site+" "+template.URLMd5] = row
	first.Status, first.BatchID = wire.StatusSelectedCrawling, batch
	for _, u := range append([]wire.URL{first}, others...) {
		m.rows[site+" "+u.URLMd5] = u
	}
	return err == nil, err
}

func (m *memory) PutRaw(ctx context.Context, site string, files map[string][]wire.File, _ time.Time) error {
	end, err := m.begin(ctx, "PutRaw")
	defer end()
	for md5, list := range files {
		m.files[site+" "+md5] = list
	}
	return err
}

func (m *memory) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	end, err := m.begin(ctx, "URLTexts")
	defer end()
	texts := map[string]string{}
	for _, md5 := range md5s {
		if row, ok := m.rows[site+" "+md5]; ok {
			texts[md5] = row.URL
		}
	}
	return texts, err
}

func (m *memory) HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	end, err := m.begin(ctx, "HasContents")
	defer end()
	has := map[string]bool{}
	for _, md5 := range md5s {
		has[md5] = m.rows[site+" "+md5].Processed > 0
	}
	return has, err
}

// Condition supports "1", "0" and comparisons of two quoted texts with >.
func (m *memory) Condition(ctx context.Context, _, _, expression string) (wire.Verdict, error) {
	end, err := m.begin(ctx, "Condition")
	defer end()
	left, right, compared := strings.Cut(expression, ">")
	if compared {
		return wire.Verdict{True: strings.TrimSpace(left) > strings.TrimSpace(right)}, err
	}
	return wire.Verdict{True: strings.TrimSpace(expression) == "1"}, err
}

func (m *memory) Proxies(ctx context.Context, _ string) ([]wire.Proxy, error) {
	end, err := m.begin(ctx, "Proxies")
	defer end()
	return m.proxies, err
}

func (m *memory) ProxyFault(ctx context.Context, site, host string, disabled bool) error {
	end, err := m.begin(ctx, "ProxyFault")
	defer end()
	m.faults = append(m.faults, fmt.Sprint(site, " ", host, " ", disabled))
	return err
}

func (m *memory) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	end, err := m.begin(ctx, "Rows")
	defer end()
	rows := map[string]wire.URL{}
	for _, md5 := range md5s {
		if row, ok := m.rows[site+" "+md5]; ok {
			rows[md5] = row
		}
	}
	return rows, err
}

func (m *memory) SiteOf(ctx context.Context, _ string) (string, error) {
	end, err := m.begin(ctx, "SiteOf")
	defer end()
	for id := range m.sites {
		return id, err
	}
	return wire.GeneralSite, err
}

// visitLog is one request as its server saw it.
type visitLog struct {
	path       string
	start, end time.Time
}

// server is a host that records its requests.
type server struct {
	*httptest.Server
	host string

	mu     sync.Mutex
	visits []visitLog
	now    int // running requests
	most   int // maximum of now
}

func newServer(t testing.TB, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitLog{path: r.URL.Path, start: time.Now()}
		s.mu.Lock()
		s.now++
		s.most = max(s.most, s.now)
		s.mu.Unlock()
		defer func() {
			v.end = time.Now()
			s.mu.Lock()
			s.now--
			s.visits = append(s.visits, v)
			s.mu.Unlock()
		}()
		handler(w, r)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.Start()
	t.Cleanup(s.Close)
	s.host = strings.TrimPrefix(s.URL, "http://")
	return s
}

func (s *server) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, v := range s.visits {
		list = append(list, v.path)
	}
	return list
}

// checkGaps fails if a request began sooner than gap after the end of the one before.
func (s *server) checkGaps(t *testing.T, gap time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(slices.Values(s.visits), func(a, b visitLog) int { return a.start.Compare(b.start) })
	for i := 1; i < len(list); i++ {
		if got := list[i].start.Sub(list[i-1].end); got < gap {
			t.Errorf("%s began %v after the end of %s, want at least %v", list[i].path, got, list[i-1].path, gap)
		}
	}
}

// page answers with a small HTML page.
func page(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, body)
}

// names resolves names that end in .test to this machine, and no others.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasSuffix(host, ".test") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// world is a job with everything that it needs.
type world struct {
	testing.TB
	*memory
	job *crawl.Job
}

func newWorld(t testing.TB) *world {
	t.Helper()
	gates, err := hostgate.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolver: names{}})
	t.Cleanup(func() {
		client.Close()
		if err := gates.Close(); err != nil {
			t.Error(err)
		}
	})
	data := newMemory()
	headers, err := headerrotation.Parse("User-Agent: test/1")
	if err != nil {
		t.Fatal(err)
	}
	cookie, err := cookies.ParseProperty("default=1")
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, memory: data, job: &crawl.Job{
		Data: data, Fetch: client, Gates: &recorder{Gates: gates}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Rotator: headerrotation.New(headerrotation.Options{}),
		Config: crawl.Config{
			Headers: headers, Cookie: cookie,
			RobotsAgent: "HCE-DC", MaxResourceSize: 1 << 20, MaxHosts: 8, MaxLinks: 1000,
			ChunkItems: 4, ChunkTime: 50 * time.Millisecond, RobotsTTL: time.Hour, Backoff: time.Millisecond,
		},
	}}
}

// addSite stores a site that accepts every link, without robots.txt. properties are pairs of name and
// value and override that.
func (w *world) addSite(id string, properties ...string) *wire.Site {
	s := &wire.Site{
		ID: id, State: wire.SiteActive, HTTPTimeout: 5000,
		Filters: []wire.SiteFilter{{Pattern: "(.*)", Stage: 5, Action: 1, Type: 1, State: 1}},
	}
	properties = append([]string{"ROBOTS_MODE", "0"}, properties...)
	for i := 0; i < len(properties); i += 2 {
		s.Properties = append(s.Properties, wire.SiteProperty{SiteID: id, Name: properties[i], Value: properties[i+1]})
	}
	w.sites[id] = s
	return s
}

// item adds a selected row to a site and returns its item.
func (w *world) item(site, target string, change ...func(*wire.URL)) wire.BatchItem {
	u := wire.NewURL(site, target)
	u.RequestDelay, u.HTTPTimeout, u.Status, u.BatchID, u.MaxURLsFromPage = 0, 60000, wire.StatusSelectedCrawling, batchID, 0
	for _, f := range change {
		f(&u)
	}
	w.rows[site+" "+u.URLMd5] = u
	return wire.BatchItem{SiteID: site, URLID: u.URLMd5, URL: u}
}

func (w *world) row(it wire.BatchItem) wire.URL { return w.rows[it.SiteID+" "+it.URLID] }

func (w *world) file(it wire.BatchItem, kind int) string {
	for _, f := range w.files[it.SiteID+" "+it.URLID] {
		if f.Type == kind {
			return string(f.Data)
		}
	}
	return ""
}

// links returns the links of an item's page, in order.
func (w *world) links(it wire.BatchItem) []string {
	var list []string
	for _, l := range w.last[it.SiteID+" "+it.URLID].Links {
		list = append(list, l.URL.URL)
	}
	return list
}

func batchOf(items ...wire.BatchItem) wire.Batch {
	return wire.Batch{ID: batchID, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1, Items: items}
}

// run crawls a batch that must not fail.
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

// left returns the URLs of the items of an answer.
func left(b wire.Batch) []string {
	var list []string
	for _, it := range b.Items {
		u, err := url.Parse(it.URL.URL)
		if err != nil {
			panic(err)
		}
		list = append(list, u.Path)
	}
	return list
}

func bitNames(m wire.ErrorMask) string { return strings.Join(m.Names(), " ") }

// recorder records the last delay of each host.
type recorder struct {
	crawl.Gates
	mu     sync.Mutex
	delays map[string]time.Duration
}

func (r *recorder) Acquire(ctx context.Context, host string, delay time.Duration, n int) (*hostgate.Pass, error) {
	pass, err := r.Gates.Acquire(ctx, host, delay, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.delays == nil {
		r.delays = map[string]time.Duration{}
	}
	r.delays[host] = delay
	return pass, err
}

func (w *world) lastDelay(host string) time.Duration {
	r := w.job.Gates.(*recorder)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delays[host]
}
