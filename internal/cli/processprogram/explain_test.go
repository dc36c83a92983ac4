package processprogram

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

const explainedSite = "0123456789abcdef0123456789abcdef"

// explainedPages are pages of a site with filters and templates.
var explainedPages = map[string][]byte{
	"http://a.test/news/1": []byte(`<html lang=en><title>Tides</title><h1>The tides</h1><time datetime=2026-01-05>5 January</time><p class=t>` +
		strings.Repeat("The moon pulls the sea twice a day, and the sun helps. ", 10) + `</p><img src=x.png>`),
	"http://a.test/private/1": []byte("<p>x"),
	"http://a.test/news/2":    []byte("<p>An advertisement."),
}

// explainedMore are the filters and templates of the site.
const explainedMore = `,"filters":[
 {"pattern":"/private/","stage":7,"action":-1,"operationCode":0,"state":1},
 {"pattern":"advertisement","stage":2,"action":-1,"operationCode":0,"state":1}],
"properties":{"PDATE_SOURCES_MASK":"48","SCRAPER_METRICS":{"WORDS_NUMBER":null},"template":{"select":"longest","templates":[
 {"name":"news","tags":{"title":["//h1"],"pubdate":[{"target":"//time","type":"datetime"}],"text":[".t"]}},
 {"name":"short","tags":{"title":["//title"],"bad":["//h1["]}},
 {"name":"shop","condition":{"field":"url","pattern":"http://shop"},"tags":{"title":["//h1"]}}]}}`

// explain runs --explain and returns its answer.
func explain(t *testing.T, home string, args ...string) (e process.Explanation, text string) {
	t.Helper()
	stdout, stderr, status := explainCommand(t, home, append([]string{"--explain"}, args...)...)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &e); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return e, stdout
}

func explainCommand(t *testing.T, home string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := clitest.Command(t, "", append([]string{"-c", filepath.Join("..", "..", "..", "ini", "processor-task.ini")}, args...)...)
	c.Env = append(c.Env, "DC_Application_data_dir="+home)
	return clitest.Output(t, c)
}

