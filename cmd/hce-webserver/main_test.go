package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/testkit/testwait"
)

// The shipped file has no unknown keys, and only values that are the built-in ones.
func TestShippedIni(t *testing.T) {
	path, err := filepath.Abs("../../ini/hce-webserver.ini")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	values := func(args ...string) (list []string) {
		stdout, stderr, status := clitest.Run(t, folder, append(args, "--check-config")...)
		if status != 0 || stderr != "" {
			t.Errorf("status %d: %s", status, stderr)
		}
		for line := range strings.SplitSeq(stdout, "\n") {
			if !strings.HasPrefix(line, ";") && !strings.HasPrefix(line, "data_dir") && !strings.HasPrefix(line, "folder") {
				list = append(list, line)
			}
		}
		slices.Sort(list)
		return list
	}
	if got, want := values("serve", "-c", path), values("serve"); !slices.Equal(got, want) {
		t.Errorf("shipped\n%s\nbuilt in\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	stdout, _, _ := clitest.Run(t, folder, "store", "--check-config")
	if want := "data_dir = " + filepath.Join(folder, "data") + "\n"; !strings.Contains(stdout, want) {
		t.Errorf("no %q without a file:\n%s", want, stdout)
	}
}

// Mistakes are refused with what to do.
func TestMistakes(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "www/data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ini    string
		args   []string
		status int
		want   string
	}{
		"no command":     {"", nil, 2, "serve"},
		"words":          {"", []string{"serve", "x"}, 2, "x"},
		"no folder":      {"[WebServer]\nport = 0\nfolder = none\n[Crawler]\nenabled = 0\n", []string{"serve"}, 3, "--folder"},
		"data is served": {"[Application]\ndata_dir = www/data\n[WebServer]\nfolder = www\n", []string{"serve"}, 3, "lies in the served folder"},
		"remote store":   {"[WebStore]\naddress = 0.0.0.0\n", []string{"store"}, 2, "AllowInsecureRemoteAccess"},
		"base URL":       {"[WebServer]\nbase_url = a.example\n", []string{"serve"}, 2, "base_url"},
		"store address":  {"[Crawler]\nweb_store = http://x/\n", []string{"serve"}, 2, "web_store"},
		"all addresses":  {"[WebServer]\naddress = 0.0.0.0\nport = 0\nfolder = www\n", []string{"serve"}, 3, "base_url"},
		"queue time":     {"[WebServer]\nqueue_time = 0\n", []string{"serve"}, 2, "queue_time"},
		"no server":      {"", []string{"ctl", "status"}, 3, `start it with "hce-webserver serve"`},
		"no words":       {"", []string{"ctl"}, 2, "COMMAND"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Write(t, folder, "hce-webserver.ini", c.ini)
			_, stderr, status := clitest.Run(t, folder, c.args...)
			if status != c.status || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d, want %d: %s", status, c.status, stderr)
			}
		})
	}
}

