package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

// open is Program.Open for batches.
func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	job, closeJob, err := openJob(ctx, f, app, log, maxTime)
	if err != nil {
		return nil, nil, err
	}
	if prefix := os.Getenv(dumpVariable); prefix != "" {
		return dumped{Job: job, prefix: prefix, log: log}, closeJob, nil
	}
	return job, closeJob, nil
}

// openJob reads the settings and opens storage, fetcher and browser. The returned function
// closes them.
func openJob(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (*crawl.Job, func(), error) {
	s := f.Section("CrawlerTask")
	cfg := readConfig(s, app, maxTime)
	networks := s.Networks("AllowedNetworks")
	minRate := s.Int("min_throughput", 64, 0, 1<<30)
	gates := s.PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	headerDir := s.PathIn(app.DataDir, "header_file_dir", "dc_headers")
	browserConfig := readBrowser(f)
	headersFile, cookieFile := s.Path("headers_file", "crawler-task_headers.txt"), s.Path("cookie_file", "crawler-task_cookie.txt")
	dbTask, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return nil, nil, err
	}
	data := storage.ReadConfig(dbTask, app.DataDir)
	data.FreqDelay = freqDelay
	if err := taskprogram.Checked(f, log, dbTask); err != nil {
		return nil, nil, err
	}
	// Pages are stored as UTF-8, which can take three times their bytes.
	if cfg.MaxResourceSize > data.MaxFile/3 {
		return nil, nil, fmt.Errorf("max_resource_size = %d is above a third of raw_file_max = %d in db-task.ini", cfg.MaxResourceSize, data.MaxFile)
	}
	if cfg.MaxResourceSize > cfg.MaxMemory/2 {
		return nil, nil, fmt.Errorf("max_resource_size = %d is above half of max_memory = %d", cfg.MaxResourceSize, cfg.MaxMemory)
	}
	if err := readDefaults(&cfg, headersFile, cookieFile); err != nil {
		return nil, nil, err
	}
	hosts, err := hostgate.Open(gates)
	if err != nil {
		return nil, nil, err
	}
	repo, closeStorage, err := storage.Open(ctx, data, log)
	if err != nil {
		return nil, nil, err
	}
	go sweep(ctx, hosts, log)
	go sweepState(ctx, []string{cfg.CookieDir, headerDir, cfg.FreqDir, cfg.ProxyDir, cfg.SchemaDir}, log)
	client := fetch.New(fetch.Config{AllowedNetworks: networks, MaxBytes: cfg.MaxResourceSize, MinRate: minRate})
	browserConfig.Dial, browserConfig.Resolve, browserConfig.Log = client.Dial, client.Resolve, log
	chromium := browser.New(browserConfig)
	rotator := headerrotation.New(headerrotation.Options{Dir: headerDir, Log: log})
	projects := openProjects(app, log)
	closeAll := func() {
		chromium.Close()
		client.Close()
		if err := errors.Join(rotator.Close(), hosts.Close()); err != nil {
			log.Warn("cannot close header rotation or host gates", "error", err)
		}
		projects.close()
		closeStorage()
	}
	return &crawl.Job{
		Data: repo, Scratch: storage.NewScratch(repo, data), Fetch: client, Browser: chromium, Gates: hosts, Rotator: rotator, Config: cfg,
		Now: time.Now, Log: log, ProjectLog: projects.log, Placement: repo.Placement,
	}, closeAll, nil
}

// freqDelay is how long the Freq of a link may lag behind, up to a minute on large sites
// (sqlstore.Options). A killed crawler-task loses that.
const freqDelay = 5 * time.Second

// sweepState removes the temporary files of killed processes from the folders of state files.
func sweepState(ctx context.Context, folders []string, log *slog.Logger) {
	for _, folder := range folders {
		n, err := statefile.Sweep(ctx, folder)
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot remove temporary files of killed processes", "folder", folder, "error", err)
		}
		if n > 0 {
			log.Info("removed temporary files of killed processes", "folder", folder, "files", n)
		}
	}
}

// gateAge is how long the gate of an unused host is kept.
const gateAge = 7 * 24 * time.Hour

// sweep removes the gates of hosts without requests for gateAge. It returns early when
// ctx ends or the gates are closed.
func sweep(ctx context.Context, hosts *hostgate.Gates, log *slog.Logger) {
	n, err := hosts.Sweep(ctx, gateAge)
	if err != nil && ctx.Err() == nil && !errors.Is(err, hostgate.ErrClosed) {
		log.Warn("cannot remove old host gates", "error", err)
	}
	if n > 0 {
		log.Info("old host gates removed", "gates", n)
	}
}
