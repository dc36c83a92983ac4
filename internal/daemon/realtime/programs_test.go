package realtime_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/task"
)

// asProgram makes this test binary a task program; homeOf is its data folder.
const (
	asProgram = "TEST_REALTIME_PROGRAM"
	homeOf    = "TEST_REALTIME_HOME"
)

func TestMain(m *testing.M) {
	process.RunIfWorker(storage.Evaluate, nil)
	switch name := os.Getenv(asProgram); name {
	case "":
		os.Exit(m.Run())
	default:
		os.Exit(runProgram(name, os.Getenv(homeOf)))
	}
}

// program returns a stage that this test binary runs.
func program(name, home string) executor.Stage {
	return executor.Stage{Program: os.Args[0], Args: []string{"--finalize"}, Env: []string{asProgram + "=" + name, homeOf + "=" + home}}
}

// stores opens the stores of the node with that home.
func stores(home string) storage.Config {
	return storage.Config{
		DB: sqldb.Config{Path: filepath.Join(home, "dc.db")}, RawDir: filepath.Join(home, "raw"), KeyDir: filepath.Join(home, "kv"), NoSync: true,
	}
}

// runProgram is the main function of a task program: real jobs on real stores with the settings
// of a test.
func runProgram(name, home string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	fail := func(err error) int {
		os.Stderr.WriteString(err.Error() + "\n")
		return task.ExitCritical
	}
	repo, closeStores, err := storage.Open(ctx, stores(home), log)
	if err != nil {
		return fail(err)
	}
	defer closeStores()
	scratch := storage.NewScratch(repo, stores(home))
	if err := os.WriteFile(filepath.Join(home, name+".pid"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return fail(err)
	}
	if name == "processor-task" {
		workers := &process.Workers{Budget: process.Budget{Time: time.Minute, Clock: time.Minute, Memory: 1 << 30}}
		defer workers.Close()
		job := process.Job{Repository: repo, Scratch: scratch, Workers: workers, Now: time.Now, Log: log, Config: process.Config{ChunkItems: 64, MaxContentSize: 1 << 20}}
		return task.Main(ctx, &process.Finalizer{Job: job}, task.Options{Name: name, Log: log})
	}
	gates, err := hostgate.Open(filepath.Join(home, "hosts"))
	if err != nil {
		return fail(err)
	}
	defer gates.Close()
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer client.Close()
	chromium := browser.New(browser.Config{Dial: client.Dial, Resolve: client.Resolve, Log: log})
	defer chromium.Close()
	job := &crawl.Job{
		Data: repo, Scratch: scratch, Fetch: client, Browser: chromium, Gates: gates, Now: time.Now, Log: log,
		Config: crawl.Config{
			RobotsAgent: "HCE-DC", MaxResourceSize: 1 << 20, MaxHosts: 8, MaxLinks: 1000, ChunkItems: 3,
			ChunkTime: 20 * time.Millisecond, RobotsTTL: time.Hour,
		},
	}
	return task.Main(ctx, job, task.Options{Name: name, Log: log})
}