// A server is steered by its socket, and ends with a report of what it did.
func TestCommandsAndReport(t *testing.T) {
	n := server(t, 1, "", map[string]string{"index.html": "top", "a.bin": strings.Repeat("x", 100_000)})
	n.start(t, "serve")
	for range 3 {
		if status, _ := n.get(t, "a.bin"); status != 200 {
			t.Error(status)
		}
	}
	if got := n.ctl(t, "off", "back", "at", "noon"); got != "the server is out of service: back at noon\n" {
		t.Errorf("%q", got)
	}
	if status, body := n.get(t, ""); status != 503 || !strings.Contains(body, "back at noon") {
		t.Error(status, body)
	}
	if s := n.state(t); s.InService || s.Reason != "back at noon" || s.Requests != 4 || s.Sent < 300_000 {
		t.Errorf("%+v", s)
	}
	if got := n.ctl(t, "status"); !strings.Contains(got, "out of service: back at noon") || !strings.Contains(got, "requests     4; now 0 in work, 0 in the queue") {
		t.Error(got)
	}
	n.ctl(t, "on")
	if status, _ := n.get(t, ""); status != 200 {
		t.Error(status)
	}
	if _, stderr, status := clitest.Run(t, n.dir, "ctl", "dance"); status != 2 || !strings.Contains(stderr, `unknown command "dance"`) {
		t.Error(status, stderr)
	}
	if _, stderr, status := clitest.Run(t, n.dir, "serve"); status != 3 || !strings.Contains(stderr, fmt.Sprint(n.cmd.Process.Pid)) {
		t.Errorf("a second server of the data folder: %d, %s", status, stderr)
	}
	n.ctl(t, "stop")
	if err := <-n.ended; err != nil {
		t.Error(err)
	}
	text := n.report(t)
	for _, want := range []string{
		`requests +5\n`, `bytes sent +30\d{4}\n`, `kernel time +\d+\.\d{3} s\n`, `user time +\d+\.\d{3} s\n`, `total time +\d+\.\d{3} s\n`,
		`Clients: 1\n`, `127\.0\.0\.1 +5  "Go-http-client/1\.1"\n`, `Crawlers: 0\n`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	format := regexp.MustCompile(`^\[\d\d:\d\d:\d\d\.\d{3}\] hce-webserver \[\d+\](\[\d+\])?: (INFO|WARN|ERROR|DEBUG): .+$`)
	for line := range strings.SplitSeq(strings.TrimSpace(n.log.String()), "\n") {
		if !format.MatchString(line) {
			t.Errorf("log line %q", line)
		}
	}
}

// report returns the one report of the data folder.
func (n *node) report(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.dir, "data/webserver/report-*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("reports %q, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A server that dies writes no report, and the next one starts on its folder.
func TestNoReportAfterKill(t *testing.T) {
	n := server(t, 1, "", nil)
	n.start(t, "serve")
	n.kill()
	if files, _ := filepath.Glob(filepath.Join(n.dir, "data/webserver/report-*")); len(files) != 0 {
		t.Errorf("%q", files)
	}
	n.start(t, "serve")
	n.stop(t)
	n.report(t)
}

// The console takes the same commands. The state of the queue is logged when it changes.
func TestConsole(t *testing.T) {
	n := server(t, 1, "max_requests = 1\nqueue_time = 20\nsend_time = 60\n", map[string]string{"big.bin": strings.Repeat("x", 32<<20)})
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	n.launch(t, in, "serve", "--console")
	testwait.Until(t, "the program runs", func() bool { return n.log.Count(" runs ") > 0 })
	slow := dial(t, n.host()) // takes the only place, and no answer
	_, _ = io.WriteString(slow, "GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
	testwait.Until(t, "a request is in work", func() bool {
		_, _ = io.WriteString(out, "status\n")
		return n.log.Count("now 1 in work, 0 in the queue") > 0
	})
	if status, body := n.get(t, ""); status != 408 || !strings.Contains(body, "Request Timeout") {
		t.Error(status, body)
	}
	testwait.Until(t, "the queue is logged", func() bool { return n.log.Count("INFO: queue working=1 waiting=0 timed_out=1") > 0 })
	for _, c := range []struct{ line, want string }{{"off at lunch", "out of service: at lunch"}, {"x", "unknown command"}, {"", ""}, {"on", "the server is in service"}, {"files", "0 files"}} {
		_, _ = io.WriteString(out, c.line+"\n")
		testwait.Until(t, "an answer to "+c.line, func() bool { return n.log.Count(c.want) > 0 })
	}
	_ = slow.Close()
	_, _ = io.WriteString(out, "stop\n")
	if err := <-n.ended; err != nil {
		t.Error(err)
	}
}

// The log file is reopened at SIGHUP; the flow policy puts the server out of service with its reason.
func TestLogFileAndFlow(t *testing.T) {
	n := server(t, 1, "flow_policy = 1\nmax_flow = 5000\n", map[string]string{"a.bin": strings.Repeat("x", 6000)})
	path := filepath.Join(n.dir, "data/log/w.log")
	t.Setenv("DC_Application_log", "log/w.log")
	n.launch(t, nil, "serve")
	testwait.Until(t, "the program runs", func() bool { b, _ := os.ReadFile(path); return strings.Contains(string(b), "web server runs") })
	for i, want := range []int{200, 503} {
		if status, body := n.get(t, "a.bin"); status != want || want == 503 && !strings.Contains(body, "the maximum is 5000") {
			t.Errorf("request %d: %d %.100s", i, status, body)
		}
	}
	if s := n.state(t); s.InService || !strings.Contains(s.Reason, "outgoing flow") {
		t.Errorf("%+v", s)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	_ = n.cmd.Process.Signal(syscall.SIGHUP)
	testwait.Until(t, "the log is open again", func() bool { _, err := os.Stat(path); return err == nil })
	n.stop(t)
	if b, _ := os.ReadFile(path); !strings.Contains(string(b), "web server has ended") || n.log.String() != "" {
		t.Errorf("%s; %s", b, n.log.String())
	}
}

// Each test that docs/webserver.md names exists.
func TestDocumentNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/webserver.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, pattern := range []string{"*_test.go", "../../internal/apps/webserver/*/*_test.go", "../../internal/cli/seedlog/*_test.go", "../../e2e/webserver_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(b)
		}
	}
	names := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(page), -1)
	for _, name := range names {
		if !strings.Contains(code.String(), "func "+name+"(t *testing.T)") && !strings.Contains(code.String(), "func "+name+"(f *testing.F)") {
			t.Errorf("docs/webserver.md names %s, which is no test", name)
		}
	}
	if len(names) < 80 {
		t.Errorf("only %d names", len(names))
	}
}
