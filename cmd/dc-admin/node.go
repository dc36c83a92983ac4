package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/files"
	"hce/dc/internal/wire/cluster"
)

const nodeExit = `0 done; 1 the daemon refused the command, or is no head of a cluster; 2 wrong options or ini
file; 3 the daemon cannot be reached, or the join file cannot be written; 4 interrupted.`

// nodeRequest is the options of dc-admin node.
type nodeRequest struct {
	config, out string
	names       []string
	json, wait  bool
}

// nodeCommand is the sub-command node with its own sub-commands.
func nodeCommand(ctx context.Context) *command.Command {
	c := command.New(command.Text{
		Name: "node", Summary: "lists, adds and removes the nodes of a cluster", UsageError: command.ExitRefused,
		Description: `These commands are for the head of a cluster: a dc-daemon with engine = embedded or nats in
the section [Cluster] of its ini file.`,
		Examples: `  dc-admin node add n1 --out n1.join
  dc-admin node ls
  dc-admin node drain n1
  dc-admin node remove n1
  dc-admin node lost n2
  dc-admin node accept n1`,
		ExitStatus: nodeExit,
	}, nil)
	for _, sub := range []nodeSub{nodeList, nodeAdd, nodeDrain, nodeUndrain, nodeRemove, nodeLost, nodeAccept} {
		c.Add(sub.newCommand(ctx))
	}
	return c
}

// nodeSub is one command about nodes.
type nodeSub struct {
	text  command.Text
	named bool // it needs the name of a node
	add   func(c *command.Command, r *nodeRequest)
	run   func(ctx context.Context, s client.Server, r *nodeRequest) (exit int, err error)
}

func (n nodeSub) newCommand(ctx context.Context) *command.Command {
	r := &nodeRequest{}
	n.text.UsageError, n.text.ExitStatus = command.ExitRefused, nodeExit
	c := command.New(n.text, func() int {
		exit, err := n.runRequest(ctx, r)
		if err != nil {
			printError("dc-admin node "+n.text.Name, err)
		}
		return exit
	})
	c.Config(&r.config, text.Name)
	c.Flag(&r.json, "json", "", "print JSON")
	if n.named {
		c.Words(&r.names, "NAME", 1, 1)
	}
	if n.add != nil {
		n.add(c, r)
	}
	return c
}

func (n nodeSub) runRequest(ctx context.Context, r *nodeRequest) (exit int, err error) {
	i, err := client.ReadInstallation(r.config)
	if err != nil {
		return command.ExitRefused, err
	}
	return n.run(ctx, i.Admin, r)
}

