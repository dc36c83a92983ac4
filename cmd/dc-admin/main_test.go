package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/wire"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// manager answers each request with its own object. It refuses the variable "fixed", and
// does not answer for the class Silent.
func manager(e wire.Event) []wire.Event {
	var request wire.AdminFields
	if json.Unmarshal(e.Object, &request) != nil || request.ClassName == "Silent" {
		return nil
	}
	answer := wire.Event{Class: e.Class, UID: e.UID, Object: e.Object}
	switch e.Type {
	case wire.AdminStat:
		answer.Type = wire.AdminStatAns
		if _, list := request.Fields["clients"]; list {
			answer.Object = json.RawMessage(`{"className":"AdminInterfaceServer","fields":{"clients":["One","Busy"]}}`)
		}
		if request.ClassName == "Busy" {
			answer.Object = json.RawMessage(`{"className":"Busy","fields":{"batches_crawl_queue":2}}`)
		}
	case wire.AdminGet:
		answer.Type = wire.AdminGetAns
	case wire.AdminSet:
		answer.Type = wire.AdminSetAns
		if _, refused := request.Fields["fixed"]; refused {
			answer.Object = json.RawMessage(`{"className":"X","fields":{"fixed":null},"errors":{"fixed":"fixed cannot be changed"}}`)
		}
	case wire.AdminState:
		answer.Type = wire.AdminStateAns
	case wire.AdminSuspend:
		answer.Type, answer.Object = wire.AdminSuspendAns, json.RawMessage(`{"errorCode":0,"errorMessage":"","statuses":[]}`)
	}
	if request.ClassName == "Unknown" {
		answer.Type, answer.Object = wire.AdminStateAns, json.RawMessage(`{"className":"Unknown","command":7}`)
	}
	return []wire.Event{answer}
}

