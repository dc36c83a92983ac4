package hce

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

func siteRmCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var words []string
	var yes, compact bool
	c := p.NewLeaf(command.Text{
		Name: "rm", Summary: "deletes a site with all its pages",
		Description: `On a terminal it asks first. There is no way back. Processed contents are freed at once. Raw pages lie
together with those of other sites: their space is freed when most of such a file is deleted, or at
once with --compact-raw, in a folder of hce. --compact-raw without a site only frees that space.`,
		Examples: "  hce site rm example.org --yes\n  hce site rm example.org --yes --compact-raw\n  hce site rm --compact-raw",
	}, &o, func(s *subcommand.Session) error {
		if len(words) == 0 && !compact {
			return command.Refuse("argument SITE is missing; list the sites with: %s", s.CommandHint("site", "ls"))
		}
		return removeSite(s, words, yes, compact)
	})
	c.Words(&words, "[SITE]", 0, 1)
	c.Flag(&yes, "yes", "y", "do not ask")
	c.Flag(&compact, "compact-raw", "", "free the space of all deleted raw pages now; it copies the others")
	return c
}

// removed is the summary of hce site rm. Without a folder only the site is known.
type removed struct {
	Site  string `json:"site,omitempty"`
	Freed int64  `json:"freed"` // bytes, without those of a compaction
	Later int64  `json:"later"` // bytes of raw pages that are freed later

	Compacted *compacted `json:"compacted,omitempty"`
}

// compacted is the summary of db-task --compact-raw.
type compacted struct {
	Segments int64 `json:"segments"`
	Copied   int64 `json:"copied"`
	Freed    int64 `json:"freed"`
	Left     int64 `json:"left"`
	Dead     int64 `json:"dead"`
}

func removeSite(s *subcommand.Session, words []string, yes, compact bool) error {
	if err := s.OpenService(); err != nil {
		return err
	}
	if compact && s.Node == nil {
		return command.Refuse("--compact-raw works in a folder of hce; nothing was deleted. On the machine of the daemon run: db-task --compact-raw")
	}
	var done removed
	if len(words) > 0 {
		if err := deleteSite(s, words[0], yes, &done); err != nil {
			return err
		}
	}
	if compact {
		s.CloseAll() // of the stores: no process writes to a segment
		s.Closers = nil
		if err := s.Node.Summary(s.Ctx, s.Talk, &done.Compacted, "--compact-raw"); err != nil {
			return fmt.Errorf("%w; what was deleted stays deleted, and this command continues: %s", err, s.CommandHint("site", "rm", "--compact-raw"))
		}
		done.Later = done.Compacted.Dead
	}
	if s.JSON {
		return s.PrintJSON(done)
	}
	sayRemoved(s, done)
	return nil
}

func deleteSite(s *subcommand.Session, typed string, yes bool, done *removed) error {
	site, err := s.FindSite(typed)
	if err != nil {
		return err
	}
	if !yes && !confirmQuestion(s, fmt.Sprintf("delete site %s (%s) with %s?", site.ID, plaintext.Clean(subcommand.RootOf(site)), plaintext.Count(site.Contents, "page", "pages"))) {
		return command.Refuse("nothing was deleted; confirm with --yes")
	}
	done.Site, done.Later = site.ID, site.Size
	if s.Node != nil {
		var space struct{ Now, Later int64 }
		if err := s.Node.Summary(s.Ctx, s.Talk, &space, "--space", site.ID); err != nil {
			return err
		}
		done.Freed, done.Later = space.Now, space.Later
	}
	return s.AskService(wire.SiteDelete, map[string]any{"id": site.ID, "taskType": 1, "delayedType": wire.Immediate}, nil)
}

func sayRemoved(s *subcommand.Session, done removed) {
	if done.Site != "" {
		if s.Node == nil && done.Later == 0 {
			s.PrintMessage("deleted site %s, which had no raw pages", done.Site)
			return
		}
		if s.Node == nil {
			s.PrintMessage("deleted site %s; its processed contents are freed, and about %s of raw pages later, or at once with db-task --compact-raw on the machine of the daemon", done.Site, files.Bytes(done.Later))
			return
		}
		s.PrintMessage("deleted site %s; %s are free", done.Site, files.Bytes(done.Freed))
	}
	if c := done.Compacted; c != nil {
		s.PrintMessage("raw pages: %s are free, %s were copied", files.Bytes(c.Freed-c.Copied), files.Bytes(c.Copied))
		if c.Left > 0 {
			s.PrintMessage("%s for want of room, or because a crawl writes there; repeat: %s", plaintext.Count(c.Left, "file stays as it is", "files stay as they are"), s.CommandHint("site", "rm", "--compact-raw"))
		}
		return
	}
	if done.Later > 0 {
		s.PrintMessage("%s of raw pages are freed when most of their files is deleted, or at once with: %s", files.Bytes(done.Later), s.CommandHint("site", "rm", "--compact-raw"))
	}
}

// confirmQuestion asks the person at the terminal; without a terminal the answer is no.
func confirmQuestion(s *subcommand.Session, question string) bool {
	if !livescreen.IsTerminal(os.Stdin) {
		return false
	}
	fmt.Fprintf(s.Talk, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // no answer is no
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}
