package processprogram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/process"
)

const trialPage = `<!DOCTYPE html><meta charset=iso-8859-1><title>T</title><h1>Caf` + "\xe9" + ` opens</h1><p id=no>No 12</p><ul><li><b>1</b><i>x</i></li><li><b>2</b></li></ul>`

const trialTemplate = `{"templates":[
 {"name":"other","tags":{"title":["//h1"]},"condition":{"field":"url","pattern":"http://other"}},
 {"name":"story","mandatory":1,"tags":{"title":[{"target":"//h1"},{"target":"//title"}],"number":[{"target":"#no","postProcessing":"([0-9]+)"}],"by":[{"target":".by","default":"staff"}]}}]}`

// try runs --try-template with these files.
func try(t *testing.T, file, page string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return clitest.Output(t, tryCommand(t, file, page, args...))
}

func tryCommand(t *testing.T, file, page string, args ...string) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	clitest.Write(t, folder, "t.json", file)
	clitest.Write(t, folder, "p.html", page)
	ini, err := filepath.Abs(filepath.Join("..", "..", "..", "ini", "processor-task.ini"))
	if err != nil {
		t.Fatal(err)
	}
	c := clitest.Command(t, folder, append([]string{"-c", ini, "--try-template", "t.json"}, args...)...)
	c.Env = append(c.Env, "DC_Application_data_dir="+folder, "DC_Application_log=stderr")
	c.Stdin = strings.NewReader(page)
	return c
}

func TestTryTemplate(t *testing.T) {
	site := func(template, more string) string {
		text, err := json.Marshal(template)
		if err != nil {
			t.Fatal(err)
		}
		return `{"urls":["http://site.example/"],"properties":{"template":` + string(text) + more + `}}`
	}
	list := `{"tags":{"n":[{"target":"//b"}],"x":[{"target":"//i","mandatory":1}]}}`
	for name, c := range map[string]struct {
		file, page string
		args       []string
		status     int
		want       []string // parts of stdout, or of stderr
	}{
		"template": {trialTemplate, trialPage, []string{"p.html", "--url", "http://site.example/1"}, 0, []string{
			`template "story": 2 tags, chosen by select = first_nonempty`, "title              Café opens\n", "    rule 1  text //h1, first: 1 matches, used\n",
			"    rule 2  text //title, first: 0 matches, not needed: rule 1 has a value\n", `postProcessing made "12" of "No 12"`,
			"by                 staff  (default)\n", "its default is used", `template "other": not applied: its condition does not hold: url has to match http://other from the start`,
		}},
		"stdin":                 {trialTemplate, trialPage, []string{"-"}, 0, []string{"Café opens"}},
		"site":                  {site(trialTemplate, ""), trialPage, []string{"p.html"}, 0, []string{"Café opens"}},
		"items":                 {site(list, `,"PROCESSOR_NAME":"SCRAPER_MULTI_ITEMS"`), trialPage, []string{"p.html", "--url", "http://site.example/1"}, 0, []string{"items are the children of html/body/ul", "item 2 of the page is dropped: it has no x, which is mandatory", "  item 1\n    n                  1\n    order_number       1\n    source_url         http://site.example/1\n    x                  x\n"}},
		"mandatory":             {`{"templates":[{"mandatory":1,"tags":{"a":["//h6"]}}]}`, trialPage, []string{"p.html"}, 2, []string{"(no value)", "problem: template 1: it is mandatory, and found nothing", "error bits: MANDATORY_TEMPLATE"}},
		"problems":              {`{"tags":{"a":[{"target":"//h1[","path":1}]}}`, trialPage, []string{"p.html"}, 2, []string{`problem: template 1, tag "a", rule 1: "target": compile XPath`, `ignored: template 1, tag "a", rule 1: key "path" has no meaning`, "error bits: SCRAPER_ERROR"}},
		"output format":         {"\ufeff" + `{"templates":[{"tags":{"a":["//h1"]},"output_format":{"name":"jsn","item":"%a%"}}]}`, trialPage, []string{"p.html"}, 2, []string{`problem: template 1: output_format has "jsn" at "name"; expected json`, "error bits: TEMPLATE_SOURCE"}},
		"no XPath 1.0":          {`{"tags":{"a":["for $x in //h1 return $x"],"b":["//h1 = 'x'"]}}`, trialPage, []string{"p.html"}, 2, []string{"it is no XPath 1.0", "it gives true or false"}},
		"no template applies":   {`{"templates":[{"tags":{"a":["//h1"]},"state":0}]}`, trialPage, []string{"p.html"}, 2, []string{"not applied: its state is 0", "no template applies to the page"}},
		"invalid template":      {`{"tags":{"a":[{"target":[]}]}}`, trialPage, []string{"p.html"}, 1, []string{`processor-task: t.json: property template: template 1: "tags" tag "a", rule 1: "target" has []; expected a text`}},
		"site without template": {`{"urls":["http://a/"],"properties":{}}`, trialPage, []string{"p.html"}, 1, []string{"the site has no property template"}},
		"no page":               {trialTemplate, trialPage, nil, 1, []string{"--try-template needs a page"}},
		"not HTML":              {trialTemplate, "%PDF-1.4", []string{"p.html"}, 1, []string{"the page is no HTML", "templates have rules for HTML only"}},
		"no such page":          {trialTemplate, trialPage, []string{"q.html"}, 1, []string{"q.html: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, status := try(t, c.file, c.page, c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, part := range c.want {
				if !strings.Contains(stdout+stderr, part) {
					t.Errorf("no %q in\n%s%s", part, stdout, stderr)
				}
			}
		})
	}
}

