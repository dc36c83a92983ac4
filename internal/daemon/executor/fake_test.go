package executor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testlog"
)

// asFake names the variable that makes the test binary another program: "pool" opens a pool
// and waits to be killed.
const asFake = "EXECUTOR_TEST_FAKE"

func TestMain(m *testing.M) {
	fakeworker.Main()
	if os.Getenv(asFake) == "pool" {
		fakePool()
	}
	os.Exit(m.Run())
}

type (
	request = fakeworker.Request
	reply   = fakeworker.Reply
)

var (
	fileExists = fakeworker.Exists
	mustJSON   = fakeworker.JSON
	alive      = fakeworker.Alive
	announced  = fakeworker.Announced
	children   = fakeworker.Children
)

// fakePool runs a pool in $FAKE_DIR with one slot and two tasks, and waits to be killed.
func fakePool() {
	dir := os.Getenv("FAKE_DIR")
	switch os.Getenv("FAKE_FULL_DISK") {
	case "submit":
		submitOnFullDisk(dir)
	case "restore":
		restoreOnFullDisk(dir)
	}
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool", DefaultSlots: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, t := range []Task{worker("runs", request{Do: "sleep", Text: dir + "/runs"}), worker("queued", request{Do: "echo", Text: "later"})} {
		if err := l.Submit(context.Background(), t); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	select {}
}

// limitFileSize makes writes beyond size bytes fail, as on a full disk, until restore.
func limitFileSize(size uint64) (restore func()) {
	signal.Ignore(syscall.SIGXFSZ)
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_FSIZE, &limit)
	unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: limit.Max})
	return func() { unix.Setrlimit(unix.RLIMIT_FSIZE, &limit) }
}

// restoreOnFullDisk opens the pool and prints the state of task "hold" and the log.
func restoreOnFullDisk(dir string) {
	defer os.Exit(0)
	defer limitFileSize(16)() // enough for the process id in the lock
	var log testlog.Recorder
	l, err := OpenLocal(LocalConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		fmt.Println(err)
		return
	}
	st, _ := l.Status(context.Background(), "hold")
	fmt.Printf("state: %s\n%s", st[0].State, &log)
	l.Close(context.Background())
}

// submitOnFullDisk prints the results of Submit.
func submitOnFullDisk(dir string) {
	l, err := OpenLocal(LocalConfig{Dir: dir + "/spool"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer os.Exit(0)
	defer limitFileSize(4096)() // coverage writes a file at the exit
	big := worker("big", request{Do: "echo", Text: strings.Repeat("x", 100_000)})
	fmt.Println("big:", l.Submit(context.Background(), big) != nil)
	st, _ := l.Status(context.Background(), "big")
	fmt.Println("state:", st[0].State)
	entries, _ := os.ReadDir(dir + "/spool")
	fmt.Println("files:", len(entries))
	fmt.Println("small:", l.Submit(context.Background(), worker("small", request{Do: "echo"})))
	l.Close(context.Background())
}

// stage returns a stage that runs the fake worker.
func stage(args ...string) Stage {
	program, env := fakeworker.Command()
	return Stage{Program: program, Args: args, Env: env}
}

// worker returns a task with one request to the fake worker.
func worker(id string, a request) Task {
	return Task{ID: id, Type: "test", Stages: []Stage{stage()}, Stdin: mustJSON(a)}
}
