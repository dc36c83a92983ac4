package sites

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
)

// hosts is a cluster of three data nodes that each store the URLs of their own hosts, and one
// machine with the data of all.
type hosts struct {
	t       *testing.T
	nodes   []storage.Job
	machine storage.Job
	silent  int // a node that does not answer; -1: none
	tasks   []executor.Task
}

func newHosts(t *testing.T) *hosts {
	return &hosts{t: t, nodes: []storage.Job{newNode(t), newNode(t), newNode(t)}, machine: newNode(t), silent: -1}
}

// owner is the node of a URL.
func (h *hosts) owner(text string) int {
	u, err := url.Parse(text)
	if err != nil {
		h.t.Fatal(err)
	}
	sum := fnv.New32a()
	sum.Write([]byte(u.Host))
	return int(sum.Sum32() % uint32(len(h.nodes)))
}

// run is an executor of db-task on all nodes.
func (h *hosts) run(ctx context.Context, task executor.Task) ([]executor.Result, error) {
	h.tasks = append(h.tasks, task)
	var list []executor.Result
	for i := range h.nodes {
		name := fmt.Sprint("n", i)
		if i == h.silent {
			lost := managertest.Finished(name, "")
			lost.State = executor.Lost
			list = append(list, lost)
			continue
		}
		list = append(list, managertest.Finished(name, h.on(ctx, i, task.Stdin)))
	}
	return list, nil
}

// on runs a request on a node, which drops rows that it does not own and answers success for
// them.
func (h *hosts) on(ctx context.Context, node int, stdin []byte) string {
	var c wire.Call
	if err := json.Unmarshal(stdin, &c); err != nil {
		h.t.Fatal(err)
	}
	if c.Op != wire.URLNew {
		answer := h.db(ctx, h.nodes[node], stdin)
		switch c.Op {
		case wire.SiteNew:
			h.dropRoots(ctx, node, c.Object)
		case wire.SiteCleanup:
			h.dropRoots(ctx, node, []byte(`{"id":"`+siteB+`","urls":["http://h3.example.test/"]}`))
		}
		return answer
	}
	var all []json.RawMessage
	var mine []json.RawMessage
	var own []bool
	if err := json.Unmarshal(c.Object, &all); err != nil {
		h.t.Fatal(err)
	}
	for _, element := range all {
		var u struct{ URL string }
		if err := json.Unmarshal(element, &u); err != nil {
			h.t.Fatal(err)
		}
		own = append(own, h.owner(u.URL) == node)
		if own[len(own)-1] {
			mine = append(mine, element)
		}
	}
	g := wire.GeneralResponse{}
	if len(mine) > 0 {
		raw, _ := json.Marshal([]any{int(wire.URLNew), mine})
		var pair []json.RawMessage
		if err := json.Unmarshal([]byte(h.db(ctx, h.nodes[node], raw)), &pair); err != nil || json.Unmarshal(pair[1], &g) != nil {
			h.t.Fatal(err)
		}
	}
	for i, is := range own {
		if !is {
			g.Statuses = slices.Insert(g.Statuses, i, any(0))
		}
	}
	answer, _ := json.Marshal([]any{int(wire.URLNew) + wire.ResponseOffset, g})
	return string(answer)
}

// dropRoots deletes the rows of a new site's root URLs that the node does not own.
func (h *hosts) dropRoots(ctx context.Context, node int, object json.RawMessage) {
	var site struct {
		ID   string
		URLs []string
	}
	if err := json.Unmarshal(object, &site); err != nil {
		h.t.Fatal(err)
	}
	for _, root := range site.URLs {
		if h.owner(root) != node {
			h.db(ctx, h.nodes[node], fmt.Appendf(nil, `["URL_DELETE",[{"siteId":%q,"url":%q}]]`, site.ID, root))
		}
	}
}

