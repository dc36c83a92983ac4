package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/overview"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
)

// finding is the result of one check of hce doctor.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warning or fault
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// States of a finding.
const (
	fine    = "ok"
	warning = "warning"
	fault   = "fault"
)

func Command(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var paths []string
	c := p.NewLeaf(command.Text{
		Name: "doctor", Summary: "checks what a crawl needs, and says how to mend it",
		Description: `Checks the programs, their configuration, the data folder with each file, its disk, keys and locks,
the database, all stored contents, and the sites: settings that stop one, proxies, failures of all its
pages. With a daemon: its answers, the nodes of its cluster, the sites. Also ports, browser, limits of
the machine and clock. A DIR is a target of ose, a search index or an archive, which are read whole.
It starts no daemon and changes nothing but to create the data folder of hce. docs/doctor.md has a
table of what it finds. Exit status 1: there are faults.`,
		Examples: "  hce doctor\n  hce doctor --data /srv/crawl ~/.local/share/hce-search\n  hce doctor --server 127.0.0.1:5504 --json",
	}, &o, func(s *subcommand.Session) error {
		d := &doctor{Session: s}
		d.runChecks(paths)
		if err := d.printFindings(); err != nil {
			return err
		}
		for _, f := range d.found {
			if f.State == fault {
				return command.ErrWithErrors
			}
		}
		return nil
	})
	c.Words(&paths, "DIR...", 0, 0)
	return c
}

// doctor runs the checks.
type doctor struct {
	*subcommand.Session
	found        []finding
	missing      []string // why nodes of a cluster did not answer
	browserSites []string // that need a browser
}

func (d *doctor) addFinding(check, state, text, remedy string) {
	d.found = append(d.found, finding{check, state, plaintext.Clean(text), manual.Locate(remedy)})
}

// addCheck adds a fault if err is not nil, else ok.
func (d *doctor) addCheck(check string, err error, good, remedy string) {
	if err != nil {
		d.addFinding(check, fault, err.Error(), remedy)
		return
	}
	d.addFinding(check, fine, good, "")
}

func (d *doctor) runChecks(paths []string) {
	programs := d.checkPrograms()
	at, err := d.FindPlace()
	switch {
	case err != nil:
		d.addFinding("service", fault, err.Error(), "start dc-daemon, or name a folder with --data DIR")
	case at.Server != nil:
		at.Server.Timeout = min(at.Server.Timeout, answerLimit)
		d.Clients = *at.Server
		d.UseService(d.Clients)
		if d.checkAnswers("daemon", "it runs at "+d.Service.String(), d.daemonRemedy) {
			d.checkCluster()
			d.checkSites(nil)
		}
	default:
		d.checkFolder(at, programs)
	}
	for _, path := range paths {
		d.checkGuestFolder(path)
	}
	d.checkBrowser()
	d.checkLimits()
	d.checkClock(programs, at.Dir)
}

// daemonRemedy says what to do about a daemon that does not answer.
func (d *doctor) daemonRemedy(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "is no dc-daemon"):
		return "stop that program, or give the port of dc-daemon with --server HOST:PORT"
	case strings.Contains(text, "is silent"):
		return "systemctl restart dc-daemon # its log says what it did last"
	}
	return "see the log of the daemon; keys are in serverPublicKey and clientSecretKey of dc-client.ini"
}

// inParallel calls do for 0 to n-1 at the same time, and waits.
func inParallel(n int, do func(i int)) {
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { do(i) })
	}
	work.Wait()
}

// answerLimit is the longest wait for the daemon.
const answerLimit = 10 * time.Second

// checkAnswers asks the service for a site that always exists, and reports whether it answers. remedy says what to do
// about an error.
func (d *doctor) checkAnswers(check, good string, remedy func(error) string) bool {
	var err error
	if at := d.Clients; at.Port != 0 {
		err = tryGreeting(d.Ctx, net.JoinHostPort(at.Host, strconv.Itoa(at.Port)))
	}
	if err == nil {
		err = d.Service.Ask(d.Ctx, wire.SiteStatus, map[string]any{"id": wire.GeneralSite}, nil)
	}
	var part *service.Incomplete
	if errors.As(err, &part) { // the daemon itself is well
		d.addFinding(check, fine, good, "")
		d.missing = part.Missing
		for _, missing := range d.missing {
			d.addFinding("nodes", fault, missing, startNode)
		}
		return true
	}
	if err != nil {
		text := err.Error()
		if _, said, found := strings.Cut(text, ": db-task: "); found { // what the program said last
			text = said
		}
		d.addFinding(check, fault, text, remedy(err))
		return false
	}
	d.addFinding(check, fine, good, "")
	return true
}

// startNode is the remedy for a node that is away.
const startNode = "start dc-node on that machine, or read its log there; docs/cluster.md, Failures"

// checkCluster checks the nodes of a cluster as its head sees them.
func (d *doctor) checkCluster() {
	nodes, _ := overview.ClusterNodes(d.Session) // a person without the operators' keys sees those that do not answer
	good := 0
	for _, n := range nodes {
		for _, r := range n.Refused {
			d.addFinding("nodes", fault, fmt.Sprintf("a second process with the identity of %s was refused at %s UTC: %s in %s (process %d)", n.Name, r.Seen, r.Host, r.Path, r.PID), r.Reason)
		}
		switch {
		case slices.ContainsFunc(d.missing, func(why string) bool { return strings.Contains(why, "node "+n.Name+" ") }):
		case client.IsSilent(n):
			d.addFinding("nodes", fault, fmt.Sprintf("%s is silent; its last sign of life: %s UTC", n.Name, cmp.Or(n.Seen, "none since the head started")), startNode)
		case n.Reason != "":
			d.addFinding("nodes", warning, n.Name+": "+n.Reason, "")
		case !n.Member:
			d.addFinding("nodes", warning, n.Name+" owns no hosts: it is "+n.State, "dc-admin node ls")
		case n.State != "ready":
			d.addFinding("nodes", warning, n.Name+" is "+n.State, "dc-admin node ls; a drained node works again after: dc-admin node undrain "+n.Name)
		case n.Version != "" && n.Version != command.Version():
			d.addFinding("nodes", warning, fmt.Sprintf("%s has version %s, but hce is %s", n.Name, n.Version, command.Version()), "upgrade it: docs/cluster.md, Upgrade")
		default:
			good++
		}
	}
	if good > 0 {
		d.addFinding("nodes", fine, fmt.Sprintf("%d of %s ready", good, plaintext.Count(int64(len(nodes)), "node", "nodes")), "")
	}
}

func (d *doctor) printFindings() error {
	if d.JSON {
		return d.PrintJSON(d.found)
	}
	for _, f := range d.found {
		fmt.Fprintf(d.Out, "%-8s %-17s %s\n", f.State, f.Check, f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(d.Out, "%-8s %-17s   do: %s\n", "", "", f.Remedy)
		}
	}
	return nil
}
