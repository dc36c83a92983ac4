//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// world is one machine or a cluster that has crawled a web.
type world struct {
	*rig.Rig
	dir string // of exports
	id  string // of the site
}

// command runs an operator's or a user's program and returns both outputs.
func (w world) command(t *testing.T, status int, program string, args ...string) (stdout, stderr string) {
	t.Helper()
	config := filepath.Join(ini, "dc-client.ini")
	if program == "dc-admin" {
		config = filepath.Join(ini, "dc-admin.ini")
	}
	stdout, stderr, got := run(t, program, append(args, "--config", config), "", w.Env()...)
	if got != status {
		t.Errorf("%s %v: exit status %d, want %d\n%.500s\n%s", program, args, got, status, stdout, stderr)
	}
	return stdout, stderr
}

// crawl waits until a world has crawled and processed the web.
func (w world) crawl(t *testing.T, web *rig.Web) world {
	t.Helper()
	w.id = newSite(t, w.Rig, rig.Site{Root: web.Root(), Filter: web.Filter()})
	out, _ := w.command(t, 0, "hce", "crawl", w.id)
	if want := fmt.Sprintf("%d URLs, %d pages", web.Hosts*web.Pages, web.Hosts*web.Pages); !strings.Contains(out, want) {
		t.Fatalf("%s\nwant %s", out, want)
	}
	return w
}

// What differs between two runs of one crawl, or between an answer of one machine and of several: times,
// names of nodes, the order in which pages were found, and how often they were.
var ownFields = []string{
	"host", "node", "port", "time", "id", "cDate", "uDate", "tcDate", "tcDateProcess", "tcDateLong", "lastModified", "contentDate", "eTag", "batchId", "crawlingTime",
	"processingTime", "totalTime", "depth", "parentMd5", "freq", "avgSpeed", "avgSpeedCounter", "iterations", "mRate", "mRateCounter", "pDate", "internalLinks", "linksI", "linksE",
	"headers", "requests", "cookies", "dbFields", "contentURLMd5", "size",
}

// sameForAll removes what differs, also inside of processed contents.
func sameForAll(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if slices.ContainsFunc(ownFields, func(own string) bool { return strings.EqualFold(own, name) }) {
				delete(v, name)
				continue
			}
			v[name] = sameForAll(v[name])
		}
	case []any:
		for i := range v {
			v[i] = sameForAll(v[i])
		}
	case string:
		var inside map[string]any
		if text, err := base64.StdEncoding.DecodeString(v); err == nil && json.Unmarshal(text, &inside) == nil {
			return sameForAll(inside)
		}
	}
	return value
}

// ask returns the answer to an operation, without what differs.
func (w world) ask(t *testing.T, op, request string) any {
	t.Helper()
	var answer any
	if err := w.Ask(t.Context(), op, json.RawMessage(strings.ReplaceAll(request, "SITE", w.id)), &answer); err != nil {
		t.Errorf("%s %s: %v", op, request, err)
	}
	return sameForAll(answer)
}

// exports returns the contents of an export in several formats.
func (w world) exports(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for format, args := range map[string][]string{"jsonl": {"--fields", "url,status,title,text,contentMd5,size"}, "csv": {"--fields", "url,title"}, "warc": nil, "md": nil} {
		out := filepath.Join(w.dir, format)
		w.command(t, 0, "hce", append([]string{"export", w.id, "--format", format, "--out", out}, args...)...)
		all[format] = exportText(t, out)
	}
	return all
}

var warcURI = regexp.MustCompile(`(?m)^WARC-(Type|Target-URI|Payload-Digest): .*$`)

