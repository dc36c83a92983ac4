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
)

// Whatever lies in the spool, a pool opens, says one line about it, and tasks
// go on around it.
func TestBrokenSpool(t *testing.T) {
	const whole = `{"ID":"x","Type":"test","Stages":[{"Program":"true"}],"Labels":{"batch":"7"},"Stdin":{},"Queued":"2026-01-02T03:04:05Z"}`
	tests := []struct {
		name  string
		files map[string]string // below the spool; "" for a folder
		state State             // of x afterwards
		kind  string            // its type
		log   string            // part of the one line; "" for none
	}{
		{name: "a whole task", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"lost"}`}, state: Lost, kind: "test"},
		{name: "what a kill leaves", files: map[string]string{".new-x/task.json": whole[:20], ".old-y/task.json": whole}, state: Unknown},
		{name: "foreign file", files: map[string]string{"x": "hello"}, state: Unknown, log: "name=x"},
		{name: "foreign file with a dot", files: map[string]string{"core.4711": "hello"}, state: Unknown, log: "name=core.4711"},
		{name: "foreign folder", files: map[string]string{"lost+found": ""}, state: Unknown, log: "name=lost+found"},
		{name: "hidden file", files: map[string]string{".nfs0001": "x"}, state: Unknown},
		{name: "empty folder", files: map[string]string{"x": ""}, state: Lost, log: "task=x"},
		{name: "task half written", files: map[string]string{"x/task.json": whole[:40]}, state: Lost, log: "task=x"},
		{name: "task of zeros", files: map[string]string{"x/task.json": strings.Repeat("\x00", 100)}, state: Lost, log: "task=x"},
		{name: "task empty", files: map[string]string{"x/task.json": ""}, state: Lost, log: "task=x"},
		{name: "another JSON", files: map[string]string{"x/task.json": `[1,2]`}, state: Lost, log: "task=x"},
		{name: "another's task", files: map[string]string{"x/task.json": strings.Replace(whole, `"x"`, `"z"`, 1)}, state: Lost, log: "task=x"},
		{name: "a task nobody may submit", files: map[string]string{"x/task.json": strings.Replace(whole, "true", "", 1)}, state: Lost, log: "task=x"},
		{name: "task is a folder", files: map[string]string{"x/task.json/y": "1"}, state: Lost, log: "task=x"},
		{name: "state half written", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"runn`}, state: Lost, kind: "test", log: "task=x"},
		{name: "state empty", files: map[string]string{"x/task.json": whole, "x/state.json": " "}, state: Lost, kind: "test", log: "task=x"},
		{name: "state of another world", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"dreaming"}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "no state in it", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":""}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "state that is never stored", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"unknown"}`}, state: Lost, kind: "test", log: "task=x"},
		{name: "state is a folder", files: map[string]string{"x/task.json": whole, "x/state.json/y": "1"}, state: Lost, kind: "test", log: "task=x"},
		{name: "over without its output", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"finished"}`}, state: Finished, kind: "test"},
		{name: "state aside, half written", files: map[string]string{"x/task.json": whole, "x/state.json": `{"State":"cancelled"}`, "x/.new-state.json": "{"}, state: Cancelled, kind: "test"},
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
			var j journal
			l := open(t, LocalConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&j, nil))})
			st := status(t, l, "x")
			if st.State != tt.state || st.Type != tt.kind || tt.kind != "" && st.Labels["batch"] != "7" {
				t.Errorf("%+v", st)
			}
			bad := j.count("level=ERROR") + j.count("level=WARN")
			if tt.log == "" && bad != 0 || tt.log != "" && (bad != 1 || j.count(tt.log) != 1) {
				t.Errorf("log: %s", j.text.String())
			}
			answer(t, run(t, l, worker("t", ask{Do: "echo"})))
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
			submit(t, l, worker("x", ask{Do: "echo"})) // the id is free
			answer(t, over(t, l, "x"))
		})
	}
}

// A disk that takes no more keeps no pool from opening.
func TestRestoreOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir})
	hold, file := gate(t, "hold")
	submit(t, l, hold)
	begun(t, file)
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	// The file aside is a folder: nothing can be written there.
	if err := os.MkdirAll(filepath.Join(dir, "hold", newPrefix+"state.json", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	var j journal
	l = open(t, LocalConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&j, nil))})
	if st := status(t, l, "hold"); st.State != Lost {
		t.Errorf("%+v", st)
	}
	if j.count("cannot store what became of a task") != 1 {
		t.Errorf("log: %s", j.text.String())
	}
}

// Every end outlives the pool: with its reason, its attempts, its output and its
// time to live. A known id is not run again.
func TestEndsSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	counts := t.TempDir()
	var offset atomic.Int64
	cfg := LocalConfig{Dir: dir, DefaultSlots: 1, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
	l := open(t, cfg)
	tasks := map[string]Task{}
	end := func(id string, a ask, change func(*Task)) {
		task := worker(id, a)
		task.ResultTTL = time.Hour
		if change != nil {
			change(&task)
		}
		tasks[id] = task
		submit(t, l, task)
	}
	end("finished", ask{Do: "fail until", Text: counts + "/finished", N: 2}, func(t *Task) { t.Attempts = 3 })
	end("failed", ask{Do: "exit", N: 7, Text: "why"}, func(t *Task) { t.Attempts = 2 })
	end("killed", ask{Do: "kill self"}, nil)
	end("timed-out", ask{Do: "sleep", Text: counts + "/slow"}, func(t *Task) { t.TimeLimit = 10 * time.Millisecond })
	for id := range tasks {
		over(t, l, id)
	}
	hold, file := gate(t, "cancelled")
	hold.ResultTTL, tasks["cancelled"] = time.Hour, hold
	submit(t, l, hold)
	begun(t, file)
	end("expired", ask{Do: "echo"}, func(t *Task) { t.QueueTTL = time.Minute })
	end("withdrawn", ask{Do: "echo"}, nil)
	if err := l.Cancel(bg, "withdrawn", 0); err != nil {
		t.Fatal(err)
	}
	offset.Store(int64(2 * time.Minute))
	eventually(t, "it expires", func() bool { l.sweep(l.cfg.Now()); return status(t, l, "expired").State.Over() })
	if err := l.Cancel(bg, "cancelled", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	before := map[string]Result{}
	for id := range tasks {
		before[id] = over(t, l, id)
	}
	for id, want := range map[string]Status{
		"finished": {State: Finished, Attempt: 2}, "failed": {State: Failed, Attempt: 2, ExitStatus: 7},
		"killed": {State: Failed, Attempt: 1, ExitStatus: 137}, "timed-out": {State: TimedOut, Attempt: 1},
		"cancelled": {State: Cancelled, Attempt: 1}, "expired": {State: Refused}, "withdrawn": {State: Cancelled},
	} {
		got := before[id].Status
		if got.State != want.State || got.Attempt != want.Attempt || want.ExitStatus != 0 && got.ExitStatus != want.ExitStatus || (got.Reason == "") != (want.State == Finished) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	for range 2 {
		if err := l.Close(bg); err != nil {
			t.Fatal(err)
		}
		l = open(t, cfg)
		for id, was := range before {
			submit(t, l, tasks[id]) // known, whatever its end was
			got, err := l.Result(bg, id)
			if err != nil {
				t.Fatal(err)
			}
			if shown(got) != shown(was) {
				t.Errorf("%s\nbefore %s\nafter  %s", id, shown(was), shown(got))
			}
		}
	}
	if b, _ := os.ReadFile(counts + "/finished"); len(b) != 2 {
		t.Errorf("%d runs", len(b))
	}
	offset.Store(int64(2 * time.Hour))
	eventually(t, "the results go", func() bool {
		l.sweep(l.cfg.Now())
		all, err := l.Status(bg)
		return err == nil && len(all) == 0
	})
	if left, _ := filepath.Glob(dir + "/[^.]*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// shown is all of a result, without the clock's own reading.
func shown(r Result) string {
	return fmt.Sprintf("%s %d %d %q %s %s %s %d %q %q", r.State, r.Attempt, r.ExitStatus, r.Reason,
		r.Queued.UTC().Round(0), r.Started.UTC().Round(0), r.Ended.UTC().Round(0), r.MaxRSS, r.Stdout, r.Stderr)
}

// A task that is lost in each of its attempts comes to an end, over any number
// of restarts.
func TestAttemptsAreLostOneByOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	hold, file := gate(t, "t")
	hold.Attempts = 3
	l := open(t, LocalConfig{Dir: dir})
	submit(t, l, hold)
	for attempt := 1; attempt <= 3; attempt++ {
		begun(t, file)
		os.Remove(file + ".begun")
		if st := status(t, l, "t"); st.Attempt != attempt {
			t.Errorf("%+v, want attempt %d", st, attempt)
		}
		if err := l.Close(bg); err != nil {
			t.Fatal(err)
		}
		l = open(t, LocalConfig{Dir: dir})
		submit(t, l, hold)
	}
	if st := status(t, l, "t"); st.State != Lost || st.Attempt != 3 || st.Reason == "" {
		t.Errorf("%+v", st)
	}
}
