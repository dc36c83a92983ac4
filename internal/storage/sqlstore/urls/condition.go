package urls

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// Condition evaluates an expression, with its macros replaced, on one row of a site
// (filters of operation 7, CONDITION of REPLACE). The verdict is true if the value is
// above 0 or the expression is blank. For a missing row or site, as in real time, an
// expression without columns has its value and any other is false. The verdict of an
// invalid expression has the error.
func (s *Store) Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error) {
	return tables.RunForResult(ctx, s.run.Read, "Condition", func(t *Tx) (wire.Verdict, error) {
		stored, err := t.StoredID(site)
		if err != nil {
			return wire.Verdict{}, err
		}
		holds, err := t.evaluateCondition(stored, md5, expression)
		if err != nil && !tables.IsRefusal(err) {
			return wire.Verdict{}, err
		}
		return wire.Verdict{True: holds, Err: err}, nil
	})
}

// evaluateCondition evaluates one condition; site is "" for an unknown site.
func (t *Tx) evaluateCondition(site, md5, expression string) (bool, error) {
	name := site
	if site == "" {
		name = wire.GeneralSite
	}
	scope := t.URLScope(name)
	where, err := tables.PositiveCondition(scope, expression)
	if err != nil || where.Text == "" {
		return err == nil, err
	}
	if site != "" {
		var s tables.Statement
		s.AppendText("SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END FROM "+t.SiteTable(sqldb.URLs, site)+tables.AliasURLs(site)+" WHERE Site_Id = ? AND URLMd5 = ?", where.Args...)
		s.AppendText("", site, md5)
		found, err := tables.ReadColumn[bool](t.tableTx, t.WithNamedTables(site, s.Text.String()), s.Args...)
		if err != nil || len(found) > 0 {
			return len(found) > 0 && found[0], err
		}
	}
	scope.Table = expr.Table{}
	if where, err = tables.PositiveCondition(scope, expression); err != nil {
		return false, nil // it reads columns of the missing row
	}
	value, err := tables.ReadColumn[bool](t.tableTx, t.WithNamedTables(name, "SELECT CASE WHEN "+where.Text+" THEN 1 ELSE 0 END"), where.Args...)
	return len(value) > 0 && value[0], err
}
