package extraction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/extraction"
)

const words = "The moon pulls the sea twice a day, and the sun helps a little. "

func page(title string) string {
	return "<title>" + title + "</title><nav><a href=/>Home</a></nav><article><h1>" + title + "</h1><p>" + strings.Repeat(words, 5) + "<p><a href=next.html>Next</a> " + words + "</article>"
}

// result is what a job wrote.
type result struct {
	lines    []map[string]any
	text     string
	failed   int
	reported []string
}

func run(t *testing.T, j extraction.Job, inputs iter.Seq[extraction.Input]) (r result) {
	t.Helper()
	var out bytes.Buffer
	j.Out = &out
	j.Report = func(name string, err error) { r.reported = append(r.reported, name+": "+err.Error()) }
	failed, err := j.Run(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	r.failed, r.text = failed, out.String()
	for line := range strings.Lines(r.text) {
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) == nil {
			r.lines = append(r.lines, object)
		}
	}
	return r
}

// Hundreds of pages come out in the order of the list. One that cannot be read has an error and harms no other.
func TestFilesInOrder(t *testing.T) {
	dir := t.TempDir()
	var list strings.Builder
	for i := range 300 {
		path := filepath.Join(dir, fmt.Sprintf("%d.html", i))
		if i != 150 {
			if err := os.WriteFile(path, []byte(page(fmt.Sprint("Page ", i))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&list, "%s\thttp://coast.example/%d/\n", path, i)
	}
	r := run(t, extraction.Job{Format: "markdown", Lines: true}, extraction.List(strings.NewReader(list.String())))
	if len(r.lines) != 300 || r.failed != 1 || len(r.reported) != 1 {
		t.Fatalf("%d lines, %d failed: %q", len(r.lines), r.failed, r.reported)
	}
	for i, line := range r.lines {
		markdown, _ := line["markdown"].(string)
		switch {
		case i == 150:
			if line["error"] == nil || line["file"] == nil {
				t.Errorf("missing file: %v", line)
			}
		case line["title"] != fmt.Sprint("Page ", i), line["url"] != fmt.Sprintf("http://coast.example/%d/", i), line["text"] != nil,
			!strings.Contains(markdown, fmt.Sprintf("[Next](http://coast.example/%d/next.html)", i)):
			t.Fatalf("line %d: %v", i, line)
		}
	}
}

func TestRecords(t *testing.T) {
	record := func(v any) string { text, _ := json.Marshal(v); return string(text) + "\n" }
	in := record(map[string]string{"url": "http://coast.example/a", "html": page("Ebbe & Flut")}) + "\n" + "no JSON\n" + record(map[string]int{"n": 1}) +
		record(map[string]string{"text": "A note\n" + words, "url": "http://coast.example/note"})
	r := run(t, extraction.Job{Format: "text", Lines: true}, extraction.Records(strings.NewReader(in)))
	if len(r.lines) != 4 || r.failed != 2 {
		t.Fatalf("%d lines, %d failed: %q", len(r.lines), r.failed, r.reported)
	}
	if l := r.lines[0]; l["title"] != "Ebbe & Flut" || !strings.Contains(l["text"].(string), "The moon") || l["markdown"] != nil {
		t.Errorf("HTML: %v", l)
	}
	for i, want := range map[int]string{1: "line 3 is no object", 2: "neither html nor text"} {
		if message, _ := r.lines[i]["error"].(string); !strings.Contains(message, want) {
			t.Errorf("line %d: %q", i, message)
		}
	}
	if l := r.lines[3]; l["title"] != "A note" || l["url"] != "http://coast.example/note" {
		t.Errorf("text: %v", l)
	}
}

func TestOnePage(t *testing.T) {
	for format, want := range map[string]string{"text": words[:20], "markdown": "# Tides\n", "html": "<h1>Tides</h1>", "json": `"title":"Tides"`} {
		r := run(t, extraction.Job{Format: format, Stdin: strings.NewReader(page("Tides"))}, extraction.Files(extraction.Input{}, "-"))
		if !strings.Contains(r.text, want) || strings.Contains(r.text, "Home") && format != "json" || r.failed != 0 {
			t.Errorf("%s: %s", format, r.text)
		}
	}
	r := run(t, extraction.Job{Format: "text"}, extraction.Files(extraction.Input{}, filepath.Join(t.TempDir(), "none.html")))
	if r.failed != 1 || r.text != "" || len(r.reported) != 1 {
		t.Errorf("missing file: %+v", r)
	}
}

// A URL is fetched as the crawler would: the guard, robots.txt and the charset of the header count.
func TestURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		case "/moved":
			http.Redirect(w, r, "/sea/tides.html", http.StatusFound)
		case "/sea/tides.html":
			w.Header().Set("Content-Type", "text/html; charset=windows-1251")
			fmt.Fprint(w, page("\xcf\xf0\xe8\xe2\xe5\xf2"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	fetcher := func(networks ...netip.Prefix) extraction.Job {
		gates := filepath.Join(t.TempDir(), "gates")
		if err := os.MkdirAll(gates, 0o700); err != nil {
			t.Fatal(err)
		}
		get, end, err := extraction.Fetcher(gates, networks)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		return extraction.Job{Format: "markdown", Lines: true, Fetch: get}
	}
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	r := run(t, fetcher(loopback), extraction.Files(extraction.Input{}, server.URL+"/moved", server.URL+"/private", server.URL+"/none"))
	if len(r.lines) != 3 || r.failed != 2 {
		t.Fatalf("%+v", r)
	}
	if l := r.lines[0]; l["title"] != "Привет" || l["url"] != server.URL+"/sea/tides.html" || !strings.Contains(l["markdown"].(string), server.URL+"/sea/next.html") {
		t.Errorf("page: %v", l)
	}
	if !strings.Contains(r.reported[0], "robots.txt forbids") || !strings.Contains(r.reported[1], "404") {
		t.Errorf("reported %q", r.reported)
	}
	if r := run(t, fetcher(), extraction.Files(extraction.Input{}, server.URL+"/sea/tides.html")); r.failed != 1 || r.lines[0]["error"] == nil {
		t.Errorf("the guard let a request pass: %+v", r)
	}
}

// A full disk ends the run, and no goroutine waits for ever.
func TestFullDisk(t *testing.T) {
	full := errors.New("disk full")
	inputs := func(yield func(extraction.Input) bool) {
		for i := range 1_000_000 {
			if !yield(extraction.Input{Body: []byte(page(fmt.Sprint(i))), ContentType: "text/html"}) {
				return
			}
		}
	}
	j := extraction.Job{Format: "json", Lines: true, Out: failing{full}, Report: func(string, error) {}}
	if _, err := j.Run(t.Context(), inputs); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Run(ctx, slices.Values([]extraction.Input{})); err == nil {
		t.Error("a cancelled run succeeds")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
