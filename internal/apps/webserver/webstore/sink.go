package webstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"hce/dc/internal/apps/webserver/journal"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/wire/urlkey"
)

// Sink stores documents. The Web Store calls it from one goroutine.
type Sink interface {
	// Store stores documents in their order and returns the outcome of each. It returns nil only
	// when all of them are durable. After an error any part may be stored: the documents come
	// again, so storing one again with the same content must change nothing and give Unchanged.
	// docs has at least one document; the caller changes nothing in them afterwards.
	Store(ctx context.Context, docs []packet.Document) ([]packet.Outcome, error)
}

// Journal is a Sink that appends documents to a file of JSON lines, each a Record. It keeps all versions
// of a document. The last line of a URL is its current version.
type Journal struct {
	file  *journal.Journal
	known map[string][sha256.Size]byte // sum of the current version, by URL
	now   func() time.Time
}

// Record is a line of the journal.
type Record struct {
	Stored  time.Time      `json:"stored"` // UTC
	Outcome packet.Outcome `json:"outcome"`
	UUID    string         `json:"uuid"` // of the URL; the same for all its versions
	Kind    packet.Kind    `json:"kind"`
	packet.Document
}

// OpenJournal opens or creates the journal in a file. now is time.Now, except in tests.
func OpenJournal(path string, now func() time.Time) (*Journal, error) {
	s := &Journal{known: map[string][sha256.Size]byte{}, now: now}
	var err error
	s.file, err = journal.Open(path, func(line []byte) error {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if r.URL == "" || r.UUID == "" {
			return errors.New("a record has no url or no uuid")
		}
		r.Document.Kind = r.Kind
		s.known[r.URL] = hashDocument(r.Document)
		return nil
	})
	return s, err
}

// Close closes the journal.
func (s *Journal) Close() error { return s.file.Close() }

// Documents returns the number of URLs.
func (s *Journal) Documents() int { return len(s.known) }

// Store appends new and changed documents in one write and makes them durable.
func (s *Journal) Store(_ context.Context, docs []packet.Document) ([]packet.Outcome, error) {
	outcomes, lines, changed := make([]packet.Outcome, len(docs)), [][]byte{}, map[string][sha256.Size]byte{}
	for i, d := range docs {
		sum := hashDocument(d)
		if outcomes[i] = s.compareDocument(d.URL, sum, changed); outcomes[i] == packet.Unchanged {
			continue
		}
		line, err := json.Marshal(Record{Stored: s.now().UTC(), Outcome: outcomes[i], UUID: urlkey.UUID(d.URL), Kind: d.Kind, Document: d})
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", d.URL, err)
		}
		lines, changed[d.URL] = append(lines, line), sum
	}
	if len(lines) > 0 {
		if err := s.file.Append(journal.Sync, lines...); err != nil {
			return nil, err
		}
	}
	maps.Copy(s.known, changed)
	return outcomes, nil
}

// compareDocument returns what a document is for the store. changed has the earlier ones of its batch.
func (s *Journal) compareDocument(url string, sum [sha256.Size]byte, changed map[string][sha256.Size]byte) packet.Outcome {
	old, found := changed[url]
	if !found {
		old, found = s.known[url]
	}
	switch {
	case !found:
		return packet.New
	case old == sum:
		return packet.Unchanged
	}
	return packet.Updated
}

// hashDocument returns a hash of all that a document says, except when its file was changed.
func hashDocument(d packet.Document) [sha256.Size]byte {
	d.Modified = time.Time{}
	text, err := json.Marshal(struct {
		Kind packet.Kind
		packet.Document
	}{d.Kind, d})
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	return sha256.Sum256(text)
}
