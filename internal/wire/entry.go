package wire

import "time"

// Entry is one stored processed content. Source: docs/spec/storage.md 3.
type Entry struct {
	ID    string    // key of the URL
	Data  []byte    // text
	CDate time.Time // when it was stored, UTC, whole seconds; zero in a write: now
}
