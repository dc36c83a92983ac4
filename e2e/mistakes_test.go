//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// TestMistakes has typical mistakes of users. Each ends with a documented exit status and a message
// that names the field, the value and a remedy. Nothing is stored, and the daemon goes on.
func TestMistakes(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	r := start(t, data)
	const root = "http://127.0.0.1:9/"
	site, err := r.NewSite(t.Context(), rig.Site{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"typo.json":     `{"urls":["https://a.example/"],"requestDelya":5}`,
		"property.json": `{"urls":["https://a.example/"],"properties":{"HTTP_HEADRES":"x"}}`,
		"filter.json":   `{"urls":["https://a.example/"],"filters":[{"pattern":"("}]}`,
		"scheme.json":   `{"urls":["a.example"]}`,
		"twice.json":    `{"urls":["https://a.example/","https://a.example/"]}`,
		"type.json":     `{"urls":["https://a.example/"],"maxURLs":"many"}`,
		"negative.json": `{"urls":["https://a.example/"],"maxURLs":-1}`,
		"broken.json":   `{"urls":[`,
		"empty.json":    ``,
		"urls.json":     `[{"siteId":"` + site + `","url":"` + root + `"}]`,
		"exists.jsonl":  "{}\n",
		"unknown.ini":   "[dcc]\nclientPrt = 1\n",
		"wrong.ini":     "[dcc]\ntimeout = soon\n",
		"broken.ini":    "[dcc\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	near := site[:len(site)-1] + "_"
	absolute := func(name string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := fmt.Sprintf("127.0.0.1:%d", r.ClientPort())
	hce := func(line string) []string {
		if !strings.Contains(line, "--server") && !strings.Contains(line, "--data") {
			line += " --server " + server
		}
		return append([]string{"hce"}, strings.Fields(line)...)
	}
	client := func(line string) []string {
		if !strings.Contains(line, "-c ") {
			line += " -c " + absolute(filepath.Join(ini, "dc-client.ini"))
		}
		return append([]string{"dc-client", "--strict"}, strings.Fields(line)...)
	}
	admin := func(line string) []string {
		words := strings.Fields(line)
		at := 0
		if words[0] == "top" {
			at = 1
		}
		return append(append(append([]string{"dc-admin"}, words[:at]...), "-c", absolute(filepath.Join(ini, "dc-admin.ini"))), words[at:]...)
	}
	daemon := func(line string) []string {
		return append([]string{"dc-daemon", "-c", absolute(filepath.Join(ini, "dc-daemon.ini"))}, strings.Fields(line)...)
	}
	before := number(t, database(t, data), `SELECT count(*) FROM "dc_sites.sites"`)
	for _, c := range []struct {
		args   []string
		env    string
		status int
		says   []string
	}{
		{hce("site new htps://a.example/"), "", 2, []string{"htps://a.example/", "did you mean https?"}},
		{hce("site new a.example"), "", 2, []string{`"a.example" has no scheme`, "did you mean https://a.example/"}},
		{hce("site new ftp://a.example/"), "", 2, []string{"ftp://a.example/", "only http and https"}},
		{hce("site new https://a.example/ --detph 3"), "", 2, []string{"--detph is unknown", "did you mean --depth?"}},
		{hce("site new https://a.example/ --depth -1"), "", 2, []string{"--depth", `"-1"`, "from 0"}},
		{hce("site new https://a.example/ --depth two"), "", 2, []string{"--depth", `"two"`, "from 0"}},
		{hce("site new https://a.example/ --delay 5"), "", 2, []string{"--delay", `"5"`, "write 5ms or 5s"}},
		{hce("site new https://a.example/ --max-pages 0"), "", 2, []string{"--max-pages", `"0"`, "from 1"}},
		{hce("site new https://a.example/ --property ROBOT_META=0"), "", 2, []string{"ROBOT_META", "did you mean ROBOTS_META?"}},
		{hce("site new https://a.example/ --property ROBOTS_META"), "", 2, []string{"--property", `"ROBOTS_META"`, "NAME=VALUE"}},
		{hce("site new https://a.example/ --set maxerrors=5"), "", 2, []string{"maxerrors", "did you mean maxErrors?"}},
		{hce("site new https://a.example/ --set maxErrors=-5"), "", 2, []string{"maxErrors", "-5", "is not 0 to"}},
		{hce("site new https://a.example/ --exclude re:("), "", 2, []string{"re:(", "regular expression"}},
		{hce("site new https://a.example/ --scope hosts"), "", 2, []string{"--scope", `"hosts"`, "did you mean host?"}},
		{hce("site new --file none.json"), "", 2, []string{"none.json", "no such file"}},
		{hce("site new --file empty.json"), "", 2, []string{"empty.json", "empty"}},
		{hce("site new --file broken.json"), "", 2, []string{"broken.json", "not JSON", "unexpected end"}},
		{hce("site new --file typo.json"), "", 2, []string{"Site.requestDelya", "did you mean requestDelay?"}},
		{hce("site new " + root), "", 2, []string{"exists already", "hce site edit"}},
		{hce("site show 127.0.0.1:8/"), "", 2, []string{`"127.0.0.1:8/" is not known`, "did you mean " + root, "hce site ls"}},
		{hce("site shw x"), "", 2, []string{`"shw" is unknown`, "did you mean show?"}},
		{hce("url show " + root + "nothing"), "", 2, []string{root + "nothing", "is not known", "hce explain"}},
		{hce("url add " + site + " " + root), "", 2, []string{root, "is known already", "hce site recrawl"}},
		{hce("url ls " + site + " --where Foo=1"), "", 2, []string{"column `Foo` is not known"}},
		{hce("url ls " + site + " --status newt"), "", 2, []string{"--status", `"newt"`, "did you mean new?"}},
		{hce("url ls " + site + " --limit -1"), "", 2, []string{"--limit", `"-1"`, "from 0"}},
		{hce("page " + root + " --html --text"), "", 2, []string{"choose one of --text"}},
		{hce("page " + root + " --version x"), "", 2, []string{"--version", `"x"`, "from 1"}},
		{hce("export " + site + " --format jsonll"), "", 2, []string{"--format", `"jsonll"`, "did you mean jsonl?"}},
		{hce("export " + site + " --out exists.jsonl"), "", 2, []string{"exists.jsonl", "it exists", "--force"}},
		{hce("export " + site + " --since yesterday"), "", 2, []string{"--since", `"yesterday"`, "2026-01-31"}},
		{hce("export " + site + " --out /proc/pages.jsonl"), "", 3, []string{"/proc/pages.jsonl", "no such file"}},
		{hce("status --server nonsense"), "", 2, []string{"--server", `"nonsense"`, "HOST:PORT"}},
		{hce("status --server 127.0.0.1:1"), "", 3, []string{"127.0.0.1:1", "connection refused", "start dc-daemon"}},
		{hce("status --data x --server " + server), "", 2, []string{"--data", "--server", "does not go with"}},
		{hce("crawl"), "", 2, []string{"URL... is missing", "--help"}},
		{hce("crawl https://a.example/ --allow-network nonsense"), "", 2, []string{"--allow-network", `"nonsense"`, "127.0.0.0/8"}},
		{hce("crawl https://a.example/ --out none/pages.jsonl"), "", 2, []string{"--out none/pages.jsonl", "the folder none does not exist"}},
		{hce("crawl mailto:me@a.example"), "", 2, []string{"has the scheme mailto", "only http and https"}},
		{hce("crawl http:///a.example"), "", 2, []string{"has no host", "did you mean http://a.example?"}},
		{hce("export " + site + " --where 1=1)OR(1=1"), "", 2, []string{"--where", "parentheses or quotes do not match"}},
		{hce("crawl https://a.example/ --markdown"), "", 2, []string{"--markdown is for --out"}},

		{client("-cmd SITE_NWE -f typo.json"), "", 2, []string{`--command "SITE_NWE"`, "did you mean SITE_NEW?"}},
		{client("-cmd SITE_NEW"), "", 2, []string{"the request is missing", "--file", "--fields"}},
		{client("-cmd SITE_NEW -f none.json"), "", 2, []string{"--file", "none.json", "no such file"}},
		{client("-cmd SITE_NEW -f broken.json"), "", 2, []string{"--file", "broken.json", "not JSON", "byte"}},
		{client("-cmd SITE_NEW -f /dev/stdin"), "", 2, []string{"--file", "/dev/stdin", "it is empty"}},
		{client("-cmd SITE_NEW -f type.json"), "", 2, []string{"Site.maxURLs", "many", "number"}},
		{client("-cmd SITE_NEW -f negative.json"), "", 2, []string{"Site.maxURLs", "-1", "is not 0 to"}},
		{client("-cmd SITE_NEW -f typo.json"), "", 2, []string{"Site.requestDelya", "did you mean requestDelay?"}},
		{client("-cmd SITE_NEW -f property.json"), "", 2, []string{"HTTP_HEADRES", "did you mean HTTP_HEADERS?"}},
		{client("-cmd SITE_NEW -f filter.json"), "", 2, []string{"Site.filters[0].pattern", `"("`, "does not compile"}},
		{client("-cmd SITE_NEW -f scheme.json"), "", 2, []string{"Site.urls[0]", `"a.example"`, "did you mean https://a.example/?"}},
		{client("-cmd SITE_NEW -f twice.json"), "", 2, []string{"Site.urls[1]", `"https://a.example/"`, "is given twice"}},
		{client(`-cmd SITE_STATUS -ff {"id":"` + near + `"}`), "", 2, []string{"SITE_STATUS.id", near, "did you mean " + site}},
		{client(`-cmd SITE_DELETE -ff {"id":"` + near + `"}`), "", 2, []string{"SITE_DELETE.id", near, "did you mean " + site}},
		{client("-cmd URL_NEW -f urls.json"), "", 2, []string{"URL_NEW[0].url", root, "is known already", "URL_UPDATE"}},
		{client(`-cmd SITE_UPDATE -ff {"id":"` + site + `","state":77}`), "", 2, []string{"SITE_UPDATE.state", "77", "1 to 8"}},
		{client(`-cmd URL_DELETE -ff {"siteId":"` + site + `","url":"` + root + `none","urlType":0}`), "", 2, []string{"URL_DELETE[0].url", root + "none", "is not known"}},
		{client(`-cmd URL_DELETE -ff {"siteId":"` + site + `","url":null,"criterions":{"WHRE":"1=1"}}`), "", 2, []string{"criterions.WHRE", "did you mean WHERE?"}},
		{client(`-cmd URL_STATUS -ff []`), "", 2, []string{"--fields", "it is a list", "--file"}},
		{client(`-cmd BATCH -ff {"items":[{"urlObj":{"url":"a.example"}}]}`), "", 2, []string{"BatchItem[0].urlObj.url", "did you mean https://a.example/?"}},
		{client(`-cmd SITE_FIND -ff {} --dcc_clientPort 1`), "", 3, []string{"127.0.0.1:1", "connection refused", "start dc-daemon"}},
		{client(`-cmd SITE_FIND -ff {} --dcc_clientPort x`), "", 2, []string{"--dcc_clientPort", `"x"`, "from 1 to 65535"}},
		{client(`-cmd SITE_FIND -ff {} -c wrong.ini`), "", 2, []string{"timeout", "soon", "from 1 to"}},
		{client(`-cmd SITE_FIND -ff {} -c broken.ini`), "", 2, []string{"broken.ini", "is not an ini file"}},
		{client(`-cmd SITE_FIND -ff {} -c unknown.ini`), "", 2, []string{"clientPrt", "did you mean clientPort?"}},
		{client(`-cmd SITE_FIND -ff {} -c ` + absolute(filepath.Join(ini, "processor-task.ini"))), "", 2, []string{"processor-task.ini", "[dcc]", "dc-client.ini"}},

		{admin("--cmd STATT"), "", 1, []string{"--cmd", `STATT`, "did you mean STAT?"}},
		{admin("--cmd STAT --classes SiteManager"), "", 1, []string{"SiteManager", "is unknown", "STAT of AdminInterfaceServer"}},
		{admin("--cmd GET --classes SitesManager"), "", 2, []string{"--fields is missing", "GET needs names"}},
		{admin("--cmd SET --classes BatchTasksManager --fields BatchDefaultMaxURL:1"), "", 1, []string{"BatchDefaultMaxURL", "did you mean BatchDefaultMaxURLs?"}},
		{admin("--cmd SET --classes BatchTasksManager --fields BatchDefaultMaxURLs:many"), "", 1, []string{"BatchDefaultMaxURLs", "many", "number"}},
		{admin("--cmd DRAIN --timeout -1"), "", 2, []string{"--timeout", `"-1"`, "from 1s to 168h"}},
		{admin("--cmd STAT --class SitesManager --force"), "", 2, []string{"--force", "for DRAIN alone"}},
		{admin("--cmd STAT"), "DC_dtma_clientPort=1", 3, []string{"127.0.0.1:1", "connection refused", "start dc-daemon"}},
		{admin("top --interval 0"), "", 2, []string{"--interval", `"0"`, "from 100ms to 1h"}},

		{daemon(""), "", 1, []string{"another daemon works in " + data, "process"}},
		{daemon(""), "DC_Application_data_dir=" + dir + "/own", 1, []string{"did not start", "listen on tcp://127.0.0.1:", "address already in use"}},
		{daemon(""), "DC_Application_data_dir=/proc/none", 1, []string{"/proc/none", "data_dir"}},
		{daemon("--check-config"), "DC_ClientInterfaceService_serverPort=99999", 1, []string{"serverPort", "99999", "65535"}},
	} {
		name := strings.Join(c.args, " ")
		cmd := exec.CommandContext(limited(t), absolute(filepath.Join(bin, c.args[0])), c.args[1:]...)
		cmd.Dir = dir
		stdout, stderr, status := output(t, cmd, "", append(r.Env(), c.env)...)
		if status != c.status {
			t.Errorf("%s: exit status %d, want %d\n%s%s", name, status, c.status, stdout, stderr)
		}
		for _, want := range c.says {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s: no %q in\n%s%s", name, want, stdout, stderr)
			}
		}
	}
	if n := number(t, database(t, data), `SELECT count(*) FROM "dc_sites.sites"`); n != before {
		t.Errorf("%d sites became %d", before, n)
	}
	var found wire.Site
	if err := r.Ask(t.Context(), "SITE_STATUS", map[string]any{"id": site}, &found); err != nil || found.State != wire.SiteActive {
		t.Errorf("the site is in state %d: %v", found.State, err)
	}
}
