// Package daemon is what exists in a running dc-daemon and in which order it
// comes and goes: the lock on the data folder, the execution environment, the
// bus, then the managers, each ready before the next one starts. They stop in
// reverse order.
//
//	err := daemon.Run(ctx, daemon.Config{
//		DataDir: "/var/lib/dc",
//		Sites:   sites.Config{DBTask: executor.Stage{Program: "db-task"}},
//		Log:     log,
//	})
//
// Run returns when ctx is done, when an operator stops the daemon, when every
// manager has been stopped one by one, or when one fails; a failure is its
// error. Everything it started has ended then.
//
// Neighbours: admin, clients, sites, realtime and env below; cmd/dc-daemon
// fills the Config and owns the signals.
package daemon
