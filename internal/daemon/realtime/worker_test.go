package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
)

func nodes(names ...string) (list []executor.Node) {
	for _, name := range names {
		n := executor.Node{Name: strings.TrimPrefix(name, "-"), State: executor.NodeReady}
		if strings.HasPrefix(name, "-") {
			n.State = executor.NodeClosing
		}
		list = append(list, n)
	}
	return list
}

func items(n int) (list []wire.BatchItem) {
	for i := range n {
		u := wire.NewURL("s", fmt.Sprintf("http://h/%d", i))
		list = append(list, wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u})
	}
	return list
}

// TestShares: each of several items goes to one of the ready nodes; a single item follows the
// routing.
func TestShares(t *testing.T) {
	loaded := nodes("a", "b", "c")
	loaded[0].Busy, loaded[1].Load, loaded[2].Load = map[string]int{TaskType: 2}, 3, 1
	for _, tt := range []struct {
		name          string
		items         int
		nodes         []executor.Node
		routing, turn int
		want          string
	}{
		{"no nodes", 1, nil, 1, 0, ""},
		{"no ready node", 3, nodes("-a"), 1, 0, ""},
		{"all", 1, nodes("a", "-b", "c"), RouteAll, 5, "a:0 c:0"},
		{"in turn", 1, nodes("a", "b"), RouteRoundRobin, 3, "b:0"},
		{"in turn, wrapped around", 1, nodes("a", "b"), RouteRoundRobin, 4, "a:0"},
		{"at random", 1, nodes("a"), RouteRandom, 0, "a:0"},
		{"the least loaded", 1, loaded, RouteLeastLoaded, 0, "c:0"},
		{"several items with any routing", 5, nodes("a", "b", "-c"), RouteAll, 0, "a:0,2,4 b:1,3"},
		{"fewer items than nodes", 2, nodes("a", "b", "c"), 1, 2, "c:0 a:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range shareAmongNodes(items(tt.items), tt.nodes, tt.routing, tt.turn) {
				var numbers []string
				for _, it := range s.items {
					numbers = append(numbers, strings.TrimPrefix(it.URL.URL, "http://h/"))
				}
				got = append(got, s.node+":"+strings.Join(numbers, ","))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("shares %q, want %q", got, tt.want)
			}
		})
	}
}

// cluster is an executor with several nodes; answer is the result of a node for a batch.
type cluster struct {
	managertest.Executor
	list []executor.Node
	err  error
}

func (c cluster) Nodes(context.Context) ([]executor.Node, error) { return c.list, c.err }

