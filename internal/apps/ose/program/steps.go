package program

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/apps/ose/cycle"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/internal/files"
)

const (
	targetsAtOnce = 32
	maxGateWait   = time.Hour // then the URLs of a target are left for the next run
	addressNames  = 4         // as the crawler does it
	minRate       = 64        // bytes a second
	longestWait   = time.Hour
)

// stepText is a sub-command that runs steps.
type stepText struct {
	command.Text
	step cycle.Step // "": the whole cycle
}

var (
	fetchText = stepText{command.Text{
		Name: "fetch", Summary: "requests the URLs that were not checked yet (OSEM001)",
		Description: `Runs OSEM001 in state 0, and continues it in state 1: requests each URL of .urls that has no id, with
a random pause before each, and stores what the server returned. Other states are left as they
are. robots.txt and the delays of hosts are kept; a redirect is an answer, and its target a link.`,
		Examples: "  ose fetch sites/example.org\n  ose fetch sites --wait 20s-60s --retry",
	}, cycle.Fetch}
	parseText = stepText{command.Text{
		Name: "parse", Summary: "writes the links of each page (OSEM002)",
		Description: `Runs OSEM002 in state 2, and continues it in state 3: writes the links of each page that was not
parsed to .links and .links.malformed files.`,
		Examples: "  ose parse sites/example.org",
	}, cycle.Parse}
	mergeText = stepText{command.Text{
		Name: "merge", Summary: "adds new links to the list of URLs (OSEM003)",
		Description: `Runs OSEM003 in state 4: adds the links that .urls does not have, if they are of the host of its first
URL or of --host, and ends the cycle in state 0.`,
		Examples: "  ose merge sites/example.org\n  ose merge sites/example.org --host www.example.org",
	}, cycle.Merge}
	runText = stepText{command.Text{
		Name: "run", Summary: "runs the steps that each target needs, up to the end of its cycle",
		Description: `Runs OSEM001, OSEM002 and OSEM003, or what is left of them after a kill. A target whose URLs are all
checked, or in which another process works, stays as it is. With cron:
  */10 * * * * ose run --quiet /srv/sites`,
		Examples: "  ose run sites/example.org\n  ose run sites --quiet",
	}, ""}
)

// stepOptions are those of the sub-commands that run steps.
type stepOptions struct {
	dirs                  []string
	wait, networks, gates string
	timeout, maxURLs      string
	hosts                 []string
	anyHost, retry        bool
	quiet, json           bool
}

// stepCommand returns a sub-command that runs steps.
func (p program) stepCommand(t stepText) *command.Command {
	o := &stepOptions{wait: "10s-30s", timeout: "30s", maxURLs: strconv.Itoa(cycle.DefaultMaxURLs)}
	c := p.newLeafCommand(t.Text, func() error { return p.runStep(o, t.step) })
	o.declareOptions(c, t.step)
	c.Flag(&o.json, "json", "", "print the steps that ran as JSON")
	return c
}

func (o *stepOptions) declareOptions(c *command.Command, step cycle.Step) {
	c.Words(&o.dirs, "DIR...", 1, 0)
	if step == "" || step == cycle.Fetch {
		c.Text(&o.wait, "wait", "", "LEAST-MOST", "random pause before each request; a host may ask for a longer one")
		c.Text(&o.timeout, "timeout", "", "TIME", "for one request")
		for _, option := range []string{"proxy", "header", "user-agent"} {
			c.Hint(option, "ose does not have it; hce crawl does, and ose export makes a folder of its pages")
		}
		c.Networks(&o.networks, "networks that are not public and may be requested, such as 127.0.0.0/8")
		c.Text(&o.gates, "gates", "", "DIR", "folder of the host gates, which keep the delays of hosts among all programs; default: that of hce, if it has one, else one of ose")
		c.Flag(&o.retry, "retry", "", "request URLs again that got no answer, or 429 or 503")
	}
	if step == "" || step == cycle.Merge {
		c.List(&o.hosts, "host", "", "HOST", "further host whose links are added, with its port unless it is the usual one")
		c.Flag(&o.anyHost, "any-host", "", "add the links to all hosts")
		c.Text(&o.maxURLs, "max-urls", "", "N", "the most URLs of .urls that merge makes")
	}
	c.Flag(&o.quiet, "quiet", "q", "print warnings and errors only; the run times are in .oselog")
}

