package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/wire/cluster"
)

// joinLimit is how long a node may take until the head lists it as ready.
const joinLimit = time.Minute

// Cluster is a head and its data nodes on this machine. Each is a process with a data folder of
// its own. Its Rig is the head, to which clients and operators talk.
//
//	c, err := rig.StartCluster(ctx, rig.Options{Bin: "bin", Ini: "ini", Data: dir, AllowLoopback: true}, "n1", "n2")
//	if err != nil { ... }
//	defer c.Close()
//	id, err := c.NewSite(ctx, rig.Site{Root: web.Root(), Filter: web.Filter()})
type Cluster struct {
	*Rig
	nodes map[string]*node
	env   []string // of the nodes
}

// node is one data node. Its links are empty without Options.Relays.
type node struct {
	*program
	name, data string
	adminPort  int
	release    func() // of the port
	links      Link
}

// StartCluster starts a head, which runs a NATS server or uses those of the options, and nodes in
// folders of Options.Data with their names, and waits until they are ready. On an error nothing
// keeps running.
func StartCluster(ctx context.Context, o Options, names ...string) (*Cluster, error) {
	data, env := o.Data, o.Env
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	o.Data = filepath.Join(data, "head")
	if len(o.Brokers) > 0 {
		o.Env = append(slices.Clone(o.Env), "DC_Cluster_engine=nats", "DC_Cluster_urls="+strings.Join(o.Brokers, ","))
	} else {
		o.Env = append(slices.Clone(o.Env), "DC_Cluster_engine=embedded", "DC_Cluster_listen=127.0.0.1:"+strconv.Itoa(ports[0]))
	}
	head, err := Start(ctx, o)
	if err != nil {
		release()
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	free := head.release
	head.release = func() { free(); release() }
	c := &Cluster{Rig: head, nodes: map[string]*node{}, env: env}
	for _, name := range names {
		if err := c.AddNode(ctx, name, filepath.Join(data, name)); err != nil {
			c.Close()
			return nil, fmt.Errorf("start cluster: %w", err)
		}
	}
	return c, nil
}

// AddNode makes the join file of a node, starts the node, and waits until it is ready.
func (c *Cluster) AddNode(ctx context.Context, name, data string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	join := filepath.Join(data, "node.join")
	if _, err := c.nodeCommand(ctx, "add", name, "--out", join); err != nil {
		return fmt.Errorf("add node %s: %w%s", name, err, c.lastWords())
	}
	if c.options.NewKey != nil {
		if err := c.options.NewKey(); err != nil {
			return fmt.Errorf("add node %s: %w", name, err)
		}
	}
	var links Link
	if c.options.Relays {
		var err error
		if links, err = startRelays(join); err != nil {
			return fmt.Errorf("add node %s: %w", name, err)
		}
	}
	if err := c.addFolder(name, data, links); err != nil {
		return err
	}
	return c.StartNode(ctx, name)
}

// addFolder makes a data folder with a join file one of a node, which LaunchNode starts.
func (c *Cluster) addFolder(name, data string, links Link) error {
	headers := "User-Agent: Mozilla/5.0 (compatible; HCE-DC/3.0)\n" + NodeHeader + ": " + name + "\n"
	if err := os.WriteFile(filepath.Join(data, "headers.txt"), []byte(headers), 0o600); err != nil {
		return err
	}
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		return err
	}
	c.nodes[name] = &node{name: name, data: data, adminPort: ports[0], release: release, links: links}
	return nil
}

// CopyNode copies the data folder of a node, with its join file, to the folder "as" next to it. LaunchNode(as) starts
// a process there. The node may run: files that disappear meanwhile are not copied.
func (c *Cluster) CopyNode(name, as string) error {
	data := filepath.Join(c.options.Data, "..", as)
	if err := copyFolder(c.nodes[name].data, data); err != nil {
		return fmt.Errorf("copy node %s: %w", name, err)
	}
	return c.addFolder(as, data, Link{})
}

// copyFolder copies files and folders, without those that disappear meanwhile.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(from, path) // path begins with from
		target := filepath.Join(to, relative)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = os.WriteFile(target, text, 0o600)
		}
		return err
	})
}

// EndOfNode waits until the process of a node has ended, and returns its exit status.
func (c *Cluster) EndOfNode(ctx context.Context, name string) (int, error) {
	select {
	case <-c.nodes[name].ended:
		return c.nodes[name].cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("node %s still runs: %w", name, ctx.Err())
	}
}

// AwaitNode waits until the head lists a node as ready.
func (c *Cluster) AwaitNode(ctx context.Context, name string) error {
	return c.awaitNode(ctx, c.nodes[name])
}

// StartNode starts a node that was added and does not run, and waits until it is ready.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	if err := c.LaunchNode(name); err != nil {
		return err
	}
	return c.awaitNode(ctx, c.nodes[name])
}

// LaunchNode is StartNode without the wait.
func (c *Cluster) LaunchNode(name string) (err error) {
	n := c.nodes[name]
	n.program, err = startProgram(c.options.Bin, "dc-node", c.NodeOutput(name), c.NodeEnv(name),
		"-c", filepath.Join(c.options.Ini, "dc-node.ini"), "--join", filepath.Join(n.data, "node.join"))
	return err
}

