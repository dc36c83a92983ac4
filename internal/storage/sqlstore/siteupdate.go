package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
)

// SiteUpdate changes a site, or those that a criterion selects (docs/spec/storage.md 4.2).
// Statuses has 0 for each, or CodeDuplicateSite for an id that is unknown. A
// request with a condition or an expression that is refused changes nothing and
// is answered with CodeSQLError, as code and as status. Root URLs that are
// replaced leave their contents to Trash.
//
// An UpdateRows changes no row that the request does not name: see match. Items
// that could mean several rows are named in ErrorMessage, and their rows stay.
func (s *Store) SiteUpdate(ctx context.Context, r wire.SiteUpdateRequest) (wire.GeneralResponse, error) {
	var answer wire.GeneralResponse
	err := s.update(ctx, "SiteUpdate", func(t *tx) error {
		answer = wire.GeneralResponse{Statuses: []any{}}
		ids := []string{r.ID}
		if r.ID == "" {
			ids = nil
			if !r.Criterion.Empty() {
				var err error
				if ids, err = t.selectSites("SiteUpdate.criterions", r.Criterion, noCondition); err != nil {
					return err
				}
			}
		}
		for _, id := range ids {
			stored, err := t.known(id)
			if err != nil {
				return err
			}
			status := wire.CodeDuplicateSite // its meaning here: not found
			if stored != "" {
				status = wire.CodeOK
				unclear, err := t.updateSite("SiteUpdate", stored, r.Set, r.SiteLists)
				if err != nil {
					return err
				}
				if answer.ErrorMessage == "" {
					answer.ErrorMessage = strings.Join(unclear, "; ")
				}
			}
			answer.Statuses = append(answer.Statuses, status)
		}
		return nil
	})
	if refused(err) {
		return wire.GeneralResponse{ErrorCode: wire.CodeSQLError, ErrorMessage: message(err), Statuses: []any{wire.CodeSQLError}}, nil
	}
	return answer, err
}

// updateSite does the steps of docs/spec/storage.md 4.2 for one site. It tells the items that
// could mean several rows.
func (t *tx) updateSite(object, id string, set wire.Patch, l wire.SiteLists) (unclear []string, err error) {
	restart := set["State"] == int64(wire.SiteRestart)
	if err := t.setSite(object, id, set); err != nil {
		return nil, err
	}
	if !l.Given() && !restart { // the daemon does this for every site that it visits
		return nil, nil
	}
	criteria, err := t.counterCriteria(id)
	if err != nil {
		return nil, err
	}
	if unclear, err = t.updateLists(object, id, l); err != nil {
		return nil, err
	}
	// A counter whose own condition went counts as it always did.
	if len(criteria) > 0 && l.Properties != nil {
		if err := t.recount(id); err != nil {
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
		if _, err := t.Do("site_restart", t.now, id); err != nil {
			return nil, err
		}
		if err := t.copyRoots(id, true); err != nil {
			return nil, err
		}
		return unclear, t.recount(id)
	}
	if replace {
		err = t.copyRoots(id, false)
	}
	return unclear, err
}

// setSite sets columns of a site. Expressions come after plain values and one
// after the other: they see the new values, on both databases. State 6 is not
// stored, it is a restart.
func (t *tx) setSite(object, id string, set wire.Patch) error {
	plain, later := wire.Patch{}, wire.Patch{}
	for name, value := range uncounted(set) {
		e, ok := value.(wire.Expr)
		switch {
		case ok && !isNow(e):
			later[name] = value
		case name != "State" || value != int64(wire.SiteRestart):
			plain[name] = value
		}
	}
	g := t.sitesTarget(object)
	if _, err := t.set(g, plain, nil, "Id = ?", id); err != nil {
		return err
	}
	for _, name := range names(later) {
		if _, err := t.set(g, wire.Patch{name: later[name]}, nil, "Id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) updateLists(object, id string, l wire.SiteLists) (unclear []string, err error) {
	lists := []struct {
		name, table, drop string
		columns           []wire.Column
		rows              []wire.Patch
		key               []string // tells which rows are meant
		value             string   // tells them apart
	}{
		{"filters", "sites_filters", "filters_delete", wire.FilterColumns, l.Filters, []string{"Type", "Mode", "State"}, "Pattern"},
		{"properties", "sites_properties", "properties_delete", wire.PropertyColumns, l.Properties, []string{"Name", "URLMd5"}, "Value"},
	}
	for _, list := range lists {
		name := object + "." + list.name
		switch {
		case list.rows == nil:
			continue
		case l.UpdateType == wire.UpdateRows:
			more, err := t.changeList(name, list.table, id, list.columns, list.rows, list.key, list.value)
			if err != nil {
				return nil, err
			}
			unclear = append(unclear, more...)
			continue
		case l.UpdateType == wire.UpdateOverwrite:
			if _, err := t.Do(list.drop, id); err != nil {
				return nil, err
			}
		}
		if err := t.putList(name, list.table, list.columns, id, list.rows); err != nil {
			return nil, err
		}
	}
	return unclear, nil
}

// changeList changes the rows of a list that items name.
func (t *tx) changeList(object, table, id string, columns []wire.Column, items []wire.Patch, key []string, value string) (unclear []string, err error) {
	var stored, asked []listRow
	text := "SELECT " + t.DB.RowID() + ", " + strings.Join(append(key[:len(key):len(key)], value), ", ") + " FROM " + t.listTarget("", table, columns).table +
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
		parts := make([]string, len(key))
		for i, column := range key {
			parts[i] = fmt.Sprint(item[column])
		}
		asked = append(asked, listRow{key: strings.Join(parts, "\x00"), value: item.Text(value)})
	}
	rows, several := match(stored, asked)
	for i, row := range rows {
		name := fmt.Sprintf("%s[%d]", object, i)
		if several[i] {
			unclear = append(unclear, name+" could mean several rows: none is changed")
		}
		if row == 0 {
			t.s.o.Log.Info("an update changes no row", "site", id, "item", name, "several", several[i])
			continue
		}
		set := clone(items[i])
		for _, column := range append([]string{"Site_Id", "CDate"}, key...) {
			delete(set, column)
		}
		if _, err := t.set(t.listTarget(name, table, columns), set, nil, t.DB.RowID()+" = ?", row); err != nil {
			return nil, err
		}
	}
	return unclear, nil
}

// listRow is a row of a list, or an item of a request that means one.
type listRow struct {
	id         int64
	key, value string
}

// match finds the stored row that each item means, 0 for none (docs/spec/storage.md 6.2 #11):
// one with its key and its value; else, when as many rows as items are left with
// a key, one after the other. Several tells the items whose key has rows left,
// but not as many as items: which of them are meant is not said.
func match(stored, asked []listRow) (rows []int64, several []bool) {
	rows, several = make([]int64, len(asked)), make([]bool, len(asked))
	left := map[string][]listRow{}
	for _, s := range stored {
		left[s.key] = append(left[s.key], s)
	}
	open := map[string][]int{}
	for i, a := range asked {
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

// keepsRoots reports whether a site's property says that SITE_UPDATE leaves the
// rows of root URLs alone.
func (t *tx) keepsRoots(id string) (bool, error) {
	value, _, err := t.property(id, "UPDATE_NOT_INSERT_ROOT_URLS")
	if err != nil {
		return false, err
	}
	value = strings.TrimSpace(value)
	n, err := strconv.Atoi(value)
	return value != "" && (err != nil || n != 0), nil
}
