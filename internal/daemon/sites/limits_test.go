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
		{"rounded up to at least 1", wire.SiteNew, 10, `{"maxURLs":1,"maxResources":10,"maxErrors":11}`, `{"maxErrors":2,"maxResources":1,"maxURLs":1}`},
		{"update", wire.SiteUpdate, 3, `{"id":"s","maxURLs":10}`, `{"id":"s","maxURLs":4}`},
		{"no limits", wire.SiteNew, 2, `{"maxURLs":0, "maxResources":null, "maxErrors":-4}`, `{"maxURLs":0, "maxResources":null, "maxErrors":-4}`},
		{"spellings of numbers", wire.SiteNew, 2, `{"maxURLs":"7","maxResources":7.9,"maxErrors":true}`, `{"maxErrors":1,"maxResources":4,"maxURLs":4}`},
		{"not numbers", wire.SiteNew, 2, `{"maxURLs":"many","maxResources":[4],"maxErrors":{}}`, `{"maxURLs":"many","maxResources":[4],"maxErrors":{}}`},
		{"largest number", wire.SiteNew, 2, `{"maxURLs":9223372036854775807}`, `{"maxURLs":4611686018427387904}`},
		{"other fields", wire.SiteNew, 2, `{"maxURLs":2,"maxURLsFromPage":80,"userId":9007199254740993,"x":[1e400]}`, `{"maxURLs":1,"maxURLsFromPage":80,"userId":9007199254740993,"x":[1e400]}`},
		{"one node", wire.SiteNew, 1, `{"maxURLs":500}`, `{"maxURLs":500}`},
		{"other operation", wire.SiteFind, 2, `{"maxURLs":500}`, `{"maxURLs":500}`},
		{"URL_FETCH", wire.URLFetch, 2, `[{"maxURLs":500}]`, `[{"maxURLs":500}]`},
		{"list", wire.SiteUpdate, 2, `[{"maxURLs":500}]`, `[{"maxURLs":500}]`},
		{"null", wire.SiteNew, 2, `null`, `null`},
		{"empty", wire.SiteNew, 2, ``, ``},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := divideRequest(tc.op, json.RawMessage(tc.request), tc.nodes)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// The limits that db-task gets on each node, by the configured number of nodes.
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
