package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"hce/dc/internal/cli/crawlprogram"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/processprogram"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
)

// Options of an engine.
type Options struct {
	// AllowNetworks are networks that are not public and may be crawled, such as 127.0.0.0/8; separated by commas.
	AllowNetworks string
	Log           *slog.Logger // nil: records are discarded
	// LogFiles: records go to the logs that crawler-task.ini and processor-task.ini name, and not to Log.
	LogFiles bool
	// Workers: pages are read by child processes of this program, each within its budget (max_item_time, max_item_memory), and
	// not in this process. The program calls process.RunIfWorker first.
	Workers bool
	// Waits: a crawl waits while the machine has a fault, such as a full disk, and goes on after it. Otherwise it ends with
	// the fault.
	Waits bool
}

// Engine is an opened data folder. Goroutines may share it.
type Engine struct {
	*datafolder.Folder
	options    Options
	crawl      crawlprogram.Settings
	process    processprogram.Settings
	repo       *storage.Repository
	crawlLog   *slog.Logger // also of the stores
	processLog *slog.Logger
	closers    []func()

	mu      sync.Mutex
	crawled map[string]bool   // sites
	failed  map[string]string // the last error of a request, by site
}

// Open creates what is missing of the folder and opens it. The error wraps files.ErrLocked if another crawl works in the
// folder.
func Open(ctx context.Context, dir string, o Options) (_ *Engine, err error) {
	if _, err := config.Networks(o.AllowNetworks); err != nil {
		return nil, fmt.Errorf("option AllowNetworks has %w", err)
	}
	f, err := datafolder.Open(dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{Folder: f, options: o, crawled: map[string]bool{}, failed: map[string]string{}}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	release, err := f.Occupy()
	if err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", f.Dir, err)
	}
	e.closers = append(e.closers, release)
	if err = e.readSettings(); err != nil {
		return nil, files.ExplainFull(err, f.Dir)
	}
	repo, closeStores, err := storage.Open(ctx, e.crawl.Storage, e.crawlLog)
	if err != nil {
		return nil, files.ExplainFull(err, f.Dir)
	}
	e.repo = repo
	e.closers = append(e.closers, closeStores)
	return e, nil
}

// readSettings reads the ini files of the folder and opens the logs.
func (e *Engine) readSettings() (err error) {
	f, app, log, err := e.openProgram("crawler-task")
	if err != nil {
		return err
	}
	if e.crawl, err = crawlprogram.ReadSettings(f, app, log); err != nil {
		return err
	}
	e.crawlLog = log
	if f, app, log, err = e.openProgram("processor-task"); err != nil {
		return err
	}
	e.process, err = processprogram.ReadSettings(f, app, log)
	e.processLog = log
	return err
}

// openProgram reads the ini file of a task program and returns the log of its work.
func (e *Engine) openProgram(program string) (*config.File, config.Application, *slog.Logger, error) {
	f, err := config.Load(filepath.Join(e.IniDir(), program+".ini"))
	if err != nil {
		return nil, config.Application{}, nil, err
	}
	f.Override("Application", "data_dir", e.DataDir())
	if e.options.AllowNetworks != "" {
		f.Override("CrawlerTask", "AllowedNetworks", e.options.AllowNetworks)
	}
	if !e.options.LogFiles {
		log := e.options.Log
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		return f, f.Application(program, ""), log, nil
	}
	app := f.Application(program, "log/"+program+".log")
	log, _, out, err := app.Log.Open(os.Stderr)
	if err != nil {
		return nil, app, nil, err
	}
	e.closers = append(e.closers, out.Close)
	return f, app, log.With("program", program, "pid", os.Getpid()), nil
}

// Memory is the memory that crawls need (bytes), for the soft limit of a program that does nothing else. Processes that
// read pages have their own.
func (e *Engine) Memory() int64 { return e.crawl.Memory() + taskprogram.MemoryLimit }

// Close closes the folder. No call may be under way. It may be called more than once.
func (e *Engine) Close() {
	for len(e.closers) > 0 {
		last := len(e.closers) - 1
		e.closers[last]()
		e.closers = e.closers[:last]
	}
}

// String names the folder in messages.
func (e *Engine) String() string { return "the data folder " + e.Dir }

// Ask runs an operation, as service.Service does. When ctx is done, the error is its cause.
func (e *Engine) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	err := e.ask(ctx, op, request, answer)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (e *Engine) ask(ctx context.Context, op wire.Op, request, answer any) error {
	call, err := service.EncodePair(op, request)
	if err != nil {
		return err
	}
	return e.runCall(ctx, op, call, answer)
}

// runCall runs an operation of the stores.
func (e *Engine) runCall(ctx context.Context, op wire.Op, call json.RawMessage, answer any) error {
	result, err := storage.Job{Repository: e.repo}.Run(ctx, call)
	if err != nil {
		return files.ExplainFull(err, e.Dir)
	}
	line, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode the answer to %s: %w", op, err)
	}
	return service.ReadPair(op, line, answer)
}

// reserveSite returns false if another call crawls the site.
func (e *Engine) reserveSite(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.crawled[id] {
		return false
	}
	e.crawled[id] = true
	return true
}

func (e *Engine) releaseSite(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.crawled, id)
}

// Fault returns the error of the last request of a site that failed or was put off, "" without one.
func (e *Engine) Fault(site string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed[site]
}

func (e *Engine) recordFailed(site string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed[site] = err.Error()
}
