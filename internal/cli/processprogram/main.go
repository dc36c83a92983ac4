// Package processprogram is processor-task: it reads batches of crawled URLs from stdin, writes one answer line for each
// to stdout, and stores contents in the storage of the data node. A program that processes pages in its own process reads
// the same settings:
//
//	settings, err := processprogram.ReadSettings(f, app, log)
//	job, closeJob, err := settings.Open(repository, log)
package processprogram

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/process"
	"hce/dc/internal/process/remote"
	"hce/dc/internal/storage"
	"hce/dc/internal/task"
)

var text = command.Text{
	Name: "processor-task", Summary: "extracts the contents of crawled URLs",
	Description: `Reads Batch objects from stdin, one after the other, as crawler-task prints them, and
answers each with one line on stdout.

With --finalize the batches are real-time batches (crawlerType 4). Nothing is stored, and
the raw files of the batch are removed. The answer is an object with these members:
  contents  the answer to the client of BATCH, one element for each item
  grades    how good each content is
  again     a batch of the items that a browser may crawl better

With --try-template it reads no batches and stores nothing. It applies the templates of FILE to
one page, within the budget of a page (max_item_time, max_item_memory), and prints for each tag
what each rule found and why its value was used or not. FILE is the JSON of the property
template, or the object of SITE_NEW with that property; then PROCESSOR_PROPERTIES and
PROCESSOR_NAME = SCRAPER_MULTI_ITEMS count too. PAGE is a URL, an HTML file, or - for stdin. A URL is
requested once, with a time limit of 30 s, at most max_content_size bytes, and from public addresses and
AllowedNetworks of processor-task.ini. For a file, --url is the URL of the page, for conditions and
links. docs/templates.md describes templates.

With --explain it reads no batches and stores nothing. It extracts the stored raw content of URL, with
the templates of TEMPLATE_SOURCE that are due, and prints one JSON object with every decision: site,
row, content type, filters of stages 7 and 2, processor, the score of each template, extractor and
engine, the source of the date, and the error bits with their messages.`,
	Examples: `  crawler-task < batch.json | processor-task
  processor-task --try-template template.json http://example.org/news/1
  processor-task --try-template template.json page.html --url http://example.org/news/1
  processor-task --explain http://example.org/news/1
  curl -s http://example.org/news/1 | processor-task --try-template site-new.json - --json`,
	ExitStatus: `0 every answer can be trusted; 1 critical failure: ini file, unreadable input, database,
disk; 3 critical failure that the batch may have caused. With --try-template: 0 a template was
chosen and everything in it could be followed; 1 FILE or PAGE cannot be had, or the page
exceeds its budget; 2 the report names problems, such as a mandatory template that found
nothing, or no template applies to the URL.`,
}

// Main runs processor-task and returns its exit status.
func Main() int {
	process.RunIfWorker(storage.Evaluate, func(work func() int) int { return command.Profiled(text.Name, work) })
	var m mode
	return taskprogram.Run(taskprogram.Program{
		Text: text, Open: m.openJob, Batches: true, Machine: storage.Machine, Commands: []taskprogram.Command{m.trial.newCommand(), m.explanation.newCommand()},
		Options: func(c *command.Command) {
			c.Flag(&m.finalize, "finalize", "", "process real-time batches: print their contents, store nothing")
		},
	})
}

// mode is the options of the program.
type mode struct {
	finalize    bool
	trial       trial
	explanation explanation
}

func (m *mode) openJob(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	if m.explanation.site != "" {
		return nil, nil, errors.New("--site goes with --explain URL")
	}
	if err := m.trial.refuseOptions(); err != nil {
		return nil, nil, err
	}
	n, err := openNode(ctx, f, app, log, maxTime)
	if err != nil {
		return nil, nil, err
	}
	if !m.finalize {
		return n.job, n.close, nil
	}
	n.job.Scratch = storage.NewScratch(n.repository, n.data)
	return &process.Finalizer{Job: *n.job}, n.close, nil
}

// node is the job on the stores of this node.
// Settings are those of processor-task.ini.
type Settings struct {
	Storage storage.Config // of db-task.ini, for the repository of Open

	process process.Config
	budget  process.Budget
	web     webSettings
}

// ReadSettings reads and checks the settings, and opens nothing. With --check-config the error ends the start.
func ReadSettings(f *config.File, app config.Application, log *slog.Logger) (Settings, error) {
	s := f.Section("ProcessorTask")
	cfg := process.Config{
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		MaxContentSize:   readMaxSize(s),
	}
	// Keys of the original without effect: db-task.ini describes the storage.
	s.Accept("raw_data_dir", "algorithmsModel", "db_host", "db_port", "db_user", "db_pwd", "db_dc_sites", "db_dc_urls")
	readNetworks(s) // only --try-template uses them, but invalid ones are always reported
	budget := readBudget(s)
	dbTask, err := taskprogram.DBTaskFile(f, s)
	if err != nil {
		return Settings{}, err
	}
	data := storage.ReadConfig(dbTask, app.DataDir)
	web, err := readWeb(s, app)
	if err != nil {
		return Settings{}, err
	}
	if err := taskprogram.Checked(f, log, web.readFiles(dbTask)...); err != nil {
		return Settings{}, err
	}
	return Settings{Storage: data, process: cfg, budget: budget, web: web}, nil
}

// Open opens what a job needs in addition to a repository. The returned function closes it, and not the repository.
func (s Settings) Open(repo *storage.Repository, log *slog.Logger) (*process.Job, func(), error) {
	client, closeWeb, err := s.web.openClient()
	if err != nil {
		return nil, nil, err
	}
	workers := &process.Workers{Budget: s.budget}
	elsewhere := &remote.Reader{Web: client, Config: s.web.remote, Now: time.Now, Log: log}
	job := &process.Job{Repository: repo, Workers: workers, Remote: elsewhere, Config: s.process, Now: time.Now, Log: log}
	return job, func() { closeWeb(); workers.Close() }, nil
}

type node struct {
	job        *process.Job // without Scratch
	repository *storage.Repository
	data       storage.Config
	close      func()
}

func openNode(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (*node, error) {
	settings, err := ReadSettings(f, app, log)
	if err != nil {
		return nil, err
	}
	if maxTime > 0 {
		settings.process.MaxExecutionTime = maxTime
	}
	repo, closeStores, err := storage.Open(ctx, settings.Storage, log)
	if err != nil {
		return nil, err
	}
	job, closeJob, err := settings.Open(repo, log)
	if err != nil {
		closeStores()
		return nil, err
	}
	return &node{job: job, repository: repo, data: settings.Storage, close: func() { closeJob(); closeStores() }}, nil
}

func readMaxSize(s *config.Section) int64 { return s.Int("max_content_size", 16<<20, 1<<10, 1<<30) }

// readNetworks reads the networks that are not public and may be requested.
func readNetworks(s *config.Section) []netip.Prefix { return s.Networks("AllowedNetworks") }

// readBudget reads what one page may cost.
func readBudget(s *config.Section) process.Budget {
	itemTime := s.Duration("max_item_time", time.Millisecond, 5*time.Second, time.Millisecond, time.Hour)
	return process.Budget{Time: itemTime, Clock: 10 * itemTime, Memory: s.Int("max_item_memory", 512<<20, 128<<20, 1<<40)}
}