// finished answers all items of a batch with a grade.
func finished(node string, b wire.Batch, g realtimeresponse.Grade) executor.Result {
	a := realtimeresponse.Answer{Contents: []wire.URLContentResponse{}, Grades: []realtimeresponse.Grade{}}
	for _, it := range b.Items {
		r := realtimeresponse.Response(b.ID, it)
		r.ContentURLMd5 = node
		a.Contents, a.Grades = append(a.Contents, r), append(a.Grades, g)
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return managertest.Finished(node, string(text))
}

// TestNodes: the result of each node is one item. Items of a lost node get an error, and its
// files are removed.
func TestNodes(t *testing.T) {
	const a, b = "a", "b"
	ended := func(node string, state executor.State) executor.Result {
		r := managertest.Finished(node, "")
		r.State, r.ExitStatus, r.Reason, r.Stderr = state, 137, "killed", []byte("last words")
		return r
	}
	fine := func(node string, batch wire.Batch) ([]executor.Result, error) {
		return []executor.Result{finished(node, batch, realtimeresponse.Grade{Enough: true})}, nil
	}
	for _, tt := range []struct {
		name    string
		nodes   []executor.Node
		run     func(node string, batch wire.Batch) ([]executor.Result, error)
		code    int
		items   string // errorCode:contents:errors of each node
		message string
		urls    int64
		faults  int64
		forgot  int
	}{
		{"two nodes", nodes(a, b), fine, 0, "0:2: 0:1:", "", 3, 0, 0},
		{"one node is not ready", nodes(a, "-b"), fine, 0, "0:3:", "", 3, 0, 0},
		{"no nodes", nil, fine, 2, "", "empty list of nodes", 0, 0, 0},
		{"one node fails", nodes(a, b), func(node string, batch wire.Batch) ([]executor.Result, error) {
			if node == b {
				return []executor.Result{ended(b, executor.Failed)}, nil
			}
			return fine(node, batch)
		}, 0, "0:2: 2:1:PROCESSOR_BATCH_ITEM_PROCESS", "exit_status=137, stderror=last words", 2, 1, 1},
		{"all time out", nodes(a, b), func(node string, batch wire.Batch) ([]executor.Result, error) {
			return []executor.Result{ended(node, executor.TimedOut)}, nil
		}, 1, "2:2:MAX_EXECUTION_TIME 2:1:MAX_EXECUTION_TIME", "no answer within", 0, 3, 2},
		{"one node disappears", nodes(a, b), func(node string, batch wire.Batch) ([]executor.Result, error) {
			if node == a {
				return nil, executor.ErrNode
			}
			return fine(node, batch)
		}, 0, "2:2:PROCESSOR_BATCH_ITEM_PROCESS 0:1:", "no such node", 1, 2, 0},
		{"no result", nodes(a), func(string, wire.Batch) ([]executor.Result, error) { return nil, nil },
			0, "2:3:PROCESSOR_BATCH_ITEM_PROCESS", "no answer", 0, 3, 0},
		{"no finalizer", nodes(a), func(node string, batch wire.Batch) ([]executor.Result, error) {
			return []executor.Result{managertest.Finished(node, `{"id":1,"items":[]}`)}, nil
		}, 0, "2:3:PROCESSOR_BATCH_ITEM_PROCESS", "--finalize", 0, 3, 0},
		{"not JSON", nodes(a), func(node string, batch wire.Batch) ([]executor.Result, error) {
			return []executor.Result{managertest.Finished(node, "panic")}, nil
		}, 0, "2:3:PROCESSOR_BATCH_ITEM_PROCESS", "cannot read", 0, 3, 0},
		{"refusal of a stage", nodes(a), func(node string, batch wire.Batch) ([]executor.Result, error) {
			return []executor.Result{managertest.Finished(node, `{"errorCode":1,"errorMessage":"why"}`)}, nil
		}, 0, "2:3:PROCESSOR_BATCH_ITEM_PROCESS", "why", 0, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			forgot, folders := 0, map[string]bool{}
			run := func(_ context.Context, task executor.Task) ([]executor.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				node := task.Target.Nodes[0]
				if task.Type != TaskType {
					t.Errorf("task of type %q", task.Type)
				}
				if strings.HasPrefix(string(task.Stdin), `{"forget"`) {
					forgot++
					return []executor.Result{managertest.Finished(node, "{}")}, nil
				}
				batch, err := wire.ReadBatch(task.Stdin, &lenient.Notes{})
				if err != nil {
					t.Error(err)
				}
				if batch.CrawlerType != wire.CrawlRealTime || batch.DBMode != wire.DBRead || batch.ID != 9 || batch.MaxIterations != 4 ||
					batch.MaxExecutionTime <= 0 || batch.MaxExecutionTime > 60 || !strings.HasPrefix(batch.Folder, "run-") || folders[batch.Folder] {
					t.Errorf("batch %+v", batch)
				}
				folders[batch.Folder] = true
				return tt.run(node, batch)
			}
			w := worker{
				Config: Config{
					Executor: cluster{Executor: managertest.Executor{RunFunc: run}, list: tt.nodes}, MaxURLs: 3, MaxIterations: 4,
					MaxExecution: time.Minute, Timeout: time.Hour,
				},
				run: "run", now: time.Now, log: managertest.Quiet(),
			}
			object, err := json.Marshal(wire.Batch{ID: 9, CrawlerType: 1, DBMode: 3, MaxIterations: 50, Items: items(3)})
			if err != nil {
				t.Fatal(err)
			}
			got, f := w.runBatch(context.Background(), object)
			message := got.ErrorMessage
			var shown []string
			for _, i := range got.ItemsList {
				message += i.ErrorMessage
				var list []struct {
					DBFields struct {
						ErrorNames []string `json:"errorNames"`
					} `json:"dbFields"`
				}
				if err := json.Unmarshal(i.ItemObject, &list); err != nil {
					t.Fatal(err)
				}
				names := map[string]bool{}
				for _, c := range list {
					for _, name := range c.DBFields.ErrorNames {
						names[name] = true
					}
				}
				var all []string
				for name := range names {
					all = append(all, name)
				}
				slices.Sort(all)
				shown = append(shown, fmt.Sprintf("%v:%d:%s", i.ErrorCode, len(list), strings.Join(all, ",")))
			}
			if got.ErrorCode != tt.code || strings.Join(shown, " ") != tt.items || !strings.Contains(message, tt.message) {
				t.Errorf("code %d, items %q, message %q", got.ErrorCode, shown, message)
			}
			if f.URLs != tt.urls || f.URLFaults != tt.faults || f.Fault != (tt.urls == 0) || !f.Ran || forgot != tt.forgot {
				t.Errorf("figures %+v, %d forgotten", f, forgot)
			}
		})
	}
}