// keys returns the paths of all members of a JSON value.
func keys(prefix string, value any) (list []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			path := strings.TrimPrefix(prefix+"."+name, ".")
			list = append(append(list, path), keys(path, v)...)
		}
	case []any:
		for _, v := range value {
			list = append(list, keys(prefix, v)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Tools rely on the keys of the answer; --explain says what decided, and stores nothing.
func TestExplain(t *testing.T) {
	home := t.TempDir()
	storePages(t, home, explainedSite, explainedPages, explainedMore)
	stored := func() string {
		repo, closeAll := openStores(t, home)
		defer closeAll()
		text, err := json.Marshal(rowsOf(t, repo, explainedSite, explainedPages))
		if err != nil {
			t.Fatal(err)
		}
		site, err := repo.Site(t.Context(), explainedSite)
		if err != nil {
			t.Fatal(err)
		}
		counters, _ := json.Marshal(site)
		return string(text) + string(counters)
	}
	before := stored()
	e, text := explain(t, home, "http://a.test/news/1", "--site", explainedSite)
	var plain map[string]any
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "explain.keys"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(keys("", plain), "\n") + "\n"; got != string(golden) {
		t.Errorf("keys:\n%s", got)
	}
	x := e.Extraction
	if !e.Due || x == nil || x.Reader != "template" || len(x.Templates) != 3 || x.Date == nil || len(x.Results) != 1 {
		t.Fatal(text)
	}
	if one, two, three := x.Templates[0], x.Templates[1], x.Templates[2]; !one.Chosen || one.Tags != 3 || two.Chosen || two.Tags != 1 ||
		two.Characters != 5 || !strings.Contains(three.Reason, "condition does not hold") {
		t.Errorf("templates %+v", x.Templates)
	}
	if x.Date.Date != "2026-01-05 00:00:00" || x.Date.Source != "the page (32)" || x.PDate != x.Date.Date || !strings.Contains(strings.Join(x.Date.Steps, "\n"), "pubdate has") {
		t.Errorf("date %+v, pDate %s", x.Date, x.PDate)
	}
	if len(x.Problems) != 1 || !slices.Equal(x.Problems[0].ErrorNames, []string{"SCRAPER_ERROR"}) || !strings.Contains(x.Problems[0].Message, `tag "bad", rule 1`) || !slices.Equal(x.ErrorNames, x.Problems[0].ErrorNames) {
		t.Errorf("problems %+v, errors %v", x.Problems, x.ErrorNames)
	}
	if x.Results[0].From != `template "news"` || x.Results[0].Metrics["WORDS_NUMBER"] < 100 {
		t.Errorf("results %+v", x.Results)
	}
	if len(e.Filters) != 3 || e.Filters[0].On != "URL" || e.Filters[2].Stage != 2 || !e.Filters[2].Accepted || e.Filters[2].Rules[0].Matches {
		t.Errorf("filters %+v", e.Filters)
	}
	for _, c := range []struct {
		name, url string
		site      string
		extracted bool
		reason    string
	}{
		{"filter of stage 7", "http://a.test/private/1", explainedSite, false, "the filters of stage 7 refuse its URL"},
		{"filter of stage 2", "http://a.test/news/2", explainedSite, true, "a filter refuses its raw content"},
		{"not crawled", "http://a.test/news/3", explainedSite, false, "the URL is no row of the site: crawl it first"},
		{"unknown site", "http://a.test/news/1", "fedcba9876543210fedcba9876543210", false, "SITE_NEW"},
		{"invalid URL", "mailto:x", explainedSite, false, "give an absolute one of http or https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, text := explain(t, home, c.url, "--site", c.site)
			if e.Due || (e.Extraction != nil) != c.extracted || !strings.Contains(strings.Join(e.Reasons, "\n"), c.reason) {
				t.Error(text)
			}
		})
	}
	if after := stored(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// Without a template, the scores are those of extractors and the choice of lines.
func TestExplainExtractors(t *testing.T) {
	home := t.TempDir()
	storePages(t, home, explainedSite, explainedPages, `,"properties":{"PROCESS_CTYPES":"text/html","SCRAPER_METRICS":"{\"CONTENT_SIZE\":null}","DEFAULT_METRIC":"CONTENT_SIZE",
		"PROCESSOR_PROPERTIES":"{\"algorithm\":{\"algorithm_name\":\"two\"},\"modules\":{\"two\":[\"MLExtractor\",\"NewspaperExtractor\"]}}"}`)
	e, text := explain(t, home, "http://a.test/news/1", "--site", explainedSite)
	x := e.Extraction
	if x == nil || x.Reader != "extractors" || x.Algorithm != "two" || x.Metric != "CONTENT_SIZE" || len(x.Results) != 3 || x.Engine == nil {
		t.Fatal(text)
	}
	from := map[string]bool{}
	for i, r := range x.Results {
		from[r.From] = true
		if i > 0 && r.Metrics["CONTENT_SIZE"] > x.Results[i-1].Metrics["CONTENT_SIZE"] {
			t.Errorf("results are not in their order: %+v", x.Results)
		}
	}
	if want := map[string]bool{"merged": true, "MLExtractor": true, "NewspaperExtractor": true}; !maps.Equal(from, want) {
		t.Errorf("results %+v", x.Results)
	}
	if e := x.Engine; e.Lines == 0 || e.Chosen == 0 || e.Sure <= 0 || len(e.Kinds) == 0 {
		t.Errorf("engine %+v", e)
	}
}

// The templates of TEMPLATE_SOURCE are those that a batch would use. An explanation does not count as
// use, and a source that cannot be read is an error of the page.
func TestExplainTemplateSources(t *testing.T) {
	home, folder := t.TempDir(), t.TempDir()
	clitest.Write(t, folder, "t.json", `{"tags":{"headline":["//title"]}}`)
	server, _, requests := remoteServers(t)
	properties := map[string]string{"TEMPLATE_SOURCE": `[
		{"name":"story","source":"http","request":"` + server + `/t.json","schedule":{"type":3,"step":60}},
		{"name":"file","source":"file","request":"t.json","schedule":{"type":1}},
		{"name":"later","source":"file","request":"t.json","schedule":{"type":2,"at":"2999-01-01 00:00"}},
		{"name":"gone","source":"http","request":"` + server + `/none","schedule":{"type":1}}]`}
	page := map[string][]byte{"http://a.test/1": []byte("<title>Harbour</title><h1>Harbour news</h1><p>The harbour opens.")}
	storePages(t, home, explainedSite, page, withProperties(t, properties))
	t.Setenv("DC_CrawlerTask_AllowedNetworks", "127.0.0.1/32")
	t.Setenv("DC_ProcessorTask_template_dir", folder)
	for n := range 2 {
		e, text := explain(t, home, "http://a.test/1", "--site", explainedSite)
		x := e.Extraction
		if x == nil || !e.Due || x.Reader != "template" || len(x.Templates) != 2 || x.Templates[0].Name != `"story"` || !x.Templates[0].Chosen || len(e.Site.Warnings) != 0 {
			t.Fatal(text)
		}
		var due []bool
		for _, s := range x.Sources {
			due = append(due, s.Due)
		}
		if !slices.Equal(due, []bool{true, true, false, true}) || x.Sources[0].Error != "" || !strings.Contains(x.Sources[3].Error, "status 404") {
			t.Errorf("sources %+v", x.Sources)
		}
		if !slices.Equal(x.ErrorNames, []string{"TEMPLATE_SOURCE"}) || len(x.Problems) != 1 || x.Problems[0].Message != x.Sources[3].Error {
			t.Errorf("errors %v, problems %+v", x.ErrorNames, x.Problems)
		}
		if got := requests.Load(); got != int64(n+1) {
			t.Errorf("%d requests for the template", got)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "dc_template_sources")); !os.IsNotExist(err) {
		t.Errorf("the schedule has a state: %v", err)
	}
}

// A row that the daemon does not select is not due: its processingDelay runs, or its crawl failed.
func TestExplainSelection(t *testing.T) {
	home := t.TempDir()
	const url = "http://a.test/1"
	storePages(t, home, explainedSite, map[string][]byte{url: []byte("<title>T</title><p>x")})
	repo, closeAll := openStores(t, home)
	defer closeAll()
	job := storage.Job{Repository: repo}
	for _, c := range []struct {
		delay   int
		changed string // SQL
		mask    errormask.Mask
		reason  string // "": it is due
	}{
		{0, "NOW()", 0, ""},
		{60000, "NOW()", 0, "processingDelay is 60000 ms: the daemon selects the row when"},
		{60000, "DATE_SUB(NOW(), INTERVAL 2 MINUTE)", 0, ""},
		{0, "NOW()", errormask.Timeout, "does not select the row with 20 bytes, 1 fetches and the errors [REQUEST_TIMEOUT]"},
	} {
		request := fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"urlMd5":%q,"processingDelay":%d,"tcDate":%q,"errorMask":%d}]]`, explainedSite, urlkey.Of(url), c.delay, c.changed, c.mask)
		if _, err := job.Run(t.Context(), json.RawMessage(request)); err != nil {
			t.Fatal(err)
		}
		e, text := explain(t, home, url, "--site", explainedSite)
		if e.Due != (c.reason == "") || e.Row.Delay != int64(c.delay) || len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], c.reason) {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

func TestOptionsOfExplainAlone(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--explain"}, "--explain needs a value (URL)"},
		{[]string{"--explain", "http://a.test/", "--site", "../x"}, "--site"},
		{[]string{"--site", explainedSite}, "--site goes with --explain URL"},
	} {
		if stdout, stderr, status := explainCommand(t, home, c.args...); status != 1 || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: status %d, %q, %q", c.args, status, stdout, stderr)
		}
	}
}
