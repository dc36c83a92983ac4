package storage

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// golden is one file of testdata: preparing requests, a request and its answer. The
// answers are the contract with clients.
type golden struct {
	Before  []json.RawMessage `json:"before,omitempty"`
	Request json.RawMessage   `json:"request"`
	Answer  json.RawMessage   `json:"answer"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
			n := newNode(t)
			for _, request := range g.Before {
				n.good(string(request))
			}
			got := indented(t, []byte(n.run(string(g.Request))))
			if *update {
				g.Answer = json.RawMessage(got)
				var out bytes.Buffer
				e := json.NewEncoder(&out)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				n.must(e.Encode(g))
				n.must(os.WriteFile(file, out.Bytes(), 0o644))
				return
			}
			if want := indented(t, g.Answer); got != want {
				t.Errorf("answer\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// indented returns JSON with sorted keys and one indentation.
func indented(t *testing.T, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// URL_RETURN frees only the rows of the batch and counts attempts.
func TestURLReturn(t *testing.T) {
	n := withPage(t)
	for i := range 2 {
		n.taken()
		answer := n.good(fmt.Sprintf(`[60,{"batchId":7,"sites":[%q],"statuses":[2,3,8],"maxAttempts":2,"fault":true}]`, site))
		if !strings.Contains(answer, `"statuses":[1]`) {
			t.Fatalf("return %d: %s", i, answer)
		}
	}
	if row := n.row(); row.State != wire.URLError || row.ErrorMask&errormask.MaxExecutionTime == 0 {
		t.Errorf("row %+v", row)
	}
	for _, wrong := range []string{`"sites":["../x"]`, `"age":-1`, `"maxURLs":-1`, `"maxAttempts":-1`} {
		if answer := n.run(`[60,{"batchId":1,` + wrong + `}]`); !strings.Contains(answer, `"refused":true`) {
			t.Errorf("%s: %s", wrong, answer)
		}
	}
}

// A refused urlPut changes nothing.
func TestRefusedPutTouchesNothing(t *testing.T) {
	n := withPage(t)
	answer := n.run(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":"http://news.example.test/b"},{"siteId":%q,"url":"http://news.example.test/c","urlPut":{"siteId":"..","putDict":{"data":"x"}}}]]`, site, site))
	if !strings.Contains(answer, `"refused":true`) {
		t.Fatal(answer)
	}
	if answer := n.good(fmt.Sprintf(`["URL_STATUS",[{"siteId":%q,"url":"http://news.example.test/b"}]]`, site)); answer != `["URL_STATUS",[]]` {
		t.Errorf("the first URL is stored: %s", answer)
	}
}
