package overview

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/wire"
)

// Bounds of one sample: they keep a sample cheap, however many sites there are.
const (
	looksAtOnce  = 4   // sites whose pages and errors are looked at
	lookedAt     = 40  // of the busiest sites; the others have no causes and no slowest host
	pagesOfLook  = 20  // pages of a site, for the slowest host
	errorsOfLook = 200 // failed URLs of a site, for the causes
	rootsAtOnce  = 500 // new sites whose root URLs are read
)

// sitesSource reads the sites and the managers for hce top.
type sitesSource struct {
	s      *subcommand.Session
	before livescreen.SitesReading
	roots  map[string]root
	looks  map[string]*siteLook
	order  []string // ids of the last sample, the busiest first
	admin  adminPort
}

// root is the root URLs of a site.
type root struct {
	url string // the first one
	n   int64
}

// siteLook is what was seen of a site so far.
type siteLook struct {
	at      time.Time
	pages   int64 // timed pages and errors of the site at that time
	counted int64 // errors of the site at that time
	hosts   causes.Hosts
	causes  map[string]int64
}

// newSitesSource prepares the source for the service of the session. adminFile may be "".
func newSitesSource(s *subcommand.Session, adminFile string) (*sitesSource, error) {
	f := &sitesSource{s: s, roots: map[string]root{}, looks: map[string]*siteLook{}}
	f.admin.s = s
	return f, f.admin.findConfig(adminFile)
}

func (f *sitesSource) close() { f.admin.closeSource() }

// readSample takes a sample (livescreen.Reader).
func (f *sitesSource) readSample(ctx context.Context) livescreen.Sample {
	now := f.readSites(ctx)
	sample := livescreen.CompareSites(f.before, now)
	f.before, f.order = now, nil
	for _, site := range sample.Sites {
		f.order = append(f.order, site.ID)
	}
	return sample
}

func (f *sitesSource) readSites(ctx context.Context) livescreen.SitesReading {
	r := livescreen.SitesReading{Service: f.s.Service.String()}
	all := &subcommand.Partial{Service: f.s.Service}
	sites, more, err := livescreen.Sites(ctx, all)
	r.At, r.More = time.Now(), more
	if err == nil {
		err = f.readRoots(ctx, all, sites)
	}
	if err == nil {
		err = f.sampleSites(ctx, all, sites, r.At)
	}
	if all.Missing != nil {
		r.Missing = strings.Join(all.Missing.Missing, "; ")
	}
	if err != nil {
		r.Away = err.Error()
		return r
	}
	for _, site := range sites {
		r.Sites = append(r.Sites, f.extendCounters(site))
	}
	r.Managers, r.NoManagers = f.admin.readManagers(ctx)
	if f.s.Node != nil && f.s.Node.Crawler() == 0 {
		r.Idle = fmt.Sprintf("no crawl runs in %s; start one with: %s", f.s.Node.Dir, f.s.CommandHint("crawl", "URL"))
	}
	return r
}

// extendCounters adds what is known of a site to its counters.
func (f *sitesSource) extendCounters(site wire.Site) livescreen.SiteCounters {
	c := livescreen.SiteCounters{Site: site, StateName: subcommand.StateName(site.State), Root: f.roots[site.ID].url, Roots: f.roots[site.ID].n}
	if look := f.looks[site.ID]; look != nil {
		c.Causes = look.causes
		c.SlowHost, c.SlowTime = look.hosts.Slowest()
	}
	return c
}

