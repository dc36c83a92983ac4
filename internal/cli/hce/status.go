package hce

import (
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// overview is the answer of hce status.
type overview struct {
	Service string   `json:"service"`
	Nodes   int      `json:"nodes,omitempty"` // of a cluster
	Silent  []string `json:"silentNodes,omitempty"`
	// Missing says which nodes did not answer; then there are no totals.
	Missing []string `json:"missing,omitempty"`
	*totals
}

// totals are sums over the sites.
type totals struct {
	Sites   int   `json:"sites"`
	Active  int   `json:"active"`
	URLs    int64 `json:"urls"`
	Waiting int64 `json:"waiting"`
	Pages   int64 `json:"pages"`
	Errors  int64 `json:"errors"`
	Bytes   int64 `json:"bytes"`
}

func (p program) statusCommand() *command.Command {
	var o options
	return p.newLeafCommand(command.Text{
		Name: "status", Summary: "shows which service hce uses, and its totals",
		Description: `For the head of a cluster it also names the silent nodes, if dc-admin.ini of this machine is for
the same daemon. While a node does not answer there are no totals, and the exit status is 3. hce top
shows the sites live.`,
		Examples: "  hce status\n  hce status --json",
	}, &o, (*session).showOverview)
}

func (s *session) showOverview() error {
	list, err := s.openSites()
	var part *service.Incomplete
	if err != nil && !errors.As(err, &part) {
		return err
	}
	v := overview{Service: s.service.String()}
	nodes, _ := s.clusterNodes()
	v.Nodes, v.Silent = len(nodes), client.Silent(nodes)
	if part != nil {
		v.Missing = part.Missing
	} else {
		v.totals = &totals{Sites: len(list)}
		for _, site := range list {
			v.addSite(site)
		}
	}
	if s.json {
		return errors.Join(err, s.printJSON(v))
	}
	s.printOverview(v)
	return err
}

func (s *session) printOverview(v overview) {
	fmt.Fprintln(s.out, v.Service)
	switch {
	case len(v.Silent) > 0:
		fmt.Fprintf(s.out, "%s, silent: %s\n", countNoun(int64(v.Nodes), "node", "nodes"), strings.Join(v.Silent, ", "))
	case v.Nodes > 0 && v.Missing != nil: // its silence is not long enough yet; the error names it
		fmt.Fprintln(s.out, countNoun(int64(v.Nodes), "node", "nodes"))
	case v.Nodes > 0:
		fmt.Fprintf(s.out, "%s, none is silent\n", countNoun(int64(v.Nodes), "node", "nodes"))
	}
	if v.totals == nil {
		return
	}
	fmt.Fprintf(s.out, "%s, %d active\n%s, %d waiting, %s, %s, %s\n", countNoun(int64(v.Sites), "site", "sites"), v.Active,
		countNoun(v.URLs, "URL", "URLs"), v.Waiting, countNoun(v.Pages, "page", "pages"), countNoun(v.Errors, "error", "errors"), files.Bytes(v.Bytes))
}

// clusterNodes returns the nodes of the cluster whose head the service is, none for one machine. why says why
// they are unknown.
func (s *session) clusterNodes() (list []cluster.Node, why string) {
	admin := adminPort{s: s}
	defer admin.closeSource()
	if err := admin.findConfig(""); err != nil {
		return nil, err.Error()
	}
	sample, why := admin.readManagers(s.ctx)
	switch {
	case sample == nil:
		return nil, why
	case sample.Away != "":
		return nil, sample.Away
	}
	return sample.Nodes, ""
}

func (v *totals) addSite(site wire.Site) {
	if site.State == wire.SiteActive {
		v.Active++
	}
	v.URLs += site.CollectedURLs + int64(len(site.URLs))
	v.Waiting += site.NewURLs
	v.Pages += site.Contents
	v.Errors += site.Errors
	v.Bytes += site.Size
}
