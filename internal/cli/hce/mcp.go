package hce

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/extraction"
	"hce/dc/internal/cli/mcpserver"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/config"
	"hce/dc/internal/process/reading"
)

func (p program) mcpCommand() *command.Command {
	var o options
	c := p.newLeafCommand(command.Text{
		Name: "mcp", Summary: "offers the crawler to models by the Model Context Protocol",
		Description: `Speaks the protocol on stdin and stdout, as programs with models start it. The tools: scrape, map,
crawl, search, get_page, list_sites and explain; stored pages are resources.

It works with the daemon, or with the folder of hce. In the folder the tool crawl is refused: it
needs a daemon. A daemon serves the same tools by HTTP at /mcp of its API.`,
		Examples: "  hce mcp\n  hce mcp --data /srv/crawl\n  hce mcp --server 127.0.0.1:5504",
	}, &o, func(s *session) error { return s.serveModels() })
	c.Text(&o.ini, "ini", "", "FILE", "crawler-task.ini of the daemon, for the tool explain; default: as hce explain finds it")
	networksOption(c, &o.networks)
	return c
}

// serveModels serves the program that has started this one, until it closes stdin.
func (s *session) serveModels() error {
	networks, err := config.Networks(s.networks)
	if err != nil {
		return command.Refuse("--allow-network has %w", err)
	}
	if err := s.connectOrCreate(); err != nil {
		return err
	}
	gates, err := datafolder.GatesDir(os.Getenv)
	if err != nil {
		return err
	}
	web, err := extraction.OpenWeb(extraction.WebConfig{
		Gates: gates, Networks: networks, Delay: 500 * time.Millisecond, MaxBytes: 32 << 20, Timeout: time.Minute, MaxWait: time.Minute,
	})
	if err != nil {
		return err
	}
	defer web.Close()
	acts := &actions.Actions{Service: s.service}
	if s.node != nil {
		acts.NoCrawler = "no daemon runs, so nothing is crawled; start dc-daemon, or crawl with: " + s.commandHint("crawl", "URL")
	}
	return mcpserver.ServeStdio(s.ctx, mcpserver.New(mcpserver.Config{
		Actions: acts, Version: command.Version(), Explain: s.explainForModel,
		Scraper: &actions.Scraper{
			Web: web, Fetches: make(chan struct{}, 16), Reads: make(chan struct{}, runtime.GOMAXPROCS(0)),
			Read: func(_ context.Context, q reading.Question, body []byte) (json.RawMessage, error) {
				return q.Answer(body)
			},
		},
	}))
}

// explainForModel is hce explain.
func (s *session) explainForModel(_ context.Context, typed, site string) (json.RawMessage, error) {
	u, err := target.Parse(typed)
	if err != nil {
		return nil, err
	}
	if s.node == nil && !s.findCrawlerIni() {
		return nil, command.Refuse("start hce mcp with --ini and the crawler-task.ini of the daemon")
	}
	args := []string{"--explain", u.Text}
	if site != "" {
		args = append(args, "--site", site)
	}
	return s.explainTask(nil, "crawler-task", args...)
}
