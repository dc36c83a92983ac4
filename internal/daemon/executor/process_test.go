package executor

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/testwait"
)

func TestRunOutcomes(t *testing.T) {
	l := open(t, LocalConfig{MaxOutput: 300_000})
	one := func(a request) Task { return worker("t", a) }
	limited := func(a request) Task { x := one(a); x.TimeLimit = 300 * time.Millisecond; return x }
	tests := []struct {
		name   string
		task   Task
		state  State
		exit   int
		reason string // part of it
		stderr string
	}{
		{name: "echo", task: one(request{Do: "echo"}), state: Finished},
		{name: "long request", task: one(request{Do: "echo", Text: strings.Repeat("x", 250_000)}), state: Finished},
		{name: "stderr before the answer", task: one(request{Do: "stderr", Text: "warning"}), state: Finished, stderr: "warning"},
		{name: "stderr beyond the tail", task: one(request{Do: "stderr", N: 500_000, Text: "end"}), state: Finished,
			stderr: strings.Repeat("x", stderrTail-3) + "end"},
		{name: "exit status and stderr", task: one(request{Do: "exit", N: 1, Text: "no database"}), state: Failed, exit: 1,
			reason: "exited with status 1 instead of answering", stderr: "no database"},
		{name: "exit 0 without an answer", task: one(request{Do: "exit"}), state: Failed, reason: "exited with status 0 instead of answering"},
		{name: "exit within the answer", task: one(request{Do: "half"}), state: Failed, exit: 3, reason: "exited with status 3 in the middle of its answer"},
		{name: "killed", task: one(request{Do: "kill self"}), state: Failed, exit: 137, reason: "killed by signal 9"},
		{name: "garbage", task: one(request{Do: "garbage"}), state: Failed, exit: 137, reason: "answer is not JSON"},
		{name: "empty line", task: one(request{Do: "empty line"}), state: Failed, exit: 137, reason: "answer is not JSON"},
		{name: "two lines", task: one(request{Do: "two lines"}), state: Failed, exit: 137, reason: "more than one line"},
		{name: "largest answer", task: one(request{Do: "huge", N: 299_998}), state: Finished},
		{name: "huge answer", task: one(request{Do: "huge", N: 300_000}), state: Failed, exit: 137, reason: "larger than the limit"},
		{name: "endless answer", task: one(request{Do: "flood"}), state: Failed, exit: 137, reason: "larger than the limit"},
		{name: "closed stdout", task: one(request{Do: "close stdout"}), state: Failed, exit: 137, reason: "killed by signal 9"},
		{name: "time limit", task: limited(request{Do: "sleep"}), state: TimedOut, exit: 143, reason: "time limit of 300ms"},
		{name: "no such program", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "/no/such/program"}}}, state: Failed, exit: 127, reason: "cannot start"},
		{name: "no such folder", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "cat", Dir: "/no/such/folder"}}}, state: Failed, exit: 127, reason: "cannot start"},
		{name: "not a task binary", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "true"}}}, state: Failed, reason: "exited with status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, l, tt.task)
			if r.State != tt.state || r.ExitStatus != tt.exit || !strings.Contains(r.Reason, tt.reason) {
				t.Errorf("%s, exit %d, %q; want %s, %d, %q", r.State, r.ExitStatus, r.Reason, tt.state, tt.exit, tt.reason)
			}
			if (r.State == Finished) != (len(r.Stdout) > 0) || slices.Contains(r.Stdout, '\n') {
				t.Errorf("stdout %.100q", r.Stdout)
			}
			if string(r.Stderr) != tt.stderr {
				t.Errorf("stderr %.100q, want %.100q", r.Stderr, tt.stderr)
			}
			if r.Node != "local" || r.Queued.IsZero() || r.Started.IsZero() || r.Ended.IsZero() {
				t.Errorf("status %+v", r.Status)
			}
		})
	}
}

func TestRunPassesTheCommand(t *testing.T) {
	l := open(t, LocalConfig{})
	dir := t.TempDir()
	s := stage("--config", "a b; rm *")
	s.Dir, s.Env = dir, append(s.Env, "FAKE_VAR=x y")
	got := answer(t, run(t, l, Task{ID: "t", Stages: []Stage{s}, Stdin: []byte("{\n\"do\": \"echo\"\n}")}))
	if !slices.Equal(got.Args, s.Args) || got.Dir != dir || got.Var != "x y" {
		t.Errorf("%+v", got)
	}
}

func TestPipeline(t *testing.T) {
	l := open(t, LocalConfig{})
	// The input of the second stage is the answer of the first, including its text.
	two := Task{ID: "t", Stages: []Stage{stage("first"), stage("second")}, Stdin: mustJSON(request{Do: "stderr", Text: "hello"})}
	r := run(t, l, two)
	if got := answer(t, r); got.Text != "hello" || got.Args[0] != "second" || string(r.Stderr) != "hello" {
		t.Errorf("%+v, stderr %q", got, r.Stderr)
	}
	two.Stages[1] = Stage{Program: "false"}
	if r := run(t, l, two); r.State != Failed || r.ExitStatus != 1 || !strings.HasPrefix(r.Reason, "stage 2 of 2, false: ") || r.Stdout != nil {
		t.Errorf("%+v", r)
	}
}

func TestTheWholeGroupIsKilled(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", request{Do: "stubborn", Text: file}))
	p := announced(t, file)
	if !alive(p.Pid) || !alive(p.Child) {
		t.Fatal("not running")
	}
	if err := l.Cancel(bg, "t", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if alive(p.Pid) {
		t.Error("the process is still running")
	}
	testwait.Until(t, "the child exits", func() bool { return !alive(p.Child) })
	r := over(t, l, "t")
	if r.State != Cancelled || r.ExitStatus != 137 {
		t.Errorf("%+v", r.Status)
	}
}

func TestLeftoversOfAnEndedProcess(t *testing.T) {
	l := open(t, LocalConfig{})
	t.Run("in its group", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		if r := run(t, l, worker("t", request{Do: "leave a child", Text: file})); r.State != Failed || r.ExitStatus != 5 {
			t.Errorf("%+v", r.Status)
		}
		child := announced(t, file).Child
		testwait.Until(t, "the child is killed", func() bool { return !alive(child) })
	})
	// Such a child cannot be found, but it must not delay the answer.
	t.Run("outside its group, holding the pipes", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		if r := run(t, l, worker("t", request{Do: "leave a child", Text: file, N: 1})); r.State != Failed || r.ExitStatus != 5 {
			t.Errorf("%+v", r.Status)
		}
		child := announced(t, file).Child
		if !alive(child) {
			t.Error("the child has exited before the answer")
		}
		unix.Kill(child, unix.SIGKILL)
	})
}

func TestCancelKeepsTheAnswer(t *testing.T) {
	l := open(t, LocalConfig{KillGrace: 20 * time.Second})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", request{Do: "hand back", Text: file}))
	p := announced(t, file)
	if err := l.Cancel(bg, "t", 0); err != nil {
		t.Fatal(err)
	}
	r := over(t, l, "t")
	var got reply
	if err := json.Unmarshal(r.Stdout, &got); err != nil || r.State != Cancelled || got.Pid != p.Pid {
		t.Errorf("%+v, %q", r.Status, r.Stdout)
	}
}
