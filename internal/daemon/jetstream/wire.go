package jetstream

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// inline is how many bytes of input, or of output, a message carries. Base64 adds a third, and the
// limit of a message is broker.MaxPayload.
const inline = 512 << 10

// record is the head's key of a submitted task. Only the head writes it.
type record struct {
	Task   executor.Task // without Stdin
	Gen    int64         // differs after Delete and another Submit of the id
	Parts  int           // of the input, in the keys partKey
	Queued time.Time
	End    *executor.Status `json:",omitempty"` // if the head ended the task
}

// outcome is a node's key of a task that it runs or ran. Only this node writes it.
type outcome struct {
	Gen     int64
	Attempt int
	Status  executor.Status
	output
	Ref string `json:",omitempty"` // of an object with a larger output
}

// output is what a task wrote.
type output struct {
	Stdout []byte `json:",omitempty"`
	Stderr []byte `json:",omitempty"`
}

// order is a task on its way to a node.
type order struct {
	Key     string          // of its input and its lease
	Task    executor.Task   // without Stdin; programs by base name
	Stdin   json.RawMessage `json:",omitempty"` // if it is small
	Parts   int             `json:",omitempty"` // otherwise
	Left    time.Duration   `json:",omitempty"` // until the deadline of the caller; 0: none
	Gen     int64           `json:",omitempty"`
	Attempt int             `json:",omitempty"`
}

// notice is a message in the stream TASKS: a task waits.
type notice struct {
	ID, Type string
	Gen      int64
	Parts    int
	Start    executor.Conditions
}

// answer is a node's reply to an order.
type answer struct {
	Result *executor.Result `json:",omitempty"` // its output is in Ref if that is set
	Ref    string           `json:",omitempty"`
	Error  string           `json:",omitempty"` // the task did not start
}

// stopping tells a node to stop a task.
type stopping struct {
	Key    string
	Gen    int64
	Grace  time.Duration // 0: the node's default
	Reason string
}

// question is a request of a node to the head about a task.
type question struct {
	ID        string // or the Key of an order
	Gen       int64
	Attempt   int           `json:",omitempty"`
	Part      int           `json:",omitempty"`
	Reason    string        `json:",omitempty"`
	Pause     time.Duration `json:",omitempty"`
	Measuring bool          `json:",omitempty"`
	Result    *answer       `json:",omitempty"`
}

// Questions, as the last token of their subjects.
const (
	askStart = "start" // may I run it? reply with Do and Order
	askWait  = "wait"  // its start conditions fail here; reply with Do
	askLease = "lease" // I still run it; reply with Do "run", or "drop" and how to stop
	askBack  = "back"  // I closed while it ran; reply with Do
	askInput = "input" // part of its input; the reply is the bytes
	askDone  = "done"  // I ran a task of the journal
)

// decision is the head's reply.
type decision struct {
	Do    string
	Order *order    `json:",omitempty"`
	Stop  *stopping `json:",omitempty"`
}

// What a node does with a task.
const (
	doRun   = "run"
	doDrop  = "drop"  // acknowledge the message and forget it
	doLater = "later" // give the message back
)

func taskKey(id string) string            { return broker.Head + "." + id }
func nodeKey(node, id string) string      { return node + "." + id }
func partKey(key string, part int) string { return broker.Head + "." + key + "." + strconv.Itoa(part) }
func partsOf(size int) int                { return max(1, (size+inline-1)/inline) }
func partOf(data []byte, part int) []byte {
	return data[min(part*inline, len(data)):min((part+1)*inline, len(data))]
}
func encodeJSON(v any) []byte           { b, _ := json.Marshal(v); return b } // the types above have no error
func outputSize(r *executor.Result) int { return len(r.Stdout) + len(r.Stderr) }
func laneOf(taskType string) string {
	if slices.Contains(broker.TaskTypes, taskType) {
		return taskType
	}
	return otherTypes
}

// otherTypes is the lane of the task types that have none of their own.
const otherTypes = "control"

// subjectOf is where the notice of a task is published.
func subjectOf(t *executor.Task) string {
	if len(t.Target.Nodes) > 0 {
		return "tasks.node." + t.Target.Nodes[0] + ".task"
	}
	return "tasks.any." + laneOf(t.Type)
}

// onWire returns t without its input, with programs by base name and without ini files: a node has its
// own configuration of each program.
func onWire(t executor.Task) executor.Task {
	t.Stages = slices.Clone(t.Stages)
	for i, s := range t.Stages {
		t.Stages[i] = executor.Stage{Program: filepath.Base(s.Program), Args: withoutIni(s.Args)}
	}
	t.Stdin = nil
	return t
}

// withoutIni returns the arguments without the ini file of the head: a node has its own.
func withoutIni(args []string) (list []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" || args[i] == "--config" {
			i++ // and its value
			continue
		}
		list = append(list, args[i])
	}
	return list
}

// orDefault returns d, or otherwise if d is 0.
func orDefault(d, otherwise time.Duration) time.Duration { return cmp.Or(d, otherwise) }
