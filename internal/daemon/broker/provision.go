package broker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ProvisionConfig says what the broker must have.
type ProvisionConfig struct {
	Nodes    []string
	Replicas int           // copies of each stream; default 1; 3 for an external cluster of three
	MaxStore int64         // bytes for all streams; default 8 GiB; not above that of the server
	AckWait  time.Duration // of all consumers; default DefaultAckWait
	Any      int           // unfinished tasks of a shared consumer; default 1024
	Own      int           // unfinished tasks of a node's own consumer; default 256

	// Links is how many unfinished messages of links a node may take; default 256: a round of all others.
	Links int
}

const (
	// journalWait is the ack wait of the journal, at most. A node that was killed while it ran an entry
	// gets it again after that time, and requests no page before. It is prolonged while an entry runs,
	// and a node asks for the next one only after its acknowledgement.
	journalWait = 5 * time.Second

	deduplication = 2 * time.Minute
	largeLife     = 48 * time.Hour
)

// Provision creates or changes all streams, tables and consumers of the cluster; only the head may
// call it, at its start and after each change of the nodes, before it publishes for a new node. It
// may be repeated: it loses nothing. A full stream refuses messages; it deletes none.
func (c *Conn) Provision(ctx context.Context, p ProvisionConfig) error {
	if p.Replicas <= 0 {
		p.Replicas = 1
	}
	if p.MaxStore <= 0 {
		p.MaxStore = defaultMaxStore
	}
	for _, s := range p.streamConfigs() {
		if err := retryUntilAnswered(ctx, func(ctx context.Context) error { _, err := c.js.CreateOrUpdateStream(ctx, s); return err }); err != nil {
			return fmt.Errorf("provision stream %s: %w", s.Name, err)
		}
	}
	for _, bucket := range []string{TableNodes, TableCluster, TableTasks, TableQuota} {
		if _, err := c.Table(ctx, bucket, TableConfig{Replicas: p.Replicas, Memory: bucket == TableNodes, MaxBytes: p.MaxStore / 32}); err != nil {
			return err
		}
	}
	for _, t := range TaskTypes {
		if err := c.provideConsumer(ctx, StreamTasks, AnyDurable(t), "tasks.any."+t, ConsumeOptions{AckWait: p.AckWait, MaxUnfinished: orDefault(p.Any, 1024)}); err != nil {
			return err
		}
	}
	for _, node := range p.Nodes {
		if err := c.provideNode(ctx, node, p); err != nil {
			return err
		}
	}
	return nil
}

func (p ProvisionConfig) streamConfigs() []jetstream.StreamConfig {
	share := p.MaxStore / 16 * 3 // four streams; the tables take another sixteenth
	common := func(name string, retention jetstream.RetentionPolicy, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Subjects: subjects, Retention: retention, Discard: jetstream.DiscardNew,
			MaxBytes: share, MaxMsgSize: MaxPayload + 4096, Duplicates: deduplication, Replicas: p.Replicas, Storage: jetstream.FileStorage,
		}
	}
	large := common(streamLarge, jetstream.LimitsPolicy, "large.>")
	large.AllowDirect, large.MaxAge = true, largeLife
	return []jetstream.StreamConfig{
		common(StreamJournal, jetstream.InterestPolicy, "journal.>"), // kept until all nodes have applied it
		common(StreamTasks, jetstream.WorkQueuePolicy, "tasks.>"),
		common(StreamLinks, jetstream.WorkQueuePolicy, "links.*", "moves.*"),
		large,
	}
}

