package executor

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// A pool opens whatever the spool contains, logs one line about a broken entry, and runs
// other tasks.
func TestBrokenSpool(t *testing.T) {
	const whole = `{"ID":"x","Type":"test","Stages":[{"Program":"true"}],"Labels":{"of":"an older version"},"Stdin":{},"Queued":"2026-01-02T03:04:05Z"}`
	tests := []struct {
		name  string
		files map[string]string // in the spool; "" for a folder
		state State             // of x after opening
		kind  string            // the type of x
		log   string            // in the only log line; "" for no line
	}{
		{name: "complete task", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"lost"}`}, state: Lost, kind: "test"},
		{name: "remains of a killed pool", files: map[string]string{".new-x/task.json": whole[:20], ".old-y/task.json": whole}, state: Unknown},
		{name: "foreign file", files: map[string]string{"x": "hello"}, state: Unknown, log: "name=x"},
		{name: "foreign file with a dot", files: map[string]string{"core.4711": "hello"}, state: Unknown, log: "name=core.4711"},
		{name: "foreign folder", files: map[string]string{"lost+found": ""}, state: Unknown, log: "name=lost+found"},
		{name: "hidden file", files: map[string]string{".nfs0001": "x"}, state: Unknown},
		{name: "empty folder", files: map[string]string{"x": ""}, state: Lost, log: "task=x"},
		{name: "truncated task", files: map[string]string{"x/task.json": whole[:40]}, state: Lost, log: "task=x"},
		{name: "task of zeros", files: map[string]string{"x/task.json": strings.Repeat("\x00", 100)}, state: Lost, log: "task=x"},
		{name: "task empty", files: map[string]string{"x/task.json": ""}, state: Lost, log: "task=x"},
		{name: "other JSON", files: map[string]string{"x/task.json": `[1,2]`}, state: Lost, log: "task=x"},
		{name: "task with another id", files: map[string]string{"x/task.json": strings.Replace(whole, `"x"`, `"z"`, 1)}, state: Lost, log: "task=x"},
		{name: "invalid task", files: map[string]string{"x/task.json": strings.Replace(whole, "true", "", 1)}, state: Lost, log: "task=x"},
		{name: "task is a folder", files: map[string]string{"x/task.json/y": "1"}, state: Lost, log: "task=x"},
		{name: "truncated state", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"runn`}, state: Lost, kind: "test", log: "task=x"},
		{name: "blank state", files: map[string]string{"x/task.json": whole, "x/state.json": " "}, state: Lost, kind: "test", log: "task=x"},
		{name: "unknown state", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"dreaming"}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "empty state", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":""}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "state that is never stored", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"unknown"}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "state is a folder", files: map[string]string{"x/task.json": whole, "x/state.json/y": "1"}, state: Lost, kind: "test", log: "task=x"},
		{name: "finished without output", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"finished"}`}, state: Finished, kind: "test"},
		{name: "orphan temporary file", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"cancelled"}`, "x/.state.json4711": "{"}, state: Cancelled, kind: "test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "spool")
			for name, text := range tt.files {
				full := filepath.Join(dir, name)
				if text == "" && !strings.Contains(name, "/") {
					full = filepath.Join(full, "x")
				}
				if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
					t.Fatal(err)
				}
				if text == "" && !strings.Contains(name, "/") {
					continue
				}
				if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log testlog.Recorder
			l := open(t, LocalConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			st := status(t, l, "x")
			if st.State != tt.state || st.Type != tt.kind {
				t.Errorf("%+v", st)
			}
			bad := log.Count("level=ERROR") + log.Count("level=WARN")
			if tt.log == "" && bad != 0 || tt.log != "" && (bad != 1 || log.Count(tt.log) != 1) {
				t.Errorf("log: %s", &log)
			}
			answer(t, run(t, l, worker("t", request{Do: "echo"})))
			if tt.state == Unknown {
				return
			}
			if _, err := l.Result(bg, "x"); err != nil {
				t.Error(err)
			}
			if err := l.Cancel(bg, "x", 0); err != nil || status(t, l, "x").State != tt.state {
				t.Errorf("cancel: %v", err)
			}
			if err := l.Delete(bg, "x"); err != nil || fileExists(filepath.Join(dir, "x")) {
				t.Errorf("delete: %v", err)
			}
			submit(t, l, worker("x", request{Do: "echo"})) // the id can be used again
			answer(t, over(t, l, "x"))
		})
	}
}