// exportText returns the lines of a file, the names and sizes of the files of a folder, or what names
// the pages of a WARC file.
func exportText(t *testing.T, path string) string {
	t.Helper()
	var list []string
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(e.Name(), " ", e.IsDir() || info.Size() > 100))
	}
	if err != nil {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if list = warcURI.FindAllString(string(text), -1); list == nil {
			list = strings.Split(string(text), "\n")
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// A cluster of three nodes gives the answers of one machine: counters, order, limits, contents, changes
// and exports.
func TestClusterAnswersAsOneMachine(t *testing.T) {
	web, err := rig.StartWeb(6, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	machine := world{Rig: start(t, t.TempDir()), dir: t.TempDir()}.crawl(t, web)
	c := startMonitored(t, "n1", "n2", "n3")
	whole := world{Rig: c.Rig, dir: t.TempDir()}.crawl(t, web)
	both := func(op, request string) {
		t.Helper()
		for _, difference := range differences("cluster", machine.ask(t, op, request), whole.ask(t, op, request)) {
			t.Errorf("%s %s: %.300s", op, request, difference)
		}
	}
	fetch := func(order, limit, more string) {
		t.Helper()
		both("URL_FETCH", fmt.Sprintf(`[{"sitesList":["SITE"],"urlsCriterions":{"WHERE":"1","ORDER BY":"%s"%s}%s}]`, order, limit, more))
	}
	both("SITE_STATUS", `{"id":"SITE"}`)
	both("SITE_FIND", `{"url":null,"criterions":{"WHERE":"1","ORDER BY":"Id"}}`)
	fetch("URL ASC", `,"LIMIT":1000`, `,"maxURLs":1000`)
	fetch("URL DESC", `,"LIMIT":7`, "")
	fetch("LENGTH(URL) DESC, URLMd5", `,"LIMIT":"5,9"`, `,"maxURLs":1000`)
	fetch("URLMd5", `,"LIMIT":[50,100]`, `,"maxURLs":1000`)
	fetch("URLMd5", "", `,"maxURLs":4`)
	fetch("URLMd5", "", `,"maxURLs":4,"algorithm":1`)
	first := fmt.Sprintf(`{"siteId":"SITE","url":%q}`, web.Root())
	other := fmt.Sprintf(`{"siteId":"SITE","url":%q}`, web.Root()+"page/3.html")
	unknown := `{"siteId":"SITE","url":"http://unknown.example/"}`
	both("URL_STATUS", "["+first+","+unknown+","+other+"]")
	both("URL_CONTENT", "["+first+","+unknown+","+other+"]")
	both("URL_VERIFY", "["+first+","+unknown+"]")
	both("URL_UPDATE", `[{"siteId":"SITE","priority":9,"criterions":{"WHERE":"1","ORDER BY":"URL DESC","LIMIT":3}},`+strings.TrimSuffix(first, "}")+`,"priority":8}]`)
	fetch("Priority DESC, URLMd5", `,"LIMIT":5`, "")
	both("URL_DELETE", `[{"siteId":"SITE","delayedType":1,"criterions":{"WHERE":"URL<>'`+web.Root()+`'","ORDER BY":"URLMd5","LIMIT":"2,4"}}]`)
	fetch("URLMd5", `,"LIMIT":1000`, `,"maxURLs":1000`)
	both("SITE_STATUS", `{"id":"SITE"}`)
	if list, _ := whole.ask(t, "URL_FETCH", `[{"sitesList":["SITE"],"urlsCriterions":{"WHERE":"1","LIMIT":1000},"maxURLs":1000}]`).([]any); len(list) != web.Hosts*web.Pages-4 {
		t.Errorf("%d URLs", len(list))
	}
	exports, wanted := whole.exports(t), machine.exports(t)
	for format, want := range wanted {
		if got := exports[format]; got != want || len(want) < 100 {
			t.Errorf("export %s:\ncluster %.500s\nmachine %.500s", format, got, want)
		}
	}

	checkSilent(t, c, whole, exports["jsonl"])
	both("SITE_DELETE", `{"id":"SITE","taskType":1,"delayedType":1}`)
	both("SITE_STATUS", `{"id":"SITE"}`)
	for _, name := range []string{"n1", "n2", "n3"} {
		if n := number(t, database(t, c.NodeData(name)), "SELECT COUNT(*) FROM sites WHERE site=?", whole.id); n != 0 {
			t.Errorf("node %s has the deleted site", name)
		}
	}
}

// The operations of docs/requests.md have the same answers in a cluster.
func TestRequestsPageOfACluster(t *testing.T) {
	text, err := os.ReadFile(requestsPage)
	if err != nil {
		t.Fatal(err)
	}
	c := startMonitored(t, "n1", "n2", "n3")
	for _, e := range readExamples(t, string(text)) {
		if e.command || e.op == "SQL_CUSTOM" { // of an operator; one answer for each node
			continue
		}
		printed, got := decodeJSON(t, e.answer), e.send(t, c.Rig)
		if object, ok := printed.(map[string]any); !ok || object["itemsList"] == nil {
			got = nodeAnswer(got)
		}
		for _, difference := range differences("answer", printed, got) {
			t.Errorf("%s:%d: %s: %.300s", requestsPage, e.line, e.op, difference)
		}
	}
}

// monitored is a cluster with a status server.
type monitored struct {
	*rig.Cluster
	port int
}

// startMonitored starts a cluster whose nodes are silent after ten seconds.
func startMonitored(t *testing.T, nodes ...string) monitored {
	t.Helper()
	port := freePorts(t, 1)[0]
	c := startCluster(t, rig.Options{Env: []string{"DC_Cluster_node_timeout=10", fmt.Sprint("DC_StatusServer_StatusPort=", port)}}, nodes...)
	return monitored{c, port}
}

// checkSilent kills a node: each answer that needs it fails with its name, an export continues when it
// is back.
func checkSilent(t *testing.T, c monitored, w world, wanted string) {
	t.Helper()
	c.KillNode("n2")
	named := func(status int, program string, args ...string) {
		t.Helper()
		if stdout, stderr := w.command(t, status, program, args...); !strings.Contains(stdout+stderr, "n2") {
			t.Errorf("%s %v does not name n2:\n%.500s\n%s", program, args, stdout, stderr)
		}
	}
	out := filepath.Join(w.dir, "part.jsonl")
	export := []string{"export", w.id, "--out", out, "--fields", "url,status,title,text,contentMd5,size"}
	named(1, "hce", "site", "pause", w.id) // waits until the node is silent; it makes the change later
	named(3, "hce", export...)
	named(3, "hce", "status")
	named(1, "hce", "doctor")
	named(3, "hce", "site", "ls")
	named(3, "hce", "site", "show", w.id)
	named(3, "hce", "url", "ls", w.id)
	named(1, "dc-client", "--strict", "-cmd", "SITE_STATUS", "-ff", `{"id":"`+w.id+`"}`)
	named(0, "hce", "top", "--once", "--interval", "500ms")
	named(0, "dc-admin", "top")
	named(0, "dc-admin", "--cmd", "STAT")
	testwait.UntilWithin(t, time.Minute, "/healthz names n2", func() bool { // its view of the nodes is some seconds old
		_, text := page(t, c.port, "/healthz")
		return strings.Contains(text, `"silentNodes":["n2"]`)
	})
	if _, text := page(t, c.port, "/readyz"); !strings.Contains(text, "node n2 gives no sign of life") {
		t.Errorf("/readyz: %s", text)
	}
	if _, text := page(t, c.port, "/metrics"); !strings.Contains(text, `dc_node_up{node="n2",state="silent"} 0`) || !strings.Contains(text, `dc_node_up{node="n1",state="ready"} 1`) {
		t.Errorf("/metrics: %.100s", text)
	}
	if err := c.StartNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	w.command(t, 0, "hce", export...)
	if got := exportText(t, out); got != wanted {
		t.Errorf("export after the node was away:\n%.1000s\nwant\n%.1000s", got, wanted)
	}
	if text, _ := w.command(t, 0, "hce", "site", "ls"); !strings.Contains(text, "paused") {
		t.Errorf("the change is lost: %s", text)
	}
}
