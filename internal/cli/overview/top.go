package overview

import (
	"os"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/subcommand"
)

// topOptions are those of hce top.
type topOptions struct {
	interval, admin string
	once            bool
}

func TopCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	r := topOptions{interval: "2s"}
	c := p.NewLeaf(command.Text{
		Name: "top", Summary: "shows the crawl of all sites as a live screen",
		Description: `The first page has the sites, active and busy ones first: state, URLs that are done, wait and are
in flight, URLs done per second since the last sample, errors with their most frequent causes,
and the host with the slowest pages of a sample. The second page has the managers and queues of
the daemon, as dc-admin top. For the head of a cluster a third page has the nodes: state, load,
busy and all slots, changes that they have not applied (LAG), and the time since their last sign of
life. Numbers without a node that does not answer are marked on the first page.

Keys: 1, 2, 3 and Tab choose the page, the arrows or j and k scroll, p pauses the screen, q quits.
Without a terminal, or with --once, one table is printed. With --json each interval prints one
line with a JSON object. There are no colours if NO_COLOR is set.

In a folder of hce, top shows the crawl of "hce crawl", and waits for one if none runs. It sends
at most four operations per interval, however many sites there are.`,
		Examples: "  hce top\n  hce top --once\n  hce top --json --interval 10s",
	}, &o, func(s *subcommand.Session) error { return r.runTop(s) })
	c.Text(&r.interval, "interval", "i", "TIME", "time between two samples, 500ms to 1h")
	c.Flag(&r.once, "once", "", "print one table, after one interval, and exit")
	c.Text(&r.admin, "admin", "", "FILE", "ini file of dc-admin, for the managers; default: dc-admin.ini of this machine if it is for the same daemon")
	return c
}

func (r topOptions) runTop(s *subcommand.Session) error {
	every, err := command.Time{Option: "--interval", Least: 500 * time.Millisecond, Most: time.Hour}.Parse(r.interval)
	if err != nil {
		return err
	}
	out, _ := subcommand.InnerWriter(s.Out).(*os.File)
	live := !r.once && !s.JSON && out != nil && livescreen.Interactive(os.Stdin, out, os.Getenv)
	if talk, is := s.Talk.(*os.File); live && s.ShowRequest && is && livescreen.IsTerminal(talk) {
		return command.Refuse("--show-request would write into the live screen; add --once or --json, or redirect stderr")
	}
	if err := s.OpenService(); err != nil {
		return err
	}
	source, err := newSitesSource(s, r.admin)
	if err != nil {
		return err
	}
	defer source.close()
	style := livescreen.Style{Program: "hce top", Title: s.Service.String(), Plain: livescreen.Plain(os.Getenv), Pages: livescreen.SitesPages}
	switch {
	case live:
		return livescreen.OnTerminal(s.Ctx, os.Stdin, out, source.readSample, style, every)
	case s.JSON && r.once:
		return livescreen.OnceJSON(s.Ctx, s.Out, source.readSample, every)
	case s.JSON:
		return livescreen.JSON(s.Ctx, s.Out, source.readSample, every, 0)
	}
	return livescreen.Once(s.Ctx, s.Out, source.readSample, style, every)
}
