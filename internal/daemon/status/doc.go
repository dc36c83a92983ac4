// Package status shows the state of the daemon: over HTTP on loopback, and as a heartbeat for a
// service manager. It requests STAT of every manager from AdminInterfaceServer, as an operator
// does, and keeps no state except the last answers.
//
//	/healthz  200 if every manager answers, else 503 with their names
//	/readyz   200 if the daemon can work, else 503 with the reasons, as JSON
//	/metrics  every number of STAT, for Prometheus
//
//	s, err := status.Start(status.Config{Port: 5580, Bus: b, Endpoint: admin.Endpoint, Classes: names})
//	defer s.Stop()
//	s.Running()
//
// Only GET and HEAD are served. A blocked manager delays a request by at most 2 s: one goroutine
// sends one round of requests for all waiting clients, and never two requests to one manager.
package status
