package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/executortest"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

// journalTask returns a task of the journal that appends n to a file. size bytes of its input are padding.
func journalTask(file string, n, size int) executor.Task {
	task := executortest.Task(fmt.Sprint("j", n), fakeworker.Request{Do: "append", Text: file + "\n" + strings.Repeat("x", size), N: n})
	task.Target.All, task.Journal = true, true
	return task
}

// lines returns the first words of a file's lines.
func lines(file string) string {
	text, _ := os.ReadFile(file)
	var words []string
	for line := range strings.Lines(string(text)) {
		words = append(words, strings.Fields(line)[0])
	}
	return strings.Join(words, " ")
}

// A node that was away runs what it missed, in order, before it works. The Result for it is Lost,
// with what happens next.
func TestJournal(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	ready(t, e, "alpha")
	file := filepath.Join(t.TempDir(), "f")
	for n, size := range []int{0, 1_200_000, 0} { // the second is too large for a message
		rs, err := e.Run(bg, journalTask(file, n, size))
		if err != nil || len(rs) != 2 {
			t.Fatal(rs, err)
		}
		executortest.Answer(t, rs[0])
		if r := rs[1]; r.Node != "beta" || r.State != executor.Lost || !strings.Contains(r.Reason, "runs it when it is back") {
			t.Errorf("%+v", r.Status)
		}
	}
	if got := lines(file); got != "0 1 2" {
		t.Errorf("alpha ran %s", got)
	}
	var done []string
	beta := startNode(t, b.Node(t, "beta"), "beta", 2, func(c *ServeConfig) {
		c.Done = func(task executor.Task, r executor.Result) { done = append(done, task.ID+" "+string(r.State)) }
	})
	<-beta.CaughtUp()
	if got := strings.Join(done, ", "); got != "j0 finished, j1 finished, j2 finished" {
		t.Errorf("before CaughtUp: %s", got)
	}
	if got := lines(file); got != "0 1 2 0 1 2" {
		t.Errorf("both ran %s", got)
	}
	ready(t, e, "beta")
	rs, err := e.Run(bg, journalTask(file, 3, 0))
	if err != nil || rs[0].State != executor.Finished || rs[1].State != executor.Finished {
		t.Errorf("%+v, %v", rs, err)
	}
}

