package program

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
)

// maxWords bounds the arguments; the question has limits of its own.
const maxWords = 100

func (p program) askCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "ask", Summary: "answers a question on the command line",
		Description: `Reads the newest published index of this machine; neither the web page nor a processor needs to run. The
words are those of the form of the web page: a b, a - b, "a b", site:example.org, before:2024-05-31. Quote
a question that has quotes or a minus for your shell. A question that finds nothing ends with 0.`,
		Examples: `  hce-search ask kernel scheduler
  hce-search ask '"operating system" - windows' --limit 3
  hce-search ask leaf --kind images --json`,
	}, &o, (*run).runAsk)
	dirOption(c, &o)
	c.Words(&o.words, "WORD", 1, maxWords)
	c.Choice(&o.kind, "kind", "", "KIND", "kind of results: pages, images or documents; default pages", "pages", "images", "documents")
	c.Text(&o.limit, "limit", "", "N", fmt.Sprintf("results to print, 1 to %d; default 10", search.MaxLimit))
	c.Text(&o.offset, "offset", "", "N", fmt.Sprintf("results to skip, 0 to %d", search.MaxOffset))
	c.Flag(&o.json, "json", "", "print JSON for machines")
	return c
}

func (r *run) runAsk() error {
	a := search.Ask{Op: search.OpSearch, Kind: search.Kind(cmp.Or(r.kind, string(search.Pages))), Text: strings.Join(r.words, " ")}
	limit, err := parseNumber("--limit", cmp.Or(r.limit, "10"), 1, search.MaxLimit)
	if err != nil {
		return command.Refusal{Err: err}
	}
	offset, err := parseNumber("--offset", r.offset, 0, search.MaxOffset)
	if err != nil {
		return command.Refusal{Err: err}
	}
	a.Limit, a.Offset = int(limit), int(offset)
	dir, err := r.indexFolder(r.dir())
	if err != nil {
		return command.Refusal{Err: err}
	}
	s, err := index.OpenSnapshot(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	reply := s.Run(r.ctx, a)
	switch {
	case reply.Refused:
		return command.Refuse("%s", reply.Error)
	case reply.Error != "":
		return fmt.Errorf("ask %q: %s", a.Text, reply.Error)
	case r.json:
		return command.PrintJSON(r.out, reply)
	}
	printReply(r.out, reply, a)
	return nil
}

// printReply prints results for a person.
func printReply(out io.Writer, reply search.Reply, a search.Ask) {
	about := ""
	if reply.About {
		about = "about "
	}
	switch {
	case reply.Count == 0:
		fmt.Fprintf(out, "no results in %s for: %s\n", a.Kind, plaintext.Clean(reply.Words))
		return
	case len(reply.Hits) == 0:
		fmt.Fprintf(out, "there are %s%d results; the offset %d is behind them\n", about, reply.Count, a.Offset)
		return
	}
	fmt.Fprintf(out, "%s%d in %s for: %s\n", about, reply.Count, a.Kind, plaintext.Clean(reply.Words))
	for i, h := range reply.Hits {
		fmt.Fprintf(out, "\n%d. %s\n   %s\n", a.Offset+i+1, plaintext.Clean(cmp.Or(h.Title, h.Name, h.URL)), plaintext.Clean(h.URL))
		var excerpt strings.Builder
		for _, part := range h.Excerpt {
			excerpt.WriteString(part.Text)
		}
		if excerpt.Len() > 0 {
			fmt.Fprintf(out, "   %s\n", plaintext.Clean(excerpt.String()))
		}
	}
}
