package wire

import "time"

// Entry is one processed content as it is stored. Source: docs/spec/storage.md 3.
type Entry struct {
	ID    string    // key of the URL
	Data  []byte    // text, as URL_PUT brought it
	CDate time.Time // when it was stored; UTC, whole seconds. Zero where it is put: now
}
