package sites

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

func TestDivided(t *testing.T) {
	cases := []struct {
		name    string
		op      wire.Op
		nodes   int
		request string
		want    string
	}{
		{"rounded up", wire.SiteNew, 2, `{"maxURLs":500,"maxResources":301,"maxErrors":3}`, `{"maxErrors":2,"maxResources":151,"maxURLs":250}`},
		{"never none", wire.SiteNew, 10, `{"maxURLs":1,"maxResources":10,"maxErrors":11}`, `{"maxErrors":2,"maxResources":1,"maxURLs":1}`},
		{"update", wire.SiteUpdate, 3, `{"id":"s","maxURLs":10}`, `{"id":"s","maxURLs":4}`},
		{"none stays none", wire.SiteNew, 2, `{"maxURLs":0, "maxResources":null, "maxErrors":-4}`, `{"maxURLs":0, "maxResources":null, "maxErrors":-4}`},
		{"as requests write numbers", wire.SiteNew, 2, `{"maxURLs":"7","maxResources":7.9,"maxErrors":true}`, `{"maxErrors":1,"maxResources":4,"maxURLs":4}`},
		{"no numbers", wire.SiteNew, 2, `{"maxURLs":"many","maxResources":[4],"maxErrors":{}}`, `{"maxURLs":"many","maxResources":[4],"maxErrors":{}}`},
		{"the greatest", wire.SiteNew, 2, `{"maxURLs":9223372036854775807}`, `{"maxURLs":4611686018427387904}`},
		{"all else stays", wire.SiteNew, 2, `{"maxURLs":2,"maxURLsFromPage":80,"userId":9007199254740993,"x":[1e400]}`, `{"maxURLs":1,"maxURLsFromPage":80,"userId":9007199254740993,"x":[1e400]}`},
		{"one node", wire.SiteNew, 1, `{"maxURLs":500}`, `{"maxURLs":500}`},
		{"another operation", wire.SiteFind, 2, `{"maxURLs":500}`, `{"maxURLs":500}`},
		{"a fetch has a limit of its own", wire.URLFetch, 2, `[{"maxURLs":500}]`, `[{"maxURLs":500}]`},
		{"a list", wire.SiteUpdate, 2, `[{"maxURLs":500}]`, `[{"maxURLs":500}]`},
		{"null", wire.SiteNew, 2, `null`, `null`},
		{"nothing", wire.SiteNew, 2, ``, ``},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := divided(tc.op, json.RawMessage(tc.request), tc.nodes)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// What db-task reads on each node, by the number of nodes that is configured.
func TestNodesShareLimits(t *testing.T) {
	for nodes, want := range map[int]string{0: `[1,{"maxURLs":7}]`, 1: `[1,{"maxURLs":7}]`, 2: `[1,{"maxURLs":4}]`, 7: `[1,{"maxURLs":1}]`} {
		b := managertest.Bus(t)
		got := make(chan string, 1)
		stop := start(t, b, Config{Nodes: nodes, Timeout: time.Minute}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
			got <- string(task.Stdin)
			return one(task, `{"errorCode":0}`)
		})
		managertest.Call(t, b, bus.Inproc(Name)).Ask(wire.ClassClient, int(wire.SiteNew), map[string]int{"maxURLs": 7})
		if stdin := <-got; stdin != want {
			t.Errorf("%d nodes: %s", nodes, stdin)
		}
		stop()
	}
}
