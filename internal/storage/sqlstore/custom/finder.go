package custom

import (
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// finder resolves the tables of the specification in a query of SQL_CUSTOM. It replaces
// them by sub-queries on the real tables, so that * has the same columns on both
// databases.
type finder struct {
	*tx
	database string
	found    []*foundTable
	err      error // of the database
}

// foundTable is a table that the query reads.
type foundTable struct {
	expr.Table
	columns []schema.Column
	name    string // in the database, quoted
	site    string // the site of a table of SiteTables, or ""
	counted bool   // counters of the site depend on the table
}

// findTable is the Find of an expr.Scope.
func (f *finder) findTable(database, name string) *expr.Table {
	if database == "" {
		database = f.database
	}
	for _, t := range f.found {
		if t.Database == database && strings.EqualFold(t.Name, name) {
			return &t.Table
		}
	}
	t := f.lookupTable(f.s.databaseOf(database), name)
	if t == nil {
		return nil
	}
	t.Database = database
	f.found = append(f.found, t)
	return &t.Table
}

// lookupTable returns a table of a database of package sqldb, or nil.
func (f *finder) lookupTable(database, name string) *foundTable {
	if database == sqldb.Sites {
		i := slices.IndexFunc(tables.PlainTables, func(i tables.TableInfo) bool { return strings.EqualFold(i.Name, name) })
		if i < 0 {
			return nil
		}
		t := tables.PlainTables[i]
		return &foundTable{Table: expr.Table{Name: t.Name, Columns: t.Kinds}, columns: t.Columns, name: f.PlainTable(t)}
	}
	for _, t := range tables.SiteTables {
		if t.Database != database || len(name) <= len(t.Name) || !strings.EqualFold(name[:len(t.Name)], t.Name) {
			continue
		}
		id := name[len(t.Name):]
		if wire.CheckSiteID("", "", id) != nil {
			return nil
		}
		site, err := f.StoredID(id)
		if err != nil {
			f.err = err
		}
		if err != nil || site == "" {
			return nil
		}
		return &foundTable{
			Table: expr.Table{Name: t.Name + site, Columns: t.Kinds}, columns: t.Columns,
			name: f.SiteTable(database, site), site: site, counted: database == sqldb.URLs || database == sqldb.Deleted,
		}
	}
	return nil
}

// quoteTable is the Quote of an expr.Scope: the name of a table's sub-query. No alias of a
// query can have this name.
func (f *finder) quoteTable(database, table string) string {
	for i, t := range f.found {
		if t.Database == database && t.Name == table {
			return "`dc-" + strconv.Itoa(i) + "`"
		}
	}
	return "``"
}

// withClause returns the WITH clause of the found tables.
func (f *finder) withClause() string {
	if len(f.found) == 0 {
		return ""
	}
	return "WITH " + strings.Join(tables.MapSlice(f.found, func(t *foundTable) string {
		where := ""
		if t.site != "" {
			where = " WHERE Site_Id = '" + t.site + "'"
		}
		return f.quoteTable(t.Database, t.Name) + " AS (SELECT " + tables.ColumnList(t.columns) + " FROM " + t.name + where + ")"
	}), ", ") + " "
}

// expandStars replaces each * by the columns of its table.
func (f *finder) expandStars(fields []expr.Field) []expr.Field {
	var list []expr.Field
	for _, field := range fields {
		if field.Table == nil {
			list = append(list, field)
			continue
		}
		for _, t := range f.found {
			if field.Table != &t.Table {
				continue
			}
			for _, c := range t.columns {
				list = append(list, expr.Field{Name: c.Name, Time: c.Kind == schema.KindDate, Decimals: -1})
			}
		}
	}
	return list
}
