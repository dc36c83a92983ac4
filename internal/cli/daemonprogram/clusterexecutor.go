package daemonprogram

import (
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/head"
	"hce/dc/internal/daemon/jetstream"
)

// clusterExecutor opens the executor of a cluster.
func clusterExecutor(conn *broker.Conn, known func() []string, silence time.Duration) (head.Executor, error) {
	return jetstream.New(conn, jetstream.Config{Known: known, Silence: silence})
}
