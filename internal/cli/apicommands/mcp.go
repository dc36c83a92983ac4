package apicommands

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
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/urlcommands"
	"hce/dc/internal/config"
	"hce/dc/internal/process/reading"
)

// ModelCommand is hce mcp.
func ModelCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	c := p.NewLeaf(command.Text{
		Name: "mcp", Summary: "offers the crawler to models by the Model Context Protocol",
		Description: `Speaks the protocol on stdin and stdout, as programs with models start it. The tools: scrape, map,
crawl, search, get_page, list_sites and explain; stored pages are resources.

It works with the daemon, or with the folder of hce. In the folder the tool crawl is refused: it
needs a daemon. A daemon serves the same tools by HTTP at /mcp of its API.`,
		Examples: "  hce mcp\n  hce mcp --data /srv/crawl\n  hce mcp --server 127.0.0.1:5504",
	}, &o, serveModels)
	c.Text(&o.Ini, "ini", "", "FILE", "crawler-task.ini of the daemon, for the tool explain; default: as hce explain finds it")
	subcommand.DeclareNetworks(c, &o.Networks)
	return c
}

// serveModels serves the program that has started this one, until it closes stdin.
func serveModels(s *subcommand.Session) error {
	networks, err := config.Networks(s.Networks)
	if err != nil {
		return command.Refuse("--allow-network has %w", err)
	}
	if err := s.ConnectOrCreate(); err != nil {
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
	acts := &actions.Actions{Service: s.Service}
	if s.Node != nil {
		acts.NoCrawler = "no daemon runs, so nothing is crawled; start dc-daemon, or crawl with: " + s.CommandHint("crawl", "URL")
	}
	return mcpserver.ServeStdio(s.Ctx, mcpserver.New(mcpserver.Config{
		Actions: acts, Version: command.Version(),
		Explain: func(_ context.Context, url, site string) (json.RawMessage, error) {
			return urlcommands.Explain(s, url, site)
		},
		Scraper: &actions.Scraper{
			Web: web, Fetches: make(chan struct{}, 16), Reads: make(chan struct{}, runtime.GOMAXPROCS(0)),
			Read: func(_ context.Context, q reading.Question, body []byte) (json.RawMessage, error) {
				return q.Answer(body)
			},
		},
	}))
}
