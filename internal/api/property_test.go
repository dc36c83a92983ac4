package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire/urlkey"
)

var (
	seed  = flag.Uint64("seed", 0, "of TestRandomRequests; 0: another one in each run")
	count = flag.Int64("requests", 4000, "number of requests of TestRandomRequests")
)

// Bounds of an answer.
const (
	largestAnswer = 8 << 20
	slowestAnswer = 30 * time.Second
)

// exploration sends requests that the document describes, and others, to an API.
type exploration struct {
	*served
	contract contract
	faults   atomic.Int32
	codes    sync.Map // operation and status to *atomic.Int64
}

// Random requests of each operation of the document, valid ones and ones that are wrong in one place, have the answers of the document:
// no fault of the service, no fault without a problem, no goroutine that stays.
func TestRandomRequests(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d: repeat with -run TestRandomRequests -seed %d", *seed, *seed)
	before := runtime.NumGoroutine()
	t.Run("requests", explore)
	http.DefaultClient.CloseIdleConnections()
	testwait.Until(t, fmt.Sprintf("the goroutines of the API have ended: there were %d", before), func() bool { return runtime.NumGoroutine() <= before })
}

func explore(t *testing.T) {
	x := exploration{served: start(t, func(c *Config) { c.Rate = 1e6 })}
	t.Setenv("DC_Application_data_dir", x.Dir())
	ini, err := filepath.Abs("../../ini/crawler-task.ini")
	if err != nil {
		t.Fatal(err)
	}
	x.server.cfg.Explain = actions.Command{Program: os.Args[0], Args: []string{"-c", ini}}
	web := website(t)
	g := requests{pages: []string{web + "/", web + "/tides.html", web + "/picture.png", web + "/absent.html", web + "/secret.html"}, sites: []string{"coast", "coast", "coast", "none", "0"}, contract: &x.contract}
	for _, id := range []string{"coast", "s1", "s2", "s3"} {
		x.expect("POST", "/v1/sites", `{"id":"`+id+`","roots":["`+root+`"]}`, 201, "")
		x.AddPages(id, root, 20)
		x.AddFailed(id, root+"gone", 404, 2)
		g.sites = append(g.sites, id)
	}
	for n := range 20 {
		g.keys = append(g.keys, urlkey.Of(fmt.Sprint(root, n)))
	}
	x.AddVersion("coast", root+"1", "<title>Other</title>")
	if err := json.Unmarshal([]byte(x.expect("GET", "/v1/openapi.json", "", 200, "")), &x.contract); err != nil {
		t.Fatal(err)
	}
	var left atomic.Int64
	left.Store(*count)
	var clients sync.WaitGroup
	for n := range uint64(8) {
		own := g
		own.Rand = rand.New(rand.NewPCG(*seed, n))
		clients.Go(func() {
			for left.Add(-1) >= 0 && x.faults.Load() < 20 {
				x.sendRandom(&own)
			}
		})
	}
	clients.Wait()
	x.server.awaitRequests()
	for line := range strings.Lines(x.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "broke off") {
			t.Errorf("the log has a fault: %s", line)
		}
	}
	x.reportCodes()
}

// rareOperations start a process for each request.
var rareOperations = map[string]int{"explain": 30}

// sendRandom sends a random request and checks the answer.
func (x *exploration) sendRandom(g *requests) {
	path := slices.Sorted(maps.Keys(x.contract.Paths))[g.IntN(len(x.contract.Paths))]
	methods := x.contract.Paths[path]
	method := slices.Sorted(maps.Keys(methods))[g.IntN(len(methods))]
	o := methods[method]
	if rare := rareOperations[o.OperationID]; rare > 0 && g.IntN(rare) > 0 {
		return
	}
	if o.OperationID == "deleteSite" && g.IntN(10) > 0 {
		return
	}
	r := g.newRequest(method, path, o)
	if path == "/v1/events" {
		r.header.Set("Accept", "application/json") // a stream has no end
	}
	if err := x.checkAnswer(r); err != nil {
		x.faults.Add(1)
		x.Errorf("%v\n%v", r, err)
	}
}

// checkAnswer sends a request and says what is wrong with the answer.
func (x *exploration) checkAnswer(r *randomRequest) error {
	sent, err := http.NewRequestWithContext(x.Context(), r.method, x.url+r.target(), strings.NewReader(r.content()))
	if err != nil {
		return nil // no client can send it
	}
	sent.Header = r.header
	began := time.Now()
	answer, err := http.DefaultClient.Do(sent)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer+1))
	if err != nil {
		return err
	}
	seen, _ := x.codes.LoadOrStore(fmt.Sprint(r.operation.OperationID, " ", answer.StatusCode), new(atomic.Int64))
	seen.(*atomic.Int64).Add(1)
	if took := time.Since(began); took > slowestAnswer || len(body) > largestAnswer {
		return fmt.Errorf("%d bytes after %v", len(body), took)
	}
	if err := x.checkBody(r, answer, body); err != nil {
		return fmt.Errorf("%d %.500s: %w", answer.StatusCode, body, err)
	}
	return nil
}

// checkBody says what is wrong with the body of an answer.
func (x *exploration) checkBody(r *randomRequest, answer *http.Response, body []byte) error {
	kind := answer.Header.Get("Content-Type")
	switch {
	case answer.StatusCode >= 400:
		var p Problem
		if err := x.contract.checkText(&schema{Ref: "#/components/schemas/Problem"}, body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &p); err != nil || kind != "application/problem+json" || p.Status != answer.StatusCode || p.Title == "" || p.Trace == "" {
			return fmt.Errorf("%s is no whole problem: %v", kind, err)
		}
		if p.Status == 500 {
			return fmt.Errorf("the service has a fault: %s", x.faultOf(p.Trace))
		}
	case r.change == "head":
		return nil // it may be another operation
	case answer.StatusCode == http.StatusNoContent || answer.StatusCode == http.StatusNotModified:
		if len(body) > 0 {
			return fmt.Errorf("it has a body")
		}
	}
	documented, known := r.operation.Responses[fmt.Sprint(answer.StatusCode)]
	if !known && slices.Contains(slices.Collect(maps.Values(r.values)), "") {
		known = answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed // it is the path of no operation
	}
	if !known && r.change != "head" {
		return fmt.Errorf("the document has no such answer")
	}
	if c, is := documented.Content["application/json"]; is && answer.StatusCode < 300 {
		if kind != "application/json" {
			return fmt.Errorf("Content-Type %s", kind)
		}
		return x.contract.checkText(c.Schema, bytes.TrimSpace(body))
	}
	return nil
}

// faultOf returns the line of the log about a request.
func (x *exploration) faultOf(trace string) string {
	for line := range strings.Lines(x.log.String()) {
		if strings.Contains(line, trace) {
			return line
		}
	}
	return "nothing in the log"
}

// reportCodes writes how often each operation had each status.
func (x *exploration) reportCodes() {
	var list []string
	x.codes.Range(func(name, n any) bool {
		list = append(list, fmt.Sprintf("%v: %d", name, n.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(list)
	x.Logf("%s", strings.Join(list, "\n"))
}
