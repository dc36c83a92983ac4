package store

import (
	"encoding/json"
	"strconv"
	"strings"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// Codes of the journal log_<site> beside the statuses 1 to 7 (storage 1.8).
const (
	logInsert  = 20
	logUpdate  = 22
	logContent = 25
)

// statistics counts events of URLs in freq_<site> and notes them in log_<site>,
// each where the site's property or the option says so (storage 4.0.3).
type statistics struct {
	t         *tx
	site      string
	freq, log bool
}

func (t *tx) statistics(site string) (*statistics, error) {
	s := &statistics{t: t, site: site, freq: t.s.o.StatsFreq, log: t.s.o.StatsLog}
	for name, on := range map[string]*bool{"STATS_FREQ_ENABLED": &s.freq, "STATS_LOG_ENABLED": &s.log} {
		var value string
		found, err := t.Get("site_property", []any{site, name}, &value)
		if err != nil {
			return nil, err
		}
		if found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			*on = err == nil && n != 0
		}
	}
	return s, nil
}

// off spares callers the work of making objects for the journal.
func (s *statistics) off() bool { return !s.freq && !s.log }

// event adds 1 to a column of freq_, unless it is "", and notes code in log_,
// unless it is 0, with the JSON of the object that asked.
func (s *statistics) event(md5, column string, code int64, object any) error {
	if s.freq && column != "" {
		if _, err := s.t.Do("freq_record", s.site, md5, s.t.now); err != nil {
			return err
		}
		_, err := s.t.Exec("UPDATE "+s.t.DB.Table(db.Freqs, "freq")+" SET "+column+" = "+column+" + 1, MDate = ? WHERE Site_Id = ? AND URLMd5 = ?", s.t.now, s.site, md5)
		if err != nil {
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
	_, err = s.t.Do("log_put", s.site, md5, code, string(raw), s.t.now, s.t.now)
	return err
}

// reached counts and notes that a row is in a status now.
func (s *statistics) reached(md5 string, status int64, object any) error {
	column := map[int64]string{dc.StatusNew: "FNew", dc.StatusCrawled: "FCrawled", dc.StatusProcessed: "FProcessed"}[status]
	if status < dc.StatusNew || status > dc.StatusProcessed {
		return nil
	}
	return s.event(md5, column, status, object)
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
func (s *statistics) updated(rows []chosen, set dc.Patch) error {
	if s.off() {
		return nil
	}
	status, given := set["Status"].(int64)
	for _, row := range rows {
		if err := s.event(row.md5, "FUpd", logUpdate, set); err != nil {
			return err
		}
		if given && status != row.status {
			if err := s.reached(row.md5, status, set); err != nil {
				return err
			}
		}
	}
	return nil
}
