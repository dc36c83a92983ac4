//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

var aPropertyRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|.*\\| `([^|]*)` \\|$")

// malformedValues returns a value of each property that stops a site, which cannot be read: an example of the page
// with a part that is missing or of another type.
func malformedValues(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/properties.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, row := range aPropertyRow.FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(settings.Guards, name[1]) {
				continue
			}
			values[name[1]] = "31x28 y"
			if strings.HasPrefix(row[2], "{") || strings.HasPrefix(row[2], "[") {
				values[name[1]] = row[2][:len(row[2])-1]
			}
		}
	}
	values["ROBOTS_REL"] = `["nofollow"]` // other texts are words
	values["SITEMAPS"] = "ftp://x.test/"  // or relative URLs
	for _, name := range settings.Guards {
		if values[name] == "" {
			t.Errorf("docs/properties.md has no row of %s", name)
		}
	}
	return values
}

// A property that cannot be read stops the work of its site before the first request, whatever program sets it or
// crawls: the message names the property and what was expected.
func TestMalformedProperties(t *testing.T) {
	t.Parallel()
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/html") }))
	m := malformed{t, w, malformedValues(t)}
	m.checkHCE()
	m.checkTasks()
	m.checkDaemon()
	m.checkArchive()
	if n := w.count(); n > 0 {
		t.Errorf("%d requests: %v", n, w.requests())
	}
}

type malformed struct {
	*testing.T
	w      *witness
	values map[string]string
}

// named checks that a text names each property.
func (m malformed) named(where, text string) {
	m.Helper()
	for name := range m.values {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			m.Errorf("%s says nothing about %s:\n%s", where, name, text)
		}
	}
}

// checkHCE sets all properties with hce, which refuses them.
func (m malformed) checkHCE() {
	m.Helper()
	data, root := filepath.Join(m.TempDir(), "node"), m.w.URL+"/hce"
	var properties []string
	for name, value := range m.values {
		properties = append(properties, "--property", name+"="+value)
	}
	hce(m.T, 0, "site", "new", "http://127.0.0.1:1/", "--data", data)
	for _, args := range [][]string{{"site", "new", root}, {"site", "edit", "http://127.0.0.1:1/"}, {"crawl", root, loopback}} {
		_, said := hce(m.T, 2, append(append(args, properties...), "--data", data)...)
		m.named("hce "+args[0]+" "+args[1], said)
	}
}

// site is SITE_NEW of a site with one property.
func (m malformed) site(kind, name string) (root string, request map[string]any) {
	root = m.w.URL + "/" + kind + "/" + name
	return root, map[string]any{"urls": []string{root}, "requestDelay": 0, "properties": map[string]string{name: m.values[name]}}
}

// checkTasks stores the sites with db-task, and gives crawler-task a batch with all of them.
func (m malformed) checkTasks() {
	m.Helper()
	data := m.TempDir()
	env := []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8", "DC_Application_log=stderr"}
	var requests strings.Builder
	items := []map[string]any{}
	for name := range m.values {
		root, request := m.site("task", name)
		line, err := json.Marshal([]any{"SITE_NEW", request})
		if err != nil {
			m.Fatal(err)
		}
		requests.WriteString(string(line) + "\n")
		items = append(items, map[string]any{"siteId": rig.SiteID(root), "urlId": "", "urlObj": map[string]any{"url": root, "status": 1}})
	}
	if stdout, stderr, status := run(m.T, "db-task", []string{"-c", filepath.Join(ini, "db-task.ini")}, requests.String(), env...); status != 0 || strings.Count(stdout, `"errorCode":0`) != len(m.values) {
		m.Fatalf("db-task: status %d\n%s\n%s", status, stdout, stderr)
	}
	batch, err := json.Marshal(map[string]any{"id": 7, "items": items})
	if err != nil {
		m.Fatal(err)
	}
	_, stderr, status := run(m.T, "crawler-task", []string{"-c", filepath.Join(ini, "crawler-task.ini")}, string(batch), env...)
	if status != 0 {
		m.Errorf("crawler-task: status %d\n%s", status, stderr)
	}
	m.named("crawler-task", stderr)
	if n := number(m.T, database(m.T, data), `SELECT count(*) FROM "dc_sites.sites" WHERE State=3`); n != len(m.values) {
		m.Errorf("crawler-task suspended %d sites of %d", n, len(m.values))
	}
}

