package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestImportMovedToOtherProgram(t *testing.T) {
	for _, args := range [][]string{
		{"--import-from", "reader@127.0.0.1"}, {"--import-from=reader@127.0.0.1"},
		{"-c", "missing.ini", "-import-from", "reader@127.0.0.1", "--import-log"},
	} {
		stdout, stderr, status := clitest.Run(t, "", args...)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "use dc-import") {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

// The commands about raw contents work on the data folder of the ini file.
func TestRawCommands(t *testing.T) {
	data := t.TempDir()
	ini, err := filepath.Abs("../../ini/db-task.ini")
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, wantStatus int, want string, args ...string) {
		t.Helper()
		c := clitest.Command(t, data, append([]string{"-c", ini}, args...)...)
		c.Stdin = strings.NewReader(stdin)
		c.Env = append(c.Env, "DC_Application_data_dir="+data, "DC_Application_log=stderr")
		stdout, stderr, status := clitest.Output(t, c)
		if status != wantStatus || !strings.Contains(stdout, want) || status != 0 && stderr == "" {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
	run(`["SITE_NEW",{"id":"a","urls":["http://a.test/"]}]`, 0, `"errorCode":0`)
	run(`["URL_PUT",[{"siteId":"a","urlMd5":"0123456789abcdef0123456789abcdef","contentType":0,"putDict":{"data":"aGVsbG8="}}]]`, 0, `"errCode":0`)
	run("", 0, `{"segments":1,"runs":1,`, "--check")
	run("", 0, `{"urls":1,"moved":1,"bytes":5,"kept":0}`, "--move-raw", "files")
	run("", 0, `{"segments":0,"runs":0,"bytes":0,"faults":0,"fixed":0,"without":0}`, "--check")
	run("", 0, `{"urls":1,"moved":1,"bytes":5,"kept":0}`, "--move-raw", "segments")
	run("", 0, `{"segments":0,"copied":0,"freed":0,"left":0,`, "--compact-raw")
	run("", 0, `"later":`, "--space", "a")
	run("", 1, "", "--space", "../a")
	run("", 1, "", "--move-raw", "here")
	segments, _ := filepath.Glob(filepath.Join(data, "dc_rdata", ".segments", "*.warc"))
	if len(segments) != 1 {
		t.Fatalf("segments %q", segments)
	}
	if err := os.Truncate(segments[0], 100); err != nil {
		t.Fatal(err)
	}
	run("", 1, `"faults":2,"fixed":0`, "--check")
	run("", 1, `"faults":2,"fixed":0`, "--check", "--fix")
}