var nodeList = nodeSub{
	text: command.Text{
		Name: "ls", Summary: "lists the nodes of a cluster",
		Description: `STATE is added (it has a key and was never here), ready, draining, catching-up (it applies
changes that it missed), closing or silent. LAG is the number of changes that the node has not
applied yet. MEMBER no: the node owns no hosts. Lines below the table say why, and how far the hosts of
a node that joins or leaves have moved. They also name processes that had the identity of a node within
the last hour and were refused: a copied machine or data folder, or an old service that is still enabled.`,
		Examples: "  dc-admin node ls\n  dc-admin node ls --json",
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		answer, exit, err := s.Cluster(ctx, cluster.Command{Command: cluster.List})
		if err != nil {
			return exit, err
		}
		if r.json {
			if answer.Nodes == nil {
				answer.Nodes = []cluster.Node{}
			}
			return exit, printJSON(answer.Nodes)
		}
		return exit, printNodes(answer.Nodes)
	},
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printNodes(list []cluster.Node) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tADDRESS\tSTATE\tMEMBER\tLOAD\tBUSY\tLAG\tSEEN\tVERSION")
	known := func(n float64, form string) string {
		if n < 0 {
			return "-"
		}
		return fmt.Sprintf(form, n)
	}
	for _, n := range list {
		member := "yes"
		if !n.Member {
			member = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\t%s\n", n.Name, dashIfEmpty(n.Address), n.State, member,
			known(n.Load, "%.2f"), n.Busy, n.Slots, known(float64(n.Lag), "%.0f"), dashIfEmpty(n.Seen), dashIfEmpty(n.Version))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range list {
		if n.Reason != "" {
			fmt.Printf("%s: %s\n", n.Name, n.Reason)
		}
		for _, r := range n.Refused {
			fmt.Printf("%s: refused a second process, last at %s UTC: %s\n", n.Name, r.Seen, r.Reason)
		}
	}
	return nil
}

func dashIfEmpty(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

var nodeAdd = nodeSub{
	named: true,
	text: command.Text{
		Name: "add", Summary: "creates the join file of a new node",
		Description: `The join file has the addresses of the broker, its certificate, and the secret key of the
node: with it, anybody can act as this node. Copy it to the node, then run there
"dc-node --join FILE". The file is readable by its owner only (0600). The key is not stored by the
head: if the file is lost, remove the node and add it again.

A new node takes hosts of the others: with their pages, and while the crawl goes on.`,
		Examples: "  dc-admin node add n1 --out n1.join",
	},
	add: func(c *command.Command, r *nodeRequest) {
		c.Text(&r.out, "out", "o", "FILE", "join file to write; default NAME.join in the current folder")
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		name, path := r.names[0], r.out
		if path == "" {
			path = name + ".join"
		}
		if _, err := os.Lstat(path); err == nil {
			return command.ExitRefused, fmt.Errorf("%s exists; choose another file with --out", path)
		}
		if err := files.CheckOutput(path); err != nil {
			return command.ExitRefused, fmt.Errorf("%w; choose another file with --out", err)
		}
		answer, exit, err := s.Cluster(ctx, cluster.Command{Command: cluster.Add, Node: name})
		if err != nil {
			return exit, err
		}
		if len(answer.Join) == 0 {
			return command.ExitErrors, errors.New("the daemon sent no join file")
		}
		if err := files.Write(path, append(answer.Join, '\n'), 0o600); err != nil {
			return command.ExitFailed, fmt.Errorf("write the join file: %w; remove the node before you add it again", err)
		}
		if r.json {
			return exit, printJSON(map[string]string{"name": name, "join": path})
		}
		fmt.Printf("%s\nCopy it to the node and run there: dc-node --join %s\n", path, path)
		return exit, nil
	},
}

var nodeDrain = nodeSub{
	named: true,
	text: command.Text{
		Name: "drain", Summary: "stops the crawling of a node",
		Description: `The node starts no new work, finishes what runs and sends its links. It still answers
requests about its pages, and keeps draining over a restart until "dc-admin node undrain". The state
is draining, then drained: with --wait the command returns then.`,
		Examples: "  dc-admin node drain n1 --wait",
	},
	add: func(c *command.Command, r *nodeRequest) {
		c.Flag(&r.wait, "wait", "", "return when the node is drained")
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		for r.wait {
			answer, exit, err := s.Cluster(ctx, cluster.Command{Command: cluster.Drain, Node: r.names[0]})
			if err != nil {
				return exit, err
			}
			r.wait = answer.State != "drained"
			select {
			case <-ctx.Done():
				return command.ExitInterrupted, errors.New("interrupted; the node goes on draining")
			case <-time.After(drainLook):
			}
		}
		return r.printNodeState(ctx, s, cluster.Drain, nil)
	},
}

// drainLook is the time between two looks at a node that drains.
const drainLook = 500 * time.Millisecond

var nodeUndrain = nodeSub{
	named: true,
	text: command.Text{
		Name: "undrain", Summary: "lets a drained node work again",
		Examples: "  dc-admin node undrain n1",
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		return r.printNodeState(ctx, s, cluster.Undrain, nil)
	},
}

var nodeRemove = nodeSub{
	named: true,
	text: command.Text{
		Name: "remove", Summary: "moves the hosts of a node to the others, and revokes its key",
		Description: `A node that owns hosts is leaving until they have moved, with their pages, to the other
nodes: it must run. The crawl goes on meanwhile. "dc-admin node ls" shows the progress, and no longer
lists the node when it has left. Then stop it. Its name cannot be used again.

A node without hosts is removed at once: it is disconnected and cannot connect again.`,
		Examples: "  dc-admin node remove n1",
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		return r.printNodeState(ctx, s, cluster.Remove, map[string]string{
			"leaving": "its hosts move to the other nodes; \"dc-admin node ls\" shows the progress",
		})
	},
}

var nodeLost = nodeSub{
	named: true,
	text: command.Text{
		Name: "lost", Summary: "gives up a node that is dead for good",
		Description: `The pages, contents and counters of the hosts of the node are lost. The other nodes own these
hosts from now on and crawl them from the beginning: from the root URLs of the sites, and from links that wait
for them or that they find from now on. Links on pages that were crawled before count when such a page is
crawled again; "hce site recrawl" does that for a site.

The node must be silent. Its key is revoked, and its name cannot be used again. If its disk can be
saved, start the node with it instead.`,
		Examples: "  dc-admin node lost n2",
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		return r.printNodeState(ctx, s, cluster.Lost, map[string]string{
			"lost": "its pages are gone; its hosts begin again on the other nodes, from the roots of the sites",
		})
	},
}

var nodeAccept = nodeSub{
	named: true,
	text: command.Text{
		Name: "accept", Summary: "lets another data folder be a node",
		Description: `A node is one data folder, and one process in it. A folder that moves to another machine takes
the node with it, and an older copy of it is refused. This command accepts the next folder that asks with
the key of the node, once: a backup from before the folder moved, or one whose file node.identity is lost.
Changes that the node made since that backup are lost. While the process that is the node lives, no other
one is accepted.`,
		Examples: "  dc-admin node accept n1",
	},
	run: func(ctx context.Context, s client.Server, r *nodeRequest) (int, error) {
		return r.printNodeState(ctx, s, cluster.Accept, map[string]string{"accepted": "start dc-node with the folder that should be the node"})
	},
}

// printNodeState runs a command about a node and prints its state, with what that means.
func (r *nodeRequest) printNodeState(ctx context.Context, s client.Server, name string, meanings map[string]string) (exit int, err error) {
	what := cluster.Command{Command: name, Node: r.names[0]}
	answer, exit, err := s.Cluster(ctx, what)
	switch {
	case err != nil:
	case r.json:
		err = printJSON(map[string]string{"name": what.Node, "state": answer.State})
	case meanings[answer.State] == "":
		fmt.Printf("%s: %s\n", what.Node, answer.State)
	default:
		fmt.Printf("%s: %s: %s\n", what.Node, answer.State, meanings[answer.State])
	}
	return exit, err
}