// The table of docs/spec/daemon.md 4.3, with docs/spec/DECISIONS.md 8.4.
func TestExitStatus(t *testing.T) {
	port := clitest.Serve(t, manager)
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-admin.ini", "[dtma]\nclientPort = "+port+"\ntimeout = 20000\n[Server]\ninstantiateSequence = One, Two\n")
	clitest.Write(t, folder, "quick.ini", "[dtma]\nclientPort = "+port+"\ntimeout = 100\n[Server]\ninstantiateSequence = One, Two\nshutdownSequence = Last\n")
	clitest.Write(t, folder, "away.ini", "[dtma]\nclientPort = 1\ntimeout = 90000\n[Server]\ninstantiateSequence = One, Two\n")
	clitest.Write(t, folder, "bad.ini", "[dtma]\nclientPort = many\ntimeout = soon\n")
	clitest.Write(t, folder, "broken.ini", "[dtma\n")
	cases := map[string]struct {
		args    []string
		status  int
		classes string // of the answer, with the code of each
		says    string
		stderr  string
	}{
		"statistics of all":       {args: []string{"--cmd", "STAT"}, classes: "One 0 Two 0"},
		"statistics, one dash":    {args: []string{"-cmd", "STAT", "-classes", "B,A", "-fields", "n:1,m"}, classes: "B 0 A 0", says: `"m": null`},
		"variables":               {args: []string{"--cmd", "GET", "--classes", "A", "--fields", "*"}, classes: "A 0", says: `"*": ""`},
		"set":                     {args: []string{"--cmd", "SET", "--classes", "A", "--fields", `u:tcp://h:1,v:1\,2`}, classes: "A 0", says: `"v": "1,2"`},
		"set JSON":                {args: []string{"--cmd", "SET", "--classes", "A", "--fields", `{"u":9007199254740993}`}, classes: "A 0", says: `"u": 9007199254740993`},
		"stop all, in reverse":    {args: []string{"--cmd", "STOP"}, classes: "Two 0 One 0", says: `"command": 2`},
		"stop by the other key":   {args: []string{"-c", "quick.ini", "--cmd", "STOP"}, classes: "Last 0"},
		"suspend":                 {args: []string{"--cmd", "SUSPEND", "--fields", "1"}, says: `"statuses"`},
		"suspend all":             {args: []string{"--cmd", "SUSPEND"}, says: `"statuses"`},
		"resume":                  {args: []string{"--cmd", "RESUME", "--classes", "One"}, says: `"statuses"`},
		"resume fields":           {args: []string{"--cmd", "RESUME", "--fields", "1"}, status: 2, stderr: "RESUME takes none"},
		"drain timeout":           {args: []string{"--cmd", "DRAIN", "--timeout", "1"}, status: 1, says: "they run again", stderr: "One 0, Busy batches_crawl_queue 2"},
		"drain by force":          {args: []string{"--cmd", "DRAIN", "--timeout", "1", "--force"}, classes: "Two 0 One 0", stderr: "One 0, Busy batches_crawl_queue 2"},
		"drain a class":           {args: []string{"--cmd", "DRAIN", "--classes", "One"}, status: 2, stderr: "whole daemon"},
		"drain without limit":     {args: []string{"--cmd", "DRAIN", "--timeout", "0"}, status: 2, stderr: "is not a time from 1s to 168h"},
		"force alone":             {args: []string{"--cmd", "STOP", "--force"}, status: 2, stderr: "for DRAIN alone"},
		"system":                  {args: []string{"--cmd", "SYSTEM"}, status: 1, says: "SYSTEM is not served"},
		"SQL":                     {args: []string{"--cmd", "SQL_CUSTOM"}, status: 1, says: "SQL_CUSTOM is not served"},
		"refused value":           {args: []string{"--cmd", "SET", "--classes", "A", "--fields", "fixed:1"}, status: 1, classes: "X 0", says: "cannot be changed"},
		"unknown class":           {args: []string{"--cmd", "STAT", "--classes", "A,Unknown"}, status: 1, classes: "A 0 Unknown 0"},
		"a class does not answer": {args: []string{"-c", "quick.ini", "--cmd", "STAT", "--classes", "Silent,A"}, status: 1, classes: "Silent 1 A 0"},
		"no command":              {status: 1, says: `"errorCode": 1`},
		"unknown command":         {args: []string{"--cmd", "STAT_"}, status: 1, says: `--cmd \"STAT_\" is unknown; did you mean STAT?`},
		"no classes":              {args: []string{"--cmd", "GET", "--fields", "a"}, status: 2, says: `"errorCode": 2`, stderr: "--classes is missing"},
		"no fields":               {args: []string{"--cmd", "SET", "--classes", "A"}, status: 2, says: `"errorCode": 2`, stderr: "--fields is missing"},
		"malformed fields":        {args: []string{"--cmd", "SET", "--classes", "A", "--fields", "a"}, status: 2, says: `"errorCode": 2`, stderr: "not name:value"},
		"malformed JSON":          {args: []string{"--cmd", "SET", "--classes", "A", "--fields", `{"a":1}}`}, status: 2, stderr: "more than one value"},
		"wrong argument":          {args: []string{"--no-such", "1"}, status: 2, stderr: "--no-such is unknown"},
		"no daemon":               {args: []string{"-c", "away.ini", "--cmd", "STAT"}, status: 3, classes: "One 1 Two 1", says: "cannot reach the daemon at 127.0.0.1:1: connection refused; start dc-daemon"},
		"ini file cannot be read": {args: []string{"-c", "none.ini", "--cmd", "STAT"}, status: 2, says: `"errorCode": 2`, stderr: "none.ini"},
		"ini file is broken":      {args: []string{"-c", "broken.ini", "--cmd", "STAT"}, status: 2, stderr: "broken.ini"},
		"ini file is wrong":       {args: []string{"-c", "bad.ini", "--cmd", "STAT"}, status: 2, stderr: "clientPort"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := clitest.Run(t, folder, c.args...)
			if status != c.status || !strings.Contains(stdout, c.says) {
				t.Errorf("status %d, said %s\nwant %d %s", status, stdout, c.status, c.says)
			}
			if !strings.Contains(stderr, c.stderr) || (c.stderr == "") != (stderr == "") || strings.Count(stderr, "\n") > 1 {
				t.Errorf("stderr %q, want one line of %q", stderr, c.stderr)
			}
			if name == "wrong argument" {
				return
			}
			var pairs [][]any
			if err := json.Unmarshal([]byte(stdout), &pairs); err != nil {
				t.Fatalf("%q: %v", stdout, err)
			}
			var got []string
			for _, p := range pairs {
				object, _ := p[0].(map[string]any)
				if len(p) == 2 && object["className"] != nil {
					got = append(got, fmt.Sprint(object["className"], " ", p[1]))
				}
			}
			if strings.Join(got, " ") != c.classes {
				t.Errorf("classes %v, want %s", got, c.classes)
			}
		})
	}
	t.Run("no ini file", func(t *testing.T) {
		t.Setenv("DC_dtma_clientPort", "1")
		stdout, stderr, status := clitest.Run(t, t.TempDir(), "--cmd", "STAT")
		if status != 3 || strings.Contains(stdout, `"errorCode": 0`) || !strings.Contains(stdout, "cannot reach the daemon at 127.0.0.1:1: connection refused; start dc-daemon, or name the ini file") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		t.Setenv("DC_dtma_clientPort", port)
		stdout, stderr, status = clitest.Run(t, t.TempDir(), "--cmd", "STAT", "--classes", "A")
		if status != 0 || stderr != "" || !strings.Contains(stdout, `"className": "A"`) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
}

// top prints JSON lines, or one screen without a terminal, and reports an unreachable
// daemon. Unknown sub-commands are errors.
func TestTop(t *testing.T) {
	port := clitest.Serve(t, manager)
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-admin.ini", "[dtma]\nclientPort = "+port+"\ntimeout = 20000\n[dcc]\nclientPort = 1\n[Server]\ninstantiateSequence = One, Busy\n")
	clitest.Write(t, folder, "patient.ini", "[dtma]\nclientPort = 1\ntimeout = 90000\n[dcc]\nclientPort = 1\n")
	clitest.Write(t, folder, "unreachable.ini", "[dtma]\nclientPort = 1\ntimeout = 50\n[dcc]\nclientPort = 1\n")
	for name, c := range map[string]struct {
		args         []string
		status       int
		says, stderr string
		lines        int // 0 for any number
	}{
		"one screen":         {args: []string{"top", "-i", "0.1"}, says: "MANAGER"},
		"JSON":               {args: []string{"top", "--json", "--count", "2", "--interval", "0.1"}, says: `"rates":{"urls":0`, lines: 2},
		"no daemon":          {args: []string{"top", "-c", "unreachable.ini"}, status: 3, says: "Cannot reach the daemon: no answer from 127.0.0.1:1"},
		"no daemon, JSON":    {args: []string{"top", "-c", "unreachable.ini", "--json", "-n", "2", "-i", "0.1"}, status: 3, says: `"away":"no answer from 127.0.0.1:1"`, lines: 2},
		"no daemon, in time": {args: []string{"top", "-c", "patient.ini"}, status: 3, says: "Cannot reach the daemon: 127.0.0.1:1: connection refused; start dc-daemon, or"},
		"help":               {args: []string{"top", "--help"}, says: "Usage: dc-admin top"},
		"wrong interval":     {args: []string{"top", "-i", "0"}, status: 2, stderr: "is not a time from 100ms to 1h"},
		"not a number":       {args: []string{"top", "-i", "NaN"}, status: 2, stderr: "is not a time from 100ms to 1h"},
		"count without json": {args: []string{"top", "-n", "2"}, status: 2, stderr: "is for --json"},
		"wrong option":       {args: []string{"top", "--cmd", "STAT"}, status: 2, stderr: "--cmd is unknown"},
		"no such command":    {args: []string{"bottom"}, status: 2, stderr: `sub-command "bottom" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := clitest.Run(t, folder, c.args...)
			if status != c.status || !strings.Contains(stdout, c.says) || !strings.Contains(stderr, c.stderr) || (c.stderr == "") != (stderr == "") {
				t.Errorf("status %d, said %s, stderr %q", status, stdout, stderr)
			}
			if c.lines > 0 && strings.Count(stdout, "\n") != c.lines {
				t.Errorf("said %s", stdout)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	stdout, stderr, status := clitest.Run(t, t.TempDir(), "-h")
	if status != 0 || stderr != "" || !strings.Contains(stdout, "Usage: dc-admin") || !strings.Contains(stdout, "Exit status") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}
