package sites

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// SiteUpdate changes a site, or the sites that a criterion selects (docs/spec/storage.md
// 4.2). Statuses has 0 for each site, or CodeDuplicateSite for an unknown id. A request
// with an invalid criterion or expression changes nothing and is answered with
// CodeSQLError, as code and as status. Contents of replaced root URLs go to the trash.
//
// UpdateRows changes only rows that an item identifies; see matchRows. ErrorMessage names
// ambiguous items, which change no row.
func (s *Store) SiteUpdate(ctx context.Context, r wire.SiteUpdateRequest) (wire.GeneralResponse, error) {
	answer, err := tables.RunForResult(ctx, s.run.Update, "SiteUpdate", func(t *Tx) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		ids := []string{r.ID}
		if r.ID == "" {
			ids = nil
			if !r.Criterion.Empty() {
				var err error
				if ids, err = t.SelectSites("SiteUpdate.criterions", r.Criterion, expr.SQL{}); err != nil {
					return answer, err
				}
			}
		}
		for _, id := range ids {
			stored, err := t.StoredID(id)
			if err != nil {
				return answer, err
			}
			status := wire.CodeDuplicateSite // here it means: not found
			if stored != "" {
				status = wire.CodeOK
				ambiguous, err := t.UpdateSite("SiteUpdate", stored, r.Set, r.SiteLists)
				if err != nil {
					return answer, err
				}
				if answer.ErrorMessage == "" {
					answer.ErrorMessage = strings.Join(ambiguous, "; ")
				}
			}
			answer.Statuses = append(answer.Statuses, status)
		}
		return answer, nil
	})
	if tables.IsRefusal(err) {
		return wire.GeneralResponse{ErrorCode: wire.CodeSQLError, ErrorMessage: tables.ClientMessage(err), Statuses: []any{wire.CodeSQLError}}, nil
	}
	return answer, err
}

// UpdateSite applies docs/spec/storage.md 4.2 to one site. It returns messages about
// ambiguous items.
func (t *Tx) UpdateSite(object, id string, set schema.Patch, l wire.SiteLists) (ambiguous []string, err error) {
	restart := set["State"] == int64(wire.SiteRestart)
	if err := t.setSite(object, id, set); err != nil {
		return nil, err
	}
	if err := t.ChangeLease(id, set); err != nil {
		return nil, err
	}
	if !l.Given() && !restart { // the frequent case: URL_FETCH of the daemon
		return nil, nil
	}
	criteria, err := t.CounterCriteria(id)
	if err != nil {
		return nil, err
	}
	if ambiguous, err = t.updateLists(object, id, l); err != nil {
		return nil, err
	}
	// A counter without its COUNTER_CRIT property has its built-in condition again.
	if len(criteria) > 0 && l.Properties != nil {
		if err := t.RecountSite(id); err != nil {
			return nil, err
		}
	}
	replace := false
	if l.URLs != nil {
		if replace, err = t.updateRoots(object, id, l); err != nil {
			return nil, err
		}
	}
	if restart {
		if _, err := t.Do("site_restart", t.Now, id); err != nil {
			return nil, err
		}
		if err := t.CopyRoots(id, true); err != nil {
			return nil, err
		}
		// Errors and ErrorMask are sums over the rows.
		for _, step := range []string{"urls_retry", "urls_clear_errors"} {
			if _, err := t.Of(id).Do(step, id); err != nil {
				return nil, err
			}
		}
		return ambiguous, t.RecountSite(id)
	}
	if replace {
		err = t.CopyRoots(id, false)
	}
	return ambiguous, err
}

