package hce

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/manual"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/trap"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

const (
	trapRows   = 20000 // of a site that are looked at; keys are hashes, so the first ones are a sample
	trapAtOnce = 500
	leastTime  = 10 * time.Second // for looking for traps, in a short crawl on a busy machine
)

// trapped is a trap in the summary.
type trapped struct {
	Kind     string   `json:"kind"`     // in plain words
	Rule     string   `json:"rule"`     // regular expression of its URLs
	Example  string   `json:"example"`  // one of them
	URLs     int      `json:"urls"`     // of the rows that were looked at
	Waiting  int      `json:"waiting"`  // of them
	Compared int      `json:"compared"` // pages whose texts were compared
	Texts    int      `json:"texts"`    // different ones
	NoIndex  int      `json:"noindex"`  // pages that ask robots not to index them
	Options  []string `json:"options"`  // of hce crawl and hce site edit, that stop it
}

// trapSearch looks for traps in the stored rows of a site.
type trapSearch struct {
	*crawl
	rows    []wire.URL
	byURL   map[string]*wire.URL
	counted map[string]bool
	cut     bool      // the time was over
	until   time.Time // nothing more is read then
}

// findTraps finds the traps of the site. It takes at most a hundredth of the time of the crawl, or ten seconds. A sample of
// a large site, and of each group of URLs, is read.
func (c *crawl) findTraps(site *wire.Site) ([]trapped, bool, error) {
	list := []trapped{}
	if slices.ContainsFunc(site.Properties, func(p wire.SiteProperty) bool { return p.Name == "TRAPS" && strings.TrimSpace(p.Value) == "0" }) {
		return list, false, nil
	}
	s := trapSearch{crawl: c, byURL: map[string]*wire.URL{}, counted: map[string]bool{}, until: time.Now().Add(max(leastTime, time.Since(c.began)/100))}
	whole, err := s.readRows()
	if err != nil {
		return nil, false, err
	}
	w := trap.New()
	w.CollectOnly = true
	var fetched []string
	for i := range s.rows {
		u := &s.rows[i]
		s.byURL[u.URL] = u
		if u.Crawled > 0 && u.RawContentMd5 != "" && u.Type != wire.TypeFetched {
			fetched = append(fetched, u.URL)
			if content.IsHTML(u.ContentType) {
				w.Count(u.URL, u.RobotsMask&wire.RobotsNoIndex != 0)
			}
		}
	}
	for _, group := range trap.Groups(fetched) {
		if err := s.readPages(w, trap.Choose(group)); err != nil {
			return nil, false, err
		}
	}
	var removed []trap.Finding // whose parameters are to be removed from links: a site has one property for them
	for _, f := range w.Findings() {
		one, err := s.reportTrap(f)
		if err != nil {
			return nil, false, err
		}
		if one.URLs == 0 { // another trap has all of them
			continue
		}
		if one.Options == nil {
			removed = append(removed, f)
		}
		list = append(list, one)
	}
	for i := range list {
		if list[i].Options == nil {
			list[i].Options = []string{"--property", trap.Normalize(removed)}
		}
	}
	slices.SortStableFunc(list, func(a, b trapped) int { return b.URLs - a.URLs })
	return list, !whole || s.cut, nil
}

// readRows reads rows of the site; whole says that these are all.
func (s *trapSearch) readRows() (whole bool, err error) {
	for after := ""; len(s.rows) < trapRows && (after == "" || time.Now().Before(s.until)); after = s.rows[len(s.rows)-1].URLMd5 {
		rows, err := pages.Rows(s.Ctx, s.Service, s.site.ID, "`URLMd5`>'"+after+"'", "`URLMd5` ASC", trapAtOnce)
		if err != nil {
			return false, err
		}
		if s.rows = append(s.rows, rows...); len(rows) < trapAtOnce {
			return true, nil
		}
	}
	return false, nil
}

