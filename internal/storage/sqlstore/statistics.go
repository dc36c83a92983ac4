package sqlstore

import (
	"encoding/json"
	"strconv"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Codes of the journal log_<site> beside the statuses 1 to 7 (docs/spec/storage.md 1.8).
const (
	logInsert  = 20
	logDelete  = 21
	logUpdate  = 22
	logCleanup = 23
	logAging   = 24
	logContent = 25
)

// statistics counts events of URLs in freq_<site> and notes them in log_<site>,
// each where the site's property or the option says so (docs/spec/storage.md 4.0.3).
type statistics struct {
	t         *tx
	site      string
	freq, log bool
}

func (t *tx) statistics(site string) (*statistics, error) {
	s := &statistics{t: t, site: site, freq: t.s.o.StatsFreq, log: t.s.o.StatsLog}
	switches := map[string]*bool{"STATS_FREQ_ENABLED": &s.freq, "STATS_LOG_ENABLED": &s.log}
	err := t.All("site_statistics", []any{site}, func(scan func(...any) error) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
		if on := switches[name]; on != nil { // MySQL finds names in other case too
			n, err := strconv.Atoi(strings.TrimSpace(value))
			*on = err == nil && n != 0
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// off spares callers the work of making objects for the journal.
func (s *statistics) off() bool { return !s.freq && !s.log }

// event adds 1 to a column of freq_, unless it is "", and notes code in log_,
// unless it is 0, with the JSON of the object that asked.
func (s *statistics) event(md5, column string, code int64, object any) error {
	var columns []string
	if column != "" {
		columns = []string{column}
	}
	return s.events([]string{md5}, columns, code, object)
}

// events is event for many URLs, each once, and for several columns.
func (s *statistics) events(md5s, columns []string, code int64, object any) error {
	if s.freq && len(columns) > 0 && len(md5s) > 0 {
		if err := s.count(md5s, columns); err != nil {
			return err
		}
	}
	if !s.log || code == 0 || len(md5s) == 0 {
		return nil
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	rows := make([][]any, len(md5s))
	for i, md5 := range md5s {
		rows[i] = []any{s.site, md5, code, string(raw), s.t.now, s.t.now}
	}
	return s.t.insertRows(s.t.table(sqldb.Logs, s.site), "Site_Id, URLMd5, OpCode, Object, CDate, ODate", rows)
}

// count adds 1 to columns of freq_; the first event of a URL makes its row.
func (s *statistics) count(md5s, columns []string) error {
	table := s.t.table(sqldb.Freqs, s.site)
	var set strings.Builder
	for _, column := range columns {
		set.WriteString(column + " = " + column + " + 1, ")
	}
	var counted int64
	err := chunks(md5s, func(in string, args []any) error {
		n, err := s.t.Exec("UPDATE "+table+" SET "+set.String()+"MDate = ? WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{s.t.now, s.site}, args...)...)
		counted += n
		return err
	})
	if err != nil || counted == int64(len(md5s)) {
		return err
	}
	there, err := s.t.present(sqldb.Freqs, s.site, md5s)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, md5 := range md5s {
		if there[md5] {
			continue
		}
		row := []any{s.site, md5, s.t.now, s.t.now}
		for range columns {
			row = append(row, 1)
		}
		rows = append(rows, row)
	}
	return s.t.insertRows(table, "Site_Id, URLMd5, CDate, MDate, "+strings.Join(columns, ", "), rows)
}

// present tells which keys are in a table of a site.
func (t *tx) present(database, site string, md5s []string) (map[string]bool, error) {
	there := make(map[string]bool, len(md5s))
	err := chunks(md5s, func(in string, args []any) error {
		return t.Each("SELECT URLMd5 FROM "+t.table(database, site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...), func(scan func(...any) error) error {
			var md5 string
			err := scan(&md5)
			there[md5] = true
			return err
		})
	})
	return there, err
}

// reached counts and notes that a row is in a status now.
func (s *statistics) reached(md5 string, status int64, object any) error {
	return s.reachedAll([]string{md5}, status, object)
}

func (s *statistics) reachedAll(md5s []string, status int64, object any) error {
	if status < wire.StatusNew || status > wire.StatusProcessed {
		return nil
	}
	var columns []string
	if column := map[int64]string{wire.StatusNew: "FNew", wire.StatusCrawled: "FCrawled", wire.StatusProcessed: "FProcessed"}[status]; column != "" {
		columns = []string{column}
	}
	return s.events(md5s, columns, status, object)
}

// inserted counts and notes a new row and its status.
func (s *statistics) inserted(md5 string, status int64, object any) error {
	if s.off() {
		return nil
	}
	if err := s.event(md5, "FIns", logInsert, object); err != nil {
		return err
	}
	return s.reached(md5, status, object)
}

// updated counts and notes that rows were changed, and a new status of each.
func (s *statistics) updated(rows []chosen, set wire.Patch) error {
	if s.off() {
		return nil
	}
	status, given := set["Status"].(int64)
	var all, moved []string
	for _, row := range rows {
		all = append(all, row.md5)
		if given && status != row.status {
			moved = append(moved, row.md5)
		}
	}
	if err := s.events(all, []string{"FUpd"}, logUpdate, set); err != nil {
		return err
	}
	return s.reachedAll(moved, status, set)
}