// newCycle returns the cycle of the options.
func (o *stepOptions) newCycle(p program, step cycle.Step) (c *cycle.Cycle, closeAll func(), err error) {
	c = &cycle.Cycle{Now: time.Now, Log: p.newLogger(o.quiet), Retry: o.retry, Hosts: o.hosts, AnyHost: o.anyHost}
	if c.Wait, err = parseWait(o.wait); err != nil {
		return nil, nil, err
	}
	if c.MaxURLs, err = strconv.ParseInt(o.maxURLs, 10, 64); err != nil || c.MaxURLs < 1 {
		return nil, nil, command.Refuse("--max-urls %q is not a number above 0", o.maxURLs)
	}
	closeAll = func() {}
	if step == "" || step == cycle.Fetch {
		c.Web, closeAll, err = o.newWeb()
	}
	return c, closeAll, err
}

// newWeb returns the client.
func (o *stepOptions) newWeb() (web cycle.Web, closeAll func(), err error) {
	timeout, err := command.Time{Option: "--timeout", Least: time.Millisecond, Most: longestWait}.Parse(o.timeout)
	if err != nil {
		return nil, nil, err
	}
	var networks []netip.Prefix
	for text := range strings.SplitSeq(o.networks, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, nil, command.Refuse("--allow-network %q is not a network such as 127.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	dir, err := gatesDir(o.gates)
	if err != nil {
		return nil, nil, err
	}
	gates, err := hostgate.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	client := fetch.New(fetch.Config{AllowedNetworks: networks, MaxBytes: folder.MaxBody, MinRate: minRate})
	web = &politeclient.Client{Fetch: client, Gates: gates, Now: time.Now, Config: politeclient.Config{
		RobotsAgent: "HCE-DC", RobotsTTL: 24 * time.Hour, AddressNames: addressNames, Timeout: timeout, MaxWait: maxGateWait,
	}}
	return web, func() {
		client.Close()
		_ = gates.Close() // nothing is written
	}, nil
}

// parseWait reads a pause, or its limits.
func parseWait(text string) (w cycle.Wait, err error) {
	least, most, two := strings.Cut(text, "-")
	pause := command.Time{Option: "--wait", Most: longestWait}
	w.Least, err = pause.Parse(least)
	w.Most = w.Least
	if err == nil && two {
		w.Most, err = pause.Parse(most)
	}
	if err == nil && w.Most < w.Least {
		err = command.Refuse("--wait %q: the second time is shorter than the first one; write 5s or 10s-30s", text)
	}
	return w, err
}

// gatesDir returns the folder of the host gates.
func gatesDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := datafolder.GatesDir(os.Getenv)
	if err != nil {
		return "", command.Refuse("%w; or give the folder of the host gates with --gates", err)
	}
	return dir, nil
}

// runStep runs a step, or what each target needs, in all targets.
func (p program) runStep(o *stepOptions, step cycle.Step) error {
	list, err := targetFolders(o.dirs)
	if err != nil {
		return err
	}
	c, closeAll, err := o.newCycle(p, step)
	if err != nil {
		return err
	}
	defer closeAll()
	var (
		all     sync.WaitGroup
		mu      sync.Mutex // guards the following
		reports = []cycle.Report{}
		worst   error
	)
	slots := make(chan struct{}, targetsAtOnce)
	for _, f := range list {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			done, err := p.runTarget(p.ctx, c, f, step)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, done...)
			if exitOf(err) > exitOf(worst) {
				worst = err
			}
		})
	}
	all.Wait()
	if o.json {
		slices.SortStableFunc(reports, func(a, b cycle.Report) int { return cmp.Compare(a.Dir, b.Dir) })
		if err := command.PrintJSON(p.out, reports); err != nil {
			return err
		}
	}
	return worst
}

// runTarget runs steps in one target and reports its errors.
func (p program) runTarget(ctx context.Context, c *cycle.Cycle, f *folder.Folder, step cycle.Step) (reports []cycle.Report, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if step == "" {
		reports, err = c.Run(ctx, f)
	} else {
		var r cycle.Report
		r, err = c.Do(ctx, f, step)
		if r.Step != "" {
			reports = append(reports, r)
		}
	}
	if errors.Is(err, files.ErrLocked) {
		c.Log.Info("a step of another process runs", "target", f.Dir, "lock", err.Error())
		return nil, nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		c.Log.Error("target failed", "target", f.Dir, "error", files.ExplainFull(err, f.Dir))
		return reports, reported{err}
	}
	for _, r := range reports {
		if r.Skipped != "" {
			c.Log.Info("nothing to do", "target", f.Dir, "step", string(r.Step), "reason", r.Skipped)
		}
		if r.Step != cycle.Fetch && r.Failed > 0 {
			err = cmp.Or(err, command.ErrWithErrors)
		}
	}
	return reports, err
}
