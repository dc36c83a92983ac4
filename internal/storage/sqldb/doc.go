// Package sqldb opens the SQL database the right way: one file for all the
// specification's databases, schema steps, transactions, named statements.
//
// The specification spreads its tables over several MySQL databases, with a table
// for each site. On SQLite they live in one file, so that one transaction holds a
// site and its URLs; a table's name keeps its database in front: "dc_sites.sites".
// The rows of all sites stand in one table, "dc_urls.urls": SQLite's schema is
// read whole by each process that opens it, and must not grow with the sites.
// [DB.Table] alone writes such names.
//
//	d, err := sqldb.Open(ctx, sqldb.Config{Path: "data/dc.db"})
//	defer d.Close()
//	err = d.Update(ctx, func(tx *sqldb.Tx) error {
//		_, err := tx.Do("site_suspend", now, bits, bits, items, "0")
//		return err
//	})
//
// One connection of the process writes, a few read; several processes share the
// file (WAL, a busy time-out, write transactions that begin with the lock).
// Texts live in sql/, found by name. What the rows mean is package sqlstore's.
package sqldb
