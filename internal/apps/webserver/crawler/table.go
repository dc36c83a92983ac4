package crawler

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"hce/dc/internal/apps/webserver/journal"
)

// Table has the MD5 of each file that the Web Store has acknowledged, by URL. It is exact after a kill:
// an entry is there whole or not at all. Goroutines may share it.
type Table struct {
	mu      sync.Mutex
	journal *journal.Journal
	sums    map[string]string
}

// Entry is a file of the table.
type Entry struct {
	URL string `json:"url"`
	MD5 string `json:"md5"` // 32 hexadecimal digits
}

// line is a change of the table: without a sum the entry is removed.
type line struct {
	URL string `json:"url"`
	MD5 string `json:"md5,omitempty"`
}

// OpenTable opens or creates the table in a file.
func OpenTable(path string) (*Table, error) {
	t := &Table{sums: map[string]string{}}
	var err error
	t.journal, err = journal.Open(path, func(text []byte) error {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if l.URL == "" {
			return errors.New("an entry has no URL")
		}
		t.applyLine(l)
		return nil
	})
	return t, err
}

// Close makes the table durable and closes it.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.journal.Close()
}

// Sum returns the MD5 of a file as it was acknowledged, "" if it was not.
func (t *Table) Sum(url string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sums[url]
}

// Set notes that the Web Store has acknowledged a file. It does not wait for the disk: if the machine
// loses the entry, the file is sent again.
func (t *Table) Set(url, sum string) error { return t.appendChange(line{url, sum}) }

// Keep removes all entries for which keep is false, makes the table durable, and returns how many were
// removed.
func (t *Table) Keep(keep func(url string) bool) (removed int, err error) {
	for _, e := range t.List() {
		if keep(e.URL) {
			continue
		}
		if err := t.appendChange(line{URL: e.URL}); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, t.compactFile()
}

// List returns the entries in the order of their URLs.
func (t *Table) List() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Entry, 0, len(t.sums))
	for _, url := range slices.Sorted(maps.Keys(t.sums)) {
		list = append(list, Entry{url, t.sums[url]})
	}
	return list
}

func (t *Table) applyLine(l line) {
	if l.MD5 == "" {
		delete(t.sums, l.URL)
		return
	}
	t.sums[l.URL] = l.MD5
}

func (t *Table) appendChange(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.journal.Append(journal.NoSync, text); err != nil {
		return err
	}
	t.applyLine(l)
	return nil
}

// compactFile makes the table durable. If most lines of the file are old, it replaces the file.
func (t *Table) compactFile() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal.Lines() <= 2*len(t.sums)+100 {
		return t.journal.Sync()
	}
	lines := make([][]byte, 0, len(t.sums))
	for _, url := range slices.Sorted(maps.Keys(t.sums)) {
		text, err := json.Marshal(line{url, t.sums[url]})
		if err != nil {
			return err
		}
		lines = append(lines, text)
	}
	return t.journal.Replace(lines)
}
