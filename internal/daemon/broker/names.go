package broker

import (
	"fmt"
	"regexp"
	"strings"
)

// Head is the name of the head. No node may have it.
const Head = "head"

// Streams, tables and object buckets of a cluster.
const (
	StreamJournal = "JOURNAL"
	StreamTasks   = "TASKS"
	StreamLinks   = "LINKS"
	streamLarge   = "LARGE"

	TableNodes   = "nodes"
	TableCluster = "cluster"
	TableTasks   = "tasks"
	TableQuota   = "quota"
)

// TaskTypes are the types of tasks that any node may take: consumers any-TYPE of the stream TASKS.
var TaskTypes = []string{"control", "crawl", "db", "process", "realtime", "recrawl"}

// usableName matches names of nodes: one token of a subject, and a file name.
var usableName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,62}$`)

// CheckName returns an error if name cannot be the name of a node.
func CheckName(name string) error {
	if !usableName.MatchString(name) || strings.EqualFold(name, Head) {
		return fmt.Errorf("the node name %.80q is not 1 to 63 letters, digits, '_' or '-' that begin with a letter or digit, or is %q", name, Head)
	}
	return nil
}

// NodeSubject is the subject of requests to one node, for example ("alpha", "stat").
func NodeSubject(node, what string) string { return "dc.node." + node + "." + what }

// HeadSubject is the subject of requests of one node to the head. The head serves
// HeadSubject("*", what) and finds the node in Message.Subject.
func HeadSubject(node, what string) string { return "dc.head." + node + "." + what }

// NodeDurable is the name of the consumer of one node, in each of the streams.
func NodeDurable(node string) string { return "node-" + node }

// MovesDurable is the name of the consumer of one node for hosts that move to it, in StreamLinks.
func MovesDurable(node string) string { return "moves-" + node }

// AnyDurable is the name of the consumer that all nodes share for tasks of a type.
func AnyDurable(taskType string) string { return "any-" + taskType }
