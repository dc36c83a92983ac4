package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TableConfig configures a table. Only the head creates tables.
type TableConfig struct {
	Replicas int
	Memory   bool  // a restart of the server empties the table
	MaxBytes int64 // default 64 MiB
}

// Table maps keys to values, with a revision for each change. Keys are of letters, digits and
// "_-./=". It may be used by any number of goroutines.
type Table struct {
	conn   *Conn
	bucket string
	kv     jetstream.KeyValue
}

// Entry is a value of a table.
type Entry struct {
	Key      string
	Value    []byte // nil: the key was deleted
	Revision uint64
	Changed  time.Time // UTC
}

// Table opens a table. The head creates it if it is missing.
func (c *Conn) Table(ctx context.Context, bucket string, t TableConfig) (*Table, error) {
	var kv jetstream.KeyValue
	err := retryUntilAnswered(ctx, func(ctx context.Context) (err error) { kv, err = c.openTable(ctx, bucket, t); return err })
	if err != nil {
		return nil, fmt.Errorf("open table %s: %w", bucket, err)
	}
	return &Table{conn: c, bucket: bucket, kv: kv}, nil
}

func (c *Conn) openTable(ctx context.Context, bucket string, t TableConfig) (jetstream.KeyValue, error) {
	kv, err := c.js.KeyValue(ctx, bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) || c.name != Head {
		return kv, err
	}
	config := jetstream.KeyValueConfig{Bucket: bucket, History: 1, Replicas: max(t.Replicas, 1), MaxBytes: t.MaxBytes, Storage: jetstream.FileStorage}
	if config.MaxBytes <= 0 {
		config.MaxBytes = 64 << 20
	}
	if t.Memory {
		config.Storage, config.MaxBytes = jetstream.MemoryStorage, 4<<20
	}
	return c.js.CreateKeyValue(ctx, config)
}

// Get returns the value of a key; ErrNotFound if it is missing or deleted.
func (t *Table) Get(ctx context.Context, key string) (Entry, error) {
	var e jetstream.KeyValueEntry
	err := retryUntilAnswered(ctx, func(ctx context.Context) (err error) { e, err = t.kv.Get(ctx, key); return err })
	if err != nil {
		return Entry{}, t.wrapError("get", key, err)
	}
	return entryOf(e), nil
}

// Create stores the value of a missing or deleted key; ErrConflict if the key exists.
func (t *Table) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	revision, err = t.kv.Create(ctx, key, value)
	return revision, t.wrapError("create", key, err)
}

// Put stores a value.
func (t *Table) Put(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	revision, err = t.kv.Put(ctx, key, value)
	return revision, t.wrapError("put", key, err)
}

// Update stores a value if the key has that revision; otherwise ErrConflict.
func (t *Table) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := t.kv.Update(ctx, key, value, revision)
	return revision, t.wrapError("update", key, err)
}

// Delete removes a key. A missing key is not an error.
func (t *Table) Delete(ctx context.Context, key string) error {
	return t.wrapError("delete", key, t.kv.Purge(ctx, key))
}

// Keys returns all keys; only the head may call it.
func (t *Table) Keys(ctx context.Context) ([]string, error) {
	var keys []string
	err := retryUntilAnswered(ctx, func(ctx context.Context) (err error) { keys, err = t.kv.Keys(ctx); return err })
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	return keys, t.wrapError("list", "all keys", err)
}

// All returns all entries; only the head may call it.
func (t *Table) All(ctx context.Context) ([]Entry, error) {
	keys, err := t.Keys(ctx)
	var all []Entry
	for _, key := range keys {
		e, err := t.Get(ctx, key)
		if errors.Is(err, ErrNotFound) { // deleted since
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, err
}

// Watch calls handler with the present values and each change until ctx ends, and then returns the
// error of ctx. The head may use a pattern of keys ("*", ">"). A node may watch only one key, which
// Watch reads every second: a consumer could deliver to the subjects of other nodes, so nodes may
// create none. A change that the next one replaces soon may be left out.
func (t *Table) Watch(ctx context.Context, keys string, handler func(Entry)) error {
	if t.conn.name == Head {
		return t.watchKeys(ctx, keys, handler)
	}
	if strings.ContainsAny(keys, "*>") {
		return fmt.Errorf("watch %s of table %s: %w", keys, t.bucket, ErrRefused)
	}
	last := uint64(0)
	for {
		one, cancel := context.WithTimeout(ctx, apiTimeout)
		e, err := t.Get(one, keys)
		cancel()
		switch {
		case err == nil && e.Revision != last:
			last = e.Revision
			handler(e)
		case errors.Is(err, ErrNotFound) && last != 0:
			last = 0
			handler(Entry{Key: keys})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (t *Table) watchKeys(ctx context.Context, keys string, handler func(Entry)) error {
	watcher, err := t.kv.Watch(ctx, keys)
	if err != nil {
		return t.wrapError("watch", keys, err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-watcher.Updates():
			if !ok {
				return t.wrapError("watch", keys, errors.Join(ctx.Err(), errors.New("the watch ended")))
			}
			if e != nil { // nil marks the end of the present values
				handler(entryOf(e))
			}
		}
	}
}

func entryOf(e jetstream.KeyValueEntry) Entry {
	entry := Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision(), Changed: e.Created().UTC()}
	if e.Operation() != jetstream.KeyValuePut {
		entry.Value = nil
	}
	return entry
}

func (t *Table) wrapError(what, key string, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = ErrNotFound
	case errors.Is(err, jetstream.ErrKeyExists), errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		err = ErrConflict
	}
	return fmt.Errorf("%s %s of table %s: %w", what, key, t.bucket, err)
}

// isMissing reports whether the stream or consumer of a request does not exist.
func isMissing(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}
