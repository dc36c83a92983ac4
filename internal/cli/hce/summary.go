package hce

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/files"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// summary is the end of hce crawl: the line done of --json.
type summary struct {
	Site      string           `json:"site"`
	Root      string           `json:"root"`
	State     string           `json:"state"`     // of the site
	URLs      int64            `json:"urls"`      // known, the root URLs included
	Pages     int64            `json:"pages"`     // processed
	Resources int64            `json:"resources"` // stored, but no pages: scripts, style sheets, data, pictures, sound
	Left      int64            `json:"left"`      // URLs that still wait: a limit has suspended the site
	New       int64            `json:"new"`       // URLs of this run whose first content was stored
	Changed   int64            `json:"changed"`   // URLs of this run that had another content
	Unchanged int64            `json:"unchanged"` // URLs of this run that had the same content
	Gone      int64            `json:"gone"`      // URLs that had a content and now answer 404 or 410
	Failed    int64            `json:"failed"`    // URLs with other errors
	LeftOut   int64            `json:"leftOut"`   // URLs that robots.txt, a filter or a limit left out
	Forbidden int64            `json:"forbidden"` // of them, those that robots.txt forbids
	Bytes     int64            `json:"bytes"`     // of the raw pages
	Seconds   float64          `json:"seconds"`   // of this run
	Causes    map[string]int64 `json:"causes"`    // URLs by error bit; a URL is counted once
	GivenUp   map[string]int64 `json:"givenUp"`   // failed URLs that were asked several times, by the last cause (RETRY)
	SiteBits  []string         `json:"siteBits"`  // error bits of the site as a whole

	NoIndex  int64 `json:"noindex"`  // pages that ask robots not to index them
	NoFollow bool  `json:"nofollow"` // the root pages ask robots not to follow their links

	BadSettings []string `json:"badSettings,omitempty"` // what cannot be read of the settings, and stops the site

	Traps      []trapped `json:"traps"`      // the largest first
	TrapSample bool      `json:"trapSample"` // of a sample of the URLs

	subcommand.Options        // of the command, for hints
	asked              int64  // URLs of this run
	alone              bool   // pages were fetched, and none led to another URL
	cause              string // error of the last request that failed, if no page was fetched
}

// siteBits are error bits that a site has itself, not from its URLs.
const siteBits = errormask.MaxItems | errormask.SiteMaxErrors | errormask.SiteMaxResources | errormask.ProcessorMaxErrors | errormask.ProcessorMaxResources | errormask.Initialization

// summarizeCrawl counts what the crawl has stored.
func (c *crawl) summarizeCrawl() (summary, error) {
	site, _, err := c.SiteStatus(c.site.ID)
	if err != nil {
		return summary{}, err
	}
	r := summary{
		Options: c.Options, Site: site.ID, Root: subcommand.RootOf(site), State: subcommand.StateName(site.State), URLs: site.CollectedURLs + int64(len(site.URLs)), Pages: site.Contents,
		Left: site.NewURLs, Bytes: site.Size, Seconds: time.Since(c.began).Round(100 * time.Millisecond).Seconds(), Causes: map[string]int64{}, GivenUp: map[string]int64{},
		SiteBits: (site.ErrorMask & siteBits).Names(),
	}
	for _, problem := range siteoptions.BadSettings(site) {
		r.BadSettings = append(r.BadSettings, problem.String())
	}
	run := outcomes{run: c.run0, asked: c.run0.waiting + r.URLs - c.run0.urls - r.Left}
	bounded := len(r.SiteBits) > 0 || slices.ContainsFunc(site.Filters, func(f wire.SiteFilter) bool { return f.OpCode != 0 })
	r.alone = r.Pages > 0 && r.URLs <= int64(len(site.URLs)) && !bounded
	if r.Pages == 0 && c.engine != nil {
		r.cause = c.engine.Fault(site.ID)
	}
	reader := pages.Reader{Service: c.Service, Site: site.ID, Where: run.rowCondition()}
	now := time.Now()
	err = reader.Read(c.Ctx, "", func(p *pages.Page) error {
		r.NoFollow = r.NoFollow || p.Root() && p.RobotsMask&wire.RobotsNoFollow != 0
		if p.Processed > 0 && !p.Resource() && !p.Indexed(now) {
			r.NoIndex++
		}
		r.countURL(p, &run)
		return nil
	}, nil)
	run.countRest(&r)
	if err == nil {
		r.Traps, r.TrapSample, err = c.findTraps(&site)
	}
	return r, err
}

// countURL counts a URL once, in one of the outcomes; a resource is counted as such, too.
func (r *summary) countURL(p *pages.Page, run *outcomes) {
	u := &p.URL
	if u.Status == wire.StatusNew { // waits
		return
	}
	found := run.run.outcomeOf(p)
	if isResource(u) {
		r.Resources++
	} else {
		r.countCauses(u, found)
	}
	switch found {
	case isGone:
		r.Gone++
	case isFailed:
		r.Failed++
	case isSkipped:
		r.LeftOut++
		if u.ErrorMask&errormask.Robots != 0 {
			r.Forbidden++
		}
	case isUnchanged:
		return
	case isNew:
		if run.run.first { // rest counts it
			return
		}
		r.New++
	case isChanged:
		r.Changed++
	}
	run.addRow(u)
}