// PAGE may be a URL: the request passes the egress guard, and has limits.
func TestTryTemplateOfURL(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new/page", http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		default:
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			fmt.Fprint(w, "<h1>Caf\xe9</h1><a href=next>x</a>", strings.Repeat(" ", 2000))
		}
	}))
	t.Cleanup(s.Close)
	const file = `{"tags":{"title":["//h1"],"next":[{"target":"//a","type":"link","canonicalizeURLs":1}]},"condition":{"field":"url","pattern":"http://127.*/old"}}`
	for name, c := range map[string]struct {
		path   string
		env    []string
		status int
		want   []string
	}{
		"redirected": {"/old", nil, 0, []string{"title              Café\n", s.URL + "/new/next"}},
		"guard":      {"/old", []string{"DC_ProcessorTask_AllowedNetworks="}, 1, []string{"address refused", "AllowedNetworks of processor-task.ini"}},
		"status":     {"/gone", nil, 1, []string{"the server answered with code 410"}},
		"size":       {"/old", []string{"DC_ProcessorTask_max_content_size=1024"}, 1, []string{"response too large", "max_content_size of processor-task.ini is 1024 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := tryCommand(t, file, "", s.URL+c.path)
			command.Env = append(append(command.Env, "DC_ProcessorTask_AllowedNetworks=127.0.0.0/8"), c.env...)
			stdout, stderr, status := clitest.Output(t, command)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, part := range c.want {
				if !strings.Contains(stdout+stderr, part) {
					t.Errorf("no %q in\n%s%s", part, stdout, stderr)
				}
			}
		})
	}
}

func TestTryTemplateAsJSON(t *testing.T) {
	stdout, stderr, status := try(t, trialTemplate, trialPage, "p.html", "--json", "--url", "http://site.example/1")
	var r process.TrialReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 {
		t.Fatal(err, status, stderr, stdout)
	}
	if r.Chosen != 0 || r.Templates[0].Results[0]["title"] != "Café opens" || r.Templates[0].Trace.Tags[1].Rules[0].Outcome != "used" || r.Templates[1].Applied {
		t.Errorf("%+v", r)
	}
}

// A page beyond its budget ends the trial with a message.
func TestTryTemplateIsBounded(t *testing.T) {
	t.Setenv("DC_ProcessorTask_max_item_time", "100")
	rules := strings.Repeat(`{"target":"//*[count(//*[count(//*) > 1]) > 1]","join":"concat"},`, 50) + `"//b"`
	_, stderr, status := try(t, `{"tags":{"a":[`+rules+`]}}`, strings.Repeat("<p>x", 5000), "p.html")
	if status != 1 || !strings.Contains(stderr, "more processor time than max_item_time (100ms)") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestOptionsOfTrialsAlone(t *testing.T) {
	for _, args := range [][]string{{"page.html"}, {"--json"}, {"--url", "x"}} {
		_, stderr, status := clitest.Run(t, filepath.Join("..", "..", "..", "ini"), args...)
		if status != 1 || !strings.Contains(stderr, "go with --try-template FILE") {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
}
