package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// ClusterClass is the manager of the nodes of a cluster.
const ClusterClass = "Cluster"

// Cluster sends one command about the nodes of a cluster. exit is an exit status of package
// command; err says what went wrong, in words for the user.
func (s Server) Cluster(ctx context.Context, c cluster.Command) (answer cluster.Answer, exit int, err error) {
	b, err := bus.New()
	if err != nil {
		return answer, command.ExitFailed, err
	}
	defer b.Term(0)
	c.ClassName = ClusterClass
	e, err := s.sendAndWait(ctx, b, adminEvent(wire.AdminCluster, c))
	if err != nil {
		exit = command.ExitFailed
		if ctx.Err() != nil {
			exit = command.ExitInterrupted
		}
		return answer, exit, errors.New(s.explainExchange(err))
	}
	if e.Type != wire.AdminClusterAns {
		var refusal wire.AdminCommand
		if json.Unmarshal(e.Object, &refusal) == nil && refusal.Message != "" {
			return answer, command.ExitErrors, errors.New(refusal.Message)
		}
		return answer, command.ExitErrors, fmt.Errorf("unexpected answer type %d", e.Type)
	}
	if err := json.Unmarshal(e.Object, &answer); err != nil {
		return answer, command.ExitErrors, fmt.Errorf("invalid answer: %w", err)
	}
	return answer, command.ExitDone, nil
}

// IsSilent reports whether a node that owns hosts, or may get batches, gives no sign of life.
func IsSilent(n cluster.Node) bool { return n.Member && n.State == "silent" }

// Silent returns the names of silent nodes.
func Silent(nodes []cluster.Node) (names []string) {
	for _, n := range nodes {
		if IsSilent(n) {
			names = append(names, n.Name)
		}
	}
	return names
}
