//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

const (
	requestClients = 200
	requestPages   = 300 // of the site in the requests
	answerLimit    = 2 * time.Minute
)

// 200 clients with a socket each send requests during the crawl of another site: every
// request gets exactly one, matching answer. The times are logged but not judged, because
// machines differ. REQUESTS_TIME (such as 60s) sets the length of the test. REQUESTS_PACE
// (such as 1s) is the time between two requests of a client; by default each client sends
// the next request at once, which saturates the daemon.
func TestRequestsDuringACrawl(t *testing.T) {
	limit, pace := setting(t, "REQUESTS_TIME", 5*time.Second), setting(t, "REQUESTS_PACE", 0)
	mariadbtest.Start(t).Usual(t)
	onBothDatabases(t, func(t *testing.T, env []string) {
		known := newWitness(t, tree(requestPages))
		r := start(t, t.TempDir(), env...)
		id := newSite(t, r, rig.Site{Root: known.URL + "/"})
		finish(t, r, id)
		target := &requestTarget{id: id, root: known.URL + "/", pace: pace}
		for _, row := range rows(t, r, id) {
			target.rows = append(target.rows, row)
		}
		slices.SortFunc(target.rows, func(a, b wire.URL) int { return strings.Compare(a.URLMd5, b.URLMd5) })

		moving := newWitness(t, tree(50000)) // more than the daemon crawls during the test
		newSite(t, r, rig.Site{Root: moving.URL + "/"})
		moving.awaitRequests(t, 50)
		moving.requests() // count only those during the test

		b, err := bus.New()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		took := make([]map[string][]time.Duration, requestClients)
		var joined sync.WaitGroup
		began := time.Now()
		for n := range requestClients {
			joined.Go(func() {
				var err error
				if took[n], err = target.client(ctx, b, clientPort(t, r), n); err != nil {
					t.Errorf("client %d: %v", n, err)
				}
			})
		}
		joined.Wait()
		elapsed, pages := time.Since(began), len(moving.requests())
		if err := b.Term(answerLimit); err != nil {
			t.Error(err)
		}
		all, total := map[string][]time.Duration{}, 0
		for _, one := range took {
			for op, list := range one {
				all[op] = append(all[op], list...)
				total += len(list)
			}
		}
		if pages == 0 {
			t.Error("no page was crawled meanwhile")
		}
		if len(all) != len(requestMix) {
			t.Errorf("only %d operations were requested", len(all))
		}
		t.Logf("%d requests of %d clients in %v, %.0f/s, while a crawl fetched %d pages", total, requestClients,
			elapsed.Round(time.Millisecond), float64(total)/elapsed.Seconds(), pages)
		for _, op := range requestMix {
			list := all[op]
			slices.Sort(list)
			if len(list) > 0 {
				t.Logf("%-12s %6d   p50 %8v   p99 %8v", op, len(list), list[len(list)/2].Round(time.Millisecond), list[len(list)*99/100].Round(time.Millisecond))
			}
		}
	})
}

func setting(t *testing.T, name string, def time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clientPort is the port of the daemon for requests.
func clientPort(t *testing.T, r *rig.Rig) int {
	for _, pair := range slices.Backward(r.Env()) {
		if text, ok := strings.CutPrefix(pair, "DC_dcc_clientPort="); ok {
			if port, err := strconv.Atoi(text); err == nil {
				return port
			}
		}
	}
	t.Error("the rig has no client port")
	return 0
}

var requestMix = []string{"SITE_STATUS", "URL_STATUS", "URL_CONTENT", "SITE_FIND", "URL_NEW"}

// requestTarget is the site in the requests. Only URL_NEW of the clients changes it.
type requestTarget struct {
	id, root string
	rows     []wire.URL
	pace     time.Duration // between two requests of a client
}

// client sends requests one after the other until ctx is done. It returns the time of
// each, by operation, after the answer to the last one.
func (s *requestTarget) client(ctx context.Context, b *bus.Bus, port, n int) (map[string][]time.Duration, error) {
	socket, err := b.Connect(bus.TCP("127.0.0.1", port), bus.Options{Linger: -1})
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	poll := bus.NewPoller(socket)
	random := rand.New(rand.NewPCG(1, uint64(n)))
	took := map[string][]time.Duration{}
	// With a pace, the first requests are spread.
	next := time.Now().Add(s.pace * time.Duration(n) / requestClients)
	for turn := n; sleep(ctx, time.Until(next)); turn++ {
		next = next.Add(s.pace)
		name := requestMix[turn%len(requestMix)]
		op, _ := wire.ParseOp(name)
		row := s.rows[random.IntN(len(s.rows))]
		e := wire.Event{Class: wire.ClassClient, UID: bus.NewUID(), Type: int(op), Object: json.RawMessage(s.request(name, row, fmt.Sprintf("%d-%d", n, turn)))}
		began := time.Now()
		if _, err := socket.Send(nil, e); err != nil {
			return took, err
		}
		answer, err := receive(socket, poll)
		if err != nil {
			return took, fmt.Errorf("%s: %w", name, err)
		}
		took[name] = append(took[name], time.Since(began))
		if answer.UID != e.UID || answer.Type != e.Type+wire.ResponseOffset {
			return took, fmt.Errorf("%s: answer of type %d to %s, sent %s", name, answer.Type, answer.UID, e.UID)
		}
		if err := s.judge(name, row, answer.Object); err != nil {
			return took, fmt.Errorf("%s: %w: %.600s", name, err, answer.Object)
		}
	}
	// No request is answered twice.
	if _, err := socket.Recv(); !errors.Is(err, bus.ErrNone) {
		return took, fmt.Errorf("unexpected answer: %v", err)
	}
	return took, nil
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return ctx.Err() == nil
	}
}

