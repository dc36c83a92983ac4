package client

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/wire"
)

func TestFields(t *testing.T) {
	for name, c := range map[string]struct {
		command, text string
		want          map[string]any
		wrong         bool
	}{
		"none":              {"STAT", "", map[string]any{}, false},
		"names":             {"GET", " A, B ,,C ", map[string]any{"A": "", "B": "", "C": ""}, false},
		"all":               {"GET", "*", map[string]any{"*": ""}, false},
		"statistics":        {"STAT", "A:1,B", map[string]any{"A": nil, "B": nil}, false},
		"values":            {"SET", "A:1, B : x y ", map[string]any{"A": "1", "B": " x y"}, false},
		"colons":            {"SET", "A:tcp://h:5504", map[string]any{"A": "tcp://h:5504"}, false},
		"commas":            {"SET", `A:x\,y,B:2`, map[string]any{"A": "x,y", "B": "2"}, false},
		"empty value":       {"SET", "A:", map[string]any{"A": ""}, false},
		"no value":          {"SET", "A", nil, true},
		"no name":           {"SET", " :1", nil, true},
		"JSON":              {"SET", ` {"A":9007199254740993,"B":"x,y:z","C":{"d":[1]}}`, map[string]any{"A": json.Number("9007199254740993"), "B": "x,y:z", "C": map[string]any{"d": []any{json.Number("1")}}}, false},
		"broken JSON":       {"SET", `{"A":1`, nil, true},
		"GET takes no JSON": {"GET", `{"A"}`, map[string]any{`{"A"}`: ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fields(c.command, c.text)
			if (err != nil) != c.wrong || !c.wrong && !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	answers := func(e wire.Event) []wire.Event {
		var request wire.AdminFields
		if err := json.Unmarshal(e.Object, &request); err != nil {
			t.Error(err)
		}
		switch request.ClassName {
		case "Silent":
			return nil
		case "Unknown":
			return []wire.Event{reply(e, wire.AdminStateAns, `{"className":"Unknown","command":7,"errorMessage":"no such class"}`)}
		}
		switch e.Type {
		case wire.AdminStat:
			return []wire.Event{reply(e, wire.AdminStatAns, `{"className":"`+request.ClassName+`","fields":{"n":1}}`)}
		case wire.AdminSet:
			return []wire.Event{reply(e, wire.AdminSetAns, `{"className":"X","fields":{"n":null},"errors":{"n":"is fixed"}}`)}
		case wire.AdminState:
			return []wire.Event{reply(e, wire.AdminStateAns, string(e.Object))}
		case wire.AdminSuspend:
			return []wire.Event{reply(e, wire.AdminSuspendAns, `{"errorCode":0,"errorMessage":"","statuses":[`+string(e.Object)+`]}`)}
		}
		return nil
	}
	server := daemon(t, answers)
	for name, c := range map[string]struct {
		command Command
		exit    int
		want    string
	}{
		"order of classes": {Command{Name: "STAT", Classes: []string{"B", "A"}}, 0, `[[{"className":"B","fields":{"n":1}},0],[{"className":"A","fields":{"n":1}},0]]`},
		"stop":             {Command{Name: "STOP", Classes: []string{"A"}}, 0, `[[{"className":"A","command":2},0]]`},
		"refused value":    {Command{Name: "SET", Classes: []string{"A"}, Fields: map[string]any{"n": "1"}}, 1, `[[{"className":"X","errors":{"n":"is fixed"},"fields":{"n":null}},0]]`},
		"unknown class":    {Command{Name: "STAT", Classes: []string{"Unknown"}}, 1, `[[{"className":"Unknown","command":7,"errorMessage":"no such class"},0]]`},
		"no classes":       {Command{Name: "STAT"}, 0, `[]`},
		"suspend":          {Command{Name: "SUSPEND", Fields: map[string]any{"1": ""}}, 0, `[[{"errorCode":0,"errorMessage":"","statuses":[{"suspendType":0}]},0]]`},
		"suspend with 0":   {Command{Name: "SUSPEND", Fields: map[string]any{"0": ""}}, 0, `[[{"errorCode":0,"errorMessage":"","statuses":[{"suspendType":1}]},0]]`},
		"suspend all":      {Command{Name: "SUSPEND"}, 0, `[[{"errorCode":0,"errorMessage":"","statuses":[{"suspendType":0}]},0]]`},
		"suspend classes":  {Command{Name: "SUSPEND", Classes: []string{"B", "A"}}, 0, `[[{"errorCode":0,"errorMessage":"","statuses":[{"classes":["B","A"],"suspendType":0}]},0]]`},
		"resume":           {Command{Name: "RESUME", Classes: []string{"A"}}, 0, `[[{"errorCode":0,"errorMessage":"","statuses":[{"classes":["A"],"suspendType":1}]},0]]`},
		"system":           {Command{Name: "SYSTEM"}, 1, `[[{"className":"","errorCode":1,"errorMessage":"SYSTEM is not served: the daemon frees its memory by itself","fields":{}}]]`},
		"SQL":              {Command{Name: "SQL_CUSTOM"}, 1, `[[{"className":"","errorCode":1,"errorMessage":"SQL_CUSTOM is not served here; dc-client --command SQL_CUSTOM asks the data nodes","fields":{}}]]`},
	} {
		t.Run(name, func(t *testing.T) {
			c.command.Server = server
			out := c.command.Do(t.Context())
			var compact strings.Builder
			if err := json.NewEncoder(&compact).Encode(json.RawMessage(text(t, out))); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(compact.String()); out.Exit != c.exit || got != c.want {
				t.Errorf("exit %d\n%s\nwant %d\n%s", out.Exit, got, c.exit, c.want)
			}
		})
	}
	t.Run("one class is silent", func(t *testing.T) {
		quick := server
		quick.Timeout = 200 * time.Millisecond
		out := Command{Name: "STAT", Classes: []string{"Silent"}, Server: quick}.Do(t.Context())
		got := text(t, out)
		if out.Exit != command.ExitErrors || !strings.Contains(got, `"className": "Silent"`) || !strings.Contains(got, "within 200 ms") || !strings.HasSuffix(got, "        1\n    ]\n]") {
			t.Errorf("exit %d\n%s", out.Exit, got)
		}
	})
	t.Run("unknown command", func(t *testing.T) {
		out := Command{Name: "EVAL", Server: server}.Do(t.Context())
		var list [][]map[string]any
		if err := json.Unmarshal([]byte(text(t, out)), &list); err != nil || len(list) != 1 || len(list[0]) != 1 || list[0][0]["errorCode"] != 1.0 || out.Exit != command.ExitErrors {
			t.Errorf("exit %d %v %v", out.Exit, list, err)
		}
	})
	t.Run("no daemon", func(t *testing.T) {
		out := Command{Name: "STAT", Classes: []string{"A", "B"}, Server: Server{Host: "127.0.0.1", Port: 1, Timeout: 24 * time.Hour}}.Do(t.Context())
		if got := text(t, out); out.Exit != command.ExitFailed || strings.Count(got, "connection refused; start dc-daemon") != 2 {
			t.Errorf("exit %d\n%s", out.Exit, got)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := Command{Name: "STAT", Classes: []string{"A", "B"}, Server: server}.Do(ctx)
		if got := text(t, out); out.Exit != command.ExitInterrupted || strings.Count(got, `"errorMessage": "interrupted"`) != 2 {
			t.Errorf("exit %d\n%s", out.Exit, got)
		}
	})
}