// checkDaemon sends the sites with dc-client and SITE_UPDATE to a daemon, which crawls none of them.
func (m malformed) checkDaemon() {
	m.Helper()
	r := start(m.T, m.TempDir())
	all, err := json.Marshal(map[string]any{"id": "all", "urls": []string{m.w.URL + "/all"}, "properties": m.values})
	if err != nil {
		m.Fatal(err)
	}
	for _, op := range []string{"SITE_NEW", "SITE_UPDATE"} {
		_, stderr, status := run(m.T, "dc-client", []string{"--strict", "-cmd", op, "-ff", string(all), "-dcc_clientPort", fmt.Sprint(r.ClientPort())}, "")
		if status != 2 {
			m.Errorf("dc-client --strict %s: status %d\n%s", op, status, stderr)
		}
		m.named("dc-client --strict "+op, stderr)
	}
	ids := map[string]string{} // names of properties
	for i, name := range slices.Sorted(maps.Keys(m.values)) {
		root, request := m.site("daemon", name)
		id := rig.SiteID(root)
		ids[id] = name
		if i%2 == 1 { // by SITE_UPDATE
			request["state"], request["properties"] = wire.SiteSuspended, map[string]string{}
		}
		var answer wire.GeneralResponse
		if err := r.Ask(m.Context(), "SITE_NEW", request, &answer); err != nil || answer.ErrorCode != 0 {
			m.Fatalf("SITE_NEW: %+v, %v", answer, err)
		}
		if i%2 == 1 {
			update := map[string]any{"id": id, "state": wire.SiteActive, "properties": map[string]string{name: m.values[name]}}
			if err := r.Ask(m.Context(), "SITE_UPDATE", update, &answer); err != nil || answer.ErrorCode != 0 {
				m.Fatalf("SITE_UPDATE: %+v, %v", answer, err)
			}
		}
	}
	m.awaitSuspended(r, ids)
}

func (m malformed) awaitSuspended(r *rig.Rig, ids map[string]string) {
	m.Helper()
	var left []string
	defer func() {
		if m.Failed() {
			m.Logf("not suspended: %q", left)
		}
	}()
	testwait.UntilWithin(m.T, time.Minute, "all sites are suspended", func() bool {
		var sites []wire.Site
		request := map[string]any{"url": nil, "excludeList": []string{"urls", "filters", "properties"}, "criterions": map[string]any{"WHERE": "`State`<>3"}}
		if err := r.Ask(m.Context(), "SITE_FIND", request, &sites); err != nil {
			m.Fatal(err)
		}
		left = nil
		for _, s := range sites {
			if ids[s.ID] != "" {
				left = append(left, ids[s.ID])
			}
		}
		return left == nil
	})
}

// checkArchive starts the archive with settings that cannot be read.
func (m malformed) checkArchive() {
	m.Helper()
	folder := m.TempDir()
	archiveRun(m.T, 0, "init", folder)
	cmd := exec.Command(filepath.Join(bin, "archive"), "crawler", "--root", folder, "--interval", "0", m.w.URL+"/archive")
	talk, keys := &testlog.Recorder{}, []string{"depth", "instances", "robots", "delay", "allow_networks"}
	cmd.Env, cmd.Stderr = os.Environ(), talk
	for _, key := range keys {
		cmd.Env = append(cmd.Env, "DC_Crawler_"+key+"=31x28 y")
	}
	_ = childprocess.Run(cmd) // its status is looked at
	if status := cmd.ProcessState.ExitCode(); status != 2 {
		m.Errorf("archive crawler: status %d", status)
	}
	for _, key := range keys {
		if !strings.Contains(talk.String(), key) {
			m.Errorf("archive crawler says nothing about %s:\n%s", key, talk)
		}
	}
}
