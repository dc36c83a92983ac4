package sites

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
)

// Route selects the nodes that run requests: DRCERoute, the JSON {"role": n, "nodes": [names]}
// (docs/spec/daemon.md 5.1). Create it with ParseRoute; the zero value is all nodes.
type Route struct {
	text string
	to   executor.Target
}

// policies are the roles that select one node.
var policies = map[int]executor.Policy{1: executor.RoundRobin, 4: executor.Random, 5: executor.LeastLoaded}

// Limits of a route.
const (
	maxRoute    = 64 << 10 // bytes
	maxNodeName = 64
)

// ParseRoute parses a route. Role 0 means all nodes, or the named ones. Roles 1, 4 and 5 select
// one of all nodes: in turn, at random, by load; with one named node, that node. White space
// gives the zero Route.
func ParseRoute(text string) (Route, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Route{}, nil
	}
	var r struct {
		Role  int      `json:"role"`
		Nodes []string `json:"nodes"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if len(text) > maxRoute || text[0] != '{' || d.Decode(&r) != nil {
		return Route{}, errors.New(`is not {"role": 0, 1, 4 or 5, "nodes": [names]}`)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Route{}, errors.New("has more text after its JSON object")
	}
	for _, name := range r.Nodes {
		if name == "" || len(name) > maxNodeName {
			return Route{}, fmt.Errorf("has a node's name that is not 1 to %d bytes long", maxNodeName)
		}
	}
	policy, one := policies[r.Role]
	switch {
	case r.Role != 0 && !one:
		return Route{}, fmt.Errorf("has role %d, must be 0 (all), 1 (in turn), 4 (random) or 5 (by load)", r.Role)
	case len(r.Nodes) > 0 && one && len(r.Nodes) > 1:
		return Route{}, fmt.Errorf("has role %d, which chooses among all nodes, and names %d", r.Role, len(r.Nodes))
	case len(r.Nodes) > 0:
		return Route{text, executor.Target{Nodes: r.Nodes}}, nil
	case one:
		return Route{text, executor.Target{Policy: policy}}, nil
	}
	return Route{text: text}, nil
}

// taskTarget returns the target of the route's tasks.
func (r *Route) taskTarget() executor.Target {
	if len(r.to.Nodes) == 0 && r.to.Policy == "" {
		return executor.Target{All: true}
	}
	return r.to
}

// routeVariable returns the route as a variable. SET accepts text or a JSON object.
func (r *Route) routeVariable(name string) manager.Variable {
	return manager.Object(name, func() any { return r.text }, func(text string) error {
		route, err := ParseRoute(text)
		if err == nil {
			*r = route
		}
		return err
	})
}
