package program

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/cli/plaintext"
)

// printStatus prints the state of the manager for a person.
func printStatus(out io.Writer, s manager.Status) {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }
	line("questions since %s: %d asked, %d refused, %d late, %d asked again", s.Since.Format(time.DateTime), s.Asked, s.Refused, s.Late, s.Again)
	line("now: %d running, %d of %d waiting", s.Running, s.Waiting, s.QueueLimit)
	line("\nPROCESSOR\tKINDS\tCONNECTIONS\tRUNNING\tWITH RESULTS\tWITHOUT\tFAILED\tDELAY\tSTATE")
	for _, p := range s.Processors {
		var kinds []string
		for _, k := range p.Kinds {
			kinds = append(kinds, string(k))
		}
		state := "works"
		if p.Lost {
			state = "lost"
		}
		line("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d ms\t%s", plaintext.Clean(p.Name), strings.Join(kinds, ","), p.Connections, p.Running, p.Found, p.Empty, p.Failed, p.DelayMs, state)
	}
	printRanking(line, "WORDS ASKED", s.Words)
	printRanking(line, "OPENED", s.Opened)
	printRanking(line, "SHOWN", s.Shown)
	_ = t.Flush() // the output is a terminal or a pipe that was closed
}

func printRanking(line func(string, ...any), head string, list []manager.Ranked) {
	if len(list) == 0 {
		return
	}
	line("\n%s\tCOUNT\tTITLE", head)
	for _, r := range list {
		line("%s\t%d\t%s", plaintext.Clean(r.Name), r.Count, plaintext.Clean(r.Title))
	}
}
