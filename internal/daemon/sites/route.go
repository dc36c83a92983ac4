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

// Route is where requests run: DRCERoute, the JSON {"role": n, "nodes": [names]}
// (docs/spec/daemon.md 5.1). It is made by ParseRoute.
type Route struct {
	text string
	to   executor.Target
}

// policies are the roles that choose one node.
var policies = map[int]executor.Policy{1: executor.RoundRobin, 4: executor.Random, 5: executor.LeastLoaded}

// Bounds of a route.
const (
	maxRoute    = 64 << 10 // bytes
	maxNodeName = 64
)

// ParseRoute reads a route. Role 0 is all nodes, or those that are named; 1, 4 and
// 5 choose one of all: in turn, at random, by load. A node that is named alone is
// the one. White space is the zero Route: all nodes.
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
		return Route{}, errors.New("has more behind its JSON object")
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

// target is where a task of the route runs.
func (r *Route) target() executor.Target {
	if len(r.to.Nodes) == 0 && r.to.Policy == "" {
		return executor.Target{All: true}
	}
	return r.to
}

// variable lets an operator change the route, as text or as JSON object.
func (r *Route) variable(name string) manager.Variable {
	return manager.Object(name, func() any { return r.text }, func(text string) error {
		route, err := ParseRoute(text)
		if err == nil {
			*r = route
		}
		return err
	})
}

// CheckPool refuses what is no DRCEConnectionsPool: a JSON object of
// "host:port:timeout" -> [event codes]. The pool has no effect: each request has a
// worker of its own, and none waits for a connection.
func CheckPool(text string) error {
	var pool map[string][]int
	if strings.TrimSpace(text) != "" && json.Unmarshal([]byte(text), &pool) != nil {
		return errors.New(`is not {"host:port:timeout": [event codes]}`)
	}
	return nil
}
