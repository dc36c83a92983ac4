package archivetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/testkit/testwait"
)

// Load is a test of many clients at once: they read, write and observe while domains are crawled.
type Load struct {
	Clients int
	Connect func() *client.Client
	Crawl   Crawler
	Store   archive.Store // that of the server
	// More reports whether a client does another round. The crawls end after the last one.
	More func(round int) bool
	// Each is the number of rounds, of all clients, between two crawls.
	Each int
	// Cut, if not nil, breaks all connections for a moment before each crawl. A call that is cut may
	// fail then; what is stored must be right all the same.
	Cut func()
}

// domains are crawled in turn.
var domains = []string{"a.example", "b.example", "c.example"}

// loadState is what the clients have found and done.
type loadState struct {
	Load
	mu      sync.Mutex
	written map[string]string // by url, commit tag and name: the text of the writer that won
	rounds  chan struct{}     // gets each round that has ended
	reads   atomic.Int64
	cuts    atomic.Int64 // calls that were cut
}

// isBroken reports whether an error is that of a connection which the test has broken.
func (s *loadState) isBroken(err error) bool {
	is := s.Cut != nil && err != nil && !protocol.Answered(err)
	if is {
		s.cuts.Add(1)
	}
	return is
}

// Run runs the test. It checks that each reader gets the version that it asked for, that one of the
// writers of a name wins and its file stays, and that each observer is told of each crawl once, in
// order.
func (l Load) Run(t *testing.T) {
	s := &loadState{Load: l, written: map[string]string{}, rounds: make(chan struct{}, 2*l.Clients)}
	var clients, observers sync.WaitGroup
	var tags []string
	seen := make([][]string, l.Clients)
	counts := make([]atomic.Int64, l.Clients)
	watching, unobserve := context.WithCancel(t.Context())
	defer unobserve()
	for _, domain := range domains {
		tags = append(tags, l.Crawl(t, domain, samplePages(domain, 0)).CommitTag)
	}
	for i := range l.Clients {
		c := l.Connect()
		observers.Go(func() {
			err := c.Observe(watching, 0, func(list []archive.Commit) error {
				for _, one := range list {
					seen[i] = append(seen[i], one.CommitTag)
				}
				counts[i].Add(int64(len(list)))
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("observer %d: %v", i, err)
			}
		})
		clients.Go(func() { s.runClient(t, i, c) })
	}
	go func() { clients.Wait(); close(s.rounds) }()
	for n := 1; ; n++ {
		if _, more := <-s.rounds; !more {
			break
		}
		if n%l.Each != 0 {
			continue
		}
		if l.Cut != nil {
			l.Cut()
		}
		domain := domains[n/l.Each%len(domains)]
		tags = append(tags, l.Crawl(t, domain, samplePages(domain, n)).CommitTag)
	}
	for i := range l.Clients {
		testwait.Until(t, fmt.Sprintf("observer %d is told of all crawls", i), func() bool { return counts[i].Load() >= int64(len(tags)) })
	}
	unobserve()
	observers.Wait()
	for i := range l.Clients {
		if !slices.Equal(seen[i], tags) {
			t.Errorf("observer %d was told of %d crawls, want %d in their order", i, len(seen[i]), len(tags))
		}
	}
	s.checkWritten(t)
	t.Logf("%d clients, %d crawls, %d files written, %d read, %d calls cut", l.Clients, len(tags), len(s.written), s.reads.Load(), s.cuts.Load())
}

func samplePages(domain string, n int) map[string]string {
	return map[string]string{"/index.html": fmt.Sprintf("<p>%s index %d", domain, n), "/sub/a.html": fmt.Sprintf("<p>%s sub %d", domain, n)}
}

// runClient is one client.
func (s *loadState) runClient(t *testing.T, number int, c *client.Client) {
	for round := 0; s.More(round); round++ {
		s.runRound(t, number, round, c)
		s.rounds <- struct{}{}
	}
}

func (s *loadState) runRound(t *testing.T, number, round int, c *client.Client) {
	domain := domains[(number+round)%len(domains)]
	list, err := c.Query(t.Context(), archive.Query{Where: "domain = '" + domain + "'", OrderBy: "commitTime DESC, url", Limit: 4})
	if s.isBroken(err) {
		return
	}
	if err != nil || len(list) < 2 {
		t.Errorf("client %d: %d versions, %v", number, len(list), err)
		return
	}
	for _, m := range list {
		s.readFile(t, c, m)
	}
	m := list[round%2]
	text := fmt.Sprintf("client %d round %d", number, round)
	s.writeFile(t, c, m, "shared.txt", text)
	s.writeFile(t, c, m, fmt.Sprintf("own/%d-%d.txt", number, round), text)
}

func (s *loadState) readFile(t *testing.T, c *client.Client, m archive.Meta) {
	r, err := c.Open(t.Context(), m, "data.html")
	if s.isBroken(err) {
		return
	}
	if err != nil {
		t.Errorf("open %s: %v", m.CommitTag, err)
		return
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if s.isBroken(err) {
		return
	}
	if err != nil || !strings.HasPrefix(string(text), "<p>"+m.Domain) {
		t.Errorf("%s of %s: %q, %v", m.CommitTag, m.URL, text, err)
	}
	s.reads.Add(1)
}

// writeFile adds a file. Another client may have been first, and a crawl may have been faster.
func (s *loadState) writeFile(t *testing.T, c *client.Client, m archive.Meta, name, text string) {
	err := Write(t, c, m, name, text)
	if errors.Is(err, archive.ErrExists) || errors.Is(err, archive.ErrOutdated) || s.isBroken(err) {
		return
	}
	if err != nil {
		t.Errorf("write %s of %s: %v", name, m.URL, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := m.URL + " " + m.CommitTag + " " + name
	if first, found := s.written[key]; found {
		t.Errorf("%s was written by %q and %q", key, first, text)
	}
	s.written[key] = text
}

// checkWritten reads what was written.
func (s *loadState) checkWritten(t *testing.T) {
	for key, want := range s.written {
		part := strings.SplitN(key, " ", 3)
		if got := Read(t, s.Store, archive.Meta{URL: part[0], CommitTag: part[1]}, part[2]); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if len(s.written) == 0 || s.reads.Load() == 0 {
		t.Error("nothing was written or read")
	}
}
