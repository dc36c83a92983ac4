//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// searchSite is a site with a page, an image, a document, and a hostile page.
type searchSite struct{ news string }

func (s *searchSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := func(title, text string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html lang=en><head><title>%s</title><meta name=description content='About %s'></head><body><h1>%s</h1><p>%s The rest of this page is long enough to be the article of the page, so that the extraction takes it as the text.</p></body></html>", title, title, title, text)
	}
	switch r.URL.Path {
	case "/":
		page("Start", "Here begins the library of trees. <a href=/oak.html>oak</a> <a href=/news.html>news</a> <a href=/twin.html>twin</a> <a href=/oak_leaf.png>leaf</a> <a href=/tree_list.txt>list</a>")
	case "/oak.html":
		page("Oak", "An oak grows next to the maple. <script>document.title='ran'</script>")
	case "/twin.html":
		page("Oak", "An oak grows next to the maple. <script>document.title='ran'</script>")
	case "/news.html":
		page("News", s.news)
	case "/oak_leaf.png":
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n and no picture")
	case "/tree_list.txt":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "oak, maple, larch")
	default:
		http.NotFound(w, r)
	}
}

type searchResults struct {
	Count   int
	Results []struct {
		Title, Link, Cache, Versions, Name, Format string
		Size                                       int64
		Copies                                     []string
	}
}

// searchPort is the front end of a test.
type searchPort string

func (p searchPort) get(t *testing.T, path string) (body string, h http.Header) {
	t.Helper()
	answer, err := http.Get("http://127.0.0.1:" + string(p) + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), answer.Header
}

func (p searchPort) find(t *testing.T, kind, words string) (r searchResults) {
	t.Helper()
	body, _ := p.get(t, "/?format=json&opt="+kind+"&txt="+url.QueryEscape(words))
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(body)
	}
	return r
}

func startSearch(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "hce-search"), args...)
	log, err := os.Create(filepath.Join(t.TempDir(), args[0]+".out"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), log
	ended, err := childprocess.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		log.Close()
		if t.Failed() {
			t.Logf("hce-search %s: %v\n%s", args[0], cmd.ProcessState, tail(log.Name()))
		}
	})
}

// A site is crawled, indexed while the daemon runs, and searched through two processors: each kind,
// duplicates, the cached copy and its versions. A page that changes is found by its new words.
func TestSearch(t *testing.T) {
	site := &searchSite{news: "The old news is about beeches."}
	w := newWitness(t, site)
	r := start(t, t.TempDir())
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	finish(t, r, id)

	ports := freePorts(t, 2)
	env := []string{fmt.Sprintf("DC_Manager_port=%d", ports[0]), fmt.Sprintf("DC_Frontend_port=%d", ports[1]), "DC_Feed_interval=0.2", "DC_Application_log_format=line"}
	dir, server := filepath.Join(t.TempDir(), "index"), fmt.Sprintf("127.0.0.1:%d", r.ClientPort())
	startSearch(t, env, "index", "--dir", dir, "--server", server)
	startSearch(t, env, "serve", "--dir", dir, "--server", server, "--processors", "2")
	p := searchPort(fmt.Sprint(ports[1]))
	testwait.Until(t, "the front end finds the oak", func() bool {
		answer, err := http.Get("http://127.0.0.1:" + string(p) + "/?txt=oak&format=json")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return strings.Contains(string(text), "/oak.html") || strings.Contains(string(text), "/twin.html")
	})
	testwait.Until(t, "all is indexed", func() bool {
		return p.find(t, "pages", "beeches").Count == 1 && p.find(t, "pages", "library").Count == 1
	})

	oak := p.find(t, "pages", "maple + larch")
	if oak.Count != 1 || len(oak.Results) != 1 || oak.Results[0].Title != "Oak" || len(oak.Results[0].Copies) != 1 {
		t.Fatalf("%+v", oak)
	}
	if got := p.find(t, "pages", "oak - maple"); got.Count != 1 || got.Results[0].Title != "Start" { // its link has the word
		t.Errorf("%+v", got)
	}
	if got := p.find(t, "images", "leaf"); got.Count != 1 || got.Results[0].Name != "oak_leaf" || got.Results[0].Format != "PNG" || got.Results[0].Size == 0 {
		t.Errorf("%+v", got)
	}
	if got := p.find(t, "documents", "tree"); got.Count != 1 || got.Results[0].Format != "TXT" {
		t.Errorf("%+v", got)
	}
	raw, header := p.get(t, strings.Replace(oak.Results[0].Cache, "/cache=", "/raw=", 1))
	if !strings.Contains(raw, "next to the maple") || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("%v %s", header, raw)
	}

	site.news = "The new news is about hornbeams."
	news := p.find(t, "pages", "beeches").Results[0]
	again(t, r, id, wire.URL{URLMd5: urlkey.Of(w.URL + "/news.html")})
	testwait.UntilWithin(t, crawlLimit, "the new words are found", func() bool { return p.find(t, "pages", "hornbeams").Count == 1 })
	// Each of the two processors notices a change of the index by itself.
	testwait.Until(t, "the old words are not found", func() bool { return p.find(t, "pages", "beeches").Count == 0 })
	if body, _ := p.get(t, news.Versions+"?format=json"); strings.Count(body, `"source": "cluster"`) != 2 {
		t.Error(body)
	}
	old, _ := p.get(t, strings.Replace(news.Versions, "/versions=", "/raw=", 1)+"/cluster/1")
	if !strings.Contains(old, "beeches") {
		t.Error(old)
	}
	status := exec.Command(filepath.Join(bin, "hce-search"), "status")
	status.Env = append(os.Environ(), env...)
	if out, err := status.CombinedOutput(); err != nil || !strings.Contains(string(out), "qp-2") || !strings.Contains(string(out), "beeches") {
		t.Errorf("%v %s", err, out)
	}
}

// A damaged index answers no question: the error names the file and the way out, which reads all again.
func TestDamagedSearchIndex(t *testing.T) {
	w := newWitness(t, &searchSite{news: "The old news is about beeches."})
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	hce(t, 0, "crawl", w.URL+"/", "--data", data, loopback, "--delay", "0s")
	search := func(status int, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, "hce-search"), append(args, "--dir", dir)...)
		text, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != status {
			t.Fatalf("hce-search %s: %v\n%s", args[0], err, text)
		}
		return string(text)
	}
	search(0, "index", "--once", "--data", data)
	whole := search(0, "ask", "beeches")
	if !strings.Contains(whole, "/news.html") {
		t.Fatal(whole)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "work-*", "store", "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatal("no segments", err)
	}
	for _, path := range segments {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"ask", "beeches"}, {"rebuild"}} {
		if text := search(3, args...); !strings.Contains(text, ".zap") || !strings.Contains(text, "hce-search index") {
			t.Errorf("%s: %s", args[0], text)
		}
	}
	if text := search(0, "index", "--once", "--data", data); !strings.Contains(text, "reading all documents") {
		t.Error(text)
	}
	if text := search(0, "ask", "beeches"); text != whole {
		t.Errorf("%s, want %s", text, whole)
	}
}