// receive waits for the next answer.
func receive(socket *bus.Socket, poll *bus.Poller) (wire.Event, error) {
	for end := time.Now().Add(answerLimit); time.Now().Before(end); {
		m, err := socket.Recv()
		if !errors.Is(err, bus.ErrNone) {
			return m.Event, err
		}
		if _, err := poll.Wait(time.Second); err != nil {
			return wire.Event{}, err
		}
	}
	return wire.Event{}, fmt.Errorf("no answer within %v", answerLimit)
}

func (s *requestTarget) request(op string, row wire.URL, unique string) string {
	switch op {
	case "SITE_STATUS":
		return fmt.Sprintf(`{"id":%q,"deleteTaskId":null,"excludeList":["urls","filters","properties"]}`, s.id)
	case "URL_STATUS":
		return fmt.Sprintf(`[{"siteId":%q,"url":%q,"urlType":1}]`, s.id, row.URLMd5)
	case "URL_CONTENT":
		return fmt.Sprintf(`[{"siteId":%q,"url":%q,"urlMd5":%q,"contentTypeMask":1,"dbFieldsList":["Status"]}]`, s.id, row.URL, row.URLMd5)
	case "SITE_FIND":
		return fmt.Sprintf(`{"url":%q,"criterions":{"LIMIT":"5"},"excludeList":["urls","properties","filters"]}`, strings.TrimSuffix(s.root, "/"))
	}
	return fmt.Sprintf(`[{"siteId":%q,"url":"%snew/%s.html","siteSelect":0,"type":0,"state":1,"status":1}]`, s.id, s.root, unique)
}

// judge checks that an answer belongs to the request.
func (s *requestTarget) judge(op string, row wire.URL, object json.RawMessage) error {
	var response wire.ClientResponse
	if err := json.Unmarshal(object, &response); err != nil {
		return err
	}
	if response.ErrorCode != 0 || len(response.ItemsList) != 1 || fmt.Sprint(response.ItemsList[0].ErrorCode) != "0" {
		return errors.New("not the answer of one node")
	}
	item := response.ItemsList[0].ItemObject
	switch op {
	case "SITE_STATUS":
		var site struct {
			ID       string `json:"id"`
			Contents int    `json:"contents"`
		}
		if err := json.Unmarshal(item, &site); err != nil || site.ID != s.id || site.Contents == 0 {
			return fmt.Errorf("not the site: %v", err)
		}
	case "URL_STATUS":
		var list []struct {
			MD5  string `json:"urlMd5"`
			Site string `json:"siteId"`
		}
		if err := json.Unmarshal(item, &list); err != nil || len(list) != 1 || list[0].MD5 != row.URLMd5 || list[0].Site != s.id {
			return fmt.Errorf("not the URL %s: %v", row.URLMd5, err)
		}
	case "URL_CONTENT":
		var list []struct {
			MD5       string            `json:"urlMd5"`
			Site      string            `json:"siteId"`
			Processed []json.RawMessage `json:"processedContents"`
		}
		if err := json.Unmarshal(item, &list); err != nil || len(list) != 1 || list[0].MD5 != row.URLMd5 || list[0].Site != s.id || len(list[0].Processed) == 0 {
			return fmt.Errorf("not the content of %s: %v", row.URLMd5, err)
		}
	case "SITE_FIND":
		var list []struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(item, &list); err != nil || !slices.ContainsFunc(list, func(f struct {
			ID string `json:"id"`
		}) bool {
			return f.ID == s.id
		}) {
			return fmt.Errorf("the site is not found: %v", err)
		}
	default:
		var g struct {
			ErrorCode int   `json:"errorCode"`
			Statuses  []int `json:"statuses"`
		}
		if err := json.Unmarshal(item, &g); err != nil || g.ErrorCode != 0 || len(g.Statuses) != 1 || g.Statuses[0] != 0 {
			return fmt.Errorf("not stored: %v", err)
		}
	}
	return nil
}
