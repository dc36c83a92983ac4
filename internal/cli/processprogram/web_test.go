package processprogram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

const sourceTemplate = `{"name":"story","tags":{"headline":["//h1"]}}`

// remoteServers serves templates and links, and misbehaves in other paths. It returns the URLs of
// a plain and of a TLS server, and the number of requests for /t.json.
func remoteServers(t *testing.T) (plain, secure string, templates *atomic.Int64) {
	templates = &atomic.Int64{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/t.json":
			templates.Add(1)
			io.WriteString(w, sourceTemplate)
		case "/words":
			io.WriteString(w, "hello")
		case "/huge":
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		case "/slow":
			<-r.Context().Done()
		case "/loopback":
			http.Redirect(w, r, "http://127.0.0.2/t.json", http.StatusFound)
		case "/short":
			http.Redirect(w, r, "/story", http.StatusMovedPermanently)
		case "/story":
		default:
			http.NotFound(w, r)
		}
	})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	other := httptest.NewUnstartedServer(handler)
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	t.Cleanup(other.Close)
	return server.URL, other.URL, templates
}

// A site's templates come from files and servers, and its links are followed. What cannot be
// read gives its pages an error bit and a message, and harms no other page.
func TestTemplatesAndLinksFromElsewhere(t *testing.T) {
	home, folder := t.TempDir(), t.TempDir()
	clitest.Write(t, folder, "t.json", sourceTemplate)
	server, secure, templates := remoteServers(t)
	source := func(kind, request string) map[string]string {
		text, err := json.Marshal([]any{map[string]any{"name": "story", "source": kind, "request": request, "schedule": map[string]int{"type": 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"TEMPLATE_SOURCE": string(text)}
	}
	resolve := map[string]string{"LINK_RESOLVE": "{}"}
	const source44, other51 = errormask.TemplateSource, errormask.BatchItem
	sites := map[string]struct {
		properties map[string]string
		canonical  string
		bits       errormask.Mask
		log        string // part of a line of the log
		content    string // part of the stored content
	}{
		"plain":    {content: "The harbour opens"},
		"http":     {source("http", server+"/t.json"), "", 0, "", `"headline"`},
		"file":     {source("file", "t.json"), "", 0, "", `"headline"`},
		"escape":   {source("file", "../t.json"), "", source44, `has to be relative to template_dir`, "The harbour opens"},
		"slow":     {source("http", server+"/slow"), "", source44, "timed out", "The harbour opens"},
		"huge":     {source("http", server+"/huge"), "", source44, "response too large", "The harbour opens"},
		"loopback": {source("http", server+"/loopback"), "", source44, "address 127.0.0.2 refused: loopback", "The harbour opens"},
		"tls":      {source("http", secure+"/t.json"), "", source44, "certificate", "The harbour opens"},
		"insecure": {properties: merged(source("http", secure+"/t.json"), "TLSVerify", "0"), content: `"headline"`},
		"missing":  {source("http", server+"/none"), "", source44, "status 404", "The harbour opens"},
		"words":    {source("http", server+"/words"), "", source44, `property TEMPLATE_SOURCE, source 1 ("story"): the template`, "The harbour opens"},
		"links":    {resolve, server + "/short", 0, "", server + "/story"},
		"no-links": {resolve, "http://127.0.0.2/short", other51, `property LINK_RESOLVE: "http://127.0.0.2/short" is left as it is`, "http://127.0.0.2/short"},
	}
	pages := map[string]map[string][]byte{}
	for id, site := range sites {
		pages[id] = map[string][]byte{}
		for i := range 2 {
			pages[id][fmt.Sprintf("http://%s.test/%d", id, i)] = fmt.Appendf(nil, `<html><head><title>Harbour</title><link rel="canonical" href="%s"></head><body><h1>Harbour news</h1><article>%s</article></body></html>`,
				site.canonical, strings.Repeat("<p>The harbour opens again for ships of every size and flag today.</p>", 20))
		}
		storePages(t, home, id, pages[id], withProperties(t, site.properties))
	}
	run := func(batch int, more ...string) string {
		c := refilling(t, home, batch, 3600000)
		c.Env = append(c.Env, "DC_Application_log=stderr", "DC_CrawlerTask_AllowedNetworks=127.0.0.1/32", "DC_ProcessorTask_template_dir="+folder,
			"DC_ProcessorTask_request_timeout=3000", "DC_ProcessorTask_max_template_size=100000")
		c.Env = append(c.Env, more...)
		_, stderr, status := clitest.Output(t, c)
		if status != 0 {
			t.Fatalf("status %d, %s", status, stderr)
		}
		return stderr
	}
	stderr := run(2)
	repo, closeAll := openStores(t, home)
	defer closeAll()
	for id, site := range sites {
		for md5, row := range rowsOf(t, repo, id, pages[id]) {
			entry, stored, err := repo.Contents.Get(t.Context(), id, md5)
			if err != nil || !stored {
				t.Fatalf("%s: stored %v, %v", row.URL, stored, err)
			}
			state := int64(wire.URLEnabled)
			if site.bits != 0 {
				state = wire.URLError
			}
			if row.Status != wire.StatusProcessed || row.State != state || row.ErrorMask != site.bits {
				t.Errorf("%s: status %d, state %d, %v", row.URL, row.Status, row.State, row.ErrorMask.Names())
			}
			text, err := result.Expand(entry.Data)
			if err != nil {
				t.Fatal(err)
			}
			content := strings.ReplaceAll(string(text), `\/`, "/")
			if !strings.Contains(content, site.content) || id == "links" && strings.Contains(content, server+"/short") {
				t.Errorf("%s: %s", row.URL, content)
			}
			found := false
			for line := range strings.Lines(stderr) {
				line = strings.ReplaceAll(line, `\"`, `"`)
				found = found || strings.Contains(line, row.URL) && strings.Contains(line, site.log)
			}
			if site.log != "" && !found {
				t.Errorf("%s: no line with %q in\n%s", row.URL, site.log, stderr)
			}
		}
	}
	if n := templates.Load(); n != 2 { // of the sites http and insecure
		t.Errorf("%d requests for the template", n)
	}
	storePages(t, home, "late", map[string][]byte{"http://late.test/": []byte("<h1>x</h1>")}, withProperties(t, source("http", server+"/t.json")))
	none := filepath.Join(home, "none.ini")
	if stderr := run(3, "DC_ProcessorTask_crawler-task_ini="+none); !strings.Contains(stderr, "crawler-task_ini of processor-task.ini names "+none+", which does not exist") {
		t.Errorf("without the settings of the crawler: %s", stderr)
	}
	if _, err := os.Stat(filepath.Join(home, "dc_template_sources")); !os.IsNotExist(err) {
		t.Errorf("a schedule without a state left a folder: %v", err)
	}
}

// withProperties returns the member properties of SITE_NEW.
func withProperties(t *testing.T, properties map[string]string) string {
	text, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	return `,"properties":` + string(text)
}

func merged(properties map[string]string, name, value string) map[string]string {
	properties[name] = value
	return properties
}
