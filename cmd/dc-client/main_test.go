package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/wire"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// daemon answers each operation, with nothing to SITE_FIND and with a wrong shape to
// SITE_CLEANUP. It returns its port.
func daemon(t *testing.T) string {
	t.Helper()
	return clitest.Serve(t, func(e wire.Event) []wire.Event {
		answer := wire.Event{Class: e.Class, UID: e.UID, Type: e.Type + wire.ResponseOffset}
		switch wire.Op(e.Type) {
		case wire.SiteFind:
			return nil
		case wire.SiteCleanup:
			answer.Object = json.RawMessage(`{"errorCode":0}`)
		case wire.SiteDelete:
			answer.Object = json.RawMessage(`{"errorCode":2,"errorMessage":"empty list of nodes","itemsList":[]}`)
		default:
			var err error
			item := wire.ClientResponseItem{ErrorCode: 0, ItemObject: e.Object}
			if answer.Object, err = json.Marshal(wire.ClientResponse{ItemsList: []wire.ClientResponseItem{item}}); err != nil {
				t.Error(err)
			}
		}
		return []wire.Event{answer}
	})
}

// The table of docs/spec/objects.md 6.3.
func TestExitStatus(t *testing.T) {
	port := daemon(t)
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-client.ini", "[dcc]\nclientHost = \"127.0.0.1\"\nclientPort = "+port+"\ntimeout = 20000\n")
	clitest.Write(t, folder, "bad.ini", "[dcc]\nclientPort = many\ntimeout = soon\n")
	clitest.Write(t, folder, "broken.ini", "[dcc\n")
	clitest.Write(t, folder, "site.json", `{"id":"a","deleteTaskId":"ü"}`)
	clitest.Write(t, folder, "broken.json", `{"id":`)
	status := func(more ...string) []string { return append([]string{"-cmd", "SITE_STATUS"}, more...) }
	cases := map[string]struct {
		args   []string
		status int
		code   int // error_code of the answer
		says   string
		stderr string
	}{
		"ok":                   {args: status("-f", "site.json"), says: `"id": "a"`},
		"not ASCII":            {args: status("-f", "site.json"), says: `\u00fc`},
		"fields alone":         {args: status("--fields", `{"id":"b"}`), says: `"id": "b"`},
		"fields over a file":   {args: status("-f", "site.json", "-ff", `{"id":"b"}`), says: `"id": "b"`},
		"error of the service": {args: []string{"-cmd", "SITE_DELETE", "-ff", `{"id":"a"}`}, says: `"errorCode": 2`},
		"--name=value, a prefix": {args: []string{"--comm=SITE_STATUS", "--fi=site.json"}, status: 1,
			stderr: "could be"}, // --file and --fields
		"a unique prefix":        {args: []string{"--comm=SITE_STATUS", "-f=site.json", "--verb=1"}, says: `"id": "a"`, stderr: "SITE_STATUS to 127.0.0.1"},
		"wrong argument":         {args: status("--no-such", "1"), status: 1, stderr: "--no-such is unknown"},
		"no ini file":            {args: status("-c", "none.ini", "-f", "site.json"), status: 1, code: 5, says: "Error loading application config file.", stderr: "none.ini"},
		"ini file is broken":     {args: status("-c", "broken.ini", "-f", "site.json"), status: 1, code: 5, says: "broken.ini", stderr: "broken.ini"},
		"ini file is wrong":      {args: status("-c", "bad.ini", "-f", "site.json"), status: 1, code: 5, says: "clientPort", stderr: "timeout"},
		"bad host":               {args: status("-f", "site.json", "-dcc_clientHost", "no such host"), status: 5, code: 5},
		"bad port":               {args: status("-f", "site.json", "-dcc_clientPort", "99999"), status: 5, code: 5, says: "99999"},
		"no command":             {args: []string{"-f", "site.json"}, status: 2, code: 2, says: "--command is missing"},
		"unknown command":        {args: []string{"-cmd", "site_status", "-f", "site.json"}, status: 2, code: 2, says: "did you mean SITE_STATUS?"},
		"internal command":       {args: []string{"-cmd", "URL_RETURN", "-ff", "{}"}, status: 2, code: 2, says: `--command \"URL_RETURN\" is not an operation`},
		"neither file nor field": {args: status(), status: 2, code: 2, says: "the request is missing; give it with --file"},
		"wrong mode":             {args: status("-f", "site.json", "-mode", "3"), status: 2, code: 2, says: `--mode \"3\" is not 0, 1 or 2`},
		"file is missing":        {args: status("-f", "none.json"), status: 1, code: 1, says: "none.json: no such file"},
		"file is not JSON":       {args: status("-f", "broken.json"), status: 1, code: 1, says: "broken.json is not JSON: at byte"},
		"fields are not JSON":    {args: status("-ff", "{"), status: 1, code: 1, says: `--fields \"{\" is not a JSON object`},
		"object is refused":      {args: []string{"-cmd", "URL_STATUS", "-f", "site.json"}, status: 1, code: 1, says: "URL_STATUS: "},
		"no answer in time":      {args: []string{"-cmd", "SITE_FIND", "-ff", `{"url":"http://x"}`, "--dcc_timeout", "100"}, status: 1, code: 1, says: "within 100 ms"},
		"timeout is not digits":  {args: status("-f", "site.json", "--dcc_timeout", "-1"), says: `"id": "a"`, stderr: "using 20s"},
		"timeout is too long":    {args: status("-f", "site.json", "--dcc_timeout", "9223372036854775807"), says: `"id": "a"`},
		"timeout with a unit":    {args: []string{"-cmd", "SITE_FIND", "-ff", `{"url":"http://x"}`, "--dcc_timeout", "100ms"}, status: 1, code: 1, says: "within 100 ms"},
		"answer has wrong shape": {args: []string{"-cmd", "SITE_CLEANUP", "-ff", `{"id":"a"}`}, status: 1, code: 1, says: "the answer to SITE_CLEANUP is no ClientResponse"},
		"no daemon":              {args: status("-f", "site.json", "-dcc_clientPort", "1"), status: 1, code: 1, says: "cannot reach the daemon at 127.0.0.1:1: connection refused; start dc-daemon"},
		"a key without effect":   {args: status("-ff", `{"id":"a","excludeLst":[]}`), says: `"id": "a"`, stderr: "warning: SiteStatus.excludeLst is unknown; did you mean excludeList?"},
		"output not writable":    {args: status("-f", "site.json", "-o", "no/such/folder/x"), status: 5, stderr: "no/such/folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := clitest.Run(t, folder, c.args...)
			if status != c.status || !strings.Contains(stdout, c.says) {
				t.Errorf("status %d, said %s\nwant %d %s", status, stdout, c.status, c.says)
			}
			if !strings.Contains(stderr, c.stderr) || (c.stderr == "") != (stderr == "") || strings.Count(stderr, "\n") > 1 {
				t.Errorf("stderr %q, want one line of %q", stderr, c.stderr)
			}
			if c.status == 1 && c.code == 0 || c.status == 5 && c.code == 0 {
				if stdout != "" {
					t.Errorf("stdout %q, want nothing", stdout)
				}
				return
			}
			var answer struct {
				Code    *int   `json:"error_code"`
				Old     int    `json:"errorCode"`
				Message string `json:"error_message"`
				Text    string `json:"errorMessage"`
				List    any    `json:"itemsList"`
			}
			if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.List == nil {
				t.Fatalf("%q: %v", stdout, err)
			}
			if (answer.Code != nil) != (c.code != 0) || answer.Code != nil && *answer.Code != c.code {
				t.Errorf("error_code %v, want %d", answer.Code, c.code)
			}
			if c.code != 0 && (answer.Old != c.code || answer.Text != answer.Message || answer.Text == "") {
				t.Errorf("errorCode %d, %q of a failure: %s", answer.Old, answer.Text, stdout)
			}
			if strings.HasSuffix(stdout, "\n") {
				t.Error("the output ends with a newline")
			}
		})
	}
}