// setSite sets columns of a site: first plain values, then the expressions one by one, so
// that they see the new values on both databases. State 6 means a restart and is not
// stored.
func (t *Tx) setSite(object, id string, set schema.Patch) error {
	plain, later := schema.Patch{}, schema.Patch{}
	for name, value := range counters.WithoutCounted(set) {
		switch _, ok := tables.NeedsParser(value); {
		case ok:
			later[name] = value
		case name != "State" || value != int64(wire.SiteRestart):
			plain[name] = value
		}
	}
	g := t.SitesTarget(object)
	if _, err := t.UpdateRows(g, plain, nil, "Id = ?", id); err != nil {
		return err
	}
	for _, name := range tables.SortedColumns(later) {
		if _, err := t.UpdateRows(g, schema.Patch{name: later[name]}, nil, "Id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) updateLists(object, id string, l wire.SiteLists) (ambiguous []string, err error) {
	t.ForgetStatistics(id) // its properties change
	lists := []struct {
		name  string
		table tables.TableInfo
		drop  string
		rows  []schema.Patch
		key   []string // columns that identify a row
		value string   // column that distinguishes rows with one key
	}{
		{"filters", tables.FiltersInfo, "filters_delete", l.Filters, []string{"Type", "Mode", "State"}, "Pattern"},
		{"properties", tables.PropertiesInfo, "properties_delete", l.Properties, []string{"Name", "URLMd5"}, "Value"},
	}
	for _, list := range lists {
		name := object + "." + list.name
		switch {
		case list.rows == nil:
			continue
		case l.UpdateType == wire.UpdateRows:
			more, err := t.changeList(name, list.table, id, list.rows, list.key, list.value)
			if err != nil {
				return nil, err
			}
			ambiguous = append(ambiguous, more...)
			continue
		case l.UpdateType == wire.UpdateOverwrite:
			if _, err := t.Do(list.drop, id); err != nil {
				return nil, err
			}
		}
		if err := t.PutList(name, list.table, id, list.rows); err != nil {
			return nil, err
		}
	}
	return ambiguous, nil
}

// changeList changes the rows of a list that items identify.
func (t *Tx) changeList(object string, list tables.TableInfo, id string, items []schema.Patch, key []string, value string) (ambiguous []string, err error) {
	var stored, wanted []listRow
	text := "SELECT " + t.DB.RowID() + ", " + strings.Join(key, ", ") + ", " + value + " FROM " + t.PlainTable(list) +
		" WHERE Site_Id = ? ORDER BY " + t.DB.RowID()
	err = t.Each(text, []any{id}, func(scan func(...any) error) error {
		row, parts := listRow{}, make([]string, len(key))
		targets := []any{&row.id}
		for i := range parts {
			targets = append(targets, &parts[i])
		}
		err := scan(append(targets, &row.value)...)
		row.key = strings.Join(parts, "\x00")
		stored = append(stored, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		parts := tables.MapSlice(key, func(column string) string { return fmt.Sprint(item[column]) })
		wanted = append(wanted, listRow{key: strings.Join(parts, "\x00"), value: item.Text(value)})
	}
	rows, several := matchRows(stored, wanted)
	for i, row := range rows {
		name := tables.ElementName(object, i)
		if several[i] {
			ambiguous = append(ambiguous, name+" could mean several rows: none is changed")
		}
		if row == 0 {
			t.Options.Log.Info("SITE_UPDATE item matches no single row; nothing is changed", "site", id, "item", name, "several", several[i])
			continue
		}
		set := tables.ClonePatch(items[i])
		for _, column := range append([]string{"Site_Id", "CDate"}, key...) {
			delete(set, column)
		}
		if _, err := t.UpdateRows(t.ListTarget(name, list), set, nil, t.DB.RowID()+" = ?", row); err != nil {
			return nil, err
		}
	}
	return ambiguous, nil
}

// listRow is a stored row of a list, or an item of a request.
type listRow struct {
	id         int64
	key, value string
}

// matchRows returns for each item the id of its stored row, or 0 (docs/spec/storage.md 6.2
// #11). A row matches by key and value. The remaining rows and items of a key match in
// their order if their numbers are equal. Otherwise several is true for these items,
// unless no row remains.
func matchRows(stored, wanted []listRow) (rows []int64, several []bool) {
	rows, several = make([]int64, len(wanted)), make([]bool, len(wanted))
	left := map[string][]listRow{}
	for _, s := range stored {
		left[s.key] = append(left[s.key], s)
	}
	open := map[string][]int{}
	for i, a := range wanted {
		for j, s := range left[a.key] {
			if s.value == a.value {
				rows[i] = s.id
				left[a.key] = append(left[a.key][:j:j], left[a.key][j+1:]...)
				break
			}
		}
		if rows[i] == 0 {
			open[a.key] = append(open[a.key], i)
		}
	}
	for key, items := range open {
		for n, i := range items {
			if len(left[key]) == len(items) {
				rows[i] = left[key][n].id
			} else {
				several[i] = len(left[key]) > 0
			}
		}
	}
	return rows, several
}

// keepsRoots reports whether UPDATE_NOT_INSERT_ROOT_URLS keeps SITE_UPDATE from replacing
// the rows of root URLs.
func (t *Tx) keepsRoots(id string) (bool, error) {
	value, _, err := t.ReadProperty(id, "UPDATE_NOT_INSERT_ROOT_URLS")
	if err != nil {
		return false, err
	}
	value = strings.TrimSpace(value)
	n, err := strconv.Atoi(value)
	return value != "" && (err != nil || n != 0), nil
}
