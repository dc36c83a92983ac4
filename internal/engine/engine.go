package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"hce/dc/internal/cli/crawlprogram"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/processprogram"
	"hce/dc/internal/cli/service"
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
}

// Engine is an opened data folder. Goroutines may share it.
type Engine struct {
	Dir     string // absolute
	crawl   crawlprogram.Settings
	process processprogram.Settings
	repo    *storage.Repository
	log     *slog.Logger
	closers []func()

	mu      sync.Mutex
	crawled map[string]bool // sites
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
	e := &Engine{Dir: f.Dir, log: o.Log, crawled: map[string]bool{}}
	if e.log == nil {
		e.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	release, err := f.Reserve()
	if err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", f.Dir, err)
	}
	e.closers = append(e.closers, release)
	if err = e.readSettings(o.AllowNetworks); err != nil {
		return nil, err
	}
	repo, closeStores, err := storage.Open(ctx, e.crawl.Storage, e.log)
	if err != nil {
		return nil, files.ExplainFull(err, f.Dir)
	}
	e.repo = repo
	e.closers = append(e.closers, closeStores)
	return e, nil
}

// readSettings reads the ini files of the folder.
func (e *Engine) readSettings(networks string) error {
	for _, part := range []struct {
		program string
		read    func(f *config.File, app config.Application) error
	}{
		{"crawler-task", func(f *config.File, app config.Application) (err error) {
			e.crawl, err = crawlprogram.ReadSettings(f, app, e.log)
			return err
		}},
		{"processor-task", func(f *config.File, app config.Application) (err error) {
			e.process, err = processprogram.ReadSettings(f, app, e.log)
			return err
		}},
	} {
		f, err := config.Load(filepath.Join(e.Dir, "ini", part.program+".ini"))
		if err != nil {
			return err
		}
		f.Override("Application", "data_dir", filepath.Join(e.Dir, "data"))
		if networks != "" {
			f.Override("CrawlerTask", "AllowedNetworks", networks)
		}
		if err := part.read(f, f.Application(part.program, "")); err != nil {
			return err
		}
	}
	return nil
}

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
