// Package mariadbtest starts a private MariaDB server for tests, with its own folder,
// socket, port on 127.0.0.1 and process. It reads no system configuration and never uses
// the system's server. It runs as root and as any other user.
//
//	func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }
//
//	s := mariadbtest.Start(t)
//	names := mariadbtest.Names(t) // "dc_sites": "t1_sites", ...
//	pool, err := sql.Open("mysql", s.DSN(""))
//
// The tests of one process share a server, which the first Start starts. A test that kills,
// stops or restarts the server must not run in parallel with others, or must start its own
// server with New.
//
// The server and its folder never outlive the test process: the system kills the server,
// and a shell that waits for the end of the process removes the folder. A test fails if
// MariaDB is missing; it is not skipped.
//
// The global time zone of the server is +03:00 and its SQL mode is empty, so that tests
// notice sessions without their own settings. [Settings] are those of the product.
package mariadbtest
