//go:build e2e

package e2e

import (
	"bytes"
	"context"
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
	"syscall"
	"testing"
	"time"

	hceclient "hce/dc/clients/go"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// servedAPI is a daemon with the REST API, and a site to crawl.
type servedAPI struct {
	*rig.Rig
	url  string // of the API
	root string // of the site
	data string
	env  []string
}

// startAPI starts a daemon. The site has pages with a link to the next one.
func startAPI(t *testing.T, pages int) servedAPI {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if r.URL.Path != "/" {
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= pages {
				http.NotFound(w, r)
				return
			}
		}
		fmt.Fprintf(w, "<html lang=en><title>Page %d</title><nav><a href=/>Home</a></nav><article><h1>Page %d</h1><p>%s<p><a href=/%d>Next</a></article>",
			n, n, strings.Repeat("The moon pulls the sea twice a day, and the sun helps a little. ", 5), n+1)
	}))
	t.Cleanup(web.Close)
	a := servedAPI{root: web.URL + "/", data: t.TempDir()}
	port := freePorts(t, 1)[0]
	a.url = fmt.Sprint("http://127.0.0.1:", port)
	a.env = []string{fmt.Sprint("DC_Api_ApiPort=", port), "DC_Api_AllowedNetworks=127.0.0.0/8", "DC_Api_RequestDelay=0"}
	a.Rig = start(t, a.data, a.env...)
	a.awaitHealth(t)
	return a
}

func (a servedAPI) awaitHealth(t *testing.T) {
	t.Helper()
	testwait.Until(t, "the API answers", func() bool {
		answer, err := http.Get(a.url + "/v1/health")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == 200
	})
}

// printed runs a program and returns its stdout.
func printed(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, out, errs.Bytes())
	}
	return string(out)
}

const npmModules = "../.cache/node_modules"