// A pool opens on a full disk.
func TestRestoreOnFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir})
	hold, file := gate(t, "hold")
	submit(t, l, hold)
	begun(t, file)
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	out, err := startPool(t, dir, "FAKE_FULL_DISK=restore").Output()
	if err != nil || !strings.HasPrefix(string(out), "state: lost\n") || strings.Count(string(out), "cannot store the state of a restored task") != 1 {
		t.Errorf("%s%v", out, err)
	}
}

// The end of a task survives a restart with its reason, output and ResultTTL. Its id
// does not run again.
func TestEndsSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	counts := t.TempDir()
	var offset atomic.Int64
	cfg := LocalConfig{Dir: dir, DefaultSlots: 1, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
	l := open(t, cfg)
	tasks := map[string]Task{}
	end := func(id string, a request, change func(*Task)) {
		task := worker(id, a)
		task.ResultTTL = time.Hour
		if change != nil {
			change(&task)
		}
		tasks[id] = task
		submit(t, l, task)
	}
	end("finished", request{Do: "fail until", Text: counts + "/finished", N: 1}, nil)
	end("failed", request{Do: "exit", N: 7, Text: "why"}, nil)
	end("killed", request{Do: "kill self"}, nil)
	end("timed-out", request{Do: "sleep", Text: counts + "/slow"}, func(t *Task) { t.TimeLimit = 10 * time.Millisecond })
	for id := range tasks {
		over(t, l, id)
	}
	hold, file := gate(t, "cancelled")
	hold.ResultTTL, tasks["cancelled"] = time.Hour, hold
	submit(t, l, hold)
	begun(t, file)
	end("expired", request{Do: "echo"}, func(t *Task) { t.QueueTTL = time.Minute })
	end("withdrawn", request{Do: "echo"}, nil)
	if err := l.Cancel(bg, "withdrawn", 0); err != nil {
		t.Fatal(err)
	}
	offset.Store(int64(2 * time.Minute))
	testwait.Until(t, "the task expires", func() bool { l.processDueJobs(l.cfg.Now()); return status(t, l, "expired").State.Over() })
	if err := l.Cancel(bg, "cancelled", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	before := map[string]Result{}
	for id := range tasks {
		before[id] = over(t, l, id)
	}
	for id, want := range map[string]Status{
		"finished": {State: Finished}, "failed": {State: Failed, ExitStatus: 7},
		"killed": {State: Failed, ExitStatus: 137}, "timed-out": {State: TimedOut},
		"cancelled": {State: Cancelled}, "expired": {State: Refused}, "withdrawn": {State: Cancelled},
	} {
		got := before[id].Status
		if got.State != want.State || want.ExitStatus != 0 && got.ExitStatus != want.ExitStatus || (got.Reason == "") != (want.State == Finished) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	for range 2 {
		if err := l.Close(bg); err != nil {
			t.Fatal(err)
		}
		l = open(t, cfg)
		for id, was := range before {
			submit(t, l, tasks[id]) // already known
			got, err := l.Result(bg, id)
			if err != nil {
				t.Fatal(err)
			}
			if shown(got) != shown(was) {
				t.Errorf("%s\nbefore %s\nafter  %s", id, shown(was), shown(got))
			}
		}
	}
	if b, _ := os.ReadFile(counts + "/finished"); len(b) != 1 {
		t.Errorf("%d runs", len(b))
	}
	offset.Store(int64(2 * time.Hour))
	testwait.Until(t, "the results are removed", func() bool {
		l.processDueJobs(l.cfg.Now())
		all, err := l.Status(bg)
		return err == nil && len(all) == 0
	})
	if left, _ := filepath.Glob(dir + "/[^.]*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// shown formats a result without monotonic clock readings.
func shown(r Result) string {
	return fmt.Sprintf("%s %d %q %s %s %s %d %q %q", r.State, r.ExitStatus, r.Reason,
		r.Queued.UTC().Round(0), r.Started.UTC().Round(0), r.Ended.UTC().Round(0), r.MaxRSS, r.Stdout, r.Stderr)
}
