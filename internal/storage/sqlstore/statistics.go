package sqlstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Codes of the journal log_<site>; a code 1 to 7 is a Status (docs/spec/storage.md 1.8).
const (
	logInsert  = 20
	logDelete  = 21
	logUpdate  = 22
	logCleanup = 23
	logAging   = 24
	logContent = 25
)

// statistics counts events of URLs in freq_<site> and writes them to log_<site>, each if
// the site's property or the option enables it (docs/spec/storage.md 4.0.3).
type statistics struct {
	t         *tx
	site      string
	read      bool // freq and log are known
	freq, log bool
}

// statisticsOf returns the statistics of a site in this transaction.
func (t *tx) statisticsOf(site string) *statistics {
	if t.stats[site] == nil {
		t.stats[site] = &statistics{t: t, site: site}
	}
	return t.stats[site]
}

// forgetStatistics lets the switches of a site be read again.
func (t *tx) forgetStatistics(site string) { delete(t.stats, site) }

// loadSwitches reads the switches of the site, once.
func (s *statistics) loadSwitches() error {
	if s.read {
		return nil
	}
	s.freq, s.log = s.t.options.StatsFreq, s.t.options.StatsLog
	switches := map[string]*bool{"STATS_FREQ_ENABLED": &s.freq, "STATS_LOG_ENABLED": &s.log}
	err := s.t.All("site_statistics", []any{s.site}, scanPair(func(name, value string) {
		if on := switches[name]; on != nil { // the comparison of MySQL ignores case
			n, err := strconv.Atoi(strings.TrimSpace(value))
			*on = err == nil && n != 0
		}
	}))
	s.read = err == nil
	return err
}

// recordEvents adds 1 to columns of freq_ for each URL, and writes code to log_ unless it is 0,
// with the JSON of the object that caused the event. The keys must be unique.
func (s *statistics) recordEvents(md5s, columns []string, code int64, object any) error {
	if len(md5s) == 0 {
		return nil
	}
	if err := s.loadSwitches(); err != nil {
		return err
	}
	if s.freq && len(columns) > 0 {
		if err := s.countEvents(md5s, columns); err != nil {
			return err
		}
	}
	if !s.log || code == 0 {
		return nil
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	rows := mapSlice(md5s, func(md5 string) []any { return []any{s.site, md5, code, string(raw), s.t.now, s.t.now} })
	return s.t.insertRows("INSERT INTO "+s.t.siteTable(sqldb.Logs, s.site)+" (Site_Id, URLMd5, OpCode, Object, CDate, ODate)", rows)
}

// countEvents adds 1 to columns of freq_ and inserts missing rows.
func (s *statistics) countEvents(md5s, columns []string) error {
	table := s.t.siteTable(sqldb.Freqs, s.site)
	set := strings.Join(mapSlice(columns, func(c string) string { return c + " = " + c + " + 1" }), ", ")
	counted, err := execIn(s.t, md5s, "UPDATE "+table+" SET "+set+", MDate = ?"+ofKeys, s.t.now, s.site)
	if err != nil || counted == int64(len(md5s)) {
		return err
	}
	found, err := s.t.keysWithRow(sqldb.Freqs, s.site, md5s)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, md5 := range md5s {
		if !found[md5] {
			ones := mapSlice(columns, func(string) any { return 1 })
			rows = append(rows, append([]any{s.site, md5, s.t.now, s.t.now}, ones...))
		}
	}
	return s.t.insertRows("INSERT INTO "+table+" (Site_Id, URLMd5, CDate, MDate, "+strings.Join(columns, ", ")+")", rows)
}

// statusColumns are the columns of freq_ that count statuses.
var statusColumns = map[int64][]string{wire.StatusNew: {"FNew"}, wire.StatusCrawled: {"FCrawled"}, wire.StatusProcessed: {"FProcessed"}}

// recordStatus records that a row has a new Status.
func (s *statistics) recordStatus(md5 string, status int64, object any) error {
	return s.reachedAll([]string{md5}, status, object)
}

func (s *statistics) reachedAll(md5s []string, status int64, object any) error {
	if status < wire.StatusNew || status > wire.StatusProcessed {
		return nil
	}
	return s.recordEvents(md5s, statusColumns[status], status, object)
}

// recordInsert records a new row and its Status.
func (s *statistics) recordInsert(md5 string, status int64, object any) error {
	if err := s.recordEvents([]string{md5}, []string{"FIns"}, logInsert, object); err != nil {
		return err
	}
	return s.recordStatus(md5, status, object)
}

// recordUpdates records that rows were changed, and their new Status.
func (s *statistics) recordUpdates(rows []urlStatus, set wire.Patch) error {
	status, given := set["Status"].(int64)
	var moved []string
	for _, row := range rows {
		if given && status != row.status {
			moved = append(moved, row.md5)
		}
	}
	if err := s.recordEvents(md5sOf(rows), []string{"FUpd"}, logUpdate, set); err != nil {
		return err
	}
	return s.reachedAll(moved, status, set)
}

// ContentNote is a journal event: Object has read contents of URLs of a site.
type ContentNote struct {
	SiteID  string
	URLMd5s []string
	Object  any
}

// NoteContents writes the notes of sites whose journal is enabled. Notes of other and
// unknown sites cost only a read.
func (s *Store) NoteContents(ctx context.Context, notes []ContentNote) error {
	wanted, err := runForResult(ctx, s.runReadTx, "NoteContents", func(t *tx) (wanted []ContentNote, err error) {
		for _, n := range notes {
			site, err := t.storedID(n.SiteID)
			if err != nil {
				return nil, err
			}
			stats := t.statisticsOf(site)
			if err := stats.loadSwitches(); err != nil {
				return nil, err
			}
			if site != "" && stats.log {
				wanted = append(wanted, n)
			}
		}
		return wanted, nil
	})
	if err != nil || len(wanted) == 0 {
		return err
	}
	return s.runUpdateTx(ctx, "NoteContents", func(t *tx) error {
		for _, n := range wanted {
			site, err := t.storedID(n.SiteID)
			if err != nil {
				return err
			}
			if site == "" { // deleted in the meantime
				continue
			}
			if err := t.statisticsOf(site).recordEvents(n.URLMd5s, nil, logContent, n.Object); err != nil {
				return err
			}
		}
		return nil
	})
}
