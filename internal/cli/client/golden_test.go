package client

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire"
)

// Scripts address the output of dc-admin by position: class, 0, fields, name
// (docs/spec/daemon.md 4.3). There is one file for each command and outcome.
func TestAdminGolden(t *testing.T) {
	server := daemon(t, func(e wire.Event) []wire.Event {
		var request wire.AdminFields
		_ = json.Unmarshal(e.Object, &request)
		if request.ClassName == "Unknown" {
			return []wire.Event{reply(e, wire.AdminStateAns, `{"className":"AdminInterfaceServer","command":7,"errorMessage":"class \"Unknown\" is unknown"}`)}
		}
		name := `{"className":"` + request.ClassName + `",`
		switch e.Type {
		case wire.AdminStat:
			return []wire.Event{reply(e, wire.AdminStatAns, name+`"fields":{"b":2,"START_DATE":"2026-11-22 00:00:00","a":null,"ä":"ü"}}`)}
		case wire.AdminGet:
			return []wire.Event{reply(e, wire.AdminGetAns, name+`"fields":{"Period":20,"none":null}}`)}
		case wire.AdminSet:
			return []wire.Event{reply(e, wire.AdminSetAns, name+`"fields":{"Period":5,"Mode":null},"errors":{"Mode":"Mode is 2, must be 0 or 1"}}`)}
		case wire.AdminState:
			return []wire.Event{reply(e, wire.AdminStateAns, string(e.Object))}
		}
		return []wire.Event{reply(e, wire.AdminSuspendAns, `{"errorCode":0,"errorMessage":"","statuses":[{"A":"suspended"},{"B":"suspended"}]}`)}
	})
	unreachable := Server{Host: "127.0.0.1", Port: 1, Timeout: time.Millisecond}
	for name, c := range map[string]struct {
		command Command
		exit    int
	}{
		"stat":            {Command{Name: "STAT", Classes: []string{"B", "A"}, Server: server}, 0},
		"stat-unknown":    {Command{Name: "STAT", Classes: []string{"A", "Unknown"}, Server: server}, 1},
		"stat-no-answer":  {Command{Name: "STAT", Classes: []string{"A"}, Server: unreachable}, 1},
		"get":             {Command{Name: "GET", Classes: []string{"A"}, Fields: map[string]any{"*": ""}, Server: server}, 0},
		"set-refused":     {Command{Name: "SET", Classes: []string{"A"}, Fields: map[string]any{"Mode": "2", "Period": "5"}, Server: server}, 1},
		"stop":            {Command{Name: "STOP", Classes: []string{"B", "A"}, Server: server}, 0},
		"stop-no-answer":  {Command{Name: "STOP", Classes: []string{"A"}, Server: unreachable}, 1},
		"suspend":         {Command{Name: "SUSPEND", Server: server}, 0},
		"resume":          {Command{Name: "RESUME", Classes: []string{"A"}, Server: server}, 0},
		"system":          {Command{Name: "SYSTEM", Server: server}, 1},
		"sql-custom":      {Command{Name: "SQL_CUSTOM", Server: server}, 1},
		"unknown-command": {Command{Name: "EVAL", Server: server}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out := c.command.Do(t.Context())
			got := text(t, out) + "\n"
			if out.Exit != c.exit {
				t.Errorf("exit %d, want %d", out.Exit, c.exit)
			}
			testgolden.Equal(t, filepath.Join("testdata", "admin", name+".json"), got)
		})
	}
}
