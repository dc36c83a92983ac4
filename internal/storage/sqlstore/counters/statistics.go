package counters

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Codes of the journal log_<site>; a code 1 to 7 is a Status (docs/spec/storage.md 1.8).
const (
	logInsert  = 20
	logDelete  = 21
	logUpdate  = 22
	LogCleanup = 23
	LogAging   = 24
	logContent = 25
)

// Statistics counts events of URLs in freq_<site> and writes them to log_<site>, each if
// the site's property or the option enables it (docs/spec/storage.md 4.0.3).
type Statistics struct {
	t         *Tx
	site      string
	read      bool // freq and log are known
	Freq, log bool
}

// StatisticsOf returns the statistics of a site in this transaction.
func (t *Tx) StatisticsOf(site string) *Statistics {
	if t.stats[site] == nil {
		t.stats[site] = &Statistics{t: t, site: site}
	}
	return t.stats[site]
}

// ForgetStatistics lets the switches of a site be read again.
func (t *Tx) ForgetStatistics(site string) { delete(t.stats, site) }

// LoadSwitches reads the switches of the site, once.
func (s *Statistics) LoadSwitches() error {
	if s.read {
		return nil
	}
	s.Freq, s.log = s.t.Options.StatsFreq, s.t.Options.StatsLog
	switches := map[string]*bool{"STATS_FREQ_ENABLED": &s.Freq, "STATS_LOG_ENABLED": &s.log}
	err := s.t.All("site_statistics", []any{s.site}, tables.ScanPair(func(name, value string) {
		if on := switches[name]; on != nil { // the comparison of MySQL ignores case
			n, err := strconv.Atoi(strings.TrimSpace(value))
			*on = err == nil && n != 0
		}
	}))
	s.read = err == nil
	return err
}

// RecordEvents adds 1 to columns of freq_ for each URL, and writes code to log_ unless it is 0,
// with the JSON of the object that caused the event. The keys must be unique.
func (s *Statistics) RecordEvents(md5s, columns []string, code int64, object any) error {
	if len(md5s) == 0 {
		return nil
	}
	if err := s.LoadSwitches(); err != nil {
		return err
	}
	if s.Freq && len(columns) > 0 {
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
	rows := tables.MapSlice(md5s, func(md5 string) []any { return []any{s.site, md5, code, string(raw), s.t.Now, s.t.Now} })
	return s.t.InsertRows("INSERT INTO "+s.t.SiteTable(sqldb.Logs, s.site)+" (Site_Id, URLMd5, OpCode, Object, CDate, ODate)", rows)
}

// countEvents adds 1 to columns of freq_ and inserts missing rows.
func (s *Statistics) countEvents(md5s, columns []string) error {
	table := s.t.SiteTable(sqldb.Freqs, s.site)
	set := strings.Join(tables.MapSlice(columns, func(c string) string { return c + " = " + c + " + 1" }), ", ")
	counted, err := tables.ExecIn(s.t.tableTx, md5s, "UPDATE "+table+" SET "+set+", MDate = ?"+tables.OfKeys, s.t.Now, s.site)
	if err != nil || counted == int64(len(md5s)) {
		return err
	}
	found, err := s.t.KeysWithRow(sqldb.Freqs, s.site, md5s)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, md5 := range md5s {
		if !found[md5] {
			ones := tables.MapSlice(columns, func(string) any { return 1 })
			rows = append(rows, append([]any{s.site, md5, s.t.Now, s.t.Now}, ones...))
		}
	}
	return s.t.InsertRows("INSERT INTO "+table+" (Site_Id, URLMd5, CDate, MDate, "+strings.Join(columns, ", ")+")", rows)
}

// statusColumns are the columns of freq_ that count statuses.
var statusColumns = map[int64][]string{wire.StatusNew: {"FNew"}, wire.StatusCrawled: {"FCrawled"}, wire.StatusProcessed: {"FProcessed"}}

// RecordStatus records that a row has a new Status.
func (s *Statistics) RecordStatus(md5 string, status int64, object any) error {
	return s.ReachedAll([]string{md5}, status, object)
}

// ReachedAll records that URLs have reached a status.
func (s *Statistics) ReachedAll(md5s []string, status int64, object any) error {
	if status < wire.StatusNew || status > wire.StatusProcessed {
		return nil
	}
	return s.RecordEvents(md5s, statusColumns[status], status, object)
}

// RecordInsert records a new row and its Status.
func (s *Statistics) RecordInsert(md5 string, status int64, object any) error {
	if err := s.RecordEvents([]string{md5}, []string{"FIns"}, logInsert, object); err != nil {
		return err
	}
	return s.RecordStatus(md5, status, object)
}

// RecordUpdates records that rows were changed, and their new Status.
func (s *Statistics) RecordUpdates(rows []tables.URLStatus, set schema.Patch) error {
	status, given := set["Status"].(int64)
	var moved []string
	for _, row := range rows {
		if given && status != row.Status {
			moved = append(moved, row.MD5)
		}
	}
	if err := s.RecordEvents(tables.MD5sOf(rows), []string{"FUpd"}, logUpdate, set); err != nil {
		return err
	}
	return s.ReachedAll(moved, status, set)
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
	wanted, err := tables.RunForResult(ctx, s.run.Read, "NoteContents", func(t *Tx) (wanted []ContentNote, err error) {
		for _, n := range notes {
			site, err := t.StoredID(n.SiteID)
			if err != nil {
				return nil, err
			}
			stats := t.StatisticsOf(site)
			if err := stats.LoadSwitches(); err != nil {
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
	return s.run.Update(ctx, "NoteContents", func(t *Tx) error {
		for _, n := range wanted {
			site, err := t.StoredID(n.SiteID)
			if err != nil {
				return err
			}
			if site == "" { // deleted in the meantime
				continue
			}
			if err := t.StatisticsOf(site).RecordEvents(n.URLMd5s, nil, logContent, n.Object); err != nil {
				return err
			}
		}
		return nil
	})
}
