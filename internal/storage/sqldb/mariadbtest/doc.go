// Package mariadbtest starts a private MariaDB for tests: a folder, a socket, a
// port on 127.0.0.1 and a process of its own. It reads no configuration of the
// system and never meets the system's server. Root and any other user may run it.
//
//	func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }
//
//	s := mariadbtest.Start(t)
//	names := mariadbtest.Names(t) // "dc_sites": "t1_sites", ...
//	pool, err := sql.Open("mysql", s.DSN(""))
//
// The tests of one process share a server, which starts with the first Start. A
// test that lets the database go away (Kill, Stop, Restart) must not run beside
// others, or takes a server of its own with New.
//
// Nothing outlives the test process, however it ends: the system kills the
// server with it, and a shell that waits for its end removes the folder. Without
// Debian's mariadb-server-core a test fails; it is not skipped.
//
// Two settings of the server differ from what sessions need, so that a session
// that forgets its own is noticed: the time zone is +03:00 and the SQL mode is
// empty. [Settings] are those of the product.
//
// Neighbours: the tests of the packages that read SQL. The package knows no
// table, and package sqldb does not know it.
package mariadbtest