// TestSecondRound: the better of two results is answered, in the position of the first. There
// are at most two rounds, and a round without a result changes nothing.
func TestSecondRound(t *testing.T) {
	poor, good := realtimeresponse.Grade{Tags: 2}, realtimeresponse.Grade{Tags: 5, Enough: true}
	for _, tt := range []struct {
		name   string
		time   time.Duration
		second func(wire.Batch) []executor.Result
		want   string // which round each item's result is of
		rounds int
	}{
		{"better", time.Minute, func(b wire.Batch) []executor.Result { return []executor.Result{finished("second", b, good)} }, "first second first", 2},
		{"worse", time.Minute, func(b wire.Batch) []executor.Result {
			return []executor.Result{finished("second", b, realtimeresponse.Grade{Failed: true})}
		}, "first first first", 2},
		{"equal", time.Minute, func(b wire.Batch) []executor.Result { return []executor.Result{finished("second", b, poor)} }, "first first first", 2},
		{"no result", time.Minute, func(wire.Batch) []executor.Result { return nil }, "first first first", 2},
		{"no time", time.Second, nil, "first first first", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rounds := 0
			run := func(_ context.Context, task executor.Task) ([]executor.Result, error) {
				batch, err := wire.ReadBatch(task.Stdin, &lenient.Notes{})
				if err != nil {
					t.Fatal(err)
				}
				if rounds++; rounds == 2 {
					if len(batch.Items) != 1 || batch.Items[0].Site.Row["FetchType"] != int64(2) || batch.Items[0].URL.Status != wire.StatusSelectedCrawling {
						t.Errorf("second batch %+v", batch)
					}
					return tt.second(batch), nil
				}
				r := finished("first", batch, poor)
				var a map[string]json.RawMessage
				if err := json.Unmarshal(r.Stdout, &a); err != nil {
					t.Fatal(err)
				}
				b := batch
				b.Items = []wire.BatchItem{realtimeresponse.ForBrowser(batch.Items[1])}
				if a["again"], err = json.Marshal(b); err != nil {
					t.Fatal(err)
				}
				r.Stdout, err = json.Marshal(a)
				return []executor.Result{r}, err
			}
			w := worker{
				Config: Config{Executor: cluster{Executor: managertest.Executor{RunFunc: run}, list: nodes("n")}, MaxURLs: 3, MaxIterations: 4, MaxExecution: tt.time, Timeout: time.Hour},
				run:    "run", now: time.Now, log: managertest.Quiet(),
			}
			object, err := json.Marshal(wire.Batch{Items: items(3), CrawlerType: wire.CrawlRealTime})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := w.runBatch(context.Background(), object)
			var list []wire.URLContentResponse
			if err := json.Unmarshal(got.ItemsList[0].ItemObject, &list); err != nil {
				t.Fatal(err)
			}
			var of []string
			for _, c := range list {
				of = append(of, c.ContentURLMd5)
			}
			if strings.Join(of, " ") != tt.want || rounds != tt.rounds {
				t.Errorf("results of %q, %d rounds", of, rounds)
			}
		})
	}
}

// TestLimit: the batch's own time limit, or that of the manager; at most DRCETimeout.
func TestLimit(t *testing.T) {
	w := worker{Config: Config{MaxExecution: 6 * time.Minute, Timeout: 20 * time.Minute}}
	for given, want := range map[int64]time.Duration{0: 6 * time.Minute, -5: 6 * time.Minute, 30: 30 * time.Second, 3600: 20 * time.Minute, 1 << 60: 20 * time.Minute} {
		if got := w.batchLimit(&wire.Batch{MaxExecutionTime: given}); got != want {
			t.Errorf("maxExecutionTime %d: %v, want %v", given, got, want)
		}
	}
}

// TestMeanTime: total time divided by all batches (docs/spec/daemon.md F35).
func TestMeanTime(t *testing.T) {
	m := &Manager{}
	for i, want := range []string{"0.000", "1.000", "2.000"} {
		if got := m.meanTime(); got != want {
			t.Errorf("after %d batches: %v", i, got)
		}
		m.countBatch(figures{Ran: true, Spent: int64(1000 + 2000*i)})
	}
}
