package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
)

// Each item runs on the node that owns its host, and the answer is one item in the order of the
// batch. Items of a node that is away get an error with its name.
func TestOwners(t *testing.T) {
	asked := make(chan string, 10)
	w := worker{run: "r", now: time.Now, log: managertest.Quiet()}
	w.MaxURLs, w.MaxExecution, w.Timeout, w.MaxIterations = 10, time.Minute, time.Minute, 1
	w.Owner = func(url string) string { return string("ab-"[len(url)%3]) }
	w.Executor = cluster{list: nodes("a", "b", "c"), Executor: managertest.Executor{RunFunc: func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		b, err := wire.ReadBatch(task.Stdin, &lenient.Notes{})
		if err != nil {
			return nil, err
		}
		for _, it := range b.Items {
			asked <- task.Target.Nodes[0] + it.URL.URL[len("http://h/"):]
		}
		return []executor.Result{finished(task.Target.Nodes[0], b, realtimeresponse.Grade{Enough: true})}, nil
	}}}
	var list []wire.BatchItem
	for _, path := range []string{"4444", "333", "22222", "1111", "666666", "777"} {
		u := wire.NewURL("s", "http://h/"+path)
		list = append(list, wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u})
	}
	r, f := w.runShares(t.Context(), wire.Batch{ID: 7, Items: list}, time.Now())
	close(asked)
	seen := map[string]bool{}
	for one := range asked {
		seen[one] = true
	}
	if fmt.Sprint(seen) != "map[a333:true a666666:true a777:true b1111:true b4444:true]" {
		t.Errorf("asked %v", seen)
	}
	if len(r.ItemsList) != 2 || r.ItemsList[0].ErrorCode != 0 || f.URLs != 5 || f.URLFaults != 1 {
		t.Fatalf("%+v %+v", r, f)
	}
	var contents []wire.URLContentResponse
	if err := json.Unmarshal(r.ItemsList[0].ItemObject, &contents); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range contents {
		order = append(order, c.ContentURLMd5+strings.TrimPrefix(c.URL, "http://h/"))
	}
	if got := strings.Join(order, " "); got != "b4444 a333 b1111 a666666 a777" {
		t.Errorf("order %s", got)
	}
	away := r.ItemsList[1]
	if away.ErrorCode != wire.ItemFailed || away.Node != "-" || !strings.Contains(away.ErrorMessage, "node -, which owns the host, is not known") {
		t.Errorf("the item of an unknown node: %+v", away)
	}
}
