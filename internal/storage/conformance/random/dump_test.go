package random_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
)

// dump has all stored data of a node in a form that is equal on all backends: the rows of
// each table by database.table. One table has the rows of all sites (dc_urls.urls,
// dc_urls_deleted.urls, dc_attributes.att, dc_stat_freqs.freq, dc_stat_logs.log), with
// their Site_Id. There are also the tables of dc_sites and
//
//	contents  Site_Id, id, data, CDate: the processed contents
//	raw       path, data: the raw contents
//
// Values are nil, int64, float64 or string; dates are texts. Columns in ignored may be
// missing.
type dump map[string][]row

type row map[string]any

// ignored are columns with different values on backends; see the package comment.
var ignored = map[string][]string{
	"dc_sites.trash":       {"Id"},
	"dc_sites.sites_proxy": {"Id"},
	"dc_attributes.att":    {"Id"},
	"dc_sites.sites":       {"MaskStale", "RowsEpoch"},
}

// internal are columns that only one backend has.
var internal = []string{"Row_Id", "ParentLength"}

// plainTables are the tables of dc_sites that operations change.
var plainTables = []string{"sites", "sites_urls", "sites_filters", "sites_properties", "sites_proxy", "trash"}

// siteTables are the tables with rows of each site.
var siteTables = map[string]string{
	sqldb.URLs: "dc_urls.urls", sqldb.Deleted: "dc_urls_deleted.urls", sqldb.Attributes: "dc_attributes.att", sqldb.Freqs: "dc_stat_freqs.freq", sqldb.Logs: "dc_stat_logs.log",
}

// rowsOf reads the rows of a table as columns by name.
func rowsOf(t *sqldb.Tx, table string) ([]row, error) {
	all := []row{}
	var columns, types []string
	err := t.Rows("SELECT * FROM "+table, nil, func(names, kinds []string) { columns, types = names, kinds }, func(scan func(...any) error) error {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := scan(targets...); err != nil {
			return err
		}
		r := row{}
		for i, name := range columns {
			if !slices.Contains(internal, name) {
				r[name] = plainValue(values[i], types[i])
			}
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// plainValue converts a value to a type of a dump. MariaDB returns all values as texts.
func plainValue(v any, kind string) any {
	switch x := v.(type) {
	case time.Time:
		return x.UTC().Format(time.DateTime)
	case uint64:
		return int64(x)
	}
	b, ok := v.([]byte)
	if !ok {
		return v
	}
	text := string(b)
	switch {
	case strings.Contains(kind, "INT"):
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case kind == "DOUBLE":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}

// dump reads all tables.
func (n *testNode) dump(ctx context.Context) (dump, error) {
	all := dump{}
	err := n.database.View(ctx, func(t *sqldb.Tx) error {
		clear(all)
		for _, table := range plainTables {
			rows, err := rowsOf(t, n.database.Table(sqldb.Sites, table))
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
			all["dc_sites."+table] = rows
		}
		for database, name := range siteTables {
			rows, err := n.ofSites(t, database)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all[name] = rows
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if n.config.Driver == sqldb.DriverMySQL {
		err = n.database.View(ctx, func(t *sqldb.Tx) (err error) {
			all["contents"], err = n.ofSites(t, sqldb.Contents)
			return err
		})
	} else {
		all["contents"], err = keyValues(ctx, n.keys())
	}
	if err != nil {
		return nil, err
	}
	all["raw"], err = n.rawContents(ctx)
	return all, err
}

// ofSites reads the tables of all sites in a database.
func (n *testNode) ofSites(t *sqldb.Tx, database string) ([]row, error) {
	sites := []string{""} // SQLite has one table for all sites
	if n.config.Driver == sqldb.DriverMySQL {
		var err error
		if sites, err = t.SitesWith(database); err != nil {
			return nil, err
		}
	}
	all := []row{}
	for _, site := range sites {
		rows, err := rowsOf(t, n.database.SiteTable(database, site))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// readRows reads the rows of a query on a key-value file.
func readRows(ctx context.Context, d *sql.DB, query string) ([]row, error) {
	rows, err := d.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	all := []row{}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		r := row{}
		for i, name := range columns {
			r[name] = plainValue(values[i], "")
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// keyValues reads the processed contents in the key-value files of a folder.
func keyValues(ctx context.Context, folder string) ([]row, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil {
		return nil, err
	}
	all := []row{}
	for _, path := range paths {
		d, err := sqldb.OpenFile(path, sqldb.FileOptions{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		rows, err := readRows(ctx, d, "SELECT id, data, CDate FROM articles")
		d.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, r := range rows {
			r["Site_Id"] = strings.TrimSuffix(filepath.Base(path), ".db")
			all = append(all, r)
		}
	}
	return all, nil
}

// rawContents reads the raw contents in files and segments.
func (n *testNode) rawContents(ctx context.Context) ([]row, error) {
	type key struct{ site, md5 string }
	keys := map[key]bool{}
	err := n.files.Walk(func(site, md5 string) error {
		keys[key{site, md5}] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = n.database.View(ctx, func(t *sqldb.Tx) error {
		return t.Each("SELECT DISTINCT Site_Id, URLMd5 FROM "+n.database.Table(sqldb.Sites, "raw_records"), nil, func(scan func(...any) error) error {
			var k key
			err := scan(&k.site, &k.md5)
			keys[k] = true
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	all := []row{}
	for k := range keys {
		list, err := n.contents.List(ctx, k.site, k.md5)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			data, err := n.contents.Read(ctx, v)
			if err != nil {
				return nil, err
			}
			all = append(all, row{"path": fmt.Sprintf("%s/%s_%s.%d", v.Site, v.MD5, v.Name, v.Kind), "data": string(data)})
		}
	}
	return all, nil
}
