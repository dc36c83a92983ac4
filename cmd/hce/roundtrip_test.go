package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire/secret"
	"hce/dc/warc"
)

// Files of other writers are imported and exported again, and what was exported once more: the same records
// come back. warcio.js reads all of them and checks their digests.
func TestArchivesOfOthers(t *testing.T) {
	folder, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(t *testing.T, folder string) (file, records, root string){
		"warcio":          func(t *testing.T, m string) (string, string, string) { return browsertrix(t, m, "pages.warc") },
		"browsertrix":     browsertrixWACZ,
		"wget":            func(t *testing.T, _ string) (string, string, string) { return wget(t) },
		"wget plain":      func(t *testing.T, _ string) (string, string, string) { return wget(t, "--no-warc-compression") },
		"wget with codes": func(t *testing.T, _ string) (string, string, string) { return wget(t, "--compression=auto") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, records, root := write(t, folder)
			first := throughHCE(t, root, file)
			compareRecords(t, recordsOf(t, folder, records), recordsOf(t, folder, first))
			compareRecords(t, recordsOf(t, folder, first), recordsOf(t, folder, throughHCE(t, root, first)))
		})
	}
}

// throughHCE imports a file into an empty store and exports it.
func throughHCE(t *testing.T, root, file string) string {
	t.Helper()
	stores := storestest.Open(t)
	server, out := "127.0.0.1:"+stores.Port, filepath.Join(t.TempDir(), "out.warc.gz")
	if stdout, stderr, status := clitest.Run(t, t.TempDir(), "import", "warc", file, "--site", "mine", "--server", server); status > 1 {
		t.Fatalf("status %d, %s%s", status, stdout, stderr)
	} else {
		t.Log(stdout)
	}
	if _, stderr, status := clitest.Run(t, t.TempDir(), "export", "mine", "--server", server, "--format", "warc", "--out", out); status != 0 {
		t.Fatal(stderr)
	}
	return out
}

// record is a line of testdata/warc.mjs.
type record struct {
	Type, URI, Date, Start, Revisits, Truncated, Bytes string
	Status                                             int
	Fields                                             []string
}

// recordsOf reads answers and requests of a file by their addresses, in one form for all writers: a revisit has
// the bytes of what it revisits.
func recordsOf(t *testing.T, folder, file string) map[string]record {
	t.Helper()
	args := []string{"testdata/warc.mjs", folder, file}
	if strings.Contains(file, "wget") {
		args = append(args, "--lax")
	}
	stdout, stderr, status := clitest.Output(t, exec.CommandContext(t.Context(), "node", args...))
	if status != 0 || stderr != "" {
		t.Fatalf("%s: exit status %d, %s", file, status, stderr)
	}
	all := map[string]record{}
	for line := range strings.Lines(stdout) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		kind := r.Type
		switch r.Type {
		case "response", "resource", "revisit":
			kind = "answer"
		case "request":
		default:
			continue
		}
		at, err := warc.ParseDate(r.Date)
		if err != nil {
			t.Fatal(err)
		}
		r.Date, r.Fields = warc.FormatDate(at), plainFields(r.Fields)
		if before, twice := all[kind+" "+r.URI]; !twice || before.Bytes != r.Bytes {
			all[kind+" "+r.URI] = r
		}
	}
	for key, r := range all {
		if r.Type == "revisit" {
			url, _, _ := strings.Cut(r.Revisits, " ")
			r.Bytes, r.Type, r.Revisits = all["answer "+url].Bytes, "response", ""
			all[key] = r
		}
	}
	return all
}

// plainFields returns the fields of a head as the server sent them, without the secrets of a request and the values of cookies.
func plainFields(fields []string) (list []string) {
	for _, f := range fields {
		name, _, _ := strings.Cut(f, ":")
		renamed := slices.ContainsFunc(fields, func(other string) bool { return strings.HasPrefix(other, "X-Archive-Orig-"+name+":") })
		if !renamed && name != "Cookie" {
			name, value, _ := strings.Cut(strings.TrimPrefix(f, "X-Archive-Orig-"), ": ")
			list = append(list, name+": "+secret.ShowAnswerField(name, value))
		}
	}
	return list
}

// leftOut reports whether hce import leaves a record out, as docs/hce.md says.
func leftOut(r record) bool {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	return !strings.HasPrefix(r.URI, "http") || strings.HasPrefix(r.Start, "POST") || strings.HasSuffix(r.URI, "/form") ||
		r.Status >= 400 || r.Status == 304 || r.Status == 206 || r.Truncated == "disconnect" || r.Status == 200 && r.Bytes == empty
}

