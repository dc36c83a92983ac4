package random_test

import (
	"fmt"
	"slices"
	"strings"
)

// counterNames are the properties that replace the condition of a counter
// (docs/spec/storage.md 4.0.4).
var counterNames = []string{"COUNTER_CRIT_RESOURCES", "COUNTER_CRIT_CONTENTS", "COUNTER_CRIT_CLURLS", "COUNTER_CRIT_NURLS", "COUNTER_CRIT_DURLS", "COUNTER_CRIT_ERRORS"}

// counterColumns are their columns.
var counterColumns = []string{"Resources", "Contents", "CollectedURLs", "NewURLs", "DeletedURLs", "Errors"}

// counterTests are the conditions of these properties and the same conditions in Go.
var counterTests = map[string]func(row) bool{
	"Status = 1":                        func(u row) bool { return u.int("Status") == 1 },
	"Size > 100 AND `State` = 0":        func(u row) bool { return u.int("Size") > 100 && u.int("State") == 0 },
	"ErrorMask & 4 OR Status IN (4, 7)": func(u row) bool { return u.int("ErrorMask")&4 != 0 || u.int("Status") == 4 || u.int("Status") == 7 },
	"Site_Id = '%SITE_ID%'":             func(row) bool { return true },
	"":                                  func(row) bool { return true },
	"ParentMd5 <> ''":                   func(u row) bool { return u.text("ParentMd5") != "" },
}

// counterConditions also has an invalid condition: the counter uses the built-in one.
var counterConditions = func() []string {
	all := []string{"Nonsense("}
	for text := range counterTests {
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}()

func (r row) int(column string) int64 {
	n, _ := r[column].(int64)
	return n
}

func (r row) text(column string) string {
	s, _ := r[column].(string)
	return s
}

// ofSite returns the rows of a site; the case of the id is ignored.
func (d dump) ofSite(table, site string) []row {
	var rows []row
	for _, r := range d[table] {
		if strings.EqualFold(r.text("Site_Id"), site) {
			rows = append(rows, r)
		}
	}
	return rows
}

// counters computes the counters of a site from its rows (docs/spec/storage.md 4.0.4). Rows
// with Status 4 and Crawled 0 belong to other nodes.
func (d dump) counters(site row) map[string]int64 {
	id := site.text("Id")
	c := map[string]int64{}
	for _, column := range checked {
		c[column] = 0
	}
	c["ErrorMask"], c["DeletedURLs"] = site.int("SiteMask"), int64(len(d.ofSite("dc_urls_deleted.urls", id)))
	var speeds int64
	for _, u := range d.ofSite("dc_urls.urls", id) {
		own := u.int("Status") != 4 || u.int("Crawled") != 0
		add := func(name string, n int64, when bool) {
			if when {
				c[name] += n
			}
		}
		add("Resources", 1, u.int("Status") == 4 && u.int("Crawled") > 0 && u.int("Size") > 0 && u.int("ErrorMask")&4198399 == 0 &&
			strings.EqualFold(u.text("ContentType"), "text/html"))
		add("Contents", 1, u.int("Status") == 7 && u.int("TagsCount") > 0 && u.int("Processed") > 0)
		add("CollectedURLs", 1, own && u.text("ParentMd5") != "")
		add("NewURLs", 1, u.int("Status") == 1)
		add("Size", u.int("Size"), own)
		add("Errors", 1, own && u.int("ErrorMask") != 0)
		if own {
			c["ErrorMask"] |= u.int("ErrorMask")
		}
		if own && u.int("CrawlingTime") > 0 {
			c["AVGSpeedCounter"]++
			speeds += u.int("Size") * 1000 / u.int("CrawlingTime")
		}
	}
	if c["AVGSpeedCounter"] > 0 {
		c["AVGSpeed"] = speeds / c["AVGSpeedCounter"]
	}
	d.byProperties(id, c)
	return c
}

// byProperties replaces counters in c that have a COUNTER_CRIT property. It removes a
// counter whose property occurs twice or is unknown to counterTests.
func (d dump) byProperties(site string, c map[string]int64) {
	for i, column := range counterColumns {
		var texts []string
		for _, p := range d.ofSite("dc_sites.sites_properties", site) {
			if p.text("Name") == counterNames[i] {
				texts = append(texts, p.text("Value"))
			}
		}
		if len(texts) == 0 {
			continue
		}
		test, known := counterTests[texts[0]]
		if len(texts) > 1 || !known && texts[0] != "Nonsense(" {
			delete(c, column)
			continue
		}
		if !known {
			continue
		}
		table := "dc_urls.urls"
		if column == "DeletedURLs" {
			table = "dc_urls_deleted.urls"
		}
		c[column] = 0
		for _, u := range d.ofSite(table, site) {
			if test(u) {
				c[column]++
			}
		}
	}
}

// checked are the columns of counters.
var checked = []string{"Resources", "Contents", "CollectedURLs", "NewURLs", "DeletedURLs", "Size", "Errors", "ErrorMask", "AVGSpeed", "AVGSpeedCounter"}

// check looks for a wrong counter, rows of deleted sites and remaining trash. It returns
// the kind and the details of the first violation, or "".
func (d dump) check() (kind, detail string) {
	known := map[string]bool{}
	for _, site := range d["dc_sites.sites"] {
		id := site.text("Id")
		known[strings.ToLower(id)] = true
		want := d.counters(site)
		for _, column := range checked {
			if n, judged := want[column]; judged && site.int(column) != n {
				return "counter " + column, fmt.Sprintf("site %s: %s is %d, want %d from its rows", id, column, site.int(column), n)
			}
		}
	}
	// Rows that wait for URL_PURGE may outlive their site.
	for _, table := range []string{"dc_urls.urls", "dc_attributes.att", "dc_stat_freqs.freq", "dc_stat_logs.log", "dc_sites.sites_urls"} {
		for _, r := range d[table] {
			if !known[strings.ToLower(r.text("Site_Id"))] {
				return "orphan in " + table, fmt.Sprintf("%s has a row of site %q, which is not there: %v", table, r.text("Site_Id"), r)
			}
		}
	}
	if n := len(d["dc_sites.trash"]); n > 0 {
		return "trash", fmt.Sprintf("%d contents wait for their removal", n)
	}
	return "", ""
}
