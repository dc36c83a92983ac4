package main

import (
	"log/slog"
	"sync"

	"hce/dc/internal/config"
	"hce/dc/internal/crawl/statefile"
)

// mostProjects bounds the project logs that are open at once; beyond it there is
// but the common log.
const mostProjects = 64

// projects are the logs of sites with the property LOGGER, each beside the common
// log and named by it and a suffix. What goes there goes to the common log too.
type projects struct {
	common *slog.Logger
	like   config.Log // of the common log

	mu   sync.Mutex
	open map[string]*slog.Logger
	ends []func()
}

func openProjects(app config.Application, log *slog.Logger) *projects {
	return &projects{common: log, like: app.Log, open: map[string]*slog.Logger{}}
}

// log is the log of a project. A file that cannot be opened is said once.
func (p *projects) log(suffix string) *slog.Logger {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.open[suffix]; known != nil {
		return known
	}
	if p.like.File == "" || len(p.open) >= mostProjects {
		return p.common
	}
	own := p.like
	own.File += "." + statefile.Name(suffix)
	log, _, end, err := own.Open(nil)
	if err != nil {
		p.common.Warn("a project's log cannot be opened", "suffix", suffix, "error", err)
		p.open[suffix] = p.common
		return p.common
	}
	both := slog.New(slog.NewMultiHandler(p.common.Handler(), log.Handler()))
	p.open[suffix] = both
	p.ends = append(p.ends, end.Close)
	return both
}

func (p *projects) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.ends {
		end()
	}
}