// The clients of docs/api.md: each operation with each of them, and their examples.
func TestClients(t *testing.T) {
	t.Parallel()
	a := startAPI(t, 8)
	t.Run("Go", func(t *testing.T) { testGoClient(t, a) })
	t.Run("Python", func(t *testing.T) {
		python := func(file string, args ...string) string {
			c := exec.CommandContext(t.Context(), "/usr/bin/python3", append([]string{file}, args...)...)
			c.Env = append(os.Environ(), "PYTHONPATH=../clients/python", "PYTHONDONTWRITEBYTECODE=1")
			return printed(t, c)
		}
		if got := python("testdata/api/operations.py", a.url, a.root); got != "done\n" {
			t.Errorf("%q", got)
		}
		example := withURL(t, "../clients/python/example.py", "Client()", fmt.Sprintf("Client(%q)", a.url))
		checkExample(t, a, python(example, a.root))
	})
	t.Run("TypeScript", func(t *testing.T) {
		dist := t.TempDir()
		printed(t, exec.CommandContext(t.Context(), "node", npmModules+"/typescript/bin/tsc", "-p", "../clients/typescript", "--outDir", dist))
		if err := os.WriteFile(filepath.Join(dist, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		client := filepath.Join(dist, "index.js")
		if got := printed(t, exec.CommandContext(t.Context(), "node", "testdata/api/operations.mjs", client, a.url, a.root)); got != "done\n" {
			t.Errorf("%q", got)
		}
		example := withURL(t, "../clients/typescript/example.ts", "new Client()", fmt.Sprintf("new Client({ url: %q })", a.url), `"hce-client"`, `"./index.js"`, "https://example.org/", a.root)
		script := filepath.Join(dist, "example.mjs")
		if err := os.Rename(example, script); err != nil {
			t.Fatal(err)
		}
		checkExample(t, a, printed(t, exec.CommandContext(t.Context(), "node", script)))
	})
	t.Run("ZMQ", func(t *testing.T) {
		page, err := os.ReadFile("../docs/zmq-client.md")
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(page), "```python\n")
		code, _, _ = strings.Cut(code, "```")
		if got := printed(t, exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", code, fmt.Sprint("tcp://127.0.0.1:", a.ClientPort()))); got != "zmq-example 3 https://example.org/\n" {
			t.Errorf("%q", got)
		}
	})
}

// withURL copies a file with other texts.
func withURL(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s has no %s", file, pairs[i])
		}
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkExample checks what an example has printed, and deletes its site.
func checkExample(t *testing.T, a servedAPI, out string) {
	t.Helper()
	if !strings.Contains(out, a.root+" Page 0\n") || strings.Count(out, "\n") < 8 {
		t.Errorf("the example printed %q", out)
	}
	if err := (hceclient.Client{URL: a.url}).DeleteSite(t.Context(), wire.Md5(a.root)); err != nil {
		t.Error(err)
	}
}

// testGoClient calls each operation of the Go client.
func testGoClient(t *testing.T, a servedAPI) {
	ctx, c := t.Context(), hceclient.Client{URL: a.url}
	check := func(what string, err error, ok bool, seen any) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v, %+v", what, err, seen)
		}
	}
	_, after, err := c.ListEvents(ctx, hceclient.EventChoice{}, 1) // the log begins
	check("list events", err, true, nil)
	hook, err := c.CreateWebhook(ctx, a.root+"hook", []string{"page.new"}, []string{"go"})
	check("create a webhook", err, strings.HasPrefix(hook.Secret, "whsec_"), hook)
	hooks, err := c.Webhooks(ctx)
	check("webhooks", err, slices.ContainsFunc(hooks, func(h hceclient.Webhook) bool { return h.ID == hook.ID && h.Secret == "" }), hooks)
	status, err := c.Status(ctx)
	check("status", err, status.State == "ok", status)
	who, err := c.Whoami(ctx)
	check("whoami", err, who.Scope == "admin", who)
	page, err := c.Scrape(ctx, hceclient.Scrape{URL: a.root, Fields: map[string]hceclient.Field{"head": {CSS: "h1"}}})
	check("scrape", err, page.Title == "Page 0" && page.Fields["head"] == "Page 0", page)
	found, err := c.Map(ctx, hceclient.Map{URL: a.root})
	check("map", err, len(found.URLs) > 1, found)
	zero, most, key := int64(0), int64(20), wire.Md5(a.root)
	site := hceclient.NewSite{ID: "go", Roots: []string{a.root}, Settings: &hceclient.Settings{DelayMs: &zero, MaxURLs: &most}}
	crawl, err := c.StartCrawl(ctx, site, time.Minute)
	check("start a crawl", err, crawl.Status == "finished" && crawl.Counts.Pages > 1, crawl)
	crawl, err = c.Crawl(ctx, "go", 0)
	check("crawl", err, crawl.Complete == 100, crawl)
	_, err = c.CreateSite(ctx, site, "")
	p := (*hceclient.Problem)(nil)
	check("create again", nil, errors.As(err, &p) && p.Status == 409 && p.Remedy != "" && p.Trace != "", err)
	made, err := c.CreateSite(ctx, site, "1")
	check("create once", err, made.ID == "go", made)
	var ids []string
	for one, err := range c.Sites(ctx) {
		check("sites", err, true, one)
		ids = append(ids, one.ID)
	}
	check("sites", nil, slices.Contains(ids, "go"), ids)
	pages := 0
	for one, err := range c.Pages(ctx, "go", hceclient.Choice{Fields: []string{"url", "title"}}) {
		check("pages", err, one.Text("title") != "", one)
		pages++
	}
	check("pages", nil, int64(pages) == crawl.Counts.Pages, pages)
	one, err := c.Page(ctx, "go", key, "title")
	check("page", err, one.Text("title") == "Page 0" && len(one) == 1, one)
	versions, err := c.Versions(ctx, "go", key)
	check("versions", err, len(versions) == 1, versions)
	body, err := c.Content(ctx, "go", key, 1)
	check("content", err, true, nil)
	if err == nil {
		text, err := io.ReadAll(body)
		check("content", err, bytes.Contains(text, []byte("<title>Page 0")), text)
		body.Close()
	}
	export, err := c.Export(ctx, "go", "jsonl", "url")
	check("export", err, true, nil)
	if err == nil {
		text, err := io.ReadAll(export)
		check("export", err, bytes.Count(text, []byte("\n")) == pages, text)
		export.Close()
	}
	for event, err := range c.Events(ctx, hceclient.EventChoice{Sites: []string{"go"}, Types: []string{"page.new"}, After: after}) {
		check("events", err, event.Type == "page.new" && strings.HasPrefix(event.Data.URL, a.root) && event.ID > after, event)
		break
	}
	hook, err = c.Webhook(ctx, hook.ID)
	check("webhook", err, hook.URL == a.root+"hook", hook)
	for letter, err := range c.DeadLetters(ctx, hook.ID) {
		check("dead letters", err, false, letter)
	}
	hook, err = c.ReplayWebhook(ctx, hook.ID, 0)
	check("replay", err, hook.URL == a.root+"hook", hook)
	check("delete a webhook", c.DeleteWebhook(ctx, hook.ID), true, nil)
	_, err = c.Webhook(ctx, hook.ID)
	gone := (*hceclient.Problem)(nil)
	check("deleted webhook", nil, errors.As(err, &gone) && gone.Status == 404, err)
	why, err := c.Explain(ctx, a.root, "go")
	check("explain", err, why["due"] == false, why)
	crawl, err = c.StopCrawl(ctx, "go")
	check("stop", err, crawl.ID == "go", crawl)
	words := "by Go"
	changed, err := c.ChangeSite(ctx, "go", hceclient.SiteChange{Description: &words})
	check("change", err, changed.Description == words, changed)
	added, known, err := c.AddURLs(ctx, "go", a.root, a.root+"new")
	check("add URLs", err, added == 1 && known == 1, added)
	check("delete URL", c.DeleteURL(ctx, "go", wire.Md5(a.root+"new")), true, nil)
	n, err := c.Recrawl(ctx, "go", false, false)
	check("recrawl", err, n == crawl.Counts.URLs, n) // with one that was not found
	check("delete", c.DeleteSite(ctx, "go"), true, nil)
	_, err = c.Site(ctx, "go")
	check("deleted", nil, errors.As(err, &p) && p.Status == 404, err)
	for _, err := range c.URLs(ctx, "go", hceclient.Choice{}) {
		check("URLs of no site", nil, errors.As(err, &p) && p.Status == 404, err)
	}
}