// Without an ini file the daemon is that of this machine with its usual port. DC_ variables set the port as in a file.
func TestWithoutIniFile(t *testing.T) {
	t.Setenv("DC_dcc_clientPort", "1")
	stdout, stderr, status := clitest.Run(t, t.TempDir(), "-cmd", "SITE_STATUS", "-ff", `{"id":"a"}`)
	if status != 1 || stderr != "" || strings.Contains(stdout, `"errorCode": 0`) || !strings.Contains(stdout, "cannot reach the daemon at 127.0.0.1:1: connection refused; start dc-daemon, or name the ini file") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	t.Setenv("DC_dcc_clientPort", daemon(t))
	stdout, stderr, status = clitest.Run(t, t.TempDir(), "-cmd", "SITE_STATUS", "-ff", `{"id":"a"}`)
	if status != 0 || stderr != "" || !strings.Contains(stdout, `"id": "a"`) {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

func TestHelp(t *testing.T) {
	stdout, stderr, status := clitest.Run(t, t.TempDir(), "--help")
	if status != 0 || stderr != "" || !strings.Contains(stdout, "Usage: dc-client") || !strings.Contains(stdout, "--dcc_clientPort") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

func TestFiles(t *testing.T) {
	port := daemon(t)
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-client.ini", "[dcc]\nclientPort = 1\n")
	for name, c := range map[string]struct {
		fields       string
		status, code float64
		message      string
	}{
		"success": {`{"id":"a"}`, 0, 0, ""},
		"refused": {`[]`, 1, 1, "--fields"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := clitest.Run(t, folder, "-cmd", "SITE_STATUS", "-ff", c.fields, "-dcc_clientPort", port, "-o", "out.json", "-e", "error.json")
			if float64(status) != c.status || stdout != "" || stderr != "" {
				t.Fatalf("status %d, %q, %q", status, stdout, stderr)
			}
			var out, report map[string]any
			for file, into := range map[string]*map[string]any{"out.json": &out, "error.json": &report} {
				raw, err := os.ReadFile(filepath.Join(folder, file))
				if err == nil {
					err = json.Unmarshal(raw, into)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, ok := out["itemsList"]; !ok {
				t.Errorf("answer %v", out)
			}
			message, _ := report["errorMessage"].(string)
			if len(report) != 2 || report["errorCode"] != c.code || !strings.HasPrefix(message, c.message) || (message == "") != (c.message == "") {
				t.Errorf("report %v", report)
			}
		})
	}
}

// --merge 0 and false request one item per node. Without --merge the service decides.
func TestMergeOption(t *testing.T) {
	port := clitest.Serve(t, func(e wire.Event) []wire.Event {
		object := `{"errorCode":0,"errorMessage":"cookie ` + string(e.Cookie["MERGE_RESULTS"]) + `.","itemsList":[]}`
		return []wire.Event{{Class: e.Class, UID: e.UID, Type: e.Type + wire.ResponseOffset, Object: json.RawMessage(object)}}
	})
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-client.ini", "[dcc]\nclientHost = 127.0.0.1\nclientPort = "+port+"\ntimeout = 20000\n")
	clitest.Write(t, folder, "site.json", `{"id":"a"}`)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "cookie ."},
		{[]string{"--merge=0"}, "cookie 0."}, {[]string{"--merge", "false"}, "cookie 0."}, {[]string{"-mrg", "False"}, "cookie 0."},
		{[]string{"--merge=1"}, "cookie 1."}, {[]string{"-mrg", "true"}, "cookie 1."},
	} {
		out, stderr, status := clitest.Run(t, folder, append([]string{"-cmd", "SITE_STATUS", "-f", "site.json"}, tc.args...)...)
		if status != 0 || !strings.Contains(out, tc.want) {
			t.Errorf("%v: status %d, %s%s", tc.args, status, out, stderr)
		}
	}
}

// The client uses the keys of the ini file: a daemon without keys refuses it.
func TestKeysOfTheIniFile(t *testing.T) {
	port := daemon(t)
	folder := t.TempDir()
	for _, name := range []string{"server", "own"} {
		pair, err := curvekeys.Generate()
		if err == nil {
			_, err = pair.Write(folder, name, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text := "[dcc]\nclientPort = " + port + "\ntimeout = 20000\n"
	clitest.Write(t, folder, "dc-client.ini", text+"serverPublicKey = server.pub\nclientSecretKey = own.key\n")
	stdout, _, status := clitest.Run(t, folder, "-cmd", "SITE_STATUS", "-ff", `{"id":"a"}`)
	if status != 1 || !strings.Contains(stdout, "uses no keys") {
		t.Errorf("status %d, %s", status, stdout)
	}
	clitest.Write(t, folder, "half.ini", text+"clientSecretKey = own.key\n")
	stdout, stderr, status := clitest.Run(t, folder, "-c", "half.ini", "-cmd", "SITE_STATUS", "-ff", `{"id":"a"}`)
	if status != 1 || !strings.Contains(stderr, "serverPublicKey") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

// With --strict the exit statuses are those of hce, every failure has error_code and error_message, and
// stderr has the message too.
func TestStrict(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite("https://example.org/")
	stores.AddPage(site, "https://example.org/a.html", "The mill", "It works twice a day.")
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-client.ini", "[dcc]\nclientPort = "+stores.Port+"\ntimeout = 90000\n")
	clitest.Write(t, folder, "away.ini", "[dcc]\nclientPort = 1\ntimeout = 90000\n")
	near := site[:len(site)-1] + "_"
	for _, c := range []struct {
		op, fields string
		status     int
		says       string // on stderr and in error_message; "": neither exists
	}{
		{"SITE_STATUS", `{"id":"` + site + `"}`, 0, ""},
		{"SITE_STATUS", `{"id":"` + near + `"}`, 2, `SITE_STATUS.id = "` + near + `" is not known; list the sites with SITE_FIND; did you mean ` + site + `?`},
		{"SITE_STATUS", `{"idd":"x"}`, 2, "SiteStatus"},
		{"SITE_NEW", `{"urls":["https://example.org/"]}`, 2, "exists already; change it with SITE_UPDATE"},
		{"SITE_NEW", `{"id":"` + site + `","urls":["https://example.org/"]}`, 2, `SITE_NEW.id = "` + site + `" exists already`},
		{"SITE_NEW", `{"urls":["example.org"]}`, 2, "did you mean https://example.org/?"},
		{"SITE_NEW", `{"urls":["https://a.example/","https://a.example/"]}`, 2, `Site.urls[1] = "https://a.example/" is given twice`},
		{"SITE_NEW", `{"urls":["https://a.example/"],"properties":{"HTTP_HEADRES":"x"}}`, 2, "did you mean HTTP_HEADERS?"},
		{"SITE_NEW", `{"urls":["https://a.example/"],"filters":[{"pattern":"("}]}`, 2, `Site.filters[0].pattern = "(" does not compile`},
		{"SITE_NEW", `{"urls":["https://a.example/"],"requestDelya":1}`, 2, "did you mean requestDelay?"},
		{"SITE_UPDATE", `{"id":"` + near + `","priority":1}`, 2, "did you mean " + site + "?"},
		{"SITE_CLEANUP", `{"id":"` + near + `"}`, 2, `SITE_CLEANUP.id = "` + near + `" is not known`},
		{"SITE_DELETE", `{"id":"` + near + `"}`, 2, `SITE_DELETE.id = "` + near + `" is not known`},
		{"URL_NEW", `{"siteId":"` + site + `","url":"https://example.org/a.html"}`, 2, `URL_NEW[0].url = "https://example.org/a.html" is known already; change it with URL_UPDATE`},
		{"URL_NEW", `{"siteId":"` + site + `","url":"ftp://example.org/"}`, 2, "only http and https"},
		{"URL_STATUS", `{"siteId":"` + site + `","url":"https://example.org/a.html","urlType":0}`, 0, ""},
		{"URL_STATUS", `{"siteId":"` + site + `","url":"https://example.org/b.html","urlType":0}`, 2, `URL_STATUS[0].url = "https://example.org/b.html" is not known`},
		{"URL_STATUS", `{"siteId":"` + near + `","url":"https://example.org/a.html","urlType":0}`, 2, `URL_STATUS[0].siteId = "` + near + `" is not known`},
		{"URL_FETCH", `{"sitesList":["` + site + `"]}`, 0, ""},
		{"URL_FETCH", `{"sitesList":["` + near + `"]}`, 2, `URL_FETCH[0].sitesList = "` + near + `" is not known`},
		{"URL_FETCH", `{"sitesList":["` + site + `"],"urlsCriterions":{"WHERE":"Foo=1"}}`, 2, "column `Foo` is not known"},
		{"URL_CONTENT", `{"siteId":"` + site + `","url":"https://example.org/a.html","contentTypeMask":3}`, 0, ""},
		{"URL_CONTENT", `{"siteId":"` + site + `","url":"https://example.org/b.html","contentTypeMask":3}`, 2, "is not known"},
		{"URL_DELETE", `{"siteId":"` + near + `","url":"https://example.org/a.html","urlType":0}`, 2, `URL_DELETE[0].siteId = "` + near + `" is not known`},
		{"URL_DELETE", `{"siteId":"` + site + `","url":"https://example.org/b.html","urlType":0}`, 2, `URL_DELETE[0].url = "https://example.org/b.html" is not known`},
		{"URL_DELETE", `{"siteId":"` + site + `","url":null,"criterions":{"WHRE":"1=1"}}`, 2, "did you mean WHERE?"},
		{"URL_DELETE", `{"siteId":"` + site + `","url":null,"criterions":{"WHERE":"Foo=1"}}`, 2, "column `Foo` is not known"},
		{"URL_UPDATE", `{"siteId":"` + site + `","url":"https://example.org/b.html","priority":1}`, 2, `URL_UPDATE[0].url = "https://example.org/b.html" is not known`},
		{"URL_UPDATE", `{"siteId":"` + site + `","url":"https://example.org/a.html","priority":1}`, 0, ""},
		{"URL_CLEANUP", `{"siteId":"` + site + `","url":"` + wire.Md5("https://example.org/b.html") + `","urlType":1}`, 2, "is not known"},
		{"URL_PUT", `{"siteId":"` + site + `","urlMd5":"` + wire.Md5("https://example.org/b.html") + `","contentType":0,"putDict":{"data":"eA=="}}`, 2, "is not known"},
		{"URL_PUT", `{"siteId":"` + site + `","urlMd5":"` + strings.ToUpper(wire.Md5("https://example.org/a.html")) + `","contentType":0,"putDict":{"data":"eA=="}}`, 0, ""},
		{"URL_HISTORY", `{"siteId":"` + site + `","urlMd5":"` + wire.Md5("https://example.org/b.html") + `"}`, 2, "is not known"},
		{"F_RECALC", `{"siteId":"` + near + `","recalcType":0}`, 2, "did you mean " + site + "?"},
		{"ATTRIBUTE_FETCH", `{"siteId":"` + near + `","name":"a"}`, 2, "did you mean " + site + "?"},
		{"PROXY_NEW", `{"siteId":"` + near + `","host":"1.2.3.4:80"}`, 2, "did you mean " + site + "?"},
		{"PROXY_DELETE", `{"siteId":"` + site + `","host":"1.2.3.4:80"}`, 2, `PROXY_DELETE[0].host = "1.2.3.4:80" is not known in site ` + site},
		{"SITE_STATUS", `{"id":5}`, 2, `SITE_STATUS.id = "5" is not known; list the sites`},
		{"URL_STATUS", `[]`, 2, "it is a list; give lists with --file"},
	} {
		stdout, stderr, status := clitest.Run(t, folder, "--strict", "-cmd", c.op, "-ff", c.fields)
		var answer struct {
			Code    int    `json:"error_code"`
			Message string `json:"error_message"`
			List    []any  `json:"itemsList"`
		}
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.List == nil {
			t.Errorf("%s %s: %v in %q", c.op, c.fields, err, stdout)
		}
		if status != c.status || answer.Code != status || !strings.Contains(answer.Message, c.says) || !strings.Contains(stderr, c.says) || (c.says == "") != (answer.Message+stderr == "") {
			t.Errorf("%s %s: status %d, error_code %d\n%q\nstderr %q\nwant %d %q", c.op, c.fields, status, answer.Code, answer.Message, stderr, c.status, c.says)
		}
	}
	clitest.Write(t, folder, "two.json", `[{"siteId":"`+site+`","url":"https://example.org/a.html"},{"siteId":"`+site+`","url":"https://example.org/b.html"}]`)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"-cmd", "URL_STATUS", "-f", "two.json"}, 1, `URL_STATUS[1].url = "https://example.org/b.html" is not known`},
		{[]string{"-cmd", "URL_STATUS", "-f", "two.json", "-c", "away.ini"}, 3, "cannot reach the daemon at 127.0.0.1:1"},
		{[]string{"-cmd", "URL_STATUS", "-f", "two.json", "-c", "none.ini"}, 2, "none.ini"},
		{[]string{"-cmd", "URL_STATSU", "-f", "two.json"}, 2, "did you mean URL_STATS?"},
		{[]string{"-cmd", "URL_STATUS", "-f", "none.json"}, 2, "none.json: no such file"},
		{[]string{"-cmd", "URL_STATUS", "--comand", "URL_STATUS"}, 2, "option --comand is unknown; did you mean --command?"},
	} {
		_, stderr, status := clitest.Run(t, folder, append([]string{"--strict"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %q; want %d %q", c.args, status, stderr, c.status, c.says)
		}
	}
	if answer, status := stores.Asked[wire.SiteDelete], stores.Asked[wire.URLDelete]; answer != 0 || status != 1 { // that of Foo=1
		t.Errorf("%d SITE_DELETE, %d URL_DELETE", answer, status)
	}
}
