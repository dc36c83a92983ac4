package sites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// The test binary acts as a db-task that is killed: killFolder has its data, killPoint the
// place, such as "before renew s".
const (
	killFolder = "DC_SITES_TEST_FOLDER"
	killPoint  = "DC_SITES_TEST_POINT"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(killFolder); folder != "" {
		os.Exit(mortal(folder, os.Getenv(killPoint)))
	}
	os.Exit(m.Run())
}

func dataIn(folder string) storage.Config {
	return storage.Config{
		DB:     sqldb.Config{Driver: sqldb.DriverSQLite, Path: filepath.Join(folder, "dc.db"), Busy: time.Minute, Synchronous: "NORMAL"},
		RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20, NoSync: true,
	}
}

// killed is a job whose process is killed once.
type killed struct {
	storage.Job
	marker, point string
}

func (k killed) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var c wire.Call
	if err := json.Unmarshal(request, &c); err != nil {
		return nil, err
	}
	name := named(c)
	k.die("before " + name)
	answer, err := k.Job.Run(ctx, request)
	k.die("after " + name)
	return answer, err
}

func (k killed) die(here string) {
	if here != k.point {
		return
	}
	// The process that creates the marker is killed.
	f, err := os.OpenFile(k.marker, os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return
	}
	f.Close()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func mortal(folder, point string) int {
	repo, closeAll, err := storage.Open(context.Background(), dataIn(folder), managertest.Quiet())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closeAll()
	return task.Main(context.Background(), killed{storage.Job{Repository: repo}, filepath.Join(folder, "killed"), point}, task.Options{})
}

// A db-task is killed at each place, and the daemon restarts or continues: at the end the site
// is unlocked, was started once and renewed once.
func TestRecrawlKilled(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		for _, step := range []string{"begin", "delete s", "optimize s", "renew s", "end s"} {
			for _, restart := range []bool{false, true} {
				point := when + " " + step
				t.Run(fmt.Sprintf("%s, restart %v", point, restart), func(t *testing.T) { killedAt(t, point, restart) })
			}
		}
	}
}

func killedAt(t *testing.T, point string, restart bool) {
	first, second := managertest.Bus(t), managertest.Bus(t) // gone after the pool
	folder := t.TempDir()
	repo, closeAll, err := storage.Open(t.Context(), dataIn(folder), managertest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	d := &data{T: t, jobs: map[string]storage.Job{"n": {Repository: repo}}}
	d.fill("n", "")
	pool, err := executor.OpenLocal(executor.LocalConfig{Dir: filepath.Join(folder, "spool"), DefaultSlots: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	// With a restart the daemon ends before it learns of the kill.
	deaths := make(chan struct{}, 1)
	run := func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		results, err := pool.Run(ctx, task)
		if err != nil || results[0].State != executor.Failed {
			return results, err
		}
		if results[0].ExitStatus != 128+int(syscall.SIGKILL) {
			t.Errorf("%+v %s", results[0].Status, results[0].Stderr)
		}
		deaths <- struct{}{}
		if restart {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return results, nil
	}
	cfg := recrawls()
	cfg.DeleteOld = true
	program := executor.Stage{Program: os.Args[0], Env: []string{killFolder + "=" + folder, killPoint + "=" + point}}
	r := &rig{T: t, bus: first}
	r.start(Config{Recrawl: cfg, DBTask: program, Executor: managertest.Executor{RunFunc: run}}, nil)
	select {
	case <-deaths:
	case <-time.After(managertest.Patience):
		t.Fatal("no process was killed")
	}
	want := "1/0"
	if restart {
		r.stop()
		if d.statuses("n", "") == "1/0" { // renewed already: it is crawled before the next start
			d.ask(t.Context(), "n", `["URL_UPDATE",[{"siteId":"s","url":"`+pages+`","status":4,"tcDate":{"str":"DATE_ADD(NOW(), INTERVAL 1 SECOND)"}}]]`)
			want = "4/0"
		}
		r.bus = second
		r.start(Config{Recrawl: cfg, DBTask: program, Executor: managertest.Executor{RunFunc: run}}, nil)
	}
	r.await("the unlock", func() bool {
		s := d.site("n", "s")
		return s.Iterations == 1 && !s.RecrawlLock && r.stat("recrawl_sites_queue") == 0
	})
	s := d.site("n", "s")
	if got := d.statuses("n", "", "plain", "busy"); got != want+", plain gone, busy 3/0" || s.Iterations != 1 || s.DeletedURLs != 1 || s.RecrawlDate <= schema.DateOf(time.Now()) {
		t.Errorf("rows %s, want %s; site %+v", got, want, s)
	}
	if got := r.stat("sites_recrawl_fault_cnt"); got != 0 {
		t.Errorf("%d faults", got)
	}
	if _, err := os.Stat(filepath.Join(folder, "killed")); errors.Is(err, os.ErrNotExist) {
		t.Error("no process was killed")
	}
}
