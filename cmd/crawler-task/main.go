// crawler-task crawls batches: a Batch on stdin, the Batch that is left on
// stdout, pages and links in the stores of the data node.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

const notes = `stdin holds Batch objects, one after the other; each is answered with one line on
stdout: the Batch with the items that are left (see examples/batch.json).

ENV_CRAWLER_STORE_PATH, if set, begins the names of files that batches are also
written to: <it>crawler.in.<id> and <it>crawler.out.<id>.

With --explain nothing is read and nothing is stored: one JSON object on stdout tells
every decision that the URL would meet. The host is asked for its robots.txt.

Exit status: 0 every answer can be trusted, 1 a critical failure: ini file,
unreadable input, database, disk.`

func main() {
	var asked question
	os.Exit(taskprogram.Run(taskprogram.Program{
		Name: "crawler-task", Summary: "crawls batches of URLs", Notes: notes, Open: asked.open, Batches: true,
		Memory:   func(f *config.File) int64 { return readMemory(f.Section("CrawlerTask")) + otherMemory },
		Commands: []taskprogram.Command{asked.explain()},
	}))
}

// question is what --explain is told beside the URL.
type question struct {
	site  string
	fetch bool
}

// open is Program.Open: what begins when --explain is not given.
func (q *question) open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags taskprogram.Flags) (task.Job, func(), error) {
	if q.site != "" || q.fetch {
		return nil, nil, errors.New("--site and --fetch go with --explain URL")
	}
	return open(ctx, f, app, log, flags)
}

// explain is the command --explain.
func (q *question) explain() taskprogram.Command {
	return taskprogram.Command{
		Option: "explain", Value: "URL", Help: "tell as JSON what would be decided about the URL, and why",
		More: func(s *flags.Set) {
			s.Text(&q.site, "site", "", "ID", "with --explain: as a page of this site; without it the site\nwhose root URL the URL begins with")
			s.Flag(&q.fetch, "fetch", "", "with --explain: make the request as well, and tell what came")
		},
		Run: func(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, url string) error {
			if q.site != "" {
				if err := wire.CheckSiteID("option", "--site", q.site); err != nil {
					return err
				}
			}
			job, closeJob, err := openJob(ctx, f, app, log, taskprogram.Flags{})
			if err != nil {
				return err
			}
			defer closeJob()
			explanation, err := job.Explain(ctx, url, q.site, q.fetch)
			if err != nil {
				return err
			}
			out := json.NewEncoder(os.Stdout)
			out.SetEscapeHTML(false)
			out.SetIndent("", "  ")
			return out.Encode(explanation)
		},
	}
}

func open(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags taskprogram.Flags) (task.Job, func(), error) {
	job, closeJob, err := openJob(ctx, f, app, log, flags)
	if err != nil {
		return nil, nil, err
	}
	if begin := os.Getenv(dumpVariable); begin != "" {
		return dumped{Job: job, begin: begin, log: log}, closeJob, nil
	}
	return job, closeJob, nil
}

func openJob(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, flags taskprogram.Flags) (*crawl.Job, func(), error) {
	s := f.Section("CrawlerTask")
	cfg := readConfig(s, app, flags)
	networks := s.Networks("AllowedNetworks")
	gates := s.PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	counts := s.PathIn(app.DataDir, "header_file_dir", "dc_headers")
	seen := readBrowser(f)
	headersFile, cookieFile := s.Path("headers_file", "crawler-task_headers.txt"), s.Path("cookie_file", "crawler-task_cookie.txt")
	stores, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return nil, nil, err
	}
	data := storage.ReadConfig(stores, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return nil, nil, err
	}
	if err := stores.Err(); err != nil {
		return nil, nil, err
	}
	// A page is stored as UTF-8, which may take three times its bytes.
	if cfg.MaxResourceSize > data.MaxFile/3 {
		return nil, nil, fmt.Errorf("max_resource_size = %d is above a third of raw_file_max = %d of the stores", cfg.MaxResourceSize, data.MaxFile)
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
	repo, closeStores, err := storage.Open(ctx, data, log)
	if err != nil {
		return nil, nil, err
	}
	go sweep(ctx, hosts, log)
	client := fetch.New(fetch.Config{AllowedNetworks: networks, MaxBytes: cfg.MaxResourceSize})
	seen.Dial, seen.Resolve, seen.Log = client.Dial, client.Resolve, log
	chromium := browser.New(seen)
	rotator := headerrotation.New(headerrotation.Options{Dir: counts, Log: log})
	projects := openProjects(app, log)
	closeAll := func() {
		chromium.Close()
		client.Close()
		if err := errors.Join(rotator.Close(), hosts.Close()); err != nil {
			log.Warn("something is not closed well", "error", err)
		}
		projects.close()
		closeStores()
	}
	return &crawl.Job{
		Data: repo, Scratch: storage.NewScratch(repo, data), Fetch: client, Browser: chromium, Gates: hosts, Rotator: rotator, Config: cfg,
		Now: time.Now, Log: log, ProjectLog: projects.log,
	}, closeAll, nil
}

