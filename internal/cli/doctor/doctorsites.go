package doctor

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

const (
	mostSites  = 100 // whose failed URLs are looked at
	mostFailed = 500 // URLs of a site that are looked at
)

// checkSites looks for sites that bring no pages, and why. n is the folder of the data, nil with a daemon.
func (d *doctor) checkSites(n *node.Node) {
	list, err := d.Session.ListSites()
	var part *service.Incomplete
	switch {
	case errors.As(err, &part): // the nodes are named
		return
	case err != nil:
		d.addFinding("sites", fault, err.Error(), "hce site ls")
		return
	}
	before, looked := len(d.found), 0
	for _, site := range list {
		if site.State != wire.SiteActive {
			continue
		}
		if site.FetchType == sitespec.FetchBrowser {
			d.browserSites = append(d.browserSites, site.ID)
		}
		if d.checkSettings(site) || looked == mostSites || site.Errors == 0 && site.Contents > 0 {
			continue
		}
		looked++
		if err := d.checkFailures(site, n); err != nil {
			d.addFinding("sites", fault, siteText(site)+": "+err.Error(), "hce url ls "+site.ID+" --failed"+d.placeOptions())
			return
		}
	}
	if len(d.found) == before {
		d.addFinding("sites", fine, plaintext.Count(int64(len(list)), "site", "sites"), "")
	}
}

// placeOptions is that of the options, with the folder that was found without them.
func (d *doctor) placeOptions() string {
	o := d.Options
	if d.Node != nil {
		o.Data = d.Node.Dir
	}
	return o.PlaceOptions()
}

func siteText(site wire.Site) string { return "site " + site.ID + " (" + subcommand.RootOf(site) + ")" }

// checkSettings reports settings that stop a site, and proxies that do not accept connections.
func (d *doctor) checkSettings(site wire.Site) (stopped bool) {
	if problems := siteoptions.BadSettings(site); len(problems) > 0 {
		change := " --unset NAME" + d.placeOptions()
		for _, p := range site.Properties {
			if strings.Contains(problems[0].String(), p.Name) {
				change = " --unset " + p.Name + d.placeOptions()
			}
		}
		if strings.HasPrefix(problems[0].String(), "filter") {
			change = d.placeOptions() + " --include PATTERN # or --exclude: they replace the filters"
		}
		d.addFinding("sites", fault, fmt.Sprintf("%s: nothing is fetched: %v", siteText(site), problems), "hce site edit "+site.ID+change)
		return true
	}
	host, _ := site.Property(sitespec.ProxyProperty)
	if _, pool := site.Property("USER_PROXY"); host == "" || pool {
		return false
	}
	port, _ := site.Property("HTTP_PROXY_PORT")
	proxy, err := proxypool.ParseAddress(host)
	if err != nil {
		proxy, err = proxypool.ParseAddress(host + ":" + port)
	}
	if err == nil {
		err = tryConnect(d.Ctx, proxy.Host)
	}
	if err == nil {
		return false
	}
	var dial *net.OpError
	if errors.As(err, &dial) {
		err = fmt.Errorf("%s does not answer: %w", proxy.Host, dial.Err)
	}
	d.addFinding("sites", fault, fmt.Sprintf("%s: the proxy of %s: %v", siteText(site), sitespec.ProxyProperty, err), "start the proxy, or: hce site edit "+site.ID+" --property "+sitespec.ProxyProperty+"=HOST:PORT"+d.placeOptions())
	return true
}

// processing has the error bits of pages that were fetched and could not be processed.
const processing = errormask.Scraper | errormask.HTMLParse | errormask.RawDecoding | errormask.RawMissing | errormask.MandatoryTemplate | errormask.TemplateSource | errormask.BatchItem | errormask.ProcessorBudget

// looked counts URLs of a site.
type looked struct {
	rows, processing int64
	bits             map[string]int64
	last             wire.URL // with an error
	waits            wire.URL // New, and was asked for or its host has a pause
}

