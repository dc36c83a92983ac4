package daemon

import (
	"path/filepath"
	"slices"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/node"
)

// placementKey overrides the key placement of [TasksManager] in db-task.ini, for all task programs.
const placementKey = "DC_TasksManager_placement="

// movesKey does so for the key moves.
const movesKey = "DC_TasksManager_moves="

// asNode completes the configuration of a data node: its agent comes last, task programs know the
// placement, and the batch managers wait for the agent. Without a placement (placement = propagate
// of the head) the head's batch managers submit the batches, and this node has none.
func (c *Config) asNode() {
	n := *c.Node
	c.Node = &n
	c.Executor.NodeName = n.Join.Name
	c.Executor.Abandon = node.OwnTasks // they request pages, which needs a lease
	if len(c.Sequence) == 0 {
		c.Sequence = DefaultSequence
	}
	c.Sequence = slices.DeleteFunc(slices.Clone(c.Sequence), func(name string) bool {
		own := name == batches.CrawlName || name == batches.ProcessName
		if own && n.Placement != "" {
			n.Held = append(n.Held, name)
		}
		return name == node.Name || own && n.Placement == ""
	})
	c.Sequence = append(c.Sequence, node.Name)
	n.Programs = map[string]executor.Stage{}
	for _, stage := range []*executor.Stage{&c.Sites.DBTask, &c.Crawl.DBTask, &c.Crawl.Crawler, &c.Process.Processor} {
		if n.Placement != "" {
			stage.Env = append(slices.Clone(stage.Env), placementKey+n.Placement, movesKey+n.Moves)
		}
		n.Programs[filepath.Base(stage.Program)] = *stage
	}
	n.DBTask, n.Crawler = c.Sites.DBTask, c.Crawl.Crawler
	n.Programs[filepath.Base(n.DBTask.Program)] = n.DBTask
}
