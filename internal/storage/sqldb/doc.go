// Package sqldb opens the SQL database and runs schema steps, transactions and named
// statements on it.
//
// The specification spreads its tables over several MySQL databases, with one table for
// each site. On SQLite all tables are in one file, so that one transaction covers a site
// and its URLs; the name of a table starts with its database: "dc_sites.sites". One table
// holds the rows of all sites, "dc_urls.urls", because every process that opens the file
// reads the whole schema. Only [DB.Table] writes such names.
//
//	d, err := sqldb.Open(ctx, sqldb.Config{Path: "data/dc.db"})
//	defer d.Close()
//	err = d.Update(ctx, func(tx *sqldb.Tx) error {
//		_, err := tx.Do("site_suspend", now, bits, bits, items, "0")
//		return err
//	})
//
// One connection of the process writes, a few read. Several processes share the file by
// WAL, a busy timeout, and write transactions that take the lock at their start. The
// named statements are in sql/. Package sqlstore knows the meaning of the rows.
// Source: docs/spec/storage.md 1.
package sqldb