// The tasks of several callers have the same order on all nodes.
func TestJournalHasOneOrder(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	files := map[string]string{}
	for _, name := range []string{"alpha", "beta"} {
		startNode(t, b.Node(t, name), name, 4, func(c *ServeConfig) {
			files[name] = filepath.Join(t.TempDir(), name)
			c.Done = func(task executor.Task, _ executor.Result) {
				f, _ := os.OpenFile(files[name], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				fmt.Fprintln(f, task.ID)
				f.Close()
			}
		})
	}
	ready(t, e, "alpha", "beta")
	errs := make(chan error)
	for n := range 20 {
		go func() {
			rs, err := e.Run(bg, journalTask(filepath.Join(t.TempDir(), "f"), n, 0))
			for _, r := range rs {
				if r.State != executor.Finished {
					err = fmt.Errorf("%+v", r.Status)
				}
			}
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, file := range files {
		testwait.Until(t, "all tasks are done", func() bool { return len(strings.Fields(lines(file))) == 20 })
	}
	if a, b := lines(files["alpha"]), lines(files["beta"]); a != b {
		t.Errorf("alpha: %s\nbeta:  %s", a, b)
	}
}

// While an order may be published again, no other is: a second copy would undo what came between.
func TestJournalHasOneWriter(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	e.writer <- struct{}{}
	ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
	defer cancel()
	if err := e.appendOrder(ctx, order{Key: "second"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an order while another is written: %v", err)
	}
	<-e.writer
	if err := e.appendOrder(bg, order{Key: "third"}); err != nil {
		t.Error(err)
	}
	if state, err := e.conn.StreamState(bg, broker.StreamJournal); err != nil || state.Pending != 1 {
		t.Errorf("%+v, %v", state, err)
	}
}

// A task of the journal runs until it finishes while the machine is at fault. One that fails by itself
// does not keep the node from the next one.
func TestJournalTries(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	ready(t, e, "alpha")
	for _, c := range []struct {
		do   string
		need int
		want executor.State
		runs int
	}{
		{"broken until", journalTries + 2, executor.Finished, journalTries + 2},
		{"fail until", journalTries, executor.Finished, journalTries},
		{"fail until", journalTries + 1, executor.Failed, journalTries},
	} {
		file := filepath.Join(t.TempDir(), "runs")
		task := executortest.Task("t", fakeworker.Request{Do: c.do, Text: file, N: c.need})
		task.Target.All, task.Journal = true, true
		rs, err := e.Run(bg, task)
		if err != nil || rs[0].State != c.want {
			t.Errorf("%s %d: %+v, %v", c.do, c.need, rs, err)
		}
		if runs, _ := os.ReadFile(file); len(runs) != c.runs {
			t.Errorf("%s %d: %d runs, want %d", c.do, c.need, len(runs), c.runs)
		}
	}
}

// A node that runs a task of the journal a second time, because its acknowledgement was lost, does not
// replace its answer by one that says that the change is there already.
func TestFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), func(c *Config) { c.Silence = brokertest.Timeout })
	incoming := make(chan nodeAnswer, 3)
	for _, a := range [][2]string{{"alpha", "first"}, {"alpha", "second"}, {"beta", "first"}} {
		e.recordHeartbeat(broker.Entry{Key: a[0], Value: encodeJSON(sign{}), Changed: time.Now()})
		incoming <- nodeAnswer{a[0], answer{Error: a[1]}}
	}
	answers := e.gatherAnswers(brokertest.Context(t), []string{"alpha", "beta"}, incoming)
	if answers["alpha"].Error != "first" || answers["beta"].Error != "first" {
		t.Errorf("%+v", answers)
	}
}

// While a node catches up, it answers no Run.
func TestNodeCatchesUpFirst(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	task, gate := executortest.Gate(t, "j")
	task.Target.All, task.Journal = true, true
	if rs, err := e.Run(bg, task); err != nil || rs[0].State != executor.Lost {
		t.Fatal(rs, err)
	}
	node := startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	executortest.Begun(t, gate)
	if s := stateOf(t, e, "alpha"); s != executor.NodeCatching {
		t.Errorf("state %s", s)
	}
	read := executortest.Task("read", fakeworker.Request{Do: "echo"})
	read.Target.All = true
	rs, err := e.Run(bg, read)
	if err != nil || rs[0].State != executor.Lost || !strings.Contains(rs[0].Reason, "journal first") {
		t.Errorf("%+v, %v", rs, err)
	}
	executortest.Submit(t, e, executortest.Task("later", fakeworker.Request{Do: "echo"}))
	os.Remove(gate)
	<-node.CaughtUp()
	executortest.Answer(t, executortest.Over(t, e, "later"))
}

// Inputs of the journal are deleted when all nodes have run them, and not before.
func TestJournalInputsEnd(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	ready(t, e, "alpha")
	file := filepath.Join(t.TempDir(), "f")
	inputs := func() (n int) {
		keys, err := e.tasks.Keys(bg)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if _, err := e.Run(bg, journalTask(file, 0, 1_200_000)); err != nil {
		t.Fatal(err)
	}
	e.sweepJournal(0)
	if inputs() == 0 {
		t.Error("the input is gone before beta has run it")
	}
	<-startNode(t, b.Node(t, "beta"), "beta", 2, nil).CaughtUp()
	testwait.Until(t, "the input is deleted", func() bool { e.sweepJournal(0); return inputs() == 0 })
	ready(t, e, "alpha", "beta")
	if rs, err := e.Run(bg, journalTask(file, 1, 1_200_000)); err != nil || rs[1].State != executor.Finished || inputs() != 0 {
		t.Errorf("%+v, %v, %d inputs", rs, err, inputs())
	}
}

// A node that the head cannot reach has an explicit Result; others are not delayed.
func TestRunWithAwayNode(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha", "beta")
	e := openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	ready(t, e, "alpha")
	begun := time.Now()
	task := executortest.Task("t", fakeworker.Request{Do: "echo"})
	task.Target.All = true
	rs, err := e.Run(bg, task)
	if err != nil || len(rs) != 2 || rs[0].State != executor.Finished || rs[1].State != executor.Lost || rs[1].Node != "beta" || !strings.Contains(rs[1].Reason, "not connected") {
		t.Errorf("%+v, %v", rs, err)
	}
	if time.Since(begun) > testwait.Deadline/2 {
		t.Errorf("it took %v", time.Since(begun))
	}
	task.Target = executor.Target{Nodes: []string{"beta"}}
	executortest.Submit(t, e, task)
	if s := executortest.Status(t, e, "t").State; s != executor.Queued {
		t.Errorf("the task for the away node is %s", s)
	}
	startNode(t, b.Node(t, "beta"), "beta", 2, nil)
	if r := executortest.Over(t, e, "t"); r.Node != "beta" || r.State != executor.Finished {
		t.Errorf("%+v", r.Status)
	}
}

// A node starts only its own programs, with arguments from a short list.
func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, "alpha")
	e := openHead(t, b, b.Head(t), nil)
	startNode(t, b.Node(t, "alpha"), "alpha", 2, nil)
	ready(t, e, "alpha")
	for name, stage := range map[string]executor.Stage{
		"another program":  {Program: "/bin/cat"},
		"another argument": {Program: os.Args[0], Args: []string{"--config=/tmp/x"}},
	} {
		task := executortest.Task("t", fakeworker.Request{Do: "echo"})
		task.Stages = []executor.Stage{stage}
		rs, err := e.Run(bg, task)
		if err != nil || rs[0].State != executor.Refused || !strings.Contains(rs[0].Reason, "alpha") {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		task.ID = strings.ReplaceAll(name, " ", "-")
		executortest.Submit(t, e, task)
		if r := executortest.Over(t, e, task.ID); r.State != executor.Refused {
			t.Errorf("%s: %+v", name, r.Status)
		}
	}
}