// readPages shows the pages of URLs to a Watch.
func (s *trapSearch) readPages(w *trap.Watch, urls []string) error {
	var keys []string
	for _, url := range urls {
		if u := s.byURL[url]; content.IsHTML(u.ContentType) {
			keys = append(keys, "'"+u.URLMd5+"'")
			continue
		}
		if w.Wants(url) {
			w.Add(trap.Page{URL: url, Content: s.byURL[url].RawContentMd5})
		}
	}
	if s.cut = s.cut || time.Now().After(s.until); len(keys) == 0 || s.cut {
		return nil
	}
	texts := map[string][]byte{}
	reader := pages.Reader{Service: s.Service, Site: s.site.ID, Where: "`URLMd5` IN (" + strings.Join(keys, ",") + ")", Needs: pages.Raw, Damaged: s.SayDamaged}
	err := reader.Read(s.Ctx, "", func(p *pages.Page) error {
		texts[p.URL.URL] = p.Raw
		return nil
	}, nil)
	for _, url := range urls { // in the order of the choice
		if text := texts[url]; text != nil && w.Wants(url) {
			w.Add(trap.Page{URL: url, Text: text, NoIndex: s.byURL[url].RobotsMask&wire.RobotsNoIndex != 0})
		}
	}
	return err
}

// reportTrap counts the URLs of a trap, each for one trap, and says what stops it. Options is nil if its parameters are to
// be removed from links, because the pages are reached by these URLs only.
func (s *trapSearch) reportTrap(f trap.Finding) (trapped, error) {
	one := trapped{Kind: f.Kind, Rule: f.Rule, Compared: f.Pages, Texts: f.Texts}
	var bare []string // keys of URLs without the parameters
	for i := range s.rows {
		u := &s.rows[i]
		if u.Unasked() || s.counted[u.URL] || !f.Holds(u.URL) {
			continue
		}
		s.counted[u.URL] = true
		if one.URLs++; u.Status == wire.StatusNew {
			one.Waiting++
		}
		if u.RobotsMask&wire.RobotsNoIndex != 0 {
			one.NoIndex++
		}
		if one.Example == "" || len(u.URL) < len(one.Example) {
			one.Example = u.URL
		}
		if len(bare) < 50 && f.Neutral && (content.IsHTML(u.ContentType) || u.Status == wire.StatusNew) {
			bare = append(bare, "'"+urlkey.Of(f.Without(u.URL))+"'")
		}
	}
	one.Options = []string{"--exclude", "re:" + f.Rule}
	if len(bare) > 0 {
		slices.Sort(bare)
		bare = slices.Compact(bare)
		known, err := pages.Rows(s.Ctx, s.Service, s.site.ID, "`URLMd5` IN ("+strings.Join(bare, ",")+")", "", len(bare))
		if err != nil {
			return one, err
		}
		if 2*len(known) < len(bare) {
			one.Options = nil
		}
	}
	return one, nil
}

// trapText is the part of a summary about traps.
func (r summary) trapText() string {
	if len(r.Traps) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(manual.Locate("  traps, URLs that bring no new pages and are asked last (docs/traps.md):\n"))
	for _, t := range r.Traps {
		n := plaintext.Count(int64(t.URLs), "URL", "URLs")
		if r.TrapSample {
			n = "of a sample, " + n
		}
		if t.Waiting > 0 {
			n += fmt.Sprintf(", %d wait", t.Waiting)
		}
		evidence := fmt.Sprintf("%d different texts in %d compared pages", t.Texts, t.Compared)
		switch {
		case t.NoIndex*2 > t.URLs:
			evidence = fmt.Sprintf("%d ask robots not to index them", t.NoIndex)
		case t.Kind == "calendars" || t.Kind == "filters of lists":
			evidence = fmt.Sprintf("no text of %d compared pages is new", t.Compared)
		}
		fmt.Fprintf(&b, "    %s: %s, %s, such as %s\n      stop them with: %s %s\n", t.Kind, n, evidence, plaintext.Cut(plaintext.Clean(t.Example), plaintext.LongestURL), t.Options[0], subcommand.ShellWord(t.Options[1]))
	}
	return b.String()
}
