package simulation

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/task"
)

// Names of the stages' programs.
var (
	dbStage        = executor.Stage{Program: "db-task"}
	crawlerStage   = executor.Stage{Program: "crawler-task"}
	processorStage = executor.Stage{Program: "processor-task"}
)

// dated is a fetcher whose answers start at the simulated time, which is part of the names of
// raw files.
type dated struct {
	*fetch.Client
	clock *clock
}

func (d dated) Get(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	response, err := d.Client.Get(ctx, r)
	if response != nil {
		response.Started = d.clock.now()
	}
	return response, err
}

func TestMain(m *testing.M) {
	process.RunIfWorker(storage.Evaluate, nil)
	os.Exit(m.Run())
}

// programs returns the three jobs on the stores of one data node in dir.
func programs(t testing.TB, c *clock, dir string) map[string]func() task.Job {
	t.Helper()
	log := managertest.Quiet()
	repo, closeStores, err := storage.Open(context.Background(), storage.Config{
		DB: sqldb.Config{Path: databasePath(dir), Synchronous: "NORMAL"}, RawDir: filepath.Join(dir, "raw"), KeyDir: filepath.Join(dir, "kv"),
		NoSync: true, Now: c.now,
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStores)
	gates, err := hostgate.Open(filepath.Join(dir, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(func() {
		client.Close()
		if err := gates.Close(); err != nil {
			t.Error(err)
		}
	})
	workers := &process.Workers{Budget: process.Budget{Time: time.Minute, Clock: time.Minute, Memory: 1 << 30}}
	t.Cleanup(workers.Close)
	return map[string]func() task.Job{
		dbStage.Program: func() task.Job { return storage.Job{Repository: repo} },
		crawlerStage.Program: func() task.Job {
			return &crawl.Job{Data: repo, Fetch: dated{client, c}, Gates: gates, Now: c.now, Log: log, Config: crawl.Config{
				RobotsAgent: "HCE-DC", MaxResourceSize: 1 << 20, MaxHosts: 8, MaxLinks: 1000,
				ChunkItems: 16, ChunkTime: 10 * time.Millisecond, RobotsTTL: time.Hour,
			}}
		},
		processorStage.Program: func() task.Job {
			return &process.Job{Repository: repo, Workers: workers, Now: c.now, Log: log, Config: process.Config{ChunkItems: 16, MaxContentSize: 1 << 20}}
		},
	}
}

func databasePath(dir string) string { return filepath.Join(dir, "dc.db") }