// compareRecords compares all records that are not left out. A page whose request is not known gets one.
func compareRecords(t *testing.T, want, got map[string]record) {
	t.Helper()
	for key, r := range want {
		if leftOut(r) || leftOut(want["answer "+r.URI]) {
			delete(want, key)
		}
	}
	for key := range got {
		if _, isKnown := want[key]; !isKnown && !strings.HasPrefix(key, "request") {
			t.Errorf("%s was not there", key)
		}
	}
	for key, r := range want {
		other := got[key]
		if r.Start == "" { // a revisit without a head, or a resource
			other.Start, other.Status, other.Fields = "", 0, nil
		}
		if a, b := fmt.Sprintf("%+v", r), fmt.Sprintf("%+v", other); a != b {
			t.Errorf("%s\n%s\nwant %s", key, b, a)
		}
	}
	if len(want) < 10 {
		t.Errorf("only %d records", len(want))
	}
}

// browsertrix writes the file of testdata/browsertrix.mjs.
func browsertrix(t *testing.T, folder, name string) (file, records, root string) {
	t.Helper()
	file, root = filepath.Join(t.TempDir(), name), "https://site.example/"
	if _, stderr, status := clitest.Output(t, exec.CommandContext(t.Context(), "node", "testdata/browsertrix.mjs", folder, file, root)); status != 0 {
		t.Fatal(stderr)
	}
	return file, file, root
}

// browsertrixWACZ writes that file with a list of pages into a WACZ file.
func browsertrixWACZ(t *testing.T, folder string) (file, records, root string) {
	t.Helper()
	records, _, root = browsertrix(t, folder, "rec-1.warc.gz")
	body, err := os.ReadFile(records)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"archive/rec-1.warc.gz": string(body), "pages/extraPages.jsonl": "", "logs/crawl.log": "{}", "datapackage.json": `{"profile": "data-package", "wacz_version": "1.1.1"}`,
		"pages/pages.jsonl": `{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}` + "\n" + `{"id": "x", "url": "` + root + `", "title": "Root", "ts": "2026-05-06T07:08:00.123Z"}` + "\n",
	} {
		w, e := z.Create(name)
		if e == nil {
			_, e = io.WriteString(w, text)
		}
		err = errors.Join(err, e)
	}
	file = filepath.Join(t.TempDir(), "crawl.wacz")
	if err = errors.Join(err, z.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file, records, root
}

// wget crawls a site with GNU wget.
func wget(t *testing.T, args ...string) (file, records, root string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(wgetSite))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "wget", append([]string{"-q", "-r", "-l", "3", "-e", "robots=off", "--warc-cdx", "--warc-file=wget", server.URL + "/"}, args...)...)
	c.Dir = dir
	_, _, _ = clitest.Output(t, c) // the site has a page with 404
	found, err := filepath.Glob(filepath.Join(dir, "wget.warc*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return found[0], found[0], server.URL + "/"
}

// wgetSite has pages in two charsets, with and without codings and lengths, redirects, equal bodies and odd paths.
func wgetSite(w http.ResponseWriter, r *http.Request) {
	html := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
	switch r.URL.Path {
	case "/":
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		html("text/html; charset=windows-1251", "<title>\xcf\xf0\xe8\xe2\xe5\xf2</title><a href=chain>a</a> <a href=same1>b</a> <a href=same2>c</a> <a href='odd%20path?a=b&amp;c=%2F'>d</a> <a href=gone>e</a> <a href=empty>f</a> <a href=chunked>g</a> <img src=dot.png> <a href=binary>h</a>")
	case "/chain":
		http.Redirect(w, r, "moved", http.StatusFound)
	case "/moved":
		http.Redirect(w, r, "/dir/", http.StatusMovedPermanently)
	case "/gone":
		http.NotFound(w, r)
	case "/empty":
	case "/chunked":
		html("text/html", "<p>two ")
		_ = http.NewResponseController(w).Flush()
		io.WriteString(w, "chunks")
	case "/dot.png":
		html("image/png", "\x89PNG\r\n\x1a\n\x00\xff")
	case "/binary":
		html("text/html", "\x00\x01\x02\xff\xfe binary")
	case "/same1", "/same2":
		html("text/html", "<p>a body of two pages")
	default:
		html("text/html; charset=utf-8", "<title>"+r.URL.Path+" é</title>")
	}
}