// countCauses counts the cause of a URL that is no resource, and whether the crawl gave it up.
func (r *summary) countCauses(u *wire.URL, found outcome) {
	if unchangedPage(u) {
		r.Pages++ // the service counts processed pages only
	}
	if found == isGone {
		return
	}
	if name := causes.Of(u.ErrorMask); name != "" {
		r.Causes[name]++
	}
	if u.RetryCause != "" && u.RetryDate == "" && u.ErrorMask != 0 {
		r.GivenUp[u.RetryCause]++
	}
}

// isResource reports whether a URL has a content that is no page.
func isResource(u *wire.URL) bool {
	return u.Resource() && u.ErrorMask&^causes.LeftOut == 0 || isMedia(u)
}

// isMedia reports whether a URL has been processed and only its type, such as that of a picture, has no
// text.
func isMedia(u *wire.URL) bool {
	family, _, _ := strings.Cut(u.ContentType, "/")
	return u.ErrorMask == errormask.UnsupportedType && u.Processed > 0 && slices.Contains([]string{"image", "audio", "video", "font"}, family)
}

// hasFailures reports whether the exit status is 1.
func (r summary) hasFailures() bool {
	return r.Failed > 0 || r.Left > 0 || r.Pages == 0
}

// resourcesPart is their part of the line of numbers.
func (r summary) resourcesPart() string {
	if r.Resources == 0 {
		return ""
	}
	return ", " + plaintext.Count(r.Resources, "resource", "resources")
}

// summaryText is the summary for a person.
func (r summary) summaryText() string {
	var b strings.Builder
	verdict := "complete"
	switch {
	case r.Left > 0:
		verdict = fmt.Sprintf("not complete: the site is %s, %s", r.State, plaintext.Count(r.Left, "URL waits", "URLs wait"))
	case r.Pages == 0:
		verdict = "no page could be fetched and processed"
	case r.Failed > 0:
		verdict = "complete, with errors"
	}
	fmt.Fprintf(&b, "%s: %s\n", plaintext.Cut(plaintext.Clean(r.Root), plaintext.LongestURL), verdict)
	fmt.Fprintf(&b, "  %s, %s%s, %s in %s\n", plaintext.Count(r.URLs, "URL", "URLs"), plaintext.Count(r.Pages, "page", "pages"), r.resourcesPart(), files.Bytes(r.Bytes), time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	b.WriteString(r.outcomesLine())
	if r.Failed > 0 {
		fmt.Fprintf(&b, "  %d failed; list them with: %s\n", r.Failed, r.CommandHint("url", "ls", r.Site, "--failed"))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "  %d left out by robots.txt, filters, types or limits\n", r.LeftOut)
	}
	if r.Forbidden > 0 {
		fmt.Fprintf(&b, "  %d forbidden by robots.txt; list them with: %s\n", r.Forbidden, r.CommandHint("url", "ls", r.Site, "--forbidden"))
	}
	for _, name := range livescreen.CauseNames(r.Causes) {
		fmt.Fprintf(&b, "  %6d  %s: %s\n", r.Causes[name], name, causes.Meaning(name))
	}
	var gaveUp []string
	for _, cause := range livescreen.CauseNames(r.GivenUp) {
		gaveUp = append(gaveUp, fmt.Sprintf("%s %d", cause, r.GivenUp[cause]))
	}
	if len(gaveUp) > 0 {
		fmt.Fprintf(&b, "  given up after several requests, by the last cause: %s; the same command asks again\n", strings.Join(gaveUp, ", "))
	}
	if r.cause != "" {
		fmt.Fprintf(&b, "  the last error: %s\n", plaintext.Clean(r.cause))
	}
	if r.NoIndex > 0 {
		fmt.Fprintf(&b, "  %s: noindex asks robots not to index them; exports leave them out without --noindex\n", plaintext.Count(r.NoIndex, "page", "pages"))
	}
	b.WriteString(r.trapText())
	switch {
	case r.NoFollow:
		fmt.Fprintf(&b, "  a root page asks robots not to follow its links (nofollow); if you may, ignore it with: %s; then: %s; then: %s\n",
			r.CommandHint("site", "edit", r.Site, "--property", "ROBOTS_META=0", "--property", "ROBOTS_HEADER=0"), r.CommandHint("site", "recrawl", r.Site), r.CommandHint("crawl", r.Site))
	case r.alone:
		fmt.Fprintf(&b, "  no link leads to another URL that scope and filters allow; list the others with: %s\n", r.CommandHint("url", "ls", r.Site, "--outside", "--reasons"))
	}
	for _, problem := range r.BadSettings {
		fmt.Fprintf(&b, "  the site is stopped: %s; set it right with: %s\n", problem, r.CommandHint("site", "edit", r.Site))
	}
	if len(r.SiteBits) > 0 {
		fmt.Fprintf(&b, manual.Locate("  the site as a whole has: %s (docs/errors.md)\n"), strings.Join(r.SiteBits, ", "))
	}
	if r.Pages == 0 {
		fmt.Fprintf(&b, "  the same command tries again\n")
		return b.String()
	}
	fmt.Fprintf(&b, "  pages: %s; formats: %s; one page: %s\n", r.CommandHint("export", r.Site), strings.Join(export.Names(), ", "), r.CommandHint("page", "URL"))
	return b.String()
}
