package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/ini"
	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/crawl"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

func (p program) initCommand() *command.Command {
	var o options
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "init", Summary: "makes an archive",
		Description: `Makes an empty archive in a new or empty folder: the folder content, an XML schema, and
archive.ini with the path of the archive. In an archive it makes what is missing.`,
		Examples: "  archive init /srv/archive",
	}, &o, func(s *session) error {
		dir, err := filepath.Abs(words[0])
		if err != nil {
			return err
		}
		if strings.ContainsAny(dir, "\n\r") {
			return command.Refuse("folder %q has a line break in its name", dir)
		}
		if err := repository.Init(dir); err != nil {
			return err
		}
		path := filepath.Join(dir, "archive.ini")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			text := strings.Replace(ini.Archive, "\nroot = .\n", "\nroot = "+dir+"\n", 1)
			if err := files.Write(path, []byte(text), 0o600); err != nil {
				return fmt.Errorf("init archive: %w", err)
			}
		}
		s.printMessage("the archive is in %s; its settings are in %s", dir, path)
		return nil
	})
	c.Words(&words, "DIR", 1, 1)
	return c
}

func (p program) crawlerCommand() *command.Command {
	var o options
	var set crawlOptions
	var words []string
	var recover bool
	c := p.newLeafCommand(command.Text{
		Name: "crawler", Summary: "archives sites, again and again",
		Description: `Crawls the domains of the URLs, commits each as a version, and begins again after the interval.
Links to other domains are not followed. A domain is crawled by one process at a time. Ctrl-C
stops; what is committed stays.

A crawl that fetches no page commits nothing. If some pages fail, they keep the content of the version
before, marked in data.xml and in the database (keptFrom, keptCause); so do pages that were not reached.
The exit status is 1 then, and the log names the URLs. A page with code 404 or 410 leaves the version.`,
		Examples: `  archive crawler --root /srv/archive https://example.org/ https://example.net/docs/
  archive crawler --root /srv/archive --interval 0 --depth 2 --filters mime https://example.org/`,
	}, &o, func(s *session) error {
		if err := set.applyTo(&s.crawl); err != nil {
			return command.Refusal{Err: err}
		}
		if recover {
			if err := s.recoverDatabase(); err != nil {
				return err
			}
		}
		r, err := repository.Open(s.root)
		if err != nil {
			return err
		}
		return errors.Join(s.runWithLog(func() error { return s.runCrawler(r, words) }), r.Close())
	})
	c.Words(&words, "URL...", 1, 0)
	set.declareOptions(c)
	c.Flag(&recover, "recover", "", "build the database again first, as archive db recover does")
	return c
}

// addScheme adds a scheme to the URLs that have none: that of a version in the archive, else https if the host
// speaks it, else http.
func (s *session) addScheme(r *repository.Repository, urls []string) error {
	for i, typed := range urls {
		u, err := target.Parse(typed)
		if err != nil {
			return command.Refusal{Err: err}
		}
		if !u.Guessed {
			continue
		}
		urls[i] = u.Text
		known, err := r.Query(s.ctx, archive.Query{Where: "url = " + wire.QuotedSQL(u.HTTP().Text), OrderBy: "commitTime DESC", Limit: 1})
		if err != nil {
			return err
		}
		if len(known) > 0 {
			urls[i] = u.HTTP().Text
			continue
		}
		chosen, err := node.ChooseScheme(s.ctx, u, node.Road{Networks: s.settings.crawl.Networks}, s.printMessage)
		if err != nil {
			return command.Refusal{Err: err}
		}
		urls[i] = chosen.Text
	}
	return s.ctx.Err()
}

func (s *session) runCrawler(r *repository.Repository, urls []string) error {
	if err := s.addScheme(r, urls); err != nil {
		return err
	}
	if _, err := crawl.Queue(urls); err != nil {
		return command.Refusal{Err: err}
	}
	programs, err := node.Programs()
	if err != nil {
		return err
	}
	r.Log = s.log
	m := crawl.Manager{Config: s.settings.crawl, Repository: r, Programs: programs, Say: s.printMessage, Log: s.log}
	return m.Run(s.ctx, urls)
}
