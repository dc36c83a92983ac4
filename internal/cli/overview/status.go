package overview

import (
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
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

func StatusCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	return p.NewLeaf(command.Text{
		Name: "status", Summary: "shows which service hce uses, and its totals",
		Description: `For the head of a cluster it also names the silent nodes, if dc-admin.ini of this machine is for
the same daemon. While a node does not answer there are no totals, and the exit status is 3. hce top
shows the sites live.`,
		Examples: "  hce status\n  hce status --json",
	}, &o, func(s *subcommand.Session) error { return showOverview(s) })
}

func showOverview(s *subcommand.Session) error {
	list, err := s.OpenSites()
	var part *service.Incomplete
	if err != nil && !errors.As(err, &part) {
		return err
	}
	v := overview{Service: s.Service.String()}
	nodes, _ := ClusterNodes(s)
	v.Nodes, v.Silent = len(nodes), client.Silent(nodes)
	if part != nil {
		v.Missing = part.Missing
	} else {
		v.totals = &totals{Sites: len(list)}
		for _, site := range list {
			v.addSite(site)
		}
	}
	if s.JSON {
		return errors.Join(err, s.PrintJSON(v))
	}
	printOverview(s, v)
	return err
}

func printOverview(s *subcommand.Session, v overview) {
	fmt.Fprintln(s.Out, v.Service)
	switch {
	case len(v.Silent) > 0:
		fmt.Fprintf(s.Out, "%s, silent: %s\n", plaintext.Count(int64(v.Nodes), "node", "nodes"), strings.Join(v.Silent, ", "))
	case v.Nodes > 0 && v.Missing != nil: // its silence is not long enough yet; the error names it
		fmt.Fprintln(s.Out, plaintext.Count(int64(v.Nodes), "node", "nodes"))
	case v.Nodes > 0:
		fmt.Fprintf(s.Out, "%s, none is silent\n", plaintext.Count(int64(v.Nodes), "node", "nodes"))
	}
	if v.totals == nil {
		return
	}
	fmt.Fprintf(s.Out, "%s, %d active\n%s, %d waiting, %s, %s, %s\n", plaintext.Count(int64(v.Sites), "site", "sites"), v.Active,
		plaintext.Count(v.URLs, "URL", "URLs"), v.Waiting, plaintext.Count(v.Pages, "page", "pages"), plaintext.Count(v.Errors, "error", "errors"), files.Bytes(v.Bytes))
}

// ClusterNodes returns the nodes of the cluster whose head the service is, none for one machine. why says why
// they are unknown.
func ClusterNodes(s *subcommand.Session) (list []cluster.Node, why string) {
	admin := adminPort{s: s}
	defer admin.closeSource()
	if err := admin.findConfig(""); err != nil {
		return nil, err.Error()
	}
	sample, why := admin.readManagers(s.Ctx)
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