// otherMemory is what the process may take beside bodies under way: pages that are
// read, what is made of them, databases and connections (bytes).
const otherMemory = 112 << 20

// readMemory reads how much bodies under way may take.
func readMemory(s *config.Section) int64 {
	return s.Int("max_memory", 192<<20, 1<<20, 1<<40)
}

// readConfig reads what the crawler itself is told.
func readConfig(s *config.Section, app config.Application, flags taskprogram.Flags) crawl.Config {
	cfg := crawl.Config{
		RobotsAgent:      s.Text("robots_agent", "HCE-DC"),
		MaxResourceSize:  s.Int("max_resource_size", 16<<20, 1<<10, 1<<30),
		MaxMemory:        readMemory(s),
		MaxHosts:         int(s.Int("max_hosts", 64, 1, 10000)),
		MaxLinks:         int(s.Int("max_links", 20000, 1, 1000000)),
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		ChunkTime:        s.Duration("chunk_time", time.Millisecond, 500*time.Millisecond, time.Millisecond, time.Minute),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		RobotsTTL:        s.Duration("robots_ttl", time.Hour, 24*time.Hour, 0, 24*time.Hour),
		Backoff:          s.Duration("busy_backoff", time.Millisecond, time.Second, 0, time.Minute),
		FallbackAge:      s.Duration("default_icr_crawl_time", time.Second, 1000*time.Second, 0, 365*24*time.Hour),
		HeaderSourceDir:  s.PathIn(app.DataDir, "header_source_dir", "dc_header_lists"),
		RobotsDir:        s.PathIn(app.DataDir, "robots_file_dir", "dc_robots"),
		FreqDir:          s.PathIn(app.DataDir, "freq_dir", "dc_freq"),
		ProxyDir:         s.PathIn(app.DataDir, "proxy_dir", "dc_proxies"),
		SchemaDir:        s.PathIn(app.DataDir, "url_schema_data_dir", "dc_urlschema"),
		CookieDir:        s.PathIn(app.DataDir, "cookie_dir", "dc_cookies"),
	}
	cfg.GeneralForUnknown = s.Bool("useZeroSiteIdSiteNotExists", false)
	if flags.MaxTime > 0 {
		cfg.MaxExecutionTime = flags.MaxTime
	}
	// Keys of the original that mean nothing here: the stores are described in
	// db-task.ini, time-outs come with the rows, the list of links is built in.
	s.Accept("raw_data_dir", "db_data_dir", "max_fetch_time", "keep_old_resources", "collect_additional_prop", "urls_xpath_list_file",
		"db_host", "db_port", "db_user", "db_pwd", "db_dc_sites", "db_dc_urls")
	return cfg
}

// readBrowser reads what the browser of dynamic pages is told.
func readBrowser(f *config.File) browser.Config {
	s := f.Section("Browser")
	return browser.Config{
		Path:      s.Text("path", ""),
		MaxMemory: s.Int("max_memory", browser.DefaultMaxMemory, 256<<20, 1<<40),
		MaxPages:  int(s.Int("max_pages", browser.DefaultMaxPages, 1, 100)),
		LoadMedia: s.Bool("load_media", false),
		Macros: browser.MacroPolicy{
			Enabled: s.Bool("macros", false), Remote: s.Bool("macros_remote", false), FilesBelow: s.Path("macros_dir", ""),
			MaxTime: s.Duration("macros_time", time.Second, time.Minute, time.Second, time.Hour),
		},
	}
}

// readDefaults reads the files of default headers and of the default cookie.
func readDefaults(cfg *crawl.Config, headersFile, cookieFile string) error {
	headers, err := os.ReadFile(headersFile)
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	if cfg.Headers, err = headerrotation.Parse(string(headers)); err != nil {
		return fmt.Errorf("headers_file %s %w", headersFile, err)
	}
	cookie, err := os.ReadFile(cookieFile)
	if err != nil {
		return fmt.Errorf("cookie_file: %w", err)
	}
	if cfg.Cookie, err = cookies.ParseProperty(crawl.ParseCookie(string(cookie))); err != nil {
		return fmt.Errorf("cookie_file %s %w", cookieFile, err)
	}
	return nil
}

// gateAge is how long the gate of a host that nobody asks is kept.
const gateAge = 7 * 24 * time.Hour

// sweep removes the gates of hosts that were not asked for long; it ends with ctx
// or with the gates.
func sweep(ctx context.Context, hosts *hostgate.Gates, log *slog.Logger) {
	n, err := hosts.Sweep(ctx, gateAge)
	if err != nil && ctx.Err() == nil && !errors.Is(err, hostgate.ErrClosed) {
		log.Warn("old host gates are not removed", "error", err)
	}
	if n > 0 {
		log.Info("old host gates are removed", "gates", n)
	}
}
