package crawlprogram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

// openBatchJob is Program.Open for batches.
func openBatchJob(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	job, closeJob, err := openJob(ctx, f, app, log, maxTime)
	if err != nil {
		return nil, nil, err
	}
	if prefix := os.Getenv(dumpVariable); prefix != "" {
		return dumped{Job: job, prefix: prefix, log: log}, closeJob, nil
	}
	return job, closeJob, nil
}

// Settings are those of crawler-task.ini.
type Settings struct {
	Storage storage.Config // of db-task.ini, for the repository of Open

	crawl     crawl.Config
	fetch     fetch.Config
	browser   browser.Config
	gates     string // folder
	headerDir string
	app       config.Application
}

// Memory is the memory of the job (bytes).
func (s Settings) Memory() int64 { return s.crawl.MaxMemory + otherMemory }

// ReadSettings reads and checks the settings, and opens nothing. With --check-config the error ends the start.
func ReadSettings(f *config.File, app config.Application, log *slog.Logger) (Settings, error) {
	s := f.Section("CrawlerTask")
	cfg := readConfig(s, app)
	networks := s.Networks("AllowedNetworks")
	minRate := s.Int("min_throughput", 64, 0, 1<<30)
	gates := s.PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	headerDir := s.PathIn(app.DataDir, "header_file_dir", "dc_headers")
	browserConfig := readBrowser(f)
	headersFile, cookieFile := s.Path("headers_file", "crawler-task_headers.txt"), s.Path("cookie_file", "crawler-task_cookie.txt")
	dbTask, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return Settings{}, err
	}
	data := storage.ReadConfig(dbTask, app.DataDir)
	data.FreqDelay = freqDelay
	if err := taskprogram.Checked(f, log, dbTask); err != nil {
		return Settings{}, err
	}
	// Pages are stored as UTF-8, which can take three times their bytes.
	if cfg.MaxResourceSize > data.MaxFile/3 {
		return Settings{}, fmt.Errorf("max_resource_size = %d is above a third of raw_file_max = %d in db-task.ini", cfg.MaxResourceSize, data.MaxFile)
	}
	if cfg.MaxResourceSize > cfg.MaxMemory/2 {
		return Settings{}, fmt.Errorf("max_resource_size = %d is above half of max_memory = %d", cfg.MaxResourceSize, cfg.MaxMemory)
	}
	if err := readDefaults(&cfg, headersFile, cookieFile); err != nil {
		return Settings{}, err
	}
	return Settings{
		Storage: data, crawl: cfg, browser: browserConfig, gates: gates, headerDir: headerDir, app: app,
		fetch: fetch.Config{AllowedNetworks: networks, MaxBytes: cfg.MaxResourceSize, MinRate: minRate},
	}, nil
}

// Open opens gates, fetcher and browser for a job on a repository. The returned function closes them, and not the repository.
func (s Settings) Open(ctx context.Context, repo *storage.Repository, log *slog.Logger) (*crawl.Job, func(), error) {
	hosts, err := hostgate.Open(s.gates)
	if err != nil {
		return nil, nil, err
	}
	go sweepGates(ctx, hosts, log)
	go sweepState(ctx, []string{s.crawl.CookieDir, s.headerDir, s.crawl.FreqDir, s.crawl.ProxyDir, s.crawl.SchemaDir}, log)
	client := fetch.New(s.fetch)
	s.browser.Dial, s.browser.Resolve, s.browser.Log = client.Dial, client.Resolve, log
	chromium := browser.New(s.browser)
	rotator := headerrotation.New(headerrotation.Options{Dir: s.headerDir, Log: log})
	projects := openProjects(s.app, log)
	closeAll := func() {
		chromium.Close()
		client.Close()
		if err := errors.Join(rotator.Close(), hosts.Close()); err != nil {
			log.Warn("cannot close header rotation or host gates", "error", err)
		}
		projects.closeFiles()
	}
	return &crawl.Job{
		Data: repo, Scratch: storage.NewScratch(repo, s.Storage), Fetch: client, Browser: chromium, Gates: hosts, Rotator: rotator, Config: s.crawl,
		Now: time.Now, Log: log, ProjectLog: projects.openLog, Placement: repo.Placement,
	}, closeAll, nil
}

// openJob reads the settings and opens the repository and a job on it. The returned function closes them.
func openJob(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (*crawl.Job, func(), error) {
	settings, err := ReadSettings(f, app, log)
	if err != nil {
		return nil, nil, err
	}
	if maxTime > 0 {
		settings.crawl.MaxExecutionTime = maxTime
	}
	repo, closeStorage, err := storage.Open(ctx, settings.Storage, log)
	if err != nil {
		return nil, nil, err
	}
	job, closeJob, err := settings.Open(ctx, repo, log)
	if err != nil {
		closeStorage()
		return nil, nil, err
	}
	return job, func() { closeJob(); closeStorage() }, nil
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

// sweepGates removes the gates of hosts without requests for gateAge. It returns early when
// ctx ends or the gates are closed.
func sweepGates(ctx context.Context, hosts *hostgate.Gates, log *slog.Logger) {
	n, err := hosts.Sweep(ctx, gateAge)
	if err != nil && ctx.Err() == nil && !errors.Is(err, hostgate.ErrClosed) {
		log.Warn("cannot remove old host gates", "error", err)
	}
	if n > 0 {
		log.Info("old host gates removed", "gates", n)
	}
}
