// Package status tells people and programs how the daemon is: over HTTP on
// loopback, and by a beat for a service manager. It asks AdminInterfaceServer for
// STAT of every manager, as any operator does, and owns no state beside what the
// last answers said.
//
//	/healthz  200 while every manager answers, else 503 with their names
//	/readyz   200 when the daemon does its work, else 503 with the reasons, as JSON
//	/metrics  every number of STAT, for Prometheus
//
//	s, err := status.Start(status.Config{Port: 5580, Bus: b, Endpoint: admin.Endpoint, Classes: names})
//	defer s.Stop()
//	s.Running()
//
// Only GET and HEAD are served. A manager that is stuck costs a request 2 s at
// most: one goroutine asks all managers at once, for all who wait, and has never
// more than one question under way to each.
//
// Neighbours: bus and dc below; daemon starts it before the managers and stops it
// after them.
package status
