package crawl_test

import (
	"context"
	"encoding/json"
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

	"hce/dc/hostgate"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/storage/storagetest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// batchID is the batch of all tests.
const batchID = 7

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
		s.mu.Lock()
		s.now++
		s.most = max(s.most, s.now)
		n := len(s.visits) // a client may have its answer before the handler ends
		s.visits = append(s.visits, visitLog{path: r.URL.Path, start: time.Now()})
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.now--
			s.visits[n].end = time.Now()
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

// names resolves names that end in .test to this machine, and no others. It fails for servfail.invalid.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasSuffix(host, ".test") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if host == "servfail.invalid" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// world is a job with everything that it needs.
type world struct {
	testing.TB
	*storagetest.Repository
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
	data := storagetest.New()
	headers, err := headerrotation.Parse("User-Agent: test/1")
	if err != nil {
		t.Fatal(err)
	}
	cookie, err := cookies.ParseProperty("default=1")
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, Repository: data, job: &crawl.Job{
		Data: data, Fetch: client, Gates: &recorder{Gates: gates}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Rotator: headerrotation.New(headerrotation.Options{}),
		Config: crawl.Config{
			Headers: headers, Cookie: cookie,
			RobotsAgent: "HCE-DC", MaxResourceSize: 1 << 20, MaxHosts: 8, MaxLinks: 1000,
			ChunkItems: 4, ChunkTime: 50 * time.Millisecond, RobotsTTL: time.Hour, Backoff: time.Millisecond, AddressNames: 4,
		},
	}}
}

// addSite stores a site that accepts every link, without robots.txt and /sitemap.xml. properties are pairs of name and
// value and override that.
func (w *world) addSite(id string, properties ...string) *wire.Site {
	s := &wire.Site{
		ID: id, State: wire.SiteActive, HTTPTimeout: 5000,
		Filters: []wire.SiteFilter{{Pattern: "(.*)", Stage: 5, Action: 1, Type: 1, State: 1}},
	}
	properties = append([]string{"ROBOTS_MODE", "0", "SITEMAP_DEFAULT", "0"}, properties...)
	for i := 0; i < len(properties); i += 2 {
		s.Properties = append(s.Properties, wire.SiteProperty{SiteID: id, Name: properties[i], Value: properties[i+1]})
	}
	w.Sites[id] = s
	return s
}

// item adds a selected row to a site and returns its item.
func (w *world) item(site, target string, change ...func(*wire.URL)) wire.BatchItem {
	u := wire.NewURL(site, target)
	u.RequestDelay, u.HTTPTimeout, u.Status, u.BatchID, u.MaxURLsFromPage = 0, 60000, wire.StatusSelectedCrawling, batchID, 0
	for _, f := range change {
		f(&u)
	}
	w.URLs[site+" "+u.URLMd5] = u
	return wire.BatchItem{SiteID: site, URLID: u.URLMd5, URL: u}
}

func (w *world) row(it wire.BatchItem) wire.URL { return w.URLs[it.SiteID+" "+it.URLID] }

func (w *world) file(it wire.BatchItem, kind int) string {
	for _, f := range w.Files[it.SiteID+" "+it.URLID] {
		if f.Type == kind {
			return string(f.Data)
		}
	}
	return ""
}

// links returns the links of an item's page, in order.
func (w *world) links(it wire.BatchItem) []string {
	var list []string
	for _, l := range w.Results[it.SiteID+" "+it.URLID].Links {
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
	return w.runRaw(ctx, raw)
}

func (w *world) runRaw(ctx context.Context, raw json.RawMessage) (wire.Batch, error) {
	w.Helper()
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

func bitNames(m errormask.Mask) string { return strings.Join(m.Names(), " ") }

// recorder records the last delay of each host.
type recorder struct {
	visit.Gates
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
