package proxypool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

const (
	maxRows  = 50     // rows of sites_proxy in a pool
	maxIndex = 10_000 // entries of an index file
)

// Sources of an entry in the index file. An entry is not used if its source does not
// contain it any more.
const (
	fromProperty = "property"
	fromTable    = "table"
)

// index is the content of an index file. Unknown members of an entry are kept.
type index map[string]json.RawMessage

// indexPath returns the index file of a site, "" for none. It is file_path itself, or
// `<site>.json` in it if file_path is a folder, ends in a slash, or is missing and has no
// suffix.
func indexPath(base, filePath, site string) (string, error) {
	if filePath == "" {
		return "", nil
	}
	path, err := statefile.Below(base, filePath)
	if err != nil {
		return "", fmt.Errorf("has in file_path the path %w", err)
	}
	info, err := os.Stat(path)
	folder := strings.HasSuffix(filePath, "/") || filepath.Clean(path) == filepath.Clean(base)
	switch {
	case err == nil:
		folder = folder || info.IsDir()
	case filepath.Ext(path) == "":
		folder = true
	}
	if folder {
		return filepath.Join(path, statefile.Name(site)+".json"), nil
	}
	if suffix := filepath.Ext(path); suffix == ".lock" || suffix == ".tmp" {
		return "", fmt.Errorf("has in file_path a name that ends in %s, which is reserved", suffix)
	}
	return path, nil
}

// fillEntries adds entries of the index, then new ones of the property, then new ones of rows. It
// logs unusable entries of index and table.
func (p *Pool) fillEntries(ix index, spec Spec, rows []wire.Proxy) {
	inProperty := map[string]bool{}
	for _, e := range spec.entries {
		inProperty[e.host] = true
	}
	fromRows := p.readRows(rows)
	for _, name := range slices.Sorted(maps.Keys(ix)) {
		e, err := readEntry(name, ix[name])
		if err != nil {
			p.log.Warn("invalid proxy in an index file; it is not used", "site", p.site, "path", p.path, "error", err)
			continue
		}
		row, inTable := fromRows[e.host]
		if e.source == fromProperty && !inProperty[e.host] || e.source == fromTable && !inTable {
			continue
		}
		if e.source == fromTable && e.state != 1 && (row.faultsMax == 0 || row.faults < row.faultsMax) {
			e.state, e.faults, e.revived = 1, row.faults, true // the operator has enabled it again
		}
		p.addEntry(e)
	}
	for _, e := range spec.entries {
		e.source = fromProperty
		p.addEntry(e)
	}
	for _, r := range rows {
		if e, ok := fromRows[r.Host]; ok {
			p.addEntry(e)
		}
	}
	if p.leftOut > 0 {
		p.log.Warn("too many proxies; the rest is not used", "site", p.site, "limit", maxProxies, "leftOut", p.leftOut)
	}
	for host, row := range fromRows {
		if e := p.byHost[host]; e != nil {
			e.rowSite = row.rowSite
		}
	}
}

// addEntry adds e unless its host is known or the pool is full.
func (p *Pool) addEntry(e entry) {
	if p.byHost[e.host] != nil {
		return
	}
	if len(p.entries) == maxProxies {
		p.leftOut++
		return
	}
	p.entries = append(p.entries, &e)
	p.byHost[e.host] = &e
}

// readRows returns the valid rows by host.
func (p *Pool) readRows(rows []wire.Proxy) map[string]entry {
	all := make(map[string]entry, len(rows))
	for _, r := range rows {
		e, err := readRow(r)
		if err != nil {
			p.log.Warn("invalid row in sites_proxy; it is not used", "site", p.site, "row", r.ID, "error", err)
			continue
		}
		if _, twice := all[r.Host]; !twice {
			all[r.Host] = e
		}
	}
	return all
}

// usableRows returns the enabled rows for a site, lowest priority first, at most 50.
func usableRows(rows []wire.Proxy, site string) []wire.Proxy {
	var list []wire.Proxy
	for _, r := range rows {
		if r.State == 1 && (r.SiteID == site || r.SiteID == wire.AnySite) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b wire.Proxy) int { return int(min(max(a.Priority-b.Priority, -1), 1)) })
	return list[:min(len(list), maxRows)]
}

func readRow(r wire.Proxy) (entry, error) {
	e := entry{
		host: r.Host, priority: max(r.Priority, 1), state: r.State, faults: max(r.Faults, 0), faultsMax: max(r.FaultsMax, 0),
		source: fromTable, rowSite: r.SiteID,
	}
	var err error
	if e.address, err = ParseAddress(r.Host); err != nil {
		return e, err
	}
	switch text := strings.TrimSpace(r.Domains); {
	case text == "":
	case text[0] == '[' || text[0] == '"':
		var list prop.Texts
		if err := prop.Decode(text, &list); err != nil {
			return e, err
		}
		e.written = list
	default:
		e.written = []string{text}
	}
	e.domains, err = compileDomains(e.written)
	return e, err
}

// refreshCounts reads the counts of other processes from the index.
func (e *entry) refreshCounts(ix index) {
	raw, ok := ix[e.host]
	if !ok {
		return
	}
	v := struct {
		State  prop.Int `json:"state"`
		Freq   prop.Int `json:"freq"`
		Faults prop.Int `json:"faults"`
	}{prop.Int(e.state), prop.Int(e.freq), prop.Int(e.faults)}
	if prop.Decode(string(raw), &v) != nil {
		return // the entry is damaged; store replaces it
	}
	e.freq = max(int64(v.Freq), 0)
	if e.revived {
		return
	}
	e.state, e.faults = int64(v.State), max(int64(v.Faults), 0)
}

// storeCounts writes the counts of e to the index, and all of e if it is new there.
func (e *entry) storeCounts(ix index) error {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(ix[e.host], &members) != nil || len(members) == 0 {
		domains := e.written
		if len(domains) == 0 {
			domains = []string{"*"}
		}
		text, err := json.Marshal(map[string]any{
			"host": e.host, "domains": domains, "priority": e.priority, "faultsMax": e.faultsMax, "source": e.source,
		})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &members); err != nil {
			return err
		}
	}
	for name, n := range map[string]int64{"state": e.state, "freq": e.freq, "faults": e.faults} {
		members[name] = json.RawMessage(fmt.Sprint(n))
	}
	if len(ix) >= maxIndex && ix[e.host] == nil {
		return errors.New("the index file is full")
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	ix[e.host] = text
	e.revived = false
	return nil
}
