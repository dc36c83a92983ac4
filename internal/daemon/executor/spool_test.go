package executor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir, DefaultSlots: 1})
	submit(t, l, worker("done", request{Do: "stderr", Text: "<said>"}))
	before := over(t, l, "done")
	hold, file := gate(t, "runs")
	submit(t, l, hold)
	begun(t, file)
	queued := worker("queued", request{Do: "echo", Text: "a<b\u2028"})
	submit(t, l, queued)
	waitingRun := make(chan error, 1)
	go func() {
		_, err := l.Run(bg, worker("t", request{Do: "echo"}))
		waitingRun <- err
	}()
	testwait.Until(t, "the run is queued", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.lanes["test"].queue) == 2
	})
	changes, err := l.Watch(bg, "")
	if err != nil {
		t.Fatal(err)
	}

	_, err = OpenLocal(LocalConfig{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second pool: %v", err)
	}
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	for range changes { // must end
	}
	if err := <-waitingRun; !errors.Is(err, ErrClosed) {
		t.Errorf("waiting run: %v", err)
	}
	if err := l.Submit(bg, queued); !errors.Is(err, ErrClosed) {
		t.Errorf("submit: %v", err)
	}
	// Remains of an interrupted create and remove, and an empty task folder.
	os.Mkdir(filepath.Join(dir, newPrefix+"x"), 0o700)
	os.Mkdir(filepath.Join(dir, oldPrefix+"y"), 0o700)
	os.Mkdir(filepath.Join(dir, "rotten"), 0o700)

	l = open(t, LocalConfig{Dir: dir, DefaultSlots: 1})
	if r := over(t, l, "done"); string(r.Stdout) != string(before.Stdout) || string(r.Stderr) != "<said>" || !r.Ended.Equal(before.Ended) {
		t.Errorf("%+v", r)
	}
	if st := status(t, l, "runs"); st.State != Lost || st.Reason == "" || st.Ended.IsZero() {
		t.Errorf("%+v", st)
	}
	if st := status(t, l, "rotten"); st.State != Lost {
		t.Errorf("%+v", st)
	}
	r := over(t, l, "queued")
	if got := answer(t, r); got.Text != "a<b\u2028" {
		t.Errorf("%+v", r)
	}
	for _, id := range []string{"runs", "rotten"} {
		if err := l.Delete(bg, id); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(dir + "/.[no]*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A queued task of a type to abandon does not start after a restart; others do.
func TestAbandonedTypes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir})
	for _, kind := range []string{"crawl", "db"} {
		one := worker(kind, request{Do: "echo"})
		one.Type, one.Start = kind, Conditions{MinRAM: 1 << 60, RetryDelay: time.Millisecond, Retries: 1 << 30}
		submit(t, l, one)
	}
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	l = open(t, LocalConfig{Dir: dir, Abandon: []string{"crawl"}})
	if st := status(t, l, "crawl"); st.State != Lost || !strings.Contains(st.Reason, "before the task ran") {
		t.Errorf("%+v", st)
	}
	if st := status(t, l, "db"); st.State.Over() {
		t.Errorf("%+v", st)
	}
}

// startPool returns the command of a pool in another process.
func startPool(t *testing.T, dir string, env ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, asFake+"=pool", "FAKE_DIR="+dir)...)
	return cmd
}

func TestKilledPool(t *testing.T) {
	dir := t.TempDir()
	cmd := startPool(t, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runs := announced(t, dir+"/runs")
	testwait.Until(t, "all tasks are stored", func() bool { return fileExists(dir + "/spool/queued/task.json") })
	if _, err := OpenLocal(LocalConfig{Dir: dir + "/spool"}); !errors.Is(err, ErrLocked) {
		t.Errorf("open of a locked spool: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	testwait.Until(t, "the children exit with the pool", func() bool { return !alive(runs.Pid) })

	l := open(t, LocalConfig{Dir: dir + "/spool", DefaultSlots: 1})
	if st := status(t, l, "runs"); st.State != Lost {
		t.Errorf("%+v", st)
	}
	if got := answer(t, over(t, l, "queued")); got.Text != "later" {
		t.Errorf("%+v", got)
	}
}

func TestFullDisk(t *testing.T) {
	out, err := startPool(t, t.TempDir(), "FAKE_FULL_DISK=submit").Output()
	if want := "big: true\nstate: unknown\nfiles: 1\nsmall: <nil>\n"; string(out) != want || err != nil {
		t.Errorf("%s%v", out, err)
	}
}

func BenchmarkSubmitDurable(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := open(b, LocalConfig{MaxQueue: 1 << 30, DefaultSlots: 1})
			submit(b, l, worker("hold", request{Do: "sleep"}))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := l.Submit(bg, worker(fmt.Sprint(i), request{Do: "echo"})); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submits/s")
		})
	}
}