func (h *hosts) db(ctx context.Context, job storage.Job, stdin []byte) string {
	answer, err := job.Run(ctx, stdin)
	if err != nil {
		h.t.Fatalf("%s: %v", stdin, err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(raw)
}

// cluster asks the cluster, alone the machine.
func (h *hosts) cluster(op wire.Op, request string) wire.ClientResponse {
	r := runner{executor: managertest.Executor{RunFunc: h.run}, program: executor.Stage{Program: "db-task"}, limit: time.Minute, journal: true}
	return r.runMerged(h.t.Context(), wire.Call{Op: op, Object: json.RawMessage(request)})
}

func (h *hosts) alone(op wire.Op, request string) wire.ClientResponse {
	r := runner{limit: time.Minute, executor: managertest.Executor{RunFunc: func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		return []executor.Result{managertest.Finished("local", h.db(ctx, h.machine, task.Stdin))}, nil
	}}}
	return r.runCall(h.t.Context(), wire.Call{Op: op, Object: json.RawMessage(request)})
}

// same asks both and compares.
func (h *hosts) same(op wire.Op, request string) {
	h.t.Helper()
	got, want := shownResponse(h.cluster(op, request)), shownResponse(h.alone(op, request))
	if got != want {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		from := max(0, at-60)
		h.t.Errorf("%s %s\ncluster %.300s\nmachine %.300s", op, request, got[from:], want[from:])
	}
}

var (
	dates = regexp.MustCompile(`"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?"|\\"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\\"`)
	ids   = regexp.MustCompile(`"id":\d+,`) // of proxies
)

// shownResponse formats a response without dates, names of nodes and times.
func shownResponse(r wire.ClientResponse) string {
	text := fmt.Sprint(r.ErrorCode, r.ErrorMessage)
	for _, i := range r.ItemsList {
		var object any
		_ = json.Unmarshal(i.ItemObject, &object)
		raw, _ := json.Marshal(object) // keys in one order
		text += fmt.Sprintf("\n%v %s %s", i.ErrorCode, i.ErrorMessage, ids.ReplaceAll(dates.ReplaceAll(raw, []byte(`"D"`)), nil))
	}
	return text
}

const (
	siteA = "caf03214581cc0e03763977516e379b7"
	siteB = "caf03214581cc0e03763977516e379b8"
)

// page is the URL of the nth page, on one of ten hosts.
func page(n int) string { return fmt.Sprintf("http://h%d.example.test/%d", n%10, n) }

// filled returns a cluster with two sites of 40 pages.
func filled(t *testing.T) *hosts {
	h := newHosts(t)
	h.same(wire.SiteNew, `{"id":"`+siteA+`","urls":["http://h1.example.test/","http://h2.example.test/"],"maxURLs":501,"maxErrors":7,"priority":9}`)
	h.same(wire.SiteNew, `{"id":"`+siteB+`","urls":["http://h3.example.test/"],"priority":5}`)
	var list []string
	for n := range 80 {
		list = append(list, fmt.Sprintf(`{"siteId":%q,"url":%q,"size":%d,"depth":%d,"CDate":"2026-01-%02d 10:00:00","attributes":[{"kind":"v%d"}]}`,
			[]string{siteA, siteB}[n%2], page(n), n*37%50, n%4, 1+n*7%27, n%3))
	}
	h.same(wire.URLNew, "["+strings.Join(list, ",")+"]")
	// Each machine stored the root pages at its own second. One date makes an order by CDate the same on all.
	for _, site := range []string{siteA, siteB} {
		h.same(wire.URLUpdate, fmt.Sprintf(`[{"siteId":%q,"url":null,"CDate":"2026-02-01 10:00:00","criterions":{"WHERE":"CDate>'2026-02-01'","LIMIT":null}}]`, site))
	}
	return h
}

// A cluster answers each operation as one machine with the same data does.
func TestHostsAnswerLikeOneMachine(t *testing.T) {
	h := filled(t)
	key := func(n int) string { return wire.Md5(page(n)) }
	put := base64.StdEncoding.EncodeToString([]byte("<html>x</html>"))
	for _, one := range []struct {
		op      wire.Op
		request string
	}{
		{wire.URLNew, fmt.Sprintf(`[{"siteId":%q,"url":%q},{"siteId":%q,"url":"http://new.example.test/"}]`, siteA, page(0), siteA)},
		{wire.URLNew, `[{"siteId":"nosuch","url":"http://h1.example.test/z"}]`},
		{wire.SiteStatus, `{"id":"` + siteA + `"}`},
		{wire.SiteStatus, `{"id":"caf03214581cc0e03763977516e379b0"}`},
		{wire.SiteStatus, `{"id":"../x"}`},
		{wire.SiteFind, `{"url":null,"criterions":{"WHERE":"1","ORDER BY":"Priority DESC","LIMIT":1}}`},
		{wire.SiteFind, `{"url":"http://h3.example.test/"}`},
		{wire.SiteUpdate, `{"id":"` + siteA + `","maxURLs":400,"properties":{"X":"1"}}`},
		{wire.SiteUpdate, `{"id":"caf03214581cc0e03763977516e379b0","maxURLs":400}`},
		{wire.SiteStatus, `{"id":"` + siteA + `"}`},
		{wire.URLStatus, fmt.Sprintf(`[{"siteId":%q,"url":%q},{"siteId":%q,"url":"http://no.example.test/"},{"siteId":%q,"url":%q},{"siteId":%q,"url":%q,"urlType":1}]`, siteA, page(8), siteA, siteB, page(3), siteA, key(2))},
		{wire.URLUpdate, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q,"size":77},{"siteId":"nosuch","urlMd5":%q,"size":1}]`, siteA, key(4), key(4))},
		{wire.URLUpdate, fmt.Sprintf(`[{"siteId":%q,"url":null,"size":78,"criterions":{"WHERE":"Depth=0","ORDER BY":"URL DESC","LIMIT":5}}]`, siteA)},
		{wire.URLUpdate, fmt.Sprintf(`[{"siteId":%q,"url":null,"priority":3,"criterions":{"WHERE":"Depth=2","LIMIT":null}}]`, siteA)},
		{wire.URLUpdate, fmt.Sprintf(`[{"siteId":%q,"url":null,"priority":3,"criterions":{"WHERE":"Depth=2 ;"}}]`, siteA)},
		{wire.URLPut, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q,"contentType":0,"putDict":{"data":%q}},{"siteId":%q,"urlMd5":%q,"contentType":3,"putDict":{}}]`, siteA, key(6), put, siteA, key(6))},
		{wire.URLContent, fmt.Sprintf(`[{"siteId":%q,"url":%q},{"siteId":%q,"url":"http://no.example.test/"},null]`, siteA, page(6), siteA)},
		{wire.URLContent, fmt.Sprintf(`[{"siteId":%q,"dbFieldsList":["URL","Size"],"contentTypeMask":33288,"urlFetch":{"sitesList":[%q],"urlsCriterions":{"WHERE":"Depth<3","ORDER BY":"Size DESC, URL ASC","LIMIT":[3,9]}}}]`, siteA, siteA)},
		{wire.AttributeFetch, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q},{"siteId":%q,"urlMd5":%q,"name":"kind"}]`, siteA, key(8), siteB, key(9))},
		{wire.AttributeSet, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q,"name":"a","value":"1"},{"siteId":"nosuch","urlMd5":%q,"name":"a","value":"1"}]`, siteA, key(8), key(8))},
		{wire.AttributeFetch, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q,"name":"a"}]`, siteA, key(8))},
		{wire.AttributeDelete, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q,"name":"a"}]`, siteA, key(8))},
		{wire.ProxyNew, fmt.Sprintf(`[{"siteId":%q,"host":"p:1"},{"siteId":%q,"host":"p:2"}]`, siteA, siteA)},
		{wire.ProxyNew, fmt.Sprintf(`[{"siteId":%q,"host":"p:1"}]`, siteA)},
		{wire.ProxyStatus, fmt.Sprintf(`[{"siteId":%q,"host":"p:2"}]`, siteA)},
		{wire.ProxyFind, fmt.Sprintf(`[{"siteId":%q,"criterions":{"WHERE":"1"}}]`, siteA)},
		{wire.URLVerify, fmt.Sprintf(`[{"siteId":%q,"url":%q,"dbName":"dc_urls","criterions":{"WHERE":"1"}},null]`, siteA, page(8))},
		{wire.URLHistory, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q}]`, siteA, key(8))},
		{wire.URLStats, fmt.Sprintf(`[{"siteId":%q,"urlMd5":%q}]`, siteA, key(8))},
		{wire.FieldRecalc, fmt.Sprintf(`[{"siteId":%q}]`, siteA)},
		{wire.URLDelete, fmt.Sprintf(`[{"siteId":%q,"url":%q},{"siteId":%q,"url":null,"criterions":{"WHERE":"Depth=1","ORDER BY":"URL ASC","LIMIT":4}}]`, siteA, page(10), siteB)},
		{wire.URLCleanup, fmt.Sprintf(`[{"siteId":%q,"url":%q,"urlType":1}]`, siteA, key(12))},
		{wire.URLDelete, fmt.Sprintf(`[{"siteId":%q,"url":null,"delayedType":1,"criterions":{"WHERE":"Depth=3"}}]`, siteB)},
		{wire.URLPurge, fmt.Sprintf(`[{"siteId":%q,"criterions":{"WHERE":"1"}}]`, siteB)},
		{wire.URLFetch, fmt.Sprintf(`[{"sitesList":[%q,%q],"maxURLs":0,"urlsCriterions":{"WHERE":"1","ORDER BY":"URL ASC","LIMIT":null}}]`, siteB, siteA)},
		{wire.SiteCleanup, `{"id":"` + siteB + `"}`},
		{wire.SiteStatus, `{"id":"` + siteB + `"}`},
		{wire.SiteDelete, `[{"id":"` + siteA + `"},{"id":"caf03214581cc0e03763977516e379b0"}]`},
		{wire.SiteFind, `{"url":null,"criterions":{"WHERE":"1","ORDER BY":"Id"}}`},
	} {
		h.same(one.op, one.request)
	}
}

// Lists with an order, a limit, an offset and marks are those of one machine.
func TestHostsFetchLikeOneMachine(t *testing.T) {
	h := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 60 {
		element := fmt.Sprintf(`{"sitesList":%s,"maxURLs":%s,"algorithm":%s,"urlsCriterions":{"WHERE":%q,"ORDER BY":%q,"LIMIT":%s}`,
			pick(`["`+siteA+`"]`, `["`+siteB+`","`+siteA+`"]`, `[]`), pick("0", "5", "20", "33"), pick("0", "1"),
			pick("1", "Depth>1", "Size<20", "URL LIKE '%h3%'"),
			pick("URL ASC", "Size DESC, URL ASC", "CDate, URL DESC", "LENGTH(`URL`) DESC, `urls`.`URL`", "Depth DESC, Size, URLMd5"),
			pick("null", "7", "[4,6]", `"3, 50"`))
		if random.IntN(3) == 0 {
			element += fmt.Sprintf(`,"urlUpdate":{"size":%d}`, random.IntN(40))
		}
		list := "[" + element + "}]"
		if random.IntN(4) == 0 {
			list = "[" + element + "}," + element + "}]"
		}
		h.same(wire.URLFetch, list)
		if t.Failed() {
			return
		}
	}
	r := h.cluster(wire.URLFetch, `[{"urlsCriterions":{"WHERE":"1","ORDER BY":"MD5(URL)"}}]`)
	if len(r.ItemsList) != 1 || !strings.Contains(r.ItemsList[0].ErrorMessage, "use columns of the URL") {
		t.Errorf("an order that cannot be merged: %+v", r)
	}
}

// A silent node is an error item with its name, and never a smaller number without an error.
// Changes are in the journal, reads are not.
func TestHostsSilentNode(t *testing.T) {
	h := filled(t)
	h.silent = 1
	for _, test := range []struct {
		op            wire.Op
		request, want string
		journal       bool
	}{
		{wire.SiteStatus, `{"id":"` + siteA + `"}`, "node n1 did not answer within 1m0s; its part of the answer, 1 of 3, is missing", false},
		{wire.SiteUpdate, `{"id":"` + siteA + `","priority":3}`, "node n1 did not answer within 1m0s; it applies the change when it is back", true},
		{wire.URLFetch, `[{"sitesList":["` + siteA + `"]}]`, "node n1 did not answer within 1m0s; its part of the answer, 1 of 3, is missing", false},
		{wire.URLNew, `[{"siteId":"` + siteA + `","url":"http://x.example.test/"}]`, "it applies the change when it is back", true},
	} {
		h.tasks = nil
		r := h.cluster(test.op, test.request)
		last := r.ItemsList[len(r.ItemsList)-1]
		if last.ErrorCode != wire.ItemFailed || last.Node != "n1" || !strings.Contains(last.ErrorMessage, test.want) {
			t.Errorf("%s: %+v", test.op, r)
		}
		for _, task := range h.tasks {
			if task.Journal != test.journal || test.journal && !task.Target.All {
				t.Errorf("%s: journal %v, target %+v", test.op, task.Journal, task.Target)
			}
		}
	}
	if wire.URLReturn.Journaled() || wire.SiteRecrawl.Journaled() || wire.URLStatus.Journaled() {
		t.Error("an operation of the daemon itself, or a read, is in the journal")
	}
}