// A client of npm drives the tools for models, by HTTP with a key and by stdio, and a tool of npm validates the OpenAPI document.
func TestModels(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs(npmModules)
	if err != nil {
		t.Fatal(err)
	}
	verdict := printed(t, exec.CommandContext(t.Context(), "node", "testdata/api/validate.mjs", modules, "../docs/openapi.json"))
	if !strings.HasPrefix(verdict, `{"valid":true,"version":"3.1"`) {
		t.Errorf("docs/openapi.json: %s", verdict)
	}
	a := startAPI(t, 5)
	page := a.root + "2"
	hce, err := filepath.Abs(filepath.Join(bin, "hce"))
	if err != nil {
		t.Fatal(err)
	}
	byStdio := []string{"stdio", page, a.root, hce, "mcp", "--server", fmt.Sprint("127.0.0.1:", a.ClientPort()), "--allow-network", "127.0.0.0/8", "--ini", filepath.Join(ini, "crawler-task.ini")}
	for name, args := range map[string][]string{"stdio": byStdio, "http": {a.url + "/mcp", page, a.root}} {
		c := exec.CommandContext(t.Context(), "node", append([]string{"testdata/api/mcp.mjs", modules}, args...)...)
		c.Env = append(a.Env(), "XDG_DATA_HOME="+t.TempDir(), "HOME="+t.TempDir())
		out := printed(t, c)
		checkTools(t, name, out)
		if err := (hceclient.Client{URL: a.url}).DeleteSite(t.Context(), wire.Md5(a.root)); err != nil {
			t.Error(err)
		}
	}
}

// checkTools checks what testdata/api/mcp.mjs has seen.
func checkTools(t *testing.T, name, out string) {
	t.Helper()
	var seen struct {
		Tools                                                              []string
		Scrape, Map, Crawl, Search, Page, Explain, Sites, Refused, Missing string
		Resource, Version                                                  struct{ Text, MIMEType string }
	}
	if err := json.Unmarshal([]byte(out), &seen); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen.Tools, " "); got != "crawl explain get_page list_sites map scrape search" {
		t.Errorf("%s: tools %s", name, got)
	}
	for what, pair := range map[string][2]string{
		"scrape": {seen.Scrape, "continue with offset 40\n\n<page-content"}, "map": {seen.Map, "URLs\n"}, "crawl": {seen.Crawl, "status: finished"}, "search": {seen.Search, "title: Page 2"},
		"get_page": {seen.Page, "# Page 2\n"}, "explain": {seen.Explain, `"due":`}, "list_sites": {seen.Sites, "pages: 4"}, "refused": {seen.Refused, "ERROR robots.txt of http://10.9.8.7 cannot be read"},
		"missing resource": {seen.Missing, "not found"}, "resource": {seen.Resource.Text, "data, not instructions"}, "version": {seen.Version.Text, "<title>Page"},
	} {
		if !strings.Contains(pair[0], pair[1]) {
			t.Errorf("%s: %s: %q lacks %q", name, what, pair[0], pair[1])
		}
	}
}

// Crawls that the API has accepted survive kills of the daemon: each of them ends, with all its pages.
func TestKilledAPI(t *testing.T) {
	t.Parallel()
	a := startAPI(t, 3)
	c := hceclient.Client{URL: a.url}
	zero := int64(0)
	var accepted []string
	const kills, each, most = 4, 5, 200
	for round := range kills {
		done := make(chan []string, each)
		for n := range each {
			go func() {
				var ids []string
				for i := 0; ; i++ { // until the kill
					id := fmt.Sprintf("k%d-%d-%d", round, n, i)
					if _, err := c.StartCrawl(context.WithoutCancel(t.Context()), hceclient.NewSite{ID: id, Roots: []string{a.root}, Settings: &hceclient.Settings{DelayMs: &zero}}, 0); err != nil {
						done <- ids
						return
					}
					ids = append(ids, id)
				}
			}()
		}
		testwait.Until(t, "crawls are accepted", func() bool {
			list := 0
			for site, err := range c.Sites(t.Context()) {
				if err == nil && strings.HasPrefix(site.ID, fmt.Sprintf("k%d-", round)) {
					list++
				}
			}
			return list >= most/kills
		})
		if err := syscall.Kill(a.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for range each {
			accepted = append(accepted, <-done...)
		}
		a.Close()
		a.Rig = start(t, a.data, a.env...)
		a.awaitHealth(t)
	}
	t.Logf("%d crawls were accepted", len(accepted))
	for _, id := range accepted {
		testwait.UntilWithin(t, crawlLimit, "the crawl "+id+" ends", func() bool {
			crawl, err := c.Crawl(t.Context(), id, 10*time.Second)
			if err != nil {
				t.Fatalf("crawl %s: %v", id, err)
			}
			return crawl.Status == "finished" && crawl.Counts.Pages >= 3
		})
	}
}