// NodeEnv is the environment of a node and its tasks.
func (c *Cluster) NodeEnv(name string) []string {
	n := c.nodes[name]
	env := append(append(c.Env(), c.env...),
		"DC_Application_data_dir="+n.data,
		"DC_AdminInterfaceServer_serverPort="+strconv.Itoa(n.adminPort),
		"DC_StatusServer_StatusPort=0",
		"DC_Application_DRCENodes=1", // is for the head
		"DC_CrawlerTask_headers_file="+filepath.Join(n.data, "headers.txt"),
	)
	if c.options.NodeEnv != nil {
		env = append(env, c.options.NodeEnv(name)...)
	}
	return env
}

// awaitNode waits until the head lists a node as ready.
func (c *Cluster) awaitNode(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	began := time.Now()
	for {
		states, err := c.Nodes(ctx)
		// What the head shows may be from before a kill.
		if s := states[n.name]; err == nil && s.State == "ready" && s.Seen.After(began) {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("dc-node %s ended: %w%s", n.name, n.endError(), n.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("node %s is not ready: %v %v%s%s", n.name, states, err, n.lastWords(), c.lastWords())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// NodeState is what the head knows about a node.
type NodeState struct {
	State string    // ready, draining, catching-up, closing, silent or added
	Seen  time.Time // the last sign of life; zero: none
}

// Nodes returns the states of the known nodes by name.
func (c *Cluster) Nodes(ctx context.Context) (map[string]NodeState, error) {
	out, err := c.nodeCommand(ctx, "ls", "--json")
	if err != nil {
		return nil, err
	}
	var list []cluster.Node
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read list of nodes: %w", err)
	}
	states := map[string]NodeState{}
	for _, n := range list {
		one := NodeState{State: n.State}
		if n.Seen != "" {
			if one.Seen, err = time.Parse(time.DateTime, n.Seen); err != nil {
				return nil, fmt.Errorf("read list of nodes: %w", err)
			}
		}
		states[n.Name] = one
	}
	return states, nil
}

// nodeCommand runs dc-admin node.
func (c *Cluster) nodeCommand(ctx context.Context, args ...string) ([]byte, error) {
	return c.runWith(ctx, "dc-admin", append(append([]string{"node"}, args...), "--config", c.iniOf("dc-admin")))
}

// RemoveNode makes a node leave: its hosts move to the others. AwaitGone waits until they have.
func (c *Cluster) RemoveNode(ctx context.Context, name string) error {
	_, err := c.nodeCommand(ctx, "remove", name)
	return err
}

// LoseNode gives up a node that was killed, as soon as the head finds it silent.
func (c *Cluster) LoseNode(ctx context.Context, name string) error {
	err := c.awaitStates(ctx, "node "+name+" is not silent", func(states map[string]NodeState) bool { return states[name].State == "silent" })
	if err == nil {
		_, err = c.nodeCommand(ctx, "lost", name)
	}
	return err
}

// AwaitGone waits until the head does not list a node any more, and ends its process.
func (c *Cluster) AwaitGone(ctx context.Context, name string) error {
	err := c.awaitStates(ctx, "node "+name+" is still there", func(states map[string]NodeState) bool {
		_, listed := states[name]
		return !listed
	})
	if err == nil {
		c.nodes[name].stopProgram()
	}
	return err
}

// awaitStates waits until the states of the nodes are as wanted. The error has fault.
func (c *Cluster) awaitStates(ctx context.Context, fault string, wanted func(map[string]NodeState) bool) error {
	for {
		states, err := c.Nodes(ctx)
		if err == nil && wanted(states) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %v: %w", fault, states, errors.Join(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// PIDs are the process ids of the head and the running nodes.
func (c *Cluster) PIDs() []int {
	pids := []int{c.PID()}
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if n := c.nodes[name]; n.program != nil {
			pids = append(pids, n.PID())
		}
	}
	return pids
}

// KillNode ends a node and its children with SIGKILL.
func (c *Cluster) KillNode(name string) { c.nodes[name].Kill() }

// RestartHead kills the head and starts it again.
func (c *Cluster) RestartHead(ctx context.Context) error {
	c.Kill()
	return c.Rig.startAndAwait(ctx)
}

// StopNode ends a node with SIGTERM, or after a while with SIGKILL.
func (c *Cluster) StopNode(name string) { c.nodes[name].stopProgram() }

// NodePID is the process id of a node.
func (c *Cluster) NodePID(name string) int { return c.nodes[name].PID() }

// Link is the link of a node to the brokers.
func (c *Cluster) Link(name string) Link { return c.nodes[name].links }

// NodeOutput is the file with what a node wrote. It is not in the folder of the node, whose disk may
// be full.
func (c *Cluster) NodeOutput(name string) string {
	return filepath.Join(c.options.Data, "node-"+name+".out")
}

// NodeData is the data folder of a node.
func (c *Cluster) NodeData(name string) string { return c.nodes[name].data }

// Output is the file with what the head wrote.
func (c *Cluster) Output() string { return c.talk }

// Close ends all nodes and the head.
func (c *Cluster) Close() {
	for _, n := range c.nodes {
		if n.program != nil {
			n.stopProgram()
		}
		n.release()
		n.links.close()
	}
	c.Rig.Close()
}
