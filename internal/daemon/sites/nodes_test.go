package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// cluster is the path of a client's request: ClientInterfaceService, SitesManager and two data
// nodes, each a db-task with its own database.
type cluster struct {
	t      *testing.T
	nodes  map[string]storage.Job
	caller *managertest.Caller
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	b := managertest.Bus(t)
	c := &cluster{t: t, nodes: map[string]storage.Job{"node-a": newNode(t), "node-b": newNode(t)}}
	start(t, b, Config{Nodes: len(c.nodes)}, func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		return []executor.Result{
			managertest.Finished("node-a", c.run(ctx, "node-a", task.Stdin)),
			managertest.Finished("node-b", c.run(ctx, "node-b", task.Stdin)),
		}, nil
	})
	ready := make(chan struct{})
	base := manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }}
	service := gateway.New(base, gateway.Config{Port: -1, Nodes: len(c.nodes)})
	managertest.Run(t, service, ready)
	c.caller = managertest.Call(t, b, service.Addr())
	return c
}

func newNode(t *testing.T) storage.Job {
	t.Helper()
	folder := t.TempDir()
	repo, closeAll, err := storage.Open(t.Context(), storage.Config{
		DB:     sqldb.Config{Driver: sqldb.DriverSQLite, Path: filepath.Join(folder, "dc.db"), Busy: time.Minute, Synchronous: "NORMAL"},
		RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20, NoSync: true,
	}, managertest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	return storage.Job{Repository: repo}
}

// run is db-task on one node.
func (c *cluster) run(ctx context.Context, node string, stdin []byte) string {
	answer, err := c.nodes[node].Run(ctx, stdin)
	if err != nil {
		c.t.Errorf("%s: %v", stdin, err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		c.t.Error(err)
	}
	return string(raw)
}

// ask sends a client's request; merge is its cookie, "" for none.
func (c *cluster) ask(op wire.Op, request, merge string) wire.ClientResponse {
	c.t.Helper()
	e := managertest.Event(c.t, wire.ClassClient, int(op), json.RawMessage(request))
	if merge != "" {
		e.Cookie = map[string]json.RawMessage{"MERGE_RESULTS": json.RawMessage(merge)}
	}
	c.caller.Send(e)
	return managertest.Object[wire.ClientResponse](c.t, c.caller.Recv())
}

// merged returns the only object in the merged answer of both nodes.
func merged[T any](c *cluster, op wire.Op, request string) T {
	c.t.Helper()
	var object T
	r := c.ask(op, request, "")
	if len(r.ItemsList) != 1 || r.ItemsList[0].ErrorCode != "0;0" || r.ItemsList[0].Host != "node-a;node-b" ||
		json.Unmarshal(r.ItemsList[0].ItemObject, &object) != nil {
		c.t.Fatalf("%s: %+v", op, r)
	}
	return object
}

func TestTwoNodes(t *testing.T) {
	c := newCluster(t)
	const site = "caf03214581cc0e03763977516e379b7"
	type general struct {
		ErrorCode, ErrorMessage, Host string
		Statuses                      []any
	}
	got := merged[general](c, wire.SiteNew, `{"id":"`+site+`","urls":["http://news.example.test/"],"maxURLs":501,"maxResources":0,"maxErrors":1}`)
	if fmt.Sprint(got) != fmt.Sprint(general{"0;0", ";", "node-a", []any{site, site}}) {
		t.Errorf("SITE_NEW: %+v", got)
	}

	limits := func(raw json.RawMessage) string {
		var s struct{ MaxURLs, MaxResources, MaxErrors, State int }
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Error(err)
		}
		return fmt.Sprint(s.MaxURLs, s.MaxResources, s.MaxErrors, s.State)
	}
	ask := `{"id":"` + site + `"}`
	for _, merge := range []string{"0", `"0"`, "false", `"false"`} {
		r := c.ask(wire.SiteStatus, ask, merge)
		if len(r.ItemsList) != 2 || r.ItemsList[0].Host != "node-a" || r.ItemsList[1].Host != "node-b" {
			t.Fatalf("merge %s: %+v", merge, r)
		}
		for _, item := range r.ItemsList {
			if s := limits(item.ItemObject); s != "251 0 1 1" {
				t.Errorf("limits of %s: %s", item.Host, s)
			}
		}
	}
	for _, merge := range []string{"", "1", "true"} {
		r := c.ask(wire.SiteStatus, ask, merge)
		if len(r.ItemsList) != 1 || limits(r.ItemsList[0].ItemObject) != "502 0 2 1" {
			t.Errorf("merge %s: %+v", merge, r)
		}
	}

	// One page is only on node-b, the others on both nodes.
	page := func(path string, size int) string {
		return fmt.Sprintf(`{"siteId":%q,"url":"http://news.example.test/%s","size":%d}`, site, path, size)
	}
	c.run(t.Context(), "node-b", []byte(`["URL_NEW",[`+page("b", 5)+`]]`))
	if got := merged[general](c, wire.URLNew, `[`+page("b", 5)+`,`+page("both", 9)+`]`); fmt.Sprint(got.Statuses) != "[0 0 2 0]" {
		t.Errorf("URL_NEW: %+v", got)
	}
	type url struct {
		URL, Host string
		Size      int
	}
	status := `[{"siteId":"` + site + `","url":"http://news.example.test/both","urlType":0}]`
	if got := merged[[]url](c, wire.URLStatus, status); fmt.Sprint(got) != "[{http://news.example.test/both node-a 9}]" {
		t.Errorf("URL_STATUS: %v", got)
	}
	c.run(t.Context(), "node-b", []byte(`["URL_NEW",[`+page("big", 99)+`]]`))
	fetch := `[{"sitesList":["` + site + `"],"maxURLs":10,"urlsCriterions":{"WHERE":"ParentMd5 <> 'x'","ORDER BY":"Size DESC, CDate ASC"}}]`
	want := "[{http://news.example.test/big node-b 99} {http://news.example.test/both node-a 9} " +
		"{http://news.example.test/b node-a 5} {http://news.example.test/ node-a 0}]"
	if got := merged[[]url](c, wire.URLFetch, fetch); fmt.Sprint(got) != want {
		t.Errorf("URL_FETCH:\n%v\n%s", got, want)
	}

	// A refusal of both nodes is kept by merging.
	r := c.ask(wire.SiteStatus, `{"id":"../x"}`, "")
	if len(r.ItemsList) != 2 || r.ItemsList[0].ErrorMessage == "" || r.ItemsList[1].ErrorMessage == "" {
		t.Errorf("refused: %+v", r)
	}
}
