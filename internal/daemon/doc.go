// Package daemon starts and stops the parts of dc-daemon: the lock of the data folder, the
// executor, the bus, the status server, then the managers, each after the one before it is
// ready. They stop in reverse order.
//
//	err := daemon.Run(ctx, daemon.Config{
//		DataDir: "/var/lib/dc",
//		Sites:   sites.Config{DBTask: executor.Stage{Program: "db-task"}},
//		Log:     log,
//	})
//
// The group internal/daemon holds what runs in the daemon's process:
//
//	manager                    the loop that every manager is built on
//	admin  gateway             the managers that serve operators and clients on TCP
//	sites  batches  realtime   the managers of the work
//	executor  load             runs task programs within the limits of the machine
//	broker  jetstream          messages, streams and tables of a cluster; tasks on its nodes
//	head  node                 the managers of the head of a cluster, and of a data node
//	bus  curvekeys             messages between managers and machines, and their keys
//	status                     HTTP: health, readiness, metrics
//	simulation                 a test of all managers over a simulated week
//
// Read a batch in this order: gateway, sites, batches, executor. Nothing here opens a database,
// fetches a page or parses content: that happens in the task programs (storage, crawl, process).
// A manager has no mutex and never blocks: all its state belongs to its loop. A new operation
// of a client needs a handler in one manager; a new schedule needs an Every timer and its own
// task type, so that it takes no slots of other schedules.
package daemon
