package jetstream

import (
	"fmt"
	"path/filepath"
	"slices"

	"hce/dc/internal/daemon/executor"
)

// mapStages maps the stages of the head to those that this node has configured. A stage of the head
// names a program by its base name and may add arguments of ServeConfig.Extra; everything else is
// refused, so that the head's key does not start arbitrary programs.
func (n *Node) mapStages(wanted []executor.Stage) ([]executor.Stage, error) {
	var list []executor.Stage
	for _, w := range wanted {
		own, ok := n.cfg.Programs[w.Program]
		if !ok || w.Program != filepath.Base(w.Program) || w.Dir != "" || len(w.Env) > 0 {
			return nil, fmt.Errorf("node %s has no program %.80q; it runs what its ini file names", n.cfg.Name, w.Program)
		}
		own.Args = slices.Clone(own.Args)
		for _, arg := range w.Args {
			if !slices.Contains(n.cfg.Extra, arg) {
				return nil, fmt.Errorf("node %s does not accept the argument %.80q of program %s from the head", n.cfg.Name, arg, w.Program)
			}
			if !slices.Contains(own.Args, arg) {
				own.Args = append(own.Args, arg)
			}
		}
		list = append(list, own)
	}
	return list, nil
}