// readRoots reads the root URLs of sites that are new here. They hardly change.
func (f *sitesSource) readRoots(ctx context.Context, service service.Service, sites []wire.Site) error {
	var ids []string
	for _, site := range sites {
		if _, known := f.roots[site.ID]; !known && len(ids) < rootsAtOnce {
			ids = append(ids, "'"+site.ID+"'")
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var found []wire.Site
	err := service.Ask(ctx, wire.SiteFind, map[string]any{
		"excludeList": []string{"filters", "properties"}, "criterions": map[string]any{"WHERE": "`Id` IN (" + strings.Join(ids, ",") + ")"},
	}, &found)
	for _, site := range found {
		f.roots[site.ID] = root{subcommand.RootOf(site), int64(len(site.URLs))}
	}
	return err
}

// sampleSites looks at pages and errors of some of the busiest sites, those first that it has not seen for
// the longest time.
func (f *sitesSource) sampleSites(ctx context.Context, service service.Service, sites []wire.Site, at time.Time) error {
	chosen := f.chooseSites(sites)
	if len(chosen) == 0 {
		return nil
	}
	var sampled, failed []pages.Query
	for _, site := range chosen {
		sampled = append(sampled, pages.Sample(site.ID, site.AVGSpeedCounter, pagesOfLook))
		if f.looks[site.ID].counted != site.Errors {
			failed = append(failed, pages.Query{Site: site.ID, Where: "`ErrorMask`<>0", Most: errorsOfLook})
		}
	}
	rows, err := pages.RowsOf(ctx, service, sampled)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.looks[row.SiteID].hosts.AddPage(row)
	}
	if rows, err = pages.RowsOf(ctx, service, failed); err != nil {
		return err
	}
	bySite := map[string][]wire.URL{}
	for _, row := range rows {
		bySite[row.SiteID] = append(bySite[row.SiteID], row)
	}
	for _, site := range chosen {
		look := f.looks[site.ID]
		if look.counted != site.Errors {
			look.causes = causes.Count(bySite[site.ID])
		}
		look.at, look.pages, look.counted = at, site.AVGSpeedCounter+site.Errors, site.Errors
	}
	return nil
}

// chooseSites returns the sites to look at. Sites that have not changed since the last look are left out.
func (f *sitesSource) chooseSites(sites []wire.Site) (chosen []wire.Site) {
	byID := map[string]wire.Site{}
	for _, site := range sites {
		byID[site.ID] = site
	}
	order := f.order
	if order == nil { // the first sample: as the service has ordered them
		for _, site := range sites {
			order = append(order, site.ID)
		}
	}
	for _, id := range order[:min(len(order), lookedAt)] {
		site, there := byID[id]
		look := f.looks[id]
		if look == nil {
			look = &siteLook{hosts: causes.Hosts{}}
			f.looks[id] = look
		}
		if there && look.pages != site.AVGSpeedCounter+site.Errors {
			chosen = append(chosen, site)
		}
	}
	slices.SortStableFunc(chosen, func(a, b wire.Site) int { return f.looks[a.ID].at.Compare(f.looks[b.ID].at) })
	return chosen[:min(len(chosen), looksAtOnce)]
}

// adminPort reads the managers of the daemon.
type adminPort struct {
	s       *subcommand.Session
	source  *livescreen.Source // nil: none
	classes []string
	unknown string // why it is missing
}

// findConfig looks for the ini file of dc-admin: the given one, or that of this machine or next to --config if
// it is for the same daemon. A folder of hce has no managers.
func (a *adminPort) findConfig(file string) error {
	if a.s.Node != nil {
		if file != "" {
			return command.Refuse("--admin is for --server and --config; no daemon works in the folder %s", a.s.Node.Dir)
		}
		a.unknown = "a crawl in a folder needs no daemon"
		return nil
	}
	i, err := client.ReadInstallation(file)
	if err == nil && i.NoFile && a.s.Config != "" {
		if near, failed := client.ReadInstallation(filepath.Join(filepath.Dir(a.s.Config), "dc-admin.ini")); failed == nil {
			i, err = near, nil
		}
	}
	switch {
	case err == nil && i.NoFile:
		a.unknown = "no dc-admin.ini was found; give one with --admin FILE"
		return nil
	case err != nil:
		return command.Refusal{Err: err}
	case file == "" && serverAddress(i.Clients) != serverAddress(a.s.Clients):
		a.unknown = fmt.Sprintf("dc-admin.ini is for the daemon at %s; give another ini file with --admin FILE", serverAddress(i.Clients))
		return nil
	}
	return a.openSource(i)
}

func serverAddress(s client.Server) string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

func (a *adminPort) openSource(i client.Installation) (err error) {
	a.classes = i.Start
	a.source, err = livescreen.Open(i.Admin, i.Start)
	return err
}

func (a *adminPort) closeSource() {
	if a.source != nil {
		a.source.Close()
		a.source = nil
	}
}

// readManagers returns a sample of the managers, or the reason why it is missing.
func (a *adminPort) readManagers(ctx context.Context) (*livescreen.ManagersSample, string) {
	if a.source == nil {
		return nil, a.unknown
	}
	if a.s.ShowRequest {
		a.s.PrintMessage("dc-admin --cmd STAT --classes %s", strings.Join(a.classes, ","))
	}
	sample := a.source.Read(ctx)
	return &sample, ""
}