// checkFailures reports a site that has URLs with errors and no page, or whose pages cannot be processed.
func (d *doctor) checkFailures(site wire.Site, n *node.Node) error {
	l := looked{bits: map[string]int64{}}
	reader := pages.Reader{Service: d.Service, Site: site.ID, Where: "`ErrorMask`<>0 OR `RetryCause`<>''"}
	err := reader.Read(d.Ctx, "", func(p *pages.Page) error {
		l.addRow(&p.URL)
		if l.rows >= mostFailed {
			return subcommand.ErrEnough
		}
		return nil
	}, nil)
	if err != nil && !errors.Is(err, subcommand.ErrEnough) {
		return err
	}
	reason := ""
	if n != nil {
		reason = n.LastFault(site.ID)
	}
	switch {
	case l.processing > 0 && 2*l.processing >= site.Contents:
		name := l.mostFrequent(processing)
		d.addFinding("sites", fault, fmt.Sprintf("%s: %s cannot be processed: %s: %s", siteText(site), plaintext.Count(l.processing, "page", "pages"), name, causes.Meaning(name)), d.failureRemedy(site, name))
	case site.Contents == 0 && site.NewURLs == 0 && l.last.URL != "":
		name := l.mostFrequent(^errormask.Mask(0))
		text := fmt.Sprintf("%s: all URLs failed (%d): %s: %s", siteText(site), l.rows, name, causes.Meaning(name))
		if reason != "" {
			text += "; the last request: " + reason
		}
		d.addFinding("sites", fault, text, d.failureRemedy(site, name))
	case site.Contents == 0 && l.waits.URL != "":
		text := siteText(site) + ": no page was fetched, and " + l.waits.URL + " waits: " + causes.RetryText(l.waits)
		if reason != "" {
			text += "; the last request: " + reason
		}
		d.addFinding("sites", fault, text, "see whether the host answers, then: hce crawl "+subcommand.RootOf(site)+d.placeOptions())
	}
	return nil
}

func (l *looked) addRow(u *wire.URL) {
	l.rows++
	if u.Status == wire.StatusNew {
		l.waits = *u
		return
	}
	l.last = *u
	if u.ErrorMask&processing != 0 {
		l.processing++
	}
	for _, name := range u.ErrorMask.Names() {
		l.bits[name]++
	}
}

// mostFrequent returns the most frequent error bit of a mask.
func (l *looked) mostFrequent(mask errormask.Mask) (best string) {
	names := mask.Names()
	for _, name := range slices.Sorted(maps.Keys(l.bits)) {
		if slices.Contains(names, name) && (best == "" || l.bits[name] > l.bits[best]) {
			best = name
		}
	}
	return best
}

// failureRemedies are what to do about an error bit. SITE and ROOT are those of the site, PLACE are the options that
// lead to its data.
var failureRemedies = map[string]string{
	"SSRF_GUARD":                 "if you may fetch from this network: hce crawl ROOTPLACE --allow-network ADDRESS/32",
	"CONNECTION_ERROR":           "check the name and the network: getent hosts HOST; then: hce site recrawl SITE --failedPLACE",
	"FETCHER_INTERNAL":           "install chromium, then: hce site recrawl SITE --failedPLACE",
	"NOT_EXIST_ANY_VALID_PROXY":  "hce site edit SITE --property HTTP_PROXY_HOST=HOST:PORTPLACE",
	"AUTH_ERROR":                 "hce site edit SITE --property HTTP_AUTH_NAME=NAME --property HTTP_AUTH_PWD=PASSWORDPLACE",
	"ROBOTS_NOT_ALLOW":           "hce url ls SITE --forbidden --reasonsPLACE",
	"PROCESSOR_BUDGET":           "raise max_item_time and max_item_memory of processor-task.ini, then: hce site recrawl SITE --failedPLACE",
	"MISSED_RAW_CONTENT_ON_DISK": "hce repairPLACE",
	"TEMPLATE_SOURCE":            "hce site show SITEPLACE # correct the property TEMPLATE",
	"MANDATORY_TEMPLATE":         "hce site show SITEPLACE # correct the property TEMPLATE",
}

func (d *doctor) failureRemedy(site wire.Site, bit string) string {
	remedy, known := failureRemedies[bit]
	if !known {
		remedy = "hce url ls SITE --failedPLACE"
	}
	host := subcommand.RootOf(site)
	if _, rest, found := strings.Cut(host, "://"); found {
		host, _, _ = strings.Cut(rest, "/")
		host, _, _ = strings.Cut(host, ":")
	}
	if net.ParseIP(host) != nil {
		remedy = strings.ReplaceAll(remedy, "ADDRESS", host)
	}
	return strings.NewReplacer("SITE", site.ID, "ROOT", subcommand.RootOf(site), "PLACE", d.placeOptions(), "getent hosts HOST", "getent hosts "+host).Replace(remedy)
}
