//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire"
)

const requestsPage = "../docs/requests.md"

// docs/requests.md has a section for each operation, with requests and their answers. A daemon gives
// these answers to these requests, in the order of the page. With -update the answers are rewritten;
// what is "…" in the page stays so.
func TestRequestsPage(t *testing.T) {
	text, err := os.ReadFile(requestsPage)
	if err != nil {
		t.Fatal(err)
	}
	examples := readExamples(t, string(text))
	checkSections(t, examples)
	data := t.TempDir()
	var r *rig.Rig
	var out strings.Builder
	done := 0
	for _, e := range examples {
		if r == nil {
			r = start(t, data, "DC_TasksManager_SQLCustom=read", "DC_BatchTasksManager_PurgeMode=0", "DC_BatchTasksManager_AgingMode=0")
		}
		printed, got := decodeJSON(t, e.answer), e.send(t, r)
		if object, ok := printed.(map[string]any); !ok || object["itemsList"] == nil {
			got = nodeAnswer(got)
		}
		if testgolden.Update() {
			out.WriteString(string(text[done:e.from]) + layout(refreshed(printed, got), 0) + "\n")
			done = e.to
		} else {
			for _, difference := range differences("answer", printed, got) {
				t.Errorf("%s:%d: %s: %s", requestsPage, e.line, e.op, difference)
			}
		}
		if e.op == "STOP" || e.op == "DRAIN" {
			<-r.Ended()
			r = nil
		}
	}
	if testgolden.Update() {
		out.Write(text[done:])
		if err := os.WriteFile(requestsPage, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// example is a request in the page and its answer there.
type example struct {
	op       string // of its section
	line     int    // of the request
	command  bool   // request is a command line; else JSON for dc-client
	request  string
	answer   string
	from, to int // bytes of answer in the page
}

var operationHeading = regexp.MustCompile(`^#+ ([A-Z_]+)$`)

// readExamples reads the blocks of the sections of operations: a request (json or sh), its answer (json),
// and so on.
func readExamples(t *testing.T, text string) (list []example) {
	t.Helper()
	var e example
	var block strings.Builder
	kind, at, number := "", 0, 0
	for line := range strings.Lines(text) {
		begin := at
		at, number = at+len(line), number+1
		trimmed := strings.TrimRight(line, "\n")
		heading := operationHeading.FindStringSubmatch(trimmed)
		switch {
		case kind == "" && strings.HasPrefix(line, "#"):
			if e.request != "" {
				t.Fatalf("%s:%d: the request has no answer", requestsPage, e.line)
			}
			if e = (example{}); heading != nil {
				e.op = heading[1]
			}
		case kind == "" && strings.HasPrefix(line, "```") && e.op != "":
			kind = strings.TrimPrefix(trimmed, "```")
			block.Reset()
			if e.request == "" {
				e.line, e.command = number, kind == "sh"
			} else {
				e.from = at
			}
		case kind != "" && trimmed == "```":
			if e.request == "" {
				e.request = block.String()
			} else {
				e.answer, e.to = block.String(), begin
				list = append(list, e)
				e = example{op: e.op}
			}
			kind = ""
		case kind != "":
			block.WriteString(line)
		}
	}
	return list
}

// checkSections compares the sections with the operations of the code.
func checkSections(t *testing.T, examples []example) {
	t.Helper()
	known, has := map[string]bool{}, map[string]bool{}
	for op := range wire.Op(wire.ResponseOffset) {
		if op.Client() {
			known[op.String()] = true
		}
	}
	for command := range strings.SplitSeq(client.Commands, ", ") {
		known[command] = true
	}
	for _, e := range examples {
		has[e.op] = true
		if !known[e.op] {
			t.Errorf("%s:%d: %s is not an operation", requestsPage, e.line, e.op)
		}
	}
	for name := range known {
		if !has[name] {
			t.Errorf("%s: no section with an example of %s", requestsPage, name)
		}
	}
}

// send sends the request and returns the output.
func (e example) send(t *testing.T, r *rig.Rig) any {
	t.Helper()
	var stdout, stderr string
	var status int
	if e.command {
		c := exec.CommandContext(limited(t), "bash", "-c", e.request)
		c.Dir = ".."
		stdout, stderr, status = output(t, c, "", r.Env()...)
	} else {
		file := filepath.Join(t.TempDir(), "request.json")
		if err := os.WriteFile(file, []byte(e.request), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status = run(t, "dc-client", []string{"-c", filepath.Join(ini, "dc-client.ini"), "-cmd", e.op, "-f", file}, "", r.Env()...)
	}
	if status != 0 || stderr != "" && !e.command {
		t.Fatalf("%s:%d: %s: exit status %d, stderr %s, stdout %s", requestsPage, e.line, e.op, status, stderr, stdout)
	}
	return decodeJSON(t, stdout)
}

// nodeAnswer returns the itemObject of an answer of dc-client with one node, else the answer.
func nodeAnswer(answer any) any {
	object, _ := answer.(map[string]any)
	items, _ := object["itemsList"].([]any)
	if len(items) != 1 {
		return answer
	}
	item, _ := items[0].(map[string]any)
	if fmt.Sprint(item["errorCode"]) != "0" {
		return answer
	}
	return item["itemObject"]
}

func decodeJSON(t *testing.T, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // masks in full
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}