func (c *Conn) provideNode(ctx context.Context, node string, p ProvisionConfig) error {
	if err := CheckName(node); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	name := NodeDurable(node)
	wait := min(cmp.Or(p.AckWait, journalWait), journalWait)
	if err := c.provideConsumer(ctx, StreamJournal, name, "journal.>", ConsumeOptions{AckWait: wait}); err != nil {
		return err
	}
	if err := c.provideConsumer(ctx, StreamTasks, name, "tasks.node."+node+".>", ConsumeOptions{AckWait: p.AckWait, MaxUnfinished: orDefault(p.Own, 256)}); err != nil {
		return err
	}
	if err := c.provideConsumer(ctx, StreamLinks, name, "links."+node, ConsumeOptions{AckWait: p.AckWait, MaxUnfinished: orDefault(p.Links, 256)}); err != nil {
		return err
	}
	return c.provideConsumer(ctx, StreamLinks, MovesDurable(node), "moves."+node, ConsumeOptions{AckWait: p.AckWait})
}

func (c *Conn) provideConsumer(ctx context.Context, stream, durable, subject string, o ConsumeOptions) error {
	err := retryUntilAnswered(ctx, func(ctx context.Context) error {
		_, err := c.js.CreateOrUpdateConsumer(ctx, stream, o.consumerConfig(durable, subject))
		return err
	})
	if err != nil {
		return fmt.Errorf("provision consumer %s of %s: %w", durable, stream, err)
	}
	return nil
}

// Forget deletes the consumers of a removed node and its key in the table "nodes". What only this node
// had not applied or taken is lost, so the head asks for confirmation before. It may be repeated.
func (c *Conn) Forget(ctx context.Context, node string) error {
	for _, own := range []struct{ stream, durable, subject string }{
		{StreamJournal, NodeDurable(node), ""},
		{StreamTasks, NodeDurable(node), "tasks.node." + node + ".>"},
		{StreamLinks, NodeDurable(node), "links." + node},
		{StreamLinks, MovesDurable(node), "moves." + node},
	} {
		if err := c.js.DeleteConsumer(ctx, own.stream, own.durable); err != nil && !isMissing(err) {
			return fmt.Errorf("forget node %s: %s: %w", node, own.stream, err)
		}
		if own.subject == "" {
			continue // other nodes need the journal
		}
		if err := c.purgeSubject(ctx, own.stream, own.subject); err != nil {
			return fmt.Errorf("forget node %s: %w", node, err)
		}
	}
	table, err := c.Table(ctx, TableNodes, TableConfig{})
	if err == nil {
		err = table.Delete(ctx, node)
	}
	if err != nil {
		return fmt.Errorf("forget node %s: %w", node, err)
	}
	return nil
}

func (c *Conn) purgeSubject(ctx context.Context, stream, subject string) error {
	s, err := c.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil && !isMissing(err) {
		return fmt.Errorf("purge %s of %s: %w", subject, stream, err)
	}
	return nil
}

// StreamState is the state of a stream or of one consumer of it.
type StreamState struct {
	Last    uint64 // sequence of the newest message ever stored; 0: none was
	Pending uint64 // messages that are stored, or for a consumer: not delivered or not acknowledged
}

// StreamState returns the state of a stream; only the head may call it.
func (c *Conn) StreamState(ctx context.Context, stream string) (StreamState, error) {
	var s jetstream.Stream
	err := retryUntilAnswered(ctx, func(ctx context.Context) (err error) { s, err = c.js.Stream(ctx, stream); return err })
	if err != nil {
		return StreamState{}, fmt.Errorf("state of stream %s: %w", stream, err)
	}
	state := s.CachedInfo().State
	return StreamState{Last: state.LastSeq, Pending: state.Msgs}, nil
}

// ConsumerState returns the state of a consumer, as the head or as its taker.
func (c *Conn) ConsumerState(ctx context.Context, stream, durable string) (StreamState, error) {
	var consumer jetstream.Consumer
	err := retryUntilAnswered(ctx, func(ctx context.Context) (err error) { consumer, err = c.js.Consumer(ctx, stream, durable); return err })
	if err != nil {
		if isMissing(err) {
			err = fmt.Errorf("%w (%w)", ErrNotFound, err)
		}
		return StreamState{}, fmt.Errorf("state of consumer %s of %s: %w", durable, stream, err)
	}
	info := consumer.CachedInfo()
	return StreamState{Last: info.AckFloor.Stream, Pending: info.NumPending + uint64(info.NumAckPending)}, nil
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
