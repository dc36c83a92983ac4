package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
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
	clitest.Write(t, folder, "site.json", `{"id":"a","description":"ü"}`)
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
		"no command":             {args: []string{"-f", "site.json"}, status: 2, code: 2, says: "Not present [--help] or [--command] mandatory args"},
		"unknown command":        {args: []string{"-cmd", "site_status", "-f", "site.json"}, status: 2, code: 2, says: "[--command] arg's value not present in value's list"},
		"internal command":       {args: []string{"-cmd", "URL_RETURN", "-ff", "{}"}, status: 2, code: 2, says: "not present in value's list"},
		"neither file nor field": {args: status(), status: 2, code: 2, says: "Absent [--file] or [--fields] arg with [--commands] arg"},
		"wrong mode":             {args: status("-f", "site.json", "-mode", "3"), status: 2, code: 2, says: "[--mode]"},
		"file is missing":        {args: status("-f", "none.json"), status: 1, code: 1, says: "[--file] wrong filename"},
		"file is not JSON":       {args: status("-f", "broken.json"), status: 1, code: 1, says: "Wrong JSON format"},
		"fields are not JSON":    {args: status("-ff", "{"), status: 1, code: 1, says: "DCC exception msg="},
		"object is refused":      {args: []string{"-cmd", "URL_STATUS", "-f", "site.json"}, status: 1, code: 1, says: "DCC exception msg="},
		"no answer in time":      {args: []string{"-cmd", "SITE_FIND", "-ff", `{"url":"http://x"}`, "--dcc_timeout", "100"}, status: 1, code: 1, says: "Network communicate timeout=100 mls"},
		"timeout is not digits":  {args: status("-f", "site.json", "--dcc_timeout", "-1"), says: `"id": "a"`},
		"timeout is too long":    {args: status("-f", "site.json", "--dcc_timeout", "9223372036854775807"), says: `"id": "a"`},
		"answer has wrong shape": {args: []string{"-cmd", "SITE_CLEANUP", "-ff", `{"id":"a"}`}, status: 1, code: 1, says: "Wrong Response eventObject type for SITE_CLEANUP must be ClientResponse"},
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
				Code *int `json:"error_code"`
				List any  `json:"itemsList"`
			}
			if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.List == nil {
				t.Fatalf("%q: %v", stdout, err)
			}
			if (answer.Code != nil) != (c.code != 0) || answer.Code != nil && *answer.Code != c.code {
				t.Errorf("error_code %v, want %d", answer.Code, c.code)
			}
			if strings.HasSuffix(stdout, "\n") {
				t.Error("the output ends with a newline")
			}
		})
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
		"refused": {`[]`, 1, 1, "DCC exception msg="},
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
