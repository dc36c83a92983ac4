package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/testkit/testwait"
)

// programs makes a bin folder with shell scripts instead of the programs: these tests are
// about processes, streams and exit codes.
func programs(t *testing.T, scripts map[string]string) Options {
	t.Helper()
	bin := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Bin: bin, Ini: bin, Data: filepath.Join(t.TempDir(), "data")}
}

const answersStat = `[ "$4" = STAT ] || exit 3; echo '[[{"className":"AdminInterfaceServer","fields":{"clients":6}},0]]'`

func TestStart(t *testing.T) {
	t.Run("no program", func(t *testing.T) {
		if _, err := Start(t.Context(), programs(t, nil)); err == nil {
			t.Error("no error")
		}
	})
	t.Run("daemon ends at once", func(t *testing.T) {
		_, err := Start(t.Context(), programs(t, map[string]string{
			"dc-daemon": "echo no such ini >&2; exit 1", "dc-admin": "exit 1",
		}))
		if err == nil || !strings.Contains(err.Error(), "no such ini") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("environment", func(t *testing.T) {
		o := programs(t, map[string]string{"dc-daemon": "env >env; exec sleep 60", "dc-admin": answersStat})
		o.AllowLoopback = true
		o.Env = []string{"DC_BatchTasksManager_BatchDefaultMaxTasks=1"}
		t.Chdir(t.TempDir())
		r, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var text []byte
		testwait.Until(t, "the script writes its environment", func() bool {
			text, _ = os.ReadFile("env")
			return len(text) > 0
		})
		for _, want := range []string{
			"DC_Application_data_dir=" + o.Data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8",
			fmt.Sprintf("DC_dcc_clientPort=%d", r.clientPort), "DC_BatchTasksManager_BatchDefaultMaxTasks=1",
		} {
			if !strings.Contains(string(text), want+"\n") {
				t.Errorf("no %s in the environment", want)
			}
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Start(ctx, programs(t, map[string]string{"dc-daemon": "exec sleep 60", "dc-admin": "exit 1"})); err == nil {
			t.Error("no error")
		}
	})
}

func TestStop(t *testing.T) {
	start := func(t *testing.T, code int) *Rig {
		t.Helper()
		// The daemon ends when the file "stop" exists.
		dir := t.TempDir()
		o := programs(t, map[string]string{
			"dc-daemon": fmt.Sprintf("while [ ! -e %s/stop ]; do sleep 0.02; done; exit %d", dir, code),
			"dc-admin":  fmt.Sprintf(`if [ "$4" = STOP ]; then touch %s/stop; echo '[]'; exit 0; fi; %s`, dir, answersStat),
		})
		r, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	t.Run("regular", func(t *testing.T) {
		r := start(t, 0)
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	})
	t.Run("daemon exits with an error", func(t *testing.T) {
		if err := start(t, 4).Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 4") {
			t.Errorf("error %v", err)
		}
	})
}

func TestCloseKillsTheProcessTree(t *testing.T) {
	dir := t.TempDir()
	// The daemon ignores SIGTERM and has a child in another session.
	r, err := Start(t.Context(), programs(t, map[string]string{
		"dc-daemon": fmt.Sprintf("trap '' TERM; setsid sh -c 'echo $$ >%s/child; exec sleep 60' & sleep 60", dir),
		"dc-admin":  answersStat,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var child int
	testwait.Until(t, "the child writes its process id", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "child"))
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return child != 0
	})
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	r.Close()
	testwait.Until(t, "the child ends", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(text), ") Z ")
	})
}

// asker is a Rig with only a dc-client, which answers with text.
func asker(t *testing.T, text string, code int) *Rig {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "answer"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return &Rig{options: programs(t, map[string]string{
		"dc-client": fmt.Sprintf("cp \"$6\" %s/request; echo \"$4\" >%s/command; cat %s/answer; exit %d", dir, dir, dir, code),
	})}
}

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		wrong      string // part of the error; "" for no error
	}{
		{"success", `{"errorCode":0,"errorMessage":"","itemsList":[{"errorCode":0,"errorMessage":"","itemObject":{"state":1,"newURLs":3}}]}`, 0, ""},
		{"service error", `{"errorCode":2,"errorMessage":"no nodes","itemsList":[]}`, 0, "no nodes (2)"},
		{"node error", `{"errorCode":0,"errorMessage":"","itemsList":[{"errorCode":2,"errorMessage":"db-task","itemObject":null}]}`, 0, "db-task (2)"},
		{"client error", `{"errorCode":0,"errorMessage":"","itemsList":[],"error_code":1,"error_message":"timeout"}`, 1, "timeout (1)"},
		{"empty list", `{"errorCode":0,"errorMessage":"","itemsList":[]}`, 0, "no node"},
		{"not JSON", `oops`, 1, "exit status 1"},
		{"only an exit code", `{"errorCode":0,"errorMessage":"","itemsList":[]}`, 7, "exit status 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, err := asker(t, c.text, c.code).Status(t.Context(), "x")
			if c.wrong == "" {
				if err != nil || status.NewURLs != 3 || status.State != SiteActive {
					t.Errorf("%+v, %v", status, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestDone(t *testing.T) {
	nothing := `{"errorCode":0,"itemsList":[{"errorCode":0,"itemObject":[]}]}`
	one := `{"errorCode":0,"itemsList":[{"errorCode":0,"itemObject":[{"url":"http://a/","status":2}]}]}`
	for _, c := range []struct {
		name   string
		answer string
		status Status
		want   bool
	}{
		{"nothing left", nothing, Status{State: SiteActive}, true},
		{"in flight", one, Status{State: SiteActive}, false},
		{"new rows by the counter", nothing, Status{State: SiteActive, NewURLs: 2}, false},
		{"suspended with new rows", nothing, Status{State: SiteSuspended, NewURLs: 2}, true},
		{"suspended and in flight", one, Status{State: SiteSuspended}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := asker(t, c.answer, 0).Done(t.Context(), "x", c.status); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestContents(t *testing.T) {
	pack := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, c := range []struct{ name, buffer, title, text string }{
		{"plain fields", `{"title":"One","content_encoded":["a","b"]}`, "One", "a b"},
		{"tag list", `{"default":{"data":{"resId":"m","tagList":[[{"name":"author","data":["x"]},{"name":"title","data":["Two"]},{"name":"content_encoded","data":"c"}]]}}}`, "Two", "c"},
		{"list", `[{"title":["Three"]}]`, "Three", ""},
		{"neither", `{"other":1}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := fmt.Sprintf(`{"errorCode":0,"itemsList":[{"errorCode":0,"itemObject":[{"urlMd5":"m","processedContents":[{"buffer":%q}]},{"urlMd5":"n","processedContents":[]}]}]}`, pack(c.buffer))
			got, err := asker(t, answer, 0).Contents(t.Context(), "x", []Row{{MD5: "m"}, {MD5: "n"}})
			if err != nil || len(got) != 1 || got[0] != (Content{"m", c.title, c.text}) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestTreeUsage(t *testing.T) {
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 60 & echo; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range descendantsOf(cmd.Process.Pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}()
	out.Read(make([]byte, 1)) // the loop has ended and the child runs
	usage, err := TreeUsage(cmd.Process.Pid)
	if err != nil || usage.Processes != 2 || usage.RSS == 0 || usage.CPU == 0 {
		t.Errorf("%+v, %v", usage, err)
	}
	if _, err := TreeUsage(1 << 30); err == nil {
		t.Error("no error for a missing process")
	}
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b (c)) S 7 42 42 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 100 5000 99 18446744073709551615"
	if p, ok := parseStat(line); !ok || p != (process{parent: 7, ticks: 100, pages: 99}) {
		t.Errorf("%+v %v", p, ok)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1 2"} {
		if _, ok := parseStat(bad); ok {
			t.Errorf("parseStat(%q) succeeds", bad)
		}
	}
}

func TestSiteID(t *testing.T) {
	if got := SiteID("http://news.example.test/"); got != "caf03214581cc0e03763977516e379b7" {
		t.Error(got)
	}
}
