package crawlprogram

import (
	"log/slog"
	"sync"

	"hce/dc/internal/config"
	"hce/dc/internal/crawl/statefile"
)

// maxProjects limits the open project logs. Further projects use the common log.
const maxProjects = 64

// projects are the logs of sites with the property LOGGER. Their files have the name of
// the common log and a suffix. Each record goes to the common log too. Safe for
// concurrent use.
type projects struct {
	common   *slog.Logger
	settings config.Log // of the common log

	mu    sync.Mutex
	open  map[string]*slog.Logger
	files []*config.Output
}

func openProjects(app config.Application, log *slog.Logger) *projects {
	return &projects{common: log, settings: app.Log, open: map[string]*slog.Logger{}}
}

// openLog returns the log of a project: the common log if its file cannot be opened.
func (p *projects) openLog(suffix string) *slog.Logger {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.open[suffix]; known != nil {
		return known
	}
	if p.settings.File == "" || len(p.open) >= maxProjects {
		return p.common
	}
	own := p.settings
	own.File += "." + statefile.Name(suffix)
	log, _, file, err := own.Open(nil)
	if err != nil {
		p.common.Warn("cannot open the log of a project", "suffix", suffix, "error", err)
		p.open[suffix] = p.common
		return p.common
	}
	both := slog.New(slog.NewMultiHandler(p.common.Handler(), log.Handler()))
	p.open[suffix] = both
	p.files = append(p.files, file)
	return both
}

func (p *projects) closeFiles() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, file := range p.files {
		file.Close()
	}
}
