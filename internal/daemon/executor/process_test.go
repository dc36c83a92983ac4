package executor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hce/dc/internal/testkit/testwait"
)

func TestRunOutcomes(t *testing.T) {
	l := open(t, LocalConfig{MaxOutput: 300_000})
	one := func(a request) Task { return worker("t", a) }
	tests := []struct {
		name   string
		task   Task
		state  State
		exit   int
		reason string // part of it
		stderr string
	}{
		{name: "long request", task: one(request{Do: "echo", Text: strings.Repeat("x", 250_000)}), state: Finished},
		{name: "largest answer", task: one(request{Do: "huge", N: 299_998}), state: Finished},
		{name: "huge answer", task: one(request{Do: "huge", N: 300_000}), state: Failed, exit: 137, reason: "larger than the limit"},
		{name: "endless answer", task: one(request{Do: "flood"}), state: Failed, exit: 137, reason: "larger than the limit"},
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
